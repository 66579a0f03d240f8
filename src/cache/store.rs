//! Storing instances, and where their ids come from.

#![forbid(unsafe_code)]

use super::entry::{Entry, Name, State};
use super::lookup::{Match, signed};
use super::order::Place;
use super::{Cache, MAXIMUM, Mode, Report, hash, jenkins, join, lossless, shown, spread};
use crate::error::{Error, Result};
use crate::log::Level;

/// So many ids are tried for a key (CACHE-52).
pub(super) const ATTEMPTS: usize = 10;

/// What a store does with an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Makes it, or makes it active again.
    Add,
    /// Makes it inactive.
    Hide,
    /// Forgets it.
    Cull,
    /// Another number than these; it is an error, but the instance is looked for first (CACHE-20).
    Unknown(i32),
}

impl Action {
    /// From the number of a `PMDA_CACHE_*` macro.
    #[must_use]
    pub fn new(flags: i32) -> Action {
        match flags {
            2 => Action::Add,
            3 => Action::Hide,
            4 => Action::Cull,
            other => Action::Unknown(other),
        }
    }

    fn number(self) -> i32 {
        match self {
            Action::Add => 2,
            Action::Hide => 3,
            Action::Cull => 4,
            Action::Unknown(other) => other,
        }
    }
}

impl<T: Copy> Cache<T> {
    /// Changes what is known of the instance with a name, and returns its id (CACHE-20, CACHE-21).
    ///
    /// # Errors
    /// `PM_ERR_INST` when it is not there and is not to be added; `-EINVAL` when only the short name fits, and for an
    /// unknown action; `PM_ERR_GENERIC` for a missing or empty name, and when there is no id left.
    pub fn store(
        &mut self,
        action: Action,
        name: Option<&[u8]>,
        private: Option<T>,
        report: &mut Report,
    ) -> Result<i32> {
        let found = name.and_then(|name| self.find(name));
        match (found, action) {
            (Some(Match::Bad(_)), _) | (Some(_), Action::Unknown(_)) => return Err(Error::INVAL),
            (Some(Match::Good(slot)), Action::Add) => {
                self.set_key(slot, &[]);
                self.activate(slot, private);
            }
            (Some(Match::Good(slot)), Action::Hide) => self.set_state(slot, State::Inactive),
            (Some(Match::Good(slot)), Action::Cull) => {
                self.set_state(slot, State::Empty);
                self.instances_dirty = true;
            }
            (None, Action::Add) => return self.add(None, name, &[], private, report),
            (None, _) => {
                if report.debug {
                    let text = format!("pmdaCache store: indom {}: instance \"", self.indom);
                    let end = format!("\" not in cache: flags={} not allowed\n", action.number());
                    report
                        .journal
                        .trace(join(&[text.as_bytes(), lossless(name), end.as_bytes()]));
                }
                return Err(Error::INST);
            }
        }
        let slot = found.map_or(0, Match::slot);
        Ok(signed(self.slab.get(slot).id))
    }

    /// Stores an instance whose id is made of a key, or of its name (CACHE-50). `given` is the length of the key as
    /// the caller gave it.
    ///
    /// # Errors
    /// As for [`Cache::store`]; `PM_ERR_INST` also when name and key belong to different instances, `PM_ERR_GENERIC`
    /// also when all ids made of the key are taken.
    pub fn store_key(
        &mut self,
        action: Action,
        name: Option<&[u8]>,
        key: &[u8],
        private: Option<T>,
        report: &mut Report,
    ) -> Result<i32> {
        if action != Action::Add {
            return self.store(action, name, private, report);
        }
        let given = key.len();
        let key = match name {
            Some(name) if key.is_empty() => name,
            None if key.is_empty() => return self.add(None, None, &[], private, report),
            _ => key,
        };
        if let Some(found) = name.and_then(|name| self.find(name)) {
            return self.store_known(found, key, private, report);
        }
        if !key.is_empty() {
            if let Some(slot) = self.find_key(key) {
                return Err(self.key_taken(slot, name, report));
            }
        }
        let id = self.key_id(name, key, given, report)?;
        // For good, even when the insertion fails (CACHE-54).
        self.mode = Mode::Reuse;
        self.add(Some(id), name, key, private, report)
    }

    /// [`Cache::store_key`] for an instance whose name is known (CACHE-51).
    fn store_known(&mut self, found: Match, key: &[u8], private: Option<T>, report: &mut Report) -> Result<i32> {
        let entry = self.slab.get(found.slot());
        let id = signed(entry.id);
        if self.key(entry) != key {
            if report.debug {
                let start = format!("pmdaCacheStoreKey: indom {}: instance \"", self.indom);
                let (old, new) = (shown(self.key(entry)), shown(key));
                let end = format!("\" ({id}) in cache {old} does not match new entry {new}\n");
                report
                    .journal
                    .trace(join(&[start.as_bytes(), entry.name(), end.as_bytes()]));
            }
            return Err(Error::INST);
        }
        match found {
            Match::Bad(_) => Err(Error::INVAL),
            Match::Good(slot) => {
                self.activate(slot, private);
                Ok(id)
            }
        }
    }

    /// Another instance has the key (CACHE-52, CACHE-58).
    fn key_taken(&self, slot: u32, name: Option<&[u8]>, report: &mut Report) -> Error {
        if report.debug {
            let entry = self.slab.get(slot);
            let key = shown(self.key(entry));
            let start = format!(
                "pmdaCacheStoreKey: indom {}: instance {} {key} in cache, name \"",
                self.indom, entry.id
            );
            report.journal.trace(join(&[
                start.as_bytes(),
                entry.name(),
                b"\" does not match new entry \"",
                lossless(name),
                b"\"\n",
            ]));
        }
        Error::INST
    }

    /// An id for a new key (CACHE-52, CACHE-53).
    fn key_id(&mut self, name: Option<&[u8]>, key: &[u8], given: usize, report: &mut Report) -> Result<u32> {
        let mut hash = 0;
        for attempt in 0..ATTEMPTS {
            hash = jenkins::hash(key, hash);
            // The limit has 31 bits, so this cannot overflow.
            let id = hash % (self.maximum + 1);
            match self.find_id(id) {
                None => {
                    self.attempts[attempt] += 1;
                    return Ok(id);
                }
                Some(slot) if self.key(self.slab.get(slot)) == key => return Err(self.key_taken(slot, name, report)),
                Some(_) => {}
            }
        }
        let start = format!(
            "pmdaCacheStoreKey: indom {}: unable allocate a new id for instance \"",
            self.indom
        );
        let end = format!("\" based on a key of {given} bytes");
        report
            .journal
            .notify(Level::Err, join(&[start.as_bytes(), lossless(name), end.as_bytes()]));
        Err(Error::GENERIC)
    }

    /// What every ADD does to an entry (CACHE-21).
    fn activate(&mut self, slot: u32, private: Option<T>) {
        self.set_state(slot, State::Active);
        let entry = self.slab.get_mut(slot);
        entry.private = private;
        entry.stamp = 0;
        self.stamps_dirty = true;
    }

    /// A new active instance; without an id it gets one (CACHE-40).
    fn add(
        &mut self,
        id: Option<u32>,
        name: Option<&[u8]>,
        key: &[u8],
        private: Option<T>,
        report: &mut Report,
    ) -> Result<i32> {
        let asked = id.map_or(-1, signed);
        let complaint = match name {
            None => Some("NULL"),
            Some(b"") if !self.strings => Some("zero length"),
            Some(_) => None,
        };
        if let Some(complaint) = complaint {
            let indom = self.indom;
            let text = format!("insert_cache: indom {indom}: {complaint} instance name for inst {asked}");
            report.journal.notify(Level::Err, text);
            return Err(Error::GENERIC);
        }
        let id = match id {
            Some(id) => id,
            None => self.free_id(report)?,
        };
        let slot = self.insert(id, name.unwrap_or_default(), State::Active);
        self.set_key(slot, key);
        self.activate(slot, private);
        self.instances_dirty = true;
        Ok(signed(id))
    }

    /// The id of the next instance (CACHE-40, CACHE-41, CACHE-42).
    fn free_id(&mut self, report: &mut Report) -> Result<u32> {
        if self.mode == Mode::Monotonic {
            if self.above <= self.maximum {
                return Ok(self.above);
            }
            self.mode = Mode::Reuse;
        }
        while self.lowest <= MAXIMUM && self.ids.get(self.lowest).is_some() {
            self.lowest += 1;
        }
        if self.lowest > self.maximum {
            let text = format!("insert_cache: indom {}: too many instances", self.indom);
            report.journal.notify(Level::Err, text);
            return Err(Error::GENERIC);
        }
        Ok(self.lowest)
    }

    /// Lists a new entry without private data, key and stamp. No live entry has this id or this name.
    pub(super) fn insert(&mut self, id: u32, name: &[u8], state: State) -> u32 {
        self.inserted = self.inserted.saturating_add(1);
        self.grow();
        let short = self.short(name);
        let hash = hash(short);
        let slot = self.slab.insert(Entry {
            name: Name::new(name),
            private: None,
            stamp: 0,
            id,
            short: u32::try_from(short.len()).expect("names fit into memory"),
            key: 0,
            sequence: self.sequence,
            state,
        });
        self.sequence += 1;
        self.names
            .insert_unique(spread(hash), (hash, slot), |item| spread(item.0));
        self.ids.set(id, slot);
        self.order.push(Place { id, slot });
        self.above = self.above.max(id + 1);
        self.changes += u64::from(state == State::Active);
        if let Some(count) = self.counter(state) {
            *count += 1;
        }
        slot
    }
}
