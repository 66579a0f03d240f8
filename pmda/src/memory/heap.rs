//! Memory of the C heap, which the host frees.

use std::ffi::{c_char, c_int, c_void};
use std::mem::{self, MaybeUninit};
use std::ptr::{self, NonNull};
use std::slice;

use pmda_core::error::{Error, Result};

use super::{Value, ValueSet, ValueUnion};

/// A block of malloc's, aligned for every type of C. It is ours, and freed with this, until it is
/// given away.
pub(crate) struct Block {
    start: NonNull<c_void>,
    /// Its size in bytes; 0 without a block.
    len: usize,
}

impl Block {
    /// No block: as one without bytes.
    const fn none() -> Block {
        // As well aligned as a block, since slices without items start here.
        let start = NonNull::<u64>::dangling().cast();
        Block { start, len: 0 }
    }

    /// A block of `len` bytes, at least one.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn new(len: usize) -> Result<Block> {
        let mut block = Block::none();
        block.resize(len)?;
        Ok(block)
    }

    /// Makes the block longer or shorter, at least one byte; it keeps the bytes that fit.
    ///
    /// # Errors
    /// `-ENOMEM`; the block is as it was.
    #[inline]
    fn resize(&mut self, len: usize) -> Result<()> {
        let len = len.max(1);
        // SAFETY: a block is of malloc, and nobody else has it; it may get any size but 0.
        let block = unsafe {
            match self.len {
                0 => libc::malloc(len),
                _ => libc::realloc(self.start.as_ptr(), len),
            }
        };
        self.start = NonNull::new(block).ok_or(Error::ENOMEM)?;
        self.len = len;
        Ok(())
    }

    /// The memory after the first `from` bytes, as items of a type that need not be written yet.
    #[inline]
    fn items<T>(&mut self, from: usize) -> &mut [MaybeUninit<T>] {
        assert!(align_of::<T>() <= align_of::<u64>() && from % align_of::<T>() == 0 && from <= self.len);
        // SAFETY: the items lie in the block, after the bytes that were left out, and are aligned
        // as those are; the block is borrowed as long as they are, and any bytes may be in them.
        unsafe {
            slice::from_raw_parts_mut(
                self.start.byte_add(from).cast().as_ptr(),
                (self.len - from) / size_of::<T>(),
            )
        }
    }

    /// Writes items after the first `from` bytes, as many as fit.
    fn write<T: Copy>(&mut self, from: usize, items: &[T]) {
        for (target, item) in self.items(from).iter_mut().zip(items) {
            target.write(*item);
        }
    }

    /// All bytes, set to zero.
    fn bytes(&mut self) -> &mut [u8] {
        let bytes = self.items::<u8>(0);
        bytes.fill(MaybeUninit::new(0));
        // SAFETY: all bytes have just been written.
        unsafe { &mut *(ptr::from_mut(bytes) as *mut [u8]) }
    }

    /// The start of the block.
    fn pointer(&self) -> *mut c_void {
        self.start.as_ptr()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: a block of malloc's that no host has: `give` does not come here.
            unsafe { libc::free(self.start.as_ptr()) };
        }
    }
}

/// Blocks that are being made for a host, and point to each other. They are ours, and freed
/// together, until they are given away together.
pub(crate) struct Blocks(Vec<Block>);

impl Blocks {
    pub(crate) const fn new() -> Blocks {
        Blocks(Vec::new())
    }

    /// The number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Makes sure that so many more blocks can be kept.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline]
    pub(crate) fn reserve(&mut self, more: usize) -> Result<()> {
        self.0.try_reserve(more).map_err(|_| Error::ENOMEM)
    }

    /// Keeps a block, and returns its start. It has to be reserved for.
    #[inline]
    fn keep(&mut self, block: Block) -> *mut c_void {
        let start = block.pointer();
        self.0.push(block);
        start
    }

    /// Makes a block of `len` bytes, which `write` gets as zeros.
    ///
    /// # Errors
    /// `-ENOMEM`; those of `write`.
    #[inline]
    pub(crate) fn block(&mut self, len: usize, write: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<*mut c_void> {
        self.reserve(1)?;
        let mut block = Block::new(len)?;
        write(block.bytes())?;
        Ok(self.keep(block))
    }

    /// Makes a block with these items.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn array<T: Copy>(&mut self, items: &[T]) -> Result<*mut T> {
        self.reserve(1)?;
        let mut block = Block::new(size_of_val(items))?;
        block.write(0, items);
        Ok(self.keep(block).cast())
    }

    /// Makes a block with a text and a NUL. C reads it up to the first NUL.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn text(&mut self, text: &[u8]) -> Result<*mut c_char> {
        let block = self.block(text.len() + 1, |block| {
            block[..text.len()].copy_from_slice(text);
            Ok(())
        })?;
        Ok(block.cast())
    }

    /// Makes an array of texts. They are in one block with the array, as the host frees that alone.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn texts<'t>(&mut self, texts: impl Iterator<Item = &'t [u8]> + Clone) -> Result<*mut *mut c_char> {
        self.reserve(1)?;
        let bytes: usize = texts.clone().map(|text| text.len() + 1).sum();
        let mut offset = texts.clone().count() * size_of::<*mut c_char>();
        let mut block = Block::new(offset + bytes)?;
        let start = block.pointer();
        for (index, text) in texts.enumerate() {
            block.write(index * size_of::<*mut c_char>(), &[start.wrapping_byte_add(offset)]);
            block.write(offset, text);
            block.write(offset + text.len(), &[0_u8]);
            offset += text.len() + 1;
        }
        Ok(self.keep(block).cast())
    }

    /// Frees all blocks but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Gives all blocks away: whoever has their pointers has to call `free`.
    pub(crate) fn give(&mut self) {
        for block in self.0.drain(..) {
            mem::forget(block);
        }
    }
}

/// The offset of the values in a value set, in bytes.
const VALUES: usize = size_of::<ValueSet>();

/// A value set that is being built where its host will read it.
pub(crate) struct Set {
    /// The head, and after it the values.
    block: Block,
    /// The number of values.
    len: usize,
}

impl Set {
    pub(crate) const fn new() -> Set {
        Set {
            block: Block::none(),
            len: 0,
        }
    }

    /// Removes all values, and makes room for one, as in the structure of C.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline]
    pub(crate) fn begin(&mut self) -> Result<()> {
        self.clear();
        match self.block.len {
            0 => self.reserve(1),
            _ => Ok(()),
        }
    }

    /// Removes all values.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a value.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline]
    pub(crate) fn push(&mut self, inst: c_int, value: ValueUnion) -> Result<()> {
        match self.block.items(VALUES).get_mut(self.len) {
            Some(free) => {
                free.write(Value { inst, value });
                self.len += 1;
                Ok(())
            }
            None => self.push_and_grow(inst, value),
        }
    }

    /// The `numval` of the head, which the host trusts: the number of values in the block. Without
    /// values it is an error code or 0.
    #[inline]
    fn numval(&self, without_values: c_int) -> c_int {
        match self.len {
            0 => without_values.min(0),
            len => c_int::try_from(len).unwrap_or(c_int::MAX),
        }
    }

    /// Adds the set to the blocks, whose room was reserved, with this head; its `numval` counts
    /// only for a set without values. To be called after [`Set::begin`].
    #[inline]
    pub(crate) fn finish(&mut self, mut head: ValueSet, blocks: &mut Blocks) -> *mut c_void {
        head.numval = self.numval(head.numval);
        self.block.items(0)[0].write(head);
        self.len = 0;
        blocks.keep(mem::replace(&mut self.block, Block::none()))
    }

    #[cold]
    fn push_and_grow(&mut self, inst: c_int, value: ValueUnion) -> Result<()> {
        self.reserve((2 * self.len).max(1))?;
        self.push(inst, value)
    }

    #[inline]
    fn reserve(&mut self, values: usize) -> Result<()> {
        self.block.resize(VALUES + values * size_of::<Value>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set grows as values come, and removed values are not in it.
    #[test]
    fn values_of_a_set() {
        let mut set = Set::new();
        set.begin().expect("memory");
        set.push(7, ValueUnion { lval: 8 }).expect("memory");
        set.begin().expect("memory");
        for inst in 0..5 {
            set.push(inst, ValueUnion { lval: 10 * inst }).expect("memory");
        }
        let values = &set.block.items::<Value>(VALUES)[..set.len];
        // SAFETY: as many values were written.
        let instances: Vec<_> = values.iter().map(|value| unsafe { value.assume_init() }.inst).collect();
        assert_eq!(instances, [0, 1, 2, 3, 4]);
        assert!(set.block.len < VALUES + 16 * size_of::<Value>(), "{}", set.block.len);
        assert_eq!([-3, 0, 9].map(|numval| set.numval(numval)), [5; 3]);
        set.clear();
        assert_eq!([-3, 0, 9].map(|numval| set.numval(numval)), [-3, 0, 0]);
    }

    /// A block that is not given is freed, and nothing is written beyond it.
    #[test]
    fn blocks() {
        let mut block = Block::new(10).expect("memory");
        block.write(8, &[7_u8; 4]);
        assert_eq!(block.items::<u32>(4).len(), 1);
        assert_eq!(block.bytes(), [0; 10]);
        assert_eq!(Block::none().bytes(), []);
        assert_eq!(Block::new(0).expect("memory").bytes(), [0]);
        assert_eq!(Block::new(usize::MAX / 2).err(), Some(Error::ENOMEM));
    }
}
