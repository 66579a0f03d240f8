//! The cached instances: one [`Entry`] each, in a store in which it never moves ([`Slab`]).

use super::lookup::signed;
use super::room;
use super::text::Text;
use crate::error::{Error, Result};

/// What is known of an instance (CACHE-3). The numbers are those of the `PMDA_CACHE_*` macros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    /// The slot holds no entry.
    Free = 0,
    /// Culled: listed until it is reclaimed, otherwise invisible.
    Empty = 5,
    /// Known, and there now.
    Active = 8,
    /// Known, but not there now.
    Inactive = 9,
}

impl State {
    /// Whether there is an instance, active or inactive.
    pub(super) fn is_live(self) -> bool {
        matches!(self, State::Active | State::Inactive)
    }
}

/// One instance (CACHE-2): 64 bytes when `T` is a pointer.
#[derive(Debug)]
pub struct Entry<T> {
    /// At one address for as long as the entry lives (CACHE-25).
    pub(super) name: Text,
    /// What the agent attached; never looked at here.
    pub(super) private: Option<T>,
    /// When the instance was written after it had been active, in seconds; 0 = not yet.
    pub(super) stamp: i64,
    pub(super) id: u32,
    /// Length of the part of the name that identifies the instance (CACHE-4).
    pub(super) short: u32,
    /// Hash of that part.
    pub(super) hash: u32,
    /// Newer places in C's hash chains have greater numbers (see `chains`).
    pub(super) sequence: u32,
    /// How many entries were inserted before this one: of entries with one id the newest is listed
    /// first.
    pub(super) serial: u32,
    pub(super) state: State,
}

impl<T> Entry<T> {
    /// What a slot without an entry holds.
    fn free() -> Entry<T> {
        Entry {
            name: Text::EMPTY,
            private: None,
            stamp: 0,
            id: 0,
            short: 0,
            hash: 0,
            sequence: 0,
            serial: 0,
            state: State::Free,
        }
    }

    /// An active entry without a name, for tests of what only looks at numbers.
    #[cfg(test)]
    pub(super) fn active(id: u32) -> Entry<T> {
        let state = State::Active;
        Entry {
            id,
            state,
            ..Entry::free()
        }
    }

    /// The whole name.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        self.name.bytes()
    }

    /// The whole name, with a NUL behind it. It stays where it is until the entry is reclaimed
    /// (CACHE-25).
    #[must_use]
    pub fn terminated(&self) -> &[u8] {
        self.name.terminated()
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> i32 {
        signed(self.id)
    }

    /// What the agent attached.
    #[must_use]
    pub fn private(&self) -> Option<T>
    where
        T: Copy,
    {
        self.private
    }

    /// Active or inactive, if a lookup has found it.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    pub(super) fn short_name(&self) -> &[u8] {
        &self.name()[..self.short as usize]
    }

    pub(super) fn is_live(&self) -> bool {
        self.state.is_live()
    }
}

/// Number of slots of a chunk, as a power of two: most caches have few instances. All chunks are
/// alike, since a lookup among ten would guess wrong which kind it meets.
const CHUNK: u32 = 2;

const SLOTS: usize = 1 << CHUNK;

const NONE: u32 = u32::MAX;

/// The entries, in chunks that are never moved: pointers to names stay valid.
#[derive(Debug)]
pub(super) struct Slab<T> {
    chunks: Vec<Box<[Entry<T>; SLOTS]>>,
    /// The slot that was given back last; its id is the one that was given back before, and so on.
    free: u32,
    /// Slots that were ever used.
    len: u32,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Slab<T> {
        Slab {
            chunks: Vec::new(),
            free: NONE,
            len: 0,
        }
    }

    /// Chunk and place in it.
    fn place(slot: u32) -> (usize, usize) {
        ((slot >> CHUNK) as usize, slot as usize % SLOTS)
    }

    pub(super) fn get(&self, slot: u32) -> &Entry<T> {
        let (chunk, place) = Slab::<T>::place(slot);
        &self.chunks[chunk][place]
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Entry<T> {
        let (chunk, place) = Slab::<T>::place(slot);
        &mut self.chunks[chunk][place]
    }

    /// As [`Slab::get`], for a slot that may not be there.
    pub(super) fn guess(&self, slot: u32) -> Option<&Entry<T>> {
        let (chunk, place) = Slab::<T>::place(slot);
        Some(&self.chunks.get(chunk)?[place])
    }

    /// Number of slots, free ones among them.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Makes sure that the next [`Slab::insert`] has a slot.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn reserve(&mut self) -> Result<()> {
        if self.free != NONE || Slab::<T>::place(self.len).0 < self.chunks.len() {
            return Ok(());
        }
        self.add_chunk()
    }

    #[cold]
    fn add_chunk(&mut self) -> Result<()> {
        room(&mut self.chunks, 1)?;
        let mut chunk = Vec::new();
        room(&mut chunk, SLOTS)?;
        chunk.resize_with(SLOTS, Entry::free);
        // As long as it has room for, so this moves nothing.
        let chunk = chunk.into_boxed_slice().try_into();
        self.chunks.push(chunk.map_err(|_| Error::NOMEM)?);
        Ok(())
    }

    /// Takes a slot for `entry`; there is one, see [`Slab::reserve`].
    pub(super) fn insert(&mut self, entry: Entry<T>) -> u32 {
        if self.free != NONE {
            let slot = self.free;
            let place = self.get_mut(slot);
            let next = place.id;
            *place = entry;
            self.free = next;
            return slot;
        }
        let slot = self.len;
        *self.get_mut(slot) = entry;
        self.len += 1;
        slot
    }

    /// Gives a slot back; the name is gone.
    pub(super) fn remove(&mut self, slot: u32) {
        let next = self.free;
        let entry = self.get_mut(slot);
        entry.state = State::Free;
        entry.name = Text::EMPTY;
        entry.private = None;
        entry.id = next;
        self.free = slot;
    }

    /// All entries with their slots, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Entry<T>)> {
        let entries = (0..).zip(self.chunks.iter().flat_map(|chunk| chunk.iter()));
        entries.filter(|(_, entry)| entry.state != State::Free)
    }

    /// Works on all slots in order, free ones among them.
    pub(super) fn for_each(&mut self, mut work: impl FnMut(&mut Entry<T>)) {
        for chunk in &mut self.chunks {
            chunk.iter_mut().for_each(&mut work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CACHE-25: a name has one address, however many entries come after it; DEF-14: the size of an
    /// entry.
    #[test]
    fn entries_stay_where_they_are() {
        let entry = || Entry::<usize> {
            state: State::Active,
            ..Entry::free()
        };
        let insert = |slab: &mut Slab<usize>, name: &str| {
            slab.reserve().expect("memory");
            let slot = slab.insert(entry());
            slab.get_mut(slot).name = Text::new(name.as_bytes()).expect("memory");
            slot
        };
        let mut slab = Slab::new();
        let names: Vec<String> = (0..5000).map(|n| "x".repeat(n % 40)).collect();
        let slots: Vec<u32> = names.iter().map(|name| insert(&mut slab, name)).collect();
        let first = slab.get(slots[3]).name().as_ptr();
        for name in &names {
            insert(&mut slab, name);
        }
        assert_eq!(slab.get(slots[3]).name().as_ptr(), first);
        for (slot, name) in slots.iter().zip(&names) {
            assert_eq!(slab.get(*slot).name(), name.as_bytes());
            assert_eq!(slab.get(*slot).name.terminated().last(), Some(&0));
        }
        for slot in [slots[7], slots[9]] {
            slab.remove(slot);
        }
        assert_eq!(insert(&mut slab, "again"), slots[9]);
        assert_eq!(insert(&mut slab, "again"), slots[7]);
        assert_eq!(insert(&mut slab, "new"), 10_000);
        let unused = slab.guess(10_001).map(|entry| entry.state);
        assert!(unused.is_none_or(|state| state == State::Free) && slab.guess(1 << 31).is_none());
        assert!(size_of::<Entry<std::ptr::NonNull<u8>>>() <= 64);
    }
}
