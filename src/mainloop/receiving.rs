//! The next PDU from pmcd, read by read, and what the main loop says of it, or of a stream that
//! fails.

use std::io;

use crate::drive::NoDropCell;
use crate::mainloop::Agent;
use crate::record::Session;
use crate::sys::channel::{self, Channel};
use crate::sys::diagnostics;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::version::SINCE_6_0_5;
use pmda_core::log::{Bytes, Level};
use pmda_core::wire::receive::{Failure, Pdu, ReadMode, Receiver};
use pmda_core::wire::{Kind, show};

/// A PDU that is being received. The reads are the driver's: a thread that is cancelled while it
/// waits leaves there.
pub(super) struct Receiving {
    channel: Channel,
    /// Whether the channel is a socket or a pipe without a name; `None` until that matters.
    nameless: Option<bool>,
    mode: ReadMode,
    receiver: NoDropCell<Receiver>,
}

/// What a receiver wants.
pub(super) enum Wanted {
    /// Bytes, at a place that stays until the next step, at most this number.
    Bytes(*mut u8, usize),
    /// To be called again when there is something to read: each read is told of, and made by the
    /// session itself.
    Readable,
    /// Nothing: this is the PDU.
    Nothing(Pdu),
}

impl Receiving {
    /// Nothing is received.
    pub(super) const fn nothing() -> Receiving {
        Receiving {
            channel: Channel(-1),
            nameless: None,
            mode: ReadMode::Exact,
            receiver: NoDropCell::none(),
        }
    }

    /// The next PDU from a channel. Read ahead are only sockets and pipes without a name: what is
    /// in a FIFO or a file when the agent closes and opens it again is not for this library to
    /// know. The kernel is asked once for each number, as it takes as long as another read.
    pub(super) fn begin(&mut self, session: &Session, channel: Channel, mode: ReadMode) {
        if self.channel.0 != channel.0 {
            (self.channel, self.nameless) = (channel, None);
        }
        let mut nameless = || *self.nameless.get_or_insert_with(|| channel.is_nameless());
        self.mode = match mode {
            ReadMode::Ahead if nameless() => ReadMode::Ahead,
            _ => ReadMode::Exact,
        };
        if !channel::traces_reads() {
            self.receiver.set(session.take_ahead(channel));
        }
    }

    /// The descriptor that it comes from.
    pub(super) fn channel(&self) -> Channel {
        self.channel
    }

    /// Goes on.
    pub(super) fn next(&mut self, session: &Session) -> Result<Wanted, Failure> {
        let Some(receiver) = self.receiver.get() else {
            return Ok(Wanted::Readable);
        };
        if let Some(room) = receiver.room(self.mode)? {
            return Ok(Wanted::Bytes(room.as_mut_ptr(), room.len()));
        }
        let pdu = receiver.take(&mut self.channel)?;
        if let Some(receiver) = self.receiver.take() {
            session.received(self.channel, receiver, &pdu)?;
        }
        Ok(Wanted::Nothing(pdu))
    }

    /// Takes what was read.
    pub(super) fn read(&mut self, outcome: io::Result<usize>) -> Result<(), Failure> {
        let channel = &mut self.channel;
        self.receiver
            .get()
            .map_or(Ok(()), |receiver| receiver.filled(channel, outcome))
    }

    /// Ends without a PDU.
    pub(super) fn give_up(&mut self, session: &Session, failure: Failure) {
        if let Some(receiver) = self.receiver.take() {
            session.give_up(self.channel, receiver, failure);
        }
    }

    /// Receives a PDU whose first bytes are there.
    pub(super) fn readable(&mut self, session: &Session) -> Result<Pdu, Failure> {
        session.receive(self.channel, self.mode)
    }
}

/// Shows what has come; 0 stands for the end of the stream.
pub(super) fn log_kind(kind: Kind) {
    if log::debug(Debug::Pdu) && log::debug(Debug::Desperate) {
        log::trace!("__pmdaMainPDU: got PDU type {kind} from pmcd\n");
    }
}

/// Logs the details of a failed read; later releases than 6.0.3 do so only under -Dpdu (WIRE-60).
pub(crate) fn log_failure(channel: Channel, failure: Failure) {
    if SINCE_6_0_5 && !log::debug(Debug::Pdu) {
        return;
    }
    failure.lines(channel.0, log::errstr, |line| log::notify!(Level::Err, "{line}"));
}

/// Shows a request under -Dlibpmda, and says what its decoder says of it: behind the line before
/// PCP 6.0.5, inside of it, in front of the details, since then.
pub(super) fn show_request(agent: Agent<'_>, pdu: &Pdu) {
    let kind = pdu.header.kind;
    let decode = || diagnostics::decoding(agent.ext.infd(), kind, pdu.bytes());
    let line = if log::debug(Debug::Libpmda) {
        let context = agent.interface().has_attributes().then_some(pdu.header.from);
        show::request(kind, pdu.bytes(), context, SINCE_6_0_5)
    } else {
        None
    };
    let Some(line) = line else { return decode() };
    if SINCE_6_0_5 && [Debug::Pmns, Debug::Attr, Debug::Pdu].into_iter().any(log::debug) {
        let (head, details) = show::split(kind, line.bytes());
        log::debug_start(head);
        decode();
        log::trace!("{}\n", Bytes(details));
    } else {
        log::debug_line!("{}", Bytes(line.bytes()));
        decode();
    }
}
