//! The result of `pmdaFetch` under construction.
//!
//! A result consists of one block with the time stamp and the pointers to value sets, the value
//! sets, and the blocks of values that do not fit in place (FETCH-1 to FETCH-4). [`ResultMemory`]
//! tells from where their memory comes: from malloc, or from an [`Arena`] when code of ours alone
//! uses the result, during one request.
//!
//! A block that an agent gets starts with C's structure, since callers may free the result with
//! `pmFreeResult` or `free` (dbpmda does after a store that was refused). So the size of the block
//! is stored elsewhere.

use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr::{self, NonNull};

use crate::sys::lock::{Mutex, Token};
use crate::view::arg::Out;
use crate::view::memory::{ALIGNMENT, Block};
use crate::view::types::{pmValue, pmValueSet, pmdaResult, timeval};
use crate::view::value::{Atom, format};
use pmda_core::constants::{PM_VAL_DPTR, PM_VAL_INSITU};
use pmda_core::error::{Error, Result};
use pmda_core::fetch::{Encoding, Tally};
use pmda_core::ident::MetricId;

/// A block for the head of a result: from malloc, or in an arena.
#[derive(Clone, Copy)]
struct ResultBlock {
    result: NonNull<pmdaResult>,
    /// The number of value sets whose pointers fit in.
    capacity: usize,
}

// SAFETY: what is sent is a block in the list of an agent, which is memory from malloc that any
// thread may use, and has one owner. A block in an arena stays in its fetch, on one thread.
unsafe impl Send for ResultBlock {}

impl ResultBlock {
    /// A block from malloc.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn new(sets: usize) -> Result<ResultBlock> {
        ResultBlock::in_memory(sets, |size| Ok(Block::<u8>::uninit(size)?.into_raw()))
    }

    /// A block in memory that `allocate` returns. It has room for one value set at least, so that
    /// it is no smaller than C's structure.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn in_memory(sets: usize, allocate: impl FnOnce(usize) -> Result<*mut u8>) -> Result<ResultBlock> {
        let capacity = sets.max(1);
        let more = (capacity - 1).checked_mul(size_of::<*mut pmValueSet>());
        let size = more.and_then(|more| more.checked_add(size_of::<pmdaResult>()));
        let result = NonNull::new(allocate(size.ok_or(Error::ENOMEM)?)?).ok_or(Error::ENOMEM)?;
        Ok(ResultBlock {
            result: result.cast(),
            capacity,
        })
    }
}

/// The blocks of an agent that no fetch is using: one, or more if a callback has fetched inside of
/// a fetch. A fetch takes the last block, and puts it back at its end. If a callback leaves by
/// `longjmp`, its fetch has no end, and the block is lost.
#[derive(Default)]
pub(crate) struct ResultBlocks(Mutex<Vec<ResultBlock>>);

impl ResultBlocks {
    /// Takes a block with room for `sets` value sets.
    ///
    /// # Errors
    /// `-ENOMEM`; the agent keeps the block that it has (F-5).
    fn take(&self, token: &mut Token, sets: usize) -> Result<ResultBlock> {
        let block = self.0.lock(token).pop();
        match block {
            Some(block) if block.capacity >= sets => Ok(block),
            old => self.larger(token, old, sets),
        }
    }

    /// A new block with room for `sets` value sets, in place of an old one, which is freed.
    ///
    /// # Errors
    /// `-ENOMEM`; the old block is put back.
    #[cold]
    fn larger(&self, token: &mut Token, old: Option<ResultBlock>, sets: usize) -> Result<ResultBlock> {
        let block = ResultBlock::new(sets);
        match (&block, old) {
            // SAFETY: a block from malloc that was taken out of the agent's list, which alone had
            // it. The agent uses a result until the next fetch only, and this is one (FETCH-12).
            (Ok(_), Some(old)) => unsafe { libc::free(old.result.as_ptr().cast()) },
            (Err(_), Some(old)) => self.put_back(token, old),
            (_, None) => {}
        }
        block
    }

    /// Puts a block back: the next fetch uses it. Without memory for the list it is lost. The list
    /// has no spare room, since it stays in memory when the library is unloaded.
    fn put_back(&self, token: &mut Token, block: ResultBlock) {
        let blocks = self.0.lock(token);
        if blocks.try_reserve_exact(1).is_ok() {
            blocks.push(block);
        }
    }
}

/// The source of the memory of a result and its parts.
pub(crate) enum ResultMemory<'call> {
    /// malloc, for a result that code of the agent gets. The head is in a block that belongs to the
    /// agent, and is used again by each of its fetches (FETCH-12). Each value set and each value
    /// block is a block of its own, which the caller of the fetch frees (FETCH-71).
    Malloc(&'static ResultBlocks),
    /// An arena, for a result that only code of the library sees. It is cleared when the result has
    /// been encoded.
    Arena(&'call mut Arena),
}

impl ResultMemory<'_> {
    /// A block for the head of a result.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn block(&mut self, token: &mut Token, sets: usize) -> Result<ResultBlock> {
        match self {
            ResultMemory::Malloc(results) => results.take(token, sets),
            ResultMemory::Arena(arena) => ResultBlock::in_memory(sets, |size| arena.allocate(size)),
        }
    }

    /// Memory for a value set or a value block, aligned as by malloc.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline(always)]
    fn allocate(&mut self, size: usize) -> Result<*mut u8> {
        match self {
            ResultMemory::Malloc(_) => Ok(Block::<u8>::uninit(size)?.into_raw()),
            ResultMemory::Arena(arena) => arena.allocate(size),
        }
    }
}

/// The result of `pmdaFetch` under construction. It has nothing to drop, since a callback may leave
/// by `longjmp`: then the memory of the result is lost.
pub(crate) struct CResult<'call> {
    /// The argument that gets the finished result.
    out: Out<'call, *mut pmdaResult>,
    memory: ResultMemory<'call>,
    block: ResultBlock,
    /// The number of value sets that the result will have.
    sets: usize,
    /// The number of finished value sets.
    filled: usize,
    /// The set under construction.
    set: ValueSetBuilder,
}

impl<'call> CResult<'call> {
    /// Starts a result of `sets` value sets with the time `stamp`. The head is written here alone:
    /// an agent's block may be other memory by the end of the fetch, as dbpmda frees it after a
    /// store that was refused, and fetches again.
    ///
    /// # Errors
    /// `-ENOMEM`; the agent keeps the block that it has (F-5).
    #[inline(always)]
    pub(crate) fn new(
        token: &mut Token,
        out: Out<'call, *mut pmdaResult>,
        mut memory: ResultMemory<'call>,
        sets: usize,
        stamp: impl FnOnce(&mut Token) -> timeval,
    ) -> Result<CResult<'call>> {
        let block = memory.block(token, sets)?;
        let stamp = stamp(token);
        let result = block.result.as_ptr();
        // SAFETY: a block that this fetch alone has, with room for the structure.
        unsafe {
            (*result).timestamp = stamp;
            (*result).numpmid = c_int::try_from(sets).unwrap_or(c_int::MAX);
        }
        Ok(CResult {
            out,
            memory,
            block,
            sets,
            filled: 0,
            set: ValueSetBuilder::NONE,
        })
    }

    /// The address of a value set in the block, whose index is less than `sets`.
    #[inline(always)]
    fn at(&self, index: usize) -> *mut *mut pmValueSet {
        assert!(index < self.sets, "value set {index} of {}", self.sets);
        // SAFETY: the block has room for the pointers of `sets` value sets, and `index` is less, as
        // was asserted. This only computes an address.
        unsafe {
            (&raw mut (*self.block.result.as_ptr()).vset)
                .cast::<*mut pmValueSet>()
                .add(index)
        }
    }

    /// Stores the set under construction, or NULL if it was freed.
    #[inline(always)]
    fn put(&self) {
        // SAFETY: `at` returns a place in the block, which this fetch alone has.
        unsafe { self.at(self.filled).write(self.set.start) };
    }

    /// Starts the set of a metric with about `values` values, all of one encoding.
    ///
    /// # Errors
    /// `-ENOMEM`; then no set is under construction.
    #[inline(always)]
    pub(crate) fn open(&mut self, pmid: MetricId, values: usize, encoding: Encoding) -> Result<()> {
        self.set = ValueSetBuilder::new(&mut self.memory, pmid, values, encoding)?;
        self.put();
        Ok(())
    }

    /// Adds the value in an atom of type `kind`.
    ///
    /// # Errors
    /// The error of the value, or `-ENOMEM` for its block (FETCH-53): the set is as before.
    /// `-ENOMEM` if the set cannot grow: then it was freed with its values (F-6), and
    /// [`CResult::is_open`] is false.
    #[inline(always)]
    pub(crate) fn add(&mut self, kind: c_int, inst: c_int, atom: &Atom) -> Result<()> {
        if self.set.is_full() {
            self.grow()?;
        }
        let value = atom.stored(kind, |size| self.memory.allocate(size))?;
        // Room: the set is not full, as was checked, or it has grown.
        // SAFETY: the set has room for a value, as above.
        unsafe { self.set.push(pmValue { inst, value }) };
        Ok(())
    }

    /// Makes room for more values in the set under construction, which may move it.
    ///
    /// # Errors
    /// `-ENOMEM`; then the set was freed with its values (F-6).
    #[cold]
    fn grow(&mut self) -> Result<()> {
        let grown = self.set.grow(&mut self.memory);
        self.put();
        grown
    }

    /// The number of finished value sets.
    #[inline(always)]
    pub(crate) fn filled(&self) -> usize {
        self.filled
    }

    /// Returns whether a set is under construction.
    pub(crate) fn is_open(&self) -> bool {
        self.set.is_open()
    }

    /// Notes that an instance has no value, or the error of its value (FETCH-36).
    pub(crate) fn failed(&mut self, status: Result<()>) {
        self.set.tally.failed(status);
    }

    /// Ends the set with its `numval`: the number of values; without any, the error of the last
    /// instance, or 0 (FETCH-36).
    #[inline(always)]
    pub(crate) fn close(&mut self) {
        self.set.close();
        self.filled += 1;
    }

    /// Hands the result over. A block of the agent is valid until the agent's next fetch
    /// (FETCH-12).
    pub(crate) fn finish(&mut self, token: &mut Token) {
        // SAFETY: a complete result, which stays until the next fetch, as the manual of `pmdaFetch`
        // says; or until the arena is cleared, and then only code of ours has its address.
        unsafe { self.out.set_pointer(self.block.result.as_ptr()) };
        if let ResultMemory::Malloc(results) = self.memory {
            results.put_back(token, self.block);
        }
    }

    /// Gives up the result, and frees what was made for it. In the agent's block, `numpmid` is then
    /// the number of value sets that were finished (FETCH-74).
    #[cold]
    pub(crate) fn abandon(&mut self, token: &mut Token) {
        self.set.discard(&self.memory);
        if let ResultMemory::Malloc(results) = self.memory {
            // SAFETY: a block that this fetch alone has, with `filled` finished sets from malloc,
            // which nobody else has got. `put_back` does not read it.
            unsafe {
                (*self.block.result.as_ptr()).numpmid = c_int::try_from(self.filled).unwrap_or(c_int::MAX);
                (0..self.filled).for_each(|index| free_set(self.at(index).read()));
            }
            results.put_back(token, self.block);
        }
    }
}

/// The bytes of a value set in front of its values (FETCH-2).
const SET_HEADER: usize = offset_of!(pmValueSet, vlist);

/// The capacity of a set that was started without one, when it gets its first value.
const FIRST_VALUES: usize = 16;

/// A value set under construction, in a block of its own. It has no destructor, since a callback
/// may leave by `longjmp`.
struct ValueSetBuilder {
    /// The set, or NULL. It may move when a value is added.
    start: *mut pmValueSet,
    /// The number of values that fit into the block.
    capacity: usize,
    /// The number of values, and the status of the last instance without one.
    tally: Tally,
}

impl ValueSetBuilder {
    /// No set.
    const NONE: ValueSetBuilder = ValueSetBuilder {
        start: ptr::null_mut(),
        capacity: 0,
        tally: Tally::EMPTY,
    };

    /// An empty set with room for values of an encoding (FETCH-33).
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline(always)]
    fn new(
        memory: &mut ResultMemory<'_>,
        pmid: MetricId,
        values: usize,
        encoding: Encoding,
    ) -> Result<ValueSetBuilder> {
        let start = memory.allocate(ValueSetBuilder::size(values)?)?.cast::<pmValueSet>();
        // SAFETY: the new block has `size` bytes, which is room for the head of a set and its
        // values. Nobody else has its address yet.
        unsafe {
            (*start).pmid = pmid.0;
            (*start).numval = 0;
            (*start).valfmt = format(encoding);
        }
        Ok(ValueSetBuilder {
            start,
            capacity: values,
            tally: Tally::EMPTY,
        })
    }

    /// The size in bytes of a set with room for `values` values.
    ///
    /// # Errors
    /// `-ENOMEM` for more values than `numval` can count.
    fn size(values: usize) -> Result<usize> {
        let size = values
            .checked_mul(size_of::<pmValue>())
            .filter(|_| values <= Tally::MOST);
        size.and_then(|size| size.checked_add(SET_HEADER)).ok_or(Error::ENOMEM)
    }

    /// Returns whether the set exists.
    fn is_open(&self) -> bool {
        !self.start.is_null()
    }

    /// Returns whether the set has no room for one more value.
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.tally.count() >= self.capacity
    }

    /// Makes room for twice as many values, or for the first ones.
    ///
    /// # Errors
    /// `-ENOMEM`; then the set was freed with its values (F-6).
    #[cold]
    fn grow(&mut self, memory: &mut ResultMemory<'_>) -> Result<()> {
        let capacity = self.capacity.saturating_mul(2).max(FIRST_VALUES);
        match self.moved(memory, capacity) {
            Ok(start) => {
                (self.start, self.capacity) = (start, capacity);
                Ok(())
            }
            Err(error) => {
                self.discard(memory);
                Err(error)
            }
        }
    }

    /// Moves the set into a block with room for `capacity` values, and returns its address.
    ///
    /// # Errors
    /// `-ENOMEM`, also without a set; the old block is as it was.
    fn moved(&self, memory: &mut ResultMemory<'_>, capacity: usize) -> Result<*mut pmValueSet> {
        if self.start.is_null() {
            return Err(Error::ENOMEM);
        }
        let (before, size) = (ValueSetBuilder::size(self.capacity)?, ValueSetBuilder::size(capacity)?);
        let start = match memory {
            // SAFETY: the block is from malloc, and only this value has it. realloc leaves it as it
            // is when it fails.
            ResultMemory::Malloc(_) => unsafe { libc::realloc(self.start.cast(), size) },
            ResultMemory::Arena(arena) => {
                let start = arena.allocate(size)?;
                // SAFETY: the old block has `before` bytes, the new one `size`, which is more. They
                // are two pieces of the arena, so they do not overlap.
                unsafe { ptr::copy_nonoverlapping(self.start.cast(), start, before) };
                start.cast()
            }
        };
        if start.is_null() {
            return Err(Error::ENOMEM);
        }
        Ok(start.cast())
    }

    /// Adds a value.
    ///
    /// # Safety
    /// The set is not full.
    #[inline(always)]
    unsafe fn push(&mut self, value: pmValue) {
        // SAFETY: the block has room for `capacity` values, and there are fewer, as the caller
        // promises.
        unsafe {
            let first = (&raw mut (*self.start).vlist).cast::<pmValue>();
            first.add(self.tally.count()).write(value);
        }
        self.tally.stored();
    }

    /// Ends the set with its `numval`, and returns it; NULL without a set.
    #[inline(always)]
    fn close(&mut self) -> *mut pmValueSet {
        let start = std::mem::replace(&mut self.start, ptr::null_mut());
        if !start.is_null() {
            // SAFETY: not NULL, so a block that `new` or `grow` has made, and that nobody else has
            // yet.
            unsafe {
                (*start).numval = self.tally.numval();
                if self.tally.count() == 0 {
                    (*start).valfmt = PM_VAL_INSITU;
                }
            }
        }
        self.capacity = 0;
        start
    }

    /// Frees the set and its values. In an arena they stay until that is cleared.
    fn discard(&mut self, memory: &ResultMemory<'_>) {
        let set = self.close();
        if !set.is_null() && matches!(memory, ResultMemory::Malloc(_)) {
            // SAFETY: the set is from malloc, as are its values, of which `close` has stored the
            // number. `close` has taken it out of this value, so nobody has it any more.
            unsafe { free_set(set) };
        }
    }
}

/// Frees a value set as the caller of a fetch does (FETCH-71).
///
/// # Safety
/// A fetch has made the set with malloc, and has ended it. Nobody uses it any more.
unsafe fn free_set(set: *mut pmValueSet) {
    // SAFETY: the set is a block from malloc that nobody uses any more, as the caller promises.
    // With PM_VAL_DPTR each of its `numval` values has a block from malloc of its own. Each block
    // is freed once.
    unsafe {
        if (*set).valfmt == PM_VAL_DPTR {
            let values = (&raw const (*set).vlist).cast::<pmValue>();
            for index in 0..usize::try_from((*set).numval).unwrap_or(0) {
                libc::free((*values.add(index)).value.pval.cast());
            }
        }
        libc::free(set.cast());
    }
}

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
        // This does not allocate: the list has room for one more.
        self.chunks.push(chunk);
        self.used = words;
        Ok(start.cast())
    }

    /// Takes all pieces back. One chunk is kept for the next request: the largest one that is not
    /// above [`Arena::KEPT`].
    pub(crate) fn clear(&mut self) {
        self.chunks.retain(|chunk| chunk.capacity() <= Arena::KEPT);
        let surplus = self.chunks.len().saturating_sub(1);
        self.chunks.drain(..surplus);
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
