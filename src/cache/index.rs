//! From an id to the entry that holds it: a plain array where ids are dense, a hash table for the others.

#![forbid(unsafe_code)]

use hashbrown::HashTable;

const NONE: u32 = u32::MAX;

/// Slots by id. Small ids, as automatic allocation makes them, are found with one access (DEF-14).
#[derive(Debug)]
pub(super) struct Ids {
    dense: Vec<u32>,
    /// Id and slot of the ids beyond the array.
    sparse: HashTable<(u32, u32)>,
    len: usize,
}

/// Spreads the bits of an id.
fn mix(id: u32) -> u64 {
    let product = u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}

impl Ids {
    pub(super) const fn new() -> Ids {
        Ids {
            dense: Vec::new(),
            sparse: HashTable::new(),
            len: 0,
        }
    }

    pub(super) fn get(&self, id: u32) -> Option<u32> {
        match self.dense.get(id as usize) {
            Some(slot) => (*slot != NONE).then_some(*slot),
            None if self.sparse.is_empty() => None,
            None => self
                .sparse
                .find(mix(id), |(other, _)| *other == id)
                .map(|(_, slot)| *slot),
        }
    }

    /// Sets the slot of an id, whether it had one or not.
    pub(super) fn set(&mut self, id: u32, slot: u32) {
        let place = id as usize;
        if place >= self.dense.len() && place < 8.max(self.len * 2) {
            self.extend((place + 1).max(self.dense.len() * 2));
        }
        if let Some(old) = self.dense.get_mut(place) {
            self.len += usize::from(*old == NONE);
            *old = slot;
            return;
        }
        let rehash = |(id, _): &(u32, u32)| mix(*id);
        match self.sparse.entry(mix(id), |(other, _)| *other == id, rehash) {
            hashbrown::hash_table::Entry::Occupied(mut entry) => entry.get_mut().1 = slot,
            hashbrown::hash_table::Entry::Vacant(entry) => {
                entry.insert((id, slot));
                self.len += 1;
            }
        }
    }

    /// Forgets an id if it leads to `slot`.
    pub(super) fn remove(&mut self, id: u32, slot: u32) {
        if let Some(old) = self.dense.get_mut(id as usize) {
            if *old == slot {
                *old = NONE;
                self.len -= 1;
            }
        } else if let Ok(entry) = self.sparse.find_entry(mix(id), |found| *found == (id, slot)) {
            entry.remove();
            self.len -= 1;
        }
    }

    /// Makes the array longer, and moves into it what belongs there. It at least doubles, so this is amortised.
    fn extend(&mut self, length: usize) {
        self.dense.resize(length, NONE);
        if self.sparse.is_empty() {
            return;
        }
        let dense = &mut self.dense;
        for (id, slot) in self.sparse.extract_if(|(id, _)| (*id as usize) < length) {
            dense[id as usize] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// DEF-14: dense and sparse ids in any order, found and forgotten.
    #[test]
    fn as_a_map() {
        let mut ids = Ids::new();
        let mut model = BTreeMap::new();
        let mut seed = 1u32;
        for slot in 0..20_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let id = match slot % 3 {
                0 => slot,
                1 => seed >> 20,
                _ => seed >> 1,
            };
            ids.set(id, slot);
            model.insert(id, slot);
            if slot % 5 == 0 {
                ids.remove(id, slot + 1);
                ids.remove(id, slot);
                model.remove(&id);
            }
        }
        assert_eq!(ids.len, model.len());
        for (id, slot) in &model {
            assert_eq!(ids.get(*id), Some(*slot));
        }
        assert!((0..30_000).all(|id| ids.get(id) == model.get(&id).copied()));
    }
}
