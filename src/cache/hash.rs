//! The hashes of our own tables. Those that the C library's debug dump shows are in `jenkins`.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;

use super::scan::{last, marks};

/// The hash of a key.
pub(super) fn of_key(bytes: &[u8]) -> u32 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(bytes);
    fold(hasher.finish())
}

/// What a table wants: the hash in all 64 bits.
pub(super) fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

/// The part of a name that identifies an instance (CACHE-4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Short {
    pub(super) len: usize,
    pub(super) hash: u32,
}

/// Finds where the short name ends, and its hash, in one pass over eight bytes at a time: two passes byte by byte were
/// a third of the time of a lookup by name. With `strings` the whole name counts.
#[inline(always)]
pub(super) fn short(name: &[u8], strings: bool) -> Short {
    let mut state = 0x243f_6a88_85a3_08d3;
    let mut rest = name;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let blanks = marks(word, b' ');
        if blanks != 0 && !strings {
            return end(state, word, blanks, name.len() - rest.len());
        }
        state = mix(state, word);
        rest = tail;
    }
    // The last bytes with zeros behind them; a short name that ends with a whole word has eight zeros here.
    let word = last(rest);
    let blanks = marks(word, b' ');
    if blanks != 0 && !strings {
        return end(state, word, blanks, name.len() - rest.len());
    }
    Short {
        len: name.len(),
        hash: fold(mix(state, word)),
    }
}

/// The short name ends in this word, at its first blank.
fn end(state: u64, word: u64, blanks: u64, before: usize) -> Short {
    let bits = blanks.trailing_zeros() & !7;
    Short {
        len: before + (bits / 8) as usize,
        hash: fold(mix(state, word & ((1 << bits) - 1))),
    }
}

fn mix(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word) * 0x9e37_79b9_7f4a_7c15_u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CACHE-4: the short name ends at the first blank, wherever that is, and has the hash that it has alone.
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
}
