//! The error type of agents: a code of PCP or the system, and what has happened, in words.

use std::array::TryFromSliceError;
use std::char::{CharTryFromError, ParseCharError};
use std::env::VarError;
use std::net::AddrParseError;
use std::num::{ParseFloatError, ParseIntError, TryFromIntError};
use std::str::{ParseBoolError, Utf8Error};
use std::string::{FromUtf8Error, FromUtf16Error};
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use std::time::{SystemTimeError, TryFromFloatSecsError};
use std::{fmt, io};

use pmda_core::error as core;

use crate::code::Code;
use crate::code::all_codes;

/// A failure: the [`Code`] that clients get (`PM_ERR_*` or `-errno`), and perhaps a text for the
/// log.
///
/// The constants are errors without a text. Errors are equal if their codes are; to tell several
/// apart, match their [`Error::code`]. It is no enum with sources, since a client gets a number and
/// nothing else: what caused it is text for the log. `?` makes an error of those of Rust's library,
/// each with what it says as its text:
///
/// | an error of | becomes |
/// |---|---|
/// | the system | `-errno` |
/// | a number, a truth value, a character, an address, UTF-8, a conversion | `PM_ERR_CONV` |
/// | an environment variable | `PM_ERR_VALUE` |
/// | a channel | `PM_ERR_AGAIN` if nothing has come yet, else `-EPIPE` |
/// | a time before 1970 | `PM_ERR_SIGN` |
/// | a declaration ([`Problem`](crate::Problem)) | `-EINVAL` |
/// | any other kind, as a `Box<dyn Error>` | that of the errors above that is in it or has caused it, else `PM_ERR_GENERIC` |
///
/// [`Context`](crate::Context) makes one of the errors of other crates, and adds what it is about.
/// (One blanket `From` would forbid `Box<dyn Error>`, and this type as an error of other crates.)
///
/// # In the log
///
/// Each error that a client gets is a line of the log, with the request's step, metric, instance or
/// store; so an agent need not log what it returns. Not so an error that is [`Error::logged`], and
/// [`Error::AGAIN`] without a text, which means that there is no value yet. The log has each line
/// once, at most eight different lines about one metric, instance or other thing, and a thousand an
/// hour in all; further lines have the level `debug`.
///
/// ```
/// use pmda::{Error, Result};
///
/// fn load(line: &str) -> Result<u32> {
///     let no_blank = || Error::VALUE.text("no blank in the line");
///     let (_, number) = line.split_once(' ').ok_or_else(no_blank)?;
///     Ok(number.parse()?)
/// }
///
/// assert_eq!(load("load"), Err(Error::VALUE));
/// let error = load("load one").unwrap_err();
/// assert_eq!(error, Error::CONV);
/// assert_eq!(
///     error.to_string(),
///     "invalid digit found in string: A conversion is not possible (PM_ERR_CONV)"
/// );
/// ```
#[derive(Clone)]
pub struct Error {
    code: Code,
    /// Boxed, so that results without a value stay small.
    note: Option<Box<Note>>,
}

/// The result of a function that may fail, as a rule with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The parts of an error beside its code.
#[derive(Clone, Default)]
struct Note {
    text: String,
    /// The log has it.
    is_logged: bool,
}

macro_rules! constants {
    ($(#[doc = $doc:literal] $name:ident = $number:expr, $c_name:expr;)*) => {
        impl Error {
            $(#[doc = $doc] pub const $name: Error = Error::of(Code::$name);)*
        }
    };
}

all_codes!(constants);

impl Error {
    pub(crate) const fn of(code: Code) -> Error {
        Error { code, note: None }
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
        if code < 0 { Err(Error::os(code)) } else { Ok(code) }
    }

    /// The code: what clients get, and what a `match` tells apart.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The same error with a text for the log, such as the file and the line that it is about. The
    /// new text stands in front of the old one.
    #[must_use]
    pub fn text(mut self, text: impl fmt::Display) -> Error {
        let note = self.note.get_or_insert_default();
        note.text = match note.text.as_str() {
            "" => text.to_string(),
            known => format!("{text}: {known}"),
        };
        self
    }

    /// The same error, for an error that the agent has logged itself: the crate adds no line for
    /// it.
    ///
    /// Otherwise each error that reaches a client is logged, once, with what it is about. Only
    /// `PM_ERR_AGAIN` without a text is not logged: it means that there is no value yet.
    #[must_use]
    pub fn logged(mut self) -> Error {
        self.note.get_or_insert_default().is_logged = true;
        self
    }

    /// The same error with another code for clients.
    pub(crate) fn with_code(self, code: Code) -> Error {
        Error { code, ..self }
    }

    /// Returns whether the log is to have a line of it.
    pub(crate) fn is_for_the_log(&self) -> bool {
        match &self.note {
            Some(note) => !note.is_logged,
            None => self.code != Code::AGAIN,
        }
    }

    /// The text, if it has one.
    pub(crate) fn said(&self) -> Option<&str> {
        let text = self.note.as_ref()?.text.as_str();
        (!text.is_empty()).then_some(text)
    }

    /// The error that this one of any type is or has been caused by, with what the outer ones say.
    pub(crate) fn from_any(error: &(dyn std::error::Error + 'static)) -> Error {
        if let Some(error) = error.downcast_ref::<Error>() {
            return error.clone();
        }
        let mut causes = std::iter::successors(Some(error), |error| error.source());
        let code = causes.find_map(known_code).unwrap_or(Code::GENERIC);
        Error::of(code).text(error)
    }
}

/// The code of an error of the system, of this crate, or of a conversion.
fn known_code(error: &(dyn std::error::Error + 'static)) -> Option<Code> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return error.raw_os_error().map(Code::os);
    }
    if let Some(error) = error.downcast_ref::<Error>() {
        return Some(error.code);
    }
    is_conversion(error).then_some(Code::CONV)
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

#[doc(hidden)]
impl From<core::Error> for Error {
    fn from(error: core::Error) -> Error {
        Error::of(error.into())
    }
}

/// An error that Rust's library has made, and that has no errno, keeps its text.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        match error.raw_os_error() {
            Some(errno) => Error::os(errno),
            None => Error::from_any(&error),
        }
    }
}

impl From<Box<dyn std::error::Error>> for Error {
    fn from(error: Box<dyn std::error::Error>) -> Error {
        Error::from_any(&*error)
    }
}

impl From<Box<dyn std::error::Error + Send>> for Error {
    fn from(error: Box<dyn std::error::Error + Send>) -> Error {
        Error::from_any(&*error)
    }
}

impl From<Box<dyn std::error::Error + Send + Sync>> for Error {
    fn from(error: Box<dyn std::error::Error + Send + Sync>) -> Error {
        Error::from_any(&*error)
    }
}

macro_rules! conversions {
    ($($error:ty)*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error::CONV.text(error)
            }
        })*

        /// Returns whether it is an error of Rust's library that becomes `PM_ERR_CONV`.
        fn is_conversion(error: &(dyn std::error::Error + 'static)) -> bool {
            $(error.is::<$error>() ||)* false
        }
    };
}

conversions! {
    ParseIntError ParseFloatError ParseBoolError ParseCharError AddrParseError
    TryFromIntError TryFromSliceError TryFromFloatSecsError CharTryFromError
    Utf8Error FromUtf8Error FromUtf16Error
}

macro_rules! others {
    ($($error:ty => $name:ident;)*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error::$name.text(error)
            }
        })*
    };
}

others! {
    VarError => VALUE;
    SystemTimeError => SIGN;
    fmt::Error => GENERIC;
    RecvError => EPIPE;
}

impl From<TryRecvError> for Error {
    fn from(error: TryRecvError) -> Error {
        match error {
            TryRecvError::Empty => Error::AGAIN,
            TryRecvError::Disconnected => Error::EPIPE.text(error),
        }
    }
}

impl From<RecvTimeoutError> for Error {
    fn from(error: RecvTimeoutError) -> Error {
        match error {
            RecvTimeoutError::Timeout => Error::AGAIN,
            RecvTimeoutError::Disconnected => Error::EPIPE.text(error),
        }
    }
}

impl<T> From<SendError<T>> for Error {
    fn from(error: SendError<T>) -> Error {
        Error::EPIPE.text(error)
    }
}

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

    /// Errors of Rust's library become errors of PCP, and keep their texts.
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
        assert_eq!((system.code(), system.said()), (Code::ENOENT, None));
        let other: Error = io::Error::other("a reason").into();
        assert_eq!((&other, other.said()), (&Error::GENERIC, Some("a reason")));
    }

    /// The errors that an author meets, with `?`.
    #[test]
    fn errors_of_the_library() {
        fn address(text: &str) -> Result<std::net::IpAddr> {
            Ok(text.parse()?)
        }
        fn truth(text: &str) -> Result<bool> {
            Ok(text.parse()?)
        }
        fn character(text: &str) -> Result<char> {
            Ok(text.parse()?)
        }
        fn variable(name: &str) -> Result<String> {
            Ok(std::env::var(name)?)
        }
        fn time() -> Result<std::time::Duration> {
            let early = std::time::UNIX_EPOCH - std::time::Duration::from_secs(1);
            Ok(early.duration_since(std::time::UNIX_EPOCH)?)
        }
        let codes = [
            address("x").map(drop),
            truth("maybe").map(drop),
            character("xy").map(drop),
            variable("a name = without a value").map(drop),
            time().map(drop),
        ]
        .map(|outcome| outcome.expect_err("an error").code());
        assert_eq!(codes, [Code::CONV, Code::CONV, Code::CONV, Code::VALUE, Code::SIGN]);
        let (sender, receiver) = std::sync::mpsc::channel::<u32>();
        assert_eq!(receiver.try_recv().map_err(Error::from), Err(Error::AGAIN));
        drop(sender);
        assert_eq!(receiver.recv().map_err(Error::from), Err(Error::EPIPE));
        let (sender, receiver) = std::sync::mpsc::channel::<u32>();
        drop(receiver);
        assert_eq!(sender.send(1).map_err(Error::from), Err(Error::EPIPE));
    }

    /// An error in a box keeps its code, however deep it is.
    #[test]
    fn errors_in_boxes() {
        #[derive(Debug)]
        struct Outer(Box<dyn std::error::Error>);
        impl fmt::Display for Outer {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "outer")
            }
        }
        impl std::error::Error for Outer {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&*self.0)
            }
        }
        fn boxed(error: impl Into<Box<dyn std::error::Error>>) -> Error {
            Error::from(error.into())
        }
        let missing = || io::Error::from_raw_os_error(libc::ENOENT);
        let inner = Error::BADSTORE.text("odd");
        for (error, code, said) in [
            (boxed("a text"), Code::GENERIC, "a text"),
            (boxed(Outer(missing().into())), Code::ENOENT, "outer"),
            (
                boxed(Outer("x".parse::<u8>().expect_err("no number").into())),
                Code::CONV,
                "outer",
            ),
            (boxed(Outer(inner.clone().into())), Code::BADSTORE, "outer"),
            (boxed(inner), Code::BADSTORE, "odd"),
        ] {
            assert_eq!((error.code(), error.said()), (code, Some(said)));
        }
    }

    /// An error that was logged before, or that means that there is no value yet, has no line in
    /// the log.
    #[test]
    fn for_the_log() {
        assert!(Error::VALUE.is_for_the_log() && Error::AGAIN.text("why").is_for_the_log());
        assert!(!Error::AGAIN.is_for_the_log() && !Error::VALUE.text("why").logged().is_for_the_log());
    }
}
