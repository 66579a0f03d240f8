//! An update of an instance domain.

use pmda_core::cache::{Added, EntryState};
use pmda_core::constants::{PMDA_CACHE_ADD, PMDA_CACHE_CULL, PMDA_CACHE_HIDE};

use super::{Indom, REMEMBERED, Row, Slot};
use crate::error::{Error, Result};

/// An update of an instance domain, by [`Indom::update`] or [`Indom::change`]; it ends when it is
/// dropped. So each way out of a refresh ends it, also `?` and a panic, and no vanished instance is
/// shown because a call was forgotten. No error is lost by that: the file of a declared domain is
/// written before the reply, and [`Indom::save`] returns its errors.
///
/// An instance that the domain cannot have costs no other one: it is left out, the log says why,
/// once, at most eight times a domain, and the function returns `None` or false, as PCP's agents in
/// Python go on without one of two interfaces `ap 1` and `ap 2`. The only error is `-ENOMEM`: a list
/// that could not grow would look as if it were whole. A domain cannot have:
///
/// - an empty name (but see [`Indom::whole_names`]), and one with a NUL;
/// - a name that is, up to its first blank, that of another instance, and goes on in another way:
///   `ap 2` beside `ap 1`;
/// - a negative number, and the number or name of another instance that is set in the same update,
///   where the agent chooses numbers.
#[derive(Debug)]
pub struct Update<'i, T> {
    indom: &'i mut Indom<T>,
    /// Instances that are not set stay active.
    keeps_others: bool,
    /// The number of instances that were active before this update and have been set in it.
    kept: usize,
    /// The position in the order of instances where the next one is expected: most updates name
    /// them in one order.
    next: usize,
}

impl<'i, T> Update<'i, T> {
    pub(super) fn new(indom: &'i mut Indom<T>, keeps_others: bool) -> Update<'i, T> {
        Update {
            indom,
            keeps_others,
            kept: 0,
            next: 0,
        }
    }

    /// Sets the row of the instance with this name, which is active from now on, in place of the one
    /// that it had ([`Update::row`] is for a row that goes on, such as one with sums). Returns its
    /// number; `None` if the domain [cannot have it](Update).
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn set(&mut self, name: &str, row: T) -> Result<Option<i32>> {
        let generation = self.indom.generation;
        let (inst, slot) = match self.activate(name) {
            Ok(active) => active,
            Err(error) => return self.indom.lose(name, &error),
        };
        if let Some(entry) = self.indom.rows.get_mut(slot as usize) {
            *entry = Some(Row { generation, value: row });
        }
        Ok(Some(inst))
    }

    /// Sets the row of the instance with this name under a number that the agent has chosen, such
    /// as that of a process. An instance that had the number or the name before, and is not set in
    /// this update, gives it up: it is forgotten. Returns false if the domain [cannot have
    /// it](Update).
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn set_at(&mut self, inst: i32, name: &str, row: T) -> Result<bool> {
        let generation = self.indom.generation;
        let slot = match self.activate_at(inst, name) {
            Ok(slot) => slot,
            Err(error) => return Ok(self.indom.lose::<()>(name, &error)?.is_some()),
        };
        if let Some(entry) = self.indom.rows.get_mut(slot as usize) {
            *entry = Some(Row { generation, value: row });
        }
        Ok(true)
    }

    /// Keeps the active instance with this number, whose name need not be known: its row stays and
    /// is returned. Without such an instance returns `None`, and changes nothing.
    ///
    /// An agent that has chosen the numbers of its instances, such as those of processes, uses it
    /// for those that are still there.
    pub fn keep_at(&mut self, inst: i32) -> Option<&mut T> {
        let expected = self.indom.order.get(self.next).filter(|(next, _)| *next == inst);
        let (position, slot) = match expected {
            Some((_, slot)) => (Ok(self.next), *slot),
            // The instance may be new in this update.
            None => (
                self.indom.order.binary_search_by_key(&inst, |(inst, _)| *inst),
                self.indom.slot(inst)?,
            ),
        };
        self.indom.rows.get(slot as usize)?.as_ref()?;
        self.next = position.map_or(self.next, |position| position + 1);
        self.kept += usize::from(position.is_ok() && !self.is_set(slot));
        if self.indom.file.is_some() {
            let name = self.indom.name_bytes(inst)?.to_vec();
            // It is in the cache, so this cannot fail.
            let _ = self.indom.cache.store(PMDA_CACHE_ADD, Some(&name), Some(Slot(slot)));
        }
        let generation = self.indom.generation;
        let row = self.indom.rows.get_mut(slot as usize)?.as_mut()?;
        row.generation = generation;
        Some(&mut row.value)
    }

    /// Returns the row of the instance with this name under a number that the agent has chosen; it
    /// is active from now on. An instance that was active with this number and name keeps its row;
    /// for another one `make` makes it, and the numbers and names of others are as with
    /// [`Update::set_at`]. `None` if the domain [cannot have it](Update).
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn row_at(&mut self, inst: i32, name: &str, make: impl FnOnce() -> T) -> Result<Option<&mut T>> {
        if self.indom.name_bytes(inst) == Some(name.as_bytes()) {
            return Ok(self.keep_at(inst));
        }
        // Made first: if that panics, nothing has changed.
        let is_set = self.set_at(inst, name, make())?;
        Ok(self.indom.get_mut(inst).filter(|_| is_set))
    }

    /// Makes the instance with this name inactive, even if this update has set it. It keeps its
    /// number. Returns false if it was not active.
    pub fn hide(&mut self, name: &str) -> bool {
        self.indom.find(name).is_some_and(|inst| self.hide_at(inst))
    }

    /// Makes the instance with this number inactive, as [`Update::hide`].
    pub fn hide_at(&mut self, inst: i32) -> bool {
        let Some(slot) = self.indom.slot(inst) else {
            return false;
        };
        let is_set = self.is_set(slot);
        if let Ok(position) = self.indom.order.binary_search_by_key(&inst, |(inst, _)| *inst) {
            self.indom.order.remove(position);
            self.kept -= usize::from(is_set);
        }
        self.indom.added.retain(|(other, _)| *other != inst);
        self.indom.hide(inst, slot);
        true
    }

    /// Forgets the instance with this name, even if this update has set it: one that comes back gets
    /// a new number. Returns false if it was not known.
    pub fn forget(&mut self, name: &str) -> bool {
        let Some((inst, is_active)) = self.indom.known(name) else {
            return false;
        };
        if is_active {
            self.hide_at(inst);
        }
        let stored_name = self.indom.cache.lookup(inst).map(|hit| hit.name().to_vec());
        // It is in the cache, so this cannot fail.
        let _ = self
            .indom
            .cache
            .store(PMDA_CACHE_CULL, stored_name.ok().as_deref(), None);
        true
    }

    /// Returns the number of the instance with this name, which need not be active. If it has none,
    /// it gets one. `None` if the domain [cannot have it](Update).
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn reserve(&mut self, name: &str) -> Result<Option<i32>> {
        match self.reserve_number(name) {
            Ok(inst) => Ok(Some(inst)),
            Err(error) => self.indom.lose(name, &error),
        }
    }

    fn reserve_number(&mut self, name: &str) -> Result<i32> {
        self.indom.check_name(name)?;
        if let Some((inst, _)) = self.indom.known(name) {
            return Ok(inst);
        }
        let cache = &mut self.indom.cache;
        let inst = cache.store(PMDA_CACHE_ADD, Some(name.as_bytes()), None);
        cache.journal.messages.clear();
        let inst = inst?;
        // It is in the cache, so this cannot fail.
        let _ = cache.store(PMDA_CACHE_HIDE, Some(name.as_bytes()), None);
        Ok(inst)
    }

    /// Gives the instance with this name, which need not be active, a number that the agent has
    /// chosen, such as one that it keeps in a file of its own. Returns false if the domain [cannot
    /// have it](Update), where every active instance counts as set.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn reserve_at(&mut self, inst: i32, name: &str) -> Result<bool> {
        match self.reserve_number_at(inst, name) {
            Ok(()) => Ok(true),
            Err(error) => Ok(self.indom.lose::<()>(name, &error)?.is_some()),
        }
    }

    fn reserve_number_at(&mut self, inst: i32, name: &str) -> Result<()> {
        self.indom.check_name(name)?;
        if self.indom.known(name).is_some_and(|(old, _)| old == inst) {
            return Ok(());
        }
        self.indom.store_at(inst, name.as_bytes(), u32::MAX)?;
        // It is in the cache, so this cannot fail.
        let _ = self.indom.cache.store(PMDA_CACHE_HIDE, Some(name.as_bytes()), None);
        Ok(())
    }

    /// Returns the row of the instance with this name, which is active from now on. An instance
    /// that was active keeps its row; for another one `make` makes it. `None` if the domain [cannot
    /// have it](Update).
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn row(&mut self, name: &str, make: impl FnOnce() -> T) -> Result<Option<&mut T>> {
        let generation = self.indom.generation;
        let slot = match self.activate(name) {
            Ok((_, slot)) => slot,
            Err(error) => return self.indom.lose(name, &error),
        };
        let entry = self.indom.rows.get_mut(slot as usize).ok_or(Error::GENERIC)?;
        let row = entry.get_or_insert_with(|| Row {
            generation,
            value: make(),
        });
        row.generation = generation;
        Ok(Some(&mut row.value))
    }

    /// Returns whether the instance with this name was set in this update.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        let slot = self.indom.find(name).and_then(|inst| self.indom.slot(inst));
        slot.is_some_and(|slot| self.is_set(slot))
    }

    fn is_set(&self, slot: u32) -> bool {
        let row = self.indom.rows.get(slot as usize).and_then(Option::as_ref);
        row.is_some_and(|row| row.generation == self.indom.generation)
    }

    /// Makes the instance with a name active. Returns its number and its slot.
    fn activate(&mut self, name: &str) -> Result<(i32, u32)> {
        if let Some((inst, slot)) = self.expected(name.as_bytes()) {
            self.next += 1;
            self.kept += usize::from(!self.is_set(slot));
            self.renew(name, slot)?;
            return Ok((inst, slot));
        }
        self.indom.check_name(name)?;
        let indom = &mut *self.indom;
        let slot = indom.next_slot()?;
        // One lookup finds the instance or adds it.
        match indom.cache.add_missing(name.as_bytes(), Slot(slot)) {
            Ok(Added::New(inst)) => {
                indom.take_slot(slot);
                indom.added.push((inst, slot));
                return Ok((inst, slot));
            }
            Ok(Added::Known(hit)) => {
                if let (EntryState::Active, true, Some(Slot(slot))) =
                    (hit.state(), hit.name() == name.as_bytes(), hit.private())
                {
                    let inst = hit.id();
                    let position = indom.order.binary_search_by_key(&inst, |(inst, _)| *inst);
                    self.next = position.map_or(self.next, |position| position + 1);
                    self.kept += usize::from(position.is_ok() && !self.is_set(slot));
                    self.renew(name, slot)?;
                    return Ok((inst, slot));
                }
            }
            Err(error) => {
                indom.cache.journal.messages.clear();
                return Err(error.into());
            }
        }
        self.add(name)
    }

    /// The instance after the one set last, if it has this name.
    fn expected(&self, name: &[u8]) -> Option<(i32, u32)> {
        let (inst, slot) = *self.indom.order.get(self.next)?;
        let hit = self.indom.cache.lookup(inst).ok()?;
        (hit.name() == name).then_some((inst, slot))
    }

    /// Tells the cache of a persistent domain that an instance was seen now: its file has the time
    /// (CACHE-21).
    fn renew(&mut self, name: &str, slot: u32) -> Result<()> {
        if self.indom.file.is_some() {
            let name = Some(name.as_bytes());
            let cache = &mut self.indom.cache;
            cache.store(PMDA_CACHE_ADD, name, Some(Slot(slot)))?;
        }
        Ok(())
    }

    /// Makes the instance active that has a name and a number of the agent's choice. Returns its
    /// slot.
    fn activate_at(&mut self, inst: i32, name: &str) -> Result<u32> {
        self.indom.check_name(name)?;
        self.indom.own_numbers = true;
        if let Some((expected, slot)) = self.expected(name.as_bytes()) {
            if expected == inst {
                self.next += 1;
                self.kept += usize::from(!self.is_set(slot));
                self.renew(name, slot)?;
                return Ok(slot);
            }
        }
        // The name moves here from another number.
        if let Some((old, true)) = self.indom.known(name).filter(|(old, _)| *old != inst) {
            self.evict(old)?;
        }
        let position = self.indom.order.binary_search_by_key(&inst, |(inst, _)| *inst);
        let Some((_, slot)) = position
            .ok()
            .and_then(|position| self.indom.order.get(position).copied())
        else {
            return self.add_at(inst, name);
        };
        self.next = position.map_or(self.next, |position| position + 1);
        let is_set = self.is_set(slot);
        if self.indom.name_bytes(inst) != Some(name.as_bytes()) {
            if is_set {
                return Err(Error::EEXIST);
            }
            // Another instance gets the number and the slot.
            let old = self.indom.name_bytes(inst).map(<[u8]>::to_vec);
            let _ = self.indom.cache.store(PMDA_CACHE_CULL, old.as_deref(), None);
            self.indom.rows[slot as usize] = None;
        }
        self.indom.store_at(inst, name.as_bytes(), slot)?;
        self.kept += usize::from(!is_set);
        Ok(slot)
    }

    /// Forgets an active instance, unless it was set in this update.
    ///
    /// # Errors
    /// `-EEXIST` if it was set.
    fn evict(&mut self, inst: i32) -> Result<()> {
        let slot = self.indom.slot(inst).ok_or(Error::INST)?;
        if self.is_set(slot) {
            return Err(Error::EEXIST);
        }
        let name = self.indom.name_bytes(inst).map(<[u8]>::to_vec);
        let _ = self.indom.cache.store(PMDA_CACHE_CULL, name.as_deref(), None);
        if let Ok(position) = self.indom.order.binary_search_by_key(&inst, |(inst, _)| *inst) {
            self.indom.order.remove(position);
        }
        self.indom.vacate(slot);
        Ok(())
    }

    /// Makes an instance with a number that the agent has chosen, or brings one back.
    fn add_at(&mut self, inst: i32, name: &str) -> Result<u32> {
        // The instance is new in this update.
        if let Some(slot) = self.indom.slot(inst) {
            let is_same = self.indom.name_bytes(inst) == Some(name.as_bytes());
            return if is_same { Ok(slot) } else { Err(Error::EEXIST) };
        }
        let slot = self.indom.next_slot()?;
        self.indom.store_at(inst, name.as_bytes(), slot)?;
        self.indom.take_slot(slot);
        self.indom.added.push((inst, slot));
        Ok(slot)
    }

    /// Brings an instance back, or finds it by its short name.
    fn add(&mut self, name: &str) -> Result<(i32, u32)> {
        // An instance that is active under its short name has a slot already.
        let old_slot = self.indom.find(name).and_then(|inst| self.indom.slot(inst));
        let indom = &mut *self.indom;
        let slot = old_slot.map_or_else(|| indom.next_slot(), Ok)?;
        let stored = indom
            .cache
            .store(PMDA_CACHE_ADD, Some(name.as_bytes()), Some(Slot(slot)));
        // The line about an instance that is left out says more.
        indom.cache.journal.messages.clear();
        let inst = stored?;
        if old_slot.is_none() {
            indom.take_slot(slot);
            indom.added.push((inst, slot));
            return Ok((inst, slot));
        }
        let is_old = indom.order.binary_search_by_key(&inst, |(inst, _)| *inst).is_ok();
        self.kept += usize::from(is_old && !self.is_set(slot));
        Ok((inst, slot))
    }

    /// Makes the instances that were not set inactive.
    fn hide_others(&mut self) {
        let indom = &mut *self.indom;
        let generation = indom.generation;
        let mut left_out = Vec::new();
        indom.order.retain(|(inst, slot)| {
            let row = indom.rows.get(*slot as usize).and_then(Option::as_ref);
            let is_set = row.is_some_and(|row| row.generation == generation);
            if !is_set {
                left_out.push((*inst, *slot));
            }
            is_set
        });
        for (inst, slot) in left_out {
            indom.hide(inst, slot);
        }
    }
}

impl<T> Drop for Update<'_, T> {
    fn drop(&mut self) {
        if !self.keeps_others && self.kept < self.indom.order.len() {
            self.hide_others();
        }
        self.indom.settle();
        let indom = &mut *self.indom;
        if indom.file.is_none() && indom.cache.inactive() > indom.len() + REMEMBERED {
            indom.cache.cull_inactive();
        }
        indom.note_change();
    }
}
