//! The table of names: names are short, so they are hashed and compared eight bytes at a time.
//! (`keys` has the hash that the C library's debug dump shows.)
//!
//! A purge would spend most of its time on taking names out of the table. So it leaves them there,
//! like the C library in its chains, as *stale*: a lookup that meets one looks at its state and
//! finds nothing. They go when the same name is stored again, so that no name is ever there twice;
//! when the table has no room for another one; and at last when the entries are reclaimed, as the
//! number of a slot must not mean another entry. What is culled one by one leaves the table at
//! once.

use super::entry::State;
use super::{Cache, room};
use crate::error::Result;
use crate::index::{Seed, last};

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

/// The part of a name that identifies an instance (CACHE-4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Short {
    pub(super) len: usize,
    pub(super) hash: u32,
}

/// Finds where the short name ends, and its hash, in one pass over eight bytes at a time: two
/// passes byte by byte were a third of the time of a lookup by name. With `strings` the whole name
/// counts.
#[inline(always)]
pub(super) fn short(seed: Seed, name: &[u8], strings: bool) -> Short {
    let mut state = seed.begin();
    let mut rest = name;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let blanks = marks(word, b' ');
        if blanks != 0 && !strings {
            return end(seed, state, word, blanks, name.len() - rest.len());
        }
        state = seed.mix(state, word);
        rest = tail;
    }
    // The last bytes with zeros behind them; a short name that ends with a whole word has eight
    // zeros here.
    let word = last(rest);
    let blanks = marks(word, b' ');
    if blanks != 0 && !strings {
        return end(seed, state, word, blanks, name.len() - rest.len());
    }
    Short {
        len: name.len(),
        hash: seed.end(seed.mix(state, word)),
    }
}

/// The short name ends in this word, at its first blank.
fn end(seed: Seed, state: u64, word: u64, blanks: u64, before: usize) -> Short {
    let bits = blanks.trailing_zeros() & !7;
    Short {
        len: before + (bits / 8) as usize,
        hash: seed.end(seed.mix(state, word & ((1 << bits) - 1))),
    }
}

/// Eight bytes, the first one lowest, with the highest bit of each set that is `byte`; behind the
/// first such byte more bits may be set.
pub(super) fn marks(word: u64, byte: u8) -> u64 {
    let word = word ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080
}

/// Where a byte is.
pub(super) fn find_byte(bytes: &[u8], byte: u8) -> Option<usize> {
    let mut rest = bytes;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let marks = marks(u64::from_le_bytes(*word), byte);
        if marks != 0 {
            return Some(bytes.len() - rest.len() + (marks.trailing_zeros() / 8) as usize);
        }
        rest = tail;
    }
    let at = rest.iter().position(|other| *other == byte)?;
    Some(bytes.len() - rest.len() + at)
}

/// Whether two texts are equal; they are short, so a call of memcmp would cost more than what it
/// does.
pub(super) fn equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let (mut one, mut other) = (one, other);
    while let (Some((first, one_rest)), Some((second, other_rest))) =
        (one.split_first_chunk::<8>(), other.split_first_chunk::<8>())
    {
        if first != second {
            return false;
        }
        (one, other) = (one_rest, other_rest);
    }
    last(one) == last(other)
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

    fn short(name: &[u8], strings: bool) -> Short {
        super::short(Seed::new(5, 7), name, strings)
    }

    /// CACHE-4: the short name ends at the first blank, wherever that is, and has the hash that it
    /// has alone.
    #[test]
    fn short_names() {
        let text: Vec<u8> = (0..40).map(|n| b'!' + n).collect();
        for length in 0..40 {
            let alone = short(&text[..length], false);
            assert_eq!(alone.len, length);
            assert_eq!(short(&text[..length], true), alone);
            for tail in [" ", "  ", " x", " a tail that is longer than a word", " \t x"] {
                let name = [&text[..length], tail.as_bytes()].concat();
                assert_eq!(short(&name, false), alone, "{length} {tail:?}");
                assert_eq!(short(&name, true).len, name.len());
                assert_ne!(short(&name, true).hash, alone.hash);
            }
        }
    }

    /// CACHE-4: no other byte is taken for a blank.
    #[test]
    fn only_blanks() {
        for byte in (0..=255).filter(|byte| *byte != b' ') {
            for at in 0..17 {
                let mut name = [b'x'; 17];
                name[at] = byte;
                assert_eq!(short(&name, false).len, 17, "{byte} {at}");
            }
        }
    }

    /// Names that meet in one place of a table when the seed is known, as somebody can make who
    /// chooses names (of files, of containers): with any other seed they are names like all others.
    #[test]
    fn collisions_need_the_seed() {
        // Random numbers, for all that counts here.
        let random = |number: u64| {
            number
                .wrapping_mul(0x2545_f491_4f6c_dd1d)
                .wrapping_mul(0xd134_2543_de82_ef95)
        };
        let seed = |number| Seed::new(random(number), random(number + 7));
        let (known, other) = (seed(1), seed(2));
        let mut names = Vec::new();
        for number in 0u64.. {
            // The second word undoes what the first one has done to the state.
            let first = format!("{number:08}");
            let word = u64::from_le_bytes(first.as_bytes().try_into().expect("eight digits"));
            let second = (known.mix(known.begin(), word) ^ 0x1234_5678_9abc_def0).to_le_bytes();
            if !second.iter().any(|byte| matches!(byte, 0 | b' ')) {
                names.push([first.as_bytes(), &second].concat());
            }
            if names.len() == 2000 {
                break;
            }
        }
        let hashes = |seed: Seed| {
            let hashes = names.iter().map(|name| super::short(seed, name, false).hash);
            hashes.collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!(hashes(known), 1);
        assert!(hashes(other) > 1990, "{}", hashes(other));
        // What a table does with them: entries looked at until each name was found once.
        let looks = |seed: Seed| {
            let hash = |slot: u32| super::short(seed, &names[slot as usize], false).hash;
            let (mut index, mut looks) = (crate::index::Index::new(), 0);
            index.reserve(2000, 2000, hash).expect("memory");
            (0..2000).for_each(|slot| index.insert(hash(slot), slot));
            for slot in 0..2000 {
                let found = index.find(hash(slot), |found| {
                    looks += 1;
                    found == slot
                });
                assert_eq!(found, Some(slot));
            }
            looks
        };
        assert!(
            looks(known) > 1_000_000 && looks(other) < 2100,
            "{} {}",
            looks(known),
            looks(other)
        );
    }

    /// CACHE-4, CACHE-92: the first one is found, at any place, whatever stands around it.
    #[test]
    fn finds() {
        for length in 0..30 {
            for at in 0..=length {
                for around in [0, 0x1f, 0x21, 0x7f, 0x80, 0xa0, 0xff] {
                    let mut bytes = vec![around; length];
                    bytes[at..].fill(b' ');
                    assert_eq!(find_byte(&bytes, b' '), (at < length).then_some(at));
                }
            }
        }
    }

    /// CACHE-10: each byte counts, and the length.
    #[test]
    fn equals() {
        let text: Vec<u8> = (0..40).collect();
        for length in 0..39 {
            assert!(equal(&text[..length], &text[..length]));
            assert!(!equal(&text[..length], &text[..length + 1]));
            for at in 0..length {
                let mut changed = text[..length].to_vec();
                changed[at] ^= 0x80;
                assert!(!equal(&text[..length], &changed));
            }
        }
    }
}
