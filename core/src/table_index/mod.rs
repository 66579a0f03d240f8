//! Indexes over tables that belong to the agent: metrics, instance domains and instances.
//!
//! An agent may rewrite its tables at any time and without notice. So this module has two kinds of
//! index. The agent requests a [`Hashed`] by `pmdaRehash`, and has to call that again after a change
//! (INIT-46): its answers are not checked. The library makes a [`HintIndex`] by itself: its answers
//! are checked against the table.

use crate::error::{Error, Result};
use crate::ident::MetricId;
use crate::index::{Index, Seed};

/// The positions of metrics in the table that was given to `pmdaRehash`. The index answers for the
/// table as it was then, wherever the agent's fields point now (INIT-46).
///
/// It is searched for each metric of a fetch, and made once: so it has twice as many slots as it
/// needs, and a metric is in the slot that its hash says or in one of the next.
#[derive(Default, Debug)]
pub struct Hashed {
    /// A power of two, or none without metrics.
    slots: Vec<Slot>,
    /// The number of bits of a hash that do not count.
    shift: u32,
}

/// The position of a metric in its table.
#[derive(Clone, Copy, Debug)]
struct Slot {
    pmid: MetricId,
    /// [`FREE`] if the slot has no metric.
    position: u32,
}

const FREE: u32 = u32::MAX;

impl Hashed {
    /// Builds an index over the identifiers of a table, in its order. Of duplicates the last one
    /// counts (F-15).
    ///
    /// # Errors
    /// `-ENOMEM` when there is no memory for it.
    pub fn build(pmids: impl ExactSizeIterator<Item = MetricId>) -> Result<Hashed> {
        let len = u32::try_from(pmids.len()).map_err(|_| Error::ENOMEM)?;
        let mut hashed = Hashed::with_capacity(len)?;
        for (position, pmid) in (0..len).zip(pmids) {
            let at = hashed.search(pmid);
            if let Some(slot) = hashed.slots.get_mut(at) {
                *slot = Slot { pmid, position };
            }
        }
        Ok(hashed)
    }

    /// An index without metrics, with room for `len` of them.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn with_capacity(len: u32) -> Result<Hashed> {
        if len == 0 {
            return Ok(Hashed::default());
        }
        let size = (u64::from(len) * 2).next_power_of_two();
        let count = usize::try_from(size).map_err(|_| Error::ENOMEM)?;
        let mut slots = Vec::new();
        slots.try_reserve_exact(count).map_err(|_| Error::ENOMEM)?;
        let (pmid, position) = (MetricId::NULL, FREE);
        slots.resize(count, Slot { pmid, position });
        let shift = u32::BITS.saturating_sub(size.trailing_zeros());
        Ok(Hashed { slots, shift })
    }

    /// The slot that has a metric, or the free one where it would be.
    #[inline(always)]
    fn search(&self, wanted: MetricId) -> usize {
        // Identifiers follow each other, which this spreads evenly: 2^32 divided by the golden
        // ratio. There is no seed, as in libpcp's hash: nobody but the agent adds metrics.
        let hash = wanted.0.wrapping_mul(0x9e37_79b9);
        let mut at = (hash >> self.shift) as usize;
        // Half of the slots are free, so that the search ends.
        while let Some(slot) = self.slots.get(at) {
            if slot.pmid == wanted || slot.position == FREE {
                break;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// The position of a metric.
    #[must_use]
    #[inline(always)]
    pub fn find(&self, wanted: MetricId) -> Option<usize> {
        let slot = self.slots.get(self.search(wanted))?;
        (slot.position != FREE).then_some(slot.position as usize)
    }

    /// Returns whether the index has no metrics.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

/// The number of entries up to which a table is searched from its start, which is as fast as a
/// lookup in an index.
pub const SHORT: usize = 32;

/// The number of entries with the same hash that an index takes. Of entries with one key only the
/// first counts; the others get a position since keys may differ that have one hash.
const EQUAL: usize = 4;

/// The identity of a table. An index is emptied when it is used for another one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Table {
    /// The address of the table.
    pub address: usize,
    /// The number of its entries.
    pub len: usize,
}

/// An index that remembers the positions of a table at which keys were found.
///
/// A remembered position is checked before it is used, and a key without a good one is searched
/// from the start of the table. So the index always finds an entry that is in the table, and never
/// returns an entry that was removed, moved or changed.
///
/// The index cannot notice one change. Of several entries with one key the first counts. If the
/// agent writes a *second* entry with a known key before the first one, and neither moves nor
/// resizes the table, the index still finds the old entry.
#[derive(Default, Debug)]
pub struct HintIndex {
    table: Table,
    /// The number of entries that searches have looked at since the table was indexed last.
    effort: usize,
    /// The positions by the hashes of their keys. The keys themselves are in the table only.
    positions: Index,
}

impl HintIndex {
    /// Returns the first position of `table` that `is_it` accepts. `keys_at` calls its second
    /// argument with each key under which the entry at a position is to be found; `key` must be one
    /// of them wherever `is_it` is true. A key is a number. It may be a hash, since the entry
    /// itself is compared.
    pub fn find(
        &mut self,
        table: Table,
        key: u64,
        is_it: impl Fn(usize) -> bool,
        keys_at: impl Fn(usize, &mut dyn FnMut(u64)),
    ) -> Option<usize> {
        if table.len <= SHORT {
            return (0..table.len).find(|position| is_it(*position));
        }
        if table != self.table {
            self.positions.clear();
            (self.table, self.effort) = (table, 0);
        }
        let hash = Seed::process().number(key);
        let indexed = self.positions.find(hash, |position| is_it(position as usize));
        if let Some(position) = indexed {
            return Some(position as usize);
        }
        let position = (0..table.len).find(|position| is_it(*position))?;
        self.learn(position, keys_at);
        Some(position)
    }

    /// Indexes the whole table when searches have cost as much as that costs. Searches that find
    /// nothing do not count, since an index cannot save them: a missing entry is searched in the
    /// whole table.
    fn learn(&mut self, position: usize, keys_at: impl Fn(usize, &mut dyn FnMut(u64))) {
        self.effort = self.effort.saturating_add(position + 1);
        if self.effort < self.table.len {
            return;
        }
        self.effort = 0;
        let mut capacity = self.table.len;
        while self.clear_and_reserve(capacity) && !self.fill(&keys_at) {
            // An entry may have more keys than one.
            capacity = capacity.saturating_mul(2);
        }
    }

    /// Indexes the whole table; returns whether there was room for it.
    fn fill(&mut self, keys_at: &impl Fn(usize, &mut dyn FnMut(u64))) -> bool {
        let (seed, mut fits) = (Seed::process(), true);
        for position in 0..self.table.len {
            keys_at(position, &mut |key| {
                fits &= self.positions.has_room(1);
                let hash = seed.number(key);
                if let (Ok(position), true) = (u32::try_from(position), fits) {
                    let mut equal = 0;
                    self.positions.for_each(hash, |_| equal += 1);
                    if equal < EQUAL {
                        self.positions.insert(hash, position, |_| false);
                    }
                }
            });
        }
        fits
    }

    /// Empties the index, and makes room for this many positions; returns whether there was memory.
    fn clear_and_reserve(&mut self, positions: usize) -> bool {
        self.positions.clear();
        let end = u32::try_from(self.table.len).unwrap_or(u32::MAX);
        self.positions.reserve(positions, end, |_| 0).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Every entry is found at its position (INIT-46).
    #[test]
    fn finds() {
        let pmids = [5, 7, 9].map(MetricId);
        let hashed = Hashed::build(pmids.into_iter()).expect("memory");
        assert_eq!(hashed.find(MetricId(5)), Some(0));
        assert_eq!(hashed.find(MetricId(9)), Some(2));
        assert_eq!(hashed.find(MetricId(6)), None);
        assert!(!hashed.is_empty() && Hashed::default().is_empty());
    }

    /// So it is of many, and others are not found: near ones, and such as a hash cannot tell apart
    /// (INIT-46).
    #[test]
    fn finds_among_many() {
        let pmid = |number: u32| MetricId(number.wrapping_mul(0x0001_0003) ^ number << 7);
        for count in [1, 2, 3, 8, 100, 2_000] {
            let hashed = Hashed::build((0..count).map(pmid).collect::<Vec<_>>().into_iter()).expect("memory");
            for number in 0..2 * count {
                assert_eq!(
                    hashed.find(pmid(number)),
                    (number < count).then_some(number as usize),
                    "{number} of {count}"
                );
            }
        }
    }

    /// An entry may have several keys, of which each leads to it (FETCH-20).
    #[test]
    fn several_keys() {
        let (mut positions, looks) = (HintIndex::default(), Cell::new(0));
        let table: Vec<u64> = (0..500).collect();
        let mut find = |key: u64| {
            let extent = Table {
                address: 1,
                len: table.len(),
            };
            let is_it = |position: usize| {
                looks.set(looks.get() + 1);
                table[position] == key / 10
            };
            positions.find(extent, key, is_it, |position, add| {
                (0..10).for_each(|part| add(table[position] * 10 + part));
            })
        };
        for round in 0..2 {
            for key in (0..5_000).rev() {
                assert_eq!(find(key), Some(key as usize / 10), "{round} {key}");
            }
            assert_eq!(find(5_000), None);
        }
        // Warm, each takes one look.
        looks.set(0);
        assert_eq!((find(1_234), find(4_999), looks.get()), (Some(123), Some(499), 2));
    }

    /// Of duplicates the last one is found, and a table of nothing but duplicates costs no more than
    /// another (F-15).
    #[test]
    fn duplicates() {
        let pmids = (0..1_000).map(|position| MetricId(1 + position % 400));
        let hashed = Hashed::build(pmids).expect("memory");
        assert_eq!(
            [1, 200, 201, 400].map(|pmid| hashed.find(MetricId(pmid))),
            [Some(800), Some(999), Some(600), Some(799)]
        );
        let many = Hashed::build(std::iter::repeat_n(MetricId(3), 300_000)).expect("memory");
        assert_eq!((many.find(MetricId(3)), many.find(MetricId(4))), (Some(299_999), None));
    }

    fn find(positions: &mut HintIndex, table: &[u32], address: usize, key: u32, looks: &Cell<usize>) -> Option<usize> {
        let extent = Table {
            address,
            len: table.len(),
        };
        let is_it = |position: usize| {
            looks.set(looks.get() + 1);
            table[position] == key
        };
        positions.find(extent, u64::from(key), is_it, |position, add| {
            add(u64::from(table[position]));
        })
    }

    /// Whatever the agent does to its table, a search finds exactly the entries that the table has.
    /// Once the index is warm, a search takes one look (FETCH-20).
    #[test]
    fn checked_before_believed() {
        let mut table: Vec<u32> = (0..1000).collect();
        let (mut positions, looks) = (HintIndex::default(), Cell::new(0));
        for key in 0..1000 {
            assert_eq!(find(&mut positions, &table, 1, key, &looks), Some(key as usize));
        }
        assert!(looks.get() < 10_000, "{}", looks.get());
        looks.set(0);
        assert_eq!(find(&mut positions, &table, 1, 999, &looks), Some(999));
        assert_eq!(looks.get(), 1);
        table.swap(3, 999);
        assert_eq!(find(&mut positions, &table, 1, 999, &looks), Some(3));
        assert_eq!(find(&mut positions, &table, 1, 3, &looks), Some(999));
        table[500] = 7777;
        assert_eq!(find(&mut positions, &table, 1, 500, &looks), None);
        assert_eq!(find(&mut positions, &table, 1, 7777, &looks), Some(500));
        table.truncate(600);
        assert_eq!(find(&mut positions, &table, 1, 3, &looks), None);
        assert_eq!(find(&mut positions, &table, 1, 599, &looks), Some(599));
    }

    /// Of duplicates the first is found, also in a table that has moved or grown (FETCH-20).
    #[test]
    fn the_first_of_duplicates() {
        let (mut positions, looks) = (HintIndex::default(), Cell::new(0));
        let mut table = vec![1; 40];
        for _ in 0..400 {
            table[39] = 2;
            assert_eq!(find(&mut positions, &table, 1, 1, &looks), Some(0));
            assert_eq!(find(&mut positions, &table, 1, 2, &looks), Some(39));
        }
        table[5] = 2;
        assert_eq!(find(&mut positions, &table, 2, 2, &looks), Some(5), "moved");
        table[4] = 2;
        table.push(9);
        assert_eq!(find(&mut positions, &table, 2, 2, &looks), Some(4), "grown");
    }

    /// A table of nothing but duplicates costs no more than another.
    #[test]
    fn only_duplicates() {
        let (mut positions, looks) = (HintIndex::default(), Cell::new(0));
        let mut table = vec![1; 300_000];
        table[299_999] = 2;
        for _ in 0..1000 {
            assert_eq!(find(&mut positions, &table, 1, 1, &looks), Some(0));
            assert_eq!(find(&mut positions, &table, 1, 2, &looks), Some(299_999));
        }
        assert!(looks.get() < 1_000_000, "{}", looks.get());
    }

    /// Short tables are not indexed, so even a duplicate that is written in front is found.
    #[test]
    fn short_tables() {
        let (mut positions, looks) = (HintIndex::default(), Cell::new(0));
        let mut table = vec![4, 3, 2, 1];
        assert_eq!(find(&mut positions, &table, 1, 1, &looks), Some(3));
        table[0] = 1;
        assert_eq!(find(&mut positions, &table, 1, 1, &looks), Some(0));
        assert_eq!(find(&mut positions, &[], 1, 1, &looks), None);
    }
}
