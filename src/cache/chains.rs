//! The order in the C library's hash chains, which its debug dump shows, and the reclaiming that goes with it.
//!
//! A new entry goes to the front of its chains. When the tables grow, each chain is turned round while it is
//! distributed; then, and on REORG, culled entries drop out and active ones move before inactive ones. All chains
//! undergo the same at the same time, so one number an entry says it all: the order in any chain is that of
//! descending numbers (CACHE-81).

#![forbid(unsafe_code)]

use super::entry::State;
use super::{CULLED_KEPT, Cache};

const NONE: u32 = u32::MAX;

impl<T: Copy> Cache<T> {
    /// Grows the tables if the entry that was just counted is due to, and reclaims what was culled (CACHE-80).
    pub(super) fn grow(&mut self) {
        if u64::from(self.inserted) > 4 * u64::from(self.chains) {
            self.chains *= 2;
            self.reorder(true);
        } else if self.empty > CULLED_KEPT && self.empty > self.active + self.inactive {
            self.reorder(false);
        }
    }

    /// Frees all culled entries (CACHE-36).
    pub fn reorganize(&mut self) {
        self.reorder(false);
    }

    /// Slots in the order of the chains, front first.
    pub(super) fn chained(&self) -> Vec<u32> {
        let mut slots = vec![NONE; self.sequence as usize];
        for (slot, entry) in self.slab.iter() {
            slots[entry.sequence as usize] = slot;
        }
        slots.into_iter().rev().filter(|slot| *slot != NONE).collect()
    }

    /// The C library's reorder step, after all chains were turned round or not.
    fn reorder(&mut self, turn: bool) {
        let mut slots = self.chained();
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
    }

    /// Unlists and frees the culled entries.
    fn reclaim(&mut self) {
        if self.empty == 0 {
            return;
        }
        let slab = &self.slab;
        self.order.retain(|place| slab.get(place.slot).state != State::Empty);
        let culled = self.slab.iter().filter(|(_, entry)| entry.state == State::Empty);
        let culled: Vec<(u32, u32)> = culled.map(|(slot, entry)| (slot, entry.id)).collect();
        for (slot, id) in culled {
            self.ids.remove(id, slot);
            self.lowest = self.lowest.min(id);
            self.slab.remove(slot);
        }
        self.empty = 0;
    }
}
