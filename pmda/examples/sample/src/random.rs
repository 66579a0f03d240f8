//! Random numbers, as the agent in C gets them.

use std::cell::Cell;

/// The generator `lrand48` of POSIX, before any seed was set.
#[derive(Default)]
pub struct Random(Cell<u64>);

impl Random {
    /// The next number, from 0 on and below `limit`.
    pub fn below(&self, limit: i32) -> i32 {
        let next = self.0.get().wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & 0xffff_ffff_ffff;
        self.0.set(next);
        (next >> 17) as i32 % limit
    }
}

/// The generator of the C standard, which starts anew with each seed.
pub struct Standard(pub u32);

impl Standard {
    /// The next number: 31 bits.
    pub fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
        self.0
    }

    /// The same as a fraction.
    pub fn fraction(&mut self) -> f64 {
        f64::from(self.next()) / f64::from(i32::MAX)
    }
}
