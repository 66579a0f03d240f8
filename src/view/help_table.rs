//! The table of help databases as `chkhelp` sees it through `__pmdaHelpTab` (HELP-40).

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use pmda_core::error::{Error, Result};
use pmda_core::help::Database;

/// One slot of the table.
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

/// The rows of the table, one for each slot of the databases beside it.
pub(crate) struct HelpTable(Vec<Row>);

// SAFETY: the pointers in the rows are only handed out, never followed here; what they point to
// belongs to the databases beside them and is never changed.
unsafe impl Send for HelpTable {}
// SAFETY: a shared table hands out the addresses in its rows, no more: sharing it gives access to
// nothing that another thread could be writing.
unsafe impl Sync for HelpTable {}

impl HelpTable {
    /// No rows.
    pub(crate) const fn new() -> HelpTable {
        HelpTable(Vec::new())
    }

    /// Makes sure that there is a row for a slot.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn reserve(&mut self, slot: usize) -> Result<()> {
        if self.0.len() <= slot {
            self.0.try_reserve(1).map_err(|_| Error::NOMEM)?;
            self.0.push(Row::CLOSED);
        }
        Ok(())
    }

    /// Shows a database in its row.
    pub(crate) fn open(&mut self, slot: usize, base: &Database) {
        self.0[slot] = Row::of(base);
    }

    /// Shows that a slot is closed.
    pub(crate) fn close(&mut self, slot: usize) {
        if let Some(row) = self.0.get_mut(slot) {
            *row = Row::CLOSED;
        }
    }

    /// The first row, NULL without one. It may move when another database is opened (HELP-43);
    /// chkhelp only looks at it.
    pub(crate) fn first(&self) -> *mut c_void {
        if self.0.is_empty() {
            return ptr::null_mut();
        }
        self.0.as_ptr().cast_mut().cast()
    }
}

/// The C string that starts here: a slice that a database returns always holds a NUL (HELP-31,
/// HELP-32). The text is constant, but C callers take it as `char *` (H-9).
pub(crate) fn text_pointer(text: Option<&[u8]>) -> *mut c_char {
    text.map_or(ptr::null_mut(), |text| text.as_ptr().cast_mut().cast())
}
