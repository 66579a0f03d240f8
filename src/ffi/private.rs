//! The private record behind `pmdaExt.e_ext`: what the library keeps for one agent.
//!
//! Each family has a field of its own with locks or atomics inside, so that a shared reference is enough. The
//! record is never freed, as nothing tells us when an agent ends (INIT-14).

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::fetch_state::FetchState;
use super::session::Session;
use super::types::{pmDesc, pmID, pmdaExt, pmdaInterface};
use crate::agent::dynamic::Registrations;
use crate::dynamic::List;
use crate::libpcp::log;
use crate::log::Part::Show;

/// Tells our records from whatever else `e_ext` might point to.
const MAGIC: u32 = 0x706d_6461;

/// The `desc` method of a dispatch table.
pub(crate) type DescMethod = unsafe extern "C" fn(pmID, *mut pmDesc, *mut pmdaExt) -> c_int;

/// What the library keeps for one agent.
pub(crate) struct Private {
    magic: u32,
    /// The agent is a daemon: its dispatch table stays where it is.
    daemon: bool,
    /// The dispatch table as it was last seen. It may have moved since (MAIN-41), so it is compared, and read only
    /// for daemons.
    back: AtomicPtr<pmdaInterface>,
    /// The interface version, copied from the dispatch table whenever we are given one (MAIN-56).
    interface: AtomicU32,
    /// The `desc` method, copied likewise.
    desc: AtomicPtr<c_void>,
    /// The agent's own pointer (INIT-49).
    pub(super) user: AtomicPtr<c_void>,
    /// The fetch family's part.
    pub(super) fetch: FetchState,
    /// The agent's own trees of dynamic names (DYN-1).
    pub(super) dynamic: Registrations,
    /// The main loop's part.
    pub(super) session: Session,
}

impl Private {
    /// A record for the agent whose dispatch table is `dispatch`.
    pub(super) fn new(dispatch: *mut pmdaInterface, daemon: bool) -> Private {
        Private {
            magic: MAGIC,
            daemon,
            back: AtomicPtr::new(dispatch),
            interface: AtomicU32::new(0),
            desc: AtomicPtr::new(ptr::null_mut()),
            user: AtomicPtr::new(ptr::null_mut()),
            fetch: FetchState::default(),
            dynamic: List::new(),
            session: Session::new(),
        }
    }
}

/// The record of `ext`; `None` when `ext` is NULL or was not set up by this library.
///
/// # Safety
/// `ext` is NULL or valid for reads, and its `e_ext` is NULL or points to readable memory.
pub(crate) unsafe fn of(ext: *const pmdaExt) -> Option<&'static Private> {
    if ext.is_null() {
        return None;
    }
    // SAFETY: not NULL, hence valid for reads; the record behind `e_ext` is one of ours, which are never freed, or
    // at least readable, and then the magic number tells.
    unsafe {
        let record = (*ext).e_ext.cast::<Private>();
        if record.is_null() || (&raw const (*record).magic).read() != MAGIC {
            return None;
        }
        Some(&*record)
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

/// The interface version of the agent; 0 when the `pmdaExt` is not one of ours.
///
/// # Safety
/// As [`of`].
pub(crate) unsafe fn interface(ext: *const pmdaExt) -> u32 {
    // SAFETY: the contract is the same.
    unsafe { of(ext) }.map_or(0, |record| record.interface.load(Ordering::Relaxed))
}

/// The `desc` method of the agent.
///
/// # Safety
/// As [`of`].
pub(crate) unsafe fn desc_method(ext: *const pmdaExt) -> Option<DescMethod> {
    // SAFETY: the contract is the same.
    let method = unsafe { of(ext) }?.desc.load(Ordering::Relaxed);
    if method.is_null() {
        return None;
    }
    // SAFETY: `refresh` stored it from a function pointer of this type.
    Some(unsafe { std::mem::transmute::<*mut c_void, DescMethod>(method) })
}

/// Says so when the dispatch table of a daemon belongs to another `pmdaExt` (FETCH-11). The table of a DSO may have
/// been moved without notice, so it is not looked at (MAIN-56).
///
/// # Safety
/// As [`of`]; the dispatch table of a daemon is still where it was.
pub(crate) unsafe fn check_botch(ext: *const pmdaExt) {
    // SAFETY: the record is ours; the table of a daemon is valid by the contract above.
    unsafe {
        let Some(record) = of(ext) else { return };
        let back = record.back.load(Ordering::Relaxed);
        if !record.daemon || back.is_null() || ptr::eq((*back).ext, ext) {
            return;
        }
        log::trace_parts(&[Show(&format_args!(
            "Botch: pmdaFetch: PMDA domain={} pmda={ext:p} extp={record:p} backpointer={back:p} \
             pmda-via-backpointer {:p} NOT EQUAL to pmda\n",
            (*ext).e_domain,
            (*back).ext
        ))]);
    }
}
