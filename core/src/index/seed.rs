//! The hash of everything that comes from outside: names, keys, identifiers.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// What a hash begins with: without it nobody can tell which names meet in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed {
    state: u64,
    multiplier: u64,
}

static PROCESS: OnceLock<Seed> = OnceLock::new();

impl Seed {
    /// A seed of two random numbers.
    #[must_use]
    pub const fn new(state: u64, multiplier: u64) -> Seed {
        // Odd, so that no bit of what is hashed gets lost, large, so that each reaches the upper
        // half of a product, and not one of those with few bits.
        Seed {
            state,
            multiplier: (multiplier ^ 0x9e37_79b9_7f4a_7c15) | 1 | 1 << 63,
        }
    }

    /// The seed of this process; a forked child has that of its parent.
    #[inline]
    #[must_use]
    pub fn process() -> Seed {
        match PROCESS.get() {
            Some(seed) => *seed,
            None => Seed::first(),
        }
    }

    /// Before anybody has given one: a constructor of the program that runs before ours, or a unit
    /// test. It is made of the time, and of where the loader has put things. (What std has for this
    /// needs thread-local memory, which is dear in a library that is opened by `dlopen`.)
    #[cold]
    #[inline(never)]
    fn first() -> Seed {
        *PROCESS.get_or_init(|| {
            let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let (here, there) = (&raw const PROCESS, &raw const time);
            let seed = Seed::new(here.addr() as u64, there.addr() as u64);
            let mixed = seed.mix(seed.begin(), time.as_nanos() as u64);
            Seed::new(mixed, seed.mix(mixed, 0))
        })
    }

    /// Makes this the seed of the process, unless it has one already.
    pub fn install(self) {
        let _ = PROCESS.set(self);
    }

    /// What a hash in the making is before the first word.
    #[inline]
    #[must_use]
    pub fn begin(self) -> u64 {
        self.state
    }

    /// The state behind one word more.
    #[inline]
    #[must_use]
    pub fn mix(self, state: u64, word: u64) -> u64 {
        let product = u128::from(state ^ word) * u128::from(self.multiplier);
        product as u64 ^ (product >> 64) as u64
    }

    /// The hash that a state leads to. One more round ends the order of words that follow each
    /// other: with some seeds they would all be neighbours in a table.
    #[inline]
    #[must_use]
    pub fn end(self, state: u64) -> u32 {
        let mixed = self.mix(state, 0);
        (mixed ^ (mixed >> 32)) as u32
    }

    /// The hash of a number.
    #[inline]
    #[must_use]
    pub fn number(self, number: u64) -> u32 {
        self.end(self.mix(self.state, number))
    }

    /// The hash of bytes.
    #[inline]
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> u32 {
        // They may end with zeros, so their number counts.
        let mut state = self.mix(self.state, bytes.len() as u64);
        let mut rest = bytes;
        while let Some((word, tail)) = rest.split_first_chunk::<8>() {
            state = self.mix(state, u64::from_le_bytes(*word));
            rest = tail;
        }
        self.end(self.mix(state, last(rest)))
    }
}

/// Up to seven bytes as a number, the first one lowest.
#[inline]
#[must_use]
pub fn last(bytes: &[u8]) -> u64 {
    if let (Some(low), Some(high)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // They overlap in bytes that are the same in both.
        let (low, high) = (u32::from_le_bytes(*low), u32::from_le_bytes(*high));
        return u64::from(low) | u64::from(high) << (8 * (bytes.len() - 4));
    }
    match *bytes {
        [] => 0,
        [first] => first.into(),
        [first, second, ..] => {
            let third = bytes.get(2).copied().unwrap_or_default();
            u32::from_le_bytes([first, second, third, 0]).into()
        }
    }
}
