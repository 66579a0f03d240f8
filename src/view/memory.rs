//! Memory that C shares: its arrays, and blocks from malloc for everything that C frees, with
//! arrays that grow in one.
//!
//! Elements are read and written in cells: an array may be lent as often as one likes.
//!
//! ```
//! # use pcp_pmda::view::memory::Array;
//! fn twice(array: Array<'_, u32>) {
//!     for (one, other) in array.entries().iter().zip(array.entries()) {
//!         one.set(other.get() + 1);
//!     }
//! }
//! ```
//!
//! ```compile_fail,E0596
//! # use pcp_pmda::view::memory::Array;
//! fn borrowed(array: Array<'_, u32>) -> &mut u32 {
//!     array.entries()[0].get_mut()
//! }
//! ```

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};

use crate::sys::slice;
use crate::view::types::{
    pmAtomValue, pmDesc, pmInDomProfile, pmLabel, pmLabelSet, pmProfile, pmValue, pmValueSet, pmdaMetric, pmdaResult,
};
use pmda_core::error::{Error, Result};
use pmda_core::table_index::{SHORT, Table};

/// An array of C at one moment of a call. C may exchange, move and rewrite it, so a view is made
/// anew after each call into C.
#[derive(Clone, Copy, Debug)]
pub struct Array<'call, T> {
    first: *mut T,
    count: c_int,
    call: PhantomData<&'call T>,
}

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
    pub(crate) const unsafe fn new(first: *mut T, count: c_int) -> Self {
        Array {
            first,
            count,
            call: PhantomData,
        }
    }

    /// The first element as C sees it, or NULL.
    pub(crate) const fn first(self) -> *mut T {
        self.first
    }

    /// The number of elements.
    pub const fn len(self) -> usize {
        if self.first.is_null() || self.count < 0 {
            return 0;
        }
        self.count as usize
    }

    /// Returns whether there are no elements.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The number of elements as C has given it.
    pub const fn count(self) -> c_int {
        self.count
    }

    /// The array's identity for an index.
    pub fn extent(self) -> Table {
        Table {
            address: self.first.addr(),
            len: self.len(),
        }
    }

    /// Returns whether a search is as fast as a lookup.
    pub(crate) fn is_short(self) -> bool {
        self.len() <= SHORT
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

    /// The element at a place.
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

/// A table that stays beyond the call, until its agent uses another one.
#[derive(Clone, Copy, Debug)]
pub struct Lasting<T: 'static>(Array<'static, T>);

// SAFETY: an address and a number. It is looked at by way of an array, which stays on the thread
// whose call it came in by.
unsafe impl<T> Send for Lasting<T> {}

// SAFETY: a shared one gives no more than its copy does, which may be sent.
unsafe impl<T> Sync for Lasting<T> {}

impl<T: Copy> Lasting<T> {
    pub(crate) const EMPTY: Lasting<T> = Lasting(Array::EMPTY);

    /// A table of `count` elements from `first` on.
    ///
    /// # Safety
    /// `first` is NULL or points to that many valid elements, for as long as an agent uses them.
    pub(crate) const unsafe fn new(first: *mut T, count: c_int) -> Lasting<T> {
        // SAFETY: what frees a table answers for those who still see it.
        Lasting(unsafe { Array::new(first, count) })
    }

    /// The table during a call for its agent.
    pub(crate) fn seen<'call>(&self) -> Array<'call, T> {
        self.0
    }
}

/// An array in a block from malloc, freed unless it is handed over to C; what its elements point to
/// is not freed.
pub(crate) struct CVec<T: Copy> {
    block: Block<T>,
    len: usize,
    capacity: usize,
}

impl<T: Copy> CVec<T> {
    /// An empty array with room for some elements.
    pub(crate) fn with_capacity(capacity: usize) -> Result<CVec<T>> {
        let capacity = capacity.max(1);
        Ok(CVec {
            block: Block::room(capacity)?,
            len: 0,
            capacity,
        })
    }

    pub(crate) fn of(elements: impl ExactSizeIterator<Item = T>) -> Result<CVec<T>> {
        let mut array = CVec::with_capacity(elements.len())?;
        for element in elements {
            array.push(element)?;
        }
        Ok(array)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends an element; returns its address, which is good until the array grows.
    pub(crate) fn push(&mut self, element: T) -> Result<*mut T> {
        let place: *mut T = self.spare()?.write(element);
        self.len += 1;
        Ok(place)
    }

    /// The place behind the last element, in a larger block if necessary.
    fn spare(&mut self) -> Result<&mut MaybeUninit<T>> {
        if self.len == self.capacity {
            let capacity = self.capacity.checked_mul(2).ok_or(Error::ENOMEM)?;
            let larger = Block::room(capacity)?;
            // SAFETY: the larger block has room for all elements of the old one, and is another
            // block.
            unsafe { ptr::copy_nonoverlapping(self.block.as_ptr(), larger.as_ptr(), self.len) };
            self.block = larger;
            self.capacity = capacity;
        }
        // SAFETY: the block is ours alone, and has `capacity` places, which is more than `len`.
        Ok(unsafe { &mut *self.block.as_ptr().add(self.len).cast() })
    }

    pub(crate) fn entries(&self) -> &[T] {
        // SAFETY: the block is ours, and its first `len` elements were written.
        unsafe { std::slice::from_raw_parts(self.block.as_ptr(), self.len) }
    }

    pub(crate) fn as_ptr(&self) -> *mut T {
        self.block.as_ptr()
    }

    /// The block without its count.
    pub(crate) fn into_block(self) -> Block<T> {
        self.block
    }

    /// Hands the block over, to be freed with `free()`.
    pub(crate) fn into_raw(self) -> *mut T {
        self.block.into_raw()
    }
}

/// Types of C of which any bytes are a value.
///
/// # Safety
/// A value has no parts but integers, raw pointers, functions that may be NULL, and unions and
/// structures of them.
pub(crate) unsafe trait AnyBytes: Copy {
    fn zeroed() -> Self {
        // SAFETY: an `unsafe impl` of the trait promises that zeros are a value of its type.
        unsafe { std::mem::zeroed() }
    }
}

/// Implements the trait.
macro_rules! any_bytes {
    ($($type:ty),*) => { $(
        // SAFETY: integers and raw pointers, and structures and unions that have no other parts.
        unsafe impl AnyBytes for $type {}
    )* };
}

any_bytes!(
    pmAtomValue,
    pmDesc,
    pmInDomProfile,
    pmLabel,
    pmLabelSet,
    pmProfile,
    pmValue,
    pmValueSet,
    *mut pmValueSet,
    pmdaMetric,
    pmdaResult,
    c_int,
    u8
);

unsafe extern "C" {
    safe fn malloc(size: usize) -> *mut c_void;
    safe fn calloc(count: usize, size: usize) -> *mut c_void;
}

/// The least alignment of a block of malloc, on all architectures: that of C's `max_align_t` on
/// s390x. (That of the crate libc is not C's everywhere.)
pub(crate) const ALIGNMENT: usize = 8;

/// A block from malloc, freed unless it is handed over to C with [`Block::into_raw`].
pub(crate) struct Block<T> {
    start: NonNull<T>,
}

impl<T> Block<T> {
    /// Room for `count` elements of zero bytes; at least one byte, so never NULL.
    pub(crate) fn zeroed(count: usize) -> Result<Block<T>> {
        let start = calloc(count.max(1), size_of::<T>().max(1));
        Block::from_malloc(start)
    }

    /// Room for `count` elements that are still to be written.
    pub(crate) fn room(count: usize) -> Result<Block<T>> {
        let size = count.max(1).checked_mul(size_of::<T>().max(1)).ok_or(Error::ENOMEM)?;
        Block::from_malloc(malloc(size))
    }

    fn from_malloc(start: *mut c_void) -> Result<Block<T>> {
        let start = NonNull::new(start.cast()).ok_or(Error::ENOMEM)?;
        Ok(Block { start })
    }

    pub(crate) fn as_ptr(&self) -> *mut T {
        self.start.as_ptr()
    }

    pub(crate) fn holding(value: T) -> Result<Block<T>> {
        let mut block = Block::room(1)?;
        block.put(value);
        Ok(block)
    }

    /// Writes a value to the start of the block. The old one is not dropped.
    pub(crate) fn put(&mut self, value: T) -> &mut T {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        // SAFETY: the block has room for one element at least, is aligned as malloc does it, and
        // belongs to nobody else.
        let place: &mut MaybeUninit<T> = unsafe { self.start.cast().as_mut() };
        place.write(value)
    }

    /// Writes a value to the start of the block, which is never freed.
    pub(crate) fn leak(mut self, value: T) -> &'static mut T {
        self.put(value);
        // SAFETY: the value that was just written; the block belongs to nobody else, and stays for
        // ever.
        unsafe { &mut *self.into_raw() }
    }

    /// Hands the block over, to be freed with `free()`.
    pub(crate) fn into_raw(self) -> *mut T {
        ManuallyDrop::new(self).start.as_ptr()
    }
}

impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        // SAFETY: a block is made of what calloc or malloc has given, and one that was handed over
        // is not dropped: so it is freed once.
        unsafe { libc::free(self.start.as_ptr().cast()) };
    }
}

/// A copy of `text` and a NUL.
pub(crate) fn string(text: &[u8]) -> Result<Block<c_char>> {
    let size = text.len().checked_add(1).ok_or(Error::ENOMEM)?;
    let block = Block::<c_char>::room(size)?;
    // SAFETY: the new block has room for the text and the NUL, and cannot overlap with the text.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), block.as_ptr(), text.len());
        block.as_ptr().add(text.len()).write(0);
    }
    Ok(block)
}
