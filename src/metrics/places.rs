//! A private index over a table that someone else owns and may rewrite at any time.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Up to this length a table is searched from its start: that is as fast as a lookup.
const SHORT: usize = 8;

/// A table is indexed as a whole when the searches in it have looked at this many times its length. An index
/// costs as much as some ten searches, but clients ask for one instance after the other.
const WORTH_IT: usize = 1;

/// Which table: a search in another one starts from nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Table {
    /// Where it is.
    pub address: usize,
    /// Number of its entries.
    pub len: usize,
}

impl Table {
    /// Whether a search from its start is as fast as a lookup.
    #[must_use]
    pub fn is_short(self) -> bool {
        self.len <= SHORT
    }
}

/// Remembers at which places of a table keys were found.
///
/// A remembered place is looked at before it is believed, and a key without a good one is searched from the start of
/// the table; so an entry that has gone, moved or changed is never reported, and one that is there is always found.
/// What cannot be seen that way: of several entries with the same key the first counts, and when the agent writes a
/// *second* entry with a key that is in the table already, in front of the first one and without moving or resizing the
/// table, the one that was found before goes on being found.
///
/// `K` is what is compared; it may be a hash when the caller compares the rest at the place (see [`Places::find`]).
#[derive(Default, Debug)]
pub struct Places<K> {
    table: Table,
    effort: usize,
    places: HashMap<K, u32, FixedState>,
}

impl<K: Copy + Eq + std::hash::Hash> Places<K> {
    /// The first place of `table` that `is_it` accepts. `keys_at` calls its second argument with each key under which
    /// the entry at a place is to be found; `key` must be one of them wherever `is_it` is true.
    pub fn find(
        &mut self,
        table: Table,
        key: K,
        is_it: impl Fn(usize) -> bool,
        keys_at: impl Fn(usize, &mut dyn FnMut(K)),
    ) -> Option<usize> {
        if table.is_short() {
            return (0..table.len).find(|place| is_it(*place));
        }
        if table != self.table {
            self.places.clear();
            (self.table, self.effort) = (table, 0);
        }
        if let Some(place) = self.places.get(&key).map(|place| *place as usize) {
            if place < table.len && is_it(place) {
                return Some(place);
            }
        }
        let found = (0..table.len).find(|place| is_it(*place))?;
        self.learn(key, found, keys_at);
        Some(found)
    }

    /// Notes where `key` was found by a search; only searches that find something count as effort, since no index can
    /// save the others.
    fn learn(&mut self, key: K, found: usize, keys_at: impl Fn(usize, &mut dyn FnMut(K))) {
        self.effort = self.effort.saturating_add(found + 1);
        if self.effort < self.table.len.saturating_mul(WORTH_IT) {
            self.note(key, found);
            return;
        }
        self.effort = 0;
        self.places.clear();
        if self.places.try_reserve(self.table.len).is_err() {
            return;
        }
        for place in 0..self.table.len {
            keys_at(place, &mut |key| {
                if let Ok(place) = u32::try_from(place) {
                    self.places.entry(key).or_insert(place);
                }
            });
        }
    }

    /// Notes one place, or forgets all when keys that are long gone have piled up.
    fn note(&mut self, key: K, found: usize) {
        if self.places.len() > 2 * self.table.len {
            self.places.clear();
        }
        if let (Ok(place), Ok(())) = (u32::try_from(found), self.places.try_reserve(1)) {
            self.places.insert(key, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn find(places: &mut Places<u32>, table: &[u32], address: usize, key: u32, looks: &Cell<usize>) -> Option<usize> {
        let seen = Table {
            address,
            len: table.len(),
        };
        let is_it = |place: usize| {
            looks.set(looks.get() + 1);
            table[place] == key
        };
        places.find(seen, key, is_it, |place, add| add(table[place]))
    }

    /// FETCH-20: whatever the agent does to its table, what is found is there, and what is there is found; once the
    /// index is warm it takes one look.
    #[test]
    fn checked_before_believed() {
        let mut table: Vec<u32> = (0..1000).collect();
        let (mut places, looks) = (Places::default(), Cell::new(0));
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

    /// FETCH-20: of duplicates the first is found, also in a table that has moved or grown.
    #[test]
    fn the_first_of_duplicates() {
        let (mut places, looks) = (Places::default(), Cell::new(0));
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

    /// Short tables are not indexed at all, so there even a duplicate written in front is seen.
    #[test]
    fn short_tables() {
        let (mut places, looks) = (Places::default(), Cell::new(0));
        let mut table = vec![4, 3, 2, 1];
        assert_eq!(find(&mut places, &table, 1, 1, &looks), Some(3));
        table[0] = 1;
        assert_eq!(find(&mut places, &table, 1, 1, &looks), Some(0));
        assert_eq!(find(&mut places, &[], 1, 1, &looks), None);
    }
}
