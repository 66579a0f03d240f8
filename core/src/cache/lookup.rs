//! Finding instances by id, name and key, counting them, and walking over the active ones in
//! ascending order of ids.
//!
//! A walk has read one entry ahead: with each instance that it gives, it notes the entry that is
//! listed behind it at that moment, whatever its state, and goes on there. So a callback that
//! stores instances on the way has them in the same walk, unless what they come behind was the last
//! entry (CACHE-35, FETCH-34). What was noted and is reclaimed meanwhile is followed by the next
//! listed entry behind it, never by one that was given.
//!
//! The walk of `PMDA_CACHE_WALK_NEXT` is the cache's own (`Order::step`); a fetch, for instance,
//! keeps a [`Position`].

use super::Cache;
use super::dump::Key;
use super::entry::{Entry, State};
use super::order::{ListedSlot, Place};
use super::text::{Short, equal};
use crate::error::{Error, Result};

/// The live entry that has the short name of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Named {
    pub(super) slot: u32,
    /// Whether the rest of its name is that of the text as well (CACHE-10).
    pub(super) is_whole: bool,
}

/// An id as C sees it; ids have 31 bits.
pub(super) fn signed(id: u32) -> i32 {
    i32::from_ne_bytes(id.to_ne_bytes())
}

impl<T: Copy> Cache<T> {
    /// The live entry that has the short name of a name (CACHE-10).
    #[inline(always)]
    pub(super) fn find_short(&self, name: &[u8], short: Short) -> Option<Named> {
        let text = &name[..short.len];
        let same = |slot: u32| {
            let entry = self.slab.get(slot);
            entry.hash == short.hash && equal(entry.short_name(), text)
        };
        let slot = self.names.find(short.hash, same)?;
        let is_whole = short.len == name.len() || self.slab.get(slot).name() == name;
        Some(Named { slot, is_whole })
    }

    /// The live entry with an id.
    pub(super) fn find_id(&self, id: u32) -> Option<u32> {
        self.order.find(id).filter(|slot| self.slab.get(*slot).is_live())
    }

    /// The live entry with a key that has the lowest id (CACHE-31); there are several only after a
    /// load.
    pub(super) fn find_key(&self, key: &[u8]) -> Option<u32> {
        if key.is_empty() || self.keys.is_shared() {
            let mut slots = self.order.iter().map(|place| place.slot);
            return slots.find(|slot| self.slab.get(*slot).is_live() && equal(self.keys.get(*slot), key));
        }
        self.keys.find(key)
    }

    /// The instance with an id (CACHE-30).
    ///
    /// # Errors
    /// `PM_ERR_INST` when there is none.
    pub fn lookup(&self, id: i32) -> Result<&Entry<T>> {
        let id = u32::try_from(id).map_err(|_| Error::INST)?;
        // Slots are taken in ascending order, as ids are: mostly they are the same.
        match self.slab.guess(id) {
            Some(entry) if entry.id == id && entry.is_live() => Ok(entry),
            _ => self.lookup_anywhere(id),
        }
    }

    #[inline(never)]
    fn lookup_anywhere(&self, id: u32) -> Result<&Entry<T>> {
        Ok(self.slab.get(self.find_id(id).ok_or(Error::INST)?))
    }

    /// The instance that owns the short name of a name, whatever follows it (CACHE-10, CACHE-30):
    /// agents rely on being told who that is, although no store would take the whole name.
    ///
    /// # Errors
    /// `PM_ERR_INST` when there is none.
    pub fn lookup_name(&self, name: &[u8]) -> Result<&Entry<T>> {
        let found = self.find_short(name, self.short(name)).ok_or(Error::INST)?;
        Ok(self.slab.get(found.slot))
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

    /// A number that changes whenever an instance becomes active or ceases to be, and whenever an
    /// entry is listed or reclaimed.
    #[must_use]
    pub fn changes(&self) -> u32 {
        self.changes
    }

    /// The active instances in ascending order of ids, with their names.
    pub fn actives(&self) -> impl Iterator<Item = (i32, &[u8])> {
        let slab = &self.slab;
        let entries = self.order.iter().map(|place| slab.get(place.slot));
        let active = entries.filter(|entry| entry.state == State::Active);
        active.map(|entry| (signed(entry.id), entry.name()))
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

/// Where a walk goes on: at the entry that it noted, or at what is behind it when that was
/// reclaimed. Positions are ordered as the list is: by id, of entries with one id the newest first
/// (CACHE-44).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position(u64);

impl Position {
    /// Behind all entries.
    pub const END: Position = Position(u64::MAX);

    pub(super) fn new(id: u32, serial: u32) -> Position {
        Position(u64::from(id) << 32 | u64::from(!serial))
    }

    /// No entry from here on has a lower id.
    #[must_use]
    pub fn id(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The position as a number.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The position that [`Position::to_bits`] has given.
    #[must_use]
    pub fn from_bits(bits: u64) -> Position {
        Position(bits)
    }
}

/// An instance that a walk gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Given {
    /// Its id.
    pub inst: i32,
    /// The entry behind it: where the walk goes on.
    pub next: Position,
}

/// What a walk begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
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
        // Mostly all are active, so that no entry needs to be looked at.
        let is_all = self.order.len() == self.active;
        loop {
            let place = self.order.step()?;
            if is_all || self.slab.get(place.slot).state == State::Active {
                return Some(signed(place.id));
            }
        }
    }

    /// What a walk begins with that starts now.
    pub fn start(&self) -> Start {
        Start {
            first: self.order.position_at(&self.slab, self.order.first()),
            listed: self.order.len(),
            inserted: self.inserted,
        }
    }

    /// Fills `into` with the active instances from a position on; returns how many there were.
    pub fn read_active(&self, from: Position, into: &mut [Given]) -> usize {
        let mut next = self.order.search(&self.slab, from);
        let mut len = 0;
        while let (Some(place), Some(given)) = (self.order.get(next), into.get_mut(len)) {
            next = self.order.next(next);
            if self.slab.get(place.slot).state == State::Active {
                *given = self.given(place, next);
                len += 1;
            }
        }
        len
    }

    /// Fills `into` with the active instances of a list, which is ascending, from a position on;
    /// returns how many there were.
    pub fn read_listed(&self, mut from: Position, listed: &[i32], into: &mut [Given]) -> usize {
        let start = listed.partition_point(|inst| i64::from(*inst) < i64::from(from.id()));
        let active = listed[start..].iter().filter_map(|inst| {
            let given = self.active_at(*inst, from)?;
            from = given.next;
            Some(given)
        });
        let mut len = 0;
        for (place, given) in into.iter_mut().zip(active) {
            *place = given;
            len += 1;
        }
        len
    }

    /// The instance with an id, if it is active and not in front of a position.
    fn active_at(&self, inst: i32, from: Position) -> Option<Given> {
        let id = u32::try_from(inst).ok()?;
        let at = self.order.search_id(id);
        let place = self.order.get(at).filter(|place| place.id == id)?;
        let entry = self.slab.get(place.slot);
        if entry.state != State::Active || Position::new(id, entry.serial) < from {
            return None;
        }
        Some(self.given(place, self.order.next(at)))
    }

    /// A listed instance as a walk gives it that goes on at `next`.
    #[inline(always)]
    fn given(&self, place: ListedSlot, next: Place) -> Given {
        Given {
            inst: signed(place.id),
            next: self.order.position_at(&self.slab, next),
        }
    }
}
