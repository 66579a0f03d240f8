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

use super::entry::{Entry, State};
use super::ids::position;
use super::names::{Short, equal};
use super::op::Key;
use super::{Cache, Report};
use crate::error::{Error, Result};

/// An instance that was found.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'c, T> {
    entry: &'c Entry<T>,
}

impl<'c, T: Copy> Hit<'c, T> {
    /// Its id.
    #[must_use]
    pub fn id(self) -> i32 {
        signed(self.entry.id)
    }

    /// Active or inactive.
    #[must_use]
    pub fn state(self) -> State {
        self.entry.state
    }

    /// The whole name.
    #[must_use]
    pub fn name(self) -> &'c [u8] {
        self.entry.name()
    }

    /// The whole name, with a NUL behind it. It stays where it is until the entry is reclaimed
    /// (CACHE-25).
    #[must_use]
    pub fn terminated(self) -> &'c [u8] {
        self.entry.name.terminated()
    }

    /// What the agent attached.
    #[must_use]
    pub fn private(self) -> Option<T> {
        self.entry.private
    }
}

/// How a text fits the name of the entry that has the same short name (CACHE-10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Match {
    Good(u32),
    /// The rest of the names differs.
    Bad(u32),
}

impl Match {
    pub(super) fn slot(self) -> u32 {
        match self {
            Match::Good(slot) | Match::Bad(slot) => slot,
        }
    }
}

/// An id as C sees it; ids have 31 bits.
pub(super) fn signed(id: u32) -> i32 {
    i32::from_ne_bytes(id.to_ne_bytes())
}

impl<T: Copy> Cache<T> {
    /// How a name fits the live entry that has its short name (CACHE-10).
    pub(super) fn find_short(&self, name: &[u8], short: Short) -> Option<Match> {
        let (slot, _, good) = self.find_entry(name, short)?;
        Some(if good { Match::Good(slot) } else { Match::Bad(slot) })
    }

    /// The live entry with a short name, its slot, and whether the rest fits.
    #[inline(always)]
    fn find_entry(&self, name: &[u8], short: Short) -> Option<(u32, &Entry<T>, bool)> {
        let (slot, entry) = self.find_listed(name, short)?;
        let is_whole = short.len == name.len() || entry.name() == name;
        entry.is_live().then_some((slot, entry, is_whole))
    }

    /// The entry with a short name that is in the table, live or not, and its slot.
    #[inline(always)]
    pub(super) fn find_listed(&self, name: &[u8], short: Short) -> Option<(u32, &Entry<T>)> {
        let text = &name[..short.len];
        let mut found = None;
        let same = |slot: u32| {
            let entry = self.slab.get(slot);
            let same = entry.hash == short.hash && equal(entry.short_name(), text);
            if same {
                found = Some(entry);
            }
            same
        };
        let slot = self.names.find(short.hash, same)?;
        Some((slot, found?))
    }

    /// The live entry with an id.
    pub(super) fn find_id(&self, id: u32) -> Option<u32> {
        let slot = self.ids.get(id, &self.slab);
        slot.filter(|slot| self.slab.get(*slot).is_live())
    }

    /// The live entry with a key that has the lowest id (CACHE-31); there are several only after a
    /// load.
    pub(super) fn find_key(&mut self, key: &[u8]) -> Option<u32> {
        if key.is_empty() {
            let slab = &self.slab;
            let mut places = self.order.places(slab).iter().map(|place| place.slot);
            return places.find(|slot| slab.get(*slot).is_live() && self.keys.get(*slot).is_empty());
        }
        self.keys.slots(key).min_by_key(|slot| self.slab.get(*slot).id)
    }

    /// The instance with an id (CACHE-30).
    ///
    /// # Errors
    /// `PM_ERR_INST` when there is none.
    pub fn lookup(&self, id: i32) -> Result<Hit<'_, T>> {
        let slot = u32::try_from(id).ok().and_then(|id| self.ids.get(id, &self.slab));
        let entry = self.slab.get(slot.ok_or(Error::INST)?);
        if !entry.is_live() {
            return Err(Error::INST);
        }
        Ok(Hit { entry })
    }

    /// The instance that owns the short name of a name, whatever follows it (CACHE-10, CACHE-30):
    /// agents rely on being told who that is, although no store would take the whole name.
    ///
    /// # Errors
    /// `PM_ERR_INST` when there is none.
    pub fn lookup_name(&self, name: &[u8]) -> Result<Hit<'_, T>> {
        let (_, entry, _) = self.find_entry(name, self.short(name)).ok_or(Error::INST)?;
        Ok(Hit { entry })
    }

    /// The instance with a key, or with the name as its key (CACHE-31).
    ///
    /// # Errors
    /// `PM_ERR_INST` when there is none, or neither a key nor a name is given.
    pub fn lookup_key(&mut self, name: Option<&[u8]>, key: &[u8], report: &mut Report) -> Result<Hit<'_, T>> {
        let effective = if key.is_empty() { name } else { Some(key) };
        if let Some(slot) = effective.and_then(|key| self.find_key(key)) {
            return Ok(self.hit(slot));
        }
        report.trace(format_args!(
            "pmdaCacheLookupKey: indom {}: {}: no matching key in cache\n",
            self.indom,
            Key(effective.unwrap_or_default())
        ));
        Err(Error::INST)
    }

    fn hit(&self, slot: u32) -> Hit<'_, T> {
        Hit {
            entry: self.slab.get(slot),
        }
    }

    /// A number that changes whenever an instance becomes active or ceases to be, and whenever an
    /// entry is listed or reclaimed.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The active instances in ascending order of ids, with their names.
    pub fn actives(&mut self) -> impl Iterator<Item = (i32, &[u8])> {
        let slab = &self.slab;
        let entries = self.order.places(slab).iter().map(|place| slab.get(place.slot));
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

    /// Fills `into` with the active instances of a list, which is ascending, from a position on;
    /// returns how many there were.
    pub fn read_listed(&mut self, mut from: Position, listed: &[i32], into: &mut [Given]) -> usize {
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
    fn active_at(&mut self, inst: i32, from: Position) -> Option<Given> {
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
