//! Value sets as the caller of `pmdaFetch` gets them: one block from malloc each, which the caller frees.

use std::ffi::c_int;
use std::ptr;

use super::output::{Output, Set};
use super::types::{pmAtomValue, pmValue, pmValueSet};
use super::value;
use crate::error::{Error, Result};
use crate::fetch::Encoding;
use crate::ident::MetricId;

/// Bytes of a value set in front of its values (FETCH-2).
const SET_HEADER: usize = 16;

/// A metric set without knowing how many values it will get starts with room for so many.
const FIRST_VALUES: usize = 16;

/// Makes value sets of their own, and gives them out as pointers.
#[derive(Clone, Copy)]
pub(super) struct Blocks;

impl Output for Blocks {
    type Done = *mut pmValueSet;
    type Set = OwnSet;

    /// An empty set with room for values (FETCH-33).
    #[inline]
    unsafe fn open(self, pmid: MetricId, values: usize) -> Result<OwnSet> {
        let size = OwnSet::size(values)?;
        // SAFETY: malloc has no preconditions.
        let start = unsafe { libc::malloc(size) }.cast::<pmValueSet>();
        if start.is_null() {
            return Err(Error::NOMEM);
        }
        // SAFETY: the new block has room for the head of a set.
        unsafe {
            (*start).pmid = pmid.0;
            (*start).valfmt = value::INSITU;
        }
        let capacity = values;
        Ok(OwnSet { start, capacity })
    }
}

/// A value set under construction, in one block from malloc that the caller of the fetch frees (FETCH-71). No
/// destructor: a callback may leave by `longjmp`.
pub(super) struct OwnSet {
    start: *mut pmValueSet,
    capacity: usize,
}

impl Set for OwnSet {
    type Done = *mut pmValueSet;

    #[inline]
    unsafe fn make_room(&mut self, stored: usize) -> Result<()> {
        if stored < self.capacity {
            return Ok(());
        }
        // SAFETY: the contract is the same.
        unsafe { self.grow(stored) }
    }

    #[inline(always)]
    unsafe fn add(
        &mut self,
        stored: usize,
        kind: c_int,
        encoding: Encoding,
        inst: c_int,
        atom: &pmAtomValue,
    ) -> Result<()> {
        // SAFETY: there is room for the value by the contract.
        unsafe {
            let slot = (&raw mut (*self.start).vlist).cast::<pmValue>().add(stored);
            value::store(kind, encoding, atom, slot)?;
            (*slot).inst = inst;
            (*self.start).valfmt = value::format(encoding);
        }
        Ok(())
    }

    #[inline]
    unsafe fn close(self, numval: c_int) -> *mut pmValueSet {
        // SAFETY: the block is ours.
        unsafe { (*self.start).numval = numval };
        self.start
    }

    unsafe fn discard(&mut self, stored: usize) {
        // SAFETY: the contract is the same.
        unsafe {
            (*self.start).numval = c_int::try_from(stored).unwrap_or(c_int::MAX);
            free_set(self.start);
        }
    }
}

impl OwnSet {
    fn size(values: usize) -> Result<usize> {
        let size = values.checked_mul(size_of::<pmValue>());
        size.and_then(|size| size.checked_add(SET_HEADER)).ok_or(Error::NOMEM)
    }

    /// Makes room for more values; when that fails the set is freed with the values that it has (F-6).
    ///
    /// # Safety
    /// The set has `stored` values.
    unsafe fn grow(&mut self, stored: usize) -> Result<()> {
        let values = self.capacity.saturating_mul(2).max(FIRST_VALUES);
        // SAFETY: the block is ours, from malloc; it stays as it is when realloc fails.
        let larger = OwnSet::size(values).map_or(ptr::null_mut(), |size| unsafe {
            libc::realloc(self.start.cast(), size)
        });
        if larger.is_null() {
            // SAFETY: the contract above.
            unsafe { self.discard(stored) };
            return Err(Error::NOMEM);
        }
        (self.start, self.capacity) = (larger.cast(), values);
        Ok(())
    }
}

/// Frees a value set as the caller of a fetch does (FETCH-71).
///
/// # Safety
/// The set is one that a fetch has made, and is not used any more.
pub(super) unsafe fn free_set(set: *mut pmValueSet) {
    // SAFETY: the contract above; values with a block of their own are marked DPTR.
    unsafe {
        if (*set).valfmt == value::DPTR {
            let values = (&raw const (*set).vlist).cast::<pmValue>();
            for index in 0..usize::try_from((*set).numval).unwrap_or(0) {
                libc::free((*values.add(index)).value.pval.cast());
            }
        }
        libc::free(set.cast());
    }
}
