//! The result of a fetch: one block an agent, used again by each fetch (FETCH-12); and the reply
//! to a fetch, which is written while its values are being asked for.
//!
//! The block begins with what C sees of it: callers that are done with an agent free the result
//! like any other, with `pmFreeResult` or `free` (dbpmda does after a store that was refused). So
//! how large it is stands elsewhere.

use std::ffi::c_int;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::sys::lock::Mutex;
use crate::sys::threads;
use crate::view::arg::Out;
use crate::view::declare::view;
use crate::view::memory::Block;
use crate::view::types::{pmValueSet, pmdaResult, time_t, timeval};
use crate::view::value;
use crate::view::value::{Atom, ValueBlock};
use pmda_core::error::{Error, Result};
use pmda_core::fetch::{self, Encoding, Tally};
use pmda_core::ident::MetricId;
use pmda_core::wire::encode::{Reply, ResultBuilder};

/// How many blocks are kept with the fetch that works on them: one for a fetch, and one for a fetch
/// inside of that.
const SLOTS: usize = 2;

/// A fetch was left when another one begins in its frame, or so little above. Further above it may
/// be on a stack of its own, as coroutines have them, and go on later: then the C library's block
/// would be overwritten, and ours is left alone.
const NEAR: usize = 1 << 11;

/// A block from malloc with room for a number of value sets; NULL without room.
#[derive(Clone, Copy)]
struct Room {
    result: *mut pmdaResult,
    /// Number of value sets that there is room for.
    capacity: usize,
}

const NONE: Room = Room {
    result: ptr::null_mut(),
    capacity: 0,
};

view! {
    /// The head of a block.
    Head of pmdaResult, contract "`pointer` is NULL or a block with room for a result."
    fields {
        /// The number of value sets.
        count [set_count]: numpmid as c_int;
        /// The time stamp.
        stamp [set_stamp]: timestamp as timeval;
    }
}

impl Room {
    /// The head of the block, if there is one.
    #[inline(always)]
    fn head(self) -> Option<Head<'static>> {
        // SAFETY: NULL or a block of ours, which has room for a result and stays while it is worked
        // on.
        unsafe { Head::new(self.result) }
    }

    /// Frees the block, if there is one, when nothing leads to it any more.
    fn free(self) {
        // SAFETY: NULL or a block from malloc that was taken out of the agent's list: nobody else
        // has it.
        unsafe { libc::free(self.result.cast()) };
    }
}

/// Which fetch has taken a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct User {
    frame: usize,
    thread: u32,
}

impl User {
    /// The fetch that keeps its state here, on the stack.
    pub(crate) fn at<T>(state: &T) -> User {
        User {
            frame: ptr::from_ref(state).addr(),
            thread: threads::number(),
        }
    }

    /// Whether this fetch was left, now that another one begins. A fetch inside of it begins
    /// further down the stack.
    fn was_left(self, next: User) -> bool {
        self.thread == next.thread && next.frame.checked_sub(self.frame).is_some_and(|above| above < NEAR)
    }
}

/// A block, and the fetch that works on it.
#[derive(Clone, Copy)]
struct Slot {
    result: *mut pmdaResult,
    /// 0: no fetch does.
    frame: usize,
    thread: u32,
    capacity: u32,
}

const EMPTY: Slot = Slot {
    result: ptr::null_mut(),
    frame: 0,
    thread: 0,
    capacity: 0,
};

impl Slot {
    fn user(&self) -> User {
        User {
            frame: self.frame,
            thread: self.thread,
        }
    }

    fn set_user(&mut self, user: User) {
        (self.frame, self.thread) = (user.frame, user.thread);
    }
}

const NOBODY: User = User { thread: 0, frame: 0 };

/// The blocks of an agent.
struct Blocks {
    slots: [Slot; SLOTS],
    /// Of fetches further inside: one that none works on.
    beyond: Room,
}

/// The blocks of an agent: those of fetches that were left by `longjmp` are used again.
pub(crate) struct Results(Mutex<Blocks>);

impl Default for Results {
    fn default() -> Results {
        Results(Mutex::new(Blocks {
            slots: [EMPTY; SLOTS],
            beyond: NONE,
        }))
    }
}

// SAFETY: the blocks are memory from malloc, which any thread may use. A block that was taken out
// of its slot has one owner; the slots themselves are behind a lock.
unsafe impl Send for Blocks {}

/// A time stamp that begins with these bytes, and is zero behind them (FETCH-60).
pub(crate) fn time_from(bytes: [u8; 8]) -> timeval {
    // Seconds have 64 bits, or 32 in front of those of the microseconds.
    let (whole, [a, b, c, d, e, f, g, h]) = (i64::from_ne_bytes(bytes), bytes);
    let halves = [[a, b, c, d], [e, f, g, h]].map(|half| i64::from(i32::from_ne_bytes(half)));
    let [seconds, micros] = if size_of::<time_t>() == 8 { [whole, 0] } else { halves };
    timeval {
        tv_sec: narrowed(seconds),
        tv_usec: narrowed(micros),
    }
}

/// A number that fits the type that C has for it.
fn narrowed<T: TryFrom<i64> + Default>(number: i64) -> T {
    T::try_from(number).unwrap_or_default()
}

/// A result that a fetch fills in. It owns its block, but has no destructor: a callback may leave
/// by `longjmp`, and then the next fetch gets it. A fetch inside of this one uses another block.
pub(crate) struct ResultBlock {
    room: Room,
    /// How many value sets there will be.
    sets: usize,
    /// How many were put in.
    filled: usize,
}

impl ResultBlock {
    /// No block.
    pub(crate) const NONE: ResultBlock = ResultBlock {
        room: NONE,
        sets: 0,
        filled: 0,
    };

    /// Fills in the head: also the number of value sets, before there is any. Nothing of it is
    /// touched later, as the block may be somebody else's memory by then: dbpmda frees it after a
    /// store that was refused, and fetches again.
    pub(crate) fn begin(&mut self, stamp: timeval) {
        if let Some(head) = self.room.head() {
            head.set_stamp(stamp);
            head.set_count(c_int::try_from(self.sets).unwrap_or(c_int::MAX));
            self.put(ptr::null_mut());
        }
    }

    /// Puts in the next value set, which still gets its values.
    ///
    /// # Panics
    /// When there is no room.
    pub(crate) fn push(&mut self, set: *mut pmValueSet) {
        assert!(self.filled < self.sets, "{} value sets", self.filled);
        self.put(set);
        self.filled += 1;
        // A reader of the block of a fetch that was left sees how far it has come.
        self.put(ptr::null_mut());
    }

    /// Puts something in where the next value set will be, if there is to be one.
    fn put(&mut self, set: *mut pmValueSet) {
        if self.filled < self.sets {
            // SAFETY: the block has room for `sets` value sets.
            unsafe {
                let sets = (&raw mut (*self.room.result).vset).cast::<*mut pmValueSet>();
                sets.add(self.filled).write(set);
            }
        }
    }

    /// Takes the last value set out.
    pub(crate) fn pop(&mut self) {
        self.filled = self.filled.saturating_sub(1);
        self.put(ptr::null_mut());
    }

    /// Frees the value sets that were put in (FETCH-74).
    pub(crate) fn free_sets(&mut self) {
        let Some(head) = self.room.head() else { return };
        head.set_count(c_int::try_from(self.filled).unwrap_or(c_int::MAX));
        // SAFETY: a block of ours, whose first `filled` sets were made by the fetch that frees
        // them.
        unsafe {
            let sets = (&raw const (*head.as_ptr()).vset).cast::<*mut pmValueSet>();
            for index in 0..self.filled {
                value::free_set(sets.add(index).read());
            }
        }
        self.filled = 0;
    }

    /// Gives the result to C.
    pub(crate) fn store(&self, place: Out<'_, *mut pmdaResult>) {
        // SAFETY: a block of ours with a result, which stays until the next fetch (FETCH-12).
        unsafe { place.put(self.room.result) };
    }
}

impl Results {
    /// Takes a block, made larger when it has no room for `sets` value sets; there is always room
    /// for one.
    ///
    /// # Errors
    /// `-ENOMEM`; the agent keeps the block that it has (F-5).
    pub(crate) fn take(&self, sets: usize, user: User) -> Result<ResultBlock> {
        let room = self.pop(user);
        let room = if room.capacity >= sets && !room.result.is_null() {
            room
        } else {
            self.larger(room, sets, user)?
        };
        Ok(ResultBlock { room, sets, filled: 0 })
    }

    /// A block with room for more value sets than the one that there is.
    #[cold]
    fn larger(&self, room: Room, sets: usize, user: User) -> Result<Room> {
        let capacity = u32::try_from(sets.max(1)).ok();
        let more = (sets.max(1) - 1).checked_mul(size_of::<*mut pmValueSet>());
        let size = more.and_then(|more| more.checked_add(size_of::<pmdaResult>()));
        let made = size.zip(capacity).ok_or(Error::NOMEM);
        let made = made.and_then(|(size, capacity)| Ok((Block::<u8>::room(size)?.into_raw().cast(), capacity)));
        let mut blocks = self.0.lock();
        let slot = blocks.slots.iter_mut().find(|slot| slot.user() == user);
        let (result, capacity) = match (made, slot) {
            (Ok((result, capacity)), Some(slot)) => {
                (slot.result, slot.capacity) = (result, capacity);
                (result, capacity)
            }
            (Ok(made), None) => made,
            (Err(error), slot) => {
                match slot {
                    Some(slot) => slot.set_user(NOBODY),
                    None => blocks.beyond = room,
                }
                return Err(error);
            }
        };
        drop(blocks);
        room.free();
        let capacity = capacity as usize;
        Ok(Room { result, capacity })
    }

    /// The block of the first slot that no fetch works on any more, or what is beyond the slots.
    fn pop(&self, user: User) -> Room {
        let mut blocks = self.0.lock();
        let vacant = |slot: &&mut Slot| slot.user() == NOBODY || slot.user().was_left(user);
        let Some(slot) = blocks.slots.iter_mut().find(vacant) else {
            return std::mem::replace(&mut blocks.beyond, NONE);
        };
        let left = slot.user() != NOBODY;
        slot.set_user(user);
        let room = Room {
            result: slot.result,
            capacity: slot.capacity as usize,
        };
        drop(blocks);
        if left { forget_sets(room) } else { room }
    }

    /// Gives a block back: the next fetch uses it. What a fetch inside of this one has left stays
    /// for the next one inside of the next.
    pub(crate) fn put_back(&self, block: &mut ResultBlock) {
        let room = std::mem::replace(&mut block.room, NONE);
        if room.result.is_null() {
            return;
        }
        let mut blocks = self.0.lock();
        if let Some(slot) = blocks.slots.iter_mut().find(|slot| slot.result == room.result) {
            slot.set_user(NOBODY);
            return;
        }
        let before = std::mem::replace(&mut blocks.beyond, room);
        drop(blocks);
        before.free();
    }
}

/// Frees what a fetch that was left by `longjmp` has put in; the block is as good as new.
#[cold]
fn forget_sets(room: Room) -> Room {
    let Some(head) = room.head() else { return room };
    let sets = usize::try_from(head.count()).unwrap_or(0).min(room.capacity);
    // SAFETY: the fetch has put its value sets in, one after the other, and NULL behind them.
    let filled = unsafe {
        let places = (&raw const (*room.result).vset).cast::<*mut pmValueSet>();
        (0..sets)
            .take_while(|place| !places.add(*place).read().is_null())
            .count()
    };
    let mut block = ResultBlock { room, sets, filled };
    block.free_sets();
    block.room
}

/// A reply under construction that was taken out of its session for the time of one fetch. A
/// callback may start another fetch inside of this one, which finds none and uses one of its own.
///
/// It owns the draft, but has no destructor: when a callback leaves by `longjmp` the draft is lost,
/// once.
pub(crate) struct DraftReply {
    draft: NonNull<ResultBuilder>,
    /// What the set that is being written has.
    tally: Tally,
}

impl DraftReply {
    const fn new(draft: NonNull<ResultBuilder>) -> DraftReply {
        let tally = Tally::EMPTY;
        DraftReply { draft, tally }
    }

    /// Takes the draft out of its place, or makes one.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn take(home: &AtomicPtr<ResultBuilder>) -> Result<DraftReply> {
        if let Some(draft) = NonNull::new(home.swap(ptr::null_mut(), Ordering::AcqRel)) {
            return Ok(DraftReply::new(draft));
        }
        let draft = ResultBuilder::new()?;
        let block = Block::holding(draft)?;
        NonNull::new(block.into_raw()).map(DraftReply::new).ok_or(Error::NOMEM)
    }

    /// Puts the draft back; one that a fetch inside of this one has left there is freed.
    pub(crate) fn give_back(mut self, home: &AtomicPtr<ResultBuilder>) {
        self.draft().trim();
        let other = home.swap(self.draft.as_ptr(), Ordering::AcqRel);
        if !other.is_null() {
            // SAFETY: it was swapped out of its place, so it is ours alone; only what `take` has
            // made gets there.
            unsafe {
                ptr::drop_in_place(other);
                libc::free(other.cast());
            }
        }
    }

    #[inline(always)]
    fn draft(&mut self) -> &mut ResultBuilder {
        // SAFETY: written by `take`, and nobody else has its address as long as this is not given
        // back.
        unsafe { self.draft.as_mut() }
    }

    /// Starts the reply. Of the time stamp's seconds, which report changes, 32 bits are sent
    /// (MAIN-20).
    ///
    /// # Errors
    /// As the encoder of results.
    pub(crate) fn begin(&mut self, stamp: timeval, metrics: usize) -> Result<()> {
        self.draft().begin(stamp.tv_sec as u32, metrics)
    }

    /// Starts the set of a metric that will have about `values` values.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn open(&mut self, pmid: MetricId, values: usize) -> Result<()> {
        self.tally = Tally::EMPTY;
        self.draft().open(pmid, values)
    }

    /// Adds the value in an atom of type `kind`.
    ///
    /// # Errors
    /// As [`Atom::stored`]; the set is as before then.
    pub(crate) fn add(&mut self, kind: c_int, encoding: Encoding, inst: c_int, atom: &Atom) -> Result<()> {
        let draft = self.draft();
        match encoding {
            Encoding::InSitu => draft.word(inst, atom.word()),
            Encoding::Wide => draft.wide(inst, fetch::header(kind, 8)?, atom.wide()),
            Encoding::Narrow => draft.block(inst, fetch::header(kind, 4)?, &atom.word().to_be_bytes()),
            Encoding::Text => {
                let text = atom.text()?;
                draft.block(inst, fetch::header(kind, text.len())?, text)
            }
            Encoding::Copy => {
                let data = atom.data()?;
                draft.block(inst, fetch::header(kind, data.len())?, data)
            }
            Encoding::Borrowed => draft.deferred(inst, atom.checked_block()?.as_ptr().expose_provenance()),
            Encoding::Unknown => Err(Error::TYPE),
        }?;
        self.tally.stored();
        Ok(())
    }

    /// Notes that an instance has no value.
    pub(crate) fn failed(&mut self, status: Result<()>) {
        self.tally.failed(status);
    }

    /// Ends the set with its `numval`.
    pub(crate) fn close(&mut self) {
        let numval = self.tally.numval();
        self.draft().close(numval);
    }

    /// Completes the reply: the agent's own blocks are copied now (FETCH-52).
    ///
    /// # Errors
    /// As the encoder of results.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.draft().finish(|block| {
            // SAFETY: what was noted in `add` are addresses of blocks that were not NULL, and that
            // their agent keeps until the fetch is done, as `Atom::new` demands.
            unsafe { ValueBlock::new(ptr::with_exposed_provenance_mut(block)) }.map(ValueBlock::bytes)
        })
    }

    /// The finished reply.
    pub(crate) fn reply(&mut self) -> &mut Reply {
        self.draft().reply()
    }
}
