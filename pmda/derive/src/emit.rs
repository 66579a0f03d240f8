//! The code that the macros write.

use proc_macro::{Ident, Literal, Span, TokenStream, TokenTree};

use crate::input::Struct;
use crate::metric::Metric;
use crate::template::fill;

/// `#[derive(Metrics)]`: metrics without instances.
pub fn metrics(parsed: &Struct) -> TokenStream {
    let declarations = parsed.metrics.iter().map(|metric| {
        let parts = [literal(&metric.name), ident(&metric.field), settings(metric)];
        let template = if metric.is_text {
            "__metrics.text($0, |__agent| &__agent.$1) $2;"
        } else {
            "__metrics.value($0, |__agent| ::core::clone::Clone::clone(&__agent.$1)) $2;"
        };
        fill(template, span_of(metric), &parts)
    });
    let parts = [
        ident(&parsed.name),
        parsed.visibility.clone(),
        declarations.collect(),
        parsed.library.clone(),
    ];
    let template = "
        impl $0 {
            /// Declares the metrics of the fields.
            $1 fn define(__metrics: &mut $3::Metrics<Self>) { $2 }
        }";
    fill(template, Span::call_site(), &parts)
}

/// `#[derive(Row)]`: metrics of an instance domain.
pub fn row(parsed: &Struct) -> TokenStream {
    let declarations = parsed.metrics.iter().map(|metric| {
        let parts = [literal(&metric.name), ident(&metric.field), settings(metric)];
        let template = if metric.is_text {
            "__metrics.each_text(&[__prefix, $0].concat(), __indom, |__row| &__row.$1) $2;"
        } else {
            "__metrics.each(&[__prefix, $0].concat(), __indom, |__row| ::core::clone::Clone::clone(&__row.$1)) $2;"
        };
        fill(template, span_of(metric), &parts)
    });
    let parts = [
        ident(&parsed.name),
        parsed.visibility.clone(),
        declarations.collect(),
        parsed.library.clone(),
    ];
    let template = "
        impl $0 {
            /// Declares the metrics of the fields, with `__prefix` before their names.
            $1 fn define<__Agent: 'static>(
                __metrics: &mut $3::Metrics<__Agent>,
                __prefix: &str,
                __indom: $3::IndomRef<__Agent, Self>,
            ) { $2 }
        }";
    fill(template, Span::call_site(), &parts)
}

/// The content of `#[metric(…)]`, and the help text.
fn settings(metric: &Metric) -> TokenStream {
    let mut calls = TokenStream::new();
    let mut call = |template: &str, span: Span, part: TokenStream| {
        calls.extend(fill(template, span.resolved_at(Span::call_site()), &[part]));
    };
    if let Some(semantics) = &metric.semantics {
        if semantics.to_string() != "instant" {
            call(".$0()", semantics.span(), ident(semantics));
        }
    }
    if let Some(unit) = &metric.unit {
        call(".unit(const { $0 })", span_of(metric), unit.clone());
    }
    if let Some(item) = &metric.item {
        call(".item($0)", item.span(), TokenTree::Literal(item.clone()).into());
    }
    if !metric.help.is_empty() {
        call(".help($0)", span_of(metric), literal(&metric.help));
    }
    calls
}

/// Errors about a field's type are shown at the field.
fn span_of(metric: &Metric) -> Span {
    metric.field.span().resolved_at(Span::call_site())
}

fn ident(ident: &Ident) -> TokenStream {
    TokenTree::Ident(ident.clone()).into()
}

fn literal(text: &str) -> TokenStream {
    TokenTree::Literal(Literal::string(text)).into()
}
