//! Looking for a byte, eight at a time.

#![forbid(unsafe_code)]

/// Eight bytes, the first one lowest, with the highest bit of each set that is `byte`; behind the first such byte more
/// bits may be set.
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
}
