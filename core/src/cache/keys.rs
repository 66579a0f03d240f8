//! The keys of instances, by slot and by their bytes. Few caches have any, so they are no part of
//! the entries (CACHE-56).

use std::fmt::{self, Display};

use super::entry::{SmallText, equal, reserve};
use crate::error::Result;
use crate::index::{Index, Seed};

/// The keys of slots, and the slots of keys. Without keys it owns no memory.
#[derive(Debug)]
pub(super) struct Keys {
    /// The seed of the hashes, for names as well. Names and keys have their origin outside of the
    /// agent: nobody may know which of them collide in a table.
    seed: Seed,
    /// The key of each slot; empty without one.
    cells: Vec<SmallText>,
    /// The slot of each key.
    index: Index,
    /// True if several instances have had one key. A store refuses that, but a file may give one
    /// key to many. From then on the index is empty, and keys are searched among all instances: in
    /// the index, equal keys would be passed one by one at each insertion.
    is_shared: bool,
}

impl Keys {
    pub(super) const fn new(seed: Seed) -> Keys {
        Keys {
            seed,
            cells: Vec::new(),
            index: Index::new(),
            is_shared: false,
        }
    }

    /// The seed of the hashes of names and keys.
    pub(super) fn seed(&self) -> Seed {
        self.seed
    }

    /// The key of the entry in a slot; empty for none.
    pub(super) fn get(&self, slot: u32) -> &[u8] {
        bytes(&self.cells, slot)
    }

    /// Returns whether [`Keys::find`] cannot be used, since several instances have had one key.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// The slot with a key that is not empty and [not shared](Keys::is_shared).
    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
        let same = |slot: u32| equal(self.get(slot), key);
        self.index.find(self.seed.bytes(key), same)
    }

    /// Makes room for a key of any slot below `end`.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn reserve(&mut self, end: u32) -> Result<()> {
        let (cells, seed) = (&self.cells, self.seed);
        if !self.is_shared {
            self.index.reserve(1, end, |slot| seed.bytes(bytes(cells, slot)))?;
        }
        let more = (end as usize).saturating_sub(self.cells.len());
        reserve(&mut self.cells, more)
    }

    /// Sets the key of a slot, or takes it away with [`SmallText::EMPTY`]. For a key that is not
    /// empty, [`Keys::reserve`] was called.
    #[cold]
    pub(super) fn set(&mut self, slot: u32, key: SmallText) {
        let old = self.get(slot);
        if !old.is_empty() {
            // If keys are shared the index is empty, and this does nothing.
            self.index.remove(self.seed.bytes(old), slot);
        }
        let index = slot as usize;
        while self.cells.len() <= index && !key.bytes().is_empty() {
            // Room: `reserve`.
            self.cells.push(SmallText::EMPTY);
        }
        if !key.bytes().is_empty() && !self.is_shared {
            let cells = &self.cells;
            let same = |other: u32| equal(bytes(cells, other), key.bytes());
            if self.index.insert(self.seed.bytes(key.bytes()), slot, same) {
                self.is_shared = true;
                self.index.clear();
            }
        }
        if let Some(cell) = self.cells.get_mut(index) {
            *cell = key;
        }
    }

    /// Takes the key of a slot away, if it has one.
    pub(super) fn take(&mut self, slot: u32) {
        if !self.get(slot).is_empty() {
            self.set(slot, SmallText::EMPTY);
        }
    }

    /// Gives memory back when the index has few entries left.
    pub(super) fn shrink(&mut self) {
        let (cells, seed) = (&self.cells, self.seed);
        self.index.shrink(|slot| seed.bytes(bytes(cells, slot)));
    }
}

/// The key in a slot; empty without one.
fn bytes(cells: &[SmallText], slot: u32) -> &[u8] {
    cells.get(slot as usize).map_or(&[], SmallText::bytes)
}

/// A key as messages show it: `[key=0x...]` or `[no key]`.
pub(super) struct Key<'k>(pub(super) &'k [u8]);

impl Display for Key<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return out.write_str("[no key]");
        }
        out.write_str("[key=0x")?;
        for byte in self.0 {
            write!(out, "{byte:02x}")?;
        }
        out.write_str("]")
    }
}

/// The golden ratio, with which lookup2 begins.
const GOLDEN: u32 = 0x9e37_79b9;

/// Mixes three words so that each bit of the input affects every bit of the third.
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

/// The number of ids that are tried for a key (CACHE-52).
pub(super) const ATTEMPTS: usize = 10;

/// The number of times that a key's id was free at the first, second, … attempt, for the dump.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempts(pub(super) [u32; ATTEMPTS]);

impl Attempts {
    pub(super) const NONE: Attempts = Attempts([0; ATTEMPTS]);

    /// Counts a key whose id was free at this attempt; the first one is 0.
    pub(super) fn count(&mut self, attempt: usize) {
        if let Some(count) = self.0.get_mut(attempt) {
            *count += 1;
        }
    }
}

/// Returns the hash of a key or a name: Bob Jenkins' "lookup2" of 1996, which is in the public
/// domain. `initval` is the previous hash in a chain of them (CACHE-52). Ids that are made of keys
/// depend on it, and so do existing cache files: it cannot change (CACHE-60).
///
/// Bytes from 0x80 on count as negative numbers, as C's `char` does on the machines where the files
/// were written.
#[must_use]
pub fn jenkins_hash(key: &[u8], initval: u32) -> u32 {
    let signed = |byte: u8| u32::from_ne_bytes(i32::from(i8::from_ne_bytes([byte])).to_ne_bytes());
    // A word of up to four bytes, the first one lowest.
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
    // The lowest byte of the third word is that of the length. Lengths beyond 32 bits wrap, as in
    // C.
    let length = u32::try_from(key.len() & 0xffff_ffff).unwrap_or(0);
    state[2] = state[2].wrapping_add(length).wrapping_add(word(third) << 8);
    mix(state)[2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever keys slots get and lose, each key leads to its slot, until two slots have the
        /// same one (CACHE-31, CACHE-56).
        #[test]
        fn as_a_model(steps in proptest::collection::vec((0..12_u32, 0..8_usize), 1..200)) {
            const LONG: &[u8] = b"another key that is much longer than the others";
            const KEYS: [&[u8]; 8] = [b"", b"a", b"key", LONG, b"b", b"c", b"d", b"e"];
            let mut keys = Keys::new(Seed::process());
            let (mut model, mut is_shared) = ([0; 12], false);
            for (slot, key) in steps {
                keys.reserve(12).expect("memory");
                keys.set(slot, SmallText::new(KEYS[key]).expect("memory"));
                model[slot as usize] = key;
                for (number, key) in KEYS.iter().enumerate().skip(1) {
                    let slots: Vec<u32> = (0..12).filter(|slot| model[*slot as usize] == number).collect();
                    is_shared |= slots.len() > 1;
                    if !keys.is_shared() {
                        prop_assert_eq!(keys.find(key), slots.first().copied());
                    }
                }
                prop_assert!((0..12).all(|slot| keys.get(slot) == KEYS[model[slot as usize]]));
                prop_assert_eq!(keys.is_shared(), is_shared);
            }
        }
    }

    /// The hashes are those that the C library has (CACHE-60, CACHE-61).
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
            assert_eq!(jenkins_hash(&ascending[..length], 0), raw, "{length} bytes");
        }
        assert_eq!(jenkins_hash(&[0x80], 0), 0x0e01_80f4);
        assert_eq!(jenkins_hash(&[0xff; 4], 0), 0x09bc_5267);
        assert_eq!(jenkins_hash(&(0x80..=0x8a).collect::<Vec<u8>>(), 0), 0x891b_7fb3);
        assert_eq!(jenkins_hash(&(0xf0..=0xfb).collect::<Vec<u8>>(), 0), 0x62ac_3d54);
        assert_eq!(jenkins_hash(&[0; 13], 0), 0xd263_ed61);
    }

    /// A chain of hashes of one key is that of the C library (CACHE-52).
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
            value = jenkins_hash(&[1], value);
            assert_eq!(value, next);
        }
    }
}
