//! The struct that a macro is applied to.

use proc_macro::token_stream::IntoIter;
use proc_macro::{Delimiter, Ident, Span, TokenStream, TokenTree};
use std::iter::Peekable;

use crate::error::{Error, Result};
use crate::metric::{self, Metric};
use crate::tokens::ungrouped;

/// A struct with named fields.
pub struct Struct {
    /// The path of the crate `pmda`: `::pmda`, or that of `#[metric(crate = PATH)]`.
    pub library: TokenStream,
    /// Its name.
    pub name: Ident,
    /// Its fields with `#[metric]` or `#[metric(…)]`, in their order.
    pub metrics: Vec<Metric>,
    /// The mistakes in its fields.
    pub errors: Vec<Error>,
}

type Tokens = Peekable<IntoIter>;

impl Struct {
    /// Reads the struct below `#[derive(…)]`. What is wrong with its fields is in [`Struct::errors`].
    ///
    /// # Errors
    /// Where it is something else than a struct with named fields, and why that cannot be.
    pub fn parse(item: TokenStream) -> Result<Struct> {
        let mut tokens = ungrouped(item).into_iter().peekable();
        let attributes = attributes(&mut tokens);
        skip_visibility(&mut tokens);
        let keyword = ident(&mut tokens)?;
        if keyword.to_string() != "struct" {
            return Err(Error::new(
                keyword.span(),
                "metrics are made from a struct with named fields",
            ));
        }
        let name = ident(&mut tokens)?;
        let fields = match tokens.next() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => group.stream(),
            Some(TokenTree::Punct(punct)) if punct.as_char() == '<' => {
                let message = "a struct with parameters is not supported: declare its metrics by hand";
                return Err(Error::new(punct.span(), message));
            }
            other => {
                let span = other.map_or(name.span(), |token| token.span());
                return Err(Error::new(span, "metrics are made from a struct with named fields"));
            }
        };
        let (metrics, mut errors) = fields_of(fields)?;
        if metrics.is_empty() && errors.is_empty() {
            errors.push(Error::new(name.span(), "no field has #[metric] or #[metric(…)]"));
        }
        metric::check_unique(&metrics, &mut errors);
        let library = metric::library(attributes, &mut errors);
        Ok(Struct {
            library,
            name,
            metrics,
            errors,
        })
    }
}

/// The metrics of the fields, and what is wrong with fields.
///
/// # Errors
/// Where the fields have no names.
fn fields_of(fields: TokenStream) -> Result<(Vec<Metric>, Vec<Error>)> {
    let mut tokens = ungrouped(fields).into_iter().peekable();
    let (mut metrics, mut errors) = (Vec::new(), Vec::new());
    while tokens.peek().is_some() {
        let attributes = attributes(&mut tokens);
        skip_visibility(&mut tokens);
        let name = ident(&mut tokens)?;
        // The colon.
        tokens.next();
        let field_type = type_of(&mut tokens);
        metrics.extend(Metric::parse(name, &field_type, attributes, &mut errors));
    }
    Ok((metrics, errors))
}

/// The content of each attribute's brackets.
fn attributes(tokens: &mut Tokens) -> Vec<TokenStream> {
    let mut contents = Vec::new();
    while matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '#') {
        tokens.next();
        if let Some(TokenTree::Group(group)) = tokens.next() {
            contents.push(group.stream());
        }
    }
    contents
}

/// Skips `pub`, `pub(crate)` … or nothing.
fn skip_visibility(tokens: &mut Tokens) {
    if matches!(tokens.peek(), Some(TokenTree::Ident(ident)) if ident.to_string() == "pub") {
        tokens.next();
        if matches!(tokens.peek(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis) {
            tokens.next();
        }
    }
}

fn ident(tokens: &mut Tokens) -> Result<Ident> {
    match tokens.next() {
        Some(TokenTree::Ident(ident)) => Ok(ident),
        other => {
            let span = other.map_or_else(Span::call_site, |token| token.span());
            Err(Error::new(span, "metrics are made from a struct with named fields"))
        }
    }
}

/// The type of a field, and the comma after it: commas between `<` and `>` belong to the type.
fn type_of(tokens: &mut Tokens) -> Vec<TokenTree> {
    let mut type_tokens: Vec<TokenTree> = Vec::new();
    let mut depth = 0_usize;
    for token in tokens {
        if let TokenTree::Punct(punct) = &token {
            let arrow = matches!(type_tokens.last(), Some(TokenTree::Punct(before)) if before.as_char() == '-');
            match punct.as_char() {
                ',' if depth == 0 => break,
                '<' => depth += 1,
                '>' if !arrow => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        type_tokens.push(token);
    }
    type_tokens
}
