//! The listed entries in ascending order of ids.

#![forbid(unsafe_code)]

use super::entry::Slab;

/// One listed entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) id: u32,
    pub(super) slot: u32,
}

/// A sorted array, with insertions that are out of order kept apart until somebody looks: ids mostly ascend, and
/// those that come from hashes arrive many at a time, so a tree would cost more than it saves (DEF-14).
#[derive(Debug)]
pub(super) struct Order {
    sorted: Vec<Place>,
    pending: Vec<Place>,
    /// Where the last search ended; the next one is mostly for the place behind it.
    hint: usize,
}

impl Order {
    pub(super) const fn new() -> Order {
        Order {
            sorted: Vec::new(),
            pending: Vec::new(),
            hint: 0,
        }
    }

    pub(super) fn push(&mut self, place: Place) {
        match self.sorted.last() {
            Some(last) if last.id >= place.id => self.pending.push(place),
            _ => self.sorted.push(place),
        }
    }

    /// Forgets the entries for which `keep` is false.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(Place) -> bool) {
        self.sorted.retain(|place| keep(*place));
        self.pending.retain(|place| keep(*place));
    }

    /// All places in order. Entries with the same id, all but one of them culled, come newest first (CACHE-44).
    pub(super) fn places<T>(&mut self, slab: &Slab<T>) -> &[Place] {
        if !self.pending.is_empty() {
            self.sorted.append(&mut self.pending);
            let age = |place: &Place| u32::MAX - slab.get(place.slot).sequence;
            // A stable merge sort finds the long run that is sorted already.
            self.sorted
                .sort_by(|a, b| a.id.cmp(&b.id).then_with(|| age(a).cmp(&age(b))));
        }
        &self.sorted
    }

    /// Index in [`Order::places`] of the first place whose id is not below `id`; O(1) for one walk in order.
    pub(super) fn search<T>(&mut self, slab: &Slab<T>, id: u32) -> usize {
        self.places(slab);
        let fits = |at: usize| {
            (at == 0 || self.sorted.get(at - 1).is_some_and(|place| place.id < id))
                && self.sorted.get(at).is_none_or(|place| place.id >= id)
        };
        let guess = [self.hint, self.hint + 1].into_iter().find(|at| fits(*at));
        self.hint = guess.unwrap_or_else(|| self.sorted.partition_point(|place| place.id < id));
        self.hint
    }
}
