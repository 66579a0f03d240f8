//! Why there is no PDU, and what is said about it.

use crate::error::Error;

/// Why there is no PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The stream has ended between two PDUs.
    End,
    /// The stream cannot be read; nothing of the header was there.
    Unreadable(Error),
    /// The stream ended, or broke, inside the length: so many bytes of it were there.
    NoLength(usize),
    /// A length that no PDU has.
    Length(i32),
    /// A length that is not served.
    TooBig(i32),
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
    /// Length, type and sender, as far as they arrived.
    pub header: [Option<i32>; 3],
}

impl Failure {
    /// The code that the caller of the main loop sees (WIRE-12).
    #[must_use]
    pub const fn code(self) -> Error {
        match self {
            Failure::End | Failure::Unreadable(_) => Error::EOF,
            Failure::TooBig(_) => Error::TOOBIG,
            _ => Error::IPC,
        }
    }

    /// What is to be logged (MAIN-32), given the descriptor's number and the text of an error.
    #[must_use]
    pub fn lines(self, fd: i32, text: impl Fn(Error) -> String) -> Vec<String> {
        let start = format!("__pmGetPDU: fd={fd}");
        match self {
            Failure::End => Vec::new(),
            Failure::Unreadable(error) => vec![format!("{start} hdr read: len=-1: {}", text(error))],
            Failure::NoLength(got) => vec![format!("{start} hdr read: bad len={got}")],
            Failure::Length(len) | Failure::TooBig(len) => vec![format!("{start} illegal PDU len={len} in hdr")],
            Failure::Kind(kind) => vec![format!("{start} illegal PDU type={kind} in hdr")],
            Failure::Short(short) => short.lines(&start),
        }
    }
}

impl Short {
    fn lines(self, start: &str) -> Vec<String> {
        let Short { have, want, got, .. } = self;
        let mut lines = vec![format!("{start} data read: have {have}, want {want}, got {got}")];
        if let [Some(len), Some(kind), from] = self.header {
            let from = from.map_or(String::new(), |from| format!(" from=0x{from:x}"));
            lines.push(format!("__pmGetPDU: PDU hdr: len=0x{len:x} type=0x{kind:x}{from}"));
        }
        lines
    }
}
