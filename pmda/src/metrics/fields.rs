//! Metrics from the fields of a struct, by the derive macros.

use super::{Def, IndomRef, Metrics};

/// An agent whose fields are metrics: by `#[derive(Metrics)]`, for [`Metrics::fields`].
pub trait Fields: Sized + 'static {
    /// Declares the metrics of the fields.
    #[doc(hidden)]
    fn declare(m: &mut Metrics<Self>);
}

/// The row of an instance, whose fields are metrics: by `#[derive(Row)]`, for [`Metrics::rows`].
pub trait Row: Sized + 'static {
    /// Declares the metrics of the fields, with `prefix` before their names.
    #[doc(hidden)]
    fn declare<S: 'static>(m: &mut Metrics<S>, prefix: &str, indom: IndomRef<S, Self>);
}

impl<S: Fields> Metrics<S> {
    /// Declares the metrics of the agent's fields: one for each field with `#[metric]` or
    /// `#[metric(…)]`, in their order.
    pub fn fields(&mut self) {
        S::declare(self);
    }
}

impl<S: 'static> Metrics<S> {
    /// Declares the metrics of a row's fields, as [`Metrics::fields`], with a value for each instance.
    /// Their names begin with `prefix`, such as `"interface."`.
    pub fn rows<T: Row>(&mut self, prefix: impl AsRef<str>, indom: IndomRef<S, T>) {
        T::declare(self, prefix.as_ref(), indom);
    }
}

impl<S, T> Def<'_, S, T> {
    /// The lines of a doc comment as help: without the blank that follows `///`, and without empty
    /// lines around the text of one line.
    #[doc(hidden)]
    pub fn doc_lines(self, lines: &[&str]) -> Self {
        let lines = lines.iter().flat_map(|line| line.split('\n'));
        let lines: Vec<&str> = lines
            .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
            .collect();
        let text = lines.join("\n");
        let text = text.trim_matches('\n');
        match text.split_once('\n') {
            Some((line, rest)) => self.help(format!("{line}\n{}", rest.trim_start_matches('\n'))),
            None => self.help(text),
        }
    }
}
