//! What the fetch family asks the instance caches.

use std::ffi::c_int;

use crate::cache::domains::{self, Domain};
use crate::cache::peek;
use pmda_core::cache::{Cache, Extent, Hit, State};
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;

/// Whether the domain has a cache; then its table is not looked at (INST-10).
#[inline(always)]
pub(crate) fn exists(indom: InDom) -> bool {
    domains::find(indom).is_some()
}

/// How far an iteration over the domain goes that starts now; `None` without a cache.
pub(crate) fn extent(indom: InDom) -> Option<Extent> {
    domains::find(indom).map(|domain| domain.work(Cache::extent))
}

/// Number of active instances, `None` without a cache.
pub(crate) fn active_count(indom: InDom) -> Option<c_int> {
    peek(indom, |cache| c_int::try_from(cache.active()).unwrap_or(c_int::MAX))
}

/// Fills `ids` with the active instances from id `from` on, ascending; gives their number.
fn active_from(domain: &'static Domain, from: i64, ids: &mut [i32]) -> usize {
    let Ok(from) = u32::try_from(from.max(0)) else { return 0 };
    domain.work(|cache| {
        let found = cache.active_from(from).zip(&mut *ids);
        found.map(|(found, id)| *id = found).count()
    })
}

/// How many instances are read at once: for callers that take a single step it is one the first
/// time.
const AHEAD: usize = 32;

/// Active instances of a cached domain, read ahead: that takes the cache's lock once for all of
/// them.
///
/// Callbacks run between two steps, so what was read is used only while no instance was made active
/// or inactive since (INST-41). It has nothing to drop, as callbacks may leave by `longjmp`.
pub(crate) struct InstancesAhead {
    /// None before anything is read: a table needs no room for them.
    ids: Option<[i32; AHEAD]>,
    next: usize,
    len: usize,
    room: usize,
    /// Whether there was room for more than were left.
    is_rest: bool,
    /// The id behind the instance that was given last.
    after: i64,
    domain: Option<&'static Domain>,
    changes: u32,
}

impl InstancesAhead {
    /// Nothing is read yet.
    pub(crate) const fn new() -> InstancesAhead {
        InstancesAhead {
            ids: None,
            next: 0,
            len: 0,
            room: 1,
            is_rest: false,
            after: -1,
            domain: None,
            changes: 0,
        }
    }

    /// Forgets what was read; more than one step follows.
    #[inline]
    pub(crate) fn reset(&mut self) {
        (self.len, self.room, self.after) = (0, AHEAD, -1);
    }

    /// The active instance with the lowest id that is not below `from`.
    #[inline(always)]
    pub(crate) fn next(&mut self, indom: InDom, from: i64) -> Option<i32> {
        // Between the instance that was given last and the next one that was read there is none.
        let is_current = |domain: &Domain| domain.is(indom) && domain.changes() == self.changes;
        if from == self.after && self.domain.is_some_and(is_current) {
            if self.next < self.len {
                let inst = *self.ids.as_ref()?.get(self.next)?;
                self.next += 1;
                self.after = i64::from(inst) + 1;
                return Some(inst);
            }
            if self.is_rest {
                return None;
            }
        }
        self.read(indom, from)
    }

    /// Reads ahead from an id on, and gives the first instance.
    #[inline(never)]
    fn read(&mut self, indom: InDom, from: i64) -> Option<i32> {
        self.domain = domains::find(indom);
        let domain = self.domain?;
        self.changes = domain.changes();
        let ids = self.ids.get_or_insert([0; AHEAD]);
        self.len = active_from(domain, from, &mut ids[..self.room]);
        self.is_rest = self.len < self.room;
        self.room = (self.room * 4).min(AHEAD);
        self.next = 1;
        let inst = *ids[..self.len].first()?;
        self.after = i64::from(inst) + 1;
        Some(inst)
    }
}

/// Whether an instance is active.
pub(crate) fn is_active(indom: InDom, inst: i32) -> bool {
    let active = |hit: Hit<'_, _>| hit.state() == State::Active;
    peek(indom, |cache| cache.lookup(inst).is_ok_and(active)).unwrap_or(false)
}

/// The active instance with a name, as `pmdaCacheLookupName` finds it (INST-65).
pub(crate) fn find_name(indom: InDom, name: &[u8]) -> Option<i32> {
    peek(indom, |cache| {
        let hit = cache
            .lookup_name(name)
            .ok()
            .filter(|hit| hit.state() == State::Active)?;
        Some(hit.id())
    })?
}

/// Calls `use_it` with the name of an active instance.
pub(crate) fn with_name<R>(indom: InDom, inst: i32, use_it: impl FnOnce(&[u8]) -> Result<R>) -> Result<R> {
    let found = peek(indom, |cache| {
        let hit = cache.lookup(inst)?;
        match hit.state() {
            State::Active => use_it(hit.name()),
            _ => Err(Error::INST),
        }
    });
    found.unwrap_or(Err(Error::INST))
}

/// Calls `start` with the number of active instances, and `add` with each of them in ascending
/// order of ids.
pub(crate) fn for_all<A>(
    indom: InDom,
    start: impl FnOnce(usize) -> Result<A>,
    mut add: impl FnMut(&mut A, i32, &[u8]) -> Result<()>,
) -> Result<A> {
    let list = |cache: &mut Cache<_>| {
        let mut all = start(cache.active())?;
        for (inst, name) in cache.actives() {
            add(&mut all, inst, name)?;
        }
        Ok(all)
    };
    domains::find(indom).map_or(Err(Error::INDOM), |domain| domain.work(list))
}
