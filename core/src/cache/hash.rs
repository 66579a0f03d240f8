//! The hashes of our own tables. Those that the C library's debug dump shows are in `jenkins`.

use super::scan::marks;
use crate::index::{Seed, last};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
