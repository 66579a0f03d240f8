//! What the fetch family asks the instance caches.

use std::ffi::c_int;

use crate::ident::InDom;

/// Whether the domain has a cache; then its table is not looked at (INST-10).
pub(super) fn exists(_indom: InDom) -> bool {
    false
}

/// Number of active instances, `None` without a cache.
pub(super) fn active_count(_indom: InDom) -> Option<c_int> {
    None
}

/// Fills `ids` with the active instances from id `from` on, ascending; gives their number.
fn active_from(_indom: InDom, _from: i64, _ids: &mut [i32]) -> usize {
    0
}

/// A number that changes whenever an instance of any domain becomes active, or ceases to be.
fn changes() -> u64 {
    0
}

/// How many instances are read at once, in the end: the first time it is one, for callers that take a single step.
const AHEAD: usize = 32;

/// Active instances of a cached domain, read ahead: that takes the cache's lock once for all of them.
///
/// Callbacks run between two steps, so what was read is used only while no instance was made active or inactive since
/// (INST-41). It has nothing to drop, as callbacks may leave by `longjmp`.
pub(super) struct Ahead {
    ids: [i32; AHEAD],
    next: usize,
    len: usize,
    room: usize,
    indom: InDom,
    changes: u64,
}

impl Ahead {
    /// Nothing is read yet.
    pub(super) fn new() -> Ahead {
        Ahead {
            ids: [0; AHEAD],
            next: 0,
            len: 0,
            room: 1,
            indom: InDom::NULL,
            changes: 0,
        }
    }

    /// The active instance with the lowest id that is not below `from`.
    pub(super) fn next(&mut self, indom: InDom, from: i64) -> Option<i32> {
        let in_step = self.next < self.len
            && i64::from(self.ids[self.next]) >= from
            && (self.next == 0 || i64::from(self.ids[self.next - 1]) < from);
        if !in_step || self.indom != indom || self.changes != changes() {
            self.changes = changes();
            self.indom = indom;
            self.next = 0;
            self.len = active_from(indom, from, &mut self.ids[..self.room]);
            self.room = (self.room * 4).min(AHEAD);
        }
        let inst = *self.ids[..self.len].get(self.next)?;
        self.next += 1;
        Some(inst)
    }
}

/// Whether an instance is active.
pub(super) fn is_active(_indom: InDom, _inst: i32) -> bool {
    false
}

/// The name of an active instance.
pub(super) fn name_of(_indom: InDom, _inst: i32) -> Option<Vec<u8>> {
    None
}

/// The active instance with a name, as `pmdaCacheLookupName` finds it (INST-65).
pub(super) fn find_name(_indom: InDom, _name: &[u8]) -> Option<i32> {
    None
}

/// All active instances, in ascending order of ids.
pub(super) fn all_active(_indom: InDom) -> Vec<(i32, Vec<u8>)> {
    Vec::new()
}
