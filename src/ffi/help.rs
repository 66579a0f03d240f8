//! The help database: `pmdaOpenHelp`, `pmdaCloseHelp`, `pmdaGetHelp`, `pmdaGetInDomHelp`, `__pmdaHelpTab`.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use super::arg;
use super::guard::guard;
use super::lock::{Mutex, const_mutex, room};
use super::types::{pmID, pmInDom};
use crate::error::{Error, Result};
use crate::help::{Database, Kind, Slots};
use crate::ident::{InDom, MetricId};
use crate::libpcp::log;
use crate::log::Journal;

/// `PM_TEXT_ONELINE`, the only bit of a text type that is looked at (HELP-27).
const ONE_LINE: c_int = 1;

/// A slot as `chkhelp` sees it through `__pmdaHelpTab` (HELP-40).
#[repr(C)]
struct Row {
    /// Descriptor of NAME.dir: none stays open (HELP-13).
    dir_fd: c_int,
    /// Descriptor of NAME.pag, likewise.
    pag_fd: c_int,
    /// Number of entries in the index.
    numidx: c_int,
    /// The index, header included.
    index: *const u8,
    /// The texts: offsets count from here.
    text: *const u8,
    /// Size of the texts in bytes.
    textlen: c_int,
}

/// The three numbers, and room up to the next pointer; `chkhelp` has no header for it.
const _: () = {
    let pointer = size_of::<*const u8>();
    assert!(std::mem::offset_of!(Row, index) == 12usize.next_multiple_of(pointer));
    assert!(std::mem::offset_of!(Row, textlen) == std::mem::offset_of!(Row, index) + 2 * pointer);
};

impl Row {
    const CLOSED: Row = Row {
        dir_fd: -1,
        pag_fd: -1,
        numidx: 0,
        index: ptr::null(),
        text: ptr::null(),
        textlen: 0,
    };

    fn of(base: &Database) -> Row {
        Row {
            numidx: count(base.entries()),
            index: base.index().as_ptr(),
            text: base.pages().as_ptr(),
            textlen: count(base.pages().len()),
            ..Row::CLOSED
        }
    }
}

/// Sizes of a database are checked when it is opened to fit.
fn count(size: usize) -> c_int {
    c_int::try_from(size).unwrap_or(c_int::MAX)
}

/// The databases, and beside them the table that C may look at.
pub(super) struct Tables {
    slots: Slots,
    rows: Vec<Row>,
}

// SAFETY: the pointers in the rows are only handed out, never followed here; what they point to belongs to the
// databases beside them and is never changed.
unsafe impl Send for Tables {}
// SAFETY: as above: sharing a table gives access to nothing that another thread could be writing.
unsafe impl Sync for Tables {}

/// The tables lie in a block of their own, made by the first open: what an agent leaves behind when it is unloaded is one
/// block, as with the C library.
pub(super) struct Place(Vec<Tables>);

pub(super) static TABLES: Mutex<Place, { room::HELP }> = const_mutex(Place(Vec::new()));

impl Place {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn get(&self) -> Option<&Tables> {
        self.0.first()
    }

    fn made(&mut self) -> Result<&mut Tables> {
        if self.0.is_empty() {
            self.0.try_reserve_exact(1).map_err(|_| Error::NOMEM)?;
            self.0.push(Tables {
                slots: Slots::new(),
                rows: Vec::new(),
            });
        }
        Ok(&mut self.0[0])
    }
}

impl Tables {
    /// Makes sure that there is a free slot, and a row for it (HELP-11, H-5).
    fn reserve(&mut self) -> Result<usize> {
        let slot = self.slots.vacant()?;
        if self.rows.len() <= slot {
            self.rows.try_reserve(1).map_err(|_| Error::NOMEM)?;
            self.rows.push(Row::CLOSED);
        }
        Ok(slot)
    }

    fn insert(&mut self, base: Database) -> Result<c_int> {
        let slot = self.reserve()?;
        let handle = c_int::try_from(slot).map_err(|_| Error::NOMEM)?;
        self.rows[slot] = Row::of(self.slots.put(slot, base));
        Ok(handle)
    }

    fn remove(&mut self, handle: c_int) -> Option<Database> {
        let base = self.slots.take(handle)?;
        if let Some(row) = usize::try_from(handle).ok().and_then(|slot| self.rows.get_mut(slot)) {
            *row = Row::CLOSED;
        }
        Some(base)
    }
}

/// Opens the help database `name` and returns its handle.
///
/// # Errors
/// As [`Database::open`] and [`Tables::reserve`].
pub(crate) fn open(name: &[u8]) -> Result<c_int> {
    // A failed open leaves an empty slot behind when it needed a new one, and so a table (HELP-11).
    TABLES.lock().made()?.reserve()?;
    let mut journal = Journal::new();
    let base = Database::open(name, &mut journal);
    log::flush(&mut journal);
    TABLES.lock().made()?.insert(base?)
}

/// The text of a metric, NULL when there is none; it stays until the database is closed (HELP-29).
pub(crate) fn metric_text(handle: c_int, metric: MetricId, kind: c_int) -> *mut c_char {
    let tables = TABLES.lock();
    let base = tables.get().and_then(|tables| tables.slots.get(handle));
    pointer(base.and_then(|base| base.metric(metric, text_kind(kind))))
}

/// The text of an instance domain, NULL when there is none; it stays until the database is closed (HELP-29).
pub(crate) fn indom_text(handle: c_int, indom: InDom, kind: c_int) -> *mut c_char {
    let tables = TABLES.lock();
    let base = tables.get().and_then(|tables| tables.slots.get(handle));
    pointer(base.and_then(|base| base.indom(indom, text_kind(kind))))
}

fn text_kind(kind: c_int) -> Kind {
    if kind & ONE_LINE == 0 {
        Kind::Long
    } else {
        Kind::OneLine
    }
}

/// The C string that starts here: a slice that a database returns always holds a NUL (HELP-31, HELP-32). The text is
/// constant, but C callers take it as `char *` (H-9).
fn pointer(text: Option<&[u8]>) -> *mut c_char {
    text.map_or(ptr::null_mut(), |text| text.as_ptr().cast_mut().cast())
}

/// Opens the help database that consists of the files `fname`.dir and `fname`.pag.
///
/// # Returns
/// A handle, 0 or more; `-errno` when a file cannot be read, `-EINVAL` when it is no help database of version 2, is
/// damaged, or `fname` is NULL (HELP-10, HELP-20, HELP-30).
///
/// # Safety
/// `fname` is NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaOpenHelp(fname: *const c_char) -> c_int {
    guard(|| {
        // SAFETY: NULL or a C string, as the contract above says; it is used only during the call.
        let name = unsafe { arg::bytes(fname) }.ok_or(Error::INVAL)?;
        open(name)
    })
}

/// Closes a help database and releases its texts; other handles do nothing (HELP-12).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaCloseHelp(handle: c_int) {
    guard(|| {
        let base = TABLES.lock().0.first_mut().and_then(|tables| tables.remove(handle));
        // Released here, when the lock is no longer held.
        drop(base);
    });
}

/// Looks up a text of a metric: the one-line text when bit `PM_TEXT_ONELINE` is set in `kind`, else the long one.
///
/// # Returns
/// A text that stays until the handle is closed and must not be changed or freed, or NULL (HELP-25, HELP-28, HELP-29).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaGetHelp(handle: c_int, pmid: pmID, kind: c_int) -> *mut c_char {
    guard(|| metric_text(handle, MetricId(pmid), kind))
}

/// Looks up a text of an instance domain: the one-line text when bit `PM_TEXT_ONELINE` is set in `kind`, else the long one.
///
/// # Returns
/// A text that stays until the handle is closed and must not be changed or freed, or NULL (HELP-26, HELP-28, HELP-29).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaGetInDomHelp(handle: c_int, indom: pmInDom, kind: c_int) -> *mut c_char {
    guard(|| indom_text(handle, InDom(indom), kind))
}

/// The table of open help databases, for `chkhelp`.
///
/// # Returns
/// The first slot, NULL before the first open; it may move when another database is opened (HELP-40, HELP-43).
#[unsafe(no_mangle)]
pub extern "C" fn __pmdaHelpTab() -> *mut c_void {
    guard(|| {
        let tables = TABLES.lock();
        let Some(rows) = tables.get().map(|tables| &tables.rows).filter(|rows| !rows.is_empty()) else {
            return ptr::null_mut();
        };
        // chkhelp only looks at it.
        rows.as_ptr().cast_mut().cast::<c_void>()
    })
}
