//! Tables of the values that C knows by a number: help databases, event arrays, queues and their
//! clients.

use crate::error::{Error, Result};

/// A table of values by slot. A new value gets the lowest free slot, and the slot is free again
/// once the value was taken out (HELP-10, HELP-12, EVENT-12, QUEUE-1, QUEUE-20). The table never
/// shrinks.
#[derive(Debug)]
pub struct Handles<T> {
    slots: Vec<Option<T>>,
    /// No slot below this one is free.
    full: usize,
}

impl<T> Default for Handles<T> {
    fn default() -> Handles<T> {
        Handles::new()
    }
}

impl<T> Handles<T> {
    /// An empty table; it owns no memory yet.
    #[must_use]
    pub const fn new() -> Handles<T> {
        Handles {
            slots: Vec::new(),
            full: 0,
        }
    }

    /// The number of slots, free ones included; 0 if the table never had a value.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The lowest free slot, with room for its value, which [`Handles::put`] stores.
    ///
    /// # Errors
    /// `-ENOMEM` when memory or the handles of C, which are `int`s, run out.
    pub fn vacant(&mut self) -> Result<usize> {
        let above = self.slots.get(self.full..).unwrap_or_default();
        self.full += above.iter().take_while(|value| value.is_some()).count();
        i32::try_from(self.full).map_err(|_| Error::ENOMEM)?;
        if self.full == self.slots.capacity() {
            // The first value has no room beside it: most agents have only one.
            let more = self.slots.len().max(1);
            self.slots.try_reserve_exact(more).map_err(|_| Error::ENOMEM)?;
        }
        Ok(self.full)
    }

    /// Puts a value into the slot that [`Handles::vacant`] has returned.
    pub fn put(&mut self, slot: usize, value: T) -> &mut T {
        if slot == self.slots.len() {
            // Room: `vacant`.
            self.slots.push(None);
        }
        self.slots[slot].insert(value)
    }

    /// The value of a slot.
    #[must_use]
    pub fn get(&self, slot: usize) -> Option<&T> {
        self.slots.get(slot)?.as_ref()
    }

    /// The value of a slot, mutable.
    pub fn get_mut(&mut self, slot: usize) -> Option<&mut T> {
        self.slots.get_mut(slot)?.as_mut()
    }

    /// Takes a value out and frees its slot.
    pub fn take(&mut self, slot: usize) -> Option<T> {
        let value = self.slots.get_mut(slot)?.take()?;
        self.full = self.full.min(slot);
        Some(value)
    }

    /// All values with their slots, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(slot, value)| Some((slot, value.as_ref()?)))
    }
}

/// The slot of a handle of C. A negative handle becomes a slot that no table has
/// ([`Handles::vacant`]).
#[must_use]
pub fn slot(handle: i32) -> usize {
    handle as u32 as usize
}

/// The handle of a slot.
///
/// # Errors
/// `-ENOMEM` for a slot that no `int` can name.
pub fn handle(slot: usize) -> Result<i32> {
    i32::try_from(slot).map_err(|_| Error::ENOMEM)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lowest free slot is used, also after some were freed. One that was asked for and not
    /// used is given again (HELP-10, HELP-11, HELP-12, H-1, H-2, EVENT-12, QUEUE-1).
    #[test]
    fn lowest_free_slot() {
        let mut handles = Handles::new();
        for expected in 0..4 {
            assert_eq!(handles.vacant(), Ok(expected));
            assert_eq!(handles.vacant(), Ok(expected));
            // So storing a value cannot fail.
            assert!(handles.slots.capacity() > expected);
            handles.put(expected, expected);
        }
        assert_eq!(
            (handles.take(2), handles.take(0), handles.take(0)),
            (Some(2), Some(0), None)
        );
        assert_eq!((handles.take(4), handles.get(4)), (None, None));
        for expected in [0, 2, 4] {
            let slot = handles.vacant().expect("memory");
            assert_eq!(slot, expected);
            *handles.put(slot, 0) += 10;
        }
        let values: Vec<_> = handles.iter().map(|(slot, value)| (slot, *value)).collect();
        assert_eq!(values, [(0, 10), (1, 1), (2, 10), (3, 3), (4, 10)]);
        assert_eq!((handles.get(slot(-1)), slot(3), handle(3)), (None, 3, Ok(3)));
        handles.take(1);
        let values: Vec<_> = handles.iter().map(|(slot, value)| (slot, *value)).collect();
        assert_eq!(values, [(0, 10), (2, 10), (3, 3), (4, 10)]);
    }
}
