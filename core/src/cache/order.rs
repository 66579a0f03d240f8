//! The list of all entries in ascending order of ids, by which they are found as well (DEF-14).

use super::entry::{Entry, Slab};
use super::lookup::Position;
use super::room;
use crate::error::Result;

/// One listed entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ListedSlot {
    pub(super) id: u32,
    pub(super) slot: u32,
}

/// The place of a walk that has ended.
const END: usize = usize::MAX;

/// A sorted array. Ids mostly ascend, so that an entry comes to its end; for others a part of it is
/// moved, 8 bytes an entry. Entries with the same id, all but the first of them culled, come newest
/// first (CACHE-44).
#[derive(Debug)]
pub(super) struct Order {
    places: Vec<ListedSlot>,
    /// The place that the cache's own walk visits next (CACHE-35). It stays with its entry when
    /// others come or go in front of it, so that a step has nothing to look for.
    cursor: usize,
}

impl Order {
    pub(super) const fn new() -> Order {
        Order {
            places: Vec::new(),
            cursor: END,
        }
    }

    /// All places.
    pub(super) fn places(&self) -> &[ListedSlot] {
        &self.places
    }

    /// The slot of an id: that of the newest entry with it.
    pub(super) fn find(&self, id: u32) -> Option<u32> {
        let place = self.places.get(self.search_id(id))?;
        (place.id == id).then_some(place.slot)
    }

    /// Index of the first place whose id is not lower.
    pub(super) fn search_id(&self, id: u32) -> usize {
        match self.places.last() {
            Some(last) if id <= last.id => self.places.partition_point(|place| place.id < id),
            _ => self.places.len(),
        }
    }

    /// Index of the first place that is not in front of a position.
    pub(super) fn search<T>(&self, slab: &Slab<T>, from: Position) -> usize {
        let same = self.search_id(from.id());
        let newer = self.places[same..].iter();
        same + newer.take_while(|place| position(**place, slab) < from).count()
    }

    /// The position of a place; that behind all entries if there is none.
    pub(super) fn position_at<T>(&self, slab: &Slab<T>, at: usize) -> Position {
        let place = self.places.get(at);
        place.map_or(Position::END, |place| position(*place, slab))
    }

    /// Makes sure that one more entry can be listed.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn reserve(&mut self) -> Result<()> {
        room(&mut self.places, 1)
    }

    /// Lists an entry; see [`Order::reserve`].
    pub(super) fn insert(&mut self, place: ListedSlot) {
        let at = self.search_id(place.id);
        // Room: `reserve`.
        self.places.push(place);
        self.places[at..].rotate_right(1);
        if self.cursor != END && at <= self.cursor {
            self.cursor += 1;
        }
    }

    /// Forgets the entries for which `keep` is false. The cache's own walk goes on at the first one
    /// from its place on that is kept.
    pub(super) fn retain<T>(&mut self, slab: &Slab<T>, keep: impl Fn(&Entry<T>) -> bool) {
        let keep = |place: &ListedSlot| keep(slab.get(place.slot));
        let in_front = self.places.get(..self.cursor).unwrap_or_default();
        let kept = in_front.iter().filter(|place| keep(place)).count();
        self.places.retain(keep);
        if self.cursor != END {
            self.go_on(kept);
        }
    }

    /// Begins the cache's own walk.
    pub(super) fn rewind(&mut self) {
        self.go_on(0);
    }

    /// The next entry of the cache's own walk, whatever its state; `None` at the end.
    #[inline(always)]
    pub(super) fn step(&mut self) -> Option<ListedSlot> {
        let place = *self.places.get(self.cursor)?;
        self.go_on(self.cursor + 1);
        Some(place)
    }

    /// The cache's own walk goes on at a place, or ends if there is none yet.
    #[inline(always)]
    fn go_on(&mut self, at: usize) {
        self.cursor = if at < self.places.len() { at } else { END };
    }
}

/// Where an entry is listed.
fn position<T>(place: ListedSlot, slab: &Slab<T>) -> Position {
    Position::new(place.id, slab.get(place.slot).serial)
}

#[cfg(test)]
mod tests {
    use super::super::entry::Entry;
    use super::*;
    use std::collections::BTreeMap;

    fn list(order: &mut Order, ids: &[u32], slot: u32) {
        for id in ids.iter().copied() {
            order.reserve().expect("memory");
            order.insert(ListedSlot { id, slot });
        }
    }

    fn rest(order: &mut Order) -> Vec<u32> {
        std::iter::from_fn(|| order.step()).map(|place| place.id).collect()
    }

    /// DEF-14, CACHE-44: ids in any order, dense and sparse: each is found, and the newest of those
    /// that are there several times.
    #[test]
    fn as_a_map() {
        let (mut order, mut model, mut seed) = (Order::new(), BTreeMap::new(), 1u32);
        for number in 0..3_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let id = match number % 3 {
                0 => number,
                1 => seed >> 20,
                _ => seed >> 1,
            };
            list(&mut order, &[id], number);
            model.insert(id, number);
            assert_eq!(order.find(number), model.get(&number).copied());
        }
        assert!(order.places().is_sorted_by_key(|place| place.id));
        assert!(model.iter().all(|(id, slot)| order.find(*id) == Some(*slot)));
        assert!((0..30_000).all(|id| order.find(id) == model.get(&id).copied()));
    }

    /// CACHE-35: the cache's own walk keeps its place when others come: in front of it, so that the
    /// place moves, where the place is, and behind it. What comes in where the place is, is in
    /// front of it: the walk visits the entry that it has noted.
    #[test]
    fn a_walk_keeps_its_place_when_others_come() {
        for (visited, coming, left) in [
            (1, &[5, 15, 25, 35, 6][..], &[20, 25, 30, 35, 40][..]),
            (2, &[5, 1, 3], &[30, 40]),
            (0, &[5], &[10, 20, 30, 40]),
            (3, &[39, 35], &[40]),
            (3, &[1, 2, 3, 4, 5, 6, 7, 8, 9], &[40]),
            (4, &[5, 39], &[]),
        ] {
            let mut order = Order::new();
            list(&mut order, &[10, 20, 30, 40], 0);
            order.rewind();
            assert!((0..visited).all(|_| order.step().is_some()));
            list(&mut order, coming, 0);
            assert!(order.places().is_sorted_by_key(|place| place.id));
            assert_eq!(rest(&mut order), left, "{visited} visited, then {coming:?}");
        }
    }

    /// CACHE-35: entries that go: the walk goes on at the first one from its place on that is kept.
    #[test]
    fn a_walk_keeps_its_place_when_others_go() {
        let mut slab = Slab::<u8>::new();
        let mut order = Order::new();
        for (id, kept) in [(10, true), (20, false), (30, true), (40, true), (15, false), (35, true)] {
            slab.reserve().expect("memory");
            let mut entry = Entry::active(id);
            entry.serial = u32::from(kept);
            let slot = slab.insert(entry);
            list(&mut order, &[id], slot);
            if id == 40 {
                order.rewind();
                assert_eq!(order.step().map(|place| place.id), Some(10));
            }
        }
        order.retain(&slab, |entry| entry.serial == 1);
        assert_eq!(rest(&mut order), [30, 35, 40]);
    }
}
