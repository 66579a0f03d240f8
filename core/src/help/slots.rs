//! The process-wide table of open help databases.

use super::Database;
use crate::error::{Error, Result};

/// The table: a handle is an index into it, a closed slot is used again, lowest first (HELP-10,
/// HELP-11).
#[derive(Debug)]
pub struct Slots {
    bases: Vec<Option<Database>>,
}

impl Slots {
    /// An empty table.
    #[must_use]
    pub const fn new() -> Slots {
        Slots { bases: Vec::new() }
    }

    /// Finds the lowest free slot, and makes one when all are in use.
    ///
    /// # Errors
    /// `-ENOMEM`; the table stays as it is (H-5).
    pub fn vacant(&mut self) -> Result<usize> {
        if let Some(slot) = self.bases.iter().position(Option::is_none) {
            return Ok(slot);
        }
        self.bases.try_reserve(1).map_err(|_| Error::NOMEM)?;
        self.bases.push(None);
        Ok(self.bases.len() - 1)
    }

    /// Puts a database into the slot that [`Self::vacant`] has found.
    pub fn put(&mut self, slot: usize, base: Database) -> &Database {
        self.bases[slot].insert(base)
    }

    /// The database of a handle; `None` when the handle is out of range or closed (HELP-28).
    #[inline]
    #[must_use]
    pub fn get(&self, handle: i32) -> Option<&Database> {
        self.bases.get(usize::try_from(handle).ok()?)?.as_ref()
    }

    /// Takes the database out of its slot, which becomes free; the table never shrinks (HELP-12).
    pub fn take(&mut self, handle: i32) -> Option<Database> {
        self.bases.get_mut(usize::try_from(handle).ok()?)?.take()
    }
}

impl Default for Slots {
    fn default() -> Slots {
        Slots::new()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::index;
    use super::*;
    use crate::log::Journal;

    fn database() -> Database {
        let pages = b"text\0".to_vec().into_boxed_slice();
        Database::new(index(0, &[]).into_boxed_slice(), pages, b"t", &mut Journal::new()).unwrap()
    }

    /// HELP-10, HELP-11, HELP-12, H-1, H-2: a slot is the lowest free one, and a failed open leaves
    /// the others alone.
    #[test]
    fn lowest_free_slot() {
        let mut slots = Slots::new();
        for expected in 0..3 {
            let slot = slots.vacant().unwrap();
            assert_eq!(slot, expected);
            slots.put(slot, database());
        }
        assert!(slots.take(0).is_some());
        assert!(slots.take(0).is_none() && slots.take(-1).is_none() && slots.take(3).is_none());
        assert!(slots.get(0).is_none() && slots.get(2).is_some());
        assert_eq!((slots.vacant(), slots.vacant()), (Ok(0), Ok(0)));
        slots.put(0, database());
        assert_eq!(slots.vacant(), Ok(3));
    }
}
