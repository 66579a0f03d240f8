//! The private record behind `pmdaExt.e_ext`: what the library keeps for one agent.
//!
//! Each family has a field of its own with locks or atomics inside, so that a shared reference is enough. The
//! record is never freed, as nothing tells us when an agent ends (INIT-14).
//!
//! `e_ext` may point anywhere: agents make a `pmdaExt` by hand and leave it unset, and an agent that was linked with a
//! copy of the C library has a record of that one, also inside of a pmcd that runs on this library. So a record is
//! known by its address alone, and nothing is read through a pointer that is not known.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::memory::Block;
use super::session::Session;
use super::types::{pmDesc, pmID, pmdaExt, pmdaInterface};
use crate::abi::dispatch::Dispatch;
use crate::abi::ext::Ext;
use crate::agent::dynamic::Registrations;
use crate::agent::state::FetchState;
use crate::dynamic::List;
use crate::error::Result;
use crate::libpcp::log;
use crate::log::Part::Show;

/// The `desc` method of a dispatch table.
pub(crate) type DescMethod = unsafe extern "C-unwind" fn(pmID, *mut pmDesc, *mut pmdaExt) -> c_int;

/// How many lists the records are spread over. Processes have up to a hundred agents, unless they open and close the
/// same ones again and again.
const LISTS: usize = 256;

/// All records, by address. Records are only ever added, at the front of a list, so nobody waits for a lock.
static RECORDS: [AtomicPtr<Private>; LISTS] = [const { AtomicPtr::new(ptr::null_mut()) }; LISTS];

/// The record that was asked for last: most processes have one.
static LAST: AtomicPtr<Private> = AtomicPtr::new(ptr::null_mut());

/// What the library keeps for one agent.
#[repr(C)]
pub(crate) struct Private {
    /// The dispatch table as it was last seen. It may have moved since (MAIN-41), so it is compared, and read only
    /// for daemons. It is the first word, as in the record of the C library: a pmcd on that one moves the table of an
    /// agent that has this library inside (INIT-51).
    back: AtomicPtr<pmdaInterface>,
    /// The next record in its list; set before the record is in it.
    next: AtomicPtr<Private>,
    /// The extension that was made with this record: never looked at, but whoever lists what is still in use finds it here when
    /// the agent has forgotten it.
    _ext: AtomicPtr<pmdaExt>,
    /// What the library has left when it was unloaded.
    left: AtomicPtr<c_void>,
    /// The agent is a daemon: its dispatch table stays where it is.
    daemon: bool,
    /// The interface version, copied from the dispatch table whenever we are given one (MAIN-56).
    interface: AtomicU32,
    /// The `desc` method, copied likewise.
    desc: AtomicPtr<c_void>,
    /// The agent's own pointer (INIT-49).
    pub(crate) user: AtomicPtr<c_void>,
    /// The fetch family's part.
    pub(crate) fetch: FetchState,
    /// The agent's own trees of dynamic names (DYN-1).
    pub(super) dynamic: Registrations,
    /// The main loop's part.
    pub(super) session: Session,
}

impl Private {
    fn new(ext: *mut pmdaExt, dispatch: *mut pmdaInterface, daemon: bool) -> Private {
        Private {
            back: AtomicPtr::new(dispatch),
            next: AtomicPtr::new(ptr::null_mut()),
            _ext: AtomicPtr::new(ext),
            left: AtomicPtr::new(ptr::null_mut()),
            daemon,
            interface: AtomicU32::new(0),
            desc: AtomicPtr::new(ptr::null_mut()),
            user: AtomicPtr::new(ptr::null_mut()),
            fetch: FetchState::default(),
            dynamic: List::new(),
            session: Session::new(),
        }
    }
}

impl Private {
    /// The interface version of the agent.
    #[inline]
    pub(crate) fn interface(&self) -> u32 {
        self.interface.load(Ordering::Relaxed)
    }
}

/// Makes room for the record of an agent.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn room() -> Result<Block<Private>> {
    const { assert!(align_of::<Private>() <= 2 * align_of::<usize>()) };
    Block::zeroed(1)
}

/// Makes the record for the agent whose dispatch table is `dispatch`; it stays for ever. The result is for the `e_ext` of `ext`.
pub(crate) fn register(
    room: Block<Private>,
    ext: *mut pmdaExt,
    dispatch: *mut pmdaInterface,
    daemon: bool,
) -> *mut c_void {
    let record = room.into_raw();
    // SAFETY: the block is new, of the right size and alignment, and nobody else knows of it.
    unsafe { record.write(Private::new(ext, dispatch, daemon)) };
    let first = &RECORDS[list(record)];
    let mut head = first.load(Ordering::Acquire);
    loop {
        // SAFETY: the record was written above, and is never freed.
        unsafe { (*record).next.store(head, Ordering::Relaxed) };
        match first.compare_exchange_weak(head, record, Ordering::Release, Ordering::Acquire) {
            Ok(_) => return record.cast(),
            Err(other) => head = other,
        }
    }
}

/// Whether there is a record.
pub(super) fn are_any() -> bool {
    RECORDS.iter().any(|first| !first.load(Ordering::Acquire).is_null())
}

/// Hangs a block on all records: it is reachable where any of them is.
pub(super) fn leave_behind(block: *mut c_void) {
    for first in &RECORDS {
        let mut next = first.load(Ordering::Acquire);
        while !next.is_null() {
            // SAFETY: what is in a list was written before it got there, and is never freed.
            let record: &Private = unsafe { &*next };
            record.left.store(block, Ordering::Relaxed);
            next = record.next.load(Ordering::Acquire);
        }
    }
}

/// The list that a record with this address is in. Blocks of this size are never closer than a few hundred bytes.
fn list(record: *const Private) -> usize {
    (record.addr() >> 8) % LISTS
}

/// The record at an address, if it is one of ours; nothing is read through the address before that is known.
fn known(record: *mut Private) -> Option<&'static Private> {
    if record.is_null() {
        return None;
    }
    if record == LAST.load(Ordering::Acquire) {
        // SAFETY: only records that were found in a list are stored there, and they are never freed.
        return Some(unsafe { &*record });
    }
    search(record)
}

#[cold]
fn search(record: *mut Private) -> Option<&'static Private> {
    let mut next = RECORDS[list(record)].load(Ordering::Acquire);
    while !next.is_null() {
        // SAFETY: what is in a list was written before it got there, and is never freed.
        let found: &'static Private = unsafe { &*next };
        if next == record {
            LAST.store(next, Ordering::Release);
            return Some(found);
        }
        next = found.next.load(Ordering::Acquire);
    }
    None
}

/// The record of `ext`; `None` when `ext` is NULL or was not set up by this library.
///
/// # Safety
/// `ext` is NULL or valid for reads; its `e_ext` may be anything.
pub(crate) unsafe fn of(ext: *const pmdaExt) -> Option<&'static Private> {
    if ext.is_null() {
        return None;
    }
    // SAFETY: not NULL, hence valid for reads by the contract above.
    known(unsafe { (*ext).e_ext }.cast())
}

/// The record of an agent; `None` when this library has not set it up.
pub(crate) fn record(ext: Ext) -> Option<&'static Private> {
    // SAFETY: the record of a view is valid for reads.
    unsafe { of(ext.as_ptr()) }
}

/// The interface version of an agent; 0 when this library has not set it up.
#[inline]
pub(crate) fn interface_of(ext: Ext) -> u32 {
    record(ext).map_or(0, Private::interface)
}

/// Tells whoever has made `ext` that its dispatch table is at `dispatch` now. A record of another copy of this library, or
/// of the C library, has the address as its first word (INIT-51).
///
/// # Safety
/// As [`refresh`]; a record that is not ours is one of another library, valid for writes.
pub(crate) unsafe fn moved(dispatch: *mut pmdaInterface) {
    // SAFETY: valid by the contract above; NULL is told apart.
    unsafe {
        let ext = (*dispatch).ext;
        if ext.is_null() || (*ext).e_ext.is_null() {
            return;
        }
        if of(ext).is_some() {
            refresh(dispatch);
        } else {
            (*ext).e_ext.cast::<*mut pmdaInterface>().write(dispatch);
        }
    }
}

/// Takes over what the stock methods need from a dispatch table: they have only the `pmdaExt`, and the table may
/// move or go without notice (MAIN-56).
///
/// # Safety
/// `dispatch` is valid for reads of what its interface version defines, and its `ext` is NULL or valid.
pub(crate) unsafe fn refresh(dispatch: *mut pmdaInterface) {
    // SAFETY: valid by the contract above; `desc` is part of every interface version.
    unsafe {
        if let Some(record) = of((*dispatch).ext) {
            record.back.store(dispatch, Ordering::Relaxed);
            record.interface.store((*dispatch).comm.interface(), Ordering::Relaxed);
            let desc = (*dispatch).desc.map_or(ptr::null_mut(), |method| method as *mut c_void);
            record.desc.store(desc, Ordering::Relaxed);
        }
    }
}

/// [`refresh`] for a view.
pub(crate) fn refresh_view(dispatch: Dispatch) {
    // SAFETY: a view's table is valid, with its extension.
    unsafe { refresh(dispatch.as_ptr()) };
}

/// The `desc` method of an agent: for a daemon the one that its dispatch table has at this moment.
pub(crate) fn desc_method(ext: Ext) -> Option<DescMethod> {
    let record = record(ext)?;
    let back = record.back.load(Ordering::Relaxed);
    if record.daemon && !back.is_null() {
        // SAFETY: the dispatch table of a daemon stays where it was when `register` was told of it; two fields that
        // every interface version has are copied.
        let (other, desc) = unsafe { ((&raw const (*back).ext).read(), (&raw const (*back).desc).read()) };
        if ptr::eq(other, ext.as_ptr()) {
            return desc;
        }
    }
    let method = record.desc.load(Ordering::Relaxed);
    if method.is_null() {
        return None;
    }
    // SAFETY: `refresh` stored it from a function pointer of this type.
    Some(unsafe { std::mem::transmute::<*mut c_void, DescMethod>(method) })
}

/// Says so when the dispatch table of a daemon belongs to another `pmdaExt` (FETCH-11). The table of a DSO may have
/// been moved without notice, so it is not looked at (MAIN-56).
pub(crate) fn check_botch(ext: Ext) {
    let Some(record) = record(ext) else { return };
    let back = record.back.load(Ordering::Relaxed);
    let ext_ptr = ext.as_ptr();
    if !record.daemon || back.is_null() {
        return;
    }
    // SAFETY: the dispatch table of a daemon stays where it was when `register` was told of it; one field is copied.
    let other = unsafe { (&raw const (*back).ext).read() };
    if ptr::eq(other, ext_ptr) {
        return;
    }
    log::trace_parts(&[Show(&format_args!(
        "Botch: pmdaFetch: PMDA domain={} pmda={ext_ptr:p} extp={record:p} backpointer={back:p} \
         pmda-via-backpointer {other:p} NOT EQUAL to pmda\n",
        ext.domain(),
    ))]);
}
