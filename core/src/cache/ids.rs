//! Entries by id. [`Ids`] leads from an id to the entry that holds it: a plain array where ids are
//! dense, a hash table for the others. [`Order`] is the list of all entries in ascending order.

use super::entry::{Entry, Slab};
use super::lookup::Position;
use super::{growth, room};
use crate::error::{Error, Result};
use crate::index::{Index, Seed};

const NONE: u32 = u32::MAX;

/// Slots by id. Small ids, as automatic allocation makes them, are found with one access (DEF-14).
#[derive(Debug)]
pub(super) struct Ids {
    dense: Vec<u32>,
    /// Slots of the ids beyond the array.
    sparse: Index,
    len: usize,
}

impl Ids {
    pub(super) const fn new() -> Ids {
        Ids {
            dense: Vec::new(),
            sparse: Index::new(),
            len: 0,
        }
    }

    pub(super) fn get<T>(&self, id: u32, slab: &Slab<T>) -> Option<u32> {
        match self.dense.get(id as usize) {
            Some(slot) => (*slot != NONE).then_some(*slot),
            None if self.sparse.is_empty() => None,
            None => self.get_sparse(id, slab),
        }
    }

    #[inline(never)]
    fn get_sparse<T>(&self, id: u32, slab: &Slab<T>) -> Option<u32> {
        self.sparse.find(hash(id), |slot| slab.get(slot).id == id)
    }

    /// Makes room for an id, and for those that are expected to follow: the array grows where that
    /// pays.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn reserve<T>(&mut self, id: u32, expected: usize, slab: &Slab<T>) -> Result<()> {
        let place = id as usize;
        if place < self.dense.len() {
            return Ok(());
        }
        if place < 8.max(self.len * 2) {
            // Not a few places only beside a large table: so this is amortised.
            let grown = self.dense.len() + growth::<u32>(self.dense.len());
            return self.extend(grown.max(place + 1).max(self.len / 4), slab);
        }
        let end = slab.len() + 1;
        self.sparse
            .reserve_expecting(expected, end, |slot| hash(slab.get(slot).id))
    }

    /// Sets the slot of an id, whether it had one or not; see [`Ids::reserve`].
    pub(super) fn set<T>(&mut self, id: u32, slot: u32, slab: &Slab<T>) {
        if let Some(old) = self.dense.get_mut(id as usize) {
            self.len += usize::from(*old == NONE);
            *old = slot;
            return;
        }
        match self.get_sparse(id, slab) {
            Some(old) => self.sparse.replace(hash(id), old, slot),
            None => {
                self.sparse.insert(hash(id), slot);
                self.len += 1;
            }
        }
    }

    /// Forgets an id if it leads to `slot`.
    pub(super) fn remove(&mut self, id: u32, slot: u32) {
        if let Some(old) = self.dense.get_mut(id as usize) {
            if *old == slot {
                *old = NONE;
                self.len -= 1;
            }
        } else if self.sparse.remove(hash(id), slot) {
            self.len -= 1;
        }
    }

    /// Makes the array longer, and moves into it what belongs there.
    fn extend<T>(&mut self, length: usize, slab: &Slab<T>) -> Result<()> {
        let more = length - self.dense.len();
        self.dense.try_reserve_exact(more).map_err(|_| Error::NOMEM)?;
        self.dense.resize(length, NONE);
        if !self.sparse.is_empty() {
            let dense = &mut self.dense;
            let id = |slot: u32| slab.get(slot).id as usize;
            self.sparse.extract(|slot| {
                let place = dense.get_mut(id(slot));
                place.map(|place| *place = slot).is_some()
            });
        }
        Ok(())
    }

    /// Gives memory back that the ids beyond the array no longer need.
    pub(super) fn shrink<T>(&mut self, slab: &Slab<T>) {
        self.sparse.shrink(|slot| hash(slab.get(slot).id));
    }
}

/// Ids that agents make of keys come from outside.
fn hash(id: u32) -> u32 {
    Seed::process().number(u64::from(id))
}

/// One listed entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ListedSlot {
    pub(super) id: u32,
    pub(super) slot: u32,
}

/// The place of a walk that has ended.
const END: usize = usize::MAX;

/// A sorted array, with insertions that are out of order kept apart until somebody looks: ids
/// mostly ascend, and those that come from hashes arrive many at a time, so a tree would cost more
/// than it saves (DEF-14).
#[derive(Debug)]
pub(super) struct Order {
    sorted: Vec<ListedSlot>,
    /// There is room for all of these behind the sorted ones.
    pending: Vec<ListedSlot>,
    /// Where the last search ended; the next one is mostly for the place behind it.
    hint: usize,
    /// The sorted place that the cache's own walk visits next (CACHE-35). It stays with its entry
    /// when others come or go in front of it, so that a step has nothing to look for.
    cursor: usize,
}

impl Order {
    pub(super) const fn new() -> Order {
        Order {
            sorted: Vec::new(),
            pending: Vec::new(),
            hint: 0,
            cursor: END,
        }
    }

    /// Makes sure that an entry with this id can be listed, and that putting all in order needs no
    /// memory.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn reserve(&mut self, id: u32) -> Result<()> {
        room(&mut self.sorted, self.pending.len() + 1)?;
        if self.follows(id) {
            return Ok(());
        }
        room(&mut self.pending, 1)
    }

    /// Whether all listed entries that are in order have lower ids.
    fn follows(&self, id: u32) -> bool {
        self.sorted.last().is_none_or(|last| last.id < id)
    }

    /// Lists an entry; see [`Order::reserve`].
    pub(super) fn push(&mut self, place: ListedSlot) {
        // Room: `reserve`.
        if self.follows(place.id) {
            self.sorted.push(place);
        } else {
            self.pending.push(place);
        }
    }

    /// Forgets the entries for which `keep` is false. The cache's own walk goes on at the first one
    /// from its place on that is kept.
    pub(super) fn retain<T>(&mut self, slab: &Slab<T>, keep: impl Fn(&Entry<T>) -> bool) {
        let keep = |place: &ListedSlot| keep(slab.get(place.slot));
        if self.cursor != END {
            self.places(slab);
            let in_front = self.sorted.iter().take(self.cursor);
            let kept = in_front.filter(|place| keep(place)).count();
            self.sorted.retain(keep);
            self.go_on(kept);
            return;
        }
        self.sorted.retain(keep);
        self.pending.retain(keep);
    }

    /// Begins the cache's own walk.
    pub(super) fn rewind<T>(&mut self, slab: &Slab<T>) {
        self.places(slab);
        self.go_on(0);
    }

    /// The next entry of the cache's own walk, whatever its state; `None` at the end. What is
    /// pending is not visited.
    #[inline(always)]
    pub(super) fn step(&mut self) -> Option<ListedSlot> {
        let place = *self.sorted.get(self.cursor)?;
        self.go_on(self.cursor + 1);
        Some(place)
    }

    /// The cache's own walk goes on at a place, or ends if there is none yet.
    #[inline(always)]
    fn go_on(&mut self, at: usize) {
        self.cursor = if at < self.sorted.len() { at } else { END };
    }

    /// Number of listed entries.
    pub(super) fn len(&self) -> usize {
        self.sorted.len() + self.pending.len()
    }

    /// All places, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = ListedSlot> {
        self.sorted.iter().chain(&self.pending).copied()
    }

    /// All places in order. Entries with the same id, all but one of them culled, come newest first
    /// (CACHE-44).
    pub(super) fn places<T>(&mut self, slab: &Slab<T>) -> &[ListedSlot] {
        if !self.pending.is_empty() {
            self.merge(slab);
        }
        &self.sorted
    }

    /// The places if they are in order already.
    pub(super) fn ready(&self) -> Option<&[ListedSlot]> {
        self.pending.is_empty().then_some(&self.sorted)
    }

    /// Puts the pending places where they belong, from the end, in the room that is kept for them.
    #[cold]
    fn merge<T>(&mut self, slab: &Slab<T>) {
        let rank = |place: &ListedSlot| position(*place, slab);
        self.pending.sort_unstable_by_key(rank);
        let mut left = self.sorted.len();
        let mut at = left + self.pending.len();
        let cursor = self.cursor;
        // Room: `reserve` keeps it for the pending ones.
        self.sorted.resize(at, ListedSlot { id: 0, slot: 0 });
        while let Some(last) = self.pending.last() {
            at -= 1;
            match left.checked_sub(1).map(|before| self.sorted[before]) {
                Some(before) if rank(&before) > rank(last) => {
                    self.sorted[at] = before;
                    left -= 1;
                    if left == cursor {
                        self.cursor = at;
                    }
                }
                _ => {
                    self.sorted[at] = *last;
                    self.pending.pop();
                }
            }
        }
        if self.pending.capacity() > 256 {
            self.pending = Vec::new();
        }
    }

    /// Index in [`Order::places`] of the first place that is not in front of a position; O(1) for
    /// one walk in order.
    pub(super) fn search<T>(&mut self, slab: &Slab<T>, from: Position) -> usize {
        self.places(slab);
        let is_before = |place: &ListedSlot| position(*place, slab) < from;
        let fits = |at: usize| {
            (at == 0 || self.sorted.get(at - 1).is_some_and(is_before))
                && self.sorted.get(at).is_none_or(|place| !is_before(place))
        };
        let guess = [self.hint, self.hint + 1].into_iter().find(|at| fits(*at));
        self.hint = guess.unwrap_or_else(|| {
            let same = self.sorted.partition_point(|place| place.id < from.id());
            let newer = self.sorted[same..].iter().take_while(|place| is_before(place));
            same + newer.count()
        });
        self.hint
    }

    /// Where a walk goes on that has reached a place: the next search is mostly for it.
    pub(super) fn reached(&mut self, at: usize) {
        self.hint = at;
    }
}

/// Where an entry is listed.
pub(super) fn position<T>(place: ListedSlot, slab: &Slab<T>) -> Position {
    Position::new(place.id, slab.get(place.slot).serial)
}

#[cfg(test)]
mod tests {
    use super::super::entry::Entry;
    use super::*;
    use std::collections::BTreeMap;

    fn store(ids: &mut Ids, slab: &mut Slab<u8>, id: u32) -> u32 {
        slab.reserve().expect("memory");
        let slot = slab.insert(Entry::active(id));
        ids.reserve(id, 0, slab).expect("memory");
        ids.set(id, slot, slab);
        slot
    }

    /// DEF-14: ids one behind the other are all in the array, which is not much longer. One that is
    /// far away is not.
    #[test]
    fn dense_ids() {
        let (mut ids, mut slab) = (Ids::new(), Slab::<u8>::new());
        for id in 0..1000 {
            store(&mut ids, &mut slab, id);
            assert!(
                ids.sparse.is_empty() && ids.dense.len() <= 8.max(2 * id as usize),
                "{id}"
            );
        }
        let length = ids.dense.len();
        store(&mut ids, &mut slab, 1_000_000);
        assert_eq!((ids.sparse.is_empty(), ids.dense.len()), (false, length));
    }

    /// DEF-14: dense and sparse ids in any order, found and forgotten.
    #[test]
    fn as_a_map() {
        let mut ids = Ids::new();
        let mut slab = Slab::<u8>::new();
        let mut model = BTreeMap::new();
        let mut seed = 1u32;
        for number in 0..20_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let id = match number % 3 {
                0 => number,
                1 => seed >> 20,
                _ => seed >> 1,
            };
            let slot = store(&mut ids, &mut slab, id);
            model.insert(id, slot);
            if number % 5 == 0 {
                ids.remove(id, slot + 1);
                ids.remove(id, slot);
                model.remove(&id);
            }
        }
        assert_eq!(ids.len, model.len());
        for (id, slot) in &model {
            assert_eq!(ids.get(*id, &slab), Some(*slot));
        }
        assert!((0..30_000).all(|id| ids.get(id, &slab) == model.get(&id).copied()));
    }

    /// DEF-14: what comes out of order is put in order. A few places are kept for the next ones,
    /// many are given back.
    #[test]
    fn out_of_order() {
        let mut slab = Slab::<u8>::new();
        slab.reserve().expect("memory");
        let slot = slab.insert(Entry::active(0));
        for (count, kept) in [(200, true), (2000, false)] {
            let mut order = Order::new();
            for id in (0..count).rev() {
                order.reserve(id).expect("memory");
                order.push(ListedSlot { id, slot });
            }
            assert_eq!(order.len(), count as usize);
            assert!(order.places(&slab).iter().map(|place| place.id).eq(0..count));
            assert_eq!(order.pending.capacity() > 0, kept, "{count}");
        }
    }

    /// CACHE-35: the cache's own walk keeps its place when what was pending is put in order: in
    /// front of it, so that the place moves, where the place is, and behind it. What comes in where
    /// the place is, is in front of it: the walk visits the entry that it has noted.
    #[test]
    fn a_walk_keeps_its_place_in_a_merge() {
        let mut slab = Slab::<u8>::new();
        slab.reserve().expect("memory");
        let slot = slab.insert(Entry::active(0));
        let listed = |order: &mut Order, ids: &[u32]| {
            for id in ids.iter().copied() {
                order.reserve(id).expect("memory");
                order.push(ListedSlot { id, slot });
            }
        };
        let rest =
            |order: &mut Order| -> Vec<u32> { std::iter::from_fn(|| order.step()).map(|place| place.id).collect() };
        for (visited, pending, left) in [
            (1, &[5, 15, 25, 35, 6][..], &[20, 25, 30, 35, 40][..]),
            (2, &[5, 1, 3], &[30, 40]),
            (0, &[5], &[10, 20, 30, 40]),
            (3, &[39, 35], &[40]),
            (3, &[1, 2, 3, 4, 5, 6, 7, 8, 9], &[40]),
            (4, &[5, 39], &[]),
        ] {
            let mut order = Order::new();
            listed(&mut order, &[10, 20, 30, 40]);
            order.rewind(&slab);
            assert!((0..visited).all(|_| order.step().is_some()));
            listed(&mut order, pending);
            assert!(order.ready().is_none());
            assert!(order.places(&slab).is_sorted_by_key(|place| place.id));
            assert_eq!(rest(&mut order), left, "{visited} visited, then {pending:?}");
        }
    }

    /// CACHE-35: entries that go while others are pending: the walk goes on at the first one from
    /// its place on that is kept.
    #[test]
    fn a_walk_keeps_its_place_when_others_go() {
        let mut slab = Slab::<u8>::new();
        let mut order = Order::new();
        for (id, kept) in [(10, true), (20, false), (30, true), (40, true), (15, false), (35, true)] {
            slab.reserve().expect("memory");
            let mut entry = Entry::active(id);
            entry.serial = u32::from(kept);
            let slot = slab.insert(entry);
            order.reserve(id).expect("memory");
            order.push(ListedSlot { id, slot });
            if id == 40 {
                order.rewind(&slab);
                assert_eq!(order.step().map(|place| place.id), Some(10));
            }
        }
        assert!(order.ready().is_none());
        order.retain(&slab, |entry| entry.serial == 1);
        let rest: Vec<_> = std::iter::from_fn(|| order.step()).map(|place| place.id).collect();
        assert_eq!(rest, [30, 35, 40]);
    }
}
