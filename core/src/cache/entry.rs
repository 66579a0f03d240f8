//! The cached instances: one [`Entry`] each, in a store in which it never moves ([`Slab`]), and the
//! bytes of their names and keys ([`SmallText`]).
//!
//! Most names are short. So a text of up to 21 bytes needs no memory of its own, and names are
//! hashed, searched and compared eight bytes at a time.

use crate::error::{Error, Result};
use crate::index::{Seed, last};

/// The state of an instance (CACHE-3). The numbers are those of the `PMDA_CACHE_*` macros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum EntryState {
    /// The slot holds no entry.
    Free = 0,
    /// Culled: listed until it is reclaimed, otherwise invisible.
    Empty = 5,
    /// The instance exists.
    Active = 8,
    /// The instance is known, but does not exist at the moment.
    Inactive = 9,
}

impl EntryState {
    /// Returns whether the entry is an instance, active or inactive.
    pub(super) fn is_live(self) -> bool {
        matches!(self, EntryState::Active | EntryState::Inactive)
    }
}

/// One instance (CACHE-2): 64 bytes when `T` is a pointer.
#[derive(Debug)]
pub struct Entry<T> {
    /// Stays at one address until the entry is reclaimed: C has pointers to it (CACHE-25).
    pub(super) name: SmallText,
    /// The agent's own pointer, which is never followed here.
    pub(super) private: Option<T>,
    /// The time of the first save after the instance was stored last, in seconds since the epoch; 0
    /// = not yet saved.
    pub(super) stamp: i64,
    pub(super) id: u32,
    /// Length in bytes of the short name, the part of the name that identifies the instance
    /// (CACHE-4).
    pub(super) short_len: u32,
    /// The hash of the short name.
    pub(super) hash: u32,
    /// For the dump ([`super::dump`]): the state at each growth of the C library's tables since the
    /// entry was inserted, the last one lowest: 1 if it was active. It takes no memory: `state`
    /// would be followed by as much padding.
    pub(super) history: u32,
    /// The number of entries that were inserted before this one: of entries with one id, the newest
    /// is listed first.
    pub(super) serial: u32,
    pub(super) state: EntryState,
}

impl<T> Entry<T> {
    /// The content of a slot without an entry.
    pub(super) fn free() -> Entry<T> {
        Entry {
            name: SmallText::EMPTY,
            private: None,
            stamp: 0,
            id: 0,
            short_len: 0,
            hash: 0,
            history: 0,
            serial: 0,
            state: EntryState::Free,
        }
    }

    /// An active entry without a name, for tests of lists that only look at numbers.
    #[cfg(test)]
    pub(super) fn active(id: u32) -> Entry<T> {
        let state = EntryState::Active;
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

    /// The whole name, which ends with a NUL. It stays at its address until the entry is reclaimed
    /// (CACHE-25).
    #[must_use]
    pub fn terminated(&self) -> &[u8] {
        self.name.terminated()
    }

    /// The id of the instance.
    #[must_use]
    pub fn id(&self) -> i32 {
        signed(self.id)
    }

    /// The agent's own pointer, as it was stored last.
    #[must_use]
    pub fn private(&self) -> Option<T>
    where
        T: Copy,
    {
        self.private
    }

    /// The state: active or inactive for every entry that a lookup finds.
    #[must_use]
    pub fn state(&self) -> EntryState {
        self.state
    }

    /// The short name: the part of the name that identifies the instance (CACHE-4).
    pub(super) fn short_name(&self) -> &[u8] {
        &self.name()[..self.short_len as usize]
    }

    /// Returns whether both have the same short name. When a new entry is inserted, the other one
    /// was culled: no live entry has the name.
    #[cold]
    pub(super) fn is_namesake(&self, other: &Entry<T>) -> bool {
        self.hash == other.hash && equal(self.short_name(), other.short_name())
    }

    pub(super) fn is_live(&self) -> bool {
        self.state.is_live()
    }
}

/// An id as C sees it. Ids have 31 bits, so it is never negative.
pub(super) fn signed(id: u32) -> i32 {
    i32::from_ne_bytes(id.to_ne_bytes())
}

/// The number of slots of a chunk, as a power of two. It is small, since most caches have few
/// instances. All chunks have the same size, so finding one needs no branch.
const CHUNK: u32 = 2;

const SLOTS: usize = 1 << CHUNK;

/// The end of the list of free slots.
const NONE: u32 = u32::MAX;

/// The entries, in chunks that never move, so that pointers to names stay valid.
#[derive(Debug)]
pub(super) struct Slab<T> {
    chunks: Vec<Box<[Entry<T>; SLOTS]>>,
    /// The slot that was given back last. Its id is the slot given back before that, and so on.
    free: u32,
    /// The number of slots that were ever used.
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

    /// The chunk of a slot, and the slot's offset in the chunk.
    fn chunk_and_offset(slot: u32) -> (usize, usize) {
        ((slot >> CHUNK) as usize, slot as usize % SLOTS)
    }

    /// The content of a slot below [`Slab::len`]; panics for others.
    pub(super) fn get(&self, slot: u32) -> &Entry<T> {
        let (chunk, offset) = Slab::<T>::chunk_and_offset(slot);
        &self.chunks[chunk][offset]
    }

    /// As [`Slab::get`], to be changed.
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Entry<T> {
        let (chunk, offset) = Slab::<T>::chunk_and_offset(slot);
        &mut self.chunks[chunk][offset]
    }

    /// Calls `work` with all slots, free ones included.
    pub(super) fn for_each(&mut self, mut work: impl FnMut(u32, &mut Entry<T>)) {
        let mut slot = 0;
        for chunk in &mut self.chunks {
            for entry in chunk.iter_mut() {
                work(slot, entry);
                slot += 1;
            }
        }
    }

    /// As [`Slab::get`], for a slot that may not exist.
    pub(super) fn guess(&self, slot: u32) -> Option<&Entry<T>> {
        let (chunk, offset) = Slab::<T>::chunk_and_offset(slot);
        self.chunks.get(chunk)?.get(offset)
    }

    /// The number of slots, free ones included.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Makes sure that the next [`Slab::insert`] has a slot.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn reserve(&mut self) -> Result<()> {
        if self.free != NONE || Slab::<T>::chunk_and_offset(self.len).0 < self.chunks.len() {
            return Ok(());
        }
        self.add_chunk()
    }

    #[cold]
    fn add_chunk(&mut self) -> Result<()> {
        reserve(&mut self.chunks, 1)?;
        let mut chunk = Vec::new();
        reserve(&mut chunk, SLOTS)?;
        chunk.resize_with(SLOTS, Entry::free);
        // The capacity is exact, so this moves nothing.
        let chunk = chunk.into_boxed_slice().try_into();
        self.chunks.push(chunk.map_err(|_| Error::ENOMEM)?);
        Ok(())
    }

    /// Puts an entry into a free slot, which [`Slab::reserve`] has provided.
    pub(super) fn insert(&mut self, entry: Entry<T>) -> u32 {
        if self.free != NONE {
            let slot = self.free;
            let free = self.get_mut(slot);
            let next = free.id;
            *free = entry;
            self.free = next;
            return slot;
        }
        let slot = self.len;
        *self.get_mut(slot) = entry;
        self.len += 1;
        slot
    }

    /// Frees the entry of a slot, its name included.
    pub(super) fn remove(&mut self, slot: u32) {
        let next = self.free;
        let entry = self.get_mut(slot);
        entry.state = EntryState::Free;
        entry.name = SmallText::EMPTY;
        entry.private = None;
        entry.id = next;
        self.free = slot;
    }
}

/// The longest text, in bytes, that is kept in the value itself.
const INLINE: usize = 21;

/// The bytes of a name or key, and a NUL after them, so that C can read the name in place.
#[derive(Debug)]
pub(super) enum SmallText {
    Inline(u8, [u8; INLINE + 1]),
    Heap(Box<[u8]>),
}

impl SmallText {
    pub(super) const EMPTY: SmallText = SmallText::Inline(0, [0; INLINE + 1]);

    /// A copy of a text.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn new(text: &[u8]) -> Result<SmallText> {
        if text.len() > INLINE {
            return SmallText::on_heap(text);
        }
        let mut bytes = [0; INLINE + 1];
        bytes[..text.len()].copy_from_slice(text);
        Ok(SmallText::Inline(text.len() as u8, bytes))
    }

    #[cold]
    fn on_heap(text: &[u8]) -> Result<SmallText> {
        let mut bytes = Vec::new();
        reserve(&mut bytes, text.len() + 1)?;
        bytes.extend_from_slice(text);
        bytes.push(0);
        Ok(SmallText::Heap(bytes.into_boxed_slice()))
    }

    /// The text with its NUL.
    pub(super) fn terminated(&self) -> &[u8] {
        match self {
            SmallText::Inline(length, bytes) => &bytes[..=usize::from(*length)],
            SmallText::Heap(bytes) => bytes,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            SmallText::Inline(length, bytes) => &bytes[..usize::from(*length)],
            SmallText::Heap(bytes) => bytes.split_last().map_or(&[], |(_, text)| text),
        }
    }
}

/// The short name of a name: the part that identifies an instance (CACHE-4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ShortName {
    /// Length in bytes.
    pub(super) len: usize,
    pub(super) hash: u32,
}

/// Finds the end of the short name, the first space, and its hash in one pass over eight bytes at a
/// time. Two passes byte by byte were a third of the time of a lookup by name. With `strings` the
/// whole name counts.
#[inline(always)]
pub(super) fn short_name(seed: Seed, name: &[u8], strings: bool) -> ShortName {
    let mut state = seed.begin();
    let mut rest = name;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let blanks = marks(word, b' ');
        if blanks != 0 && !strings {
            return end(seed, state, word, blanks, name.len() - rest.len());
        }
        state = seed.mix(state, word);
        rest = tail;
    }
    // The last bytes, filled up with zeros. After a name of whole words these are eight zeros, as
    // for a short name that ends with a whole word.
    let word = last(rest);
    let blanks = marks(word, b' ');
    if blanks != 0 && !strings {
        return end(seed, state, word, blanks, name.len() - rest.len());
    }
    ShortName {
        len: name.len(),
        hash: seed.end(seed.mix(state, word)),
    }
}

/// The short name that ends in this word, at its first space.
fn end(seed: Seed, state: u64, word: u64, blanks: u64, before: usize) -> ShortName {
    let bits = blanks.trailing_zeros() & !7;
    ShortName {
        len: before + (bits / 8) as usize,
        hash: seed.end(seed.mix(state, word & ((1 << bits) - 1))),
    }
}

/// Marks a byte in a word: the result has the highest bit of each byte of `word` set that is
/// `byte`. The first byte of the text is the lowest. Above the lowest bit that is set, others may
/// be set wrongly, so only the lowest counts.
pub(super) fn marks(word: u64, byte: u8) -> u64 {
    let word = word ^ (u64::from(byte) * 0x0101_0101_0101_0101);
    word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080
}

/// The position of the first such byte.
pub(super) fn find_byte(bytes: &[u8], byte: u8) -> Option<usize> {
    let mut rest = bytes;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let marks = marks(u64::from_le_bytes(*word), byte);
        if marks != 0 {
            return Some(bytes.len() - rest.len() + (marks.trailing_zeros() / 8) as usize);
        }
        rest = tail;
    }
    let at = rest.iter().position(|other| *other == byte)?;
    Some(bytes.len() - rest.len() + at)
}

/// Returns whether two texts are equal. They are short, so a call of memcmp would cost more than
/// the comparison.
pub(super) fn equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let (mut one, mut other) = (one, other);
    while let (Some((first, one_rest)), Some((second, other_rest))) =
        (one.split_first_chunk::<8>(), other.split_first_chunk::<8>())
    {
        if first != second {
            return false;
        }
        (one, other) = (one_rest, other_rest);
    }
    last(one) == last(other)
}

/// Reserves memory for `more` elements, and for some beyond them, so that lists grow seldom.
///
/// # Errors
/// `-ENOMEM`; the list is unchanged.
pub(super) fn reserve<E>(list: &mut Vec<E>, more: usize) -> Result<()> {
    if list.capacity() - list.len() >= more {
        return Ok(());
    }
    let more = more.max(growth::<E>(list.len()));
    list.try_reserve_exact(more).map_err(|_| Error::ENOMEM)
}

/// The number of elements by which a list grows: small lists double, others get a quarter more, so
/// that little memory is unused at any size (DEF-14). The first block has 16 bytes, since malloc
/// has none of less than 24.
fn growth<E>(len: usize) -> usize {
    match len * size_of::<E>() {
        0 => 16 / size_of::<E>(),
        1..1024 => len,
        _ => len / 4,
    }
}

#[cfg(test)]
pub(super) mod tests;
