//! Hash tables of our own, for data that the library keeps until the process ends.
//!
//! [`Index`] holds numbers of entries that its owner has elsewhere, [`Map`] keys and values;
//! [`Seed`] hashes data that comes from outside. Each block of memory is reached by a pointer to
//! its start, so that leak checkers find it. The tables of `std` and hashbrown keep a pointer into
//! the middle of their block, which valgrind reports as "possibly lost" at exit. With hashbrown a
//! lookup among 1,000 took 31 ns instead of 36, and small tables took 1 to 5 % more instructions;
//! an allocator that leak checkers see through would be a parameter of seven types.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};

/// A cell that was never used: a search ends here.
const EMPTY: u32 = u32::MAX;
/// A cell that was emptied: a search goes on with the next cell.
const GONE: u32 = u32::MAX - 1;

/// The number of cells of the smallest table.
const FEWEST: usize = 8;
/// The number of cells from which on tables grow by half; smaller ones double.
const LARGE: usize = 1 << 14;

/// A set of numbers ("slots") that are found by the hashes of their entries.
///
/// The table is an array of cells of 32 bits, with open addressing. The low bits of a cell are the
/// slot, the others as many bits of the hash as there is room for. So a search touches one place of
/// the table, and hardly ever an entry with another hash. The search begins at that part of the
/// table that the hash is of all hashes, so a table may have any length.
#[derive(Debug, Default)]
pub struct Index {
    cells: Vec<u32>,
    /// The number of slots in the table.
    len: u32,
    /// The number of cells that are not [`EMPTY`].
    used: u32,
    /// The number of low bits of a cell that are the slot.
    bits: u32,
}

impl Index {
    /// An empty index; it owns no memory yet.
    #[must_use]
    pub const fn new() -> Index {
        Index {
            cells: Vec::new(),
            len: 0,
            used: 0,
            bits: 0,
        }
    }

    /// The number of slots in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns whether the table has no slots.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of cells: a measure of the memory.
    #[cfg(test)]
    pub(crate) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// The number of cells that may be in use: three quarters. So a search that finds nothing looks
    /// at eight cells, which mostly lie in one cache line.
    fn limit(cells: usize) -> usize {
        cells - cells / 4
    }

    /// The cell where the search for a hash begins.
    fn start(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.cells.len() as u64) >> 32) as usize
    }

    /// The part of a hash that is in its cell.
    fn tag(&self, hash: u32) -> u32 {
        (u64::from(hash) << self.bits) as u32
    }

    /// The bits of a cell that are the slot.
    fn mask(&self) -> u32 {
        ((1u64 << self.bits) - 1) as u32
    }

    /// The first slot with this hash that `same` accepts: of several, the one that was inserted
    /// first, as long as none was removed. `same` may also be asked about slots with another hash.
    #[inline(always)]
    pub fn find(&self, hash: u32, same: impl FnMut(u32) -> bool) -> Option<u32> {
        self.search(hash, same).ok().map(|(_, slot)| slot)
    }

    /// The cell and the slot of the first one that `wanted` accepts or, as the error, the empty
    /// cell where the search has ended.
    #[inline(always)]
    fn search(&self, hash: u32, mut wanted: impl FnMut(u32) -> bool) -> std::result::Result<(usize, u32), usize> {
        let (tag, mask) = (self.tag(hash), self.mask());
        let mut at = self.start(hash);
        loop {
            let cell = *self.cells.get(at).ok_or(at)?;
            // The bits of a cell without a slot may match by chance.
            let fits = (cell ^ tag) & !mask == 0;
            if fits && cell < GONE && wanted(cell & mask) {
                return Ok((at, cell & mask));
            }
            if cell == EMPTY {
                return Err(at);
            }
            at += 1;
            if at == self.cells.len() {
                at = 0;
            }
        }
    }

    /// Calls `work` with all slots with this hash, and perhaps with some that have another.
    pub fn for_each(&self, hash: u32, mut work: impl FnMut(u32)) {
        let _ = self.search(hash, |slot| {
            work(slot);
            false
        });
    }

    /// Makes room for `more` slots below `end`. `hash_of` returns the hash of a slot that is in the
    /// table.
    ///
    /// # Errors
    /// `-ENOMEM`; the table is unchanged.
    pub fn reserve(&mut self, more: usize, end: u32, hash_of: impl Fn(u32) -> u32) -> Result<()> {
        if self.has_room(more) && self.fits(end) {
            return Ok(());
        }
        self.grow(more, end, &hash_of)
    }

    /// Returns whether there is room for `more` slots.
    #[must_use]
    pub fn has_room(&self, more: usize) -> bool {
        (self.used as usize).saturating_add(more) <= Index::limit(self.cells.len())
    }

    /// Returns whether a cell can hold all slots below `end`, besides [`EMPTY`] and [`GONE`].
    fn fits(&self, end: u32) -> bool {
        u64::from(end) + 1 < 1u64 << self.bits
    }

    /// Makes a new table with room for `more` slots: a larger one, a smaller one when few slots are
    /// left, or one of the same size without emptied cells.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize, end: u32, hash_of: &dyn Fn(u32) -> u32) -> Result<()> {
        let wanted = self.len().checked_add(more).ok_or(Error::ENOMEM)?;
        let mut cells = if self.cells.len() / 8 > wanted {
            FEWEST
        } else {
            self.cells.len()
        };
        // The table has room to spare: otherwise each slot that is added when another one is
        // removed would need a new table.
        while Index::limit(cells).saturating_sub(Index::limit(cells) / 8) < wanted {
            cells = Index::next(cells).ok_or(Error::ENOMEM)?;
        }
        self.rebuild(cells, end, hash_of)
    }

    /// The length of a table that has grown by one step.
    fn next(cells: usize) -> Option<usize> {
        let more = if cells < LARGE { cells } else { cells / 2 };
        cells.checked_add(more.max(FEWEST))
    }

    /// Gives memory back when few slots are left. The table is unchanged without memory for a
    /// smaller one.
    pub fn shrink(&mut self, hash_of: impl Fn(u32) -> u32) {
        if self.len == 0 {
            self.clear();
        } else if self.cells.len() > 8 * FEWEST && self.cells.len() / 8 > self.len() {
            let end = self.slots().max().unwrap_or(0) + 1;
            let _ = self.grow(1, end, &hash_of);
        }
    }

    /// All slots, in no particular order.
    pub fn slots(&self) -> impl Iterator<Item = u32> {
        let mask = self.mask();
        self.cells
            .iter()
            .filter(|cell| **cell < GONE)
            .map(move |cell| cell & mask)
    }

    /// Replaces the table by one of `length` cells with the same slots.
    fn rebuild(&mut self, length: usize, end: u32, hash_of: &dyn Fn(u32) -> u32) -> Result<()> {
        let mut cells = Vec::new();
        cells.try_reserve_exact(length).map_err(|_| Error::ENOMEM)?;
        cells.resize(length, EMPTY);
        // Slots up to twice `end` fit, so the cells need not be made anew soon for another number
        // of bits.
        let bits = (u64::from(end) + 2).next_power_of_two().trailing_zeros() + 1;
        let mut table = Index {
            cells,
            len: 0,
            used: 0,
            bits: bits.max(self.bits).min(32),
        };
        if !table.fits(end) {
            return Err(Error::ENOMEM);
        }
        for slot in self.slots() {
            table.insert(hash_of(slot), slot, |_| false);
        }
        *self = table;
        Ok(())
    }

    /// Inserts a slot, for which [`Index::reserve`] has made room, or replaces the slot with the
    /// same hash that `same` accepts. Returns whether a slot was replaced.
    pub fn insert(&mut self, hash: u32, slot: u32, same: impl FnMut(u32) -> bool) -> bool {
        debug_assert!(self.fits(slot) && (self.used as usize) < self.cells.len());
        let hit = self.search(hash, same);
        let at = hit.map_or_else(|at| at, |(at, _)| at);
        self.cells[at] = self.tag(hash) | slot;
        if hit.is_err() {
            self.used += 1;
            self.len += 1;
        }
        hit.is_ok()
    }

    /// Removes a slot; returns whether the table had it.
    pub fn remove(&mut self, hash: u32, slot: u32) -> bool {
        let Ok((at, _)) = self.search(hash, |other| other == slot) else {
            return false;
        };
        self.vacate(at);
        true
    }

    /// Removes the slots for which `keep` is false.
    pub fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        let mask = self.mask();
        // Backwards, so that the last cells of a run become empty, and are not only marked.
        for at in (0..self.cells.len()).rev() {
            let cell = self.cells[at];
            if cell < GONE && !keep(cell & mask) {
                self.vacate(at);
            }
        }
    }

    /// Empties a cell. If one in use follows, the cell is only marked, so that searches still reach
    /// that one. Otherwise no search needs this cell, nor the marked ones directly in front of it:
    /// all of them become [`EMPTY`].
    fn vacate(&mut self, at: usize) {
        self.len -= 1;
        let after = if at + 1 == self.cells.len() { 0 } else { at + 1 };
        if self.cells[after] != EMPTY {
            self.cells[at] = GONE;
            return;
        }
        let mut at = at;
        loop {
            self.cells[at] = EMPTY;
            self.used -= 1;
            at = at.checked_sub(1).unwrap_or(self.cells.len() - 1);
            if self.cells[at] != GONE {
                return;
            }
        }
    }

    /// Removes all slots, and frees the memory.
    pub fn clear(&mut self) {
        *self = Index::new();
    }
}

/// The secret start of hashes. Names and numbers have their origin outside; without the seed nobody
/// can choose them so that they collide in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed {
    state: u64,
    multiplier: u64,
}

/// The seed of the process, once it is known.
static PROCESS: OnceLock<Seed> = OnceLock::new();

impl Seed {
    /// A seed of two random numbers.
    #[must_use]
    pub const fn new(state: u64, multiplier: u64) -> Seed {
        // Odd, so that no bit of the hashed data is lost; large, so that each bit reaches the upper
        // half of a product; and not a number with few bits set.
        Seed {
            state,
            multiplier: (multiplier ^ 0x9e37_79b9_7f4a_7c15) | 1 | 1 << 63,
        }
    }

    /// The seed of this process; a forked child has that of its parent.
    #[must_use]
    pub fn process() -> Seed {
        match PROCESS.get() {
            Some(seed) => *seed,
            None => Seed::first(),
        }
    }

    /// Makes the seed when none was installed: in a constructor of the program that runs before
    /// ours, in a unit test, or when the kernel had no random numbers. It is made of the time and
    /// of addresses, which the loader chooses. (The random state of std needs thread-local memory,
    /// which is dear in a library that is opened by `dlopen`.)
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

    /// The state of a hash before the first word.
    #[must_use]
    pub fn begin(self) -> u64 {
        self.state
    }

    /// The state after one more word.
    #[must_use]
    pub fn mix(self, state: u64, word: u64) -> u64 {
        let product = u128::from(state ^ word) * u128::from(self.multiplier);
        product as u64 ^ (product >> 64) as u64
    }

    /// The hash of a state. One more round is needed for words that follow each other, such as
    /// numbers: with some seeds, all of them would be neighbours in a table.
    #[must_use]
    pub fn end(self, state: u64) -> u32 {
        let mixed = self.mix(state, 0);
        (mixed ^ (mixed >> 32)) as u32
    }

    /// The hash of a number.
    #[must_use]
    pub fn number(self, number: u64) -> u32 {
        self.end(self.mix(self.state, number))
    }

    /// The hash of bytes.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> u32 {
        let mut state = self.state;
        let mut rest = bytes;
        while let Some((word, tail)) = rest.split_first_chunk::<8>() {
            state = self.mix(state, u64::from_le_bytes(*word));
            rest = tail;
        }
        // The last bytes may end with zeros, so their number counts, in the byte that they leave
        // free.
        self.end(self.mix(state, last(rest) | (rest.len() as u64) << 56))
    }
}

/// Up to seven bytes as a number, the first one lowest.
#[must_use]
pub fn last(bytes: &[u8]) -> u64 {
    if let (Some(low), Some(high)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (low, high) = (u32::from_le_bytes(*low), u32::from_le_bytes(*high));
        // The two halves overlap in bytes that are the same in both.
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

/// A map from numbers (identifiers, contexts, addresses) to values, which lie one after the other
/// in memory. It is for entries that are seldom added and removed, and often looked up.
#[derive(Debug)]
pub struct Map<V> {
    entries: Vec<(u64, V)>,
    index: Index,
}

impl<V> Default for Map<V> {
    fn default() -> Map<V> {
        Map::new()
    }
}

impl<V> Map<V> {
    /// An empty map; it owns no memory yet.
    #[must_use]
    pub const fn new() -> Map<V> {
        Map {
            entries: Vec::new(),
            index: Index::new(),
        }
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The position of a key among the entries.
    fn position(&self, key: u64) -> Option<usize> {
        let same = |slot: u32| self.entries[slot as usize].0 == key;
        self.index
            .find(Seed::process().number(key), same)
            .map(|slot| slot as usize)
    }

    /// The value of a key.
    pub fn get(&self, key: impl Into<u64>) -> Option<&V> {
        self.get_anywhere(key).map(|(_, value)| value)
    }

    /// The position and the value of a key if it is at the position `near` or at the next one: a
    /// hint that saves the search.
    pub fn get_at(&self, key: impl Into<u64>, near: usize) -> Option<(usize, &V)> {
        let key = key.into();
        for position in [near, near.wrapping_add(1)] {
            match self.entries.get(position) {
                Some((other, value)) if *other == key => return Some((position, value)),
                _ => {}
            }
        }
        None
    }

    /// The position and the value of a key.
    pub fn get_anywhere(&self, key: impl Into<u64>) -> Option<(usize, &V)> {
        self.position(key.into())
            .map(|position| (position, &self.entries[position].1))
    }

    /// Makes room for more entries.
    ///
    /// # Errors
    /// `-ENOMEM`; the map is unchanged.
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        self.entries.try_reserve(more).map_err(|_| Error::ENOMEM)?;
        let end = u32::try_from(self.entries.len().saturating_add(more)).map_err(|_| Error::ENOMEM)?;
        let (seed, entries) = (Seed::process(), &self.entries);
        self.index
            .reserve(more, end, |slot| seed.number(entries[slot as usize].0))
    }

    /// The value of a key; `make` makes it when there is none.
    ///
    /// # Errors
    /// `-ENOMEM`; `make` was not called.
    pub fn get_or_insert_with(&mut self, key: impl Into<u64>, make: impl FnOnce() -> V) -> Result<&mut V> {
        let key = key.into();
        let position = match self.position(key) {
            Some(position) => position,
            None => {
                self.reserve(1)?;
                self.push(key, make())
            }
        };
        Ok(&mut self.entries[position].1)
    }

    /// Adds an entry, for which there is room, and returns its position.
    fn push(&mut self, key: u64, value: V) -> usize {
        let position = self.entries.len();
        let slot = u32::try_from(position).expect("there is room");
        self.index.insert(Seed::process().number(key), slot, |_| false);
        // Room: the caller has made it.
        self.entries.push((key, value));
        position
    }

    /// Removes an entry; the last entry takes its place.
    pub fn remove(&mut self, key: impl Into<u64>) -> Option<V> {
        let key = key.into();
        let position = self.position(key)?;
        let seed = Seed::process();
        let slot = |position: usize| u32::try_from(position).expect("it was put in as such");
        self.index.remove(seed.number(key), slot(position));
        let last = self.entries.len() - 1;
        if position != last {
            let moved = seed.number(self.entries[last].0);
            self.index.insert(moved, slot(position), |other| other == slot(last));
        }
        let (_, value) = self.entries.swap_remove(position);
        if self.entries.capacity() / 8 > self.entries.len().max(8) {
            self.entries.shrink_to(self.entries.len() * 2);
            let entries = &self.entries;
            self.index.shrink(|slot| seed.number(entries[slot as usize].0));
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests;
