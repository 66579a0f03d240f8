//! The table of names, and the culled entries that are still in it.
//!
//! A purge would spend most of its time on taking names out of the table. So it leaves them there,
//! like the C library in its chains, as *stale*: a lookup that meets one looks at its state and
//! finds nothing. They go when the same name is stored again, so that no name is ever there twice;
//! when the table has no room for another one; and at last when the entries are reclaimed, as the
//! number of a slot must not mean another entry. What is culled one by one leaves the table at
//! once.

use super::entry::State;
use super::hash::Short;
use super::{Cache, room};
use crate::error::Result;

impl<T: Copy> Cache<T> {
    /// Makes room for one more name, and for those that are expected to follow.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline]
    pub(super) fn reserve_name(&mut self) -> Result<()> {
        let expected = self.expected as usize;
        if self.stale > 0 && !self.names.has_room(expected + 1) {
            self.sweep();
        }
        let slab = &self.slab;
        let end = slab.len() + 1;
        self.names.reserve_expecting(expected, end, |slot| slab.get(slot).hash)
    }

    /// Puts the name of a new entry into the table, for which there is room. No live entry has it.
    #[inline]
    pub(super) fn insert_name(&mut self, name: &[u8], short: Short, slot: u32) {
        if self.stale > 0 {
            self.sweep_name(name, short);
        }
        self.names.insert(short.hash, slot);
    }

    /// Takes the culled entry with a name out of the table, if there is one.
    #[inline(never)]
    fn sweep_name(&mut self, name: &[u8], short: Short) {
        if let Some((slot, _)) = self.find_listed(name, short) {
            self.names.remove(short.hash, slot);
            self.stale -= 1;
        }
    }

    /// Takes all culled entries out of the table.
    #[inline(never)]
    pub(super) fn sweep(&mut self) {
        // One pass over the table costs less than to look many of them up; without memory for it
        // they are looked up.
        let marks = if self.stale as usize > self.names.cells() / 16 {
            self.culled().ok()
        } else {
            None
        };
        if let Some(marks) = marks {
            self.names.extract_marked(&marks);
        } else {
            for (slot, entry) in self.slab.iter().filter(|(_, entry)| entry.state == State::Empty) {
                self.names.remove(entry.hash, slot);
            }
        }
        self.stale = 0;
    }

    /// A bit for each slot, set for those with culled entries.
    fn culled(&self) -> Result<Vec<u64>> {
        let mut bits = Vec::new();
        let words = self.slab.len() as usize / 64 + 1;
        room(&mut bits, words)?;
        bits.resize(words, 0);
        for (slot, entry) in self.slab.iter() {
            bits[slot as usize / 64] |= u64::from(entry.state == State::Empty) << (slot % 64);
        }
        Ok(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{add, aged};
    use super::*;

    /// CACHE-30, CACHE-36, CACHE-62: what a purge has culled is not found, whether its name is
    /// still in the table, was stored again, or was swept out; and the table neither grows for it
    /// nor keeps it for longer than the entries.
    #[test]
    fn purged_names() {
        let most: fn(u32) -> bool = |number| number % 3 != 0;
        let few: fn(u32) -> bool = |number| number % 40 == 7;
        for (count, is_purged) in [(3_u32, most), (60, most), (60, few), (5000, most), (5000, few)] {
            let mut cache = aged(count, is_purged);
            let purged = (0..count).filter(|number| is_purged(*number)).count();
            let cells = cache.names.cells();
            assert_eq!(cache.purge(100).expect("memory").0, purged);
            assert_eq!((cache.stale as usize, cache.names.len()), (purged, count as usize));
            let found = |cache: &Cache<*const u8>, number: u32| {
                let name = format!("n{number}");
                cache.lookup_name(name.as_bytes()).is_ok()
            };
            assert!((0..count).all(|number| found(&cache, number) != is_purged(number)));
            // Some of the same names take the places of those before, unless an insertion has
            // reclaimed all of these.
            let is_back = |number: u32| is_purged(number) && number % 2 != 0;
            for number in (0..count).filter(|number| is_back(*number)) {
                add(&mut cache, &format!("n{number}"));
            }
            let is_there = |number: u32| !is_purged(number) || is_back(number);
            assert!((0..count).all(|number| found(&cache, number) == is_there(number)));
            assert!(cache.names.cells() <= cells);
            cache.reorganize().expect("memory");
            assert_eq!((cache.stale, cache.names.len()), (0, cache.active + cache.inactive));
            assert!((0..count).all(|number| found(&cache, number) == is_there(number)));
        }
    }

    /// CACHE-42: new names come until the table is full: then the culled ones go first.
    #[test]
    fn no_room() {
        let mut cache = aged(150, |number| number < 100);
        cache.purge(100).expect("memory");
        let cells = cache.names.cells();
        let mut number = 150;
        while cache.names.has_room(1) {
            add(&mut cache, &format!("n{number}"));
            number += 1;
        }
        assert_eq!(cache.stale, 100);
        add(&mut cache, "another");
        assert_eq!((cache.stale, cache.names.cells()), (0, cells));
        assert!(cache.lookup_name(b"n0").is_err() && cache.lookup_name(b"n100").is_ok());
    }
}
