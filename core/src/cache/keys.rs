//! The keys of instances, by slot and by their bytes: few caches have any, so they are no part of
//! the entries (CACHE-56).
//!
//! A store refuses a key that another instance has, but a file may give one key to many. Such
//! instances form a ring, and one of them stands for all in the index: in a table of hash values
//! they would be passed one by one at each insertion.

use super::entry::{NewText, Text};
use super::room;
use crate::error::Result;
use crate::index::{Index, Seed};

/// The neighbours of a slot in the ring of those with the same key.
#[derive(Clone, Copy, Debug)]
struct Neighbours {
    before: u32,
    after: u32,
}

/// Keys of slots, and slots of keys; without keys it owns no memory.
#[derive(Debug)]
pub(super) struct Keys {
    /// Of the names as well. They come from outside: nobody is to know which of them meet in a
    /// table.
    seed: Seed,
    cells: Vec<Text>,
    /// One slot of each key.
    index: Index,
    /// By slot, as far as two instances ever had one key. Who shares his key with nobody is his own
    /// neighbour.
    rings: Vec<Neighbours>,
    /// Whether several may have one key.
    may_share: bool,
}

impl Keys {
    pub(super) const fn new(seed: Seed) -> Keys {
        Keys {
            seed,
            cells: Vec::new(),
            index: Index::new(),
            rings: Vec::new(),
            may_share: false,
        }
    }

    /// From now on one key may be given to several slots, which only a file does.
    pub(super) fn allow_sharing(&mut self) {
        self.may_share = true;
    }

    /// What hashes begin with.
    pub(super) fn seed(&self) -> Seed {
        self.seed
    }

    /// The key of the entry in a slot; empty for none.
    pub(super) fn get(&self, slot: u32) -> &[u8] {
        bytes(&self.cells, slot)
    }

    /// The slots with a key that is not empty.
    pub(super) fn slots(&self, key: &[u8]) -> impl Iterator<Item = u32> {
        let first = self.find(key);
        let next = move |slot: &u32| Some(self.neighbours(*slot).after).filter(|after| Some(*after) != first);
        std::iter::successors(first, next)
    }

    /// Makes room for this key of any slot below `end`, which no other slot has unless
    /// [sharing is allowed](Keys::allow_sharing), and for as many as are expected to follow.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn reserve(&mut self, key: &[u8], end: u32, expected: usize) -> Result<()> {
        let (cells, seed) = (&self.cells, self.seed);
        self.index
            .reserve_expecting(expected, end, |slot| seed.bytes(bytes(cells, slot)))?;
        let missing = |length: usize| (end as usize).saturating_sub(length);
        let more = missing(self.cells.len());
        room(&mut self.cells, more)?;
        if self.may_share && self.find(key).is_some() {
            let more = missing(self.rings.len());
            room(&mut self.rings, more)?;
        }
        Ok(())
    }

    /// Gives a slot another key, or takes it with [`NewText::EMPTY`]. There must be room for one
    /// that is not empty.
    #[cold]
    pub(super) fn set(&mut self, slot: u32, key: NewText<'_>) {
        self.take_out(slot);
        let place = slot as usize;
        while self.cells.len() <= place && !key.bytes().is_empty() {
            // Room: `reserve`.
            self.cells.push(Text::EMPTY);
        }
        let others = if self.may_share { self.find(key.bytes()) } else { None };
        debug_assert!(self.may_share || self.find(key.bytes()).is_none());
        let Some(cell) = self.cells.get_mut(place) else { return };
        cell.assign(key);
        match others {
            _ if cell.bytes().is_empty() => {}
            None => self.index.insert(self.seed.bytes(cell.bytes()), slot),
            Some(other) => self.join(slot, other),
        }
    }

    /// Takes the key of a slot, if it has one.
    pub(super) fn take(&mut self, slot: u32) {
        if !self.get(slot).is_empty() {
            self.set(slot, NewText::EMPTY);
        }
    }

    /// Gives memory back when there is little left in the table.
    pub(super) fn shrink(&mut self) {
        let (cells, seed) = (&self.cells, self.seed);
        self.index.shrink(|slot| seed.bytes(bytes(cells, slot)));
    }

    /// The slot that stands for a key.
    fn find(&self, key: &[u8]) -> Option<u32> {
        if key.is_empty() {
            return None;
        }
        self.index.find(self.seed.bytes(key), |slot| self.get(slot) == key)
    }

    fn neighbours(&self, slot: u32) -> Neighbours {
        let alone = Neighbours {
            before: slot,
            after: slot,
        };
        self.rings.get(slot as usize).copied().unwrap_or(alone)
    }

    /// Puts a slot behind another one that has the same key.
    fn join(&mut self, slot: u32, other: u32) {
        for alone in self.rings.len() as u32..=slot.max(other) {
            // Room: `reserve`.
            self.rings.push(Neighbours {
                before: alone,
                after: alone,
            });
        }
        let after = self.neighbours(other).after;
        self.link(other, slot);
        self.link(slot, after);
    }

    fn link(&mut self, before: u32, after: u32) {
        if let Some(ring) = self.rings.get_mut(before as usize) {
            ring.after = after;
        }
        if let Some(ring) = self.rings.get_mut(after as usize) {
            ring.before = before;
        }
    }

    /// Takes a slot out of the index. If it stands for others, one of these does from now on.
    fn take_out(&mut self, slot: u32) {
        let key = self.get(slot);
        if key.is_empty() {
            return;
        }
        let hash = self.seed.bytes(key);
        let Neighbours { before, after } = self.neighbours(slot);
        if after == slot {
            self.index.remove(hash, slot);
        } else {
            self.index.replace(hash, slot, after);
            self.link(before, after);
            self.link(slot, slot);
        }
    }
}

/// The key in a cell.
fn bytes(cells: &[Text], slot: u32) -> &[u8] {
    cells.get(slot as usize).map_or(&[], Text::bytes)
}

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

/// Bob Jenkins' public-domain "lookup2" of 1996, of a key or a name; `initval` is the previous hash
/// when there is a chain of them (CACHE-52). Ids made of keys depend on it, and so do cache files
/// that exist, hence it cannot change (CACHE-60).
///
/// Bytes from 0x80 on count as negative numbers, as C's `char` has it on the machines where the
/// files were written.
#[must_use]
pub fn jenkins_hash(key: &[u8], initval: u32) -> u32 {
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
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A file may give one key to all: the table holds it once, so that no insertion passes the
    /// others.
    #[test]
    fn one_for_all() {
        let mut keys = Keys::new(Seed::process());
        keys.allow_sharing();
        for slot in 0..1000 {
            keys.reserve(b"key", slot + 1, 0).expect("memory");
            keys.set(slot, NewText::new(b"key").expect("memory"));
        }
        assert_eq!((keys.index.len(), keys.slots(b"key").count()), (1, 1000));
        for slot in 0..1000 {
            assert_eq!(keys.slots(b"key").count(), 1000 - slot as usize);
            keys.set(slot, NewText::EMPTY);
        }
        assert!(keys.index.is_empty());
    }

    proptest! {
        /// CACHE-31, CACHE-56: whatever keys slots get and lose, each key leads to its slots, once.
        #[test]
        fn as_a_model(steps in proptest::collection::vec((0..12_u32, 0..4_usize), 1..200)) {
            const KEYS: [&[u8]; 4] = [b"", b"a", b"key", b"another key that is much longer than the others"];
            let mut keys = Keys::new(Seed::process());
            keys.allow_sharing();
            let mut model = [0; 12];
            for (slot, key) in steps {
                keys.reserve(KEYS[key], 12, 0).expect("memory");
                keys.set(slot, NewText::new(KEYS[key]).expect("memory"));
                model[slot as usize] = key;
                for (number, key) in KEYS.iter().enumerate().skip(1) {
                    let found: Vec<u32> = keys.slots(key).collect();
                    let expected: BTreeSet<u32> = (0..12).filter(|slot| model[*slot as usize] == number).collect();
                    prop_assert_eq!(found.len(), expected.len());
                    prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
                }
                prop_assert!((0..12).all(|slot| keys.get(slot) == KEYS[model[slot as usize]]));
                prop_assert_eq!(keys.index.is_empty(), model.iter().all(|key| *key == 0));
            }
        }
    }

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
            assert_eq!(jenkins_hash(&ascending[..length], 0), raw, "{length} bytes");
        }
        assert_eq!(jenkins_hash(&[0x80], 0), 0x0e01_80f4);
        assert_eq!(jenkins_hash(&[0xff; 4], 0), 0x09bc_5267);
        assert_eq!(jenkins_hash(&(0x80..=0x8a).collect::<Vec<u8>>(), 0), 0x891b_7fb3);
        assert_eq!(jenkins_hash(&(0xf0..=0xfb).collect::<Vec<u8>>(), 0), 0x62ac_3d54);
        assert_eq!(jenkins_hash(&[0; 13], 0), 0xd263_ed61);
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
            value = jenkins_hash(&[1], value);
            assert_eq!(value, next);
        }
    }
}
