//! What the main loop keeps for one agent: the buffers, and the profile that was accepted last.

use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::sys::channel::{Channel, Stream};
use crate::sys::lock::Mutex;
use crate::sys::traced::{self, TracedChannel};
use crate::view::received::OwnedProfile;
use pmda_core::wire::encode::{Reply, ResultBuilder};
use pmda_core::wire::receive::{Failure, Pdu, ReadMode, Receiver};

/// The connection of one agent. The locks are held only while nothing of C runs.
#[derive(Default)]
pub(crate) struct Session {
    /// The first PDU has been waited for (MAIN-3).
    begun: AtomicBool,
    /// The agent has asked for the descriptor: it may wait on it itself, also in a callback.
    watched: AtomicBool,
    /// Holds no bytes: it is kept for its buffer.
    idle: Mutex<Receiver>,
    /// What was read ahead of the PDU that is being served, by the stream that it came from: the
    /// agent may turn to another descriptor meanwhile, and back (MAIN-53).
    ahead: Mutex<Vec<(Option<Stream>, Receiver)>>,
    reply: Mutex<Reply>,
    /// The draft of a reply to a fetch, or NULL while a fetch works on it.
    pub(crate) draft: AtomicPtr<ResultBuilder>,
    profile: Mutex<Option<OwnedProfile>>,
}

impl Session {
    /// A session that has not begun.
    pub(crate) const fn new() -> Session {
        Session {
            begun: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            idle: Mutex::new(Receiver::new()),
            ahead: Mutex::new(Vec::new()),
            reply: Mutex::new(Reply::new()),
            draft: AtomicPtr::new(std::ptr::null_mut()),
            profile: Mutex::new(None),
        }
    }

    /// Whether the loop has been entered before.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// The checks at the entry of the loop were passed.
    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Whether the agent has asked for the descriptor.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// The agent has asked for the descriptor: nothing is read ahead from now on.
    pub(crate) fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// The next PDU from `channel`.
    pub(crate) fn receive(&self, mut channel: Channel, mode: ReadMode) -> Result<Pdu, Failure> {
        let mut receiver = self.take_ahead(channel);
        let outcome = if traced::traces_reads() {
            receiver.next(&mut TracedChannel::new(channel), ReadMode::Exact)
        } else {
            receiver.next(&mut channel, mode)
        };
        match &outcome {
            Ok(pdu) => self.received(channel, receiver, pdu)?,
            Err(failure) => self.give_up(channel, receiver, *failure),
        }
        outcome
    }

    /// Takes the receiver of a stream back that cannot be followed any further. What was read ahead
    /// of the failure is kept: the agent may go on all the same.
    pub(crate) fn give_up(&self, channel: Channel, mut receiver: Receiver, failure: Failure) {
        receiver.abandon(failure);
        // Without memory it is lost.
        let _ = self.keep(channel, receiver);
    }

    /// Keeps a receiver, by its stream if it holds what was read ahead from that.
    fn keep(&self, channel: Channel, receiver: Receiver) -> Result<(), Failure> {
        if !receiver.is_ahead() {
            *self.idle.lock() = receiver;
            return Ok(());
        }
        let mut ahead = self.ahead.lock();
        ahead.try_reserve(1).map_err(|_| Failure::NoMemory)?;
        ahead.push((channel.stream(), receiver));
        Ok(())
    }

    /// Takes note of a PDU that was received, and takes the receiver back.
    ///
    /// # Errors
    /// Without memory what was read ahead is lost.
    pub(crate) fn received(&self, channel: Channel, receiver: Receiver, pdu: &Pdu) -> Result<(), Failure> {
        self.keep(channel, receiver)?;
        channel.note_received(pdu.bytes());
        Ok(())
    }

    /// The receiver that holds what was read ahead from `channel`, or one that holds nothing.
    /// Requests rarely come before the one in front of them is answered, so the stream is rarely
    /// asked for its identity.
    pub(crate) fn take_ahead(&self, channel: Channel) -> Receiver {
        if !self.ahead.lock().is_empty() {
            let stream = channel.stream();
            let mut ahead = self.ahead.lock();
            if let Some(place) = ahead.iter().position(|(from, _)| *from == stream) {
                return ahead.swap_remove(place).1;
            }
        }
        std::mem::take(&mut *self.idle.lock())
    }

    /// Takes the buffer of a PDU back.
    pub(crate) fn recycle(&self, pdu: Pdu) {
        self.idle.lock().recycle(pdu);
    }

    /// Takes the buffer for replies; a second one is made when the first is in use.
    pub(crate) fn take_reply(&self) -> Reply {
        std::mem::take(&mut *self.reply.lock())
    }

    /// Gives the buffer for replies back.
    pub(crate) fn give_reply(&self, mut reply: Reply) {
        reply.trim();
        *self.reply.lock() = reply;
    }

    /// Keeps a profile that the agent has accepted; the one before it is freed now.
    pub(crate) fn keep_profile(&self, profile: OwnedProfile) {
        let before = self.profile.lock().replace(profile);
        drop(before);
    }
}
