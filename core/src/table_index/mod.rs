//! Finding an entry of a table that belongs to the agent: metrics, instance domains and instances.
//!
//! An agent may rewrite its tables at any time. So there are two kinds of index: [`Hashed`], which
//! the agent builds by `pmdaRehash` and which is used unchecked (INIT-46); and [`HintIndex`], which
//! is only a hint where to look first.

use crate::error::{Error, Result};
use crate::ident::MetricId;
use crate::index::{Index, Seed};

/// The places of metrics in the table that was given to `pmdaRehash`, as it was then (INIT-46).
#[derive(Default, Debug)]
pub struct Hashed {
    /// In the order of the table.
    pmids: Vec<MetricId>,
    places: Index,
    /// The number of entries of this and all tables before.
    entered: u64,
}

impl Hashed {
    /// An index over the identifiers of a table, in its order. Of duplicates, the one in front in
    /// libpcp's hash counts (F-15).
    ///
    /// # Errors
    /// `-ENOMEM` when there is no memory for it.
    pub fn build(pmids: impl ExactSizeIterator<Item = MetricId>, before: u64) -> Result<Hashed> {
        let len = pmids.len();
        let mut hashed = Hashed {
            entered: before.saturating_add(len as u64),
            ..Hashed::default()
        };
        hashed.pmids.try_reserve_exact(len).map_err(|_| Error::ENOMEM)?;
        hashed.pmids.extend(pmids.take(len));
        let end = u32::try_from(len).map_err(|_| Error::ENOMEM)?;
        // More room than needed makes searches faster.
        hashed.places.reserve(len.saturating_add(len / 2), end, |_| 0)?;
        // libpcp puts an entry in front of its chain, and turns all chains round whenever its hash
        // grows. So the last of those that are turned an even number of times counts, if there are
        // any besides the first, else the first.
        let mut growth = Growth::after(before);
        let mut turns = (0..end).filter(|_| growth.add()).count();
        growth = Growth::after(before);
        for place in 0..end {
            turns -= usize::from(growth.add());
            let pmid = hashed.pmids[place as usize];
            if turns % 2 == 0 || hashed.find(pmid).is_none() {
                let same = |known: u32| hashed.pmids[known as usize] == pmid;
                hashed.places.insert(hash(pmid), place, same);
            }
        }
        Ok(hashed)
    }

    /// The place of a metric.
    #[must_use]
    #[inline(always)]
    pub fn find(&self, wanted: MetricId) -> Option<usize> {
        let same = |place: u32| self.pmids[place as usize] == wanted;
        self.places.find(hash(wanted), same).map(|place| place as usize)
    }

    /// The number of entries of this and all tables before.
    #[must_use]
    pub fn entered(&self) -> u64 {
        self.entered
    }

    /// Returns whether nothing was ever put in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// The growth of libpcp's hash.
struct Growth {
    /// The number of entries ever put in; emptying the hash does not reset it.
    entered: u64,
    chains: u64,
}

impl Growth {
    fn after(entered: u64) -> Growth {
        Growth { entered, chains: 0 }
    }

    /// Counts an entry; returns whether the hash grows before that. It does when there are more
    /// than four entries a chain, and gets twice as many chains, rounded up towards multiples of
    /// 30.
    fn add(&mut self) -> bool {
        self.entered += 1;
        if self.chains == 0 {
            self.chains = 1;
            return false;
        }
        let grows = self.entered / 4 > self.chains;
        if grows {
            self.chains *= 2;
            for divisor in [3, 5] {
                self.chains += if self.chains % divisor == 0 { 0 } else { 2 };
            }
        }
        grows
    }
}

#[inline(always)]
fn hash(pmid: MetricId) -> u32 {
    Seed::process().number(u64::from(pmid.0))
}

/// Up to this length a table is searched from its start: that is as fast as a lookup.
pub const SHORT: usize = 32;

const EQUAL: usize = 4;

/// The identity of a table: an index of another one is forgotten.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Table {
    /// Its address.
    pub address: usize,
    /// Number of its entries.
    pub len: usize,
}

/// A cache of the places of a table at which keys were found.
///
/// A remembered place is checked before it is used, and a key without a good one is searched from
/// the start of the table; so an entry that has changed is never reported, and one that is there is
/// always found. One thing is not seen: a *second* entry with a known key that the agent writes in
/// front of the first one, without moving or resizing the table.
#[derive(Default, Debug)]
pub struct HintIndex {
    table: Table,
    effort: usize,
    /// By the hash of a key; keys are in the table alone.
    places: Index,
}

impl HintIndex {
    /// The first place of `table` that `is_it` accepts. `keys_at` calls its second argument with
    /// each key of the entry at a place, a hash perhaps; `key` must be one of them wherever `is_it`
    /// is true.
    pub fn find(
        &mut self,
        table: Table,
        key: u64,
        is_it: impl Fn(usize) -> bool,
        keys_at: impl Fn(usize, &mut dyn FnMut(u64)),
    ) -> Option<usize> {
        if table.len <= SHORT {
            return (0..table.len).find(|place| is_it(*place));
        }
        if table != self.table {
            self.places.clear();
            (self.table, self.effort) = (table, 0);
        }
        let hash = Seed::process().number(key);
        let known = self.places.find(hash, |place| is_it(place as usize));
        if let Some(place) = known {
            return Some(place as usize);
        }
        let found = (0..table.len).find(|place| is_it(*place))?;
        self.learn(found, keys_at);
        Some(found)
    }

    /// Indexes the table when its searches have cost as much. Those in vain do not count: no index
    /// can save them.
    fn learn(&mut self, found: usize, keys_at: impl Fn(usize, &mut dyn FnMut(u64))) {
        self.effort = self.effort.saturating_add(found + 1);
        if self.effort < self.table.len {
            return;
        }
        self.effort = 0;
        let mut room = self.table.len;
        while self.make_room(room) && !self.fill(&keys_at) {
            room = room.saturating_mul(2);
        }
    }

    /// Indexes the table; returns whether there was room for it.
    fn fill(&mut self, keys_at: &impl Fn(usize, &mut dyn FnMut(u64))) -> bool {
        let (seed, mut fits) = (Seed::process(), true);
        for place in 0..self.table.len {
            keys_at(place, &mut |key| {
                fits &= self.places.has_room(1);
                let hash = seed.number(key);
                if let (Ok(place), true) = (u32::try_from(place), fits) {
                    let mut equal = 0;
                    self.places.for_each(hash, |_| equal += 1);
                    if equal < EQUAL {
                        self.places.insert(hash, place, |_| false);
                    }
                }
            });
        }
        fits
    }

    /// Forgets all, and makes room for this many places.
    fn make_room(&mut self, places: usize) -> bool {
        self.places.clear();
        let end = u32::try_from(self.table.len).unwrap_or(u32::MAX);
        self.places.reserve(places, end, |_| 0).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// INIT-46: every entry is found at its place.
    #[test]
    fn finds() {
        let pmids = [5, 7, 9].map(MetricId);
        let hashed = Hashed::build(pmids.into_iter(), 0).expect("memory");
        assert_eq!(hashed.find(MetricId(5)), Some(0));
        assert_eq!(hashed.find(MetricId(9)), Some(2));
        assert_eq!(hashed.find(MetricId(6)), None);
        assert!(!hashed.is_empty() && Hashed::default().is_empty());
    }

    /// F-15: of duplicates, the one that libpcp's hash finds.
    #[test]
    fn duplicates() {
        let mut growth = Growth::after(0);
        let points: Vec<u32> = (1..1000).filter(|_| growth.add()).collect();
        assert_eq!(points, [8, 28, 60, 124, 244, 484, 964]);
        let pairs = |count: u32| (0..count).map(|place| MetricId(1 + place / 2)).collect::<Vec<_>>();
        let lasts = |count: u32, before: u64| {
            let hashed = Hashed::build(pairs(count).into_iter(), before).expect("memory");
            assert_eq!(hashed.entered(), before + u64::from(count));
            let places = (0..count / 2).filter_map(|pair| hashed.find(MetricId(1 + pair)));
            places.filter(|place| place % 2 == 1).count()
        };
        assert_eq!([2, 6, 10, 1000].map(|count| lasts(count, 0)), [1, 3, 2, 181]);
        // The same table once more.
        let twice = |count: u32| lasts(count, u64::from(count));
        assert_eq!([4, 6, 8, 14, 28, 30].map(twice), [1, 3, 4, 1, 13, 2]);
        let many = Hashed::build(std::iter::repeat_n(MetricId(3), 300_000), 0).expect("memory");
        assert_eq!((many.find(MetricId(3)), many.find(MetricId(4))), (Some(299_999), None));
    }

    fn find(places: &mut HintIndex, table: &[u32], address: usize, key: u32, looks: &Cell<usize>) -> Option<usize> {
        let seen = Table {
            address,
            len: table.len(),
        };
        let is_it = |place: usize| {
            looks.set(looks.get() + 1);
            table[place] == key
        };
        places.find(seen, u64::from(key), is_it, |place, add| add(u64::from(table[place])))
    }

    /// FETCH-20.
    #[test]
    fn checked_before_believed() {
        let mut table: Vec<u32> = (0..1000).collect();
        let (mut places, looks) = (HintIndex::default(), Cell::new(0));
        for key in 0..1000 {
            assert_eq!(find(&mut places, &table, 1, key, &looks), Some(key as usize));
        }
        assert!(looks.get() < 10_000, "{}", looks.get());
        looks.set(0);
        assert_eq!(find(&mut places, &table, 1, 999, &looks), Some(999));
        assert_eq!(looks.get(), 1);
        table.swap(3, 999);
        assert_eq!(find(&mut places, &table, 1, 999, &looks), Some(3));
        assert_eq!(find(&mut places, &table, 1, 3, &looks), Some(999));
        table[500] = 7777;
        assert_eq!(find(&mut places, &table, 1, 500, &looks), None);
        assert_eq!(find(&mut places, &table, 1, 7777, &looks), Some(500));
        table.truncate(600);
        assert_eq!(find(&mut places, &table, 1, 3, &looks), None);
        assert_eq!(find(&mut places, &table, 1, 599, &looks), Some(599));
    }

    /// FETCH-20.
    #[test]
    fn the_first_of_duplicates() {
        let (mut places, looks) = (HintIndex::default(), Cell::new(0));
        let mut table = vec![1; 40];
        for _ in 0..400 {
            table[39] = 2;
            assert_eq!(find(&mut places, &table, 1, 1, &looks), Some(0));
            assert_eq!(find(&mut places, &table, 1, 2, &looks), Some(39));
        }
        table[5] = 2;
        assert_eq!(find(&mut places, &table, 2, 2, &looks), Some(5), "moved");
        table[4] = 2;
        table.push(9);
        assert_eq!(find(&mut places, &table, 2, 2, &looks), Some(4), "grown");
    }

    #[test]
    fn only_duplicates() {
        let (mut places, looks) = (HintIndex::default(), Cell::new(0));
        let mut table = vec![1; 300_000];
        table[299_999] = 2;
        for _ in 0..1000 {
            assert_eq!(find(&mut places, &table, 1, 1, &looks), Some(0));
            assert_eq!(find(&mut places, &table, 1, 2, &looks), Some(299_999));
        }
        assert!(looks.get() < 1_000_000, "{}", looks.get());
    }

    /// Short tables are not indexed: even a duplicate written in front is seen.
    #[test]
    fn short_tables() {
        let (mut places, looks) = (HintIndex::default(), Cell::new(0));
        let mut table = vec![4, 3, 2, 1];
        assert_eq!(find(&mut places, &table, 1, 1, &looks), Some(3));
        table[0] = 1;
        assert_eq!(find(&mut places, &table, 1, 1, &looks), Some(0));
        assert_eq!(find(&mut places, &[], 1, 1, &looks), None);
    }
}
