//! The order in the C library's hash chains, which its debug dump shows, and the reclaiming that
//! goes with it.
//!
//! A new entry goes to the front of its chains. When the tables grow, each chain is turned round
//! while it is distributed; then, and on REORG, culled entries drop out and active ones move before
//! inactive ones. All chains undergo the same at the same time, so one number an entry says it all:
//! the order in any chain is that of descending numbers (CACHE-81).

use super::entry::State;
use super::{CULLED_KEPT, Cache, room};
use crate::error::Result;

const NONE: u32 = u32::MAX;

impl<T: Copy> Cache<T> {
    /// Grows the tables if the entry that is counted next is due to, and reclaims what was culled
    /// (CACHE-80).
    ///
    /// # Errors
    /// `-ENOMEM`; nothing has changed.
    pub(super) fn grow(&mut self) -> Result<()> {
        if u64::from(self.inserted) >= 4 * u64::from(self.chains) {
            self.reorder(true)?;
            self.chains *= 2;
        } else if self.is_crowded() {
            self.reorder(false)?;
        }
        Ok(())
    }

    /// Whether the next insertion frees the names of culled entries: one of them may be what the
    /// caller stores, since lookups have given them out (CACHE-25), and then has to be copied
    /// before.
    pub(super) fn is_reclaiming(&self) -> bool {
        let is_full = u64::from(self.inserted) >= 4 * u64::from(self.chains);
        self.empty > 0 && (is_full || self.is_crowded())
    }

    /// Whether there are more culled entries than are kept for the C library's sake.
    fn is_crowded(&self) -> bool {
        self.empty > CULLED_KEPT && self.empty > self.active + self.inactive
    }

    /// Frees all culled entries (CACHE-36).
    ///
    /// # Errors
    /// `-ENOMEM`; nothing has changed.
    pub fn reorganize(&mut self) -> Result<()> {
        self.reorder(false)?;
        // Not when an insertion has led here: the room for it is made already.
        self.shrink();
        Ok(())
    }

    /// Gives memory of the tables back when there is little left in them.
    fn shrink(&mut self) {
        let slab = &self.slab;
        self.ids.shrink(slab);
        self.names.shrink(|slot| slab.get(slot).hash);
        self.keys.shrink();
    }

    /// Slots in the order of the chains, front first.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn chained(&self) -> Result<Vec<u32>> {
        let mut slots = Vec::new();
        let len = self.sequence as usize;
        room(&mut slots, len)?;
        slots.resize(len, NONE);
        for (slot, entry) in self.slab.iter() {
            slots[len - 1 - entry.sequence as usize] = slot;
        }
        slots.retain(|slot| *slot != NONE);
        Ok(slots)
    }

    /// The C library's reorder step, after all chains were turned round or not.
    fn reorder(&mut self, turn: bool) -> Result<()> {
        if self.active == self.sequence as usize {
            // Nothing drops out or moves: the usual case while a domain is filled.
            let last = self.sequence.wrapping_sub(1);
            if turn {
                self.slab
                    .for_each(|entry| entry.sequence = last.wrapping_sub(entry.sequence));
            }
            return Ok(());
        }
        let mut slots = self.chained()?;
        if turn {
            slots.reverse();
        }
        self.reclaim();
        // Front first: the active ones get the greater numbers.
        let mut number = u32::try_from(self.active + self.inactive).expect("slots have 32 bits");
        self.sequence = number;
        for state in [State::Active, State::Inactive] {
            for slot in &slots {
                let entry = self.slab.get_mut(*slot);
                if entry.state == state {
                    number -= 1;
                    entry.sequence = number;
                }
            }
            if self.inactive == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Unlists and frees the culled entries.
    fn reclaim(&mut self) {
        if self.empty == 0 {
            return;
        }
        if self.stale > 0 {
            self.sweep();
        }
        self.changes += 1;
        self.order.retain(&self.slab, |entry| entry.state != State::Empty);
        for slot in 0..self.slab.len() {
            let entry = self.slab.get(slot);
            if entry.state == State::Empty {
                self.ids.remove(entry.id, slot);
                self.lowest = self.lowest.min(entry.id);
                self.slab.remove(slot);
            }
        }
        self.empty = 0;
    }
}
