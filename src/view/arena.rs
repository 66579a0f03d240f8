//! Memory for what is used during one request, by code of ours alone.

use crate::view::memory::ALIGNMENT;
use pmda_core::error::{Error, Result};

/// Memory that is given out piece by piece and taken back all at once.
#[derive(Default)]
pub(crate) struct Arena {
    /// Chunks of memory. They have no elements: only their capacity is used, through pointers.
    /// Pieces are handed out from the last one.
    chunks: Vec<Vec<u64>>,
    /// The number of words of the last chunk that are in use.
    used: usize,
}

impl Arena {
    /// Size in words of the first chunk. Each one is twice as large as the one before.
    const FIRST: usize = 4096 / size_of::<u64>();

    /// Size in words of the largest chunk that is kept for the next request: 8,000 values of 64
    /// bits. Chunks are not larger, unless one piece is.
    const KEPT: usize = 256 * 1024 / size_of::<u64>();

    /// An arena without memory.
    pub(crate) const fn new() -> Arena {
        Arena {
            chunks: Vec::new(),
            used: 0,
        }
    }

    /// A piece of `size` bytes or more, not initialized, aligned as a block of malloc
    /// ([`ALIGNMENT`]). It is valid until [`Arena::clear`].
    ///
    /// # Errors
    /// `-ENOMEM`; pieces that were handed out before stay.
    #[inline(always)]
    pub(crate) fn allocate(&mut self, size: usize) -> Result<*mut u8> {
        const { assert!(align_of::<u64>() <= ALIGNMENT && size_of::<u64>() == ALIGNMENT) };
        let (words, used) = (size.div_ceil(size_of::<u64>()), self.used);
        match self.chunks.last_mut() {
            Some(chunk) if words <= chunk.capacity() - used => {
                self.used = used + words;
                // `used` is at most the capacity, so the address is in the chunk or at its end.
                Ok(chunk.as_mut_ptr().wrapping_add(used).cast())
            }
            _ => self.allocate_in_new_chunk(words),
        }
    }

    /// [`Arena::allocate`] at the start of a new chunk. The rest of the last chunk stays unused.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[cold]
    fn allocate_in_new_chunk(&mut self, words: usize) -> Result<*mut u8> {
        let next = match self.chunks.last() {
            Some(last) => last.capacity().saturating_mul(2).min(Arena::KEPT),
            None => Arena::FIRST,
        };
        let mut chunk = Vec::new();
        self.chunks.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        chunk.try_reserve_exact(words.max(next)).map_err(|_| Error::ENOMEM)?;
        let start = chunk.as_mut_ptr();
        // This does not allocate: there is room for one more.
        self.chunks.push(chunk);
        self.used = words;
        Ok(start.cast())
    }

    /// Takes all pieces back. One chunk is kept for the next request: the largest one that is not
    /// above [`Arena::KEPT`].
    pub(crate) fn clear(&mut self) {
        self.chunks.retain(|chunk| chunk.capacity() <= Arena::KEPT);
        let rest = self.chunks.len().saturating_sub(1);
        self.chunks.drain(..rest);
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces are aligned, do not overlap, and stay where they are when chunks are added.
    #[test]
    fn pieces_of_an_arena() {
        let mut arena = Arena::new();
        let sizes = [0, 1, 7, 8, 9, 100, 5000, 3, 70_000, 16];
        let mut pieces = Vec::new();
        for (fill, size) in (1_u8..).zip(sizes) {
            let piece = arena.allocate(size).expect("memory");
            assert_eq!(piece.addr() % ALIGNMENT, 0);
            // SAFETY: a new piece of that size.
            unsafe { piece.write_bytes(fill, size) };
            pieces.push((piece, size, fill));
        }
        for (piece, size, fill) in pieces {
            // SAFETY: the piece was written, and the arena was not cleared.
            let bytes = unsafe { std::slice::from_raw_parts(piece, size) };
            assert!(bytes.iter().all(|byte| *byte == fill));
        }
    }

    /// A request that is like the last one allocates nothing; a large one is not paid for ever
    /// after.
    #[test]
    fn an_arena_keeps_one_chunk() {
        let mut arena = Arena::new();
        let kept = |arena: &Arena| arena.chunks.iter().map(Vec::capacity).collect::<Vec<_>>();
        let fill = |arena: &mut Arena, pieces| {
            for _ in 0..pieces {
                arena.allocate(1000).expect("memory");
            }
        };
        fill(&mut arena, 100);
        assert!(arena.chunks.len() > 1);
        arena.clear();
        let [chunk] = kept(&arena)[..] else { panic!("one chunk") };
        assert!(chunk * 8 >= 50_000);
        fill(&mut arena, 50);
        assert_eq!(kept(&arena), [chunk]);

        fill(&mut arena, 5000);
        assert!(kept(&arena).iter().all(|size| *size <= Arena::KEPT));
        arena.allocate(Arena::KEPT * 8 + 1).expect("memory");
        assert!(kept(&arena).last() > Some(&Arena::KEPT));
        arena.clear();
        assert_eq!(kept(&arena), [Arena::KEPT]);
    }

    /// Without memory nothing is lost, and the arena can be used further.
    #[test]
    fn an_arena_without_memory() {
        let mut arena = Arena::new();
        let first = arena.allocate(8).expect("memory");
        assert_eq!(arena.allocate(usize::MAX), Err(Error::ENOMEM));
        assert_eq!(arena.allocate(8).expect("memory").addr(), first.addr() + 8);
    }
}
