//! Memory of the C heap, which the host frees.

use std::alloc::{Layout, handle_alloc_error};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;
use std::{mem, ptr, slice};

use super::abi::{Value, ValueSet, ValueUnion};

/// A block of `len` bytes, written by `fill`.
pub(super) fn block(len: usize, fill: impl FnOnce(&mut [u8])) -> *mut c_void {
    let block = allocate(1, len);
    // SAFETY: calloc has given at least `len` bytes, all of them 0 and nobody else's.
    fill(unsafe { slice::from_raw_parts_mut(block.as_ptr().cast(), len) });
    block.as_ptr()
}

/// A value set that is being made where its host will read it.
pub(super) struct Set {
    /// Room for the head, and behind it without a gap for `room` values, of which `len` are there;
    /// NULL with room for none.
    block: *mut ValueSet,
    len: usize,
    room: usize,
}

impl Set {
    pub(super) const fn new() -> Set {
        Set {
            block: ptr::null_mut(),
            len: 0,
            room: 0,
        }
    }

    /// Takes all values away. There is room for one, as in the structure of C.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.len = 0;
        if self.room == 0 {
            self.make_room(1);
        }
    }

    /// Adds a value.
    #[inline]
    pub(super) fn push(&mut self, inst: c_int, value: ValueUnion) {
        if self.len == self.room {
            return self.push_and_grow(inst, value);
        }
        let new = Value { inst, value };
        // SAFETY: behind the head is room for one more value than there are. The block is aligned
        // for every type of C, as malloc gives it.
        unsafe { self.block.add(1).cast::<Value>().add(self.len).write(new) };
        self.len += 1;
    }

    /// The values.
    pub(super) fn values(&self) -> &[Value] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `len` values behind the head were written.
        unsafe { slice::from_raw_parts(self.block.add(1).cast(), self.len) }
    }

    /// What the head is to say: a host reads as many values as that.
    #[inline]
    fn numval(&self, without_values: c_int) -> c_int {
        match self.len {
            0 => without_values.min(0),
            len => c_int::try_from(len).unwrap_or(c_int::MAX),
        }
    }

    /// Gives the block away, with this head: its `numval` counts where there are no values.
    #[inline]
    pub(super) fn finish(&mut self, mut head: ValueSet) -> *mut c_void {
        head.numval = self.numval(head.numval);
        if self.room == 0 {
            self.make_room(1);
        }
        // SAFETY: there is room for the head where there is room for a value.
        unsafe { self.block.write(head) };
        (self.len, self.room) = (0, 0);
        mem::replace(&mut self.block, ptr::null_mut()).cast()
    }

    #[cold]
    fn push_and_grow(&mut self, inst: c_int, value: ValueUnion) {
        self.make_room((2 * self.room).max(1));
        self.push(inst, value);
    }

    #[inline]
    fn make_room(&mut self, room: usize) {
        let size = size_of::<ValueSet>() + room * size_of::<Value>();
        // SAFETY: the block is NULL or of malloc, and nobody else has it; any size may be asked
        // for. calloc would take longer: the GNU C library keeps the sets that hosts have freed for
        // malloc.
        let block = unsafe {
            if self.block.is_null() {
                libc::malloc(size)
            } else {
                libc::realloc(self.block.cast(), size)
            }
        };
        let block = NonNull::new(block).unwrap_or_else(|| out_of_memory(size));
        self.block = block.as_ptr().cast();
        self.room = room;
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        // SAFETY: NULL or a block of malloc's, which no host has: `finish` leaves NULL.
        unsafe { libc::free(self.block.cast()) };
    }
}

/// An array with these items.
pub(super) fn array<T: Copy>(items: &[T]) -> *mut T {
    let start = allocate(items.len(), size_of::<T>()).cast::<T>();
    // SAFETY: the array has room for all items, is aligned for every type of C, which those of this
    // module are, and does not overlap with what was there before it.
    unsafe { start.copy_from_nonoverlapping(NonNull::from(items).cast(), items.len()) };
    start.as_ptr()
}

/// A text with its NUL; it ends at the first NUL of its own.
pub(super) fn text(text: &[u8]) -> *mut c_char {
    block(text.len() + 1, |bytes| bytes[..text.len()].copy_from_slice(text)).cast()
}

/// An array of texts, in one block with them: the host frees that alone.
pub(super) fn texts<'t>(texts: impl Iterator<Item = &'t [u8]> + Clone) -> *mut *mut c_char {
    let count = texts.clone().count();
    let bytes: usize = texts.clone().map(|text| text.len() + 1).sum();
    let start = allocate(1, count * size_of::<*mut c_char>() + bytes).cast::<*mut c_char>();
    // SAFETY: the block has room for `count` pointers; a pointer of zeros is NULL.
    let pointers = unsafe { slice::from_raw_parts_mut(start.as_ptr(), count) };
    // SAFETY: `bytes` bytes follow the pointers in the block, all of them 0.
    let mut rest = unsafe { slice::from_raw_parts_mut(start.add(count).cast::<u8>().as_ptr(), bytes) };
    for (pointer, text) in pointers.iter_mut().zip(texts) {
        let (place, behind) = rest.split_at_mut(text.len() + 1);
        place[..text.len()].copy_from_slice(text);
        *pointer = place.as_mut_ptr().cast();
        rest = behind;
    }
    start.as_ptr()
}

/// Zeros of the C heap, at least one byte. Without memory the process ends, as in all of Rust.
fn allocate(count: usize, size: usize) -> NonNull<c_void> {
    // SAFETY: calloc may be called with any numbers.
    let block = unsafe { libc::calloc(count.max(1), size.max(1)) };
    NonNull::new(block).unwrap_or_else(|| out_of_memory(count.saturating_mul(size)))
}

fn out_of_memory(size: usize) -> ! {
    handle_alloc_error(Layout::array::<u8>(size).unwrap_or(Layout::new::<u8>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set grows as values come, and what was taken away is not in it.
    #[test]
    fn values_of_a_set() {
        let mut set = Set::new();
        set.clear();
        set.push(7, ValueUnion { lval: 8 });
        set.clear();
        for inst in 0..5 {
            set.push(inst, ValueUnion { lval: 10 * inst });
        }
        let instances: Vec<_> = set.values().iter().map(|value| value.inst).collect();
        assert_eq!(instances, [0, 1, 2, 3, 4]);
        assert!(set.room < 16, "{}", set.room);
        assert_eq!([-3, 0, 9].map(|numval| set.numval(numval)), [5; 3]);
        set.clear();
        assert_eq!([-3, 0, 9].map(|numval| set.numval(numval)), [-3, 0, 0]);
    }
}
