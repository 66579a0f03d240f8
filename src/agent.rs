//! The library's record of an agent, to which `pmdaExt.e_ext` leads: the tables that the library
//! remembers, the state of the main loop, and the state of iterations over instances between two
//! steps.
//!
//! The fields of a record are guarded by the lock of the library, or atomic, so a shared reference
//! is enough to use it. A record is never freed, as nothing tells the library when an agent ends
//! (INIT-14). [`crate::state`] finds it.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use once_cell::race::OnceBox;

use crate::sys::StreamId;
use crate::sys::libpcp::log;
use crate::sys::lock::{Mutex, Token};
use crate::view::interface::{Dispatch, Ext, LastDispatch};
use crate::view::memory::Lasting;
use crate::view::names::TreeCell;
use crate::view::result_block::Arena;
use crate::view::result_block::ResultBlocks;
use crate::view::table::{Indom, IndomNode, ListKey, Metric, ProfileElement};
use crate::view::types::{pmdaCountMetrics, pmdaExt, pmdaMetric, pmdaUpdateMetric, pmdaUpdatePMNS, pmdaUpdateText};
use crate::view::wire::OwnedProfile;
use pmda_core::cache::{Position, WalkStart};
use pmda_core::dynamic::RegistrationList;
use pmda_core::ident::{InDom, Interface, MetricId};
use pmda_core::leak::LazyBox;
use pmda_core::profile::Compiled;
use pmda_core::table_index::{Hashed, HintIndex};
use pmda_core::wire::encode::ResultBuilder;
use pmda_core::wire::receive::{Failure, Pdu, Receiver};

/// The library's record of one agent. What it remembers of the agent's tables is compared with them
/// before it is used, since agents rewrite their tables at any time. Only the hash is not compared:
/// the agent has asked for it (`pmdaRehash`) and has to ask again after a change.
#[repr(C)]
pub(crate) struct AgentRecord {
    /// The dispatch table. Its address is the first word, as in the C library's record: a pmcd on
    /// the C library moves the table of an agent that loads this one, and updates that word
    /// (INIT-51).
    pub(crate) dispatch: LastDispatch,
    /// The extension that was made with this record. The library never reads this pointer: by it a
    /// leak checker finds the extension of an agent whose dispatch table does not exist any more,
    /// for example because `main` has returned. Without the pointer the program loop_lost has one
    /// more lost block (`make -C tests memcheck PROGRAMS=c/loop_lost`).
    _ext: AtomicPtr<pmdaExt>,
    /// The state of the library. It is never read: by it a leak checker finds the state after the
    /// library was unloaded, as it finds that of the C library. Without it the agent mmv under
    /// dbpmda has a lost block more (`make -C tests memcheck PROGRAMS=agent/mmv`).
    _globals: AtomicPtr<c_void>,
    /// The interface version, copied from the dispatch table whenever a call brings one: the table
    /// of a DSO may move or go without notice (MAIN-56).
    pub(crate) interface: AtomicU32,
    /// The number of times that the library dropped its compiled profile lists: afterwards a list at
    /// the same address is another list.
    pub(crate) forgotten: AtomicU32,
    /// The agent's own pointer, as `pmdaExtSetData` stored it (INIT-49).
    pub(crate) user: AtomicPtr<c_void>,
    /// The agent's own trees of dynamic names (DYN-1).
    pub(crate) dynamic: Registrations,
    /// The results that fetches have returned. Each stays until a later fetch reuses or frees it
    /// (FETCH-12).
    pub(crate) results: ResultBlocks,
    /// The hash that `pmdaRehash` has built.
    pub(crate) hash: Mutex<HashedTable>,
    /// The positions of metrics in `e_metrics`, for tables that are neither direct nor hashed.
    pub(crate) metrics: Mutex<HintIndex>,
    /// The positions of instance domains in `e_indoms`.
    pub(crate) indoms: Mutex<HintIndex>,
    /// For each instance domain: the positions of instances in its table.
    pub(crate) instances: Mutex<Vec<(InDom, InstanceIndexes)>>,
    /// A profile's list of instances in a form for fast lookups; empty before one was needed.
    pub(crate) list: Mutex<LazyBox<CompiledList>>,
    /// The position of a walk over the instances of a cached domain.
    pub(crate) walk: InstanceWalk,
    /// The state of the main loop, made at first use: a DSO needs none.
    pub(crate) loop_state: OnceBox<[LoopState; 1]>,
}

/// The positions of the instances of one table, by identifier and by the hash of the name.
#[derive(Default)]
pub(crate) struct InstanceIndexes {
    pub(crate) by_id: HintIndex,
    pub(crate) by_name: HintIndex,
}

/// The hash that `pmdaRehash` has built, and the metric table that it was built over.
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
    /// The entry of a metric, in the table that the hash was built over: one of this agent.
    #[inline(always)]
    pub(crate) fn find<'call>(&self, ext: Ext<'call>, wanted: MetricId) -> Option<Metric<'call>> {
        ext.table(self.table).entry(self.index.find(wanted)?)
    }
}

impl AgentRecord {
    /// A record that knows nothing else yet.
    pub(crate) fn new(dispatch: LastDispatch, ext: *mut pmdaExt, globals: *mut c_void) -> AgentRecord {
        AgentRecord {
            dispatch,
            _ext: AtomicPtr::new(ext),
            _globals: AtomicPtr::new(globals),
            interface: AtomicU32::new(0),
            forgotten: AtomicU32::new(0),
            user: AtomicPtr::new(ptr::null_mut()),
            dynamic: Registrations::default(),
            results: ResultBlocks::default(),
            hash: Mutex::default(),
            metrics: Mutex::default(),
            indoms: Mutex::default(),
            instances: Mutex::default(),
            list: Mutex::default(),
            walk: InstanceWalk::default(),
            loop_state: OnceBox::new(),
        }
    }

    /// The interface version; 0 if another library, or the agent itself, has set the agent up.
    pub(crate) fn interface(&self) -> Interface {
        Interface(self.interface.load(Ordering::Relaxed))
    }
}

pub(crate) fn address_of(record: &AgentRecord) -> usize {
    ptr::from_ref(record).addr()
}

/// The state of an agent's main loop. Each request takes the parts that it needs out, and gives
/// them back afterwards, since C runs meanwhile.
#[derive(Default)]
pub(crate) struct LoopState {
    /// The first PDU has been waited for: the checks at the entry of the loop were passed (MAIN-3).
    begun: AtomicBool,
    /// The agent has asked for the descriptor. It may wait for input on it itself, also in a
    /// callback.
    watched: AtomicBool,
    /// A receiver that has read nothing ahead, kept for its buffer.
    idle: Mutex<Receiver>,
    /// Receivers that have read bytes beyond the PDU they returned, each with its stream: the agent
    /// may turn to another descriptor meanwhile, and back (MAIN-53).
    ahead: Mutex<Vec<(Option<StreamId>, Receiver)>>,
    /// The buffer for replies.
    reply: Mutex<ResultBuilder>,
    /// The memory for the values of a fetch; nothing is in it between fetches.
    values: Mutex<Arena>,
    /// The profile that the agent has accepted last. The agent may keep its address, so it stays
    /// until the next one.
    profile: Mutex<Option<OwnedProfile>>,
}

impl LoopState {
    /// The state of a loop that has not begun.
    pub(crate) const fn new() -> LoopState {
        LoopState {
            begun: AtomicBool::new(false),
            watched: AtomicBool::new(false),
            idle: Mutex::new(Receiver::new()),
            ahead: Mutex::new(Vec::new()),
            reply: Mutex::new(ResultBuilder::new()),
            values: Mutex::new(Arena::new()),
            profile: Mutex::new(None),
        }
    }

    /// Returns whether the loop was entered before.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// Notes that the checks at the entry of the loop were passed.
    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }

    /// Returns whether the agent has asked for the descriptor.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// Notes that the agent has asked for the descriptor: nothing is read ahead from now on.
    pub(crate) fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// Takes back the receiver of a stream that has failed. What was read ahead of the failure is
    /// kept: the agent may go on all the same.
    pub(crate) fn give_up(&self, token: &mut Token, fd: c_int, mut receiver: Receiver, failure: Failure) {
        receiver.abandon(failure);
        // Without memory the bytes that were read ahead are lost.
        let _ = self.keep(token, fd, receiver);
    }

    /// Keeps a receiver. One that has read ahead is kept with its stream.
    ///
    /// # Errors
    /// [`Failure::NoMemory`]: what was read ahead is lost.
    pub(crate) fn keep(&self, token: &mut Token, fd: c_int, receiver: Receiver) -> Result<(), Failure> {
        if !receiver.is_ahead() {
            *self.idle.lock(token) = receiver;
            return Ok(());
        }
        let ahead = self.ahead.lock(token);
        ahead.try_reserve(1).map_err(|_| Failure::NoMemory)?;
        ahead.push((StreamId::of(fd), receiver));
        Ok(())
    }

    /// Takes the receiver that has read ahead from this descriptor, or one that has read nothing.
    pub(crate) fn take_ahead(&self, token: &mut Token, fd: c_int) -> Receiver {
        // Few clients send a request before the last one is answered, so `fstat` is seldom needed.
        if !self.ahead.lock(token).is_empty() {
            let stream = StreamId::of(fd);
            let ahead = self.ahead.lock(token);
            if let Some(position) = ahead.iter().position(|(from, _)| *from == stream) {
                return ahead.swap_remove(position).1;
            }
        }
        std::mem::take(&mut *self.idle.lock(token))
    }

    /// Takes back the buffer of a PDU.
    pub(crate) fn recycle(&self, token: &mut Token, pdu: Pdu) {
        self.idle.lock(token).recycle(pdu);
    }

    /// Takes the buffer for replies; an empty one when the buffer is in use.
    pub(crate) fn take_reply(&self, token: &mut Token) -> ResultBuilder {
        std::mem::take(&mut *self.reply.lock(token))
    }

    /// Gives the buffer for replies back. If a callback has run a loop of its own inside of this
    /// one, that loop has left its buffer here: it is freed.
    pub(crate) fn give_reply(&self, token: &mut Token, mut reply: ResultBuilder) {
        reply.trim();
        let other = std::mem::replace(&mut *self.reply.lock(token), reply);
        drop(other);
    }

    /// Takes the arena for the values of a fetch; a second one is made when the first is in use.
    pub(crate) fn take_arena(&self, token: &mut Token) -> Arena {
        std::mem::take(&mut *self.values.lock(token))
    }

    /// Clears the arena and gives it back. A fetch that a callback has started inside of this one
    /// has left its own, which goes then.
    pub(crate) fn give_arena(&self, token: &mut Token, mut values: Arena) {
        values.clear();
        let other = std::mem::replace(&mut *self.values.lock(token), values);
        drop(other);
    }

    /// Keeps a profile that the agent has accepted. The one before it is freed.
    pub(crate) fn keep_profile(&self, token: &mut Token, profile: OwnedProfile) {
        let before = self.profile.lock(token).replace(profile);
        drop(before);
    }
}

/// The number of steps of a walk at which the domain may have grown, beside one for each entry that
/// it had at the start of the walk. After as many the walk ends. (In the C library it goes on for
/// as long as callbacks store new instances.) The number is so low that the walk ends in reasonable
/// time also if a callback walks, at each step, over all that it has stored.
const GROWING_STEPS: usize = 1 << 10;

/// The position of `__pmdaNextInst` in a cached domain (INST-43). It is not a pointer into the
/// cache, so the cache may change in any way between two steps.
pub(crate) struct InstanceWalk {
    /// The node that `e_idp` points to during the walk.
    node: IndomNode,
    /// The next entry of the walk, as [`Position::to_bits`].
    position: AtomicU64,
    /// The number of entries that were ever inserted into the cache, as of the last step.
    inserted: AtomicU32,
    /// The number of further steps at which the domain may have grown.
    growing: AtomicUsize,
}

impl Default for InstanceWalk {
    fn default() -> InstanceWalk {
        InstanceWalk {
            node: IndomNode::new(),
            position: AtomicU64::new(Position::END.to_bits()),
            inserted: AtomicU32::new(0),
            growing: AtomicUsize::new(0),
        }
    }
}

impl InstanceWalk {
    /// Starts a walk at the first entry of `indom`, and returns the node that `e_idp` has to point
    /// to.
    pub(crate) fn begin(&'static self, indom: InDom, start: WalkStart) -> Indom<'static> {
        self.go_on(start.first);
        self.inserted.store(start.inserted, Ordering::Relaxed);
        self.growing
            .store(start.listed.saturating_add(GROWING_STEPS), Ordering::Relaxed);
        self.node.stamp(indom);
        self.node.view()
    }

    /// Returns whether `e_idp` points to the node of this walk: a cached domain is walked.
    pub(crate) fn is_at(&self, idp: Indom<'_>) -> bool {
        self.node.is(idp)
    }

    /// The position of the walk.
    pub(crate) fn position(&self) -> Position {
        Position::from_bits(self.position.load(Ordering::Relaxed))
    }

    /// The position of the walk, or its end when the domain has grown at too many steps. `inserted`
    /// is the number of entries that were ever inserted into the cache.
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

    /// Moves the walk to the entry after the instance that is returned now.
    pub(crate) fn go_on(&self, next: Position) {
        self.position.store(next.to_bits(), Ordering::Relaxed);
    }
}

/// The list of a profile that was used last, in a form for fast lookups. It is used again for as
/// long as a list is at the same place (INST-53).
#[derive(Default)]
pub(crate) struct CompiledList {
    /// The key of the list that was compiled.
    from: Option<ListKey>,
    profile: Compiled,
}

impl CompiledList {
    /// The compiled form of a list; `None` without memory.
    pub(crate) fn of(&mut self, element: &ProfileElement<'_>) -> Option<&Compiled> {
        if self.from != Some(element.key) {
            self.from = None;
            self.profile.set(element.element()).ok()?;
            self.from = Some(element.key);
        }
        Some(&self.profile)
    }
}

/// Prints a line if the dispatch table of a daemon leads to another `pmdaExt` (FETCH-11).
pub(crate) fn check_botch(token: &mut Token, ext: Ext<'_>, record: &AgentRecord) {
    let Some(table) = record.dispatch.table() else { return };
    if !ptr::eq(table.ext_ptr(), ext.as_ptr()) {
        report_botch(token, ext, record, table);
    }
}

#[cold]
fn report_botch(token: &mut Token, ext: Ext<'_>, record: &AgentRecord, table: Dispatch<'_>) {
    let (ext_ptr, back, other) = (ext.as_ptr(), table.as_ptr(), table.ext_ptr());
    log::trace!(
        token,
        "Botch: pmdaFetch: PMDA domain={} pmda={ext_ptr:p} extp={record:p} backpointer={back:p} \
         pmda-via-backpointer {other:p} NOT EQUAL to pmda\n",
        ext.domain(),
    );
}

/// An agent's registration: callbacks, the metrics that they copy, and the pointer to its tree.
pub(crate) struct Callbacks {
    /// Updates the tree.
    pub(crate) update: pmdaUpdatePMNS,
    /// Returns the help text of a metric.
    pub(crate) text: pmdaUpdateText,
    /// Fills in the copy of a metric.
    pub(crate) metric: pmdaUpdateMetric,
    /// Returns the number of metrics to copy and the number of copies of each.
    pub(crate) counts: pmdaCountMetrics,
    /// The metrics to copy.
    pub(crate) metrics: Lasting<pmdaMetric>,
    /// The pointer to the agent's tree.
    pub(crate) tree: TreeCell,
}

/// The registrations of one agent.
pub(crate) type Registrations = Mutex<RegistrationList<Callbacks>>;
