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
    let parts = [ident(&parsed.name), declarations.collect(), parsed.library.clone()];
    let template = "
        impl $2::Fields for $0 {
            fn declare(__metrics: &mut $2::Metrics<Self>) { $1 }
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
    let parts = [ident(&parsed.name), declarations.collect(), parsed.library.clone()];
    let template = "
        impl $2::Row for $0 {
            fn declare<__Agent: 'static>(
                __metrics: &mut $2::Metrics<__Agent>,
                __prefix: &str,
                __indom: $2::IndomRef<__Agent, Self>,
            ) { $1 }
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
        let lines = metric
            .help
            .iter()
            .map(|line| fill("$0,", span_of(metric), std::slice::from_ref(line)));
        call(".doc_lines(&[$0])", span_of(metric), lines.collect());
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
