//! All caches of the process.

use super::{Cache, room};
use crate::error::{Error, Result};
use crate::ident::InDom;
use crate::index::{Index, Seed};

/// At most one cache a domain; none is ever destroyed (CACHE-1).
#[derive(Debug)]
pub struct Caches<T> {
    /// In the order in which they were made.
    list: Vec<Cache<T>>,
    /// Their places in the list, by domain.
    index: Index,
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
            index: Index::new(),
            last: 0,
        }
    }

    /// Whether this is the cache that was used last.
    #[inline]
    fn is_last(&self, indom: InDom) -> bool {
        self.list.get(self.last).is_some_and(|cache| cache.indom == indom)
    }

    #[inline(never)]
    fn find(&mut self, indom: InDom) -> Option<usize> {
        let same = |place: u32| self.list[place as usize].indom == indom;
        let at = self.index.find(hash(indom), same)? as usize;
        self.last = at;
        Some(at)
    }

    /// The cache of a domain, if there is one (CACHE-34).
    #[inline]
    pub fn get(&mut self, indom: InDom) -> Option<&mut Cache<T>> {
        if !self.is_last(indom) {
            self.find(indom)?;
        }
        self.list.get_mut(self.last)
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
        Ok(&mut self.list[self.last])
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
        let list = &self.list;
        self.index
            .reserve(1, place + 1, |place| hash(list[place as usize].indom))?;
        self.index.insert(hash(indom), place);
        self.last = self.list.len();
        self.list.push(Cache::new(indom, Seed::process()));
        Ok(())
    }

    /// All caches, the newest first.
    pub fn newest_first(&mut self) -> impl Iterator<Item = &mut Cache<T>> {
        self.list.iter_mut().rev()
    }
}

fn hash(indom: InDom) -> u32 {
    Seed::process().number(u64::from(indom.0))
}
