//! The list of entries by ascending ids, in which ids are found by a binary search (DEF-14), and in
//! which a walk keeps its place while entries come and go.

use super::entry::{Entry, Slab, reserve};
use crate::error::Result;

/// The greatest instance id, and the limit of a cache that was never resized.
pub const MAXIMUM: u32 = 0x7fff_ffff;

/// The way in which a new instance gets its id (CACHE-40, CACHE-42).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Mode {
    /// One more than the greatest id that an instance has ever had.
    Monotonic = 0,
    /// The lowest one that no listed entry has.
    Reuse = 1,
}

/// An entry of the list: an id, and the slot with the instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ListedSlot {
    pub(super) id: u32,
    pub(super) slot: u32,
}

/// The place where a walk goes on: at the entry that it noted or, if that was reclaimed, at the
/// entry after it. Positions are ordered as the list is: by id, and of entries with one id the
/// newest first (CACHE-44).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position(u64);

impl Position {
    /// Behind all entries.
    pub const END: Position = Position(u64::MAX);

    /// The position of the entry with this id and [serial number](Entry::serial).
    pub(super) fn new(id: u32, serial: u32) -> Position {
        Position(u64::from(id) << 32 | u64::from(!serial))
    }

    /// The id of the position: no entry from here on has a lower one.
    #[must_use]
    pub fn id(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The position as a number, which an atomic can hold.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The position that [`Position::to_bits`] has made a number.
    #[must_use]
    pub fn from_bits(bits: u64) -> Position {
        Position(bits)
    }
}

/// The list. Ids mostly ascend, so a new entry mostly goes to the end; an entry that goes between
/// others moves the later ones. Of the entries with one id, all but the first are culled, and the
/// newest is the first (CACHE-44).
#[derive(Debug)]
pub(super) struct IdList {
    entries: Vec<ListedSlot>,
    /// The index of the entry that the cache's own walk visits next (CACHE-35), or [`END`]. It
    /// stays with that entry when others come or go, so a step need not search.
    cursor: usize,
}

/// The cursor of a walk that has ended: entries that are added later are not visited.
const END: usize = usize::MAX;

impl IdList {
    pub(super) const fn new() -> IdList {
        IdList {
            entries: Vec::new(),
            cursor: END,
        }
    }

    /// All entries in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &ListedSlot> {
        self.entries.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn last(&self) -> Option<ListedSlot> {
        self.entries.last().copied()
    }

    /// The entry at an index; `None` after all entries.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<ListedSlot> {
        self.entries.get(at).copied()
    }

    /// The slot of the newest entry with an id.
    pub(super) fn find(&self, id: u32) -> Option<u32> {
        let entry = self.get(self.search_id(id))?;
        (entry.id == id).then_some(entry.slot)
    }

    /// The index of the first entry whose id is not lower.
    pub(super) fn search_id(&self, id: u32) -> usize {
        if self.last().is_none_or(|last| last.id < id) {
            return self.len();
        }
        self.entries.partition_point(|entry| entry.id < id)
    }

    /// The index of the first entry that is not in front of a position.
    pub(super) fn search<T>(&self, slab: &Slab<T>, from: Position) -> usize {
        let mut at = self.search_id(from.id());
        while self.get(at).is_some_and(|entry| position(entry, slab) < from) {
            at += 1;
        }
        at
    }

    /// The position of the entry at an index; the end if the index has no entry.
    pub(super) fn position_at<T>(&self, slab: &Slab<T>, at: usize) -> Position {
        let entry = self.get(at);
        entry.map_or(Position::END, |entry| position(entry, slab))
    }

    /// Makes sure that one more entry can be listed.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn reserve(&mut self) -> Result<()> {
        reserve(&mut self.entries, 1)
    }

    /// Lists an entry, in the memory that [`IdList::reserve`] has provided.
    pub(super) fn insert(&mut self, entry: ListedSlot) {
        let at = self.search_id(entry.id);
        // Room: `reserve`.
        self.entries.push(entry);
        self.entries[at..].rotate_right(1);
        if self.cursor != END && self.cursor >= at {
            self.cursor += 1;
        }
    }

    /// Removes the entries for which `keep` is false. The cache's own walk goes on at the first
    /// entry from its place on that is kept.
    pub(super) fn retain<T>(&mut self, slab: &Slab<T>, keep: impl Fn(&Entry<T>) -> bool) {
        let (mut at, mut kept_in_front) = (0, 0);
        self.entries.retain(|entry| {
            let is_kept = keep(slab.get(entry.slot));
            kept_in_front += usize::from(is_kept && at < self.cursor);
            at += 1;
            is_kept
        });
        if self.cursor != END {
            self.move_cursor(kept_in_front);
        }
    }

    /// Begins the cache's own walk at the first entry.
    pub(super) fn rewind(&mut self) {
        self.move_cursor(0);
    }

    /// Moves the cursor to an index, or to the end if the index has no entry.
    #[inline(always)]
    fn move_cursor(&mut self, at: usize) {
        self.cursor = if at < self.entries.len() { at } else { END };
    }

    /// The next entry of the cache's own walk, whatever its state; `None` at the end.
    #[inline(always)]
    pub(super) fn step(&mut self) -> Option<ListedSlot> {
        let entry = self.get(self.cursor)?;
        self.move_cursor(self.cursor + 1);
        Some(entry)
    }
}

/// The position of an entry of the list.
fn position<T>(entry: ListedSlot, slab: &Slab<T>) -> Position {
    Position::new(entry.id, slab.get(entry.slot).serial)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Lists entries. An insertion needs no memory but that of [`IdList::reserve`], so it cannot
    /// fail.
    fn list(order: &mut IdList, ids: &[u32], slot: u32) {
        let memory = |order: &IdList| order.entries.capacity();
        for id in ids.iter().copied() {
            order.reserve().expect("memory");
            let reserved = memory(order);
            order.insert(ListedSlot { id, slot });
            assert_eq!(memory(order), reserved);
        }
    }

    fn rest(order: &mut IdList) -> Vec<u32> {
        std::iter::from_fn(|| order.step()).map(|listed| listed.id).collect()
    }

    /// Ids come in any order, dense and sparse: each is found, and of several entries with one id
    /// the newest (DEF-14, CACHE-44).
    #[test]
    fn as_a_map() {
        let (mut order, mut model, mut seed) = (IdList::new(), BTreeMap::new(), 1u32);
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
        assert!(order.iter().is_sorted_by_key(|listed| listed.id));
        assert!(model.iter().all(|(id, slot)| order.find(*id) == Some(*slot)));
        assert!((0..30_000).all(|id| order.find(id) == model.get(&id).copied()));
    }

    /// The cache's own walk keeps its place when entries are added: before it, where the place
    /// moves, at the cursor, and after it. An entry that is added at the cursor is before it: the
    /// walk visits the entry that it has noted (CACHE-35).
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
            let mut order = IdList::new();
            list(&mut order, &[10, 20, 30, 40], 0);
            order.rewind();
            assert!((0..visited).all(|_| order.step().is_some()));
            list(&mut order, coming, 0);
            assert!(order.iter().is_sorted_by_key(|listed| listed.id));
            assert_eq!(rest(&mut order), left, "{visited} visited, then {coming:?}");
        }
    }

    /// A walk that has reached the end stays at the end when another entry is added after it
    /// (CACHE-35).
    #[test]
    fn the_end_is_the_end() {
        for count in [0, 1, 3, 1_000] {
            let mut order = IdList::new();
            let ids: Vec<u32> = (0..).take(count + 1).collect();
            list(&mut order, &ids[..count], 0);
            order.rewind();
            assert_eq!(rest(&mut order).len(), count);
            list(&mut order, &ids[count..], 0);
            assert_eq!(order.step(), None, "{count}");
            order.rewind();
            assert_eq!(rest(&mut order), ids);
        }
    }

    /// A position is a number and back again, has its id, and is ordered as the list is: by id, and
    /// the newest entry of an id first (CACHE-44).
    #[test]
    fn positions() {
        let positions = [(0, 3), (0, 1), (7, 9), (7, 8), (7, 0), (MAXIMUM, 5)].map(|(id, serial)| {
            let position = Position::new(id, serial);
            assert_eq!((position.id(), Position::from_bits(position.to_bits())), (id, position));
            position
        });
        assert!(positions.is_sorted() && positions.iter().all(|position| *position < Position::END));
    }

    /// When entries go, the walk goes on at the first entry from its place on that is kept
    /// (CACHE-35).
    #[test]
    fn a_walk_keeps_its_place_when_others_go() {
        let mut slab = Slab::<u8>::new();
        let mut order = IdList::new();
        for (id, kept) in [(10, true), (20, false), (30, true), (40, true), (15, false), (35, true)] {
            slab.reserve().expect("memory");
            let mut entry = Entry::active(id);
            entry.serial = u32::from(kept);
            let slot = slab.insert(entry);
            list(&mut order, &[id], slot);
            if id == 40 {
                order.rewind();
                assert_eq!(order.step().map(|listed| listed.id), Some(10));
            }
        }
        order.retain(&slab, |entry| entry.serial == 1);
        assert_eq!(rest(&mut order), [30, 35, 40]);
    }

    /// As a plain list: ids in any order, ids twice, entries that go, and a walk all the while
    /// (DEF-14, CACHE-35).
    #[test]
    fn as_a_list() {
        for shape in [0, 1, 2] {
            let mut slab = Slab::<u8>::new();
            let mut order = IdList::new();
            let (mut model, mut cursor, mut seed) = (Vec::<ListedSlot>::new(), usize::MAX, 7u32);
            for number in 0..6_000 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let id = [number, 1 << 20, seed >> 17][shape].wrapping_sub([0, number, 0][shape]);
                slab.reserve().expect("memory");
                let slot = slab.insert(Entry::active(id));
                list(&mut order, &[id], slot);
                let at = model.partition_point(|entry| entry.id < id);
                model.insert(at, ListedSlot { id, slot });
                cursor += usize::from(cursor != usize::MAX && at <= cursor);
                if seed >> 28 < 6 {
                    let stepped = model.get(cursor).copied();
                    assert_eq!(order.step(), stepped, "{number}");
                    cursor = if stepped.is_some() && cursor + 1 < model.len() {
                        cursor + 1
                    } else {
                        usize::MAX
                    };
                }
                if number % 1_000 == 3 {
                    order.rewind();
                    cursor = model.len() / 2;
                    let visited = (0..cursor).map_while(|_| order.step());
                    assert!(visited.eq(model.iter().take(cursor).copied()), "{number}");
                }
                if number % 1_500 == 1_499 {
                    let keep = |id: u32| id % 3 != 0 && id / 512 % 4 != 1;
                    let kept = model
                        .iter()
                        .take(cursor.min(model.len()))
                        .filter(|entry| keep(entry.id))
                        .count();
                    model.retain(|entry| keep(entry.id));
                    cursor = if cursor != usize::MAX && kept < model.len() {
                        kept
                    } else {
                        usize::MAX
                    };
                    order.retain(&slab, |entry| keep(u32::try_from(entry.id()).expect("an id")));
                }
                if number % 500 == 0 || number % 1_500 == 1_499 {
                    assert!(order.iter().eq(&model) && order.len() == model.len(), "{number}");
                    assert_eq!(
                        (order.last(), order.get(0)),
                        (model.last().copied(), model.first().copied())
                    );
                }
            }
            assert!((0..).map_while(|at| order.get(at)).eq(model.iter().copied()));
            order.retain(&slab, |_| false);
            assert_eq!((order.len(), order.step(), order.get(0)), (0, None, None));
            list(&mut order, &[4, 3], 0);
            assert_eq!(order.iter().map(|entry| entry.id).collect::<Vec<_>>(), [3, 4]);
        }
    }
}
