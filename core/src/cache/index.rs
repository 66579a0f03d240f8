//! From an id to the entry that holds it: a plain array where ids are dense, a hash table for the
//! others.

use super::entry::Slab;
use super::growth;
use crate::error::{Error, Result};
use crate::index::{Index, Seed};

const NONE: u32 = u32::MAX;

/// Slots by id. Small ids, as automatic allocation makes them, are found with one access (DEF-14).
#[derive(Debug)]
pub(super) struct Ids {
    dense: Vec<u32>,
    /// Slots of the ids beyond the array.
    sparse: Index,
    len: usize,
}

impl Ids {
    pub(super) const fn new() -> Ids {
        Ids {
            dense: Vec::new(),
            sparse: Index::new(),
            len: 0,
        }
    }

    #[inline]
    pub(super) fn get<T>(&self, id: u32, slab: &Slab<T>) -> Option<u32> {
        match self.dense.get(id as usize) {
            Some(slot) => (*slot != NONE).then_some(*slot),
            None if self.sparse.is_empty() => None,
            None => self.get_sparse(id, slab),
        }
    }

    #[inline(never)]
    fn get_sparse<T>(&self, id: u32, slab: &Slab<T>) -> Option<u32> {
        self.sparse.find(hash(id), |slot| slab.get(slot).id == id)
    }

    /// Makes room for an id, and for those that are expected to follow: the array grows where that
    /// pays.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn reserve<T>(&mut self, id: u32, expected: usize, slab: &Slab<T>) -> Result<()> {
        let place = id as usize;
        if place < self.dense.len() {
            return Ok(());
        }
        if place < 8.max(self.len * 2) {
            // Not a few places only beside a large table: so this is amortised.
            let grown = self.dense.len() + growth::<u32>(self.dense.len());
            return self.extend(grown.max(place + 1).max(self.len / 4), slab);
        }
        let end = slab.len() + 1;
        self.sparse
            .reserve_expecting(expected, end, |slot| hash(slab.get(slot).id))
    }

    /// Sets the slot of an id, whether it had one or not; see [`Ids::reserve`].
    pub(super) fn set<T>(&mut self, id: u32, slot: u32, slab: &Slab<T>) {
        if let Some(old) = self.dense.get_mut(id as usize) {
            self.len += usize::from(*old == NONE);
            *old = slot;
            return;
        }
        match self.get_sparse(id, slab) {
            Some(old) => self.sparse.replace(hash(id), old, slot),
            None => {
                self.sparse.insert(hash(id), slot);
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
        } else if self.sparse.remove(hash(id), slot) {
            self.len -= 1;
        }
    }

    /// Makes the array longer, and moves into it what belongs there.
    fn extend<T>(&mut self, length: usize, slab: &Slab<T>) -> Result<()> {
        let more = length - self.dense.len();
        self.dense.try_reserve_exact(more).map_err(|_| Error::NOMEM)?;
        self.dense.resize(length, NONE);
        if !self.sparse.is_empty() {
            let dense = &mut self.dense;
            let id = |slot: u32| slab.get(slot).id as usize;
            self.sparse.extract(|slot| {
                let place = dense.get_mut(id(slot));
                place.map(|place| *place = slot).is_some()
            });
        }
        Ok(())
    }

    /// Gives memory back that the ids beyond the array no longer need.
    pub(super) fn shrink<T>(&mut self, slab: &Slab<T>) {
        self.sparse.shrink(|slot| hash(slab.get(slot).id));
    }
}

/// Ids that agents make of keys come from outside.
fn hash(id: u32) -> u32 {
    Seed::process().number(u64::from(id))
}

#[cfg(test)]
mod tests {
    use super::super::entry::Entry;
    use super::*;
    use std::collections::BTreeMap;

    fn store(ids: &mut Ids, slab: &mut Slab<u8>, id: u32) -> u32 {
        slab.reserve().expect("memory");
        let slot = slab.insert(Entry::active(id));
        ids.reserve(id, 0, slab).expect("memory");
        ids.set(id, slot, slab);
        slot
    }

    /// DEF-14: ids one behind the other are all in the array, which is not much longer. One that is
    /// far away is not.
    #[test]
    fn dense_ids() {
        let (mut ids, mut slab) = (Ids::new(), Slab::<u8>::new());
        for id in 0..1000 {
            store(&mut ids, &mut slab, id);
            assert!(
                ids.sparse.is_empty() && ids.dense.len() <= 8.max(2 * id as usize),
                "{id}"
            );
        }
        let length = ids.dense.len();
        store(&mut ids, &mut slab, 1_000_000);
        assert_eq!((ids.sparse.is_empty(), ids.dense.len()), (false, length));
    }

    /// DEF-14: dense and sparse ids in any order, found and forgotten.
    #[test]
    fn as_a_map() {
        let mut ids = Ids::new();
        let mut slab = Slab::<u8>::new();
        let mut model = BTreeMap::new();
        let mut seed = 1u32;
        for number in 0..20_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let id = match number % 3 {
                0 => number,
                1 => seed >> 20,
                _ => seed >> 1,
            };
            let slot = store(&mut ids, &mut slab, id);
            model.insert(id, slot);
            if number % 5 == 0 {
                ids.remove(id, slot + 1);
                ids.remove(id, slot);
                model.remove(&id);
            }
        }
        assert_eq!(ids.len, model.len());
        for (id, slot) in &model {
            assert_eq!(ids.get(*id, &slab), Some(*slot));
        }
        assert!((0..30_000).all(|id| ids.get(id, &slab) == model.get(&id).copied()));
    }
}
