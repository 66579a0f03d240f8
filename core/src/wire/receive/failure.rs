//! Why there is no PDU, and what is said about it.

use std::fmt::{self, Display};

use rustix::io::Errno;

use crate::error::Error;

/// Why there is no PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The stream has ended between two PDUs.
    End,
    /// The stream cannot be read; nothing of the header was there.
    Unreadable(Error),
    /// The stream ended, or broke, inside the length, of which this number of bytes was there.
    NoLength(usize),
    /// A length that no PDU has.
    Length(i32),
    /// A length that is not served.
    TooBig(i32),
    /// There is no memory for it.
    NoMemory,
    /// A type that no PDU has.
    Kind(i32),
    /// The stream ended, or broke, inside the PDU.
    Short(Short),
}

/// A PDU that ends too early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Short {
    /// Bytes of the header.
    pub have: usize,
    /// Bytes that should have followed.
    pub want: usize,
    /// Bytes that did follow.
    pub got: usize,
    /// Why, unless the stream has just ended.
    pub broken: Option<Error>,
    /// Length, type and sender, as far as they arrived.
    pub header: [Option<i32>; 3],
}

/// How each line begins that is about a descriptor.
#[derive(Clone, Copy)]
struct Start(i32);

impl Display for Start {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "__pmGetPDU: fd={}", self.0)
    }
}

impl Failure {
    /// The code that the caller of the main loop sees (WIRE-12).
    #[must_use]
    pub const fn code(self) -> Error {
        match self {
            Failure::End | Failure::Unreadable(_) => Error::EOF,
            Failure::TooBig(_) => Error::TOOBIG,
            Failure::NoMemory => Error::NOMEM,
            _ => Error::IPC,
        }
    }

    /// Says what is to be logged (MAIN-32), line by line, given the descriptor's number and the
    /// text of an error.
    pub fn lines<T: Display>(self, fd: i32, text: impl Fn(Error) -> T, mut say: impl FnMut(fmt::Arguments<'_>)) {
        let start = Start(fd);
        match self {
            Failure::End | Failure::NoMemory => {}
            Failure::Unreadable(error) if is_ordinary(error) => {}
            Failure::Unreadable(error) => say(format_args!("{start} hdr read: len=-1: {}", text(error))),
            Failure::NoLength(got) => say(format_args!("{start} hdr read: bad len={got}")),
            Failure::Length(len) | Failure::TooBig(len) => say(format_args!("{start} illegal PDU len={len} in hdr")),
            Failure::Kind(kind) => say(format_args!("{start} illegal PDU type={kind} in hdr")),
            Failure::Short(short) => short.lines(start, text, say),
        }
    }
}

/// Whether this is one of the ways in which a connection to pmcd just ends: that is not worth a
/// line.
fn is_ordinary(error: Error) -> bool {
    const LOST: [Errno; 8] = [
        Errno::PIPE,
        Errno::CONNRESET,
        Errno::CONNREFUSED,
        Errno::TIMEDOUT,
        Errno::NETDOWN,
        Errno::NETUNREACH,
        Errno::HOSTDOWN,
        Errno::HOSTUNREACH,
    ];
    LOST.iter().any(|lost| lost.raw_os_error() == -error.code())
}

impl Short {
    fn lines<T: Display>(self, start: Start, text: impl Fn(Error) -> T, mut say: impl FnMut(fmt::Arguments<'_>)) {
        let Short { have, want, got, .. } = self;
        match self.broken {
            Some(error) => say(format_args!("{start} data read: len=-1: {}", text(error))),
            None => say(format_args!("{start} data read: have {have}, want {want}, got {got}")),
        }
        match self.header {
            [Some(len), Some(kind), Some(from)] => say(format_args!(
                "__pmGetPDU: PDU hdr: len=0x{len:x} type=0x{kind:x} from=0x{from:x}"
            )),
            [Some(len), Some(kind), None] => {
                say(format_args!("__pmGetPDU: PDU hdr: len=0x{len:x} type=0x{kind:x}"));
            }
            _ => {}
        }
    }
}
