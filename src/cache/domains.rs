//! All caches of the process.

use super::{Cache, room};
use crate::error::{Error, Result};
use crate::ident::InDom;
use crate::index::Seed;

/// No cache follows.
const END: u32 = u32::MAX;

/// A cache, and its part of the hash table of all. The table lies in the list, so that all caches are one block: what an
/// agent leaves behind when it is unloaded is as many blocks as with the C library.
#[derive(Debug)]
struct Place<T> {
    cache: Cache<T>,
    /// The first place of the chain that has this place's number.
    first: u32,
    /// The next place of the chain to which this cache belongs.
    next: u32,
}

/// At most one cache a domain; none is ever destroyed (CACHE-1).
#[derive(Debug)]
pub struct Caches<T> {
    /// In the order in which they were made.
    list: Vec<Place<T>>,
    /// Number of chains: at least half as many as caches.
    chains: usize,
    /// The one used last: agents mostly stay with a domain for a while.
    last: usize,
}

impl<T: Copy> Default for Caches<T> {
    fn default() -> Caches<T> {
        Caches::new()
    }
}

impl<T: Copy> Caches<T> {
    /// No caches.
    #[must_use]
    pub const fn new() -> Caches<T> {
        Caches {
            list: Vec::new(),
            chains: 0,
            last: 0,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether this is the cache that was used last.
    #[inline]
    fn is_last(&self, indom: InDom) -> bool {
        self.list.get(self.last).is_some_and(|place| place.cache.indom == indom)
    }

    #[inline(never)]
    fn find(&mut self, indom: InDom) -> Option<usize> {
        let mut at = self.list.get(self.chain(indom))?.first;
        loop {
            // The end of a chain is the number of no place.
            let place = self.list.get(at as usize)?;
            if place.cache.indom == indom {
                self.last = at as usize;
                return Some(self.last);
            }
            at = place.next;
        }
    }

    /// The number of the chain to which a domain belongs.
    fn chain(&self, indom: InDom) -> usize {
        let hash = Seed::process().number(u64::from(indom.0));
        ((u64::from(hash) * self.chains as u64) >> 32) as usize
    }

    /// Puts the cache in this place into its chain.
    fn link(&mut self, place: u32) {
        let chain = self.chain(self.list[place as usize].cache.indom);
        self.list[place as usize].next = self.list[chain].first;
        self.list[chain].first = place;
    }

    /// The cache of a domain, if there is one (CACHE-34).
    #[inline]
    pub fn get(&mut self, indom: InDom) -> Option<&mut Cache<T>> {
        if !self.is_last(indom) {
            self.find(indom)?;
        }
        self.list.get_mut(self.last).map(|place| &mut place.cache)
    }

    /// The cache of a domain, made if there is none (CACHE-5).
    ///
    /// # Errors
    /// `PM_ERR_INDOM` for `PM_INDOM_NULL` (CACHE-6); `-ENOMEM`, and none was made.
    #[inline]
    pub fn open(&mut self, indom: InDom) -> Result<&mut Cache<T>> {
        if !self.is_last(indom) && self.find(indom).is_none() {
            self.make(indom)?;
        }
        Ok(&mut self.list[self.last].cache)
    }

    /// Makes a cache.
    #[cold]
    fn make(&mut self, indom: InDom) -> Result<()> {
        if indom.is_null() {
            return Err(Error::INDOM);
        }
        // The first one has no room beside it: most agents have few.
        room(&mut self.list, 1)?;
        let place = u32::try_from(self.list.len()).map_err(|_| Error::NOMEM)?;
        self.last = self.list.len();
        self.list.push(Place {
            cache: Cache::new(indom, Seed::process()),
            first: END,
            next: END,
        });
        if self.list.len() <= 2 * self.chains {
            self.link(place);
            return Ok(());
        }
        self.chains = self.list.len();
        for place in &mut self.list {
            place.first = END;
        }
        (0..=place).for_each(|place| self.link(place));
        Ok(())
    }

    /// All caches, the newest first.
    pub fn newest_first(&mut self) -> impl Iterator<Item = &mut Cache<T>> {
        self.list.iter_mut().rev().map(|place| &mut place.cache)
    }
}
