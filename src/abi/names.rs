//! Lists of names in the one block that C frees.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::slice;

use super::memory::Block;
use crate::error::Result;
use crate::namespace::{Names, Node, Paths};

/// The names in one block: pointers first, the strings right behind them (TREE-34).
pub(crate) fn pack(names: &Names) -> Result<Block<*mut c_char>> {
    packed(names.len(), names.text().len(), |text| {
        text.copy_from_slice(names.text());
    })
}

/// The full names of an identifier in such a block.
pub(crate) fn pack_paths<'t>(paths: Paths<impl Node<'t>>) -> Result<Block<*mut c_char>> {
    packed(paths.count, paths.bytes, |text| paths.write(text))
}

/// A block for `count` names of `bytes` bytes together, which are zero before they are written, one
/// name behind the other.
fn packed(count: usize, bytes: usize, write: impl FnOnce(&mut [u8])) -> Result<Block<*mut c_char>> {
    let words = bytes.div_ceil(size_of::<*mut c_char>());
    let block = Block::<*mut c_char>::room(count + words)?;
    let start = block.as_ptr();
    // SAFETY: the new block has room for `count` pointers and, behind them, `bytes` bytes. Nobody
    // else has it, and the two parts do not overlap.
    let (pointers, mut text) = unsafe {
        let text = start.add(count).cast::<u8>();
        text.write_bytes(0, bytes);
        (
            slice::from_raw_parts_mut(start.cast::<MaybeUninit<*mut c_char>>(), count),
            slice::from_raw_parts_mut(text, bytes),
        )
    };
    write(text);
    let mut left = count;
    for pointer in pointers {
        pointer.write(text.as_mut_ptr().cast());
        left -= 1;
        // Where the last one ends, nobody needs to know.
        if left > 0 {
            let name = CStr::from_bytes_until_nul(text).unwrap_or_default();
            let end = text.len().min(name.count_bytes() + 1);
            text = &mut text[end..];
        }
    }
    Ok(block)
}
