//! Receiving in steps: for those who read themselves.

use std::io::{self, ErrorKind};

use super::{Failure, Pdu, ReadMode, Receiver, Source, check_kind};
use crate::error::Error;
use crate::wire::HEADER;

impl Receiver {
    /// Room for what is to be read next, or `None` when a PDU is there as a whole: then
    /// [`Receiver::take`] gives it.
    ///
    /// # Errors
    /// As [`Receiver::next`].
    pub fn room(&mut self, mode: ReadMode) -> Result<Option<&mut [u8]>, Failure> {
        let wanted = if self.held.len() < HEADER {
            HEADER
        } else {
            self.header()?.len
        };
        let Some(missing @ 1..) = wanted.checked_sub(self.held.len()) else {
            return Ok(None);
        };
        let start = self.make_room(missing).map_err(|_| Failure::NoMemory)?;
        let end = match mode {
            ReadMode::Exact => self.buffer.len().min(start.saturating_add(missing)),
            ReadMode::Ahead => self.buffer.len(),
        };
        Ok(self.buffer.get_mut(start..end))
    }

    /// Takes note of what was read from the source into the room, or why nothing was.
    ///
    /// # Errors
    /// As [`Receiver::next`]; an interruption is none.
    pub fn filled(&mut self, source: &mut impl Source, outcome: io::Result<usize>) -> Result<(), Failure> {
        let broken = match outcome {
            Ok(0) => None,
            Ok(count) => {
                self.held.end = self.held.end.saturating_add(count).min(self.buffer.len());
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => Some(Error::from(error)),
        };
        Err(match broken {
            Some(Error::NOMEM) => Failure::NoMemory,
            broken if self.held.len() < HEADER => self.no_header(source, broken),
            broken => Failure::Short(self.short(HEADER, self.held.len().saturating_sub(HEADER), broken)),
        })
    }

    /// The PDU that is there as a whole.
    ///
    /// # Errors
    /// As [`Receiver::next`].
    pub fn take(&mut self, source: &mut impl Source) -> Result<Pdu, Failure> {
        let header = self.header()?;
        if header.kind.0 == 0 {
            source.nameless(self.held().get(..header.len).unwrap_or_default());
        }
        check_kind(header.kind)?;
        self.hand_out(header)
    }
}
