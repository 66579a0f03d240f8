//! What is done to all instances at once.

#![forbid(unsafe_code)]

use super::entry::State;
use super::{Cache, Mode};
use crate::error::{Error, Result};

impl<T: Copy> Cache<T> {
    /// Makes all inactive instances active; returns how many (CACHE-22).
    pub fn activate_all(&mut self) -> usize {
        self.set_all(State::Inactive, State::Active);
        let changed = std::mem::take(&mut self.inactive);
        self.active += changed;
        changed
    }

    /// Makes all active instances inactive; returns how many (CACHE-22).
    pub fn deactivate_all(&mut self) -> usize {
        self.set_all(State::Active, State::Inactive);
        let changed = std::mem::take(&mut self.active);
        self.inactive += changed;
        changed
    }

    fn set_all(&mut self, from: State, to: State) {
        for (_, entry) in self.slab.iter_mut().filter(|(_, entry)| entry.state == from) {
            entry.state = to;
            self.changes += 1;
        }
    }

    /// Culls all instances; returns how many (CACHE-22).
    pub fn cull_all(&mut self) -> usize {
        let live = self.slab.iter().filter(|(_, entry)| entry.is_live());
        let slots: Vec<u32> = live.map(|(slot, _)| slot).collect();
        for slot in &slots {
            self.set_state(*slot, State::Empty);
        }
        self.instances_dirty |= !slots.is_empty();
        slots.len()
    }

    /// Culls what was written before `limit` and not stored since (CACHE-62). Returns how many, and what was attached
    /// to them, in ascending order of ids (CACHE-63).
    pub fn purge(&mut self, limit: i64) -> (usize, Vec<T>) {
        let slab = &self.slab;
        let aged = |slot: &u32| {
            let entry = slab.get(*slot);
            entry.is_live() && entry.stamp != 0 && entry.stamp < limit
        };
        let places = self.order.places(slab).iter().map(|place| place.slot);
        let slots: Vec<u32> = places.filter(aged).collect();
        let mut attached = Vec::new();
        for slot in &slots {
            self.set_state(*slot, State::Empty);
            attached.extend(self.slab.get_mut(*slot).private.take());
        }
        self.instances_dirty |= !slots.is_empty();
        (slots.len(), attached)
    }

    /// Lets ids be used again (CACHE-24).
    pub fn reuse(&mut self) {
        self.mode = Mode::Reuse;
    }

    /// Makes whole names count, not only their part before the first space (CACHE-24).
    ///
    /// # Errors
    /// `-E2BIG` when there ever was an instance.
    pub fn use_strings(&mut self) -> Result<()> {
        if self.inserted > 0 {
            return Err(Error::os(7));
        }
        self.strings = true;
        Ok(())
    }

    /// Sets the greatest id that may be handed out (CACHE-65).
    ///
    /// # Errors
    /// `PM_ERR_SIGN` for a negative one, `PM_ERR_TOOBIG` when a listed instance has a greater id.
    pub fn resize(&mut self, maximum: i32) -> Result<()> {
        let maximum = u32::try_from(maximum).map_err(|_| Error::SIGN)?;
        let last = self.order.places(&self.slab).last();
        if last.is_some_and(|place| place.id > maximum) {
            return Err(Error::TOOBIG);
        }
        self.maximum = maximum;
        self.stamps_dirty = true;
        Ok(())
    }
}
