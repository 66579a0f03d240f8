//! Memory that is shared with C: arrays of C, by their address and length; blocks from malloc for
//! everything that C frees, and arrays that grow in one.
//!
//! Elements of arrays that an agent owns are copied out and in, one by one, and no reference to
//! them is made. So an array may be lent for writing any number of times, a function that writes
//! need not know whether another one reads, and the array may be at any address:
//!
//! ```
//! # use pcp_pmda::view::memory::Array;
//! fn one_more(array: Array<'_, u32>) {
//!     for (index, element) in array.entries().enumerate() {
//!         array.put(index, element + 1);
//!     }
//! }
//! ```

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

/// An array of C at one moment of a call. C may exchange, move and rewrite it whenever it runs, so
/// a view is made anew after each call into C.
///
/// The compiler keeps a view within the call that it came by (`'call`), and not within the step. A
/// lifetime of the step would borrow the step's `Token`, which each log line and each lock needs
/// for itself. So the structures that live between calls must not keep any of an agent's tables,
/// and the compiler does not check that. They keep the arguments of the call, which stay as long as
/// the call runs, and addresses that are handed back to the agent's callbacks and not followed
/// (F-14).
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
    /// `first` is NULL or points to that many elements, at any address, which are valid until control
    /// goes back to C, and for `'call` if the view is kept longer. Only this thread changes them meanwhile, and
    /// our code does so through views alone.
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

    /// Returns whether the array has no elements.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The number of elements as C has given it.
    pub const fn count(self) -> c_int {
        self.count
    }

    /// The address and length of the array, by which an index knows it.
    pub fn extent(self) -> Table {
        Table {
            address: self.first.addr(),
            len: self.len(),
        }
    }

    /// Returns whether a search from the start is as fast as a lookup in an index.
    pub(crate) fn is_short(self) -> bool {
        self.len() <= SHORT
    }

    /// Copies of the elements, each made when it is asked for. The iterator is good until control
    /// goes back to C.
    #[inline(always)]
    pub fn entries(self) -> impl ExactSizeIterator<Item = T> + Clone {
        // SAFETY: an index of the range is less than the number of elements.
        (0..self.len()).map(move |index| unsafe { self.read(index) })
    }

    /// A copy of an element.
    ///
    /// # Safety
    /// `index` is less than [`Array::len`].
    #[inline(always)]
    unsafe fn read(self, index: usize) -> T {
        // SAFETY: one of `count` elements, as the caller promises. By the contract of `new` it is
        // valid until control goes back to C (a view that C may have overtaken is not used), and no
        // other thread changes it. It may be at any address.
        unsafe { self.first.add(index).read_unaligned() }
    }

    /// Stores an element.
    ///
    /// # Panics
    /// When the index is not in the array.
    pub fn put(self, index: usize, element: T) {
        assert!(index < self.len(), "element {index} of {}", self.len());
        // SAFETY: one of `count` elements, as was asserted, and valid as for `read`.
        unsafe { self.first.add(index).write_unaligned(element) };
    }

    /// The elements of an array in a block from malloc.
    ///
    /// # Safety
    /// The array is aligned for its type, and nobody writes to it while the elements are borrowed.
    pub(super) unsafe fn elements(&self) -> &[T] {
        // SAFETY: NULL, or `count` valid elements by the contract of `new`, which are aligned and
        // stay as they are, as the caller promises.
        unsafe { slice(self.first, self.count) }
    }

    /// The element at an index, or `None` beyond the end.
    #[inline(always)]
    pub fn get(self, index: usize) -> Option<T> {
        // SAFETY: the index is less than the number of elements.
        (index < self.len()).then(|| unsafe { self.read(index) })
    }

    /// The element at an index of the array.
    ///
    /// # Panics
    /// When the index is not in the array.
    #[inline(always)]
    pub fn at(self, index: usize) -> T {
        assert!(index < self.len(), "element {index} of {}", self.len());
        // SAFETY: the index is less than the number of elements, as was asserted.
        unsafe { self.read(index) }
    }
}

/// A table that stays at its address beyond the call: until its agent has set another one
/// (`e_metrics`, `e_indoms`).
#[derive(Clone, Copy, Debug)]
pub struct Lasting<T: 'static>(Array<'static, T>);

// SAFETY: an address and a number. The elements are reached only through an `Array`, which cannot
// leave the thread of the call that asked for it.
unsafe impl<T> Send for Lasting<T> {}

// SAFETY: a reference gives no more than a copy does, and a copy may be sent.
unsafe impl<T> Sync for Lasting<T> {}

impl<T: Copy> Lasting<T> {
    pub(crate) const EMPTY: Lasting<T> = Lasting(Array::EMPTY);

    /// A table of `count` elements from `first` on.
    ///
    /// # Safety
    /// `first` is NULL or points to that many elements as [`Array::new`] has them, during each call
    /// that is made for an agent which uses them. Code that frees the table makes sure that no such call sees it any
    /// more.
    pub(crate) const unsafe fn new(first: *mut T, count: c_int) -> Lasting<T> {
        // SAFETY: the elements are valid during each call that sees them, as the caller promises;
        // `view` and `during` are the only ways to them.
        Lasting(unsafe { Array::new(first, count) })
    }

    /// The table as a view for as long as this value is borrowed, in a call that was made for its
    /// agent.
    pub(crate) fn view(&self) -> Array<'_, T> {
        self.0
    }

    /// The table as a view for a whole call that was made for its agent: [`Ext::table`] has the
    /// agent's extension as the proof of such a call.
    ///
    /// [`Ext::table`]: crate::view::interface::Ext::table
    pub(super) fn during<'call>(self) -> Array<'call, T> {
        self.0
    }
}

/// An array in a block from malloc. The block is freed with it, unless it is handed over to C. What
/// the elements point to is not freed.
pub(crate) struct CVec<T: Copy> {
    block: Block<T>,
    len: usize,
    capacity: usize,
}

impl<T: Copy> CVec<T> {
    /// An empty array with room for `capacity` elements.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn with_capacity(capacity: usize) -> Result<CVec<T>> {
        let capacity = capacity.max(1);
        Ok(CVec {
            block: Block::uninit(capacity)?,
            len: 0,
            capacity,
        })
    }

    /// Takes over the block of an array of C; `None` for NULL.
    ///
    /// # Safety
    /// `first` is NULL or a block from malloc that nobody else has, with `count` elements.
    pub(super) unsafe fn own(first: *mut T, count: usize) -> Option<CVec<T>> {
        let block = Block {
            start: NonNull::new(first)?,
        };
        Some(CVec {
            block,
            len: count,
            capacity: count,
        })
    }

    /// An array of these elements.
    ///
    /// # Errors
    /// `-ENOMEM`.
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

    /// Appends an element. Returns its address, which is valid until the array grows.
    ///
    /// # Errors
    /// `-ENOMEM`; the array is as it was.
    pub(crate) fn push(&mut self, element: T) -> Result<*mut T> {
        let address: *mut T = self.spare()?.write(element);
        self.len += 1;
        Ok(address)
    }

    /// The element after the last one, not written yet, in a larger block if the present one is full.
    ///
    /// # Errors
    /// `-ENOMEM`; the array is as it was.
    fn spare(&mut self) -> Result<&mut MaybeUninit<T>> {
        if self.len == self.capacity {
            let capacity = self.capacity.max(1).checked_mul(2).ok_or(Error::ENOMEM)?;
            let larger = Block::uninit(capacity)?;
            // SAFETY: the larger block has room for all elements of the old one, and is another
            // block.
            unsafe { ptr::copy_nonoverlapping(self.block.as_ptr(), larger.as_ptr(), self.len) };
            self.block = larger;
            self.capacity = capacity;
        }
        // SAFETY: the block is ours alone, and has `capacity` places, which is more than `len`.
        Ok(unsafe { &mut *self.block.as_ptr().add(self.len).cast() })
    }

    pub(crate) fn as_ptr(&self) -> *mut T {
        self.block.as_ptr()
    }

    /// The block of the elements; their number is lost.
    pub(crate) fn into_block(self) -> Block<T> {
        self.block
    }

    /// Hands the block over: the receiver frees it with `free()`.
    pub(crate) fn into_raw(self) -> *mut T {
        self.block.into_raw()
    }
}

/// Types of C for which any bytes are a value.
///
/// # Safety
/// A value has no parts but integers, raw pointers, functions that may be NULL, and unions and
/// structures of them.
pub(crate) unsafe trait AnyBytes: Copy {
    /// The value whose bytes are all zero.
    fn zeroed() -> Self {
        // SAFETY: an `unsafe impl` of the trait promises that zeros are a value of its type.
        unsafe { std::mem::zeroed() }
    }
}

/// Implements [`AnyBytes`] for types that C lays out.
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

/// The alignment in bytes that a block of malloc has at least, on every architecture: malloc aligns
/// for C's `max_align_t`, and s390x has the smallest one. (The type of that name in the crate libc
/// is not C's everywhere.)
pub(crate) const ALIGNMENT: usize = 8;

/// A block from malloc. It is freed when it is dropped, unless it was handed over to C with
/// [`Block::into_raw`]. Its content is not dropped.
pub(crate) struct Block<T> {
    start: NonNull<T>,
}

impl<T> Block<T> {
    /// Room for `count` elements, all bytes zero. It has one byte at least, so that NULL means "no
    /// memory" only.
    ///
    /// # Errors
    /// `-ENOMEM` without memory, or when the size does not fit.
    pub(crate) fn zeroed(count: usize) -> Result<Block<T>> {
        // calloc refuses a product that does not fit.
        let start = calloc(count.max(1), size_of::<T>().max(1));
        Block::from_malloc(start)
    }

    /// Room for `count` elements that are still to be written.
    ///
    /// # Errors
    /// As [`Block::zeroed`].
    pub(crate) fn uninit(count: usize) -> Result<Block<T>> {
        let size = count.max(1).checked_mul(size_of::<T>().max(1)).ok_or(Error::ENOMEM)?;
        Block::from_malloc(malloc(size))
    }

    /// The block that malloc or calloc has returned.
    ///
    /// # Errors
    /// `-ENOMEM` for NULL.
    fn from_malloc(start: *mut c_void) -> Result<Block<T>> {
        let start = NonNull::new(start.cast()).ok_or(Error::ENOMEM)?;
        Ok(Block { start })
    }

    /// The start of the block, for C.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.start.as_ptr()
    }

    /// A block with one value in it.
    ///
    /// # Errors
    /// As [`Block::zeroed`].
    pub(crate) fn holding(value: T) -> Result<Block<T>> {
        let mut block = Block::uninit(1)?;
        block.put(value);
        Ok(block)
    }

    /// Writes a value to the start of the block. The old value is not dropped.
    pub(crate) fn put(&mut self, value: T) -> &mut T {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        // SAFETY: the block has room for one element at least, nobody else has it, and its
        // alignment suffices for `T`, as was asserted.
        let content: &mut MaybeUninit<T> = unsafe { self.start.cast().as_mut() };
        content.write(value)
    }

    /// Writes a value to the start of the block, which is never freed.
    pub(crate) fn leak(mut self, value: T) -> &'static mut T {
        self.put(value);
        // SAFETY: `put` has just written the value, nobody else has the block, and no one frees it
        // any more.
        unsafe { &mut *self.into_raw() }
    }

    /// Hands the block over: the receiver frees it with `free()`.
    pub(crate) fn into_raw(self) -> *mut T {
        ManuallyDrop::new(self).start.as_ptr()
    }
}

impl<T> Drop for Block<T> {
    fn drop(&mut self) {
        // SAFETY: `start` is from calloc or malloc. Only this value has it, and `into_raw` prevents
        // the drop: so the block is freed once.
        unsafe { libc::free(self.start.as_ptr().cast()) };
    }
}

/// A copy of `text` and a NUL, in a block of its own.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn string(text: &[u8]) -> Result<Block<c_char>> {
    let size = text.len().checked_add(1).ok_or(Error::ENOMEM)?;
    let block = Block::<c_char>::uninit(size)?;
    // SAFETY: the new block has room for the text and the NUL, and cannot overlap with the text.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), block.as_ptr(), text.len());
        block.as_ptr().add(text.len()).write(0);
    }
    Ok(block)
}
