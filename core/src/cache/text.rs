//! The bytes of names and keys. They are short: a text of up to 21 bytes is kept without memory of
//! its own, and names are hashed, searched and compared eight bytes at a time. (`keys` has the hash
//! that the C library's debug dump shows.)

use super::room;
use crate::error::Result;
use crate::index::{Seed, last};

/// Texts that are not longer are kept in the value itself.
const INLINE: usize = 21;

/// Bytes with a NUL behind them.
#[derive(Debug)]
pub(super) enum Text {
    Inline(u8, [u8; INLINE + 1]),
    Heap(Box<[u8]>),
}

impl Text {
    pub(super) const EMPTY: Text = Text::Inline(0, [0; INLINE + 1]);

    /// A copy of these bytes.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn new(text: &[u8]) -> Result<Text> {
        if text.len() > INLINE {
            return Text::on_heap(text);
        }
        let mut bytes = [0; INLINE + 1];
        bytes[..text.len()].copy_from_slice(text);
        Ok(Text::Inline(text.len() as u8, bytes))
    }

    #[cold]
    fn on_heap(text: &[u8]) -> Result<Text> {
        let mut bytes = Vec::new();
        room(&mut bytes, text.len() + 1)?;
        bytes.extend_from_slice(text);
        bytes.push(0);
        Ok(Text::Heap(bytes.into_boxed_slice()))
    }

    /// The text with its NUL.
    pub(super) fn terminated(&self) -> &[u8] {
        match self {
            Text::Inline(length, bytes) => &bytes[..=usize::from(*length)],
            Text::Heap(bytes) => bytes,
        }
    }

    /// The text without its NUL.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Text::Inline(length, bytes) => &bytes[..usize::from(*length)],
            Text::Heap(bytes) => bytes.split_last().map_or(&[], |(_, text)| text),
        }
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
