//! All caches of the process.

#![forbid(unsafe_code)]

use hashbrown::HashTable;

use super::{Cache, spread};
use crate::error::{Error, Result};
use crate::ident::InDom;

/// At most one cache a domain; none is ever destroyed (CACHE-1).
#[derive(Debug)]
pub struct Caches<T> {
    /// In the order in which they were made.
    list: Vec<Cache<T>>,
    index: HashTable<(InDom, usize)>,
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
            index: HashTable::new(),
            last: 0,
        }
    }

    fn find(&mut self, indom: InDom) -> Option<usize> {
        if self.list.get(self.last).is_some_and(|cache| cache.indom == indom) {
            return Some(self.last);
        }
        let at = self.index.find(spread(indom.0), |item| item.0 == indom)?.1;
        self.last = at;
        Some(at)
    }

    /// The cache of a domain, if there is one (CACHE-34).
    #[inline]
    pub fn get(&mut self, indom: InDom) -> Option<&mut Cache<T>> {
        let at = self.find(indom)?;
        self.list.get_mut(at)
    }

    /// The cache of a domain, made if there is none (CACHE-5).
    ///
    /// # Errors
    /// `PM_ERR_INDOM` for `PM_INDOM_NULL` (CACHE-6).
    #[inline]
    pub fn open(&mut self, indom: InDom) -> Result<&mut Cache<T>> {
        let at = match self.find(indom) {
            Some(at) => at,
            None if indom.is_null() => return Err(Error::INDOM),
            None => {
                let at = self.list.len();
                self.list.push(Cache::new(indom));
                self.index
                    .insert_unique(spread(indom.0), (indom, at), |item| spread(item.0.0));
                at
            }
        };
        Ok(&mut self.list[at])
    }

    /// All caches, the newest first.
    pub fn newest_first(&mut self) -> impl Iterator<Item = &mut Cache<T>> {
        self.list.iter_mut().rev()
    }
}
