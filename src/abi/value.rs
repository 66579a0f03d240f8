//! Puts the value in an atom into a result (section 5 of the specification's fetch chapter).

use std::ffi::c_void;
use std::ptr;

use super::types::{pmAtomValue, pmValue, pmValueBlock};
use crate::error::{Error, Result};
use crate::fetch::{self, Encoding};

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

/// Stores the value of an atom of type `kind` in `slot`.
///
/// # Errors
/// `PM_ERR_TYPE` for what is no type, `PM_ERR_VALUE` for a NULL pointer or an impossible length, `PM_ERR_TOOBIG`,
/// `-ENOMEM`; `slot` has no value then.
///
/// # Safety
/// `slot` is valid for writes. `atom` is valid, and a pointer in it is NULL or valid for its type.
#[inline(always)]
pub(crate) unsafe fn store(kind: i32, encoding: Encoding, atom: &pmAtomValue, slot: *mut pmValue) -> Result<()> {
    // SAFETY: for each type the member of the union is the one that the agent has filled in; all bytes of the atom
    // were zero before, so any member may be read.
    unsafe {
        match encoding {
            Encoding::InSitu => {
                (*slot).value.lval = atom.l;
            }
            // Each size by itself: a copy of a constant size is one instruction.
            Encoding::Wide => {
                (*slot).value.pval = block(kind, (&raw const *atom).cast(), 8)?;
            }
            Encoding::Narrow => {
                (*slot).value.pval = block(kind, (&raw const *atom).cast(), 4)?;
            }
            Encoding::Text => {
                let text = atom.cp;
                if text.is_null() {
                    return Err(Error::VALUE);
                }
                (*slot).value.pval = block(kind, text.cast(), libc::strlen(text) + 1)?;
            }
            Encoding::Copy => {
                let data = data_length(atom.vbp)?;
                (*slot).value.pval = block(kind, (&raw const (*atom.vbp).vbuf).cast(), data)?;
            }
            Encoding::Borrowed => {
                data_length(atom.vbp)?;
                (*slot).value.pval = atom.vbp;
            }
            Encoding::Unknown => return Err(Error::TYPE),
        }
        Ok(())
    }
}

/// Frees the memory that the agent has handed over with the value, when it is of a type that has such; `false`
/// otherwise (FETCH-42).
///
/// # Safety
/// The pointer in the atom is NULL or a block from malloc that nobody uses any more.
pub(crate) unsafe fn free(encoding: Encoding, atom: &pmAtomValue) -> bool {
    if !encoding.can_free() {
        return false;
    }
    // SAFETY: both members of the union that can be freed are pointers at the same place; the rest is the contract.
    unsafe { libc::free(atom.vbp.cast::<c_void>()) };
    true
}

/// The number of data bytes in the agent's block.
///
/// # Safety
/// `block` is NULL or valid for reads of its header.
pub(crate) unsafe fn data_length(block: *const pmValueBlock) -> Result<usize> {
    if block.is_null() {
        return Err(Error::VALUE);
    }
    // SAFETY: the header is the first word of the block, which may stand at an address of any alignment.
    let header = unsafe { block.cast::<u32>().read_unaligned() };
    fetch::data_length(header).ok_or(Error::VALUE)
}

/// A new value block with `size` bytes of data (FETCH-50).
///
/// # Safety
/// `data` is valid for reads of `size` bytes.
#[inline]
unsafe fn block(kind: i32, data: *const u8, size: usize) -> Result<*mut pmValueBlock> {
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
