//! Memory that is asked for before it is needed.
//!
//! Most of what the model and the libraries keep ends the process where an allocation fails. So the
//! agent asks first: what grows with a source's documents or files begins only where the system has
//! the memory for it, and [`HEADROOM`] more for all that cannot be asked for. A limit of the process
//! (`ulimit -v`) or of the system (no overcommit) then costs that source its values, not the agent.

use std::hint;

/// The memory that is left for replies, connections and threads, in bytes. glibc's allocator does
/// not learn from a block above 32 MiB; freeing a smaller one would change how it returns memory.
pub const HEADROOM: usize = 33 << 20;

/// The text of a failure by a lack of memory.
pub const NO_MEMORY: &str = "there is no memory for the document";

/// Returns true if so many bytes can be allocated, and [`HEADROOM`] more. No page of them is
/// touched: that costs two system calls.
#[must_use]
pub fn has(bytes: usize) -> bool {
    let mut block = Vec::<u8>::new();
    let is_there = block.try_reserve_exact(bytes.saturating_add(HEADROOM)).is_ok();
    // Otherwise the compiler leaves out a block that nobody uses.
    hint::black_box(block.as_mut_ptr());
    is_there
}

/// The most bytes that reading a document takes for a byte of it, beside the names that it brings:
/// its text where that is not UTF-8, a line's labels, a help text in its forms.
const FORMS: usize = 8;

/// Returns true if there is memory to read a document of so many bytes. Of a small one the headroom
/// has enough.
#[must_use]
pub fn has_for_document(length: usize) -> bool {
    length.saturating_mul(FORMS) < HEADROOM / 4 || has(length.saturating_mul(FORMS))
}

/// The bytes that a new thread may need: glibc's allocator sets aside this many addresses for it.
const THREAD: usize = 64 << 20;

/// Returns true if there is memory for so many new threads. A thread that has none ends the process.
#[must_use]
pub fn has_for_threads(count: usize) -> bool {
    has(count.saturating_mul(THREAD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_system_has() {
        let most = isize::MAX as usize;
        assert!(has(0) && !has(most / 2) && !has(usize::MAX));
        assert!(has_for_document(0) && has_for_document(HEADROOM / FORMS) && !has_for_document(most));
    }
}
