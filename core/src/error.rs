//! The one error type of the library: a negative code, as PCP's functions return it.

use std::num::NonZeroI32;
use std::{fmt, io};

use rustix::io::Errno;

/// A failure, as the negative number that C callers see: a `PM_ERR_*` code or `-errno`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error(NonZeroI32);

/// The result of an operation that may fail, mostly with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! codes {
    ($(#[doc = $text:literal] $name:ident = $code:literal;)*) => {
        impl Error {
            $(#[doc = $text] pub const $name: Error = Error::of($code);)*

            /// PCP's name of the code, and its meaning.
            fn of_pcp(self) -> Option<(&'static str, &'static str)> {
                match self {
                    $(Error::$name => Some((concat!("PM_ERR_", stringify!($name)), $text)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// Out of luck: no more specific code applies.
    GENERIC = -12345;
    /// No help text.
    TEXT = -12349;
    /// The metric is not supported by this version of the application.
    APPVERSION = -12350;
    /// No value.
    VALUE = -12351;
    /// No agent for this metric.
    NOAGENT = -12386;
    /// Unknown metric name.
    NAME = -12357;
    /// Unknown metric identifier.
    PMID = -12358;
    /// Unknown instance domain.
    INDOM = -12359;
    /// Unknown instance.
    INST = -12360;
    /// A conversion is not possible.
    CONV = -12362;
    /// A number that is too large.
    TRUNC = -12363;
    /// A negative number where none may be.
    SIGN = -12364;
    /// A malformed PDU, or a failure of the transport.
    IPC = -12366;
    /// End of file.
    EOF = -12368;
    /// No such context (for event arrays: no such handle).
    NOCONTEXT = -12376;
    /// Not allowed.
    PERMISSION = -12387;
    /// Try again later.
    AGAIN = -12389;
    /// The client's connection was closed: an end of context.
    NOTCONN = -12391;
    /// Unknown or illegal type.
    TYPE = -12397;
    /// Unknown container.
    NOCONTAINER = -12399;
    /// A value that cannot be stored.
    BADSTORE = -12400;
    /// Too big.
    TOOBIG = -12444;
    /// Not yet implemented by the agent.
    NYI = -21344;
}

macro_rules! errnos {
    ($(#[doc = $text:literal] $name:ident = $errno:ident;)*) => {
        impl Error {
            $(#[doc = $text] pub const $name: Error = Error::errno(Errno::$errno);)*

            /// The name of an errno, and its meaning.
            fn of_system(self) -> Option<(&'static str, &'static str)> {
                match self { $(Error::$name => Some((stringify!($name), $text)),)* _ => None }
            }
        }
    };
}

errnos! {
    /// Operation not permitted.
    EPERM = PERM;
    /// No such file or directory.
    ENOENT = NOENT;
    /// A directory, where a file is wanted.
    EISDIR = ISDIR;
    /// No such process, queue or database.
    ESRCH = SRCH;
    /// Argument list too long: too big, or too much.
    E2BIG = TOOBIG;
    /// Exists already.
    EEXIST = EXIST;
    /// No such device: what is no file.
    ENODEV = NODEV;
    /// Operation not supported.
    ENOTSUP = NOTSUP;
    /// Invalid argument.
    EINVAL = INVAL;
    /// Out of memory.
    ENOMEM = NOMEM;
    /// A shared library that is needed cannot be used.
    ELIBACC = LIBACC;
}

impl Error {
    /// The error with a code, which is never 0: so a result without a value is as small as the code
    /// that C gets. A failure that is reported as 0 becomes `PM_ERR_GENERIC`.
    const fn of(code: i32) -> Error {
        /// `PM_ERR_GENERIC`.
        const UNKNOWN: NonZeroI32 = NonZeroI32::new(-12345).unwrap();
        match NonZeroI32::new(code) {
            Some(code) => Error(code),
            None => Error(UNKNOWN),
        }
    }

    /// The error of a failed system call: `-errno`.
    #[must_use]
    pub const fn os(errno: i32) -> Error {
        Error::of(if errno > 0 { -errno } else { errno })
    }

    /// The error of an errno of rustix.
    const fn errno(errno: Errno) -> Error {
        Error::os(errno.raw_os_error())
    }

    /// Takes over a code that C has returned: `Ok` holds one that is not negative.
    ///
    /// # Errors
    /// The code itself when it is negative.
    pub const fn check(code: i32) -> Result<i32> {
        if code < 0 { Err(Error::of(code)) } else { Ok(code) }
    }

    /// The negative number that C callers see.
    #[must_use]
    pub const fn code(self) -> i32 {
        self.0.get()
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        error.raw_os_error().map_or(Error::GENERIC, Error::os)
    }
}

/// The error of a system call that failed: for the `-errno` of functions beside those of the system.
impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        io::Error::from_raw_os_error(-error.code())
    }
}

impl Error {
    /// The name by which PCP or the system knows the code, if it has one here: `PM_ERR_PMID`,
    /// `EINVAL`.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.name_and_text().map(|(name, _)| name)
    }

    /// The name and the meaning of the code.
    fn name_and_text(self) -> Option<(&'static str, &'static str)> {
        let (name, text) = self.of_pcp().or_else(|| self.of_system())?;
        Some((name, text.trim().trim_end_matches('.')))
    }
}

/// As in `EINVAL(-22, "Invalid argument")`.
impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name_and_text() {
            Some((name, text)) => write!(out, "{name}({}, {text:?})", self.0),
            None => write!(out, "Error({})", self.0),
        }
    }
}

/// As in `Invalid argument (EINVAL)`; a code that has no name here is shown as a number.
impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name_and_text() {
            Some((name, text)) => write!(out, "{text} ({name})"),
            None => write!(out, "error {}", self.0),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_keep_their_sign() {
        assert_eq!(Error::os(2).code(), -2);
        assert_eq!(Error::os(-2).code(), -2);
        assert_eq!(Error::check(-12345), Err(Error::GENERIC));
        assert_eq!(Error::os(0), Error::GENERIC);
        assert_eq!(size_of::<Result<()>>(), size_of::<i32>());
        assert_eq!(Error::check(7), Ok(7));
    }

    /// A message says what has happened, and by which name to look for it.
    #[test]
    fn texts() {
        let texts = [
            Error::PMID,
            Error::BADSTORE,
            Error::EINVAL,
            Error::os(5),
            Error::check(-20000).unwrap_err(),
        ];
        let names = texts.map(Error::name);
        assert_eq!(
            names,
            [Some("PM_ERR_PMID"), Some("PM_ERR_BADSTORE"), Some("EINVAL"), None, None]
        );
        let shown = texts.map(|error| format!("{error}; {error:?}"));
        assert_eq!(
            shown,
            [
                "Unknown metric identifier (PM_ERR_PMID); PM_ERR_PMID(-12358, \"Unknown metric identifier\")",
                "A value that cannot be stored (PM_ERR_BADSTORE); PM_ERR_BADSTORE(-12400, \"A value that cannot be stored\")",
                "Invalid argument (EINVAL); EINVAL(-22, \"Invalid argument\")",
                "error -5; Error(-5)",
                "error -20000; Error(-20000)",
            ]
        );
    }
}
