//! The state of the library, which the C library has in global variables: one block, made at first
//! use and never freed, guarded by the one lock.
//!
//! dbpmda and pmcd unload the shared objects of agents. With the last of these shared objects this
//! library is unloaded as well, together with its static variables. The private data of instances
//! is reached from the caches in this block, and the block itself, after the unload, from the
//! `pmdaExt` of the host, if the host still has one, by the agent's record. So a leak checker finds all of it, and
//! nothing has to be done at unload or exit.
//!
//! This file finds each thing by its key: an agent's record ([`crate::agent`]) by the `pmdaExt`, a
//! cache by its domain, a help database by its handle.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use once_cell::race::OnceBox;

use crate::agent::{AgentRecord, Callbacks, LoopState, address_of};
use crate::sys::lock::{Mutex, Token};
use crate::view::arg::{Cookie, Private};
use crate::view::event_block::EventBlock;
use crate::view::interface::{Dispatch, Ext, LastDispatch};
use crate::view::memory::Block;
use crate::view::table::MadeTables;
use crate::view::types::{pmdaEventApplyFilterCallBack, pmdaEventReleaseFilterCallBack};
use pmda_core::cache::Cache;
use pmda_core::dynamic::RegistrationList;
use pmda_core::error::{Error, Result};
use pmda_core::events::EventArrays;
use pmda_core::handles::{self, Handles};
use pmda_core::help::Database;
use pmda_core::ident::{InDom, Interface};
use pmda_core::index::{Map, Seed};
use pmda_core::leak::{LazyBox, try_box, try_leak};
use pmda_core::path::FilePath;
use pmda_core::queue::Queues;

/// The state of the library that leads to memory. (Other state may be in static variables, guarded
/// by the same lock.)
pub(crate) struct Globals {
    /// The agents.
    pub(crate) records: Records,
    /// The instance caches.
    pub(crate) caches: Caches,
    /// The registrations of dynamic metrics that serve agents without their own (DYN-3).
    pub(crate) dynamic: RegistrationList<Callbacks>,
    /// The metric tables made for agents with dynamic metrics.
    pub(crate) made_tables: MadeTables,
    /// All event queues and their clients, in a block of their own that is made at first use: an
    /// agent without queues leaves less memory when it is unloaded.
    pub(crate) queues: LazyBox<Queues<EventBlock, Filter>>,
    /// All event arrays.
    pub(crate) arrays: EventArrays,
    /// The help databases, in a block of their own for the same reason.
    pub(crate) help: LazyBox<Databases>,
}

static GLOBALS: OnceBox<[Mutex<Globals>; 1]> = OnceBox::new();

/// The state, which is made if it does not exist.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn lock(token: &mut Token) -> Result<&mut Globals> {
    match GLOBALS.get() {
        Some([globals]) => Ok(globals.lock(token)),
        None => make(token),
    }
}

/// The state, if it exists.
pub(crate) fn peek(token: &mut Token) -> Option<&mut Globals> {
    GLOBALS.get().map(|[globals]| globals.lock(token))
}

/// The address of the state, which each record of an agent keeps for leak checkers.
pub(crate) fn address() -> *mut c_void {
    GLOBALS
        .get()
        .map_or(ptr::null_mut(), |[globals]| ptr::from_ref(globals).cast_mut().cast())
}

/// Makes the state, unless another thread has made it meanwhile.
///
/// # Errors
/// `-ENOMEM`.
#[cold]
fn make(token: &mut Token) -> Result<&mut Globals> {
    let [globals] = GLOBALS.get_or_try_init(|| {
        try_box(Mutex::new(Globals {
            records: Records::new(),
            caches: Caches::new(),
            dynamic: RegistrationList::new(),
            made_tables: MadeTables::new(),
            queues: LazyBox::new(),
            arrays: EventArrays::new(),
            help: LazyBox::new(),
        }))
    })?;
    Ok(globals.lock(token))
}

/// The records of all agents.
///
/// `e_ext` may point anywhere: some agents make a `pmdaExt` by hand and leave it unset, and an
/// agent that is linked with a copy of the C library has a record of that copy, also in a pmcd that
/// runs on this library. So a record is known by its address alone, and nothing is read through an
/// unknown pointer.
pub(crate) struct Records {
    /// Sorted by address. A process has up to a hundred, unless it opens and closes agents again
    /// and again.
    pub(crate) all: Vec<&'static AgentRecord>,
    /// The record that was found last: most processes have one agent.
    last: Option<&'static AgentRecord>,
    /// The records of agents whose `pmdaExt` was made by hand or by another library, by the address
    /// of the `pmdaExt`.
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

    /// The record at an address that C has given, or `None` if it is not one of ours. Nothing is
    /// read through the address.
    pub(crate) fn find(&mut self, address: *mut c_void) -> Option<&'static AgentRecord> {
        match self.last {
            Some(last) if ptr::eq(last, address.cast()) => Some(last),
            _ => self.search(address.addr()),
        }
    }

    /// Searches all records, and remembers the one that was found.
    #[cold]
    fn search(&mut self, address: usize) -> Option<&'static AgentRecord> {
        let position = self.all.binary_search_by_key(&address, |record| address_of(record));
        self.last = Some(self.all[position.ok()?]);
        self.last
    }

    /// The record of an agent whose extension this library has not made. It is made at first use.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn external(&mut self, ext: Ext<'_>, globals: *mut c_void) -> Result<&'static AgentRecord> {
        let address = ext.as_ptr().addr() as u64;
        if let Some(record) = self.external.get(address) {
            return Ok(record);
        }
        self.external.reserve(1)?;
        let record: &'static AgentRecord = try_leak(AgentRecord::new(LastDispatch::none(), ptr::null_mut(), globals))?;
        self.external
            .get_or_insert_with(address, || record)
            .map(|record| *record)
    }
}

/// Makes the record of an agent, and with `extension` its extension, whose `e_ext` leads to the
/// record. Neither is ever freed.
///
/// # Errors
/// `-ENOMEM`; nothing was made.
pub(crate) fn register_agent(
    token: &mut Token,
    dispatch: Dispatch<'_>,
    daemon: bool,
    extension: impl FnOnce() -> Result<Ext<'static>>,
) -> Result<Ext<'static>> {
    let all = &mut lock(token)?.records.all;
    if all.is_empty() {
        // Most processes have one agent, and the list stays when the library is unloaded.
        all.try_reserve_exact(1)
    } else {
        all.try_reserve(1)
    }
    .map_err(|_| Error::ENOMEM)?;
    let block = Block::uninit(1)?;
    let ext = extension()?;
    let record: &'static AgentRecord = block.leak(AgentRecord::new(
        LastDispatch::new(dispatch, daemon),
        ext.as_ptr(),
        address(),
    ));
    let position = all.partition_point(|other| address_of(other) < address_of(record));
    all.push(record);
    all[position..].rotate_right(1);
    ext.set_record(&record.dispatch);
    Ok(ext)
}

/// The record of an agent; `None` if this library has not set it up.
pub(crate) fn agent(token: &mut Token, ext: Ext<'_>) -> Option<&'static AgentRecord> {
    let record = ext.record();
    if record.is_null() {
        return None;
    }
    peek(token)?.records.find(record)
}

/// The record of any agent. A `pmdaExt` that this library has not made gets a record, to which its
/// `e_ext` does not lead (INST-43).
///
/// # Errors
/// `-ENOMEM` for such a `pmdaExt`.
pub(crate) fn any_agent(token: &mut Token, ext: Ext<'_>) -> Result<&'static AgentRecord> {
    agent(token, ext).map_or_else(|| external_agent(token, ext), Ok)
}

/// The record of an agent whose `pmdaExt` this library has not made.
///
/// # Errors
/// `-ENOMEM`.
#[cold]
fn external_agent(token: &mut Token, ext: Ext<'_>) -> Result<&'static AgentRecord> {
    lock(token)?.records.external(ext, address())
}

/// The state of an agent's main loop, which is made at first use.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn loop_state(token: &mut Token, ext: Ext<'_>) -> Result<&'static LoopState> {
    let record = any_agent(token, ext)?;
    match record.loop_state.get() {
        Some([loop_state]) => Ok(loop_state),
        None => make_loop_state(record),
    }
}

/// Makes the state of an agent's main loop.
///
/// # Errors
/// `-ENOMEM`.
#[cold]
fn make_loop_state(record: &'static AgentRecord) -> Result<&'static LoopState> {
    let [loop_state] = record.loop_state.get_or_try_init(|| try_box(LoopState::new()))?;
    Ok(loop_state)
}

/// The interface version of an agent; 0 if this library has not set it up.
pub(crate) fn interface(token: &mut Token, ext: Ext<'_>) -> Interface {
    agent(token, ext).map_or(Interface(0), AgentRecord::interface)
}

/// Notes where the dispatch table of an agent is now, after it has moved. Returns the extension if
/// another library has made its record: then that library's back pointer has to be updated.
pub(crate) fn agent_moved<'call>(token: &mut Token, dispatch: Dispatch<'call>) -> Option<Ext<'call>> {
    let ext = dispatch.ext()?;
    if agent(token, ext).is_none() {
        return Some(ext);
    }
    note_dispatch(token, dispatch);
    None
}

/// Copies from a dispatch table what the default methods need of it: they get the `pmdaExt` alone,
/// and the table may move or go without notice (MAIN-56).
pub(crate) fn note_dispatch(token: &mut Token, dispatch: Dispatch<'_>) {
    if let Some(record) = dispatch.ext().and_then(|ext| agent(token, ext)) {
        record.dispatch.note(dispatch);
        record.interface.store(dispatch.interface().0, Ordering::Relaxed);
    }
}

/// All caches, one for each instance domain that has one.
pub(crate) struct Caches {
    /// Sorted by domain. A cache is never removed (CACHE-1).
    pub(crate) caches: Vec<CacheSlot>,
    /// The position of the cache that was found last, for each value of the last three bits of the
    /// domain: most agents number their domains from 0 or 1, so their domains differ in these.
    recent: [u8; 8],
    /// The directory of cache files, once it was needed (CACHE-72).
    pub(crate) directory: Option<FilePath>,
}

/// A cache, and its ordinal: the number of caches that were made before it.
pub(crate) struct CacheSlot {
    ordinal: usize,
    cache: &'static mut Cache<Private>,
}

impl Caches {
    /// No caches.
    pub(crate) const fn new() -> Caches {
        Caches {
            caches: Vec::new(),
            recent: [0; 8],
            directory: None,
        }
    }

    /// The cache of a domain, if it has one (CACHE-34).
    #[inline(always)]
    pub(crate) fn find(&mut self, indom: InDom) -> Option<&mut Cache<Private>> {
        let position = match self.recent(indom) {
            Some(position) => position,
            None => self.search(indom).ok()?,
        };
        self.caches.get_mut(position).map(|slot| &mut *slot.cache)
    }

    /// The cache of a domain, which is made if it does not exist (CACHE-5).
    ///
    /// # Errors
    /// `PM_ERR_INDOM` for `PM_INDOM_NULL` (CACHE-6); `-ENOMEM`, and none was made.
    #[inline(always)]
    pub(crate) fn open(&mut self, indom: InDom) -> Result<&mut Cache<Private>> {
        match self.recent(indom) {
            Some(position) => Ok(&mut *self.caches[position].cache),
            None => self.search_or_make(indom),
        }
    }

    /// The position of a domain's cache, if it was found last.
    #[inline(always)]
    fn recent(&self, indom: InDom) -> Option<usize> {
        let position = usize::from(self.recent[indom.0 as usize % 8]);
        let is_it = self.caches.get(position)?.cache.indom().0 == indom.0;
        is_it.then_some(position)
    }

    /// The position of a domain's cache, which is noted as found last.
    ///
    /// # Errors
    /// The position for a new cache, if the domain has none.
    fn search(&mut self, indom: InDom) -> std::result::Result<usize, usize> {
        let position = self
            .caches
            .binary_search_by_key(&indom.0, |slot| slot.cache.indom().0)?;
        self.recent[indom.0 as usize % 8] = u8::try_from(position).unwrap_or(0);
        Ok(position)
    }

    /// [`Caches::open`] for a cache that was not found last.
    ///
    /// # Errors
    /// As [`Caches::open`].
    fn search_or_make(&mut self, indom: InDom) -> Result<&mut Cache<Private>> {
        let position = match self.search(indom) {
            Ok(position) => position,
            Err(position) => self.make(indom, position)?,
        };
        Ok(&mut *self.caches[position].cache)
    }

    /// Makes a cache at a position, and returns the position.
    ///
    /// # Errors
    /// As [`Caches::open`].
    #[cold]
    fn make(&mut self, indom: InDom, position: usize) -> Result<usize> {
        if indom.is_null() {
            return Err(Error::INDOM);
        }
        let ordinal = self.caches.len();
        // Most agents have few caches: the list doubles, from one on.
        if ordinal == self.caches.capacity() {
            self.caches
                .try_reserve_exact(ordinal.max(1))
                .map_err(|_| Error::ENOMEM)?;
        }
        let cache = try_leak(Cache::new(indom, Seed::process()))?;
        // This does not allocate: the list has room for one more.
        self.caches.push(CacheSlot { ordinal, cache });
        self.caches[position..].rotate_right(1);
        Ok(position)
    }

    /// The cache with this ordinal.
    pub(crate) fn nth_created(&self, ordinal: usize) -> Option<&Cache<Private>> {
        let slot = self.caches.iter().find(|slot| slot.ordinal == ordinal)?;
        Some(&*slot.cache)
    }
}

/// The open databases, and the table of them that C code reads.
pub(crate) struct Databases {
    /// The databases by handle.
    pub(crate) slots: Handles<Database>,
    /// A row for each slot.
    pub(crate) table: Vec<HelpRow>,
}

impl Databases {
    /// No databases.
    pub(crate) fn new() -> Databases {
        Databases {
            slots: Handles::new(),
            table: Vec::new(),
        }
    }

    /// The database of a handle, if it is open.
    pub(crate) fn get(&self, handle: c_int) -> Option<&Database> {
        self.slots.get(handles::slot(handle))
    }

    /// The lowest free slot, with a row of the table for it (HELP-11, H-5).
    ///
    /// # Errors
    /// `-ENOMEM`, and those of [`Handles::vacant`].
    pub(crate) fn reserve(&mut self) -> Result<usize> {
        let slot = self.slots.vacant()?;
        if self.table.len() <= slot {
            self.table.try_reserve(1).map_err(|_| Error::ENOMEM)?;
            self.table.push(HelpRow::closed());
        }
        Ok(slot)
    }

    /// Keeps an open database, and returns its handle.
    ///
    /// # Errors
    /// As [`Databases::reserve`]; the database is closed.
    pub(crate) fn insert(&mut self, base: Database) -> Result<c_int> {
        let slot = self.reserve()?;
        let handle = handles::handle(slot)?;
        self.table[slot] = HelpRow::new(base.entries(), base.index(), base.pages());
        self.slots.put(slot, base);
        Ok(handle)
    }

    /// Takes out the database of a handle, if it is open: the caller closes it.
    pub(crate) fn remove(&mut self, handle: c_int) -> Option<Database> {
        let slot = handles::slot(handle);
        let base = self.slots.take(slot)?;
        self.table[slot] = HelpRow::closed();
        Some(base)
    }
}

/// A row of the table that `chkhelp` reads through the variable `__pmdaHelpTab` (HELP-40).
#[repr(C)]
pub(crate) struct HelpRow {
    /// Descriptor of NAME.dir, always closed (HELP-13).
    dir_fd: c_int,
    /// Descriptor of NAME.pag, always closed.
    pag_fd: c_int,
    /// Number of entries in the index.
    numidx: c_int,
    /// The index, header included.
    index: AtomicPtr<u8>,
    /// The texts: offsets in the index count from here.
    text: AtomicPtr<u8>,
    /// Size of the texts in bytes.
    textlen: c_int,
}

/// The layout of the C structure, which no header declares: three numbers, with padding up to the
/// next pointer, two pointers, a number.
const _: () = {
    let pointer = size_of::<*const u8>();
    assert!(offset_of!(HelpRow, index) == 12usize.next_multiple_of(pointer));
    assert!(offset_of!(HelpRow, textlen) == offset_of!(HelpRow, index) + 2 * pointer);
};

impl HelpRow {
    /// The row of a slot without a database.
    fn closed() -> HelpRow {
        HelpRow::new(0, &[], &[])
    }

    /// The row of a database with this index and these texts, which stay in memory until it is
    /// closed.
    fn new(entries: usize, index: &[u8], text: &[u8]) -> HelpRow {
        HelpRow {
            dir_fd: -1,
            pag_fd: -1,
            numidx: count(entries),
            index: start_of(index),
            text: start_of(text),
            textlen: count(text.len()),
        }
    }
}

/// The address of bytes, for C code that reads them; NULL for no bytes.
fn start_of(bytes: &[u8]) -> AtomicPtr<u8> {
    AtomicPtr::new(if bytes.is_empty() {
        ptr::null_mut()
    } else {
        bytes.as_ptr().cast_mut()
    })
}

/// A size as an `int`. The sizes of a database were checked when it was opened: they fit.
fn count(size: usize) -> c_int {
    c_int::try_from(size).unwrap_or(c_int::MAX)
}

/// A filter as the agent gave it.
#[derive(Clone, Copy)]
pub(crate) struct Filter {
    /// The argument of its functions.
    pub(crate) data: Cookie,
    /// Decides about an event; anything but 0 drops it.
    pub(crate) apply: pmdaEventApplyFilterCallBack,
    /// Frees the filter.
    pub(crate) release: pmdaEventReleaseFilterCallBack,
}

/// For unit tests: agents that are set up, as far as the tables of records know.
#[cfg(test)]
pub(crate) mod testing {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use super::{any_agent, note_dispatch, register_agent};
    use crate::agent::{AgentRecord, LoopState};
    use crate::boundary::guarded;
    use crate::sys::lock::Token;
    use crate::view::interface::{Dispatch, Ext};
    use crate::view::testing;
    use crate::view::types::Comm;
    use pmda_core::wire::receive::{ReadMode, Receiver};

    /// A daemon with an interface version, and no methods, tables, profile or name.
    pub(crate) fn agent(token: &mut Token, interface: u8) -> (Dispatch<'static>, Ext<'static>, &'static AgentRecord) {
        let (dispatch, ext) = testing::agent(250);
        dispatch.set_comm(Comm {
            interface,
            pmapi: 2,
            flags: 0,
        });
        register_agent(token, dispatch, true, || Ok(ext)).expect("memory");
        note_dispatch(token, dispatch);
        (dispatch, ext, any_agent(token, ext).expect("it was registered"))
    }

    /// A stream; these bytes were read from it before a PDU was asked for.
    pub(crate) fn ahead(token: &mut Token, loop_state: &LoopState, bytes: &[u8]) -> UnixStream {
        let (stream, _) = UnixStream::pair().expect("a socket");
        let mut receiver = Receiver::new();
        let buffer = receiver
            .read_buffer(ReadMode::Ahead)
            .expect("memory")
            .expect("nothing yet");
        buffer[..bytes.len()].copy_from_slice(bytes);
        receiver.filled(Ok(bytes.len())).expect("whole bytes");
        assert!(loop_state.keep(token, stream.as_raw_fd(), receiver).is_ok());
        stream
    }

    /// Runs a test as a step under the guard. A failed assertion is in the log.
    pub(crate) fn step(work: impl FnOnce(&mut Token)) {
        assert!(guarded(work).is_ok(), "an assertion has failed: see the log");
    }
}
