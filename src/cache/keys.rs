//! The keys of instances, by slot: few caches have any, so they are no part of the entries (CACHE-56).

use super::room;
use super::text::{Draft, Text};
use crate::error::Result;

/// Key bytes by slot; without keys it owns no memory.
#[derive(Debug)]
pub(super) struct Keys {
    cells: Vec<Text>,
}

impl Keys {
    pub(super) const fn new() -> Keys {
        Keys { cells: Vec::new() }
    }

    /// The key of the entry in a slot; empty for none.
    #[inline]
    pub(super) fn get(&self, slot: u32) -> &[u8] {
        self.cells.get(slot as usize).map_or(&[], Text::bytes)
    }

    /// Makes room for keys in the slots below `end`.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn reserve(&mut self, end: u32) -> Result<()> {
        let missing = (end as usize).saturating_sub(self.cells.len());
        room(&mut self.cells, missing)
    }

    /// Gives a slot a key, or takes it with [`Draft::EMPTY`]. There must be room for one that is not empty.
    pub(super) fn set(&mut self, slot: u32, key: Draft<'_>) {
        let slot = slot as usize;
        while self.cells.len() <= slot && !key.bytes().is_empty() {
            self.cells.push(Text::EMPTY);
        }
        if let Some(cell) = self.cells.get_mut(slot) {
            cell.assign(key);
        }
    }
}
