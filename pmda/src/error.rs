//! The error type of agents: a code of PCP or the system, and what has happened, in words.

use std::num::{ParseFloatError, ParseIntError, TryFromIntError};
use std::str::Utf8Error;
use std::string::FromUtf8Error;
use std::{fmt, io};

use pmda_core::error::Error as Code;

/// A failure: the code that clients get (`PM_ERR_*` or `-errno`), and perhaps a text for the log.
///
/// Errors are equal if their codes are. `?` makes one of an error of the system, of a number that
/// cannot be read or does not fit (`PM_ERR_CONV`), of a text that is not UTF-8 (`PM_ERR_CONV`), and
/// of a [`Problem`](crate::Problem); each keeps what it says as its text.
///
/// ```
/// use pmda::{Error, Result};
///
/// fn load(line: &str) -> Result<u32> {
///     let (_, number) = line.split_once(' ').ok_or_else(|| Error::VALUE.text("no blank in the
///   line"))?; Ok(number.parse()?) } assert_eq!(load("load"), Err(Error::VALUE)); let error =
///   load("load one").unwrap_err(); assert_eq!(error, Error::CONV); assert_eq!(error.to_string(),
///   "invalid digit found in string: A conversion is not possible (PM_ERR_CONV)");
/// ```
#[derive(Clone)]
pub struct Error {
    code: Code,
    /// Boxed twice, so that results without a value stay small.
    text: Option<Box<Box<str>>>,
}

/// The result of a function that may fail with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        impl Error {
            $($(#[$doc])* pub const $name: Error = Error::of(Code::$name);)*
        }
    };
}

codes! {
    /// No more specific code applies.
    GENERIC;
    /// No help text.
    TEXT;
    /// The metric is not supported by this version of the application.
    APPVERSION;
    /// No value.
    VALUE;
    /// No agent for this metric.
    NOAGENT;
    /// Unknown metric name.
    NAME;
    /// Unknown metric identifier.
    PMID;
    /// Unknown instance domain.
    INDOM;
    /// Unknown instance.
    INST;
    /// A conversion is not possible.
    CONV;
    /// A number that is too large.
    TRUNC;
    /// A negative number where none may be.
    SIGN;
    /// A malformed PDU, or a failure of the transport.
    IPC;
    /// End of file.
    EOF;
    /// No such context.
    NOCONTEXT;
    /// Not allowed.
    PERMISSION;
    /// Try again later.
    AGAIN;
    /// The client's connection is gone.
    NOTCONN;
    /// Unknown or illegal type.
    TYPE;
    /// Unknown container.
    NOCONTAINER;
    /// A value that cannot be stored.
    BADSTORE;
    /// Too big.
    TOOBIG;
    /// Not yet implemented by the agent.
    NYI;
    /// Operation not permitted.
    EPERM;
    /// No such process.
    ESRCH;
    /// Too big, or too much.
    E2BIG;
    /// Exists already.
    EEXIST;
    /// No such device.
    ENODEV;
    /// Operation not supported.
    ENOTSUP;
    /// Invalid argument.
    EINVAL;
    /// Out of memory.
    ENOMEM;
}

impl Error {
    const fn of(code: Code) -> Error {
        Error { code, text: None }
    }

    /// The error of a failed system call: `-errno`.
    #[must_use]
    pub const fn os(errno: i32) -> Error {
        Error::of(Code::os(errno))
    }

    /// Takes over a code of PCP: `Ok` holds one that is not negative.
    ///
    /// # Errors
    /// The code itself if it is negative.
    pub fn check(code: i32) -> Result<i32> {
        Ok(Code::check(code)?)
    }

    /// The negative number that clients get.
    #[must_use]
    pub const fn code(&self) -> i32 {
        self.code.code()
    }

    /// The name by which PCP or the system knows the code, if it has one here: `PM_ERR_PMID`,
    /// `EINVAL`.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        self.code.name()
    }

    /// The same error with a text for the log, such as the file and the line that it is about. It
    /// comes in front of the text that the error has.
    #[must_use]
    pub fn text(mut self, text: impl fmt::Display) -> Error {
        let text = match self.text {
            Some(known) => format!("{text}: {known}"),
            None => text.to_string(),
        };
        self.text = Some(Box::new(text.into_boxed_str()));
        self
    }

    /// The meaning of the code.
    pub(crate) fn meaning(&self) -> String {
        self.code.to_string()
    }

    /// The text, if it has one.
    pub(crate) fn said(&self) -> Option<&str> {
        self.text.as_deref().map(|text| &**text)
    }
}

impl PartialEq for Error {
    fn eq(&self, other: &Error) -> bool {
        self.code == other.code
    }
}

impl Eq for Error {}

impl std::hash::Hash for Error {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.code.hash(state);
    }
}

/// As in `EINVAL(-22, "Invalid argument")`, with the text in front.
impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.said() {
            write!(out, "{text:?}: ")?;
        }
        self.code.fmt(out)
    }
}

/// As in `Invalid argument (EINVAL)`, with the text in front.
impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.said() {
            write!(out, "{text}: ")?;
        }
        fmt::Display::fmt(&self.code, out)
    }
}

impl std::error::Error for Error {}

impl From<Code> for Error {
    fn from(code: Code) -> Error {
        Error::of(code)
    }
}

/// An error that Rust's library has made, and that has no errno, keeps its text.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        match error.raw_os_error() {
            Some(errno) => Error::os(errno),
            None => Error::GENERIC.text(error),
        }
    }
}

macro_rules! conversions {
    ($($error:ty)*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error::CONV.text(error)
            }
        })*
    };
}

conversions! { ParseIntError ParseFloatError TryFromIntError Utf8Error FromUtf8Error }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let error = Error::VALUE.text("no number").text(format_args!("line {}", 7));
        assert_eq!(error, Error::VALUE);
        assert_eq!(error.to_string(), "line 7: no number: No value (PM_ERR_VALUE)");
        assert_eq!(
            format!("{error:?}"),
            "\"line 7: no number\": PM_ERR_VALUE(-12351, \"No value\")"
        );
        assert_eq!(size_of::<Result<()>>(), 2 * size_of::<usize>());
    }

    /// Errors of Rust's library become errors of PCP, and keep what they say.
    #[test]
    fn conversions() {
        let number: Error = "x".parse::<u32>().expect_err("no number").into();
        let float: Error = "x".parse::<f64>().expect_err("no number").into();
        let size: Error = u8::try_from(256_i32).expect_err("too large").into();
        let text: Error = String::from_utf8(vec![0xff]).expect_err("not UTF-8").into();
        for (error, said) in [
            (number, "invalid digit found in string"),
            (float, "invalid float literal"),
            (size, "out of range integral type conversion attempted"),
            (text, "invalid utf-8 sequence of 1 bytes from index 0"),
        ] {
            assert_eq!((&error, error.said()), (&Error::CONV, Some(said)));
        }
        let system: Error = io::Error::from_raw_os_error(libc::ENOENT).into();
        assert_eq!((system.code(), system.said()), (-libc::ENOENT, None));
        let other: Error = io::Error::other("a reason").into();
        assert_eq!((&other, other.said()), (&Error::GENERIC, Some("a reason")));
    }
}
