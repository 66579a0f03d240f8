//! A field that is a metric.

use proc_macro::token_stream::IntoIter;
use proc_macro::{Delimiter, Ident, Literal, Spacing, Span, TokenStream, TokenTree};

use crate::error::{Error, Result};
use crate::literal;
use crate::tokens::ungrouped;

/// The greatest item of a PMID (ten bits).
const ITEM_MAX: u32 = 1023;

/// The metric of a field.
pub struct Metric {
    /// The field.
    pub field: Ident,
    /// True if the field is text, which need not be copied.
    pub is_text: bool,
    /// The field's name, or that of `name = "…"`.
    pub name: String,
    /// The place of the name, if it is not the field's.
    name_span: Option<Span>,
    /// `counter`, `instant` or `discrete`, if given.
    pub semantics: Option<Ident>,
    /// The expression of `unit =`.
    pub unit: Option<TokenStream>,
    /// The number of `item =`.
    pub item: Option<Literal>,
    /// The doc comment: the expression of each line.
    pub help: Vec<TokenStream>,
}

impl Metric {
    /// The metric of this field; `None` without `#[metric]` or `#[metric(…)]`. What is wrong with its
    /// attributes is added to `errors`.
    pub fn parse(
        field: Ident,
        field_type: &[TokenTree],
        attributes: Vec<TokenStream>,
        errors: &mut Vec<Error>,
    ) -> Option<Metric> {
        let mut options = None;
        let mut help = Vec::new();
        for attribute in attributes {
            let mut tokens = attribute.into_iter();
            let Some(TokenTree::Ident(name)) = tokens.next() else {
                continue;
            };
            match name.to_string().as_str() {
                "metric" if options.is_some() => {
                    errors.push(Error::new(
                        name.span(),
                        "a field is one metric: `#[metric]` stands here twice",
                    ));
                }
                "metric" => match arguments(tokens.next()) {
                    Ok(arguments) => options = Some(arguments),
                    Err(error) => {
                        options = Some(Vec::new());
                        errors.push(error);
                    }
                },
                "doc" => help.extend(doc_line(tokens)),
                _ => {}
            }
        }
        let options = options?;
        let name = field.to_string();
        let mut metric = Metric {
            is_text: is_text(field_type),
            name: name.strip_prefix("r#").unwrap_or(&name).to_owned(),
            name_span: None,
            field,
            semantics: None,
            unit: None,
            item: None,
            help,
        };
        for option in options {
            errors.extend(metric.set(option).err());
        }
        errors.extend(check_name(metric.name_span(), &metric.name).err());
        Some(metric)
    }

    fn name_span(&self) -> Span {
        self.name_span.unwrap_or_else(|| self.field.span())
    }

    fn set(&mut self, mut option: Vec<TokenTree>) -> Result<()> {
        let value = option.split_off(1.min(option.len()));
        let Some(TokenTree::Ident(key)) = option.pop() else {
            return Err(unknown(value.first().map_or_else(Span::call_site, TokenTree::span)));
        };
        let value = match value.split_first() {
            None => None,
            Some((TokenTree::Punct(punct), rest))
                if punct.as_char() == '=' && punct.spacing() == Spacing::Alone && !rest.is_empty() =>
            {
                Some(rest.to_vec())
            }
            Some((other, _)) => return Err(Error::new(other.span(), "expected `= value`")),
        };
        let again = match (key.to_string().as_str(), value) {
            ("counter" | "instant" | "discrete", None) => match self.semantics.replace(key.clone()) {
                Some(before) if before.to_string() != key.to_string() => {
                    let message = format!("a metric has one semantics: `{before}` and `{key}` stand here");
                    return Err(Error::new(key.span(), message));
                }
                before => before.is_some(),
            },
            ("unit", Some(value)) => self.unit.replace(value.into_iter().collect()).is_some(),
            ("item", Some(value)) => self.item.replace(item(&key, value)?).is_some(),
            ("name", Some(value)) => {
                let (span, name) = name(&key, value)?;
                self.name = name;
                self.name_span.replace(span).is_some()
            }
            ("unit" | "item" | "name", None) => {
                return Err(Error::new(key.span(), format!("expected `{key} = value`")));
            }
            _ => return Err(unknown(key.span())),
        };
        if again {
            return Err(Error::new(key.span(), format!("`{key}` stands here twice")));
        }
        Ok(())
    }
}

/// Checks that no two fields have one name or one item, as two metrics cannot. Adds an error at each
/// field whose name or item an earlier one has.
pub fn check_unique(metrics: &[Metric], errors: &mut Vec<Error>) {
    for (index, metric) in metrics.iter().enumerate() {
        let before = &metrics[..index];
        if before.iter().any(|other| other.name == metric.name) {
            let message = format!("two metrics have the name \"{}\"", metric.name);
            errors.push(Error::new(metric.name_span(), message));
        }
        let item_of = |metric: &Metric| metric.item.as_ref().and_then(number);
        if let Some(item) = item_of(metric) {
            if let Some(other) = before.iter().find(|other| item_of(other) == Some(item)) {
                let span = metric.item.as_ref().map_or_else(|| metric.name_span(), Literal::span);
                let message = format!("item {item} is that of the field `{}`", other.field);
                errors.push(Error::new(span, message));
            }
        }
    }
}

/// The path of the crate `pmda`: that of `#[metric(crate = PATH)]` among the attributes of the struct, or
/// `::pmda`. What is wrong with them is added to `errors`.
pub fn library(attributes: Vec<TokenStream>, errors: &mut Vec<Error>) -> TokenStream {
    let mut library = None;
    for attribute in attributes {
        let mut tokens = attribute.into_iter();
        let Some(TokenTree::Ident(name)) = tokens.next() else {
            continue;
        };
        if name.to_string() != "metric" {
            continue;
        }
        let options = arguments(tokens.next()).unwrap_or_default();
        if let ([option], None) = (options.as_slice(), &library) {
            let path = match option.as_slice() {
                [TokenTree::Ident(key), TokenTree::Punct(punct), path @ ..]
                    if key.to_string() == "crate" && punct.as_char() == '=' =>
                {
                    path
                }
                _ => &[],
            };
            if !path.is_empty() {
                library = Some(path.iter().cloned().collect());
                continue;
            }
        }
        let message = "on a struct, expected `#[metric(crate = PATH)]`, the path of the crate pmda, once";
        errors.push(Error::new(name.span(), message));
    }
    library.unwrap_or_else(|| "::pmda".parse().expect("a path"))
}

fn unknown(span: Span) -> Error {
    Error::new(
        span,
        "expected `counter`, `instant`, `discrete`, `unit = …`, `name = \"…\"` or `item = …`",
    )
}

/// The parts of `#[metric(…)]` between commas; none of `#[metric]`.
fn arguments(group: Option<TokenTree>) -> Result<Vec<Vec<TokenTree>>> {
    let group = match group {
        None => return Ok(Vec::new()),
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => group,
        Some(other) => {
            let message = "expected `#[metric]` or `#[metric(…)]`, such as `#[metric(counter, unit = BYTE)]`";
            return Err(Error::new(other.span(), message));
        }
    };
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    let arguments = tokens.split(is_comma).filter(|argument| !argument.is_empty());
    Ok(arguments.map(<[TokenTree]>::to_vec).collect())
}

fn name(key: &Ident, value: Vec<TokenTree>) -> Result<(Span, String)> {
    let value: Vec<TokenTree> = ungrouped(value.into_iter().collect()).into_iter().collect();
    match &value[..] {
        [TokenTree::Literal(literal)] => literal::text(&literal.to_string()).map(|text| (literal.span(), text)),
        _ => None,
    }
    .ok_or_else(|| Error::new(key.span(), "expected `name = \"…\"`, a string literal"))
}

fn item(key: &Ident, value: Vec<TokenTree>) -> Result<Literal> {
    let value: Vec<TokenTree> = ungrouped(value.into_iter().collect()).into_iter().collect();
    match <[TokenTree; 1]>::try_from(value) {
        Ok([TokenTree::Literal(literal)]) if number(&literal).is_some_and(|item| item <= ITEM_MAX) => Ok(literal),
        _ => Err(Error::new(
            key.span(),
            format!("expected `item = …`, a number from 0 to {ITEM_MAX}"),
        )),
    }
}

fn number(literal: &Literal) -> Option<u32> {
    let digits = literal.to_string().replace('_', "");
    digits.trim_end_matches("u32").parse().ok()
}

/// PMNS(5): each component is a letter, then letters, digits and underscores.
fn check_name(span: Span, name: &str) -> Result<()> {
    let is_component = |component: &str| {
        let mut characters = component.chars();
        characters.next().is_some_and(|first| first.is_ascii_alphabetic())
            && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
    };
    if name.split('.').all(is_component) {
        return Ok(());
    }
    let message = format!(
        "\"{name}\" is not a metric's name: components start with a letter, \
         go on with letters, digits and underscores, and are separated by dots"
    );
    Err(Error::new(span, message))
}

/// The expression of `doc = EXPRESSION`, which may be a macro such as `concat!`. `None` for another
/// form, such as `doc(hidden)`.
fn doc_line(mut tokens: IntoIter) -> Option<TokenStream> {
    match tokens.next() {
        Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => Some(tokens.collect()),
        _ => None,
    }
}

/// Returns whether `&field` gives a `&str`, as of `String`, `&'static str`, `Box<str>` and the
/// like; `Option<String>` does not.
fn is_text(field_type: &[TokenTree]) -> bool {
    let words = field_type.iter().filter_map(|token| match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    });
    let words: Vec<String> = words.collect();
    let holds_values = words
        .iter()
        .any(|word| matches!(word.as_str(), "Option" | "Result" | "Vec"));
    !holds_values && words.last().is_some_and(|last| last == "String" || last == "str")
}
