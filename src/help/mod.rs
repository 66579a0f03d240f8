//! The open help databases of the process.

pub(crate) mod exports;

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::library;
use crate::sys::libpcp::cancel;
use crate::sys::libpcp::log;
use crate::view::help_table::{HelpTable, text_pointer};
use pmda_core::constants::PM_TEXT_ONELINE;
use pmda_core::error::{Error, Result};
use pmda_core::handles::{self, Handles};
use pmda_core::help::{Database, Entry, Kind};
use pmda_core::log::Journal;

/// The databases, and beside them the table that C may look at.
pub(crate) struct Databases {
    slots: Handles<Database>,
    table: HelpTable,
}

fn made(databases: &mut Vec<Databases>) -> Result<&mut Databases> {
    if databases.is_empty() {
        databases.try_reserve_exact(1).map_err(|_| Error::NOMEM)?;
        databases.push(Databases {
            slots: Handles::new(),
            table: HelpTable::new(),
        });
    }
    Ok(&mut databases[0])
}

impl Databases {
    /// Makes sure that there is a free slot, and a row for it (HELP-11, H-5).
    fn reserve(&mut self) -> Result<usize> {
        let slot = self.slots.vacant()?;
        self.table.reserve(slot)?;
        Ok(slot)
    }

    fn insert(&mut self, base: Database) -> Result<c_int> {
        let slot = self.reserve()?;
        let handle = handles::handle(slot)?;
        self.table.open(slot, self.slots.put(slot, base));
        Ok(handle)
    }

    fn remove(&mut self, handle: c_int) -> Option<Database> {
        let slot = handles::slot(handle)?;
        let base = self.slots.take(slot)?;
        self.table.close(slot);
        Some(base)
    }
}

/// Opens the help database `name` and returns its handle.
///
/// # Errors
/// As [`Database::open`]; `-ENOMEM`.
pub(crate) fn open(name: &[u8]) -> Result<c_int> {
    // A failed open leaves an empty slot behind when it needed a new one, and so a table (HELP-11).
    made(&mut library::lock()?.help)?.reserve()?;
    let mut journal = Journal::new();
    let base = cancel::disabled(|| Database::open(name, &mut journal));
    log::flush(&mut journal);
    made(&mut library::lock()?.help)?.insert(base?)
}

/// Closes a database and releases its texts; other handles do nothing (HELP-12).
pub(crate) fn close(handle: c_int) {
    let base = library::peek().and_then(|mut library| library.help.first_mut()?.remove(handle));
    // Released here, when the lock is no longer held.
    drop(base);
}

/// The database of a handle.
#[inline(always)]
fn database(databases: &[Databases], handle: c_int) -> Option<&Database> {
    databases.first()?.slots.get(handles::slot(handle)?)
}

/// The text of an entry, NULL when there is none; it stays until the database is closed (HELP-29).
#[inline(always)]
pub(crate) fn text(handle: c_int, entry: Entry, kind: c_int) -> *mut c_char {
    let near = library::peek().and_then(|library| {
        let base = database(&library.help, handle)?;
        base.text_near(entry, text_kind(kind))
            .map(|text| text_pointer(Some(text)))
    });
    match near {
        Some(text) => text,
        None => text_anywhere(handle, entry, kind),
    }
}

#[inline(never)]
fn text_anywhere(handle: c_int, entry: Entry, kind: c_int) -> *mut c_char {
    let library = library::peek();
    let base = library.as_ref().and_then(|library| database(&library.help, handle));
    text_pointer(base.and_then(|base| base.text_of(entry, text_kind(kind))))
}

/// No other bit of a text type is looked at (HELP-27).
fn text_kind(kind: c_int) -> Kind {
    if kind & PM_TEXT_ONELINE == 0 {
        Kind::Long
    } else {
        Kind::OneLine
    }
}

/// The table of open databases for `chkhelp`, NULL before the first open.
pub(crate) fn table() -> *mut c_void {
    let library = library::peek();
    let databases = library.as_ref().and_then(|library| library.help.first());
    databases.map_or(ptr::null_mut(), |databases| databases.table.first())
}
