//! Arrays of C: where they begin, and how long they are.
//!
//! Elements are looked at and written in cells: an array may be lent for writing as often as one
//! likes, and nobody has to know whether somebody else looks at it.
//!
//! ```
//! # use pcp_pmda::view::array::Array;
//! fn twice(array: Array<'_, u32>) {
//!     for (one, other) in array.entries().iter().zip(array.entries()) {
//!         one.set(other.get() + 1);
//!     }
//! }
//! ```
//!
//! ```compile_fail,E0596
//! # use pcp_pmda::view::array::Array;
//! fn borrowed(array: Array<'_, u32>) -> &mut u32 {
//!     array.entries()[0].get_mut()
//! }
//! ```

use std::cell::Cell;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr;

use crate::sys::slice;
use crate::view::types::pmID;
use pmda_core::ident::MetricId;
use pmda_core::metrics::Table;

/// An array of C as it was at one moment of a call. C may exchange, move and rewrite it whenever it
/// runs, so a view is made anew after each call into C.
#[derive(Debug)]
pub struct Array<'call, T> {
    first: *mut T,
    count: c_int,
    call: PhantomData<&'call T>,
}

impl<T> Clone for Array<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Array<'_, T> {}

impl<T> PartialEq for Array<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.first, other.first) && self.count == other.count
    }
}

impl<T> Eq for Array<'_, T> {}

impl<T: Copy> Array<'_, T> {
    /// No elements.
    pub const EMPTY: Self = Array {
        first: ptr::null_mut(),
        count: 0,
        call: PhantomData,
    };

    /// The view of `count` elements from `first` on; empty for NULL and for a negative count.
    ///
    /// # Safety
    /// `first` is NULL or points to that many valid elements for `'call`.
    #[inline(always)]
    pub(crate) const unsafe fn new(first: *mut T, count: c_int) -> Self {
        Array {
            first,
            count,
            call: PhantomData,
        }
    }

    /// The first element as C sees it, or NULL.
    #[inline(always)]
    pub(crate) const fn first(self) -> *mut T {
        self.first
    }

    /// The number of elements.
    #[inline(always)]
    pub const fn len(self) -> usize {
        if self.first.is_null() || self.count < 0 {
            return 0;
        }
        self.count as usize
    }

    /// Whether there are no elements.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The number of elements as C has given it.
    #[inline(always)]
    pub const fn count(self) -> c_int {
        self.count
    }

    /// The array as an index knows it.
    #[inline(always)]
    pub fn extent(self) -> Table {
        Table {
            address: self.first.addr(),
            len: self.len(),
        }
    }

    /// The elements, good until control goes back to C.
    #[inline(always)]
    pub fn entries(&self) -> &[Cell<T>] {
        // SAFETY: NULL, or `count` valid elements by the contract of `new`. C changes them when it
        // runs, and it does not while they are looked at; others of this thread go through cells as
        // well. A cell is as large as what is in it.
        unsafe { slice(self.first.cast(), self.count) }
    }

    /// The elements of an array that nobody writes to.
    ///
    /// # Safety
    /// Nobody writes to them while they are borrowed.
    pub(super) unsafe fn elements(&self) -> &[T] {
        // SAFETY: NULL, or `count` valid elements by the contract of `new`, which stay as they are.
        unsafe { slice(self.first, self.count) }
    }

    /// An element, if there is one at this place.
    #[inline(always)]
    pub fn get(self, place: usize) -> Option<T> {
        self.entries().get(place).map(Cell::get)
    }

    /// An element.
    ///
    /// # Panics
    /// When the place is not in the array.
    #[inline(always)]
    pub fn at(self, place: usize) -> T {
        self.entries()[place].get()
    }
}

/// A table that stays where it is beyond the call, until its agent has taken another one into use.
#[derive(Debug)]
pub struct Lasting<T> {
    first: *mut T,
    count: c_int,
}

impl<T> Clone for Lasting<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Lasting<T> {}

// SAFETY: an address and a number. It is looked at by way of an array, which stays on the thread
// whose call it came in by.
unsafe impl<T> Send for Lasting<T> {}

// SAFETY: a shared one gives no more than its copy does, which may be sent.
unsafe impl<T> Sync for Lasting<T> {}

impl<T: Copy> Lasting<T> {
    /// No table.
    pub(crate) const EMPTY: Lasting<T> = Lasting {
        first: ptr::null_mut(),
        count: 0,
    };

    /// A table of `count` elements from `first` on.
    ///
    /// # Safety
    /// `first` is NULL or points to that many valid elements, for as long as an agent uses them.
    pub(crate) const unsafe fn new(first: *mut T, count: c_int) -> Lasting<T> {
        Lasting { first, count }
    }

    /// The first element as C sees it, or NULL.
    pub(crate) const fn first(&self) -> *mut T {
        self.first
    }

    /// The number of elements as C has given it.
    pub(crate) const fn count(&self) -> c_int {
        self.count
    }

    /// The table during a call that is made on behalf of its agent.
    #[inline(always)]
    pub(crate) fn seen<'call>(&self) -> Array<'call, T> {
        // SAFETY: valid for as long as an agent uses it, by the contract of `new`, and longer than
        // that: what frees a table answers for those who have seen it.
        unsafe { Array::new(self.first, self.count) }
    }
}

/// Metrics that are fetched one after the other.
pub(crate) trait List {
    /// How many there are.
    fn len(&self) -> usize;

    /// One of them.
    fn pmid(&self, place: usize) -> MetricId;
}

/// A list of metrics that C has handed over; its elements are read when they are needed.
#[derive(Clone, Copy)]
pub(crate) struct PmidList<'call>(Array<'call, pmID>);

impl<'call> PmidList<'call> {
    /// The metrics of an array; `None` when its count is negative, or nothing is there.
    pub(crate) fn new(metrics: Array<'call, pmID>) -> Option<PmidList<'call>> {
        let is_there = metrics.count() == 0 || (metrics.count() > 0 && !metrics.first().is_null());
        is_there.then_some(PmidList(metrics))
    }
}

impl List for PmidList<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn pmid(&self, place: usize) -> MetricId {
        self.0.get(place).map_or(MetricId::NULL, MetricId)
    }
}
