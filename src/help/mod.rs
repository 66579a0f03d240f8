//! The open help databases of the process, and the lookup of texts in them.

pub(crate) mod exports;

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::state::{self, Databases};
use crate::sys::keeping_errno;
use crate::sys::libpcp::log;
use crate::sys::lock::Token;
use pmda_core::constants::PM_TEXT_ONELINE;
use pmda_core::error::Result;
use pmda_core::help::{Database, HelpKey, HelpKind};
use pmda_core::log::Journal;

/// Opens the help database `name`. Returns its handle.
///
/// # Errors
/// Those of [`Database::open`]; `-ENOMEM`.
pub(crate) fn open(token: &mut Token, name: &[u8]) -> Result<c_int> {
    // An open that fails leaves its empty slot if it needed a new one, and so a table for `chkhelp`
    // (HELP-11).
    state::lock(token)?.help.get_or_make(Databases::new)?.reserve()?;
    let mut journal = Journal::new();
    let base = token.apart(|| keeping_errno(|| Database::open(name, &mut journal)));
    log::flush(token, &mut journal);
    state::lock(token)?.help.get_or_make(Databases::new)?.insert(base?)
}

/// Closes a database and releases its texts; other handles do nothing (HELP-12).
pub(crate) fn close(token: &mut Token, handle: c_int) {
    drop(state::peek(token).and_then(|globals| globals.help.get_mut()?.remove(handle)));
}

/// The text of an entry, NULL without one. It stays until the database is closed (HELP-29). The
/// text is constant, although C declares it as `char *` (H-9).
#[inline(always)]
pub(crate) fn text(token: &mut Token, handle: c_int, entry: HelpKey, kind: c_int) -> *mut c_char {
    let base = state::peek(token).and_then(|globals| globals.help.get()?.get(handle));
    // A slice that a database returns always has a NUL (HELP-31, HELP-32).
    let text = base.and_then(|base| base.text_of(entry, text_kind(kind)));
    text.map_or(ptr::null_mut(), |text| text.as_ptr().cast_mut().cast())
}

/// The kind of text that a caller asks for. Other bits are ignored (HELP-27).
fn text_kind(kind: c_int) -> HelpKind {
    if kind & PM_TEXT_ONELINE == 0 {
        HelpKind::Long
    } else {
        HelpKind::OneLine
    }
}

/// The table of open databases for `chkhelp`, which only reads it; NULL before the first open. It
/// may move when another database is opened (HELP-43).
pub(crate) fn table(token: &mut Token) -> *mut c_void {
    let globals = state::peek(token);
    let databases = globals.as_ref().and_then(|globals| globals.help.get());
    databases.map_or(ptr::null_mut(), |databases| databases.table.as_ptr().cast_mut().cast())
}
