//! The caches of the process, by their domains.

use crate::view::arg::Private;
use pmda_core::cache::Cache;
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;
use pmda_core::index::Seed;
use pmda_core::leak::try_leak;
use pmda_core::path::FilePath;

/// All caches, one for each instance domain that has one.
pub(crate) struct Caches {
    /// Sorted by domain. A cache is never removed (CACHE-1).
    pub(crate) caches: Vec<CacheSlot>,
    /// The position of the cache that was found last, for each value of the last three bits of the
    /// domain: most agents number their domains from 0 or 1, so their domains differ in these.
    recent: [u8; 8],
    /// The directory of cache files, once it was needed (CACHE-72).
    pub(crate) directory: Option<FilePath>,
}

/// A cache, and the number of caches that were made before it.
pub(crate) struct CacheSlot {
    before: usize,
    cache: &'static mut Cache<Private>,
}

impl Caches {
    /// No caches.
    pub(crate) const fn new() -> Caches {
        Caches {
            caches: Vec::new(),
            recent: [0; 8],
            directory: None,
        }
    }

    /// The cache of a domain, if it has one (CACHE-34).
    #[inline(always)]
    pub(crate) fn find(&mut self, indom: InDom) -> Option<&mut Cache<Private>> {
        let position = match self.recent(indom) {
            Some(position) => position,
            None => self.search(indom).ok()?,
        };
        self.caches.get_mut(position).map(|slot| &mut *slot.cache)
    }

    /// The cache of a domain, if that was found last.
    #[inline(always)]
    pub(crate) fn last(&mut self, indom: InDom) -> Option<&mut Cache<Private>> {
        let position = self.recent(indom)?;
        self.caches.get_mut(position).map(|slot| &mut *slot.cache)
    }

    /// The cache of a domain. It is made if there is none (CACHE-5).
    ///
    /// # Errors
    /// `PM_ERR_INDOM` for `PM_INDOM_NULL` (CACHE-6); `-ENOMEM`, and none was made.
    #[inline(always)]
    pub(crate) fn open(&mut self, indom: InDom) -> Result<&mut Cache<Private>> {
        match self.recent(indom) {
            Some(position) => Ok(&mut *self.caches[position].cache),
            None => self.search_or_make(indom),
        }
    }

    /// The position of a domain's cache, if it was found last.
    #[inline(always)]
    fn recent(&self, indom: InDom) -> Option<usize> {
        let position = usize::from(self.recent[indom.0 as usize % 8]);
        let is_it = self.caches.get(position)?.cache.indom().0 == indom.0;
        is_it.then_some(position)
    }

    /// The position of a domain's cache, which is noted as found last.
    ///
    /// # Errors
    /// The position for a new cache, if the domain has none.
    fn search(&mut self, indom: InDom) -> std::result::Result<usize, usize> {
        let position = self
            .caches
            .binary_search_by_key(&indom.0, |slot| slot.cache.indom().0)?;
        self.recent[indom.0 as usize % 8] = u8::try_from(position).unwrap_or(0);
        Ok(position)
    }

    /// [`Caches::open`] for a cache that was not found last.
    ///
    /// # Errors
    /// As [`Caches::open`].
    fn search_or_make(&mut self, indom: InDom) -> Result<&mut Cache<Private>> {
        let position = match self.search(indom) {
            Ok(position) => position,
            Err(position) => self.make(indom, position)?,
        };
        Ok(&mut *self.caches[position].cache)
    }

    /// Makes a cache at a position, and returns the position.
    ///
    /// # Errors
    /// As [`Caches::open`].
    #[cold]
    fn make(&mut self, indom: InDom, position: usize) -> Result<usize> {
        if indom.is_null() {
            return Err(Error::INDOM);
        }
        let before = self.caches.len();
        // Most agents have few caches: the list doubles, from one on.
        if before == self.caches.capacity() {
            self.caches
                .try_reserve_exact(before.max(1))
                .map_err(|_| Error::ENOMEM)?;
        }
        let cache = try_leak(Cache::new(indom, Seed::process()))?;
        // This does not allocate: there is room for one more.
        self.caches.push(CacheSlot { before, cache });
        self.caches[position..].rotate_right(1);
        Ok(position)
    }

    /// The cache that was made when there were `before` others.
    pub(crate) fn nth_created(&self, before: usize) -> Option<&Cache<Private>> {
        let slot = self.caches.iter().find(|slot| slot.before == before)?;
        Some(&*slot.cache)
    }
}
