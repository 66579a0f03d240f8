//! Looking at short texts eight bytes at a time.

use crate::index::last;

/// Eight bytes, the first one lowest, with the highest bit of each set that is `byte`; behind the
/// first such byte more bits may be set.
#[inline]
pub(super) fn marks(word: u64, byte: u8) -> u64 {
    let word = word ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080
}

/// Where a byte is.
#[inline]
pub(super) fn find(bytes: &[u8], byte: u8) -> Option<usize> {
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
#[inline]
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

    /// CACHE-4, CACHE-92: the first one is found, at any place, whatever stands around it.
    #[test]
    fn finds() {
        for length in 0..30 {
            for at in 0..=length {
                for around in [0, 0x1f, 0x21, 0x7f, 0x80, 0xa0, 0xff] {
                    let mut bytes = vec![around; length];
                    bytes[at..].fill(b' ');
                    assert_eq!(find(&bytes, b' '), (at < length).then_some(at));
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
