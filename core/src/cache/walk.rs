//! Walking over the active instances, in ascending order of ids.
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
use super::entry::State;
use super::lookup::signed;
use super::order::position;

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
        self.order.rewind(&self.slab);
    }

    /// The next active instance of the cache's own walk. `None` at its end, and if the list is to
    /// be put in order first: [`Cache::walk`] tells. Nothing here can panic, and nothing is called.
    #[inline(always)]
    pub fn walk_near(&mut self) -> Option<i32> {
        // Mostly all are active, so that no entry needs to be looked at.
        let is_all = self.order.ready()?.len() == self.active;
        loop {
            let place = self.order.step()?;
            if is_all || self.slab.try_get(place.slot)?.state == State::Active {
                return Some(signed(place.id));
            }
        }
    }

    /// The next active instance of the cache's own walk; `None` at its end (CACHE-35).
    pub fn walk(&mut self) -> Option<i32> {
        self.order.places(&self.slab);
        self.walk_near()
    }

    /// What a walk begins with that starts now.
    pub fn start(&mut self) -> Start {
        let places = self.order.places(&self.slab);
        Start {
            first: places
                .first()
                .map_or(Position::END, |first| position(*first, &self.slab)),
            listed: places.len(),
            inserted: self.inserted,
        }
    }

    /// Fills `into` with the active instances from a position on; returns how many there were.
    /// Finding the first is O(1) in a walk in order.
    pub fn read_active(&mut self, from: Position, into: &mut [Given]) -> usize {
        let mut at = self.order.search(&self.slab, from);
        let places = self.order.places(&self.slab);
        let next = |at: usize| {
            places
                .get(at)
                .map_or(Position::END, |place| position(*place, &self.slab))
        };
        let mut len = 0;
        while let (Some(place), Some(given)) = (places.get(at), into.get_mut(len)) {
            at += 1;
            if self.slab.get(place.slot).state == State::Active {
                let inst = signed(place.id);
                *given = Given { inst, next: next(at) };
                len += 1;
            }
        }
        self.order.reached(at);
        len
    }

    /// The instance with an id, if it is active and not in front of a position.
    pub fn active_at(&mut self, inst: i32, from: Position) -> Option<Given> {
        let slot = self.find_id(u32::try_from(inst).ok()?)?;
        let entry = self.slab.get(slot);
        let found = Position::new(entry.id, entry.serial);
        if entry.state != State::Active || found < from {
            return None;
        }
        let at = self.order.search(&self.slab, found) + 1;
        let next = self.order.places(&self.slab).get(at);
        let next = next.map_or(Position::END, |place| position(*place, &self.slab));
        Some(Given { inst, next })
    }
}
