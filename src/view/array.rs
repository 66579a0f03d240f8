//! Arrays of C: where they begin, and how long they are.

use std::ffi::c_int;
use std::ptr;

use crate::view::arg::slice;
use pmda_core::metrics::Table;

/// An array of C as it was at one moment. C may exchange, move and rewrite it whenever it runs, so
/// a view is made anew after each call into C.
#[derive(Debug)]
pub(crate) struct Array<T> {
    first: *mut T,
    count: c_int,
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Array<T> {
        *self
    }
}

impl<T> Copy for Array<T> {}

impl<T> PartialEq for Array<T> {
    fn eq(&self, other: &Array<T>) -> bool {
        ptr::eq(self.first, other.first) && self.count == other.count
    }
}

impl<T> Eq for Array<T> {}

// SAFETY: an address and a number. Which thread may follow the address is C's affair: it is the one
// that C has called us on, as `new` demands that the array is valid whenever the view is used.
unsafe impl<T> Send for Array<T> {}
// SAFETY: a shared view gives no more than its copy does, which may be sent: it has no state that
// two threads could change.
unsafe impl<T> Sync for Array<T> {}

impl<T> Array<T> {
    /// No elements.
    pub(crate) const EMPTY: Array<T> = Array {
        first: ptr::null_mut(),
        count: 0,
    };

    /// The view of `count` elements from `first` on; empty for NULL and for a negative count.
    ///
    /// # Safety
    /// `first` is NULL or points to that many valid elements, until the view was used for the last
    /// time.
    #[inline(always)]
    pub(crate) const unsafe fn new(first: *mut T, count: c_int) -> Array<T> {
        Array { first, count }
    }

    /// The first element as C sees it, or NULL.
    #[inline(always)]
    pub(crate) const fn first(self) -> *mut T {
        self.first
    }

    /// The number of elements.
    #[inline(always)]
    pub(crate) const fn len(self) -> usize {
        if self.first.is_null() || self.count < 0 {
            return 0;
        }
        self.count as usize
    }

    /// The number of elements as C has given it.
    #[inline(always)]
    pub(crate) const fn count(self) -> c_int {
        self.count
    }

    /// The array as an index knows it.
    #[inline(always)]
    pub(crate) fn extent(self) -> Table {
        Table {
            address: self.first.addr(),
            len: self.len(),
        }
    }

    /// The elements, good until control goes back to C.
    #[inline(always)]
    pub(crate) fn entries(&self) -> &[T] {
        // SAFETY: NULL, or `count` valid elements by the contract of `new`. C alone changes them,
        // and does not run while they are looked at.
        unsafe { slice(self.first, self.count) }
    }

    /// Works on all elements at once. Nothing of C runs meanwhile: this is for safe code, which
    /// calls no C.
    #[inline(always)]
    pub(crate) fn with_entries<R>(self, work: impl FnOnce(&mut [T]) -> R) -> R {
        if self.len() == 0 {
            return work(&mut []);
        }
        // SAFETY: not empty, hence not NULL, and `count` valid elements by the contract of `new`. C
        // lets us write them, and looks at them again when we return to it; the reference ends
        // before.
        work(unsafe { std::slice::from_raw_parts_mut(self.first, self.len()) })
    }
}
