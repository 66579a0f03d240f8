//! The result that `pmdaFetch` gives out: one block an agent, used again by each fetch (FETCH-12),
//! and value sets, each in a block from malloc that the caller frees (FETCH-71).
//!
//! The block begins with what C sees of it: callers that are done with an agent free the result
//! like any other, with `pmFreeResult` or `free` (dbpmda does after a store that was refused). So
//! how large it is stands elsewhere.

use std::ffi::c_int;
use std::ptr;

use crate::sys::lock::Mutex;
use crate::sys::threads;
use crate::view::arg::Out;
use crate::view::memory::Block;
use crate::view::types::{pmValue, pmValueSet, pmdaResult, timeval};
use crate::view::value::{Atom, DPTR, INSITU, Output, format};
use pmda_core::error::{Error, Result};
use pmda_core::fetch::{Encoding, Tally};
use pmda_core::ident::MetricId;

/// How many blocks are kept with the fetch that works on them: one for a fetch, and one for a fetch
/// inside of that.
const SLOTS: usize = 2;

/// A fetch was left when another one begins in its frame, or so little above. Further above it may
/// be on a stack of its own, as coroutines have them, and go on later: then the C library's block
/// would be overwritten, and ours is left alone.
const NEAR: usize = 1 << 11;

/// Which fetch has taken a block: where it keeps its state on the stack, and its thread.
#[derive(Clone, Copy, PartialEq, Eq)]
struct User {
    frame: usize,
    thread: u32,
}

impl User {
    /// Whether this fetch was left, now that another one begins. A fetch inside of it begins
    /// further down the stack.
    fn was_left(self, next: User) -> bool {
        self.thread == next.thread && next.frame.checked_sub(self.frame).is_some_and(|above| above < NEAR)
    }
}

/// A block from malloc for a result, and the fetch that works on it, if any.
#[derive(Clone, Copy)]
struct Slot {
    /// NULL if there is no block yet.
    result: *mut pmdaResult,
    /// Number of value sets that there is room for.
    capacity: usize,
    user: Option<User>,
}

const EMPTY: Slot = Slot {
    result: ptr::null_mut(),
    capacity: 0,
    user: None,
};

impl Slot {
    /// A new block; there is always room for one value set.
    fn new(sets: usize, user: Option<User>) -> Result<Slot> {
        let capacity = sets.max(1);
        let more = (capacity - 1).checked_mul(size_of::<*mut pmValueSet>());
        let size = more.and_then(|more| more.checked_add(size_of::<pmdaResult>()));
        let result = Block::<u8>::room(size.ok_or(Error::NOMEM)?)?.into_raw().cast();
        Ok(Slot { result, capacity, user })
    }

    /// Where the value sets stand in the block.
    #[inline(always)]
    fn sets(self) -> *mut *mut pmValueSet {
        // SAFETY: a block of ours, which has room for a result.
        unsafe { (&raw mut (*self.result).vset).cast() }
    }

    /// Frees the first `filled` value sets, which a fetch has made.
    fn free_sets(self, filled: usize) {
        // SAFETY: a block of ours, whose first `filled` sets were put in by the fetch that is over:
        // nobody else has got them.
        unsafe {
            (*self.result).numpmid = c_int::try_from(filled).unwrap_or(c_int::MAX);
            for place in 0..filled {
                free_set(self.sets().add(place).read());
            }
        }
    }

    /// Frees what a fetch that was left by `longjmp` has put in; the block is as good as new.
    #[cold]
    fn forget_sets(self) {
        if self.result.is_null() {
            return;
        }
        // SAFETY: the fetch has put its value sets in, one after the other, and NULL behind them.
        let filled = unsafe {
            let sets = usize::try_from((*self.result).numpmid).unwrap_or(0).min(self.capacity);
            let is_there = |place: &usize| !self.sets().add(*place).read().is_null();
            (0..sets).take_while(is_there).count()
        };
        self.free_sets(filled);
    }
}

/// The blocks of an agent.
struct Blocks {
    slots: [Slot; SLOTS],
    /// Of fetches further inside: one that none works on.
    beyond: Slot,
}

// SAFETY: the blocks are memory from malloc, which any thread may use. A block that was taken out
// of its slot has one owner; the slots themselves are behind a lock.
unsafe impl Send for Blocks {}

/// The blocks of an agent: those of fetches that were left by `longjmp` are used again.
pub(crate) struct Results(Mutex<Blocks>);

impl Default for Results {
    fn default() -> Results {
        Results(Mutex::new(Blocks {
            slots: [EMPTY; SLOTS],
            beyond: EMPTY,
        }))
    }
}

impl Results {
    /// Takes the block of the first slot that no fetch works on any more, or what is beyond the
    /// slots; made larger when it has no room for `sets` value sets.
    ///
    /// # Errors
    /// `-ENOMEM`; the agent keeps the block that it has (F-5).
    fn take(&self, sets: usize, user: User) -> Result<Slot> {
        let mut blocks = self.0.lock();
        let vacant = |slot: &&mut Slot| slot.user.is_none_or(|before| before.was_left(user));
        let (slot, left) = match blocks.slots.iter_mut().find(vacant) {
            Some(slot) => {
                let left = slot.user.replace(user).is_some();
                (*slot, left)
            }
            None => (std::mem::replace(&mut blocks.beyond, EMPTY), false),
        };
        drop(blocks);
        if left {
            slot.forget_sets();
        }
        if slot.capacity >= sets && !slot.result.is_null() {
            return Ok(slot);
        }
        self.larger(slot, sets)
    }

    /// A block with room for more value sets than the one that there is.
    #[cold]
    fn larger(&self, old: Slot, sets: usize) -> Result<Slot> {
        let made = Slot::new(sets, old.user);
        let mut blocks = self.0.lock();
        let own = blocks
            .slots
            .iter_mut()
            .find(|slot| slot.user.is_some() && slot.user == old.user);
        match (&made, own) {
            (Ok(made), Some(own)) => *own = *made,
            (Err(_), Some(own)) => own.user = None,
            (Err(_), None) => blocks.beyond = old,
            (Ok(_), None) => {}
        }
        drop(blocks);
        if made.is_ok() {
            // SAFETY: NULL or a block from malloc that was taken out of the agent's list: nobody
            // else has it.
            unsafe { libc::free(old.result.cast()) };
        }
        made
    }

    /// Gives a block back: the next fetch uses it. What a fetch inside of this one has left stays
    /// for the next one inside of the next.
    fn put_back(&self, block: Slot) {
        let mut blocks = self.0.lock();
        if let Some(own) = blocks.slots.iter_mut().find(|own| own.result == block.result) {
            own.user = None;
            return;
        }
        let before = std::mem::replace(&mut blocks.beyond, block);
        drop(blocks);
        // SAFETY: NULL or a block from malloc, which was just taken out of the list: nobody else
        // has it.
        unsafe { libc::free(before.result.cast()) };
    }
}

/// The output of `pmdaFetch`. A fetch inside of this one uses another block.
pub(crate) struct ToCaller<'call> {
    /// Where the result is stored in the end.
    place: Out<'call, *mut pmdaResult>,
    /// Where the block came from.
    results: Option<&'static Results>,
    block: Slot,
    /// How many value sets there will be.
    sets: usize,
    /// How many were put in.
    filled: usize,
    /// The set that gets values.
    set: ValueSet,
}

impl ToCaller<'_> {
    /// A result that is to be stored at a place.
    pub(crate) const fn new(place: Out<'_, *mut pmdaResult>) -> ToCaller<'_> {
        ToCaller {
            place,
            results: None,
            block: EMPTY,
            sets: 0,
            filled: 0,
            set: ValueSet::NONE,
        }
    }

    /// Puts in the next value set, which still gets its values.
    ///
    /// # Panics
    /// When there is no room.
    #[inline(always)]
    fn push(&mut self, set: *mut pmValueSet) {
        assert!(self.filled < self.sets, "{} value sets", self.filled);
        self.put(set);
        self.filled += 1;
        // A reader of the block of a fetch that was left sees how far it has come.
        self.put(ptr::null_mut());
    }

    /// Puts something in where the next value set will be, if there is to be one.
    #[inline(always)]
    fn put(&mut self, set: *mut pmValueSet) {
        if self.filled < self.sets {
            // SAFETY: the block was taken with room for `sets` value sets.
            unsafe { self.block.sets().add(self.filled).write(set) };
        }
    }

    /// Takes the last value set out.
    fn pop(&mut self) {
        self.filled = self.filled.saturating_sub(1);
        self.put(ptr::null_mut());
    }

    /// The set is somewhere else now, or gone.
    #[cold]
    fn moved(&mut self) {
        self.pop();
        if self.set.is_open() {
            self.push(self.set.start);
        }
    }

    fn put_back(&mut self) {
        if let Some(results) = self.results.take() {
            results.put_back(self.block);
        }
    }
}

impl Output for ToCaller<'_> {
    /// Fills in the head: also the number of value sets, before there is any. Nothing of it is
    /// touched later, as the block may be somebody else's memory by then: dbpmda frees it after a
    /// store that was refused, and fetches again.
    fn begin(&mut self, results: &'static Results, metrics: usize, stamp: impl FnOnce() -> timeval) -> Result<()> {
        let user = User {
            frame: ptr::from_ref(self).addr(),
            thread: threads::number(),
        };
        self.block = results.take(metrics, user)?;
        (self.results, self.sets) = (Some(results), metrics);
        let stamp = stamp();
        // SAFETY: a block of ours, which has room for a result.
        unsafe {
            (*self.block.result).timestamp = stamp;
            (*self.block.result).numpmid = c_int::try_from(metrics).unwrap_or(c_int::MAX);
        }
        self.put(ptr::null_mut());
        Ok(())
    }

    #[inline(always)]
    fn open(&mut self, pmid: MetricId, values: usize, encoding: Encoding) -> Result<()> {
        self.set = ValueSet::new(pmid, values, encoding)?;
        self.push(self.set.start);
        Ok(())
    }

    #[inline(always)]
    fn add(&mut self, kind: c_int, encoding: Encoding, inst: c_int, atom: &Atom) -> Result<()> {
        let before = self.set.start;
        let added = self.set.add(kind, encoding, inst, atom);
        if self.set.start != before {
            self.moved();
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
    }

    fn finish(&mut self) -> Result<()> {
        // SAFETY: a block of ours with a result, which stays until the next fetch (FETCH-12).
        unsafe { self.place.put(self.block.result) };
        self.put_back();
        Ok(())
    }

    /// Frees the value sets that were put in (FETCH-74).
    #[cold]
    fn abandon(&mut self) {
        if self.set.is_open() {
            self.pop();
            self.set.discard();
        }
        self.block.free_sets(self.filled);
        self.put_back();
    }
}

/// Bytes of a value set in front of its values (FETCH-2).
const SET_HEADER: usize = 16;

/// A metric set without knowing how many values it will get starts with this room.
const FIRST_VALUES: usize = 16;

/// A value set under construction, in one block from malloc that the caller of the fetch frees
/// (FETCH-71). It owns the block but has no destructor: a callback may leave by `longjmp`, and then
/// it is lost.
struct ValueSet {
    /// Adding a value may move it. NULL when there is no set.
    start: *mut pmValueSet,
    /// How many values there is room for.
    capacity: usize,
    /// How many values it has.
    tally: Tally,
}

impl ValueSet {
    /// No set.
    const NONE: ValueSet = ValueSet {
        start: ptr::null_mut(),
        capacity: 0,
        tally: Tally::EMPTY,
    };

    /// An empty set with room for values of an encoding (FETCH-33).
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn new(pmid: MetricId, values: usize, encoding: Encoding) -> Result<ValueSet> {
        let start = Block::<u8>::room(ValueSet::size(values)?)?
            .into_raw()
            .cast::<pmValueSet>();
        // SAFETY: the new block has room for the head of a set and some values, as `size` says, and
        // nobody else has its address yet.
        unsafe {
            (*start).pmid = pmid.0;
            (*start).numval = 0;
            (*start).valfmt = format(encoding);
        }
        Ok(ValueSet {
            start,
            capacity: values,
            tally: Tally::EMPTY,
        })
    }

    fn size(values: usize) -> Result<usize> {
        let size = values
            .checked_mul(size_of::<pmValue>())
            .filter(|_| values <= Tally::MOST);
        size.and_then(|size| size.checked_add(SET_HEADER)).ok_or(Error::NOMEM)
    }

    /// Whether there is a set.
    fn is_open(&self) -> bool {
        !self.start.is_null()
    }

    /// Makes room for one more value; when that fails the set is gone, with its values (F-6).
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<()> {
        let values = self.capacity.saturating_mul(2).max(FIRST_VALUES);
        // SAFETY: the block is ours, from malloc or NULL; it stays as it is when realloc fails.
        let larger = ValueSet::size(values).map_or(ptr::null_mut(), |size| unsafe {
            libc::realloc(self.start.cast(), size)
        });
        if larger.is_null() {
            self.discard();
            return Err(Error::NOMEM);
        }
        (self.start, self.capacity) = (larger.cast(), values);
        Ok(())
    }

    /// Adds the value in an atom of type `kind`.
    ///
    /// # Errors
    /// As [`Atom::stored`]; the set is as before then. And `-ENOMEM` when there is no room: then it
    /// is gone.
    #[inline(always)]
    fn add(&mut self, kind: c_int, encoding: Encoding, inst: c_int, atom: &Atom) -> Result<()> {
        let stored = self.tally.count();
        if stored >= self.capacity {
            self.grow()?;
        }
        let value = atom.stored(kind, encoding)?;
        // SAFETY: the block has room for `capacity` values, of which more are left, as was looked
        // at just now; when there were none, `grow` has made some.
        unsafe {
            let slot = (&raw mut (*self.start).vlist).cast::<pmValue>().add(stored);
            slot.write(pmValue { inst, value });
        }
        self.tally.stored();
        Ok(())
    }

    /// Ends the set with its `numval`, and gives it out; NULL when there is none.
    #[inline(always)]
    fn close(&mut self) -> *mut pmValueSet {
        let start = std::mem::replace(&mut self.start, ptr::null_mut());
        if !start.is_null() {
            // SAFETY: not NULL, hence the block that `new` has made: nobody has got it before this.
            unsafe {
                (*start).numval = self.tally.numval();
                if self.tally.count() == 0 {
                    (*start).valfmt = INSITU;
                }
            }
        }
        self.capacity = 0;
        start
    }

    /// Frees the set and its values.
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
    // caller promises: each is freed once. Values with a block of their own are marked DPTR.
    unsafe {
        if (*set).valfmt == DPTR {
            let values = (&raw const (*set).vlist).cast::<pmValue>();
            for index in 0..usize::try_from((*set).numval).unwrap_or(0) {
                libc::free((*values.add(index)).value.pval.cast());
            }
        }
        libc::free(set.cast());
    }
}
