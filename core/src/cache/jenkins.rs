//! The hash of keys and names: Bob Jenkins' public-domain "lookup2" of 1996. Ids made of keys
//! depend on it, and so do cache files that exist, hence it cannot change (CACHE-60).

const GOLDEN: u32 = 0x9e37_79b9;

/// Mixes three words so that each bit of the input reaches every bit of the third.
fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    macro_rules! step {
        ($x:ident, $y:ident, $z:ident, $shift:tt $by:literal) => {
            $x = $x.wrapping_sub($y).wrapping_sub($z) ^ ($z $shift $by);
        };
    }
    step!(a, b, c, >> 13);
    step!(b, c, a, << 8);
    step!(c, a, b, >> 13);
    step!(a, b, c, >> 12);
    step!(b, c, a, << 16);
    step!(c, a, b, >> 5);
    step!(a, b, c, >> 3);
    step!(b, c, a, << 10);
    step!(c, a, b, >> 15);
    [a, b, c]
}

/// Hashes `key`; `initval` is the previous hash when there is a chain of them (CACHE-52).
///
/// Bytes from 0x80 on count as negative numbers, as C's `char` has it on the machines where the
/// files were written.
#[must_use]
pub fn hash(key: &[u8], initval: u32) -> u32 {
    let signed = |byte: u8| u32::from_ne_bytes(i32::from(i8::from_ne_bytes([byte])).to_ne_bytes());
    // A word of up to four bytes: the first has no shift.
    let word = |bytes: &[u8]| {
        let shifted = bytes.iter().zip([0, 8, 16, 24]);
        shifted.fold(0u32, |sum, (byte, shift)| sum.wrapping_add(signed(*byte) << shift))
    };
    let mut state = [GOLDEN, GOLDEN, initval];
    let mut blocks = key.chunks_exact(12);
    for block in &mut blocks {
        for (state, bytes) in state.iter_mut().zip(block.chunks_exact(4)) {
            *state = state.wrapping_add(word(bytes));
        }
        state = mix(state);
    }
    let rest = blocks.remainder();
    let (first, rest) = rest.split_at(rest.len().min(4));
    let (second, third) = rest.split_at(rest.len().min(4));
    state[0] = state[0].wrapping_add(word(first));
    state[1] = state[1].wrapping_add(word(second));
    // The low byte of the third word is the length's; lengths beyond 32 bits wrap as in C.
    let length = u32::try_from(key.len() & 0xffff_ffff).unwrap_or(0);
    state[2] = state[2].wrapping_add(length).wrapping_add(word(third) << 8);
    mix(state)[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CACHE-60, CACHE-61: the vectors that were taken from the C library.
    #[test]
    fn vectors() {
        let ascending: Vec<u8> = (1..=25).collect();
        for (length, raw) in [
            (0, 0xbd49_d10d),
            (1, 0xb939_13a8),
            (4, 0x8c35_3ddc),
            (12, 0xaaa2_0801),
            (13, 0x41fa_9c2d),
            (18, 0x5539_25e5),
            (25, 0x4162_1a69),
        ] {
            assert_eq!(hash(&ascending[..length], 0), raw, "{length} bytes");
        }
        assert_eq!(hash(&[0x80], 0), 0x0e01_80f4);
        assert_eq!(hash(&[0xff; 4], 0), 0x09bc_5267);
        assert_eq!(hash(&(0x80..=0x8a).collect::<Vec<u8>>(), 0), 0x891b_7fb3);
        assert_eq!(hash(&(0xf0..=0xfb).collect::<Vec<u8>>(), 0), 0x62ac_3d54);
        assert_eq!(hash(&[0; 13], 0), 0xd263_ed61);
    }

    /// CACHE-52: the chain of one key.
    #[test]
    fn chain() {
        let expected = [
            0xb939_13a8,
            0x0698_0e99,
            0x4ec7_58a7,
            0xba4a_de40,
            0x1bf9_bdab,
            0xc47d_5bb9,
        ];
        let mut value = 0;
        for next in expected {
            value = hash(&[1], value);
            assert_eq!(value, next);
        }
    }
}
