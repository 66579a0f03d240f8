//! Walking over the active instances in ascending order of ids.
//!
//! A walk has read one entry ahead: with each instance it notes the next entry, whatever its state.
//! So it meets instances that a callback stores on the way, unless they come behind what was the
//! last entry (CACHE-35, FETCH-34). If the noted entry is reclaimed meanwhile, the next one
//! follows.
//!
//! The walk of `PMDA_CACHE_WALK_NEXT` is the cache's own (`IdList::step`); others keep a
//! [`Position`].

use super::Cache;
use super::entry::{EntryState, signed};
use super::id_list::{IdPlace, ListedSlot, Position};

/// An instance of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalkEntry {
    /// Its id.
    pub inst: i32,
    /// The next entry.
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
        // Mostly no entry needs to be looked at.
        let is_all = self.order.len() == self.active;
        loop {
            let place = self.order.step()?;
            // Cannot be `None`, and so cannot panic.
            if is_all || self.slab.guess(place.slot)?.state == EntryState::Active {
                return Some(signed(place.id));
            }
        }
    }

    /// Returns the state for a walk that begins now.
    pub fn start(&self) -> WalkStart {
        WalkStart {
            first: self.order.position_at(&self.slab, self.order.first()),
            listed: self.order.len(),
            inserted: self.inserted,
        }
    }

    /// Fills `into` with the active instances from a position on; returns how many there were.
    pub fn read_active(&self, from: Position, into: &mut [WalkEntry]) -> usize {
        let mut next = self.order.search(&self.slab, from);
        let mut len = 0;
        while let (Some(place), Some(given)) = (self.order.get(next), into.get_mut(len)) {
            next = self.order.next(next);
            if self.slab.get(place.slot).state == EntryState::Active {
                *given = self.given(place, next);
                len += 1;
            }
        }
        len
    }

    /// As [`Cache::read_active`], for the instances of an ascending list.
    pub fn read_listed(&self, mut from: Position, listed: &[i32], into: &mut [WalkEntry]) -> usize {
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

    /// The active instance with an id, if it is not in front of a position.
    fn active_at(&self, inst: i32, from: Position) -> Option<WalkEntry> {
        let id = u32::try_from(inst).ok()?;
        let at = self.order.search_id(id);
        let place = self.order.get(at).filter(|place| place.id == id)?;
        let entry = self.slab.get(place.slot);
        if entry.state != EntryState::Active || Position::new(id, entry.serial) < from {
            return None;
        }
        Some(self.given(place, self.order.next(at)))
    }

    #[inline(always)]
    fn given(&self, place: ListedSlot, next: IdPlace) -> WalkEntry {
        WalkEntry {
            inst: signed(place.id),
            next: self.order.position_at(&self.slab, next),
        }
    }
}
