//! An update of an instance domain.

use pmda_core::cache::EntryState;
use pmda_core::constants::PMDA_CACHE_ADD;

use super::{File, Indom, REMEMBERED, Row, Slot, say};
use crate::{Error, Result};

/// An update of an instance domain, begun by [`Indom::update`]; it ends when it is dropped.
#[derive(Debug)]
pub struct Update<'i, T> {
    indom: &'i mut Indom<T>,
    /// Instances that have come, each with its row.
    come: Vec<(i32, u32)>,
    /// How many that were there already have been set.
    seen: usize,
    /// Where in the order of instances the next one is expected: most updates name them in one
    /// order.
    next: usize,
}

impl<'i, T> Update<'i, T> {
    pub(super) fn new(indom: &'i mut Indom<T>) -> Update<'i, T> {
        Update {
            indom,
            come: Vec::new(),
            seen: 0,
            next: 0,
        }
    }

    /// The instance with this name is there, and this is its row. Gives its number.
    ///
    /// # Errors
    /// `-EINVAL` for an empty name or one with a NUL, and when the name is another instance's up to
    /// the first blank, but not behind it; `-ENOMEM`.
    pub fn set(&mut self, name: &str, row: T) -> Result<i32> {
        let generation = self.indom.generation;
        let (inst, slot) = self.place(name)?;
        if let Some(place) = self.indom.rows.get_mut(slot as usize) {
            *place = Some(Row { generation, value: row });
        }
        Ok(inst)
    }

    /// The instance with this name is there. Gives its row, as it was if it was there before, else
    /// as `make` makes it.
    ///
    /// # Errors
    /// As [`Update::set`].
    pub fn row(&mut self, name: &str, make: impl FnOnce() -> T) -> Result<&mut T> {
        let generation = self.indom.generation;
        let (_, slot) = self.place(name)?;
        let place = self.indom.rows.get_mut(slot as usize).ok_or(Error::GENERIC)?;
        let row = place.get_or_insert_with(|| Row {
            generation,
            value: make(),
        });
        row.generation = generation;
        Ok(&mut row.value)
    }

    /// Whether the instance with this name has been set in this update.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let slot = self.indom.find(name).and_then(|inst| self.indom.slot(inst));
        slot.is_some_and(|slot| self.is_set(slot))
    }

    fn is_set(&self, slot: u32) -> bool {
        let row = self.indom.rows.get(slot as usize).and_then(Option::as_ref);
        row.is_some_and(|row| row.generation == self.indom.generation)
    }

    /// The number and the row of an instance, which is there from now on.
    fn place(&mut self, name: &str) -> Result<(i32, u32)> {
        if let Some((inst, slot)) = self.expected(name.as_bytes()) {
            self.next += 1;
            self.seen += usize::from(!self.is_set(slot));
            self.renew(name, slot)?;
            return Ok((inst, slot));
        }
        if name.is_empty() || name.contains('\0') {
            return Err(Error::EINVAL);
        }
        if let Ok(hit) = self.indom.cache.lookup_name(name.as_bytes()) {
            if let (EntryState::Active, true, Some(Slot(slot))) =
                (hit.state(), hit.name() == name.as_bytes(), hit.private())
            {
                let inst = hit.id();
                let place = self.indom.order.binary_search_by_key(&inst, |(inst, _)| *inst);
                self.next = place.map_or(self.next, |place| place + 1);
                self.seen += usize::from(place.is_ok() && !self.is_set(slot));
                self.renew(name, slot)?;
                return Ok((inst, slot));
            }
        }
        self.add(name)
    }

    /// The instance that follows the one set last, if it has this name.
    #[inline]
    fn expected(&self, name: &[u8]) -> Option<(i32, u32)> {
        let (inst, slot) = *self.indom.order.get(self.next)?;
        let hit = self.indom.cache.lookup(inst).ok()?;
        (hit.name() == name).then_some((inst, slot))
    }

    /// The file of a persistent domain tells when an instance was seen last: that is now
    /// (CACHE-21).
    #[inline]
    fn renew(&mut self, name: &str, slot: u32) -> Result<()> {
        if self.indom.file.is_some() {
            let name = Some(name.as_bytes());
            let cache = &mut self.indom.cache;
            cache.store(PMDA_CACHE_ADD, name, Some(Slot(slot)))?;
        }
        Ok(())
    }

    /// Makes an instance, or brings one back.
    fn add(&mut self, name: &str) -> Result<(i32, u32)> {
        let indom = &mut *self.indom;
        // The same instance by its short name has a row already.
        let known = indom.find(name).and_then(|inst| indom.slot(inst));
        let slot = match known {
            Some(slot) => slot,
            None => match indom.free.pop() {
                Some(slot) => slot,
                None => {
                    indom.rows.push(None);
                    u32::try_from(indom.rows.len() - 1).map_err(|_| Error::ENOMEM)?
                }
            },
        };
        let stored = indom
            .cache
            .store(PMDA_CACHE_ADD, Some(name.as_bytes()), Some(Slot(slot)));
        say(&mut indom.cache);
        match (stored, known) {
            (Ok(inst), Some(_)) => {
                let is_old = indom.order.binary_search_by_key(&inst, |(inst, _)| *inst).is_ok();
                self.seen += usize::from(is_old && !self.is_set(slot));
                Ok((inst, slot))
            }
            (Ok(inst), None) => {
                self.come.push((inst, slot));
                Ok((inst, slot))
            }
            (Err(error), Some(_)) => Err(error),
            (Err(error), None) => {
                indom.free.push(slot);
                Err(error)
            }
        }
    }

    /// The instances that were not set are not there any more.
    fn hide_others(&mut self) {
        let indom = &mut *self.indom;
        let generation = indom.generation;
        let mut gone = Vec::new();
        indom.order.retain(|(inst, slot)| {
            let row = indom.rows.get(*slot as usize).and_then(Option::as_ref);
            let is_set = row.is_some_and(|row| row.generation == generation);
            if !is_set {
                gone.push((*inst, *slot));
            }
            is_set
        });
        for (inst, slot) in gone {
            indom.hide(inst, slot);
        }
    }
}

impl<T> Drop for Update<'_, T> {
    fn drop(&mut self) {
        if self.seen < self.indom.order.len() {
            self.hide_others();
        }
        let indom = &mut *self.indom;
        // One whose row could not be made is not there.
        self.come.retain(|(inst, slot)| {
            let has_row = indom.rows.get(*slot as usize).is_some_and(Option::is_some);
            if !has_row {
                indom.hide(*inst, *slot);
            }
            has_row
        });
        if !self.come.is_empty() {
            indom.order.append(&mut self.come);
            indom.order.sort_unstable();
        }
        if indom.file.is_none() && indom.cache.inactive() > indom.len() + REMEMBERED {
            indom.cache.cull_inactive();
        }
        if matches!(indom.file, Some(File::At(_))) {
            indom.save();
        }
    }
}
