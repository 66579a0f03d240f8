//! What the main loop keeps for one agent: the buffers, and the profile that was accepted last.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::channel::Channel;
use super::private;
use super::received::OwnedProfile;
use super::types::pmdaExt;
use crate::wire::encode::Reply;
use crate::wire::receive::{Failure, Pdu, Reach, Receiver};

/// The connection of one agent. The locks are held only while nothing of C runs.
#[derive(Default)]
pub(super) struct Session {
    /// The first PDU has been waited for (MAIN-3).
    begun: AtomicBool,
    input: Mutex<Input>,
    reply: Mutex<Reply>,
    profile: Mutex<Option<OwnedProfile>>,
}

/// Bytes read ahead, and from where.
#[derive(Default)]
struct Input {
    fd: c_int,
    receiver: Receiver,
}

/// For agents whose `pmdaExt` was made by hand: they have no record of ours.
static UNKNOWN: Session = Session::new();

/// The session of an agent.
///
/// # Safety
/// As `private::of`.
pub(super) unsafe fn of(ext: *const pmdaExt) -> &'static Session {
    // SAFETY: the contract is passed on.
    unsafe { private::of(ext) }.map_or(&UNKNOWN, |record| &record.session)
}

impl Session {
    /// A session that has not begun.
    pub(super) const fn new() -> Session {
        Session {
            begun: AtomicBool::new(false),
            input: Mutex::new(Input {
                fd: -1,
                receiver: Receiver::new(),
            }),
            reply: Mutex::new(Reply::new()),
            profile: Mutex::new(None),
        }
    }

    /// Whether the loop has been entered before.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// The checks at the entry of the loop were passed.
    pub(super) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// The next PDU from `channel`. Bytes that were read ahead from another descriptor are forgotten: the agent has
    /// turned away from it.
    pub(super) fn receive(&self, mut channel: Channel, reach: Reach) -> Result<Pdu, Failure> {
        let mut input = std::mem::take(&mut *self.input.lock());
        if input.fd != channel.0 {
            input = Input {
                fd: channel.0,
                receiver: Receiver::new(),
            };
        }
        let outcome = input.receiver.next(&mut channel, reach);
        if outcome.is_err() {
            input.receiver = Receiver::new();
        }
        *self.input.lock() = input;
        if let Ok(pdu) = &outcome {
            channel.note_received(pdu.bytes());
        }
        outcome
    }

    /// Takes the buffer of a PDU back.
    pub(super) fn recycle(&self, pdu: Pdu) {
        self.input.lock().receiver.recycle(pdu);
    }

    /// Takes the buffer for replies; a second one is made when the first is in use.
    pub(super) fn take_reply(&self) -> Reply {
        std::mem::take(&mut *self.reply.lock())
    }

    /// Gives the buffer for replies back.
    pub(super) fn give_reply(&self, reply: Reply) {
        *self.reply.lock() = reply;
    }

    /// Keeps a profile that the agent has accepted; the one before it is freed now.
    pub(super) fn keep_profile(&self, profile: OwnedProfile) {
        let before = self.profile.lock().replace(profile);
        drop(before);
    }
}
