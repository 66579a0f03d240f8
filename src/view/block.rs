//! Blocks from malloc, for everything that C frees, and arrays that grow in one.

use std::ffi::{c_char, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};

use pmda_core::error::{Error, Result};

/// An array in a block from malloc. It is freed with its block unless it is handed over to C; what
/// its elements point to is not freed.
pub(crate) struct CVec<T: Copy> {
    block: Block<T>,
    len: usize,
    capacity: usize,
}

impl<T: Copy> CVec<T> {
    /// An empty array with room for some elements, all bytes of the block zero.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn with_capacity(capacity: usize) -> Result<CVec<T>> {
        let capacity = capacity.max(1);
        let block = Block::zeroed(capacity)?;
        Ok(CVec {
            block,
            len: 0,
            capacity,
        })
    }

    /// An empty array with room for some elements, which are still to be written.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn with_room(capacity: usize) -> Result<CVec<T>> {
        let capacity = capacity.max(1);
        let block = Block::room(capacity)?;
        Ok(CVec {
            block,
            len: 0,
            capacity,
        })
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends an element, and gives its address, which is good until the array grows.
    ///
    /// # Errors
    /// `-ENOMEM`; the array is as it was.
    pub(crate) fn push(&mut self, element: T) -> Result<*mut T> {
        let place: *mut T = self.spare()?.write(element);
        self.len += 1;
        Ok(place)
    }

    /// Appends an element with all bytes zero, and gives its address, which is good until the array
    /// grows. C fills it in.
    ///
    /// # Errors
    /// `-ENOMEM`; the array is as it was.
    pub(crate) fn push_zeroed(&mut self) -> Result<*mut T>
    where
        T: Zeroed,
    {
        self.push(T::zeroed())
    }

    /// Appends elements with all bytes zero until there are `len`.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn pad(&mut self, len: usize) -> Result<()>
    where
        T: Zeroed,
    {
        while self.len < len {
            self.push_zeroed()?;
        }
        Ok(())
    }

    /// The place behind the last element, in a larger block when there is none left.
    fn spare(&mut self) -> Result<&mut MaybeUninit<T>> {
        if self.len == self.capacity {
            let capacity = self.capacity.checked_mul(2).ok_or(Error::NOMEM)?;
            let larger = Block::zeroed(capacity)?;
            // SAFETY: the larger block has room for all elements of the old one, and is another
            // block.
            unsafe { ptr::copy_nonoverlapping(self.block.as_ptr(), larger.as_ptr(), self.len) };
            self.block = larger;
            self.capacity = capacity;
        }
        // SAFETY: the block is ours alone, and has `capacity` places, which is more than `len`.
        Ok(unsafe { &mut *self.block.as_ptr().add(self.len).cast() })
    }

    /// The elements.
    pub(crate) fn entries(&self) -> &[T] {
        // SAFETY: the block is ours, and its first `len` elements were written.
        unsafe { std::slice::from_raw_parts(self.block.as_ptr(), self.len) }
    }

    /// The elements as C sees them.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.block.as_ptr()
    }

    /// The block without its count.
    pub(crate) fn into_block(self) -> Block<T> {
        self.block
    }

    /// Hands the block over: the receiver frees it with `free()`.
    pub(crate) fn into_raw(self) -> *mut T {
        self.block.into_raw()
    }
}

/// Types of C that may be all zero.
///
/// # Safety
/// A value whose bytes are all zero is valid.
pub(crate) unsafe trait Zeroed: Copy {
    /// The value whose bytes are all zero.
    #[inline(always)]
    fn zeroed() -> Self {
        // SAFETY: an `unsafe impl` of the trait promises that zeros are a value of its type.
        unsafe { std::mem::zeroed() }
    }
}

/// Says of plain structures of C that they may be all zero.
macro_rules! zeroed {
    ($($type:ty),*) => { $(
        // SAFETY: numbers, unions of numbers, and pointers and functions that may be NULL.
        unsafe impl Zeroed for $type {}
    )* };
}

zeroed!(
    crate::view::types::pmdaMetric,
    crate::view::types::pmDesc,
    crate::view::types::pmAtomValue,
    crate::view::types::pmLabelSet,
    crate::view::types::pmLabel,
    crate::view::types::pmdaInstid,
    crate::view::types::pmdaIndom,
    crate::view::types::pmValue
);

unsafe extern "C" {
    safe fn malloc(size: usize) -> *mut c_void;
    safe fn calloc(count: usize, size: usize) -> *mut c_void;
}

/// What malloc aligns each block to at least, on all architectures: C's `max_align_t` asks for this
/// on s390x, and for the same or more on others. (That of the crate libc is not C's everywhere.)
pub(crate) const ALIGNMENT: usize = 8;

/// A block from malloc that is freed again unless it is handed over to C with [`Block::into_raw`].
pub(crate) struct Block<T> {
    start: NonNull<T>,
}

impl<T> Block<T> {
    /// Room for `count` elements, all bytes zero; at least one byte, so never NULL.
    ///
    /// # Errors
    /// `-ENOMEM` when there is no memory, or the size does not fit.
    pub(crate) fn zeroed(count: usize) -> Result<Block<T>> {
        // calloc checks the product itself.
        let start = calloc(count.max(1), size_of::<T>().max(1));
        NonNull::new(start.cast::<T>())
            .map(|start| Block { start })
            .ok_or(Error::NOMEM)
    }

    /// Room for `count` elements that are still to be written.
    ///
    /// # Errors
    /// As [`Block::zeroed`].
    pub(crate) fn room(count: usize) -> Result<Block<T>> {
        let size = count.max(1).checked_mul(size_of::<T>().max(1)).ok_or(Error::NOMEM)?;
        NonNull::new(malloc(size).cast::<T>())
            .map(|start| Block { start })
            .ok_or(Error::NOMEM)
    }

    /// The first element.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.start.as_ptr()
    }

    /// A block with one value in it.
    ///
    /// # Errors
    /// As [`Block::zeroed`].
    pub(crate) fn holding(value: T) -> Result<Block<T>> {
        let mut block = Block::room(1)?;
        block.put(value);
        Ok(block)
    }

    /// Puts a value at the start of the block. What was there is not dropped.
    pub(crate) fn put(&mut self, value: T) -> &mut T {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        // SAFETY: the block has room for one element at least, is aligned as malloc does it, and
        // belongs to nobody else.
        let place: &mut MaybeUninit<T> = unsafe { self.start.cast().as_mut() };
        place.write(value)
    }

    /// Puts a value at the start of the block, which is never freed.
    pub(crate) fn leak(mut self, value: T) -> &'static T {
        self.put(value);
        // SAFETY: the value that was just written; the block belongs to nobody else, and stays for
        // ever.
        unsafe { &*self.into_raw() }
    }

    /// Hands the block over: the receiver frees it with `free()`.
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

/// A copy of `text` with a NUL behind it, in a block of its own.
///
/// # Errors
/// `-ENOMEM` when there is no memory.
pub(crate) fn string(text: &[u8]) -> Result<Block<c_char>> {
    let size = text.len().checked_add(1).ok_or(Error::NOMEM)?;
    let block = Block::<c_char>::room(size)?;
    // SAFETY: the new block has room for the text and the NUL, and cannot overlap with the text.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), block.as_ptr(), text.len());
        block.as_ptr().add(text.len()).write(0);
    }
    Ok(block)
}
