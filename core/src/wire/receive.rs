//! Cuts a stream of bytes into PDUs (WIRE-10 to WIRE-14).

#[cfg(test)]
mod tests;

use std::fmt::{self, Display};
use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use rustix::io::Errno;

use super::{HEADER, Kind, PduHeader, number};
use crate::error::Error;

/// Buffer size for an ordinary request, in bytes; the limit of reading ahead.
const ORDINARY: usize = 16 * 1024;

/// Bytes beyond which a buffer is given back once its PDU was served.
const KEPT: usize = 256 * 1024;

/// The reach of a read beyond the present PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadMode {
    /// Not a byte, since others read the descriptor, too.
    Exact,
    /// As far as there are bytes.
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

    /// Returns whether its type is 0, which callers take for the end of the stream (WIRE-12).
    #[must_use]
    pub const fn is_end(&self) -> bool {
        self.header.kind.0 == 0
    }
}

/// The bytes of a stream that have been read and not been handed out yet.
#[derive(Default, Debug)]
pub struct Receiver {
    buffer: Vec<u8>,
    held: Range<usize>,
    /// The stream has ended inside of a header.
    is_cut: bool,
}

impl Receiver {
    /// Nothing has been read.
    #[must_use]
    pub const fn new() -> Receiver {
        Receiver {
            buffer: Vec::new(),
            held: 0..0,
            is_cut: false,
        }
    }

    /// Reads one PDU. The buffer grows as bytes arrive, whatever length is announced (WIRE-13).
    ///
    /// # Errors
    /// After a [`Failure`] the stream cannot be followed any further.
    pub fn next(&mut self, source: &mut impl Read, mode: ReadMode) -> Result<Pdu, Failure> {
        while let Some(room) = self.room(mode)? {
            let outcome = source.read(room);
            self.filled(outcome)?;
        }
        let pdu = self.take()?;
        if pdu.is_end() { Err(Failure::End) } else { Ok(pdu) }
    }

    /// The number of bytes that the header lacks, or else the PDU.
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

    /// Room for the next read, `None` when a PDU is complete (see [`Receiver::take`]).
    ///
    /// # Errors
    /// As [`Receiver::next`].
    pub fn room(&mut self, mode: ReadMode) -> Result<Option<&mut [u8]>, Failure> {
        let missing = self.missing()?;
        if missing == 0 {
            return Ok(None);
        }
        let start = self.make_room(missing).map_err(|_| Failure::NoMemory)?;
        let end = match mode {
            ReadMode::Exact => self.buffer.len().min(start.saturating_add(missing)),
            ReadMode::Ahead => self.buffer.len(),
        };
        Ok(self.buffer.get_mut(start..end))
    }

    /// Takes the outcome of a read into the room.
    ///
    /// # Errors
    /// As [`Receiver::next`]; an interruption is none.
    pub fn filled(&mut self, outcome: io::Result<usize>) -> Result<(), Failure> {
        let have = self.held.len();
        if self.is_cut {
            return Err(Failure::Short(self.short(have, 0, None)));
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
            (HEADER.., broken) => Failure::Short(self.short(HEADER, have - HEADER, broken)),
            (_, Some(error)) => Failure::Unreadable(error),
            (0, None) => Failure::End,
            (1..4, None) => Failure::NoLength(have),
            (_, None) => {
                // As the C library does before it asks for the rest.
                self.check_length()?;
                self.is_cut = true;
                return Ok(());
            }
        })
    }

    /// The PDU that is complete.
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

    /// Returns whether there are bytes behind the PDUs that were handed out.
    #[must_use]
    pub fn is_ahead(&self) -> bool {
        !self.held.is_empty()
    }

    /// Forgets what was read.
    pub fn clear(&mut self) {
        self.held = 0..0;
        if self.buffer.len() > KEPT {
            self.buffer = Vec::new();
        }
    }

    /// Skips what a failure is about, as far as the C library reads before it gives up (WIRE-12).
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

    /// Takes back the buffer of a PDU that was served.
    pub fn recycle(&mut self, pdu: Pdu) {
        if self.held.is_empty() && pdu.buffer.len() <= KEPT {
            self.buffer = pdu.buffer;
            self.held = 0..0;
        }
    }

    /// Makes room behind the held bytes, for `missing` more or as many as are held: memory is in
    /// proportion to what has arrived. Returns where the room starts.
    fn make_room(&mut self, missing: usize) -> Result<usize, Error> {
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

    fn held(&self) -> &[u8] {
        self.buffer.get(self.held.clone()).unwrap_or_default()
    }

    fn check_length(&self) -> Result<usize, Failure> {
        /// The C library rounds lengths up to its buffer size, which must not overflow (WIRE-12).
        const MOST: i32 = i32::MAX - 1024;
        let len = number(self.held(), 0).unwrap_or(0);
        match usize::try_from(len) {
            Ok(bytes) if bytes >= HEADER && len <= MOST => Ok(bytes),
            Ok(bytes) if bytes >= HEADER => Err(Failure::TooBig(len)),
            _ => Err(Failure::Length(len)),
        }
    }

    fn header(&self) -> Result<PduHeader, Failure> {
        let len = self.check_length()?;
        Ok(PduHeader {
            len,
            kind: Kind(number(self.held(), 4).unwrap_or(0)),
            from: number(self.held(), 8).unwrap_or(0),
        })
    }

    fn short(&self, have: usize, got: usize, broken: Option<Error>) -> ShortRead {
        let held = self.held();
        ShortRead {
            have,
            want: count_missing(number(held, 0), have),
            got,
            broken,
            header: [number(held, 0), number(held, 4), number(held, 8)],
        }
    }

    /// The buffer with the PDU in it. What was read ahead moves to a new one: a method may read the
    /// next PDU while this one is served.
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

fn count_missing(len: Option<i32>, have: usize) -> usize {
    usize::try_from(len.unwrap_or(0)).unwrap_or(0).saturating_sub(have)
}

/// The reason why there is no PDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The stream has ended between two PDUs.
    End,
    /// The stream cannot be read; nothing of the header was there.
    Unreadable(Error),
    /// The stream ended, or broke, after this number of bytes of the length.
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
    Short(ShortRead),
}

/// A PDU that ends too early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShortRead {
    /// Bytes of the header.
    pub have: usize,
    /// Bytes that should have followed.
    pub want: usize,
    /// Bytes that did follow.
    pub got: usize,
    /// The reason, unless the stream has just ended.
    pub broken: Option<Error>,
    /// Length, type and sender, as far as they arrived.
    pub header: [Option<i32>; 3],
}

#[derive(Clone, Copy)]
struct LinePrefix(i32);

impl Display for LinePrefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "__pmGetPDU: fd={}", self.0)
    }
}

impl Failure {
    /// The main loop's result (WIRE-12).
    #[must_use]
    pub const fn code(self) -> Error {
        match self {
            Failure::End | Failure::Unreadable(_) => Error::EOF,
            Failure::TooBig(_) => Error::TOOBIG,
            Failure::NoMemory => Error::ENOMEM,
            _ => Error::IPC,
        }
    }

    /// Logs it, line by line (MAIN-32); `text` is the text of an error.
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

/// Returns whether connections to pmcd ordinarily end with this error, which is not logged.
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
