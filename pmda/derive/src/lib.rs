//! The derive macros of the crate `pmda`: metrics from the fields of a struct.
//!
//! An agent uses them as `pmda::Metrics` and `pmda::Row`. Their output is safe code that calls
//! `pmda::Metrics::value`, `text`, `each` and `each_text`.
//!
//! They read and write tokens without syn and quote, since every agent compiles them: with the two, the
//! first build of an agent would take 63 s of processor time in place of 54.

#![forbid(unsafe_code)]

mod emit;
mod error;
mod input;
mod literal;
mod metric;
mod template;
mod tokens;

use proc_macro::TokenStream;

/// Makes metrics without instances from the fields of an agent's struct.
///
/// It implements `pmda::Fields`, for `pmda::Metrics::fields`, which declares one metric for each field
/// with `#[metric]` or `#[metric(…)]`, in their order; other fields are left out. See [`Row`](macro@Row) for the
/// attribute.
#[proc_macro_derive(Metrics, attributes(metric))]
pub fn metrics(item: TokenStream) -> TokenStream {
    derive(item, emit::metrics)
}

/// Makes metrics of an instance domain from the fields of the struct that holds one instance.
///
/// It implements `pmda::Row`, for `pmda::Metrics::rows`, which declares one metric for each field with
/// `#[metric]` or `#[metric(…)]`, in their order; other fields are left out.
///
/// The doc comment is the help text, also one of `#[doc = concat!(…)]`: its first line is the one-line
/// text, all of it the long one.
/// The type of a field is one of `pmda::Value`, which is cloned; text (`String`, `Box<str>` …) is
/// not copied. `#[metric(…)]` contains the following, each at most once; `#[metric]` alone is a
/// metric without any of them:
///
/// | | |
/// |---|---|
/// | `counter`, `instant`, `discrete` | the semantics; `instant` without |
/// | `unit = EXPRESSION` | the unit, such as `BYTE` or `SEC.per(COUNT)` |
/// | `name = "in.bytes"` | the name; that of the field without |
/// | `item = 7` | the item of the PMID; counted without |
///
/// `#[metric(crate = PATH)]` on the struct is for an agent that has this crate under another name than
/// `pmda`.
#[proc_macro_derive(Row, attributes(metric))]
pub fn row(item: TokenStream) -> TokenStream {
    derive(item, emit::row)
}

fn derive(item: TokenStream, emit: fn(&input::Struct) -> TokenStream) -> TokenStream {
    match input::Struct::parse(item) {
        Ok(mut parsed) => {
            let errors = std::mem::take(&mut parsed.errors);
            let errors = errors.into_iter().map(error::Error::into_tokens);
            // The trait is implemented in any case: without it the compiler would report one more error.
            errors.chain([emit(&parsed)]).collect()
        }
        Err(error) => error.into_tokens(),
    }
}
