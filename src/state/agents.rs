//! The records of agents, and the state of their main loops.

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

/// The library's record of one agent. What was learned from the agent's tables is checked when it
/// is used, except for the hash, which the agent asked for.
#[repr(C)]
pub(crate) struct AgentRecord {
    /// The dispatch table: its address is the first word, as in the C library's record: with that
    /// library, pmcd moves the table of an agent that has this one inside (INIT-51).
    pub(crate) dispatch: SeenDispatch,
    /// The extension that was made with this record: never looked at, but a leak checker finds it
    /// here when the agent has forgotten it.
    _ext: AtomicPtr<pmdaExt>,
    /// The state of the library, to be found here when the library has been unloaded.
    _globals: AtomicPtr<c_void>,
    /// The last seen interface version (MAIN-56).
    pub(crate) interface: AtomicU32,
    /// The number of times that the lists of its profile were forgotten.
    pub(crate) forgotten: AtomicU32,
    /// The agent's pointer (INIT-49).
    pub(crate) user: AtomicPtr<c_void>,
    /// The agent's own trees of dynamic names (DYN-1).
    pub(crate) dynamic: Registrations,
    /// The results of fetches (FETCH-12).
    pub(crate) results: Results,
    /// The hash that `pmdaRehash` has built.
    pub(crate) hash: Mutex<HashedTable>,
    /// The places of metrics in a searched table.
    pub(crate) metrics: Mutex<HintIndex>,
    /// The places of instance domains in `e_indoms`.
    pub(crate) indoms: Mutex<HintIndex>,
    /// The places of instances in the tables of domains.
    pub(crate) instances: Mutex<Vec<(InDom, TablePlaces)>>,
    /// The compiled list of a profile.
    pub(crate) list: Mutex<Vec<CompiledList>>,
    /// The position in a cached domain.
    pub(crate) walk: InstanceWalk,
    /// Made at first use: a DSO has none.
    pub(crate) loop_state: OnceBox<[LoopState; 1]>,
}

/// The places of the instances of one table.
#[derive(Default)]
pub(crate) struct TablePlaces {
    pub(crate) by_id: HintIndex,
    pub(crate) by_name: HintIndex,
}

/// The hash of `pmdaRehash`, and its table.
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
    /// The entry of a metric in the hash's table.
    pub(crate) fn find<'call>(&self, wanted: MetricId) -> Option<Metric<'call>> {
        self.table.seen().entry(self.index.find(wanted)?)
    }
}

impl AgentRecord {
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

    /// The interface version; 0 if this library has not set the agent up.
    pub(crate) fn interface(&self) -> Interface {
        Interface(self.interface.load(Ordering::Relaxed))
    }
}

pub(crate) struct Records {
    /// By address; up to a hundred, unless agents are opened and closed again and again.
    pub(crate) all: Vec<&'static AgentRecord>,
    /// The last found record.
    last: Option<&'static AgentRecord>,
    /// The records of agents whose `pmdaExt` this library has not made, by its address.
    external: Map<&'static AgentRecord>,
}

impl Records {
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

    /// The record at an address, which is not read before it is known.
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

/// The state of an agent's main loop. Nothing is locked while C runs.
#[derive(Default)]
pub(crate) struct LoopState {
    /// The loop has begun (MAIN-3).
    begun: AtomicBool,
    /// The agent has asked for the descriptor, and may wait for input itself.
    watched: AtomicBool,
    /// Without bytes, for its buffer.
    idle: Mutex<Receiver>,
    /// Bytes read ahead, by stream: the agent may change to another descriptor and back (MAIN-53).
    ahead: Mutex<Vec<(Option<StreamId>, Receiver)>>,
    reply: Mutex<ResultBuilder>,
    profile: Mutex<Option<OwnedProfile>>,
}

impl LoopState {
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

    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// Notes that the agent has asked for the descriptor: nothing is read ahead from now on.
    pub(crate) fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// Takes back the receiver of a failed stream. What was read ahead is kept: the agent may go
    /// on.
    pub(crate) fn give_up(&self, token: &mut Token, fd: c_int, mut receiver: Receiver, failure: Failure) {
        receiver.abandon(failure);
        // Without memory it is lost.
        let _ = self.keep(token, fd, receiver);
    }

    /// Keeps a receiver, by its stream if it has read ahead. Without memory that is lost.
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

    /// The receiver that has read ahead from a descriptor, or an empty one.
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

    /// Keeps an accepted profile, in place of the last one.
    pub(crate) fn keep_profile(&self, token: &mut Token, profile: OwnedProfile) {
        let before = self.profile.lock(token).replace(profile);
        drop(before);
    }
}
