//! A map from numbers.

use super::{Index, Seed};
use crate::error::{Error, Result};

/// A map from numbers (identifiers, contexts, addresses) to values, which lie one behind the other.
/// It is for entries that seldom come and go, and are often looked up.
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
        self.position(key.into()).map(|position| &self.entries[position].1)
    }

    /// The position and the value of a key if it is at the position `near` or at the next one: a
    /// hint that saves the search.
    pub fn get_at(&self, key: impl Into<u64>, near: usize) -> Option<(usize, &V)> {
        let key = key.into();
        for position in [near, near.wrapping_add(1)] {
            match self.entries.get(position) {
                Some((known, value)) if *known == key => return Some((position, value)),
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

    /// The value of a key, mutable.
    pub fn get_mut(&mut self, key: impl Into<u64>) -> Option<&mut V> {
        self.position(key.into()).map(|position| &mut self.entries[position].1)
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

    /// Removes all entries, and frees the memory.
    pub fn clear(&mut self) {
        *self = Map::new();
    }
}
