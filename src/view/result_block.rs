//! The result of `pmdaFetch`: one block an agent, used again by each fetch (FETCH-12), and value
//! sets, each in a block from malloc that the caller frees (FETCH-71).
//!
//! The block begins with what C sees, as callers may free the result with `pmFreeResult` or `free`
//! (dbpmda does after a store that was refused). So its size is elsewhere.

use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr;

use crate::sys::lock::{Mutex, Token};
use crate::view::arg::Out;
use crate::view::memory::Block;
use crate::view::types::{pmValue, pmValueSet, pmdaResult, timeval};
use crate::view::value::{Atom, ResultWriter, format};
use pmda_core::constants::{PM_VAL_DPTR, PM_VAL_INSITU};
use pmda_core::error::{Error, Result};
use pmda_core::fetch::{Encoding, Tally};
use pmda_core::ident::MetricId;

struct ResultBlock {
    result: *mut pmdaResult,
    /// Number of value sets that fit in.
    capacity: usize,
}

// SAFETY: the block is memory from malloc, which any thread may use, and has one owner.
unsafe impl Send for ResultBlock {}

impl ResultBlock {
    const NONE: ResultBlock = ResultBlock {
        result: ptr::null_mut(),
        capacity: 0,
    };

    /// A new block, for one value set at least.
    fn new(sets: usize) -> Result<ResultBlock> {
        let capacity = sets.max(1);
        let more = (capacity - 1).checked_mul(size_of::<*mut pmValueSet>());
        let size = more.and_then(|more| more.checked_add(size_of::<pmdaResult>()));
        let result = Block::<u8>::room(size.ok_or(Error::ENOMEM)?)?.into_raw().cast();
        Ok(ResultBlock { result, capacity })
    }
}

/// The spare blocks of an agent: one, and more if fetches were inside of each other. A fetch takes
/// the last one, and puts it back; when a callback leaves by `longjmp`, the block is lost.
#[derive(Default)]
pub(crate) struct Results(Mutex<Vec<ResultBlock>>);

impl Results {
    /// Takes a block with room for `sets` value sets; without memory the agent keeps its block
    /// (F-5).
    fn take(&self, token: &mut Token, sets: usize) -> Result<ResultBlock> {
        let block = self.0.lock(token).pop();
        match block {
            Some(block) if block.capacity >= sets => Ok(block),
            old => self.larger(token, old, sets),
        }
    }

    /// A block with room for more value sets.
    #[cold]
    fn larger(&self, token: &mut Token, old: Option<ResultBlock>, sets: usize) -> Result<ResultBlock> {
        let made = ResultBlock::new(sets);
        match (&made, old) {
            // SAFETY: a block from malloc that was taken out of the agent's list: nobody else has
            // it.
            (Ok(_), Some(old)) => unsafe { libc::free(old.result.cast()) },
            (Err(_), Some(old)) => self.put_back(token, old),
            (_, None) => {}
        }
        made
    }

    /// Puts a block back for the next fetch; without memory for the list it is lost. The list is
    /// short: it stays when the library is unloaded.
    fn put_back(&self, token: &mut Token, block: ResultBlock) {
        let mut blocks = self.0.lock(token);
        if blocks.try_reserve_exact(1).is_ok() {
            blocks.push(block);
        }
    }
}

/// The output of `pmdaFetch`.
pub(crate) struct CResult<'call> {
    /// The place for the finished result.
    place: Out<'call, *mut pmdaResult>,
    /// The owner of the block.
    results: &'static Results,
    block: ResultBlock,
    /// The final number of value sets.
    sets: usize,
    /// The number of finished value sets.
    filled: usize,
    /// The set under construction.
    set: ValueSetBuilder,
}

impl<'call> CResult<'call> {
    pub(crate) const fn new(place: Out<'call, *mut pmdaResult>, results: &'static Results) -> CResult<'call> {
        CResult {
            place,
            results,
            block: ResultBlock::NONE,
            sets: 0,
            filled: 0,
            set: ValueSetBuilder::NONE,
        }
    }

    /// The address of a value set in the block, whose place is less than `sets`.
    #[inline(always)]
    fn at(&self, place: usize) -> *mut *mut pmValueSet {
        assert!(place < self.sets, "value set {place} of {}", self.sets);
        // SAFETY: the block was taken with room for `sets` value sets.
        unsafe {
            (&raw mut (*self.block.result).vset)
                .cast::<*mut pmValueSet>()
                .add(place)
        }
    }

    /// Stores the set under construction, or NULL when it has gone.
    #[inline(always)]
    fn put(&self) {
        // SAFETY: a place in the block.
        unsafe { self.at(self.filled).write(self.set.start) };
    }

    fn put_back(&mut self, token: &mut Token) {
        if !self.block.result.is_null() {
            self.results
                .put_back(token, std::mem::replace(&mut self.block, ResultBlock::NONE));
        }
    }
}

impl ResultWriter for CResult<'_> {
    /// Fills in the head, with the number of value sets. It is not touched later, as the block may
    /// be somebody else's memory by then: dbpmda frees it after a store that was refused, and
    /// fetches again.
    fn begin(&mut self, token: &mut Token, metrics: usize, stamp: impl FnOnce() -> timeval) -> Result<()> {
        self.block = self.results.take(token, metrics)?;
        self.sets = metrics;
        let stamp = stamp();
        // SAFETY: a block of ours, which has room for a result.
        unsafe {
            (*self.block.result).timestamp = stamp;
            (*self.block.result).numpmid = c_int::try_from(metrics).unwrap_or(c_int::MAX);
        }
        Ok(())
    }

    #[inline(always)]
    fn open(&mut self, pmid: MetricId, values: usize, encoding: Encoding) -> Result<()> {
        self.set = ValueSetBuilder::new(pmid, values, encoding)?;
        self.put();
        Ok(())
    }

    #[inline(always)]
    fn add(&mut self, kind: c_int, inst: c_int, atom: &Atom) -> Result<()> {
        let before = self.set.start;
        let added = self.set.add(kind, inst, atom);
        if self.set.start != before {
            self.put();
        }
        added
    }

    fn is_open(&self) -> bool {
        self.set.is_open()
    }

    fn failed(&mut self, status: Result<()>) {
        self.set.tally.failed(status);
    }

    #[inline(always)]
    fn close(&mut self) {
        self.set.close();
        self.filled += 1;
    }

    fn finish(&mut self, token: &mut Token) -> Result<()> {
        // SAFETY: a block of ours with a result, which stays until the next fetch (FETCH-12).
        unsafe { self.place.put(self.block.result) };
        self.put_back(token);
        Ok(())
    }

    /// Frees the value sets; `numpmid` is the number of finished ones (FETCH-74).
    #[cold]
    fn abandon(&mut self, token: &mut Token) {
        self.set.discard();
        // SAFETY: a block of ours with as many sets as were finished, which nobody else has got.
        unsafe {
            (*self.block.result).numpmid = c_int::try_from(self.filled).unwrap_or(c_int::MAX);
            (0..self.filled).for_each(|place| free_set(self.at(place).read()));
        }
        self.put_back(token);
    }
}

/// Bytes of a value set in front of its values (FETCH-2): fewer where pointers have 32 bits.
const SET_HEADER: usize = offset_of!(pmValueSet, vlist);

/// First capacity of a set whose number of values is not known.
const FIRST_VALUES: usize = 16;

/// A value set under construction, in one block from malloc that the caller of the fetch frees
/// (FETCH-71). It has no destructor: when a callback leaves by `longjmp`, it is lost.
struct ValueSetBuilder {
    /// NULL without a set. Adding a value may move it.
    start: *mut pmValueSet,
    /// The number of values that fit in.
    capacity: usize,
    /// The number of values.
    tally: Tally,
}

impl ValueSetBuilder {
    const NONE: ValueSetBuilder = ValueSetBuilder {
        start: ptr::null_mut(),
        capacity: 0,
        tally: Tally::EMPTY,
    };

    /// An empty set with room for values of an encoding (FETCH-33).
    fn new(pmid: MetricId, values: usize, encoding: Encoding) -> Result<ValueSetBuilder> {
        let start = Block::<u8>::room(ValueSetBuilder::size(values)?)?
            .into_raw()
            .cast::<pmValueSet>();
        // SAFETY: the new block has room for the head of a set and some values, as `size` says, and
        // nobody else has its address yet.
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

    fn size(values: usize) -> Result<usize> {
        let size = values
            .checked_mul(size_of::<pmValue>())
            .filter(|_| values <= Tally::MOST);
        size.and_then(|size| size.checked_add(SET_HEADER)).ok_or(Error::ENOMEM)
    }

    fn is_open(&self) -> bool {
        !self.start.is_null()
    }

    /// Makes room for one more value; without memory the set is gone, with its values (F-6).
    #[cold]
    fn grow(&mut self) -> Result<()> {
        let values = self.capacity.saturating_mul(2).max(FIRST_VALUES);
        // SAFETY: the block is ours, from malloc or NULL; it stays as it is when realloc fails.
        let larger = ValueSetBuilder::size(values).map_or(ptr::null_mut(), |size| unsafe {
            libc::realloc(self.start.cast(), size)
        });
        if larger.is_null() {
            self.discard();
            return Err(Error::ENOMEM);
        }
        (self.start, self.capacity) = (larger.cast(), values);
        Ok(())
    }

    /// Adds the value in an atom of type `kind`. Errors are those of [`Atom::stored`], which leave
    /// the set as before, and `-ENOMEM`, after which it is gone.
    #[inline(always)]
    fn add(&mut self, kind: c_int, inst: c_int, atom: &Atom) -> Result<()> {
        let stored = self.tally.count();
        if stored >= self.capacity {
            self.grow()?;
        }
        let value = atom.stored(kind)?;
        // SAFETY: the block has room for `capacity` values, of which more are left, as was looked
        // at just now; when there were none, `grow` has made some.
        unsafe {
            let slot = (&raw mut (*self.start).vlist).cast::<pmValue>().add(stored);
            slot.write(pmValue { inst, value });
        }
        self.tally.stored();
        Ok(())
    }

    /// Ends the set with its `numval`, and returns it; NULL when there is none.
    #[inline(always)]
    fn close(&mut self) -> *mut pmValueSet {
        let start = std::mem::replace(&mut self.start, ptr::null_mut());
        if !start.is_null() {
            // SAFETY: not NULL, hence the block that `new` has made: nobody has got it before this.
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

    fn discard(&mut self) {
        let set = self.close();
        if !set.is_null() {
            // SAFETY: `close` has given the set out, here and nowhere else, with as many values as
            // were written; it is not looked at again.
            unsafe { free_set(set) };
        }
    }
}

/// Frees a value set as the caller of a fetch does (FETCH-71).
///
/// # Safety
/// The set is one that a fetch has made, and is not used any more.
unsafe fn free_set(set: *mut pmValueSet) {
    // SAFETY: the set and its values are in blocks from malloc that nobody uses any more, as the
    // caller promises: each is freed once. Values with a block of their own are marked PM_VAL_DPTR.
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
