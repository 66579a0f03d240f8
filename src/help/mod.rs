//! The open help databases of the process.

pub(crate) mod exports;

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::AtomicPtr;

use crate::library;
use crate::sys::libpcp::cancel;
use crate::sys::libpcp::log;
use pmda_core::constants::PM_TEXT_ONELINE;
use pmda_core::error::{Error, Result};
use pmda_core::handles::{self, Handles};
use pmda_core::help::{Database, Entry, Kind};
use pmda_core::log::Journal;

/// The databases, and beside them the table that C may look at.
pub(crate) struct Databases {
    slots: Handles<Database>,
    /// A row for each slot.
    table: Vec<Row>,
}

impl Databases {
    /// Those of the process, made at first use.
    fn made(databases: &mut Vec<Databases>) -> Result<&mut Databases> {
        if databases.is_empty() {
            databases.try_reserve_exact(1).map_err(|_| Error::NOMEM)?;
            databases.push(Databases {
                slots: Handles::new(),
                table: Vec::new(),
            });
        }
        Ok(&mut databases[0])
    }

    /// The database of a handle.
    #[inline(always)]
    fn get(&self, handle: c_int) -> Option<&Database> {
        self.slots.get(handles::slot(handle)?)
    }

    /// Makes sure that there is a free slot, and a row for it (HELP-11, H-5).
    fn reserve(&mut self) -> Result<usize> {
        let slot = self.slots.vacant()?;
        if self.table.len() <= slot {
            self.table.try_reserve(1).map_err(|_| Error::NOMEM)?;
            self.table.push(Row::closed());
        }
        Ok(slot)
    }

    fn insert(&mut self, base: Database) -> Result<c_int> {
        let slot = self.reserve()?;
        let handle = handles::handle(slot)?;
        self.table[slot] = Row::new(base.entries(), base.index(), base.pages());
        self.slots.put(slot, base);
        Ok(handle)
    }

    fn remove(&mut self, handle: c_int) -> Option<Database> {
        let slot = handles::slot(handle)?;
        let base = self.slots.take(slot)?;
        self.table[slot] = Row::closed();
        Some(base)
    }
}

/// Opens the help database `name` and returns its handle.
///
/// # Errors
/// As [`Database::open`]; `-ENOMEM`.
pub(crate) fn open(name: &[u8]) -> Result<c_int> {
    // A failed open leaves an empty slot behind when it needed a new one, and so a table (HELP-11).
    Databases::made(&mut library::lock()?.help)?.reserve()?;
    let mut journal = Journal::new();
    let base = cancel::disabled(|| Database::open(name, &mut journal));
    log::flush(&mut journal);
    Databases::made(&mut library::lock()?.help)?.insert(base?)
}

/// Closes a database and releases its texts; other handles do nothing (HELP-12).
pub(crate) fn close(handle: c_int) {
    let base = library::peek().and_then(|mut library| library.help.first_mut()?.remove(handle));
    // Released here, when the lock is no longer held.
    drop(base);
}

/// The text of an entry, NULL when there is none; it stays until the database is closed (HELP-29).
#[inline(always)]
pub(crate) fn text(handle: c_int, entry: Entry, kind: c_int) -> *mut c_char {
    let library = library::peek();
    let base = library.as_ref().and_then(|library| library.help.first()?.get(handle));
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

/// The table of open databases for `chkhelp`, NULL before the first open. It may move when another
/// database is opened (HELP-43); chkhelp only looks at it.
pub(crate) fn table() -> *mut c_void {
    let library = library::peek();
    let databases = library.as_ref().and_then(|library| library.help.first());
    databases.map_or(ptr::null_mut(), |databases| databases.table.as_ptr().cast_mut().cast())
}

/// One slot of the table of databases as `chkhelp` sees it through `__pmdaHelpTab` (HELP-40).
#[repr(C)]
struct Row {
    /// Descriptor of NAME.dir: none stays open (HELP-13).
    dir_fd: c_int,
    /// Descriptor of NAME.pag, likewise.
    pag_fd: c_int,
    /// Number of entries in the index.
    numidx: c_int,
    /// The index, header included.
    index: AtomicPtr<u8>,
    /// The texts: offsets count from here.
    text: AtomicPtr<u8>,
    /// Size of the texts in bytes.
    textlen: c_int,
}

/// The three numbers, and room up to the next pointer; `chkhelp` has no header for it.
const _: () = {
    let pointer = size_of::<*const u8>();
    assert!(offset_of!(Row, index) == 12usize.next_multiple_of(pointer));
    assert!(offset_of!(Row, textlen) == offset_of!(Row, index) + 2 * pointer);
};

impl Row {
    fn closed() -> Row {
        Row::new(0, &[], &[])
    }

    fn new(entries: usize, index: &[u8], text: &[u8]) -> Row {
        Row {
            dir_fd: -1,
            pag_fd: -1,
            numidx: count(entries),
            index: address(index),
            text: address(text),
            textlen: count(text.len()),
        }
    }
}

/// Where bytes are; NULL if there are none. C looks at them, and nobody changes them.
fn address(bytes: &[u8]) -> AtomicPtr<u8> {
    AtomicPtr::new(if bytes.is_empty() {
        ptr::null_mut()
    } else {
        bytes.as_ptr().cast_mut()
    })
}

/// Sizes of a database are checked when it is opened to fit.
fn count(size: usize) -> c_int {
    c_int::try_from(size).unwrap_or(c_int::MAX)
}

/// The C string that starts here: a slice that a database returns always holds a NUL (HELP-31,
/// HELP-32). The text is constant, but C callers take it as `char *` (H-9).
fn text_pointer(text: Option<&[u8]>) -> *mut c_char {
    text.map_or(ptr::null_mut(), |text| text.as_ptr().cast_mut().cast())
}
