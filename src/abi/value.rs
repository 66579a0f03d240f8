//! Puts the value in an atom into a result (section 5 of the specification's fetch chapter).

use std::ffi::c_void;
use std::ptr;

use super::types::{pmAtomValue, pmValue, pmValueBlock};
use crate::error::{Error, Result};
use crate::fetch::{self, Encoding};
use crate::wire::block;

/// `PM_VAL_INSITU`, `PM_VAL_DPTR` and `PM_VAL_SPTR`: where the value is, and who owns it (FETCH-4).
pub(crate) const INSITU: i32 = 0;
pub(crate) const DPTR: i32 = 1;
pub(crate) const SPTR: i32 = 2;

/// The `valfmt` of values of an encoding.
#[inline]
pub(crate) fn format(encoding: Encoding) -> i32 {
    match encoding {
        Encoding::InSitu | Encoding::Unknown => INSITU,
        Encoding::Borrowed => SPTR,
        _ => DPTR,
    }
}

/// A value as a fetch callback has given it, for the type of the metric that it was asked for.
#[derive(Clone, Copy)]
pub(crate) struct Atom(pmAtomValue);

impl Atom {
    /// What a callback has stored.
    ///
    /// # Safety
    /// All bytes of the atom were zero before the callback ran. A pointer in it is NULL, or valid for the type of the
    /// metric: a C string, or a block that stays until the fetch is done.
    #[inline(always)]
    pub(crate) unsafe fn new(atom: pmAtomValue) -> Atom {
        Atom(atom)
    }

    /// A value of 32 bits.
    #[inline(always)]
    pub(crate) fn word(self) -> u32 {
        // SAFETY: every byte of the atom was written, so that any member that is a number may be read.
        unsafe { self.0.ul }
    }

    /// A value of 64 bits.
    #[inline(always)]
    pub(crate) fn wide(self) -> u64 {
        // SAFETY: as in `word`.
        unsafe { self.0.ull }
    }

    /// The text of a value with its NUL, good until control goes back to C.
    ///
    /// # Errors
    /// `PM_ERR_VALUE` for NULL.
    #[inline]
    pub(crate) fn text(&self) -> Result<&[u8]> {
        // SAFETY: a pointer was stored, or nothing, which is NULL. If not, it is a C string for as long as C does not
        // run, by the contract of `new`.
        unsafe {
            let text = self.0.cp;
            if text.is_null() {
                return Err(Error::VALUE);
            }
            Ok(std::slice::from_raw_parts(text.cast(), libc::strlen(text) + 1))
        }
    }

    /// The block of a value.
    ///
    /// # Errors
    /// `PM_ERR_VALUE` for NULL and for an impossible length.
    #[inline]
    pub(crate) fn checked_block(self) -> Result<*mut pmValueBlock> {
        // SAFETY: a pointer was stored, or nothing, which is NULL. If not, it is a value block by the contract of
        // `new`; its header is its first word, which may stand at an address of any alignment.
        unsafe {
            let block = self.0.vbp;
            if block.is_null() {
                return Err(Error::VALUE);
            }
            let header = block.cast::<u32>().read_unaligned();
            fetch::data_length(header).ok_or(Error::VALUE)?;
            Ok(block)
        }
    }

    /// The data in the block of a value, good until control goes back to C.
    ///
    /// # Errors
    /// As [`Atom::checked_block`].
    #[inline]
    pub(crate) fn data(&self) -> Result<&[u8]> {
        let block = self.checked_block()?;
        // SAFETY: a valid block as was checked; so many bytes of data are behind its header.
        unsafe {
            let header = block.cast::<u32>().read_unaligned();
            let size = fetch::data_length(header).ok_or(Error::VALUE)?;
            Ok(std::slice::from_raw_parts((&raw const (*block).vbuf).cast(), size))
        }
    }

    /// Stores the value, which is of type `kind`, in `slot`.
    ///
    /// # Errors
    /// `PM_ERR_TYPE` for what is no type, `PM_ERR_VALUE` for a NULL pointer or an impossible length, `PM_ERR_TOOBIG`,
    /// `-ENOMEM`; `slot` has no value then.
    ///
    /// # Safety
    /// `slot` is valid for writes.
    #[inline(always)]
    pub(super) unsafe fn store(self, kind: i32, encoding: Encoding, slot: *mut pmValue) -> Result<()> {
        // SAFETY: the slot is valid by the contract above. The bytes of new blocks are copied from this atom, and from
        // texts and data, which are slices.
        unsafe {
            match encoding {
                Encoding::InSitu => (*slot).value.lval = self.0.l,
                // Each size by itself: a copy of a constant size is one instruction.
                Encoding::Wide => (*slot).value.pval = new_block(kind, (&raw const self.0).cast(), 8)?,
                Encoding::Narrow => (*slot).value.pval = new_block(kind, (&raw const self.0).cast(), 4)?,
                Encoding::Text => {
                    let text = self.text()?;
                    (*slot).value.pval = new_block(kind, text.as_ptr(), text.len())?;
                }
                Encoding::Copy => {
                    let data = self.data()?;
                    (*slot).value.pval = new_block(kind, data.as_ptr(), data.len())?;
                }
                Encoding::Borrowed => (*slot).value.pval = self.checked_block()?,
                Encoding::Unknown => return Err(Error::TYPE),
            }
        }
        Ok(())
    }

    /// Frees the memory that the agent has handed over with the value, when it is of a type that has such; `false`
    /// otherwise (FETCH-42). The agent says by its answer that nobody else uses it.
    pub(crate) fn free(self, encoding: Encoding) -> bool {
        if !encoding.can_free() {
            return false;
        }
        // SAFETY: both members of the union that can be freed are pointers at the same place: NULL, or what the agent
        // has told us to free. Its value was copied before, and nothing reads it from here on.
        unsafe { libc::free(self.0.vbp.cast::<c_void>()) };
        true
    }
}

/// The bytes of a value block, header included.
///
/// # Safety
/// `block` is NULL or a valid value block that stays unchanged for `'a`.
pub(crate) unsafe fn block_bytes<'a>(block: *const pmValueBlock) -> Option<&'a [u8]> {
    if block.is_null() {
        return None;
    }
    // SAFETY: not NULL, hence valid by the contract above: a header word, which may be unaligned as far as we know, and
    // the length that it tells.
    unsafe {
        let header = block.cast::<u32>().read_unaligned();
        Some(std::slice::from_raw_parts(block.cast::<u8>(), block::length(header)))
    }
}

/// A new value block with `size` bytes of data (FETCH-50).
///
/// # Safety
/// `data` is valid for reads of `size` bytes.
#[inline]
unsafe fn new_block(kind: i32, data: *const u8, size: usize) -> Result<*mut pmValueBlock> {
    let header = fetch::header(kind, size)?;
    let length = fetch::HEADER + size;
    // SAFETY: malloc has no preconditions.
    let block = unsafe { libc::malloc(length.max(size_of::<pmValueBlock>())) }.cast::<u8>();
    if block.is_null() {
        return Err(Error::NOMEM);
    }
    // SAFETY: the new block has room for header and data, is aligned for the header, and overlaps with nothing.
    unsafe {
        block.cast::<u32>().write(header);
        ptr::copy_nonoverlapping(data, block.add(fetch::HEADER), size);
    }
    Ok(block.cast())
}
