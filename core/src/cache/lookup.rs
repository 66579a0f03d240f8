//! Finding instances by id, name and key, and walking over them.

use super::entry::{Entry, State};
use super::hash::Short;
use super::order::ListedSlot;
use super::report::{Key, Part};
use super::{Cache, Cursor, Report, scan};
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

/// So many instances that are stored between the ids of others in the middle of an iteration are
/// given by it.
const STRANGERS: usize = 1024;

/// How far an iteration goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// One more than the greatest id that is listed.
    pub end: i64,
    /// How many instances it gives at most: all that are listed, and as many that are stored in
    /// gaps between their ids meanwhile, or [`STRANGERS`]. The gaps of a domain with hashed ids
    /// would take years to fill.
    pub steps: usize,
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

/// A walk that goes on at a place of the order; there are no more places than ids.
#[inline(always)]
fn cursor(places: &[ListedSlot], at: usize) -> Cursor {
    places
        .get(at)
        .map_or(Cursor::End, |place| Cursor::At(*place, at as u32))
}

/// An id as C sees it; ids have 31 bits.
pub(super) fn signed(id: u32) -> i32 {
    i32::from_ne_bytes(id.to_ne_bytes())
}

impl<T: Copy> Cache<T> {
    /// How a name fits the live entry that has its short name (CACHE-10).
    #[inline]
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
            let same = entry.hash == short.hash && scan::equal(entry.short_name(), text);
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
    #[inline]
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
    #[inline]
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
        report.trace(&[
            Part::Raw(b"pmdaCacheLookupKey: indom "),
            Part::Show(&self.indom),
            Part::Raw(b": "),
            Part::Show(&Key(effective.unwrap_or_default())),
            Part::Raw(b": no matching key in cache\n"),
        ]);
        Err(Error::INST)
    }

    #[inline]
    fn hit(&self, slot: u32) -> Hit<'_, T> {
        Hit {
            entry: self.slab.get(slot),
        }
    }

    /// Begins a walk (CACHE-35).
    pub fn rewind(&mut self) {
        let first = self.order.places(&self.slab).first();
        self.cursor = first.map_or(Cursor::End, |place| Cursor::At(*place, 0));
    }

    /// The next active instance of the walk, if nothing has changed in the order of the instances;
    /// else nothing was done, and [`Cache::walk`] tells. Nothing here can panic, and nothing is
    /// called.
    #[inline(always)]
    pub fn walk_near(&mut self) -> Option<i32> {
        let Cursor::At(noted, at) = self.cursor else {
            return None;
        };
        let places = self.order.ready()?;
        let (mut place, mut at) = (noted, at as usize);
        if places.get(at) != Some(&noted) {
            return None;
        }
        // Mostly all are active, so that no entry needs to be looked at.
        let is_all = places.len() == self.active;
        while !is_all && self.slab.try_get(place.slot)?.state != State::Active {
            at += 1;
            place = *places.get(at)?;
        }
        self.cursor = cursor(places, at + 1);
        Some(signed(place.id))
    }

    /// The next active instance of the walk; `None` at its end (CACHE-35).
    pub fn walk(&mut self) -> Option<i32> {
        let Cursor::At(noted, at) = self.cursor else {
            return None;
        };
        let at = at as usize;
        let is_there = |places: &[ListedSlot]| places.get(at) == Some(&noted);
        let mut at = if self.order.ready().is_some_and(is_there) {
            at
        } else {
            self.seek(noted)
        };
        let places = self.order.ready().unwrap_or_default();
        while let Some(place) = places.get(at) {
            at += 1;
            if self.slab.get(place.slot).state == State::Active {
                self.cursor = cursor(places, at);
                return Some(signed(place.id));
            }
        }
        self.cursor = Cursor::End;
        None
    }

    /// Where the noted entry of a walk is now, or what follows it when it was reclaimed.
    #[cold]
    fn seek(&mut self, noted: ListedSlot) -> usize {
        let from = self.order.search(&self.slab, noted.id);
        let places = self.order.places(&self.slab);
        // An entry that was inserted before the noted one, with the same id, is not part of this
        // walk.
        let mut same = places[from..].iter().take_while(|place| place.id == noted.id);
        from + same.position(|place| *place == noted).unwrap_or(0)
    }

    /// The active instances from an id on, ascending; finding the first is O(1) in a walk in order
    /// of ids.
    pub fn active_from(&mut self, from: u32) -> impl Iterator<Item = i32> {
        let at = self.order.search(&self.slab, from);
        let slab = &self.slab;
        let rest = &self.order.places(slab)[at..];
        let active = rest.iter().filter(|place| slab.get(place.slot).state == State::Active);
        active.map(|place| signed(place.id))
    }

    /// What bounds an iteration that starts now, whatever is stored on the way.
    pub fn extent(&mut self) -> Extent {
        let places = self.order.places(&self.slab);
        Extent {
            end: places.last().map_or(0, |last| i64::from(last.id) + 1),
            steps: places.len() + places.len().max(STRANGERS),
        }
    }

    /// A number that changes whenever an instance becomes active or ceases to be.
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
