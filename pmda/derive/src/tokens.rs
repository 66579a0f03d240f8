//! Tokens as an author has written them.

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// The tokens without the invisible groups around what a macro of the author has filled in, such as
/// `$vis`.
pub fn ungrouped(tokens: TokenStream) -> TokenStream {
    let flat = |token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => ungrouped(group.stream()),
        other => other.into(),
    };
    tokens.into_iter().flat_map(flat).collect()
}
