//! Lists of names in the one block that C frees.

use std::ffi::c_char;
use std::ptr;

use super::memory::Block;
use crate::error::Result;
use crate::namespace::Names;

/// The names in one block: pointers first, the strings right behind them (TREE-34).
pub(crate) fn pack(names: &Names) -> Result<Block<*mut c_char>> {
    let words = names.text().len().div_ceil(size_of::<*mut c_char>());
    let block = Block::<*mut c_char>::room(names.len() + words)?;
    // SAFETY: the block has room for one pointer a name and, behind them, for the text. The pointers stay inside it:
    // each name begins where the one before it ended.
    unsafe {
        let mut text = block.as_ptr().add(names.len()).cast::<c_char>();
        ptr::copy_nonoverlapping(names.text().as_ptr().cast(), text, names.text().len());
        for number in 0..names.len() {
            block.as_ptr().add(number).write(text);
            // Where the last one ends, nobody needs to know.
            if number + 1 < names.len() {
                text = text.add(libc::strlen(text) + 1);
            }
        }
    }
    Ok(block)
}
