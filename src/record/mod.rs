//! What the library keeps for one agent, behind `pmdaExt.e_ext`.
//!
//! What the fields hold is behind the lock of the library, or atomic, so that a shared reference is
//! enough. The record is never freed, as nothing tells us when an agent ends (INIT-14).

pub(crate) mod state;

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::dynamic::Registrations;
use crate::library;
use crate::record::state::{FetchState, Session};
use crate::sys::libpcp::log;
use crate::sys::lock::{Mutex, StaticPtr};
use crate::view::agent::{DescMethod, Dispatch, Ext};
use crate::view::records::{self, Known, Record};
use pmda_core::dynamic::List;
use pmda_core::error::Result;
use pmda_core::index::Map;
use pmda_core::interface::Interface;
use pmda_core::leak::try_leak;

/// What the library keeps for one agent.
pub(crate) struct AgentRecord {
    /// The interface version, copied from the dispatch table whenever we are given one (MAIN-56).
    interface: AtomicU32,
    /// The agent's own pointer (INIT-49).
    pub(crate) user: AtomicPtr<c_void>,
    /// The fetch family's part.
    pub(crate) fetch: FetchState,
    /// The agent's own trees of dynamic names (DYN-1).
    pub(crate) dynamic: Registrations,
    /// The main loop's part, made when it is asked for first: a DSO has none.
    session: StaticPtr<Session>,
}

impl AgentRecord {
    #[inline]
    fn interface(&self) -> Interface {
        Interface(self.interface.load(Ordering::Relaxed))
    }
}

/// Room for the record of an agent.
pub(crate) type Room = records::Room<AgentRecord>;

/// Makes the record of the agent that has a dispatch table, and has its `e_ext` lead to it. It
/// is never freed.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn register(room: Room, ext: Ext<'_>, dispatch: Dispatch<'_>, daemon: bool) -> Result<()> {
    let record = AgentRecord {
        interface: AtomicU32::new(0),
        user: AtomicPtr::new(ptr::null_mut()),
        fetch: FetchState::default(),
        dynamic: Mutex::new(List::new()),
        session: StaticPtr::new(),
    };
    let mut library = library::lock()?;
    let known = Known {
        ext,
        dispatch,
        daemon,
        library: library::address(),
    };
    library.records.add(room, &known, record)
}

/// Makes room for the record of an agent, and the state that it leads to.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn room() -> Result<Room> {
    library::lock()?.records.room()
}

#[inline]
fn find(ext: Ext<'_>) -> Option<&'static Record<AgentRecord>> {
    let record = ext.record();
    if record.is_null() {
        return None;
    }
    library::peek()?.records.find(record)
}

/// The record of an agent; `None` when this library has not set it up.
#[inline]
pub(crate) fn of(ext: Ext<'_>) -> Option<&'static AgentRecord> {
    find(ext).map(|record| &record.content)
}

/// The fetch family's part of an agent. Callers may use a `pmdaExt` that they have zeroed
/// themselves: it gets one of its own (INST-43).
///
/// # Errors
/// `-ENOMEM` for such a one.
#[inline]
pub(crate) fn fetch_state(ext: Ext<'_>) -> Result<&'static FetchState> {
    of(ext).map_or_else(|| external_fetch_state(ext), |record| Ok(&record.fetch))
}

/// An agent as a fetch sees it from its beginning to its end.
#[derive(Clone, Copy)]
pub(crate) struct Fetched {
    /// As [`fetch_state`] says.
    pub(crate) state: &'static FetchState,
    /// As [`interface`] says.
    pub(crate) interface: Interface,
    record: Option<&'static Record<AgentRecord>>,
}

/// What a fetch asks about an agent.
///
/// # Errors
/// As [`fetch_state`].
#[inline]
pub(crate) fn for_fetch(ext: Ext<'_>) -> Result<Fetched> {
    let record = find(ext);
    let (state, interface) = match record {
        Some(Record { content, .. }) => (&content.fetch, content.interface()),
        None => (external_fetch_state(ext)?, Interface(0)),
    };
    Ok(Fetched {
        state,
        interface,
        record,
    })
}

/// The main loop's part of an agent, also of one whose `pmdaExt` was made by hand.
///
/// # Errors
/// `-ENOMEM` for such a one.
pub(crate) fn session(ext: Ext<'_>) -> Result<&'static Session> {
    let Some(record) = of(ext) else {
        return external_session(ext);
    };
    match record.session.get() {
        Some(session) => Ok(session),
        None => make_session(record),
    }
}

#[cold]
fn make_session(record: &AgentRecord) -> Result<&'static Session> {
    // Of two threads only one makes it.
    let _library = library::lock()?;
    record.session.get_or_make(Session::new)
}

/// The interface version of an agent; 0 when this library has not set it up.
#[inline]
pub(crate) fn interface(ext: Ext<'_>) -> Interface {
    of(ext).map_or(Interface(0), AgentRecord::interface)
}

/// Updates the way back from the extension to its dispatch table, which has moved. In a record of
/// another copy of this library, or of the C library, it is the first word (INIT-51).
pub(crate) fn moved(dispatch: Dispatch<'_>) {
    let Some(ext) = dispatch.ext() else { return };
    match find(ext) {
        Some(_) => refresh(dispatch),
        None => ext.tell_other_library(dispatch),
    }
}

/// Takes over what the default methods need from a dispatch table: they have only the `pmdaExt`,
/// and the table may move or go without notice (MAIN-56).
pub(crate) fn refresh(dispatch: Dispatch<'_>) {
    if let Some(record) = dispatch.ext().and_then(find) {
        record.note(dispatch);
        record
            .content
            .interface
            .store(dispatch.interface().0, Ordering::Relaxed);
    }
}

/// The `desc` method of an agent: for a daemon the one that its dispatch table has at this moment.
pub(crate) fn desc_method(ext: Ext<'_>) -> Option<DescMethod> {
    let record = find(ext)?;
    match record.table() {
        Some(table) if ptr::eq(table.ext_ptr(), ext.as_ptr()) => table.desc(),
        _ => record.noted_desc(),
    }
}

/// Says so when the dispatch table of a daemon belongs to another `pmdaExt` (FETCH-11).
#[inline]
pub(crate) fn check_botch(ext: Ext<'_>, agent: Fetched) {
    let Some(record) = agent.record else { return };
    let Some(table) = record.table() else { return };
    if !ptr::eq(table.ext_ptr(), ext.as_ptr()) {
        report_botch(ext, record, table);
    }
}

#[cold]
#[inline(never)]
fn report_botch(ext: Ext<'_>, record: &'static Record<AgentRecord>, table: Dispatch<'_>) {
    let (ext_ptr, back, other) = (ext.as_ptr(), table.as_ptr(), table.ext_ptr());
    log::trace!(
        "Botch: pmdaFetch: PMDA domain={} pmda={ext_ptr:p} extp={record:p} backpointer={back:p} \
         pmda-via-backpointer {other:p} NOT EQUAL to pmda\n",
        ext.domain(),
    );
}

/// The state of agents whose `pmdaExt` was not made by this library (by hand, or by another one),
/// by its address. It is never freed.
pub(crate) type ExternalExts = Map<&'static ExternalExt>;

/// The state of one of them; each part is made when it is first needed.
pub(crate) struct ExternalExt {
    fetch_state: StaticPtr<FetchState>,
    session: StaticPtr<Session>,
}

/// The fetch family's part of such an agent.
///
/// # Errors
/// `-ENOMEM`.
#[cold]
fn external_fetch_state(ext: Ext<'_>) -> Result<&'static FetchState> {
    made(ext, |part| &part.fetch_state, FetchState::default)
}

/// The main loop's part of such an agent.
///
/// # Errors
/// `-ENOMEM`.
#[cold]
fn external_session(ext: Ext<'_>) -> Result<&'static Session> {
    made(ext, |part| &part.session, Session::new)
}

fn made<T>(
    ext: Ext<'_>,
    place: impl FnOnce(&'static ExternalExt) -> &'static StaticPtr<T>,
    new: impl FnOnce() -> T,
) -> Result<&'static T> {
    let address = ext.as_ptr().addr() as u64;
    let known = &mut library::lock()?.external_exts;
    let part = match known.get(address) {
        Some(part) => part,
        None => {
            known.reserve(1)?;
            let part: &'static ExternalExt = try_leak(ExternalExt {
                fetch_state: StaticPtr::new(),
                session: StaticPtr::new(),
            })?;
            *known.get_or_insert_with(address, || part)?
        }
    };
    place(part).get_or_make(new)
}
