//! The error of a call that needs an argument, with the argument's name if that was NULL (MAIN-59).
//!
//! The place that refuses an argument may be deep in a step, and knows neither the function nor the
//! lock; the guard knows both. So the name goes to the guard in the error itself, and belongs to
//! that call alone, whatever else fails in the process.

use pmda_core::error::Error;

/// Why a call failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// The error that the caller gets.
    pub(crate) error: Error,
    /// The argument that must not be NULL, if that is the reason: a name of the header. It is the
    /// address of a name, so that the result of a step is no larger than two registers.
    pub(crate) argument: Option<&'static &'static str>,
}

/// The result of a call that may refuse an argument.
pub(crate) type Refusable<T> = Result<T, Refusal>;

impl Refusal {
    /// The refusal of an argument that is NULL.
    #[cold]
    pub(crate) fn of(argument: &'static &'static str, error: Error) -> Refusal {
        let argument = Some(argument);
        Refusal { error, argument }
    }
}

/// Any other error.
impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal { error, argument: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_two_words_at_most() {
        assert!(size_of::<Refusable<()>>() <= 16 && size_of::<Refusable<i32>>() <= 16);
    }
}
