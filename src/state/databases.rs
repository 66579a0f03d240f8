//! The open help databases, and the table of them that PCP's program `chkhelp` reads.

use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::AtomicPtr;

use pmda_core::error::{Error, Result};
use pmda_core::handles::{self, Handles};
use pmda_core::help::Database;

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
            index: address(index),
            text: address(text),
            textlen: count(text.len()),
        }
    }
}

/// The address of bytes, for C code that reads them; NULL if there are none.
fn address(bytes: &[u8]) -> AtomicPtr<u8> {
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
