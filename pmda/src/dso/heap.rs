//! Memory of the C heap, which the host frees.

use std::alloc::{Layout, handle_alloc_error};
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;
use std::slice;

use super::abi::{Value, ValueSet};

/// A block of `len` bytes, written by `fill`.
pub(super) fn block(len: usize, fill: impl FnOnce(&mut [u8])) -> *mut c_void {
    let block = allocate(1, len);
    // SAFETY: calloc has given at least `len` bytes, all of them 0 and nobody else's.
    fill(unsafe { slice::from_raw_parts_mut(block.as_ptr().cast(), len) });
    block.as_ptr()
}

/// A value set with these values; there is room for one at least, as in the structure of C.
pub(super) fn set(head: ValueSet, values: &[Value]) -> *mut c_void {
    let size = size_of::<ValueSet>() + values.len().max(1) * size_of::<Value>();
    // SAFETY: malloc may be called with any number. The block has room for the head and the values,
    // which follow it without a gap, is aligned for every type of C, and is nobody else's. calloc
    // would take longer: the GNU C library keeps the sets that hosts have freed for malloc.
    unsafe {
        let start = NonNull::new(libc::malloc(size)).unwrap_or_else(|| out_of_memory(size));
        let start = start.cast::<ValueSet>();
        start.write(head);
        let first = start.add(1).cast::<Value>();
        first.copy_from_nonoverlapping(NonNull::from(values).cast(), values.len());
        start.as_ptr().cast()
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
