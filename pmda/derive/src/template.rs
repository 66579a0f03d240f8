//! Code with gaps, as in `quote`.

use proc_macro::{Group, Span, TokenStream, TokenTree};

/// The code `template`, in which `$0`, `$1` … stand for the parts. Its own tokens get this span, so
/// that an error of the compiler points there.
pub fn fill(template: &str, span: Span, parts: &[TokenStream]) -> TokenStream {
    let code: TokenStream = template.parse().expect("a template of this crate");
    fill_tokens(code, span, parts)
}

fn fill_tokens(code: TokenStream, span: Span, parts: &[TokenStream]) -> TokenStream {
    let mut filled = TokenStream::new();
    let mut tokens = code.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '$' => {
                let number = tokens.next().expect("a number").to_string();
                let part: usize = number.parse().expect("a number");
                filled.extend(parts[part].clone());
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), fill_tokens(group.stream(), span, parts));
                inner.set_span(span);
                filled.extend([TokenTree::Group(inner)]);
            }
            mut other => {
                other.set_span(span);
                filled.extend([other]);
            }
        }
    }
    filled
}
