//! The codes of errors: those of PCP by the names of `pmapi.h`, and those of the system.

use std::fmt;
use std::num::NonZeroI32;

use pmda_core::error as core;

/// The code of an [`Error`](crate::Error), which is all that clients get of it: `PM_ERR_*`, or `-errno`.
///
/// It is no enum, since each errno is a code as well; but its constants are patterns. [`Error`](crate::Error)
/// has the same constants, to be returned: an error may have a text, so it cannot be a pattern.
///
/// ```
/// use pmda::{Code, Error};
///
/// fn is_worth_another_try(error: &Error) -> bool {
///     match error.code() {
///         Code::AGAIN | Code::EINTR => true,
///         Code::ETIMEDOUT => true,
///         _ => false,
///     }
/// }
/// assert!(is_worth_another_try(&Error::AGAIN.text("the first reading is not complete")));
/// ```
///
/// Of an agent's `PM_ERR_IPC` and `PM_ERR_TIMEOUT` clients get `PM_ERR_GENERIC`: pmcd would take the
/// agent for lost, and end it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(NonZeroI32);

impl Code {
    /// A code of PCP, which is below 0.
    const fn of(number: i32) -> Code {
        /// `PM_ERR_GENERIC`, for a failure that has no code.
        const UNKNOWN: NonZeroI32 = NonZeroI32::new(-12345).unwrap();
        match NonZeroI32::new(number) {
            Some(number) => Code(number),
            None => Code(UNKNOWN),
        }
    }

    /// The code of a failed system call: `-errno`.
    #[must_use]
    pub const fn os(errno: i32) -> Code {
        Code::of(if errno > 0 { -errno } else { errno })
    }

    /// The number that clients get. It is below 0.
    #[must_use]
    pub const fn number(self) -> i32 {
        self.0.get()
    }

    /// The name of the code in `pmapi.h` or `errno.h`, if it is one of the constants here:
    /// `PM_ERR_PMID`, `EINVAL`.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.name_and_meaning().map(|(name, _)| name)
    }

    /// The meaning of the code, in words.
    #[must_use]
    pub fn meaning(self) -> Option<&'static str> {
        let (_, meaning) = self.name_and_meaning()?;
        Some(meaning.trim().trim_end_matches('.'))
    }
}

/// Calls a macro with all codes: the meaning, the name here, the number, and the name in C.
macro_rules! all_codes {
    ($then:ident) => {
        $then! {
            /// No more specific code applies.
            GENERIC = -12345, "PM_ERR_GENERIC";
            /// Names of metrics that cannot be read.
            PMNS = -12346, "PM_ERR_PMNS";
            /// No names of metrics.
            NOPMNS = -12347, "PM_ERR_NOPMNS";
            /// The names of metrics are loaded already.
            DUPPMNS = -12348, "PM_ERR_DUPPMNS";
            /// No help text.
            TEXT = -12349, "PM_ERR_TEXT";
            /// The metric is not supported by this version of the application.
            APPVERSION = -12350, "PM_ERR_APPVERSION";
            /// No value.
            VALUE = -12351, "PM_ERR_VALUE";
            /// No reply in time.
            TIMEOUT = -12353, "PM_ERR_TIMEOUT";
            /// An archive without data.
            NODATA = -12354, "PM_ERR_NODATA";
            /// The configuration of pmcd has changed.
            RESET = -12355, "PM_ERR_RESET";
            /// Unknown metric name.
            NAME = -12357, "PM_ERR_NAME";
            /// Unknown metric identifier.
            PMID = -12358, "PM_ERR_PMID";
            /// Unknown instance domain.
            INDOM = -12359, "PM_ERR_INDOM";
            /// Unknown instance.
            INST = -12360, "PM_ERR_INST";
            /// A unit that cannot be.
            UNIT = -12361, "PM_ERR_UNIT";
            /// A conversion is not possible.
            CONV = -12362, "PM_ERR_CONV";
            /// A number that is too large.
            TRUNC = -12363, "PM_ERR_TRUNC";
            /// A negative number where none may be.
            SIGN = -12364, "PM_ERR_SIGN";
            /// The client has to name the instances that it wants.
            PROFILE = -12365, "PM_ERR_PROFILE";
            /// A malformed PDU, or a failure of the transport.
            IPC = -12366, "PM_ERR_IPC";
            /// End of file.
            EOF = -12368, "PM_ERR_EOF";
            /// The context is not one of a host.
            NOTHOST = -12369, "PM_ERR_NOTHOST";
            /// The end of an archive.
            EOL = -12370, "PM_ERR_EOL";
            /// A mode that cannot be.
            MODE = -12371, "PM_ERR_MODE";
            /// An archive does not begin as archives do.
            LABEL = -12372, "PM_ERR_LABEL";
            /// A damaged record of an archive.
            LOGREC = -12373, "PM_ERR_LOGREC";
            /// The context is not one of an archive.
            NOTARCHIVE = -12374, "PM_ERR_NOTARCHIVE";
            /// A file of an archive is missing.
            LOGFILE = -12375, "PM_ERR_LOGFILE";
            /// No such context.
            NOCONTEXT = -12376, "PM_ERR_NOCONTEXT";
            /// A profile that names instances of no domain.
            PROFILESPEC = -12377, "PM_ERR_PROFILESPEC";
            /// The archive does not have the metric.
            PMID_LOG = -12378, "PM_ERR_PMID_LOG";
            /// The archive does not have the instance domain.
            INDOM_LOG = -12379, "PM_ERR_INDOM_LOG";
            /// The archive does not have the instance.
            INST_LOG = -12380, "PM_ERR_INST_LOG";
            /// No profile was sent.
            NOPROFILE = -12381, "PM_ERR_NOPROFILE";
            /// No agent for this metric.
            NOAGENT = -12386, "PM_ERR_NOAGENT";
            /// Not allowed.
            PERMISSION = -12387, "PM_ERR_PERMISSION";
            /// Too many connections.
            CONNLIMIT = -12388, "PM_ERR_CONNLIMIT";
            /// Try again later.
            AGAIN = -12389, "PM_ERR_AGAIN";
            /// Connected already.
            ISCONN = -12390, "PM_ERR_ISCONN";
            /// The client's connection was closed.
            NOTCONN = -12391, "PM_ERR_NOTCONN";
            /// A port is missing.
            NEEDPORT = -12392, "PM_ERR_NEEDPORT";
            /// The name is not that of a metric, but names are below it.
            NONLEAF = -12394, "PM_ERR_NONLEAF";
            /// Unknown or illegal type.
            TYPE = -12397, "PM_ERR_TYPE";
            /// Not from this thread.
            THREAD = -12398, "PM_ERR_THREAD";
            /// Unknown container.
            NOCONTAINER = -12399, "PM_ERR_NOCONTAINER";
            /// A value that cannot be stored.
            BADSTORE = -12400, "PM_ERR_BADSTORE";
            /// Archives that overlap in time.
            LOGOVERLAP = -12401, "PM_ERR_LOGOVERLAP";
            /// Archives of different hosts.
            LOGHOST = -12402, "PM_ERR_LOGHOST";
            /// The type of a metric has changed in an archive.
            LOGCHANGETYPE = -12404, "PM_ERR_LOGCHANGETYPE";
            /// The semantics of a metric have changed in an archive.
            LOGCHANGESEM = -12405, "PM_ERR_LOGCHANGESEM";
            /// The instance domain of a metric has changed in an archive.
            LOGCHANGEINDOM = -12406, "PM_ERR_LOGCHANGEINDOM";
            /// The unit of a metric has changed in an archive.
            LOGCHANGEUNITS = -12407, "PM_ERR_LOGCHANGEUNITS";
            /// The client has to show a certificate.
            NEEDCLIENTCERT = -12408, "PM_ERR_NEEDCLIENTCERT";
            /// A derived metric that cannot be.
            BADDERIVE = -12409, "PM_ERR_BADDERIVE";
            /// No labels.
            NOLABELS = -12410, "PM_ERR_NOLABELS";
            /// The agent is fenced off: pmcd asks it nothing.
            PMDAFENCED = -12411, "PM_ERR_PMDAFENCED";
            /// A record of another type in an archive.
            RECTYPE = -12412, "PM_ERR_RECTYPE";
            /// An archive has something that is not known here.
            FEATURE = -12413, "PM_ERR_FEATURE";
            /// A failure of TLS.
            TLS = -12414, "PM_ERR_TLS";
            /// A mistake in a program.
            BOTCH = -12442, "PM_ERR_BOTCH";
            /// Too small, or too few.
            TOOSMALL = -12443, "PM_ERR_TOOSMALL";
            /// Too big.
            TOOBIG = -12444, "PM_ERR_TOOBIG";
            /// A failure that a test has asked for.
            FAULT = -12445, "PM_ERR_FAULT";
            /// The agent is ready now.
            PMDAREADY = -13393, "PM_ERR_PMDAREADY";
            /// The agent is not ready yet.
            PMDANOTREADY = -13394, "PM_ERR_PMDANOTREADY";
            /// Not yet implemented by the agent.
            NYI = -21344, "PM_ERR_NYI";

            /// Operation not permitted.
            EPERM = -libc::EPERM, "EPERM";
            /// No such file or directory.
            ENOENT = -libc::ENOENT, "ENOENT";
            /// No such process.
            ESRCH = -libc::ESRCH, "ESRCH";
            /// Interrupted by a signal.
            EINTR = -libc::EINTR, "EINTR";
            /// Failure of a device.
            EIO = -libc::EIO, "EIO";
            /// No such device or address.
            ENXIO = -libc::ENXIO, "ENXIO";
            /// Too big, or too much.
            E2BIG = -libc::E2BIG, "E2BIG";
            /// A wrong descriptor.
            EBADF = -libc::EBADF, "EBADF";
            /// Not now: the resource is not available.
            EAGAIN = -libc::EAGAIN, "EAGAIN";
            /// Out of memory.
            ENOMEM = -libc::ENOMEM, "ENOMEM";
            /// Access is denied.
            EACCES = -libc::EACCES, "EACCES";
            /// In use.
            EBUSY = -libc::EBUSY, "EBUSY";
            /// Exists already.
            EEXIST = -libc::EEXIST, "EEXIST";
            /// No such device.
            ENODEV = -libc::ENODEV, "ENODEV";
            /// Not a directory.
            ENOTDIR = -libc::ENOTDIR, "ENOTDIR";
            /// A directory, where a file is wanted.
            EISDIR = -libc::EISDIR, "EISDIR";
            /// Invalid argument.
            EINVAL = -libc::EINVAL, "EINVAL";
            /// No space left.
            ENOSPC = -libc::ENOSPC, "ENOSPC";
            /// Nobody reads at the other end.
            EPIPE = -libc::EPIPE, "EPIPE";
            /// The kernel does not have this system call.
            ENOSYS = -libc::ENOSYS, "ENOSYS";
            /// No data.
            ENODATA = -libc::ENODATA, "ENODATA";
            /// Against the protocol.
            EPROTO = -libc::EPROTO, "EPROTO";
            /// A value that its type does not hold.
            EOVERFLOW = -libc::EOVERFLOW, "EOVERFLOW";
            /// Operation not supported.
            ENOTSUP = -libc::ENOTSUP, "ENOTSUP";
            /// The connection is broken.
            ECONNRESET = -libc::ECONNRESET, "ECONNRESET";
            /// The connection is refused.
            ECONNREFUSED = -libc::ECONNREFUSED, "ECONNREFUSED";
            /// Not in time.
            ETIMEDOUT = -libc::ETIMEDOUT, "ETIMEDOUT";
            /// The host cannot be reached.
            EHOSTUNREACH = -libc::EHOSTUNREACH, "EHOSTUNREACH";
        }
    };
}

pub(crate) use all_codes;

macro_rules! codes {
    ($(#[doc = $doc:literal] $name:ident = $number:expr, $c_name:expr;)*) => {
        impl Code {
            $(#[doc = $doc] pub const $name: Code = Code::of($number);)*

            fn name_and_meaning(self) -> Option<(&'static str, &'static str)> {
                match self {
                    $(Code::$name => Some(($c_name, $doc)),)*
                    _ => None,
                }
            }
        }
    };
}

all_codes!(codes);

/// As in `EINVAL(-22, "Invalid argument")`.
impl fmt::Debug for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self.meaning()) {
            (Some(name), Some(meaning)) => write!(out, "{name}({}, {meaning:?})", self.0),
            _ => write!(out, "Code({})", self.0),
        }
    }
}

/// As in `Invalid argument (EINVAL)`; a code without a name here is shown as a number.
impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self.meaning()) {
            (Some(name), Some(meaning)) => write!(out, "{meaning} ({name})"),
            _ => write!(out, "error {}", self.0),
        }
    }
}

#[doc(hidden)]
impl From<core::Error> for Code {
    fn from(error: core::Error) -> Code {
        Code::of(error.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each code of PCP is that of `pmda-core` with the same name, and an errno is negative.
    #[test]
    fn numbers() {
        for known in [
            core::Error::GENERIC,
            core::Error::TEXT,
            core::Error::AGAIN,
            core::Error::NOCONTAINER,
            core::Error::TOOBIG,
            core::Error::NYI,
            core::Error::EINVAL,
            core::Error::ENOMEM,
            core::Error::ENOTSUP,
        ] {
            assert_eq!(Code::from(known).name(), known.name());
        }
        assert_eq!((Code::os(5), Code::os(-5)), (Code::EIO, Code::EIO));
        assert_eq!(Code::os(99).to_string(), "error -99");
        assert_eq!(
            format!("{:?} {0}", Code::PROFILE),
            "PM_ERR_PROFILE(-12365, \"The client has to name the instances that it wants\") The client has to name the instances that it wants (PM_ERR_PROFILE)"
        );
    }

    /// The constants have the names and numbers of `pmapi.h`, where PCP is installed.
    #[test]
    fn names_of_the_header() {
        let Ok(header) = std::fs::read_to_string("/usr/include/pcp/pmapi.h") else {
            return;
        };
        let mut seen = 0;
        for line in header.lines() {
            let Some((name, rest)) = line
                .strip_prefix("#define ")
                .and_then(|line| line.split_once(char::is_whitespace))
            else {
                continue;
            };
            let Some(distance) = rest.trim().strip_prefix("(-PM_ERR_BASE-") else {
                continue;
            };
            let distance: i32 = distance.split(')').next().expect("a number").parse().expect("a number");
            // A newer PCP may have more of them.
            if let Some(known) = Code::of(-12345 - distance).name() {
                assert_eq!(known, name);
                seen += 1;
            }
        }
        assert!(seen > 50, "{seen}");
    }
}
