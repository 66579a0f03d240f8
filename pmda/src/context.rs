//! [`Context`]: what an error is about.

use std::fmt::Display;

use crate::error::{Error, Result};

/// Adds to an error what it is about, for the log, and makes an [`Error`] of those of other crates.
///
/// ```
/// use pmda::prelude::*;
///
/// fn port(line: &str) -> Result<u16> {
///     let word = line.split(' ').nth(1).context("no second word")?;
///     word.parse::<u16>().with_context(|| format!("port {word:?}"))
/// }
///
/// assert_eq!(port("one"), Err(Error::VALUE));
/// assert_eq!(
///     port("one two").unwrap_err().to_string(),
///     "port \"two\": invalid digit found in string: A conversion is not possible (PM_ERR_CONV)"
/// );
/// ```
pub trait Context<T> {
    /// Adds a text in front of what the error says.
    ///
    /// # Errors
    /// The error, with its code as `?` would make it, and the text; `PM_ERR_VALUE` for a missing
    /// value.
    fn context(self, text: impl Display) -> Result<T>;

    /// As [`Context::context`], with a text that is made in case of an error.
    ///
    /// # Errors
    /// As [`Context::context`].
    fn with_context<D: Display>(self, text: impl FnOnce() -> D) -> Result<T>;
}

impl<T, E: Into<Box<dyn std::error::Error>>> Context<T> for Result<T, E> {
    fn context(self, text: impl Display) -> Result<T> {
        self.with_context(|| text)
    }

    fn with_context<D: Display>(self, text: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|error| Error::from(error.into()).text(text()))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, text: impl Display) -> Result<T> {
        self.with_context(|| text)
    }

    fn with_context<D: Display>(self, text: impl FnOnce() -> D) -> Result<T> {
        self.ok_or_else(|| Error::VALUE.text(text()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;

    /// Errors of the system, of other crates, and of this one, which keeps its text and its mark.
    #[test]
    fn errors_of_any_kind() {
        let missing = std::fs::read("/no/such/file")
            .context("the configuration")
            .expect_err("no file");
        assert_eq!(
            (missing.code(), missing.said()),
            (
                Code::ENOENT,
                Some("the configuration: No such file or directory (os error 2)")
            )
        );
        let other = Err::<(), _>(std::fmt::Error)
            .context("a")
            .context("b")
            .expect_err("an error");
        assert_eq!(
            (other.code(), other.said().map(|text| text.starts_with("b: a: "))),
            (Code::GENERIC, Some(true))
        );
        let logged = Err::<(), _>(Error::VALUE.logged())
            .context("again")
            .expect_err("an error");
        assert!(!logged.is_for_the_log());
        assert_eq!(Err::<(), _>("words").context("a"), Err(Error::GENERIC));
    }
}
