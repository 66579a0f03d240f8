//! A value set under construction: one block from malloc that the caller of the fetch frees.

use std::ffi::c_int;
use std::ptr;

use super::types::{pmValue, pmValueSet};
use super::value;
use crate::error::{Error, Result};
use crate::ident::MetricId;

/// Bytes of a value set in front of its values (FETCH-2).
const SET_HEADER: usize = 16;

/// A metric set without knowing how many values it will get starts with room for so many.
const FIRST_VALUES: usize = 16;

/// A value set under construction, in one block from malloc that the caller of the fetch frees (FETCH-71). No
/// destructor: a callback may leave by `longjmp`.
pub(super) struct Set {
    pub(super) start: *mut pmValueSet,
    pub(super) capacity: usize,
}

impl Set {
    /// An empty set with room for values (FETCH-33).
    pub(super) fn new(pmid: MetricId, values: usize) -> Result<Set> {
        let size = Set::size(values)?;
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
        Ok(Set { start, capacity })
    }

    fn size(values: usize) -> Result<usize> {
        let size = values.checked_mul(size_of::<pmValue>());
        size.and_then(|size| size.checked_add(SET_HEADER)).ok_or(Error::NOMEM)
    }

    /// Where a value goes.
    ///
    /// # Safety
    /// `index` is less than the capacity.
    pub(super) unsafe fn slot(&self, index: usize) -> *mut pmValue {
        // SAFETY: inside of the block by the contract above.
        unsafe { (&raw mut (*self.start).vlist).cast::<pmValue>().add(index) }
    }

    /// Makes room for more values; when that fails the set is freed with the values that it has (F-6).
    ///
    /// # Safety
    /// The set has `stored` values.
    pub(super) unsafe fn grow(&mut self, stored: usize) -> Result<()> {
        let values = self.capacity.saturating_mul(2).max(FIRST_VALUES);
        // SAFETY: the block is ours, from malloc; it stays as it is when realloc fails.
        let larger = Set::size(values).map_or(ptr::null_mut(), |size| unsafe {
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

    /// Hands the set over with its `numval`.
    ///
    /// # Safety
    /// The set is valid, and has `numval` values when that is positive.
    pub(super) unsafe fn finish(self, numval: c_int) -> *mut pmValueSet {
        // SAFETY: the block is ours.
        unsafe { (*self.start).numval = numval };
        self.start
    }

    /// Frees the set.
    ///
    /// # Safety
    /// The set has `stored` values, and is not used any more.
    pub(super) unsafe fn discard(&mut self, stored: usize) {
        // SAFETY: the contract above.
        unsafe {
            (*self.start).numval = c_int::try_from(stored).unwrap_or(c_int::MAX);
            free_set(self.start);
        }
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
