//! What is done to all instances at once.

use super::entry::{Entry, State};
use super::{Cache, Mode, room};
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
        let mut changed = 0;
        let mut set = |entry: &mut Entry<T>| {
            if entry.state == from {
                entry.state = to;
                changed += 1;
            }
        };
        // The slab is passed faster; but after a peak it is large, and hardly any of it is listed.
        if self.order.len() < self.slab.len() as usize / 4 {
            let places = self.order.iter();
            places.for_each(|place| set(self.slab.get_mut(place.slot)));
        } else {
            self.slab.for_each(set);
        }
        self.changes += changed;
    }

    /// Culls all instances, and those of the file that are above the limit; returns how many there
    /// were of the former (CACHE-22).
    pub fn cull_all(&mut self) -> usize {
        let culled = self.active + self.inactive;
        if culled > 0 {
            self.names.take_all();
            self.stale = 0;
            for slot in 0..self.slab.len() {
                let entry = self.slab.get_mut(slot);
                if entry.is_live() {
                    entry.state = State::Empty;
                    self.keys.take(slot);
                }
            }
            self.empty += culled;
            self.changes += self.active as u64;
            (self.active, self.inactive) = (0, 0);
        }
        self.instances_dirty |= culled > 0 || !self.over_limit.is_empty();
        self.over_limit.clear();
        culled
    }

    /// Culls what was written before `limit` and not stored since (CACHE-62). Returns how many, and
    /// what was attached to them, in ascending order of ids (CACHE-63).
    ///
    /// # Errors
    /// `-ENOMEM`; nothing was culled.
    pub fn purge(&mut self, limit: i64) -> Result<(usize, Vec<T>)> {
        let mut attached = Vec::new();
        // Agents purge much more often than there is something to purge.
        if limit <= self.oldest {
            return Ok((0, attached));
        }
        room(&mut attached, self.active + self.inactive)?;
        let mut oldest = i64::MAX;
        let (mut active, mut inactive) = (0, 0);
        for place in self.order.places(&self.slab) {
            let entry = self.slab.get_mut(place.slot);
            if !entry.is_live() || entry.stamp == 0 {
                continue;
            }
            if entry.stamp >= limit {
                oldest = oldest.min(entry.stamp);
                continue;
            }
            if let Some(private) = entry.private.take() {
                attached.push(private);
            }
            let was_active = usize::from(entry.state == State::Active);
            active += was_active;
            inactive += 1 - was_active;
            entry.state = State::Empty;
            self.keys.take(place.slot);
        }
        self.oldest = oldest;
        let count = active + inactive;
        self.active -= active;
        self.inactive -= inactive;
        self.empty += count;
        self.stale += count as u32;
        self.changes += active as u64;
        self.instances_dirty |= count > 0;
        Ok((count, attached))
    }

    /// Culls all inactive instances; returns how many.
    pub fn cull_inactive(&mut self) -> usize {
        let culled = std::mem::take(&mut self.inactive);
        if culled == 0 {
            return 0;
        }
        for slot in 0..self.slab.len() {
            let entry = self.slab.get_mut(slot);
            if entry.state == State::Inactive {
                entry.state = State::Empty;
                entry.private = None;
                self.keys.take(slot);
            }
        }
        self.empty += culled;
        self.stale += culled as u32;
        self.instances_dirty = true;
        culled
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
            return Err(Error::E2BIG);
        }
        self.strings = true;
        Ok(())
    }

    /// Sets the greatest id that may be handed out (CACHE-65), also after a file with another limit
    /// was loaded.
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
        self.limited = true;
        self.stamps_dirty = true;
        Ok(())
    }
}
