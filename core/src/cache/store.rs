//! Stores instances, gives them ids, and reclaims culled entries; for agents in Rust, adds
//! instances whose ids the agent chooses, and tells whether an instance was known before.

use super::entry::{Entry, EntryState, ShortName, SmallText, equal, reserve, short_name, signed};
use super::id_list::{ListedSlot, MAXIMUM, Mode};
use super::keys::{ATTEMPTS, Key, jenkins_hash};
use super::{CULLED_KEPT, Cache, count_change};
use crate::constants::{PMDA_CACHE_ADD, PMDA_CACHE_CULL, PMDA_CACHE_HIDE};
use crate::error::{Error, Result};
use crate::log::{Bytes, Level};

impl<T: Copy> Cache<T> {
    /// Changes what is known of the instance with a name, and returns its id (CACHE-20, CACHE-21):
    /// `PMDA_CACHE_ADD` makes it, or makes it active again, `PMDA_CACHE_HIDE` makes it inactive,
    /// `PMDA_CACHE_CULL` forgets it.
    ///
    /// # Errors
    /// `PM_ERR_INST` when it is not there and is not to be added; `-EINVAL` when only the short
    /// name fits, and for other flags; `PM_ERR_GENERIC` for a missing or empty name, and when
    /// there is no id left; `-ENOMEM`, and nothing has changed.
    #[inline]
    pub fn store(&mut self, flags: i32, name: Option<&[u8]>, private: Option<T>) -> Result<i32> {
        if let (PMDA_CACHE_ADD, Some(name)) = (flags, name) {
            if let Some(id) = self.store_next(name, private) {
                return Ok(id);
            }
        }
        self.store_named(flags, name, private)
    }

    /// [`Cache::store`] for the instance after the one stored last, if it has this name: agents
    /// store their instances in the same order each time, and then no name need be hashed. `None`
    /// if it has another name.
    fn store_next(&mut self, name: &[u8], private: Option<T>) -> Option<i32> {
        let slot = self.next;
        let entry = self.slab.guess(slot)?;
        if !equal(entry.name(), name) || !entry.is_live() {
            return None;
        }
        let id = signed(entry.id);
        self.keys.take(slot);
        self.activate(slot, private);
        Some(id)
    }

    /// [`Cache::store`] for an instance that is searched by its name.
    #[inline(never)]
    fn store_named(&mut self, flags: i32, name: Option<&[u8]>, private: Option<T>) -> Result<i32> {
        let text = name.unwrap_or_default();
        let short_name = self.short_name(text);
        let Some(slot) = name.and_then(|name| self.find_short_name(name, short_name)) else {
            if flags == PMDA_CACHE_ADD {
                return self.add(None, name, short_name, &[], private);
            }
            if self.debug {
                self.journal.trace(format_args!(
                    "pmdaCache store: indom {}: instance \"{}\" not in cache: flags={flags} not allowed\n",
                    self.indom,
                    named(name)
                ));
            }
            return Err(Error::INST);
        };
        match flags {
            _ if !self.is_name_of(slot, text, short_name) => return Err(Error::EINVAL),
            PMDA_CACHE_ADD => {
                self.keys.take(slot);
                self.activate(slot, private);
            }
            PMDA_CACHE_HIDE => self.set_state(slot, EntryState::Inactive),
            PMDA_CACHE_CULL => {
                self.names.remove(short_name.hash, slot);
                self.keys.take(slot);
                self.set_state(slot, EntryState::Empty);
                self.instances_dirty = true;
            }
            _ => return Err(Error::EINVAL),
        }
        Ok(signed(self.slab.get(slot).id))
    }

    /// Stores an instance whose id is made of a key or, without one, of its name (CACHE-50).
    ///
    /// # Errors
    /// As for [`Cache::store`]; `PM_ERR_INST` also when name and key belong to different instances,
    /// `PM_ERR_GENERIC` also when all ids made of the key are taken.
    pub fn store_key(&mut self, flags: i32, name: Option<&[u8]>, key: &[u8], private: Option<T>) -> Result<i32> {
        if flags != PMDA_CACHE_ADD {
            return self.store(flags, name, private);
        }
        let key_len = key.len();
        let short_name = self.short_name(name.unwrap_or_default());
        let key = match name {
            Some(name) if key.is_empty() => name,
            None if key.is_empty() => return self.add(None, None, short_name, &[], private),
            _ => key,
        };
        if let Some((name, slot)) = name.and_then(|name| Some((name, self.find_short_name(name, short_name)?))) {
            let is_whole = self.is_name_of(slot, name, short_name);
            return self.store_matched(slot, is_whole, key, private);
        }
        if !key.is_empty() {
            if let Some(slot) = self.find_key(key) {
                return Err(self.key_taken(slot, name));
            }
        }
        let before = (self.mode, self.attempts);
        let id = self.key_id(name, key, key_len)?;
        // The mode stays when the insertion fails (CACHE-54), but not when it fails for want of
        // memory.
        self.mode = Mode::Reuse;
        let result = self.add(Some(id), name, short_name, key, private);
        if result == Err(Error::ENOMEM) {
            (self.mode, self.attempts) = before;
        }
        result
    }

    /// [`Cache::store_key`] for a live instance that has the short name (CACHE-51). `is_whole` says whether
    /// the name is a name of the entry, not only its short name.
    fn store_matched(&mut self, slot: u32, is_whole: bool, key: &[u8], private: Option<T>) -> Result<i32> {
        let entry = self.slab.get(slot);
        let id = signed(entry.id);
        let old = self.keys.get(slot);
        if old != key {
            if self.debug {
                self.journal.trace(format_args!(
                    "pmdaCacheStoreKey: indom {}: instance \"{}\" ({id}) in cache {} does not match new entry {}\n",
                    self.indom,
                    Bytes(entry.name()),
                    Key(old),
                    Key(key)
                ));
            }
            return Err(Error::INST);
        }
        if !is_whole {
            return Err(Error::EINVAL);
        }
        self.activate(slot, private);
        Ok(id)
    }

    /// Reports to the debug output that another instance has the key, and returns the error for
    /// that (CACHE-52, CACHE-58).
    fn key_taken(&mut self, slot: u32, name: Option<&[u8]>) -> Error {
        let entry = self.slab.get(slot);
        if self.debug {
            self.journal.trace(format_args!(
                "pmdaCacheStoreKey: indom {}: instance {} {} in cache, name \"{}\" does not match new entry \"{}\"\n",
                self.indom,
                entry.id,
                Key(self.keys.get(slot)),
                Bytes(entry.name()),
                named(name)
            ));
        }
        Error::INST
    }

    /// Chooses the id of a new key (CACHE-52, CACHE-53). `given` is the length of the key as the
    /// caller gave it, for the message: 0 when the name is the key.
    fn key_id(&mut self, name: Option<&[u8]>, key: &[u8], key_len: usize) -> Result<u32> {
        let mut hash = 0;
        for attempt in 0..ATTEMPTS {
            hash = jenkins_hash(key, hash);
            // The limit has 31 bits, so this cannot overflow.
            let id = hash % (self.maximum + 1);
            match self.find_id(id) {
                None => {
                    self.attempts.count(attempt);
                    return Ok(id);
                }
                Some(slot) if self.keys.get(slot) == key => return Err(self.key_taken(slot, name)),
                Some(_) => {}
            }
        }
        self.journal.notify(Level::Err, format_args!("pmdaCacheStoreKey: indom {}: unable allocate a new id for instance \"{}\" based on a key of {key_len} bytes", self.indom, named(name)));
        Err(Error::GENERIC)
    }

    /// Does to a live entry what every ADD does (CACHE-21): it is active, and to be saved with a
    /// new time stamp.
    #[inline]
    pub(super) fn activate(&mut self, slot: u32, private: Option<T>) {
        let entry = self.slab.get_mut(slot);
        entry.private = private;
        entry.stamp = 0;
        if entry.state == EntryState::Inactive {
            entry.state = EntryState::Active;
            self.inactive -= 1;
            self.active += 1;
            count_change();
        }
        self.stamps_dirty = true;
        self.next = if slot + 1 < self.slab.len() { slot + 1 } else { 0 };
    }

    /// Adds an active instance, with a free id if none is given (CACHE-40). A missing or empty name
    /// is reported.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` for a missing or empty name, and when there is no id left; `-ENOMEM`, and
    /// nothing has changed.
    pub(super) fn add(
        &mut self,
        id: Option<u32>,
        name: Option<&[u8]>,
        short_name: ShortName,
        key: &[u8],
        private: Option<T>,
    ) -> Result<i32> {
        let complaint = match name {
            None => Some("NULL"),
            Some(b"") if !self.strings => Some("zero length"),
            Some(_) => None,
        };
        if let Some(complaint) = complaint {
            let inst = id.map_or(-1, signed);
            self.journal.notify(
                Level::Err,
                format_args!(
                    "insert_cache: indom {}: {complaint} instance name for inst {inst}",
                    self.indom
                ),
            );
            return Err(Error::GENERIC);
        }
        let id = match id {
            Some(id) => id,
            None => self.free_id()?,
        };
        let name = name.unwrap_or_default();
        let slot = if self.is_reclaiming() {
            // Name and key may be texts of entries that are freed now (CACHE-25).
            let (name, key) = (copied(name)?, copied(key)?);
            self.insert(id, &name, short_name, &key, EntryState::Active)?
        } else {
            self.insert(id, name, short_name, key, EntryState::Active)?
        };
        self.activate(slot, private);
        self.instances_dirty = true;
        Ok(signed(id))
    }

    /// Chooses the id of a new instance (CACHE-40, CACHE-41, CACHE-42). If no id is left, a message
    /// says so.
    fn free_id(&mut self) -> Result<u32> {
        if self.mode == Mode::Monotonic {
            if self.above <= self.maximum {
                return Ok(self.above);
            }
            self.mode = Mode::Reuse;
        }
        while self.lowest <= MAXIMUM && self.order.find(self.lowest).is_some() {
            self.lowest += 1;
        }
        if self.lowest > self.maximum {
            self.journal.notify(
                Level::Err,
                format_args!("insert_cache: indom {}: too many instances", self.indom),
            );
            return Err(Error::GENERIC);
        }
        Ok(self.lowest)
    }

    /// Lists a new entry without private data and stamp. No live entry has this id or this name.
    ///
    /// # Errors
    /// `-ENOMEM`; nothing has changed.
    pub(super) fn insert(
        &mut self,
        id: u32,
        name: &[u8],
        short_name: ShortName,
        key: &[u8],
        state: EntryState,
    ) -> Result<u32> {
        let (name, key) = (SmallText::new(name)?, SmallText::new(key)?);
        self.reserve(&key)?;
        self.reclaim_if_due();
        let slot = self.slab.insert(Entry {
            name,
            private: None,
            stamp: 0,
            id,
            short_len: u32::try_from(short_name.len).expect("names fit into memory"),
            hash: short_name.hash,
            history: 0,
            serial: self.inserted,
            state,
        });
        self.inserted = self.inserted.saturating_add(1);
        let entries = &self.slab;
        let is_namesake = |other: u32| entries.get(slot).is_namesake(entries.get(other));
        self.names.insert(short_name.hash, slot, is_namesake);
        self.order.insert(ListedSlot { id, slot });
        if !key.bytes().is_empty() {
            self.keys.set(slot, key);
        }
        self.above = self.above.max(id + 1);
        count_change();
        if let Some(count) = self.counter(state) {
            *count += 1;
        }
        Ok(slot)
    }

    /// Gets all the memory that one more entry needs. Whatever is reclaimed before it is inserted
    /// only adds to it.
    fn reserve(&mut self, key: &SmallText) -> Result<()> {
        self.slab.reserve()?;
        self.reserve_names(1)?;
        self.order.reserve()?;
        self.reserve_key(key)
    }

    /// Makes room for `more` names.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn reserve_names(&mut self, more: u32) -> Result<()> {
        let slab = &self.slab;
        let end = slab.len().saturating_add(more);
        self.names.reserve(more as usize, end, |slot| slab.get(slot).hash)
    }

    /// The short name of a name (CACHE-4).
    #[inline]
    pub(super) fn short_name(&self, name: &[u8]) -> ShortName {
        short_name(self.keys.seed(), name, self.strings)
    }
}

/// A name as a message prints it.
pub(super) fn named(name: Option<&[u8]>) -> Bytes<'_> {
    Bytes(name.unwrap_or(b"(null)"))
}

/// A copy of a name or key.
fn copied(text: &[u8]) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    reserve(&mut copy, text.len())?;
    copy.extend_from_slice(text);
    Ok(copy)
}

impl<T: Copy> Cache<T> {
    /// Reclaims culled entries where the C library does, when its tables grow (CACHE-80), and when
    /// there are too many of them. Called before an entry is inserted.
    pub(super) fn reclaim_if_due(&mut self) {
        let is_growing = self.is_growing();
        if is_growing || self.is_crowded() {
            self.reclaim();
        }
        if is_growing {
            self.note_states();
        }
    }

    /// Returns whether the next insertion frees names of culled entries. The caller may have got
    /// the name that it stores from a lookup of such an entry, so it has to be copied before
    /// (CACHE-25).
    pub(super) fn is_reclaiming(&self) -> bool {
        self.empty > 0 && (self.is_growing() || self.is_crowded())
    }

    /// Returns whether the cache has more culled entries than it keeps.
    fn is_crowded(&self) -> bool {
        self.empty > CULLED_KEPT && self.empty > self.active + self.inactive
    }

    /// Frees all culled entries, and memory that is not needed without them (CACHE-36).
    pub fn reorganize(&mut self) {
        self.reclaim();
        let slab = &self.slab;
        self.names.shrink(|slot| slab.get(slot).hash);
        self.keys.shrink();
    }

    /// Unlists and frees the culled entries.
    fn reclaim(&mut self) {
        if self.empty == 0 {
            return;
        }
        count_change();
        let slab = &self.slab;
        self.names.retain(|slot| slab.get(slot).is_live());
        for listed in self.order.iter() {
            if self.slab.get(listed.slot).state == EntryState::Empty {
                self.lowest = self.lowest.min(listed.id);
                self.slab.remove(listed.slot);
            }
        }
        self.order.retain(&self.slab, |entry| entry.state != EntryState::Free);
        self.empty = 0;
    }
}

/// The outcome of [`Cache::add_missing`].
#[derive(Debug)]
pub enum Added<'c, T> {
    /// No instance had the short name: this is the id of the new one.
    New(i32),
    /// An instance has the short name already. Nothing has changed.
    Known(&'c Entry<T>),
}

impl<T: Copy> Cache<T> {
    /// Adds an active instance, unless an active or inactive one has its short name.
    ///
    /// # Errors
    /// As [`Cache::store`] for a new instance.
    #[inline]
    pub fn add_missing(&mut self, name: &[u8], private: T) -> Result<Added<'_, T>> {
        let short_name = self.short_name(name);
        match self.find_short_name(name, short_name) {
            Some(slot) => Ok(Added::Known(self.slab.get(slot))),
            None => self
                .add(None, Some(name), short_name, &[], Some(private))
                .map(Added::New),
        }
    }

    /// Makes the instance with an id that the caller has chosen active, or adds a new one.
    ///
    /// # Errors
    /// `PM_ERR_SIGN` for a negative id, `PM_ERR_TOOBIG` for one above the limit; `-EEXIST` when the
    /// id or the short name is another instance's; `-EINVAL` when only the short name fits;
    /// `PM_ERR_GENERIC` for an empty name; `-ENOMEM`, and nothing has changed.
    pub fn store_id(&mut self, id: i32, name: &[u8], private: Option<T>) -> Result<()> {
        let id = u32::try_from(id).map_err(|_| Error::SIGN)?;
        if id > self.maximum {
            return Err(Error::TOOBIG);
        }
        let short_name = self.short_name(name);
        match (self.find_id(id), self.find_short_name(name, short_name)) {
            (Some(slot), Some(same)) if slot == same => {
                if !self.is_name_of(slot, name, short_name) {
                    return Err(Error::EINVAL);
                }
                self.keys.take(slot);
                self.activate(slot, private);
                Ok(())
            }
            (None, None) => self.add(Some(id), Some(name), short_name, &[], private).map(|_| ()),
            _ => Err(Error::EEXIST),
        }
    }
}
