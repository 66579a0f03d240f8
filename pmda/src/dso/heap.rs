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
            let size = size_of::<ValueSet>() + size_of::<Value>();
            // SAFETY: any size may be asked for. calloc would take longer: the GNU C library keeps
            // the sets that hosts have freed for malloc.
            let block = unsafe { libc::malloc(size) };
            self.block = NonNull::new(block)
                .unwrap_or_else(|| out_of_memory(size))
                .as_ptr()
                .cast();
            self.room = 1;
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

    /// Gives the block away, with this head.
    #[inline]
    pub(super) fn finish(&mut self, head: ValueSet) -> *mut c_void {
        if self.room == 0 {
            self.grow();
        }
        // SAFETY: there is room for the head where there is room for a value.
        unsafe { self.block.write(head) };
        (self.len, self.room) = (0, 0);
        mem::replace(&mut self.block, ptr::null_mut()).cast()
    }

    #[cold]
    fn push_and_grow(&mut self, inst: c_int, value: ValueUnion) {
        self.grow();
        self.push(inst, value);
    }

    fn grow(&mut self) {
        let room = (2 * self.room).max(1);
        let size = size_of::<ValueSet>() + room * size_of::<Value>();
        // SAFETY: the block is NULL or of malloc, and nobody else has it.
        let block = unsafe { libc::realloc(self.block.cast(), size) };
        self.block = NonNull::new(block)
            .unwrap_or_else(|| out_of_memory(size))
            .as_ptr()
            .cast();
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
        // SAFETY: these values are numbers.
        let lval = |value: &Value| (value.inst, unsafe { value.value.lval });
        let values: Vec<_> = set.values().iter().map(lval).collect();
        assert_eq!(values, [(0, 0), (1, 10), (2, 20), (3, 30), (4, 40)]);
        let head = ValueSet {
            pmid: 3,
            numval: 5,
            valfmt: 0,
            values: [],
        };
        let block = set.finish(head);
        assert!(set.values().is_empty());
        // SAFETY: the block begins with its head, and is the test's as it would be a host's.
        unsafe {
            assert_eq!((*block.cast::<ValueSet>()).numval, 5);
            libc::free(block);
        }
    }
}
