//! Lists of names in the one block that C frees.

use std::ffi::c_char;
use std::ptr;

use super::memory::Block;
use crate::error::Result;
use crate::namespace::{Names, Node, Paths};

/// The names in one block: pointers first, the strings right behind them (TREE-34).
pub(crate) fn pack(names: &Names) -> Result<Block<*mut c_char>> {
    let (block, text) = room(names.len(), names.text().len())?;
    // SAFETY: there is room for the text, in a new block, and it consists of so many names.
    unsafe {
        ptr::copy_nonoverlapping(names.text().as_ptr().cast(), text, names.text().len());
        point(&block, names.len(), text);
    }
    Ok(block)
}

/// The full names of an identifier in such a block.
pub(crate) fn pack_paths<'t>(paths: Paths<impl Node<'t>>) -> Result<Block<*mut c_char>> {
    let (block, text) = room(paths.count, paths.bytes)?;
    // SAFETY: there is room for the text, which nobody else has; it becomes so many names.
    unsafe {
        text.write_bytes(0, paths.bytes);
        paths.write(std::slice::from_raw_parts_mut(text.cast(), paths.bytes));
        point(&block, paths.count, text);
    }
    Ok(block)
}

/// A block for so many names of so many bytes together, and where in it the first of them goes.
fn room(count: usize, bytes: usize) -> Result<(Block<*mut c_char>, *mut c_char)> {
    let words = bytes.div_ceil(size_of::<*mut c_char>());
    let block = Block::<*mut c_char>::room(count + words)?;
    // SAFETY: behind so many pointers the block goes on, or ends.
    let text = unsafe { block.as_ptr().add(count) };
    Ok((block, text.cast()))
}

/// Writes the pointers at the start of a block.
///
/// # Safety
/// The block has room for `count` pointers, and `text` is so many strings one behind the other.
unsafe fn point(block: &Block<*mut c_char>, count: usize, text: *mut c_char) {
    let mut text = text;
    for number in 0..count {
        // SAFETY: there is room for it, by the contract above.
        unsafe { block.as_ptr().add(number).write(text) };
        // Where the last one ends, nobody needs to know.
        if number + 1 < count {
            // SAFETY: behind a string the next one begins.
            text = unsafe { text.add(libc::strlen(text) + 1) };
        }
    }
}
