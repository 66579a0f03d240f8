//! The library's records of agents: `pmdaExt.e_ext` leads to one.
//!
//! `e_ext` may point anywhere: some agents make a `pmdaExt` by hand and leave it unset, and an
//! agent that is linked with a copy of the C library has a record of that copy, also in a pmcd that
//! runs on this library. So a record is known by its address alone, and nothing is read through an
//! unknown pointer.
//!
//! The fields of a record are behind the lock of the library, or atomic, so a shared reference is
//! enough to use it. A record is never freed, as nothing tells the library when an agent ends
//! (INIT-14).

pub(crate) use crate::state::agents::{AgentRecord, HashedTable, InstanceIndexes, LoopState};
pub(crate) mod lookup;

use crate::state::agents::address_of;
use crate::sys::lock::Token;

use std::ptr;
use std::sync::atomic::Ordering;

use crate::state;
use crate::sys::libpcp::log;
use crate::view::interface::{DescMethod, Dispatch, Ext, SeenDispatch};
use crate::view::memory::Block;
use pmda_core::error::{Error, Result};
use pmda_core::ident::Interface;
use pmda_core::leak::try_box;

/// Makes the record of an agent, and with `extension` its extension, whose `e_ext` leads to the
/// record. Neither is ever freed.
///
/// # Errors
/// `-ENOMEM`; nothing was made.
pub(crate) fn register(
    token: &mut Token,
    dispatch: Dispatch<'_>,
    daemon: bool,
    extension: impl FnOnce() -> Result<Ext<'static>>,
) -> Result<Ext<'static>> {
    let all = &mut state::lock(token)?.records.all;
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
        SeenDispatch::new(dispatch, daemon),
        ext.as_ptr(),
        state::address(),
    ));
    let place = all.partition_point(|other| address_of(other) < address_of(record));
    all.push(record);
    all[place..].rotate_right(1);
    ext.set_record(&record.dispatch);
    Ok(ext)
}

/// The record of an agent; `None` if this library has not set it up.
pub(crate) fn of(token: &mut Token, ext: Ext<'_>) -> Option<&'static AgentRecord> {
    let record = ext.record();
    if record.is_null() {
        return None;
    }
    state::peek(token)?.records.find(record)
}

/// The record of any agent. A `pmdaExt` that this library has not made gets a record, to which its
/// `e_ext` does not lead (INST-43).
///
/// # Errors
/// `-ENOMEM` for such a `pmdaExt`.
pub(crate) fn of_any(token: &mut Token, ext: Ext<'_>) -> Result<&'static AgentRecord> {
    of(token, ext).map_or_else(|| external(token, ext), Ok)
}

/// The record of an agent whose `pmdaExt` this library has not made.
///
/// # Errors
/// `-ENOMEM`.
#[cold]
fn external(token: &mut Token, ext: Ext<'_>) -> Result<&'static AgentRecord> {
    state::lock(token)?.records.external(ext, state::address())
}

/// The state of an agent's main loop, which is made at first use.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn loop_state(token: &mut Token, ext: Ext<'_>) -> Result<&'static LoopState> {
    let record = of_any(token, ext)?;
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
    of(token, ext).map_or(Interface(0), AgentRecord::interface)
}

/// Notes where the dispatch table of an agent is now, after it has moved. Returns the extension if
/// another library has made its record: then that library's back pointer has to be updated.
pub(crate) fn moved<'call>(token: &mut Token, dispatch: Dispatch<'call>) -> Option<Ext<'call>> {
    let ext = dispatch.ext()?;
    if of(token, ext).is_none() {
        return Some(ext);
    }
    refresh(token, dispatch);
    None
}

/// Copies from a dispatch table what the default methods need of it: they get the `pmdaExt` alone,
/// and the table may move or go without notice (MAIN-56).
pub(crate) fn refresh(token: &mut Token, dispatch: Dispatch<'_>) {
    if let Some(record) = dispatch.ext().and_then(|ext| of(token, ext)) {
        record.dispatch.note(dispatch);
        record.interface.store(dispatch.interface().0, Ordering::Relaxed);
    }
}

/// The `desc` method of an agent. That of a daemon is read from its dispatch table at this moment;
/// that of a DSO is the one that was seen last.
pub(crate) fn desc_method(ext: Ext<'_>, record: &AgentRecord) -> Option<DescMethod> {
    match record.dispatch.table() {
        Some(table) if ptr::eq(table.ext_ptr(), ext.as_ptr()) => table.desc(),
        _ => record.dispatch.desc(),
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
