//! The cache of an instance domain: stable ids for names that come and go (`pmdaCache*`).
//!
//! A [`Cache`] lists its entries by id, finds them by id, name and key, and remembers as much of
//! the C library's hash chains as its debug dump shows (CACHE-81). `T` is what the agent attaches
//! to an instance; it is handed back and printed, never looked into.
//!
//! What is done to one instance is in the files beside this one; what is done to all of them at
//! once, at the end of it.

mod disk;
mod entry;
mod file;
mod ids;
mod keys;
mod load;
mod lookup;
mod names;
mod op;
mod persist;
mod store;
mod stream;
#[cfg(test)]
mod tests;

pub use entry::State;
use entry::{Entry, NewText, Slab};
use ids::{Ids, Order};
use keys::Keys;
pub use load::CacheFile;
pub use lookup::{Given, Hit, Position, Start};
pub use op::{Action, Op, Report, Unknown};
pub use persist::{Directory, SaveState, Snapshot, Write, Writer};

use crate::error::{Error, Result};
use crate::ident::InDom;
use crate::index::{Index, Seed};

/// The greatest instance id, and the limit of a cache that was never resized.
pub const MAXIMUM: u32 = 0x7fff_ffff;

/// How many culled entries are kept, as the C library does. More are reclaimed when they outnumber
/// the live ones, so that a domain whose instances come and go needs bounded memory.
const CULLED_KEPT: usize = 1024;

/// How ids are chosen (CACHE-40, CACHE-42).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Mode {
    /// One more than the greatest id that there ever was.
    Monotonic = 0,
    /// The lowest that is free.
    Reuse = 1,
}

/// The cache of one domain (CACHE-1). What hardly ever changes stands at the end, where another
/// domain may begin.
#[derive(Debug)]
#[repr(C)]
pub struct Cache<T> {
    slab: Slab<T>,
    ids: Ids,
    /// Slots of the live entries, by short name, and of culled ones (see `names`).
    names: Index,
    order: Order,
    active: usize,
    inactive: usize,
    empty: usize,
    /// Counts what makes an instance active, or ends that, and what changes the list.
    changes: u64,
    /// How many insertions follow this one, for all that is known; so far as there is memory, the
    /// tables grow for all.
    expected: u32,
    /// Culled entries that are still in the table of names.
    stale: u32,
    /// No live entry has a lower time stamp, other than 0.
    oldest: i64,
    /// Where the next one to be stored is looked for first.
    next: u32,
    /// One more than the greatest id that was ever listed.
    above: u32,
    /// No listed entry has a lower free id; only reclaiming makes ids free.
    lowest: u32,
    /// Entries that were ever inserted (CACHE-33).
    inserted: u32,
    /// Number of chains that the C library would have (CACHE-80).
    chains: u32,
    /// The next entry's place in the chains.
    sequence: u32,
    /// Of the live entries.
    keys: Keys,
    /// The set of instances differs from the file's.
    instances_dirty: bool,
    /// Only time stamps or the limit differ.
    stamps_dirty: bool,
    /// Whether the leftovers of killed agents were removed.
    swept: bool,
    mode: Mode,
    strings: bool,
    /// The limit was set by the agent: that of a file does not count.
    limited: bool,
    maximum: u32,
    /// Who writes the file at this moment, or [`Writer::NOBODY`].
    writer: Writer,
    indom: InDom,
    /// What a file holds above the limit.
    over_limit: Vec<persist::OverLimitRecord>,
    /// How often a key's id was free at the first, second, ... attempt; few caches have keys.
    attempts: Option<Box<[u32; store::ATTEMPTS]>>,
}

/// Makes room for more elements, and some beside them.
///
/// # Errors
/// `-ENOMEM`; the list is as it was.
fn room<E>(list: &mut Vec<E>, more: usize) -> Result<()> {
    if list.capacity() - list.len() >= more {
        return Ok(());
    }
    let more = more.max(growth::<E>(list.len()));
    list.try_reserve_exact(more).map_err(|_| Error::NOMEM)
}

/// By how many elements a list grows: small ones double, others get a quarter more, so that little
/// memory is unused at any size (DEF-14).
fn growth<E>(len: usize) -> usize {
    if len * size_of::<E>() < 1024 { len } else { len / 4 }
}

impl<T: Copy> Cache<T> {
    /// An empty cache; it owns no memory yet (CACHE-5).
    #[must_use]
    pub const fn new(indom: InDom, seed: Seed) -> Cache<T> {
        Cache {
            indom,
            slab: Slab::new(),
            keys: Keys::new(seed),
            ids: Ids::new(),
            names: Index::new(),
            order: Order::new(),
            mode: Mode::Monotonic,
            strings: false,
            instances_dirty: false,
            stamps_dirty: false,
            maximum: MAXIMUM,
            limited: false,
            over_limit: Vec::new(),
            writer: Writer::NOBODY,
            above: 0,
            lowest: 0,
            active: 0,
            inactive: 0,
            empty: 0,
            stale: 0,
            inserted: 0,
            chains: 16,
            sequence: 0,
            oldest: i64::MAX,
            next: 0,
            expected: 0,
            changes: 0,
            swept: false,
            attempts: None,
        }
    }

    /// The counter of a state.
    fn counter(&mut self, state: State) -> Option<&mut usize> {
        match state {
            State::Active => Some(&mut self.active),
            State::Inactive => Some(&mut self.inactive),
            State::Empty => Some(&mut self.empty),
            State::Free => None,
        }
    }

    /// Culls an entry that is live.
    fn cull(&mut self, slot: u32) {
        self.names.remove(self.slab.get(slot).hash, slot);
        self.keys.take(slot);
        self.set_state(slot, State::Empty);
    }

    /// Changes the state of an entry that is live. One that is culled has no name or key any more.
    fn set_state(&mut self, slot: u32, state: State) {
        let entry = self.slab.get_mut(slot);
        let old = std::mem::replace(&mut entry.state, state);
        if old == state {
            return;
        }
        self.changes += u64::from(old == State::Active || state == State::Active);
        if let Some(count) = self.counter(old) {
            *count -= 1;
        }
        if let Some(count) = self.counter(state) {
            *count += 1;
        }
    }

    /// Makes room for a key of any entry; none is needed for an empty one.
    fn reserve_key(&mut self, key: &NewText<'_>) -> Result<()> {
        if key.bytes().is_empty() {
            return Ok(());
        }
        self.keys
            .reserve(key.bytes(), self.slab.len() + 1, self.expected as usize)
    }

    /// Gives an entry another key, for which there is room; an empty one is none.
    fn set_key(&mut self, slot: u32, key: NewText<'_>) {
        let old = self.keys.get(slot);
        // Comparing two empty slices takes 70 ns on some processors: memcmp looks at what a
        // dangling pointer leads to.
        if !(old.is_empty() && key.bytes().is_empty()) && old != key.bytes() {
            self.keys.set(slot, key);
        }
    }
}

impl<T: Copy> Cache<T> {
    /// Makes all inactive instances active; returns how many (CACHE-22).
    pub fn activate_all(&mut self) -> usize {
        self.set_all(State::Inactive, State::Active);
        let changed = std::mem::take(&mut self.inactive);
        self.active += changed;
        changed
    }

    /// Makes all active instances inactive; returns how many (CACHE-22).
    pub fn deactivate_all(&mut self) -> usize {
        self.set_all(State::Active, State::Inactive);
        let changed = std::mem::take(&mut self.active);
        self.inactive += changed;
        changed
    }

    fn set_all(&mut self, from: State, to: State) {
        let mut changed = 0;
        let mut set = |entry: &mut Entry<T>| {
            if entry.state == from {
                entry.state = to;
                changed += 1;
            }
        };
        // The slab is passed faster; but after a peak it is large, and hardly any of it is listed.
        if self.order.len() < self.slab.len() as usize / 4 {
            let places = self.order.iter();
            places.for_each(|place| set(self.slab.get_mut(place.slot)));
        } else {
            self.slab.for_each(set);
        }
        self.changes += changed;
    }

    /// Culls all instances, and those of the file that are above the limit; returns how many there
    /// were of the former (CACHE-22).
    pub fn cull_all(&mut self) -> usize {
        let culled = self.active + self.inactive;
        if culled > 0 {
            self.names.take_all();
            self.stale = 0;
            for slot in 0..self.slab.len() {
                let entry = self.slab.get_mut(slot);
                if entry.is_live() {
                    entry.state = State::Empty;
                    self.keys.take(slot);
                }
            }
            self.empty += culled;
            self.changes += self.active as u64;
            (self.active, self.inactive) = (0, 0);
        }
        self.instances_dirty |= culled > 0 || !self.over_limit.is_empty();
        self.over_limit.clear();
        culled
    }

    /// Culls what was written before `limit` and not stored since (CACHE-62). Returns how many, and
    /// what was attached to them, in ascending order of ids (CACHE-63).
    ///
    /// # Errors
    /// `-ENOMEM`; nothing was culled.
    pub fn purge(&mut self, limit: i64) -> Result<(usize, Vec<T>)> {
        let mut attached = Vec::new();
        // Agents purge much more often than there is something to purge.
        if limit <= self.oldest {
            return Ok((0, attached));
        }
        room(&mut attached, self.active + self.inactive)?;
        let mut oldest = i64::MAX;
        let (mut active, mut inactive) = (0, 0);
        for place in self.order.places(&self.slab) {
            let entry = self.slab.get_mut(place.slot);
            if !entry.is_live() || entry.stamp == 0 {
                continue;
            }
            if entry.stamp >= limit {
                oldest = oldest.min(entry.stamp);
                continue;
            }
            if let Some(private) = entry.private.take() {
                attached.push(private);
            }
            let was_active = usize::from(entry.state == State::Active);
            active += was_active;
            inactive += 1 - was_active;
            entry.state = State::Empty;
            self.keys.take(place.slot);
        }
        self.oldest = oldest;
        let count = active + inactive;
        self.active -= active;
        self.inactive -= inactive;
        self.empty += count;
        self.stale += count as u32;
        self.changes += active as u64;
        self.instances_dirty |= count > 0;
        Ok((count, attached))
    }

    /// Culls all inactive instances; returns how many.
    pub fn cull_inactive(&mut self) -> usize {
        let culled = std::mem::take(&mut self.inactive);
        if culled == 0 {
            return 0;
        }
        for slot in 0..self.slab.len() {
            let entry = self.slab.get_mut(slot);
            if entry.state == State::Inactive {
                entry.state = State::Empty;
                entry.private = None;
                self.keys.take(slot);
            }
        }
        self.empty += culled;
        self.stale += culled as u32;
        self.instances_dirty = true;
        culled
    }

    /// Lets ids be used again (CACHE-24).
    pub fn reuse(&mut self) {
        self.mode = Mode::Reuse;
    }

    /// Makes whole names count, not only their part before the first space (CACHE-24).
    ///
    /// # Errors
    /// `-E2BIG` when there ever was an instance.
    pub fn use_strings(&mut self) -> Result<()> {
        if self.inserted > 0 {
            return Err(Error::E2BIG);
        }
        self.strings = true;
        Ok(())
    }

    /// Sets the greatest id that may be handed out (CACHE-65), also after a file with another limit
    /// was loaded.
    ///
    /// # Errors
    /// `PM_ERR_SIGN` for a negative one, `PM_ERR_TOOBIG` when a listed instance has a greater id.
    pub fn resize(&mut self, maximum: i32) -> Result<()> {
        let maximum = u32::try_from(maximum).map_err(|_| Error::SIGN)?;
        let last = self.order.places(&self.slab).last();
        if last.is_some_and(|place| place.id > maximum) {
            return Err(Error::TOOBIG);
        }
        self.maximum = maximum;
        self.limited = true;
        self.stamps_dirty = true;
        Ok(())
    }
}
