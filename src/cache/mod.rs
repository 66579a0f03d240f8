//! The cache of an instance domain: stable ids for names that come and go (`pmdaCache*`).
//!
//! [`Caches`] holds one [`Cache`] a domain. A cache lists its entries by id, finds them by id, name and key, and
//! remembers as much of the C library's hash chains as its debug dump shows (CACHE-81). `T` is what the agent attaches
//! to an instance; it is handed back and printed, never looked into.

#![forbid(unsafe_code)]

mod bulk;
mod chains;
mod disk;
mod domains;
mod dump;
mod entry;
mod file;
mod index;
mod jenkins;
mod keys;
mod lookup;
mod order;
mod persist;
mod store;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

pub use domains::Caches;
pub use entry::State;
pub use lookup::Hit;
pub use persist::{Place, Write};
pub use store::Action;

use crate::ident::InDom;
use crate::log::Journal;
use entry::{Entry, Slab};
use index::Ids;
use keys::Keys;
use order::Order;

/// The greatest instance id, and the limit of a cache that was never resized.
pub const MAXIMUM: u32 = 0x7fff_ffff;

/// So many culled entries are kept for the C library's sake; when there are more, and more than live ones, they are
/// reclaimed, so that a domain that churns for ever needs bounded memory.
const CULLED_KEPT: usize = 1024;

/// Where messages go, and whether debugging is on (`-Dindom`).
#[derive(Default, Debug)]
pub struct Report {
    /// What there is to say.
    pub journal: Journal,
    /// Whether debug output is wanted.
    pub debug: bool,
}

/// How ids are chosen (CACHE-40, CACHE-42).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// One more than the greatest id that there ever was.
    Monotonic = 0,
    /// The lowest that is free.
    Reuse = 1,
}

/// What a walk visits next (CACHE-35).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cursor {
    /// This listed entry, or what follows when it was reclaimed; and where it was in the order when it was noted.
    At(order::Place, usize),
    /// Nothing.
    End,
}

/// The cache of one domain (CACHE-1).
#[derive(Debug)]
pub struct Cache<T> {
    indom: InDom,
    slab: Slab<T>,
    keys: Keys,
    ids: Ids,
    /// Hash and slot of the live entries, by short name.
    names: HashTable<(u32, u32)>,
    /// Hash and slot of the live entries that have a key.
    keyed: HashTable<(u32, u32)>,
    order: Order,
    cursor: Cursor,
    mode: Mode,
    strings: bool,
    /// The set of instances differs from the file's.
    instances_dirty: bool,
    /// Only time stamps or the limit differ.
    stamps_dirty: bool,
    maximum: u32,
    /// One more than the greatest id that was ever listed.
    above: u32,
    /// No listed entry has a lower free id; only reclaiming makes ids free.
    lowest: u32,
    active: usize,
    inactive: usize,
    empty: usize,
    /// Entries that were ever inserted (CACHE-33).
    inserted: u32,
    /// Number of chains that the C library would have (CACHE-80).
    chains: u32,
    /// The next entry's place in the chains.
    sequence: u32,
    /// Counts what makes an instance active, or ends that.
    changes: u64,
    /// How often a key's id was free at the first, second, ... attempt.
    attempts: [u32; store::ATTEMPTS],
}

/// The hash of names and keys in our own tables.
fn hash(bytes: &[u8]) -> u32 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(bytes);
    let hash = hasher.finish();
    (hash ^ (hash >> 32)) as u32
}

/// What a table of (hash, slot) wants: the hash in all 64 bits.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl<T: Copy> Cache<T> {
    /// An empty cache; it owns no memory yet (CACHE-5).
    #[must_use]
    pub const fn new(indom: InDom) -> Cache<T> {
        Cache {
            indom,
            slab: Slab::new(),
            keys: Keys::new(),
            ids: Ids::new(),
            names: HashTable::new(),
            keyed: HashTable::new(),
            order: Order::new(),
            cursor: Cursor::End,
            mode: Mode::Monotonic,
            strings: false,
            instances_dirty: false,
            stamps_dirty: false,
            maximum: MAXIMUM,
            above: 0,
            lowest: 0,
            active: 0,
            inactive: 0,
            empty: 0,
            inserted: 0,
            chains: 16,
            sequence: 0,
            changes: 0,
            attempts: [0; store::ATTEMPTS],
        }
    }

    /// The part of a name that identifies an instance (CACHE-4).
    fn short<'n>(&self, name: &'n [u8]) -> &'n [u8] {
        if self.strings {
            return name;
        }
        let end = name.iter().position(|byte| *byte == b' ');
        end.map_or(name, |end| &name[..end])
    }

    /// The counter of a state.
    fn counter(&mut self, state: State) -> Option<&mut usize> {
        match state {
            State::Active => Some(&mut self.active),
            State::Inactive => Some(&mut self.inactive),
            State::Empty => Some(&mut self.empty),
            State::Free => None,
        }
    }

    /// Changes the state of an entry that is live, and stays so or is culled.
    fn set_state(&mut self, slot: u32, state: State) {
        let entry = self.slab.get_mut(slot);
        let old = std::mem::replace(&mut entry.state, state);
        if old == state {
            return;
        }
        self.changes += u64::from(old == State::Active || state == State::Active);
        if let Some(count) = self.counter(old) {
            *count -= 1;
        }
        if let Some(count) = self.counter(state) {
            *count += 1;
        }
        if state == State::Empty {
            let name = hash(self.slab.get(slot).short_name());
            if let Ok(found) = self.names.find_entry(spread(name), |item| item.1 == slot) {
                found.remove();
            }
            self.set_key(slot, &[]);
        }
    }

    /// Gives an entry another key; an empty one is none.
    fn set_key(&mut self, slot: u32, key: &[u8]) {
        let number = self.slab.get(slot).key;
        if (number == 0 && key.is_empty()) || self.keys.get(number) == key {
            return;
        }
        if number != 0 {
            let old = hash(self.keys.get(number));
            if let Ok(found) = self.keyed.find_entry(spread(old), |item| item.1 == slot) {
                found.remove();
            }
            self.keys.remove(number);
        }
        let number = self.keys.insert(key);
        self.slab.get_mut(slot).key = number;
        if number != 0 {
            let new = hash(key);
            self.keyed
                .insert_unique(spread(new), (new, slot), |item| spread(item.0));
        }
    }

    /// The key of an entry; empty for none.
    fn key(&self, entry: &Entry<T>) -> &[u8] {
        self.keys.get(entry.key)
    }
}

/// A name as a message prints it.
fn lossless(name: Option<&[u8]>) -> &[u8] {
    name.unwrap_or(b"(null)")
}

/// Bytes put together: names need not be UTF-8.
fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// `[key=0x...]` or `[no key]`, as messages show a key.
fn shown(key: &[u8]) -> String {
    if key.is_empty() {
        return "[no key]".to_owned();
    }
    format!("[key=0x{}]", hex(key))
}

/// Two lowercase digits a byte.
fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
