//! One cached instance, and the store of them in which an entry never moves.

#![forbid(unsafe_code)]

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

/// Names that are not longer are kept in the entry itself.
const INLINE: usize = 21;

/// A name with a NUL behind it, at one address for as long as the entry lives (CACHE-25).
#[derive(Debug)]
pub(super) enum Name {
    Inline(u8, [u8; INLINE + 1]),
    Heap(Box<[u8]>),
}

impl Name {
    const NONE: Name = Name::Inline(0, [0; INLINE + 1]);

    pub(super) fn new(text: &[u8]) -> Name {
        match u8::try_from(text.len()) {
            Ok(length) if text.len() <= INLINE => {
                let mut bytes = [0; INLINE + 1];
                bytes[..text.len()].copy_from_slice(text);
                Name::Inline(length, bytes)
            }
            _ => {
                let mut bytes = Vec::with_capacity(text.len() + 1);
                bytes.extend_from_slice(text);
                bytes.push(0);
                Name::Heap(bytes.into_boxed_slice())
            }
        }
    }

    /// The name with its NUL.
    pub(super) fn terminated(&self) -> &[u8] {
        match self {
            Name::Inline(length, bytes) => &bytes[..=usize::from(*length)],
            Name::Heap(bytes) => bytes,
        }
    }
}

/// One instance (CACHE-2): 64 bytes when `T` is a pointer.
#[derive(Debug)]
pub(super) struct Entry<T> {
    pub(super) name: Name,
    /// What the agent attached; never looked at here.
    pub(super) private: Option<T>,
    /// When the instance was written after it had been active, in seconds; 0 = not yet.
    pub(super) stamp: i64,
    pub(super) id: u32,
    /// Length of the part of the name that identifies the instance (CACHE-4).
    pub(super) short: u32,
    /// The place of the key in [`super::keys::Keys`], 0 for none.
    pub(super) key: u32,
    /// Newer places in C's hash chains have greater numbers (see `chains`).
    pub(super) sequence: u32,
    pub(super) state: State,
}

impl<T> Entry<T> {
    pub(super) fn name(&self) -> &[u8] {
        self.name.terminated().split_last().map_or(&[], |(_, name)| name)
    }

    pub(super) fn short_name(&self) -> &[u8] {
        &self.name()[..self.short as usize]
    }

    pub(super) fn is_live(&self) -> bool {
        matches!(self.state, State::Active | State::Inactive)
    }
}

/// Number of slots of the first chunk, as a power of two; each chunk is twice as long as the one before it.
const FIRST: u32 = 3;

/// The entries, in chunks that are never moved: pointers to names stay valid.
#[derive(Debug)]
pub(super) struct Slab<T> {
    chunks: Vec<Vec<Entry<T>>>,
    free: Vec<u32>,
    /// Slots that were ever used.
    len: u32,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Slab<T> {
        Slab {
            chunks: Vec::new(),
            free: Vec::new(),
            len: 0,
        }
    }

    /// Chunk and place in it.
    fn place(slot: u32) -> (usize, usize) {
        let place = slot + (1 << FIRST);
        let top = place.ilog2();
        ((top - FIRST) as usize, (place - (1 << top)) as usize)
    }

    pub(super) fn get(&self, slot: u32) -> &Entry<T> {
        let (chunk, place) = Slab::<T>::place(slot);
        &self.chunks[chunk][place]
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Entry<T> {
        let (chunk, place) = Slab::<T>::place(slot);
        &mut self.chunks[chunk][place]
    }

    /// Takes a slot for `entry`.
    pub(super) fn insert(&mut self, entry: Entry<T>) -> u32 {
        if let Some(slot) = self.free.pop() {
            *self.get_mut(slot) = entry;
            return slot;
        }
        let slot = self.len;
        let (chunk, _) = Slab::<T>::place(slot);
        if chunk == self.chunks.len() {
            self.chunks.push(Vec::with_capacity(1 << (FIRST as usize + chunk)));
        }
        self.chunks[chunk].push(entry);
        self.len += 1;
        slot
    }

    /// Gives a slot back; the name is gone.
    pub(super) fn remove(&mut self, slot: u32) {
        let entry = self.get_mut(slot);
        entry.state = State::Free;
        entry.name = Name::NONE;
        entry.private = None;
        self.free.push(slot);
    }

    /// All entries with their slots, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Entry<T>)> {
        let entries = (0..self.len).zip(self.chunks.iter().flatten());
        entries.filter(|(_, entry)| entry.state != State::Free)
    }

    /// As [`Slab::iter`], to change them.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Entry<T>)> {
        let entries = (0..self.len).zip(self.chunks.iter_mut().flatten());
        entries.filter(|(_, entry)| entry.state != State::Free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CACHE-25: a name has one address, however many entries come after it; DEF-14: the size of an entry.
    #[test]
    fn entries_stay_where_they_are() {
        let entry = |name: &str| Entry::<usize> {
            name: Name::new(name.as_bytes()),
            private: None,
            stamp: 0,
            id: 0,
            short: 0,
            key: 0,
            sequence: 0,
            state: State::Active,
        };
        let mut slab = Slab::new();
        let names: Vec<String> = (0..5000).map(|n| "x".repeat(n % 40)).collect();
        let slots: Vec<u32> = names.iter().map(|name| slab.insert(entry(name))).collect();
        let first = slab.get(slots[3]).name().as_ptr();
        for name in &names {
            slab.insert(entry(name));
        }
        assert_eq!(slab.get(slots[3]).name().as_ptr(), first);
        for (slot, name) in slots.iter().zip(&names) {
            assert_eq!(slab.get(*slot).name(), name.as_bytes());
            assert_eq!(slab.get(*slot).name.terminated().last(), Some(&0));
        }
        slab.remove(slots[7]);
        assert_eq!(slab.insert(entry("again")), slots[7]);
        assert!(size_of::<Entry<std::ptr::NonNull<u8>>>() <= 64);
    }
}
