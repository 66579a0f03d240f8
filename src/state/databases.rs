//! The open help databases, and the table that `chkhelp` looks at.

use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::AtomicPtr;

use pmda_core::error::{Error, Result};
use pmda_core::handles::{self, Handles};
use pmda_core::help::Database;

/// The databases, and C's table of them.
pub(crate) struct Databases {
    pub(crate) slots: Handles<Database>,
    /// A row for each slot.
    pub(crate) table: Vec<HelpRow>,
}

impl Databases {
    /// Those of the process, made at first use.
    pub(crate) fn made(databases: &mut Vec<Databases>) -> Result<&mut Databases> {
        if databases.is_empty() {
            databases.try_reserve_exact(1).map_err(|_| Error::ENOMEM)?;
            databases.push(Databases {
                slots: Handles::new(),
                table: Vec::new(),
            });
        }
        Ok(&mut databases[0])
    }

    pub(crate) fn get(&self, handle: c_int) -> Option<&Database> {
        self.slots.get(handles::slot(handle))
    }

    /// A free slot, with a row for it (HELP-11, H-5).
    pub(crate) fn reserve(&mut self) -> Result<usize> {
        let slot = self.slots.vacant()?;
        if self.table.len() <= slot {
            self.table.try_reserve(1).map_err(|_| Error::ENOMEM)?;
            self.table.push(HelpRow::closed());
        }
        Ok(slot)
    }

    pub(crate) fn insert(&mut self, base: Database) -> Result<c_int> {
        let slot = self.reserve()?;
        let handle = handles::handle(slot)?;
        self.table[slot] = HelpRow::new(base.entries(), base.index(), base.pages());
        self.slots.put(slot, base);
        Ok(handle)
    }

    pub(crate) fn remove(&mut self, handle: c_int) -> Option<Database> {
        let slot = handles::slot(handle);
        let base = self.slots.take(slot)?;
        self.table[slot] = HelpRow::closed();
        Some(base)
    }
}

/// A database as `chkhelp` sees it through `__pmdaHelpTab` (HELP-40).
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
    /// The texts.
    text: AtomicPtr<u8>,
    /// Size of the texts in bytes.
    textlen: c_int,
}

/// The layout; `chkhelp` has no header for it.
const _: () = {
    let pointer = size_of::<*const u8>();
    assert!(offset_of!(HelpRow, index) == 12usize.next_multiple_of(pointer));
    assert!(offset_of!(HelpRow, textlen) == offset_of!(HelpRow, index) + 2 * pointer);
};

impl HelpRow {
    fn closed() -> HelpRow {
        HelpRow::new(0, &[], &[])
    }

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

/// The address of bytes that nobody changes; NULL if there are none.
fn address(bytes: &[u8]) -> AtomicPtr<u8> {
    AtomicPtr::new(if bytes.is_empty() {
        ptr::null_mut()
    } else {
        bytes.as_ptr().cast_mut()
    })
}

/// Sizes of an open database fit.
fn count(size: usize) -> c_int {
    c_int::try_from(size).unwrap_or(c_int::MAX)
}
