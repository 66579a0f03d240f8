//! The cache of an instance domain: stable ids for names that come and go (`pmdaCache*`).
//!
//! A [`Cache`] lists its entries by id, and finds them by id, name and key. `T` is what the agent
//! attaches to an instance; it is handed back and printed, but never looked into.
//!
//! An instance is active, inactive or culled. A culled one is neither found nor saved, but its
//! entry stays listed until it is reclaimed, as in the C library: until then its id is not given
//! out again, and pointers to its name stay valid (CACHE-3, CACHE-25).
//!
//! This file finds instances, walks over them ([`WalkEntry`]), and has the operations on all of
//! them. The other files store instances (`store`), list them (`id_list`), and read and write the
//! cache's file (`load`, `persist`, `file`).

mod dump;
mod entry;
mod file;
mod id_list;
mod keys;
mod load;
mod persist;
mod store;

use std::sync::atomic::{AtomicU32, Ordering};

pub use entry::{Entry, EntryState};
use entry::{ShortName, Slab, SmallText, equal, reserve, signed};
use file::OverLimitRecord;
use id_list::{IdList, ListedSlot, Mode};
pub use id_list::{MAXIMUM, Position};
use keys::{Attempts, Key, Keys};
pub use load::CacheFile;
pub use persist::{Snapshot, Write, directory_below, file_path};
pub use store::Added;

use crate::error::{Error, Result};
use crate::ident::InDom;
use crate::index::{Index, Seed};
use crate::log::Journal;

/// The number of culled entries that are kept until the tables grow, as in the C library. More than
/// these are reclaimed when they outnumber the live ones, so that a domain whose instances come and
/// go needs bounded memory.
const CULLED_KEPT: usize = 1024;

/// The cache of one domain (CACHE-1). Fields that are seldom used stand at the end.
#[derive(Debug)]
#[repr(C)]
pub struct Cache<T> {
    slab: Slab<T>,
    /// One slot for each short name: of the live entry that has it, or of a culled one that is not
    /// reclaimed. So a purge has nothing to do here.
    names: Index,
    /// All entries by id, culled ones included.
    order: IdList,
    /// The number of active entries.
    active: usize,
    /// The number of inactive entries.
    inactive: usize,
    /// The number of culled entries that are not reclaimed.
    empty: usize,
    /// A lower bound of the live entries' time stamps other than 0, in seconds: a purge up to here
    /// finds nothing.
    oldest: i64,
    indom: InDom,
    /// The slot that [`Cache::store`] tries first: the slot after that of the instance stored last.
    next: u32,
    /// One more than the greatest id that has ever been listed.
    above: u32,
    /// No id below this one is free. Only reclaiming makes ids free.
    lowest: u32,
    /// The number of entries that were ever inserted (CACHE-33).
    inserted: u32,
    /// The number of saves that have ended.
    saves: u32,
    /// The last load has failed for a reason that may pass: the file has numbers that are not here
    /// (DEF-20).
    unread: bool,
    /// The keys of the live entries.
    keys: Keys,
    /// True if the set of instances differs from that of the file.
    instances_dirty: bool,
    /// True if time stamps or the limit differ from those of the file.
    stamps_dirty: bool,
    mode: Mode,
    /// True if debug output is wanted (`-Dindom`).
    pub debug: bool,
    /// True if whole names count, not only their part before the first space
    /// (`PMDA_CACHE_STRINGS`).
    strings: bool,
    /// True if the agent has set the limit: that of a file does not count.
    limited: bool,
    /// The greatest id that may be handed out.
    maximum: u32,
    /// Lines to be logged. The caller takes them, and writes them when nothing is locked.
    pub journal: Journal,
    /// The records of the file whose ids are above the limit.
    over_limit: Vec<OverLimitRecord>,
    /// For the dump.
    attempts: Attempts,
}

/// The number that [`changes`] returns.
static CHANGES: AtomicU32 = AtomicU32::new(0);

/// Returns a number that changes whenever an instance becomes active or inactive, and whenever an
/// entry is listed or reclaimed. A caller that has kept a list of instances compares the number to
/// know whether the list is still right. All caches behind one lock share the number.
#[must_use]
#[inline]
pub fn changes() -> u32 {
    CHANGES.load(Ordering::Relaxed)
}

/// Notes a change, under the lock: no other thread counts at the same time.
fn count_change() {
    CHANGES.store(changes().wrapping_add(1), Ordering::Relaxed);
}

impl<T: Copy> Cache<T> {
    /// An empty cache, which owns no memory yet (CACHE-5).
    #[must_use]
    pub const fn new(indom: InDom, seed: Seed) -> Cache<T> {
        Cache {
            indom,
            slab: Slab::new(),
            keys: Keys::new(seed),
            names: Index::new(),
            order: IdList::new(),
            mode: Mode::Monotonic,
            strings: false,
            instances_dirty: false,
            stamps_dirty: false,
            maximum: MAXIMUM,
            limited: false,
            over_limit: Vec::new(),
            journal: Journal::new(),
            debug: false,
            saves: 0,
            unread: false,
            above: 0,
            lowest: 0,
            active: 0,
            inactive: 0,
            empty: 0,
            inserted: 0,
            oldest: i64::MAX,
            next: 0,
            attempts: Attempts::NONE,
        }
    }

    /// The instance domain.
    #[must_use]
    pub fn indom(&self) -> InDom {
        self.indom
    }

    /// The number of entries in a state; `None` for slots without an entry.
    fn counter(&mut self, state: EntryState) -> Option<&mut usize> {
        match state {
            EntryState::Active => Some(&mut self.active),
            EntryState::Inactive => Some(&mut self.inactive),
            EntryState::Empty => Some(&mut self.empty),
            EntryState::Free => None,
        }
    }

    /// Makes a live entry inactive or culled, and counts it. A caller that culls also takes the
    /// entry's key.
    fn set_state(&mut self, slot: u32, state: EntryState) {
        let entry = self.slab.get_mut(slot);
        let old = std::mem::replace(&mut entry.state, state);
        if old == state {
            return;
        }
        if old == EntryState::Active {
            count_change();
        }
        if let Some(count) = self.counter(old) {
            *count -= 1;
        }
        if let Some(count) = self.counter(state) {
            *count += 1;
        }
    }

    /// Makes room for the key of any entry, also of the next new one. An empty key needs none.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn reserve_key(&mut self, key: &SmallText) -> Result<()> {
        if key.bytes().is_empty() {
            return Ok(());
        }
        self.keys.reserve(self.slab.len() + 1)
    }
}

impl<T: Copy> Cache<T> {
    /// The live entry that has the short name of a name (CACHE-10).
    #[inline(always)]
    fn find_short_name(&self, name: &[u8], short_name: ShortName) -> Option<u32> {
        let text = &name[..short_name.len];
        let same = |slot: u32| {
            let entry = self.slab.get(slot);
            entry.hash == short_name.hash && equal(entry.short_name(), text)
        };
        let slot = self.names.find(short_name.hash, same)?;
        self.slab.get(slot).is_live().then_some(slot)
    }

    /// Returns whether a name, which has the short name of an entry, is a name of that entry
    /// (CACHE-10): it is the whole name, or ends where the short name ends.
    fn is_name_of(&self, slot: u32, name: &[u8], short_name: ShortName) -> bool {
        short_name.len == name.len() || self.slab.get(slot).name() == name
    }

    /// The live entry with an id.
    fn find_id(&self, id: u32) -> Option<u32> {
        self.order.find(id).filter(|slot| self.slab.get(*slot).is_live())
    }

    /// The live entry with a key; of several, which only a file can make, the one with the lowest
    /// id. An empty key finds the lowest entry without a key (CACHE-31).
    fn find_key(&self, key: &[u8]) -> Option<u32> {
        if key.is_empty() || self.keys.is_shared() {
            let mut slots = self.order.iter().map(|listed| listed.slot);
            return slots.find(|slot| self.slab.get(*slot).is_live() && equal(self.keys.get(*slot), key));
        }
        self.keys.find(key)
    }

    /// The instance with an id (CACHE-30).
    ///
    /// # Errors
    /// `PM_ERR_INST` when there is none.
    pub fn lookup(&self, id: i32) -> Result<&Entry<T>> {
        // A negative number becomes one that is greater than all ids.
        let id = u32::from_ne_bytes(id.to_ne_bytes());
        if id >= self.above {
            return Err(Error::INST);
        }
        // An attempt: slots are taken in ascending order, as ids are, so mostly both are the same.
        match self.slab.guess(id) {
            Some(entry) if entry.id == id && entry.is_live() => Ok(entry),
            _ => self.lookup_anywhere(id),
        }
    }

    /// [`Cache::lookup`] by a search.
    #[inline(never)]
    fn lookup_anywhere(&self, id: u32) -> Result<&Entry<T>> {
        Ok(self.slab.get(self.find_id(id).ok_or(Error::INST)?))
    }

    /// The instance that has the short name of a name, whatever follows it (CACHE-10, CACHE-30).
    /// Agents rely on this, although no store would accept the whole name.
    ///
    /// # Errors
    /// `PM_ERR_INST` when there is none.
    pub fn lookup_name(&self, name: &[u8]) -> Result<&Entry<T>> {
        let slot = self.find_short_name(name, self.short_name(name)).ok_or(Error::INST)?;
        Ok(self.slab.get(slot))
    }

    /// The instance with a key, or with the name as its key (CACHE-31).
    ///
    /// # Errors
    /// `PM_ERR_INST` when there is none, or neither a key nor a name is given.
    pub fn lookup_key(&mut self, name: Option<&[u8]>, key: &[u8]) -> Result<&Entry<T>> {
        let effective = if key.is_empty() { name } else { Some(key) };
        if let Some(slot) = effective.and_then(|key| self.find_key(key)) {
            return Ok(self.slab.get(slot));
        }
        if self.debug {
            self.journal.trace(format_args!(
                "pmdaCacheLookupKey: indom {}: {}: no matching key in cache\n",
                self.indom,
                Key(effective.unwrap_or_default())
            ));
        }
        Err(Error::INST)
    }

    /// The active instances in ascending order of ids, with their names.
    pub fn actives(&self) -> impl Iterator<Item = (i32, &[u8])> {
        self.instances_in(EntryState::Active)
    }

    /// The inactive instances in ascending order of ids, with their names.
    pub fn inactives(&self) -> impl Iterator<Item = (i32, &[u8])> {
        self.instances_in(EntryState::Inactive)
    }

    fn instances_in(&self, state: EntryState) -> impl Iterator<Item = (i32, &[u8])> {
        let slab = &self.slab;
        let entries = self.order.iter().map(|listed| slab.get(listed.slot));
        let entries = entries.filter(move |entry| entry.state == state);
        entries.map(|entry| (signed(entry.id), entry.name()))
    }

    /// Number of active instances (CACHE-33).
    #[must_use]
    pub fn active(&self) -> usize {
        self.active
    }

    /// Number of inactive instances (CACHE-33).
    #[must_use]
    pub fn inactive(&self) -> usize {
        self.inactive
    }

    /// Number of instances that were ever inserted (CACHE-33).
    #[must_use]
    pub fn inserted(&self) -> u32 {
        self.inserted
    }
}

impl<T: Copy> Cache<T> {
    /// Makes all inactive instances active; returns how many (CACHE-22).
    pub fn activate_all(&mut self) -> usize {
        self.set_all(EntryState::Inactive, EntryState::Active)
    }

    /// Makes all active instances inactive; returns how many (CACHE-22).
    pub fn deactivate_all(&mut self) -> usize {
        self.set_all(EntryState::Active, EntryState::Inactive)
    }

    /// Changes the state of all entries that are in state `from`; returns how many.
    fn set_all(&mut self, from: EntryState, to: EntryState) -> usize {
        // Along the list, not the slots: the number of slots is the largest number of entries that
        // the cache has ever had at a time.
        for listed in self.order.iter() {
            let entry = self.slab.get_mut(listed.slot);
            if entry.state == from {
                entry.state = to;
            }
        }
        count_change();
        let changed = self.counter(from).map_or(0, std::mem::take);
        if let Some(count) = self.counter(to) {
            *count += changed;
        }
        changed
    }

    /// Culls all instances, and forgets the records of the file that are above the limit. Returns
    /// the number of instances (CACHE-22).
    pub fn cull_all(&mut self) -> usize {
        self.instances_dirty |= !self.over_limit.is_empty();
        self.over_limit.clear();
        self.cull_where(|_| true)
    }

    /// Culls all inactive instances; returns how many. Active ones stay.
    pub fn cull_inactive(&mut self) -> usize {
        self.cull_where(|entry| entry.state == EntryState::Inactive)
    }

    /// Culls the instances that `is_culled` accepts; returns how many.
    fn cull_where(&mut self, mut is_culled: impl FnMut(&Entry<T>) -> bool) -> usize {
        let (mut active, mut inactive) = (0, 0);
        self.slab.for_each(|slot, entry| {
            if entry.is_live() && is_culled(entry) {
                match entry.state {
                    EntryState::Active => active += 1,
                    _ => inactive += 1,
                }
                entry.state = EntryState::Empty;
                self.keys.take(slot);
            }
        });
        self.active -= active;
        self.inactive -= inactive;
        let culled = active + inactive;
        self.empty += culled;
        self.instances_dirty |= culled > 0;
        count_change();
        culled
    }

    /// Culls the instances that were saved before `limit`, in seconds since the epoch, and not
    /// stored since (CACHE-62); returns how many. The ids and what was attached to them are added
    /// to the list, if one is given, in ascending order of ids (CACHE-63).
    ///
    /// # Errors
    /// `-ENOMEM`; nothing was culled.
    pub fn purge(&mut self, limit: i64, mut attached: Option<&mut Vec<(u32, T)>>) -> Result<usize> {
        // The usual case: agents purge much more often than an instance is old enough.
        if limit <= self.oldest {
            return Ok(0);
        }
        if let Some(list) = &mut attached {
            reserve(list, self.active + self.inactive)?;
        }
        let mut oldest = i64::MAX;
        let culled = self.cull_where(|entry| {
            let is_old = entry.stamp != 0 && entry.stamp < limit;
            if let (Some(list), true) = (&mut attached, is_old) {
                list.extend(entry.private.map(|private| (entry.id, private)));
            }
            if entry.stamp != 0 && !is_old {
                oldest = oldest.min(entry.stamp);
            }
            is_old
        });
        self.oldest = oldest;
        if let Some(list) = attached {
            list.sort_unstable_by_key(|(id, _)| *id);
        }
        Ok(culled)
    }

    /// Lets the ids of reclaimed entries be used again (CACHE-24).
    pub fn reuse(&mut self) {
        self.mode = Mode::Reuse;
    }

    /// Makes whole names count, not only their part before the first space (CACHE-24).
    ///
    /// # Errors
    /// `-E2BIG` when the cache has ever had an instance.
    pub fn use_strings(&mut self) -> Result<()> {
        if self.inserted > 0 {
            return Err(Error::E2BIG);
        }
        self.strings = true;
        Ok(())
    }

    /// Sets the greatest id that may be handed out (CACHE-65). It stays when a file with another
    /// limit is loaded.
    ///
    /// # Errors
    /// `PM_ERR_SIGN` for a negative one, `PM_ERR_TOOBIG` when a listed instance has a greater id.
    pub fn resize(&mut self, maximum: i32) -> Result<()> {
        let maximum = u32::try_from(maximum).map_err(|_| Error::SIGN)?;
        let last = self.order.last();
        if last.is_some_and(|listed| listed.id > maximum) {
            return Err(Error::TOOBIG);
        }
        self.maximum = maximum;
        self.limited = true;
        self.stamps_dirty = true;
        Ok(())
    }
}

/// An instance that a walk returns, and the position at which the walk continues.
///
/// A walk visits the active instances in ascending order of ids, and returns no entry twice. When
/// it returns an instance, it notes the next listed entry, of any state, and continues at that
/// entry. So a walk also visits instances that a callback stores during the walk, except those that
/// are stored after the entry that was the last one (CACHE-35, FETCH-34). If the noted entry is
/// reclaimed meanwhile, the walk continues at the entry after it.
///
/// `PMDA_CACHE_WALK_NEXT` uses the cache's own walk ([`Cache::walk`]); others, such as a fetch,
/// keep a [`Position`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalkEntry {
    /// The id of the instance.
    pub inst: i32,
    /// The position of the next listed entry.
    pub next: Position,
}

/// The state of the cache when a walk begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalkStart {
    /// The first listed entry.
    pub first: Position,
    /// Number of listed entries.
    pub listed: usize,
    /// Number of entries that were ever inserted.
    pub inserted: u32,
}

impl<T: Copy> Cache<T> {
    /// Begins the cache's own walk (CACHE-35).
    pub fn rewind(&mut self) {
        self.order.rewind();
    }

    /// The next active instance of the cache's own walk; `None` at its end (CACHE-35).
    #[inline(always)]
    pub fn walk(&mut self) -> Option<i32> {
        // Mostly all entries are active, so that none needs to be looked at.
        let is_all = self.order.len() == self.active;
        loop {
            let listed = self.order.step()?;
            // Every listed slot exists. With `guess` the compiler knows that this cannot panic.
            if is_all || self.slab.guess(listed.slot)?.state == EntryState::Active {
                return Some(signed(listed.id));
            }
        }
    }

    /// Returns the state for a walk that begins now.
    pub fn start(&self) -> WalkStart {
        WalkStart {
            first: self.order.position_at(&self.slab, 0),
            listed: self.order.len(),
            inserted: self.inserted,
        }
    }

    /// Fills `into` with the active instances from a position on. Returns how many it has written.
    pub fn read_active(&self, from: Position, into: &mut [WalkEntry]) -> usize {
        let mut next = self.order.search(&self.slab, from);
        let mut len = 0;
        while let (Some(listed), Some(entry)) = (self.order.get(next), into.get_mut(len)) {
            next += 1;
            if self.slab.get(listed.slot).state == EntryState::Active {
                *entry = self.entry_at(listed, next);
                len += 1;
            }
        }
        len
    }

    /// As [`Cache::read_active`], for those instances whose ids are in the list `listed`, which
    /// ascends.
    pub fn read_listed(&self, mut from: Position, listed: &[i32], into: &mut [WalkEntry]) -> usize {
        let start = listed.partition_point(|inst| i64::from(*inst) < i64::from(from.id()));
        let active = listed[start..].iter().filter_map(|inst| {
            let entry = self.active_at(*inst, from)?;
            from = entry.next;
            Some(entry)
        });
        let mut len = 0;
        for (out, entry) in into.iter_mut().zip(active) {
            *out = entry;
            len += 1;
        }
        len
    }

    /// The active instance with an id, if it is not in front of a position.
    fn active_at(&self, inst: i32, from: Position) -> Option<WalkEntry> {
        let id = u32::try_from(inst).ok()?;
        let at = self.order.search_id(id);
        let listed = self.order.get(at).filter(|listed| listed.id == id)?;
        let stored = self.slab.get(listed.slot);
        if stored.state != EntryState::Active || Position::new(id, stored.serial) < from {
            return None;
        }
        Some(self.entry_at(listed, at + 1))
    }

    /// The instance at `listed` as a walk returns it that goes on at `next`.
    #[inline(always)]
    fn entry_at(&self, listed: ListedSlot, next: usize) -> WalkEntry {
        WalkEntry {
            inst: signed(listed.id),
            next: self.order.position_at(&self.slab, next),
        }
    }
}

#[cfg(test)]
mod tests;
