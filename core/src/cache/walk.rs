//! Walks over the active instances in ascending order of ids.
//!
//! A walk has read one entry ahead: with each instance that it returns, it notes the entry that is
//! listed behind it at that moment, whatever its state, and goes on there. So instances that a
//! callback stores on the way are met by the same walk, unless they come behind what was the last
//! entry (CACHE-35, FETCH-34). If the noted entry is reclaimed meanwhile, the walk goes on at the
//! entry listed behind it. It never returns an entry twice.
//!
//! The walk of `PMDA_CACHE_WALK_NEXT` is the cache's own (`IdList::step`); others, such as a fetch,
//! keep a [`Position`].

use super::Cache;
use super::entry::{EntryState, signed};
use super::id_list::{Cursor, ListedSlot, Position};

/// An instance that a walk returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalkEntry {
    /// The id of the instance.
    pub inst: i32,
    /// The entry behind it, where the walk goes on.
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
            first: self.order.position_at(&self.slab, self.order.first()),
            listed: self.order.len(),
            inserted: self.inserted,
        }
    }

    /// Fills `into` with the active instances from a position on. Returns how many it has written.
    pub fn read_active(&self, from: Position, into: &mut [WalkEntry]) -> usize {
        let mut next = self.order.search(&self.slab, from);
        let mut len = 0;
        while let (Some(listed), Some(entry)) = (self.order.get(next), into.get_mut(len)) {
            next = self.order.next(next);
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
        Some(self.entry_at(listed, self.order.next(at)))
    }

    /// The instance at `listed` as a walk returns it that goes on at `next`.
    #[inline(always)]
    fn entry_at(&self, listed: ListedSlot, next: Cursor) -> WalkEntry {
        WalkEntry {
            inst: signed(listed.id),
            next: self.order.position_at(&self.slab, next),
        }
    }
}
