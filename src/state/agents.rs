//! The records themselves, and the part of the main loop.

use crate::state::callbacks::Registrations;
use crate::state::iteration::{CompiledList, InstanceWalk};
use crate::sys::descriptor::StreamId;
use crate::sys::lock::{Mutex, Token};
use crate::view::from_wire::OwnedProfile;
use crate::view::interface::{Ext, SeenDispatch};
use crate::view::memory::Lasting;
use crate::view::result_block::Results;
use crate::view::table::Metric;
use crate::view::types::{pmdaExt, pmdaMetric};
use once_cell::race::OnceBox;
use pmda_core::error::Result;
use pmda_core::ident::{InDom, Interface, MetricId};
use pmda_core::index::Map;
use pmda_core::leak::try_leak;
use pmda_core::table_index::{Hashed, HintIndex};
use pmda_core::wire::encode::ResultBuilder;
use pmda_core::wire::receive::{Failure, Pdu, Receiver};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// The library's record of one agent. What was learned from the agent's tables is checked
/// against them when it is used, except for the hash, which the agent asked for.
#[repr(C)]
pub(crate) struct AgentRecord {
    /// The dispatch table: its address is the first word, as in the record of the C library. A pmcd
    /// on that one moves the table of an agent that has this library inside (INIT-51).
    pub(crate) dispatch: SeenDispatch,
    /// The extension that was made with this record: never looked at, but a leak checker finds it
    /// here when the agent has forgotten it.
    _ext: AtomicPtr<pmdaExt>,
    /// The state of the library, to be found here when the library has been unloaded.
    _globals: AtomicPtr<c_void>,
    /// The interface version, copied from the dispatch table whenever we are given one (MAIN-56).
    pub(crate) interface: AtomicU32,
    /// The number of times that what was known of the lists of its profile was forgotten.
    pub(crate) forgotten: AtomicU32,
    /// The agent's own pointer (INIT-49).
    pub(crate) user: AtomicPtr<c_void>,
    /// The agent's own trees of dynamic names (DYN-1).
    pub(crate) dynamic: Registrations,
    /// The results that fetches have given out (FETCH-12).
    pub(crate) results: Results,
    /// The hash that `pmdaRehash` has built.
    pub(crate) hash: Mutex<HashedTable>,
    /// The places of metrics in a table that is searched.
    pub(crate) metrics: Mutex<HintIndex>,
    /// The places of instance domains in `e_indoms`.
    pub(crate) indoms: Mutex<HintIndex>,
    /// The places of instances in the tables of domains.
    pub(crate) instances: Mutex<Vec<(InDom, TablePlaces)>>,
    /// The list of a profile, compiled; none before one is asked for.
    pub(crate) list: Mutex<Vec<CompiledList>>,
    /// The position in a cached domain.
    pub(crate) walk: InstanceWalk,
    /// The main loop's part, made when it is asked for first: a DSO has none.
    pub(crate) loop_state: OnceBox<[LoopState; 1]>,
}

/// The places of the instances of one table, by id and by the hash of a name.
#[derive(Default)]
pub(crate) struct TablePlaces {
    pub(crate) by_id: HintIndex,
    pub(crate) by_name: HintIndex,
}

/// The hash that `pmdaRehash` has built, and the table that it was built over.
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
    pub(crate) fn find<'call>(&self, wanted: MetricId) -> Option<Metric<'call>> {
        self.table.seen().entry(self.index.find(wanted)?)
    }
}

impl AgentRecord {
    /// A record of which nothing but these is known yet.
    pub(crate) fn new(dispatch: SeenDispatch, ext: *mut pmdaExt, globals: *mut c_void) -> AgentRecord {
        AgentRecord {
            dispatch,
            _ext: AtomicPtr::new(ext),
            _globals: AtomicPtr::new(globals),
            interface: AtomicU32::new(0),
            forgotten: AtomicU32::new(0),
            user: AtomicPtr::new(ptr::null_mut()),
            dynamic: Registrations::default(),
            results: Results::default(),
            hash: Mutex::default(),
            metrics: Mutex::default(),
            indoms: Mutex::default(),
            instances: Mutex::default(),
            list: Mutex::default(),
            walk: InstanceWalk::default(),
            loop_state: OnceBox::new(),
        }
    }

    /// The interface version; 0 when this library has not set the agent up.
    pub(crate) fn interface(&self) -> Interface {
        Interface(self.interface.load(Ordering::Relaxed))
    }
}

/// All records.
pub(crate) struct Records {
    /// By address: a process has up to a hundred agents, unless it opens and closes the same ones
    /// again and again.
    pub(crate) all: Vec<&'static AgentRecord>,
    /// The record that was asked for last: most processes have one.
    last: Option<&'static AgentRecord>,
    /// The records of agents whose `pmdaExt` was not made by this library (by hand, or by another
    /// one), by its address.
    external: Map<&'static AgentRecord>,
}

impl Records {
    /// None yet.
    pub(crate) const fn new() -> Records {
        Records {
            all: Vec::new(),
            last: None,
            external: Map::new(),
        }
    }

    /// The record at an address, if it was found last.
    #[inline(always)]
    pub(crate) fn last(&self, address: *mut c_void) -> Option<&'static AgentRecord> {
        self.last.filter(|last| ptr::eq(*last, address.cast()))
    }

    /// The record at an address, if it is one of these; nothing is read through the address before
    /// that is known.
    pub(crate) fn find(&mut self, address: *mut c_void) -> Option<&'static AgentRecord> {
        match self.last {
            Some(last) if ptr::eq(last, address.cast()) => Some(last),
            _ => self.search(address.addr()),
        }
    }

    #[cold]
    fn search(&mut self, address: usize) -> Option<&'static AgentRecord> {
        let place = self.all.binary_search_by_key(&address, |record| address_of(record));
        self.last = Some(self.all[place.ok()?]);
        self.last
    }

    /// The record of an agent whose extension is not ours, made if there is none.
    pub(crate) fn external(&mut self, ext: Ext<'_>, globals: *mut c_void) -> Result<&'static AgentRecord> {
        let address = ext.as_ptr().addr() as u64;
        if let Some(record) = self.external.get(address) {
            return Ok(record);
        }
        self.external.reserve(1)?;
        let record: &'static AgentRecord = try_leak(AgentRecord::new(SeenDispatch::none(), ptr::null_mut(), globals))?;
        self.external
            .get_or_insert_with(address, || record)
            .map(|record| *record)
    }
}

pub(crate) fn address_of(record: &AgentRecord) -> usize {
    ptr::from_ref(record).addr()
}

/// The connection of one agent. The locks are held only while nothing of C runs.
#[derive(Default)]
pub(crate) struct LoopState {
    /// The first PDU has been waited for (MAIN-3).
    begun: AtomicBool,
    /// The agent has asked for the descriptor: it may wait on it itself, also in a callback.
    watched: AtomicBool,
    /// Holds no bytes: it is kept for its buffer.
    idle: Mutex<Receiver>,
    /// The bytes that were read ahead of the PDU that is being served, by the stream that it came
    /// from: the agent may turn to another descriptor meanwhile, and back (MAIN-53).
    ahead: Mutex<Vec<(Option<StreamId>, Receiver)>>,
    reply: Mutex<ResultBuilder>,
    profile: Mutex<Option<OwnedProfile>>,
}

impl LoopState {
    /// A session that has not begun.
    pub(crate) const fn new() -> LoopState {
        LoopState {
            begun: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            idle: Mutex::new(Receiver::new()),
            ahead: Mutex::new(Vec::new()),
            reply: Mutex::new(ResultBuilder::new()),
            profile: Mutex::new(None),
        }
    }

    /// Returns whether the loop has been entered before.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// The checks at the entry of the loop were passed.
    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Returns whether the agent has asked for the descriptor.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// The agent has asked for the descriptor: nothing is read ahead from now on.
    pub(crate) fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// Takes the receiver of a stream back that cannot be followed any further. What was read ahead
    /// of the failure is kept: the agent may go on all the same.
    pub(crate) fn give_up(&self, token: &mut Token, fd: c_int, mut receiver: Receiver, failure: Failure) {
        receiver.abandon(failure);
        // Without memory it is lost.
        let _ = self.keep(token, fd, receiver);
    }

    /// Keeps a receiver, by its stream if it holds what was read ahead from that.
    ///
    /// # Errors
    /// Without memory what was read ahead is lost.
    pub(crate) fn keep(&self, token: &mut Token, fd: c_int, receiver: Receiver) -> std::result::Result<(), Failure> {
        if !receiver.is_ahead() {
            *self.idle.lock(token) = receiver;
            return Ok(());
        }
        let mut ahead = self.ahead.lock(token);
        ahead.try_reserve(1).map_err(|_| Failure::NoMemory)?;
        ahead.push((StreamId::of(fd), receiver));
        Ok(())
    }

    /// The receiver that holds what was read ahead from a descriptor, or one that holds nothing.
    /// Requests rarely come before the one in front of them is answered, so the stream is rarely
    /// asked for its identity.
    pub(crate) fn take_ahead(&self, token: &mut Token, fd: c_int) -> Receiver {
        if !self.ahead.lock(token).is_empty() {
            let stream = StreamId::of(fd);
            let mut ahead = self.ahead.lock(token);
            if let Some(place) = ahead.iter().position(|(from, _)| *from == stream) {
                return ahead.swap_remove(place).1;
            }
        }
        std::mem::take(&mut *self.idle.lock(token))
    }

    /// Takes the buffer of a PDU back.
    pub(crate) fn recycle(&self, token: &mut Token, pdu: Pdu) {
        self.idle.lock(token).recycle(pdu);
    }

    /// Takes the buffer for replies; a second one is made when the first is in use.
    pub(crate) fn take_reply(&self, token: &mut Token) -> ResultBuilder {
        std::mem::take(&mut *self.reply.lock(token))
    }

    /// Gives the buffer for replies back. A loop that a callback has started inside of this one has
    /// left its own, which goes then.
    pub(crate) fn give_reply(&self, token: &mut Token, mut reply: ResultBuilder) {
        reply.trim();
        let other = std::mem::replace(&mut *self.reply.lock(token), reply);
        drop(other);
    }

    /// Keeps a profile that the agent has accepted; the one before it is freed now.
    pub(crate) fn keep_profile(&self, token: &mut Token, profile: OwnedProfile) {
        let before = self.profile.lock(token).replace(profile);
        drop(before);
    }
}
