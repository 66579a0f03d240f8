//! Lookups in the instance caches for the families that walk over instances: fetches, instance
//! requests, labels.

use std::ffi::c_int;

use crate::agent::InstanceWalk;
use crate::cache::peek;
use crate::sys::lock::Token;
use crate::view::arg::Private;
use crate::view::table::ListKey;
use pmda_core::cache::{Cache, EntryState, Position, WalkEntry, WalkStart, changes};
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;

/// Returns whether the domain has a cache; then its table is ignored (INST-10).
#[inline(always)]
pub(crate) fn exists(token: &mut Token, indom: InDom) -> bool {
    peek(token, indom, |_| ()).is_some()
}

/// The start of a walk over the domain; `None` without a cache.
pub(crate) fn start(token: &mut Token, indom: InDom) -> Option<WalkStart> {
    peek(token, indom, |cache| cache.start())
}

/// Number of active instances; `None` without a cache.
pub(crate) fn active_count(token: &mut Token, indom: InDom) -> Option<c_int> {
    peek(token, indom, |cache| {
        c_int::try_from(cache.active()).unwrap_or(c_int::MAX)
    })
}

/// The number of instances that are read at once, at most: the first step of a walk reads one, as
/// its caller may want no more.
const AHEAD: usize = 16;

/// Active instances of a cached domain that were read ahead, so that the cache is looked up once
/// for several.
///
/// Callbacks run between two steps of a walk. So an instance that was read ahead is returned only
/// if no instance was stored, made active or inactive, or reclaimed since it was read (INST-41).
/// The structure has nothing to drop, since a callback may leave by `longjmp` while it is on the
/// stack.
pub(crate) struct InstancesAhead {
    /// The instances that were read; `None` before the first read, since a walk over a table needs
    /// none.
    read: Option<[WalkEntry; AHEAD]>,
    /// The place of the next one.
    next: usize,
    /// Their number.
    len: usize,
    /// The number that the next read asks for.
    batch: usize,
    /// The position of the walk behind the instance that was returned last.
    after: Position,
    /// The domain that they were read from; and the list, if only instances of a list were read.
    source: Option<(InDom, Option<ListKey>)>,
    /// [`changes`] when they were read.
    changes: u32,
}

impl InstancesAhead {
    /// Nothing is read yet, and one step may be enough.
    pub(crate) const fn new() -> InstancesAhead {
        InstancesAhead {
            read: None,
            next: 0,
            len: 0,
            batch: 1,
            after: Position::END,
            source: None,
            changes: 0,
        }
    }

    /// Forgets what was read, for a walk of more than one step.
    pub(crate) fn reset(&mut self) {
        self.source = None;
        (self.next, self.len, self.batch) = (0, 0, AHEAD);
    }

    /// The next active instance of a walk, which goes on behind it.
    #[inline(always)]
    pub(crate) fn next(&mut self, token: &mut Token, walk: &InstanceWalk, indom: InDom) -> Option<i32> {
        match self.next_read(walk, indom, None) {
            Some(inst) => Some(inst),
            None => self.read(token, walk, indom, None, Cache::read_active),
        }
    }

    /// The next active instance of a walk over the instances of a list, if it was read ahead.
    pub(crate) fn next_listed(&mut self, walk: &InstanceWalk, indom: InDom, list: ListKey) -> Option<i32> {
        self.next_read(walk, indom, Some(list))
    }

    /// The next instance that was read ahead, if a read would find the same one now: it is a walk
    /// over the same domain and list, from the same position, and nothing has changed.
    #[inline(always)]
    fn next_read(&mut self, walk: &InstanceWalk, indom: InDom, list: Option<ListKey>) -> Option<i32> {
        let (domain, read) = self.source?;
        let is_current = walk.position() == self.after && domain.0 == indom.0 && changes() == self.changes;
        if read != list || self.next >= self.len || !is_current {
            return None;
        }
        let entry = *self.read.as_ref()?.get(self.next)?;
        self.next += 1;
        Some(self.give(walk, entry))
    }

    /// Has the walk go on behind an instance.
    #[inline(always)]
    fn give(&mut self, walk: &InstanceWalk, entry: WalkEntry) -> i32 {
        self.after = entry.next;
        walk.go_on(entry.next);
        entry.inst
    }

    /// The next active instance of a walk over the instances of a list. `listed` has them in
    /// ascending order, and `key` is the key of the list.
    pub(crate) fn read_listed(
        &mut self,
        token: &mut Token,
        walk: &InstanceWalk,
        indom: InDom,
        key: ListKey,
        listed: &[i32],
    ) -> Option<i32> {
        self.read(token, walk, indom, Some(key), |cache, from, buffer| {
            cache.read_listed(from, listed, buffer)
        })
    }

    /// Reads instances from the position of the walk on, and returns the first.
    fn read(
        &mut self,
        token: &mut Token,
        walk: &InstanceWalk,
        indom: InDom,
        list: Option<ListKey>,
        read: impl FnOnce(&Cache<Private>, Position, &mut [WalkEntry]) -> usize,
    ) -> Option<i32> {
        self.source = None;
        if walk.position() == Position::END {
            return None;
        }
        // Instances that were read ahead are left, and of no use: a callback has changed the
        // domain, and may do so again. So less is read.
        if self.next < self.len {
            self.batch = 1;
        }
        self.changes = changes();
        let nothing = WalkEntry {
            inst: 0,
            next: Position::END,
        };
        let buffer = &mut self.read.get_or_insert([nothing; AHEAD])[..self.batch];
        self.len = peek(token, indom, |cache| {
            let from = walk.resume(cache.inserted());
            read(cache, from, buffer)
        })?;
        self.source = Some((indom, list));
        let first = buffer[..self.len].first().copied();
        self.batch = (self.batch * 4).min(AHEAD);
        self.next = 1;
        match first {
            Some(entry) => Some(self.give(walk, entry)),
            None => {
                walk.go_on(Position::END);
                None
            }
        }
    }
}

/// The active instance with a name, as `pmdaCacheLookupName` finds it (INST-65).
pub(crate) fn find_name(token: &mut Token, indom: InDom, name: &[u8]) -> Option<i32> {
    peek(token, indom, |cache| {
        let hit = cache
            .lookup_name(name)
            .ok()
            .filter(|hit| hit.state() == EntryState::Active)?;
        Some(hit.id())
    })?
}

/// Calls `use_it` with the name of an active instance. The lock is held meanwhile.
///
/// # Errors
/// `PM_ERR_INST` if there is no such instance; errors of `use_it`.
pub(crate) fn with_name<R>(
    token: &mut Token,
    indom: InDom,
    inst: i32,
    use_it: impl FnOnce(&[u8]) -> Result<R>,
) -> Result<R> {
    let found = peek(token, indom, |cache| {
        let hit = cache.lookup(inst)?;
        match hit.state() {
            EntryState::Active => use_it(hit.name()),
            _ => Err(Error::INST),
        }
    });
    found.unwrap_or(Err(Error::INST))
}

/// Calls `use_them` with the cache of a domain. The lock is held meanwhile.
///
/// # Errors
/// `PM_ERR_INDOM` without a cache; errors of `use_them`.
pub(crate) fn with_all<R>(
    token: &mut Token,
    indom: InDom,
    use_them: impl FnOnce(&mut Cache<Private>) -> Result<R>,
) -> Result<R> {
    peek(token, indom, use_them).unwrap_or(Err(Error::INDOM))
}
