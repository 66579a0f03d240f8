//! What fetches and the main loop keep for an agent in the private record behind `pmdaExt.e_ext`.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::sys::descriptor::Stream;
use crate::sys::lock::Mutex;
use crate::sys::threads::LazyMutex;
use crate::view::memory::Lasting;
use crate::view::received::{ListPlace, OwnedProfile};
use crate::view::result_block::Results;
use crate::view::table::{Indom, IndomNode, Metric};
use crate::view::types::pmdaMetric;
use crate::view::value::SpareDraft;
use pmda_core::cache::{Position, Start};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::index::Map;
use pmda_core::metrics::{Hashed, HintIndex};
use pmda_core::profile::Compiled;
use pmda_core::wire::encode::Reply;
use pmda_core::wire::receive::{Failure, Pdu, Receiver};

/// The fetch family's part of the private record. All of it is derived from the agent's tables and
/// is checked against them when it is used, except for the hash, which the agent asked for.
#[derive(Default)]
pub(crate) struct FetchState {
    /// The result that the last fetch has given out, and those of fetches inside of it (FETCH-12).
    pub(crate) results: Results,
    /// What `pmdaRehash` has built.
    pub(crate) hash: Mutex<HashedTable>,
    /// Where metrics were found in a table that is searched.
    pub(crate) metrics: Mutex<HintIndex>,
    /// Where instance domains were found in `e_indoms`.
    pub(crate) indoms: Mutex<HintIndex>,
    /// Where instances were found in the tables of domains.
    pub(crate) instances: LazyMutex<Map<TablePlaces>>,
    /// The compiled profile.
    pub(crate) selections: LazyMutex<Selections>,
    /// The position in a cached domain.
    pub(crate) walk: Walk,
}

/// Where the instances of one table were found, by id and by the hash of a name.
#[derive(Default)]
pub(crate) struct TablePlaces {
    pub(crate) by_id: HintIndex,
    pub(crate) by_name: HintIndex,
}

/// What `pmdaRehash` has built, and the table that it was built over.
pub(crate) struct HashedTable {
    pub(crate) index: Hashed,
    pub(crate) table: Lasting<pmdaMetric>,
}

impl Default for HashedTable {
    fn default() -> HashedTable {
        HashedTable {
            index: Hashed::default(),
            table: Lasting::EMPTY,
        }
    }
}

impl HashedTable {
    /// The entry of a metric in the table that the hash was built over.
    #[inline(always)]
    pub(crate) fn find<'call>(&self, wanted: MetricId) -> Option<Metric<'call>> {
        self.table.seen().entry(self.index.find(wanted)?)
    }
}

/// Compiled profile elements, by instance domain.
///
/// While the list of an element is at the same place, an iteration goes on with what was compiled
/// (INST-53). The place alone does not tell one list from another that was put there later: the
/// lists are compared whenever an iteration starts, and all is forgotten for each profile that
/// passes through this library (`selection`).
#[derive(Default)]
pub(crate) struct Selections {
    pub(crate) elements: HintIndex,
    /// None while it is used.
    pub(crate) compiled: Map<Option<CompiledElement>>,
}

/// A profile element with a list, ready to be asked.
pub(crate) struct CompiledElement {
    /// What it was made from.
    pub(crate) from: ListPlace,
    pub(crate) profile: Compiled<'static>,
}

/// How many steps of a walk may find that the domain has grown, beside one for each entry that was
/// listed at its start: then the walk ends. The C library goes on for as long as callbacks store
/// new instances.
const GROWING_STEPS: usize = 1 << 16;

/// The position of `__pmdaNextInst` in a cached domain (INST-43). Since it is not a place in a
/// list, the cache may change in any way between two steps.
pub(crate) struct Walk {
    /// What `e_idp` points to while a cached domain is walked.
    node: IndomNode,
    /// The entry that was noted, as [`Position::to_bits`].
    position: AtomicU64,
    /// Number of entries that were ever inserted, when it was looked at last.
    inserted: AtomicU32,
    /// At how many more steps the domain may have grown.
    growing: AtomicUsize,
}

impl Default for Walk {
    fn default() -> Walk {
        Walk {
            node: IndomNode::new(),
            position: AtomicU64::new(Position::END.to_bits()),
            inserted: AtomicU32::new(0),
            growing: AtomicUsize::new(0),
        }
    }
}

impl Walk {
    /// Starts at the first entry of `indom`, and gives what `e_idp` is to point to.
    pub(crate) fn begin(&'static self, indom: InDom, start: Start) -> Indom<'static> {
        self.go_on(start.first);
        self.inserted.store(start.inserted, Ordering::Relaxed);
        self.growing
            .store(start.listed.saturating_add(GROWING_STEPS), Ordering::Relaxed);
        self.node.stamp(indom);
        self.node.view()
    }

    /// Whether `e_idp` says that a cached domain is being walked.
    #[inline(always)]
    pub(crate) fn is_at(&self, idp: Indom<'_>) -> bool {
        self.node.is(idp)
    }

    /// Where it goes on.
    #[inline(always)]
    pub(crate) fn position(&self) -> Position {
        Position::from_bits(self.position.load(Ordering::Relaxed))
    }

    /// Where it goes on, given how many entries were ever inserted: at the end when the domain has
    /// grown at too many steps.
    pub(crate) fn resume(&self, inserted: u32) -> Position {
        if self.inserted.swap(inserted, Ordering::Relaxed) != inserted {
            let left = self.growing.load(Ordering::Relaxed);
            if left == 0 {
                return Position::END;
            }
            self.growing.store(left - 1, Ordering::Relaxed);
        }
        self.position()
    }

    /// An instance is given, and this is the entry behind it.
    #[inline(always)]
    pub(crate) fn go_on(&self, next: Position) {
        self.position.store(next.to_bits(), Ordering::Relaxed);
    }
}

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
    /// For replies to fetches.
    pub(crate) draft: SpareDraft,
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
            draft: Mutex::new(None),
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

    /// Takes the receiver of a stream back that cannot be followed any further. What was read ahead
    /// of the failure is kept: the agent may go on all the same.
    pub(crate) fn give_up(&self, fd: c_int, mut receiver: Receiver, failure: Failure) {
        receiver.abandon(failure);
        // Without memory it is lost.
        let _ = self.keep(fd, receiver);
    }

    /// Keeps a receiver, by its stream if it holds what was read ahead from that.
    ///
    /// # Errors
    /// Without memory what was read ahead is lost.
    pub(crate) fn keep(&self, fd: c_int, receiver: Receiver) -> Result<(), Failure> {
        if !receiver.is_ahead() {
            *self.idle.lock() = receiver;
            return Ok(());
        }
        let mut ahead = self.ahead.lock();
        ahead.try_reserve(1).map_err(|_| Failure::NoMemory)?;
        ahead.push((Stream::of(fd), receiver));
        Ok(())
    }

    /// The receiver that holds what was read ahead from a descriptor, or one that holds nothing.
    /// Requests rarely come before the one in front of them is answered, so the stream is rarely
    /// asked for its identity.
    pub(crate) fn take_ahead(&self, fd: c_int) -> Receiver {
        if !self.ahead.lock().is_empty() {
            let stream = Stream::of(fd);
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
