//! Cuts a stream of bytes into PDUs (WIRE-10 to WIRE-14). [`Receiver`] does no I/O of its own: its
//! caller reads into the buffer that it offers, and says what came of it. [`Receiver::next`] does
//! both.

#[cfg(test)]
mod tests;

use std::fmt::{self, Display};
use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use rustix::io::Errno;

use super::{HEADER, Kind, PduHeader, number};
use crate::error::Error;

/// The size in bytes of the buffer for an ordinary request. Reading ahead never asks for more.
const ORDINARY: usize = 16 * 1024;

/// The size in bytes beyond which a buffer is given back once its PDU was served.
const KEPT: usize = 256 * 1024;

/// The number of bytes that a read may take beyond the present PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadMode {
    /// No byte, since others read the descriptor, too.
    Exact,
    /// As many as have arrived: the caller owns the stream until it ends.
    Ahead,
}

/// The bytes of one PDU, in a buffer that goes back to the receiver with [`Receiver::recycle`].
#[derive(Debug)]
pub struct Pdu {
    buffer: Vec<u8>,
    range: Range<usize>,
    /// The header, checked.
    pub header: PduHeader,
}

impl Pdu {
    /// All bytes of the PDU, header included.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(self.range.clone()).unwrap_or_default()
    }

    /// Returns whether the type is 0, which callers cannot tell from the end of the stream
    /// (WIRE-12).
    #[must_use]
    pub const fn is_end(&self) -> bool {
        self.header.kind.0 == 0
    }
}

/// The bytes of a stream that were read and not yet handed out.
#[derive(Default, Debug)]
pub struct Receiver {
    buffer: Vec<u8>,
    /// The part of the buffer that was read and not yet handed out.
    held: Range<usize>,
    /// True if the stream has ended inside of a header.
    is_cut: bool,
}

impl Receiver {
    /// A receiver that has read nothing.
    #[must_use]
    pub const fn new() -> Receiver {
        Receiver {
            buffer: Vec::new(),
            held: 0..0,
            is_cut: false,
        }
    }

    /// Reads until one PDU is complete. The buffer grows as bytes arrive, whatever length is
    /// announced (WIRE-13).
    ///
    /// # Errors
    /// After a [`Failure`] the stream cannot be followed any further.
    pub fn next(&mut self, source: &mut impl Read, mode: ReadMode) -> Result<Pdu, Failure> {
        while let Some(buffer) = self.read_buffer(mode)? {
            let outcome = source.read(buffer);
            self.filled(outcome)?;
        }
        let pdu = self.take()?;
        if pdu.is_end() { Err(Failure::End) } else { Ok(pdu) }
    }

    /// The number of bytes that the header lacks or, if the header is complete, the PDU.
    ///
    /// # Errors
    /// As [`Receiver::next`].
    pub fn missing(&self) -> Result<usize, Failure> {
        let wanted = if self.held.len() < HEADER && !self.is_cut {
            HEADER
        } else {
            self.check_length()?
        };
        Ok(wanted.saturating_sub(self.held.len()))
    }

    /// The buffer for the next read; `None` when a PDU is complete: then [`Receiver::take`] returns
    /// it.
    ///
    /// # Errors
    /// As [`Receiver::next`].
    pub fn read_buffer(&mut self, mode: ReadMode) -> Result<Option<&mut [u8]>, Failure> {
        let missing = self.missing()?;
        if missing == 0 {
            return Ok(None);
        }
        let start = self.reserve(missing).map_err(|_| Failure::NoMemory)?;
        let end = match mode {
            ReadMode::Exact => self.buffer.len().min(start.saturating_add(missing)),
            ReadMode::Ahead => self.buffer.len(),
        };
        Ok(self.buffer.get_mut(start..end))
    }

    /// Notes what was read from the stream into the buffer, or why nothing was.
    ///
    /// # Errors
    /// As [`Receiver::next`]; an interruption is none.
    pub fn filled(&mut self, outcome: io::Result<usize>) -> Result<(), Failure> {
        let have = self.held.len();
        if self.is_cut {
            return Err(Failure::Short(self.short_read(have, 0, None)));
        }
        let broken = match outcome {
            Ok(0) => None,
            Ok(count) => {
                self.held.end = self.held.end.saturating_add(count).min(self.buffer.len());
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => Some(Error::from(error)),
        };
        Err(match (have, broken) {
            (_, Some(Error::ENOMEM)) => Failure::NoMemory,
            (HEADER.., broken) => Failure::Short(self.short_read(HEADER, have - HEADER, broken)),
            (_, Some(error)) => Failure::Unreadable(error),
            (0, None) => Failure::End,
            (1..4, None) => Failure::NoLength(have),
            (_, None) => {
                // The C library checks the length now, and asks for the rest all the same.
                self.check_length()?;
                self.is_cut = true;
                return Ok(());
            }
        })
    }

    /// Takes out the PDU that is complete.
    ///
    /// # Errors
    /// As [`Receiver::next`].
    pub fn take(&mut self) -> Result<Pdu, Failure> {
        let header = self.header()?;
        if header.kind.0 < 0 {
            return Err(Failure::Kind(header.kind.0));
        }
        self.hand_out(header)
    }

    /// Returns whether bytes were read beyond the PDUs that were handed out.
    #[must_use]
    pub fn is_ahead(&self) -> bool {
        !self.held.is_empty()
    }

    /// Forgets the bytes that were read. An ordinary buffer is kept.
    pub fn clear(&mut self) {
        self.held = 0..0;
        if self.buffer.len() > KEPT {
            self.buffer = Vec::new();
        }
    }

    /// Skips the bytes of a failed PDU, as far as the C library reads before it gives up: a caller
    /// that goes on reads the bytes after them (WIRE-12).
    pub fn abandon(&mut self, failure: Failure) {
        let read = match failure {
            Failure::Length(_) | Failure::TooBig(_) => HEADER,
            Failure::Kind(_) => self.header().map_or(self.held.len(), |header| header.len),
            _ => self.held.len(),
        };
        self.held.start += read.min(self.held.len());
        self.is_cut = false;
        if self.held.is_empty() {
            self.clear();
        }
    }

    /// Takes back the buffer of a PDU that was served, for the next one.
    pub fn recycle(&mut self, pdu: Pdu) {
        if self.held.is_empty() && pdu.buffer.len() <= KEPT {
            self.buffer = pdu.buffer;
            self.held = 0..0;
        }
    }

    /// Makes room after the held bytes, for `missing` more or for as many as are held: an announced
    /// length costs memory only in proportion to the bytes that have arrived. Returns where the
    /// free part of the buffer begins.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn reserve(&mut self, missing: usize) -> Result<usize, Error> {
        let step = missing.min(self.held.len().max(ORDINARY));
        if self.buffer.len() - self.held.end < step {
            self.buffer.copy_within(self.held.clone(), 0);
            self.held = 0..self.held.len();
            let size = self.held.end.saturating_add(step).max(ORDINARY);
            if size > self.buffer.len() {
                let more = size - self.buffer.len();
                self.buffer.try_reserve(more).map_err(|_| Error::ENOMEM)?;
                self.buffer.resize(size, 0);
            }
        }
        Ok(self.held.end)
    }

    /// The bytes that were read and not yet handed out.
    fn held(&self) -> &[u8] {
        self.buffer.get(self.held.clone()).unwrap_or_default()
    }

    /// The length that the header announces, if it is one that is served.
    fn check_length(&self) -> Result<usize, Failure> {
        /// The greatest length: the C library rounds lengths up to its buffer size, and refuses
        /// those that overflow then (WIRE-12).
        const MOST: i32 = i32::MAX - 1024;
        let len = number(self.held(), 0).unwrap_or(0);
        match usize::try_from(len) {
            Ok(bytes) if bytes >= HEADER && len <= MOST => Ok(bytes),
            Ok(bytes) if bytes >= HEADER => Err(Failure::TooBig(len)),
            _ => Err(Failure::Length(len)),
        }
    }

    /// The header, with a checked length.
    fn header(&self) -> Result<PduHeader, Failure> {
        let len = self.check_length()?;
        Ok(PduHeader {
            len,
            kind: Kind(number(self.held(), 4).unwrap_or(0)),
            from: number(self.held(), 8).unwrap_or(0),
        })
    }

    /// The report about a PDU that ends too early.
    fn short_read(&self, have: usize, got: usize, broken: Option<Error>) -> ShortRead {
        let held = self.held();
        ShortRead {
            have,
            want: count_missing(number(held, 0), have),
            got,
            broken,
            header: [number(held, 0), number(held, 4), number(held, 8)],
        }
    }

    /// Hands out the buffer with the PDU in it. Bytes that were read ahead move to a new buffer: a
    /// method may read the next PDU itself while this one is served.
    fn hand_out(&mut self, header: PduHeader) -> Result<Pdu, Failure> {
        let range = self.held.start..self.held.start + header.len;
        let ahead = self.buffer.get(range.end..self.held.end).unwrap_or_default();
        let mut fresh = Vec::new();
        if !ahead.is_empty() {
            let size = ahead.len().max(ORDINARY);
            fresh.try_reserve_exact(size).map_err(|_| Failure::NoMemory)?;
            fresh.extend_from_slice(ahead);
            fresh.resize(size, 0);
        }
        let held = 0..ahead.len();
        self.held = held;
        let buffer = std::mem::replace(&mut self.buffer, fresh);
        Ok(Pdu { buffer, range, header })
    }
}

/// The number of bytes that the announced length has beyond `have`.
fn count_missing(len: Option<i32>, have: usize) -> usize {
    usize::try_from(len.unwrap_or(0)).unwrap_or(0).saturating_sub(have)
}

/// The reason why no PDU was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The stream has ended between two PDUs.
    End,
    /// The stream cannot be read, and no byte of the header had arrived.
    Unreadable(Error),
    /// The stream ended, or broke, inside of the length: this number of its bytes had arrived.
    NoLength(usize),
    /// A length that no PDU has.
    Length(i32),
    /// A length that is not served.
    TooBig(i32),
    /// The PDU found no memory.
    NoMemory,
    /// A type that no PDU has.
    Kind(i32),
    /// The stream ended, or broke, inside of the PDU.
    Short(ShortRead),
}

/// A PDU that ends too early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShortRead {
    /// The number of bytes of the header that had arrived.
    pub have: usize,
    /// The number of bytes that should have followed.
    pub want: usize,
    /// The number of bytes that did follow.
    pub got: usize,
    /// The reason, unless the stream has just ended.
    pub broken: Option<Error>,
    /// Length, type and sender, as far as they arrived.
    pub header: [Option<i32>; 3],
}

/// The beginning of each line about a descriptor.
#[derive(Clone, Copy)]
struct LinePrefix(i32);

impl Display for LinePrefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "__pmGetPDU: fd={}", self.0)
    }
}

impl Failure {
    /// The code that the caller of the main loop gets (WIRE-12).
    #[must_use]
    pub const fn code(self) -> Error {
        match self {
            Failure::End | Failure::Unreadable(_) => Error::EOF,
            Failure::TooBig(_) => Error::TOOBIG,
            Failure::NoMemory => Error::ENOMEM,
            _ => Error::IPC,
        }
    }

    /// Says what is to be logged, line by line (MAIN-32). `fd` is the number of the descriptor;
    /// `text` returns the text of an error.
    pub fn lines<T: Display>(self, fd: i32, text: impl Fn(Error) -> T, mut say: impl FnMut(fmt::Arguments<'_>)) {
        let start = LinePrefix(fd);
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

/// Returns whether an error is one with which connections to pmcd ordinarily end, which is not
/// worth a line.
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

impl ShortRead {
    fn lines<T: Display>(self, start: LinePrefix, text: impl Fn(Error) -> T, mut say: impl FnMut(fmt::Arguments<'_>)) {
        let ShortRead { have, want, got, .. } = self;
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
