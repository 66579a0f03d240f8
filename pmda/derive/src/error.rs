//! Errors in the input, shown by the compiler at their place: all of them at once.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// An error at a place of the input.
#[derive(Debug)]
pub struct Error {
    span: Span,
    message: String,
}

/// A result with this error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error at this place.
    pub fn new(span: Span, message: impl Into<String>) -> Error {
        Error {
            span,
            message: message.into(),
        }
    }

    /// `::core::compile_error! { "message" }`, at the place of the error.
    pub fn into_tokens(self) -> TokenStream {
        let punct = |character, spacing| TokenTree::Punct(Punct::new(character, spacing));
        let ident = |name| TokenTree::Ident(Ident::new(name, self.span));
        let message = TokenTree::Literal(Literal::string(&self.message));
        let tokens = [
            punct(':', Spacing::Joint),
            punct(':', Spacing::Alone),
            ident("core"),
            punct(':', Spacing::Joint),
            punct(':', Spacing::Alone),
            ident("compile_error"),
            punct('!', Spacing::Alone),
            TokenTree::Group(Group::new(Delimiter::Brace, message.into())),
        ];
        let at_span = tokens.into_iter().map(|mut token| {
            token.set_span(self.span);
            token
        });
        at_span.collect()
    }
}
