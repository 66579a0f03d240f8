//! The caches of the process, by their domains.

use crate::view::arg::Private;
use pmda_core::cache::Cache;
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;
use pmda_core::index::Seed;
use pmda_core::leak::try_leak;
use pmda_core::path::FilePath;

pub(crate) struct Caches {
    /// In ascending order, never removed (CACHE-1).
    pub(crate) caches: Vec<CacheSlot>,
    /// The last found cache, by the last bits of the domain: most agents number their domains from
    /// 0 or 1.
    recent: [u8; 8],
    /// The directory of cache files, once it was asked for (CACHE-72).
    pub(crate) directory: Option<FilePath>,
}

/// A cache, and the number of earlier ones.
pub(crate) struct CacheSlot {
    before: usize,
    cache: &'static mut Cache<Private>,
}

impl Caches {
    pub(crate) const fn new() -> Caches {
        Caches {
            caches: Vec::new(),
            recent: [0; 8],
            directory: None,
        }
    }

    /// CACHE-34.
    #[inline(always)]
    pub(crate) fn find(&mut self, indom: InDom) -> Option<&mut Cache<Private>> {
        let place = match self.recent(indom) {
            Some(place) => place,
            None => self.search(indom).ok()?,
        };
        self.caches.get_mut(place).map(|made| &mut *made.cache)
    }

    /// The cache of a domain, if that was found last.
    #[inline(always)]
    pub(crate) fn last(&mut self, indom: InDom) -> Option<&mut Cache<Private>> {
        let place = self.recent(indom)?;
        self.caches.get_mut(place).map(|made| &mut *made.cache)
    }

    /// The cache of a domain, made if there is none (CACHE-5). `PM_ERR_INDOM` for `PM_INDOM_NULL`
    /// (CACHE-6).
    #[inline(always)]
    pub(crate) fn open(&mut self, indom: InDom) -> Result<&mut Cache<Private>> {
        match self.recent(indom) {
            Some(place) => Ok(&mut *self.caches[place].cache),
            None => self.search_or_make(indom),
        }
    }

    /// The place of a domain's cache, if it was found last.
    #[inline(always)]
    fn recent(&self, indom: InDom) -> Option<usize> {
        let place = usize::from(self.recent[indom.0 as usize % 8]);
        let is_it = self.caches.get(place)?.cache.indom().0 == indom.0;
        is_it.then_some(place)
    }

    /// The place of a domain's cache, or the place for a new one.
    fn search(&mut self, indom: InDom) -> std::result::Result<usize, usize> {
        let place = self
            .caches
            .binary_search_by_key(&indom.0, |made| made.cache.indom().0)?;
        self.recent[indom.0 as usize % 8] = u8::try_from(place).unwrap_or(0);
        Ok(place)
    }

    fn search_or_make(&mut self, indom: InDom) -> Result<&mut Cache<Private>> {
        let place = match self.search(indom) {
            Ok(place) => place,
            Err(place) => self.make(indom, place)?,
        };
        Ok(&mut *self.caches[place].cache)
    }

    #[cold]
    fn make(&mut self, indom: InDom, place: usize) -> Result<usize> {
        if indom.is_null() {
            return Err(Error::INDOM);
        }
        let before = self.caches.len();
        if before == self.caches.capacity() {
            self.caches
                .try_reserve_exact(before.max(1))
                .map_err(|_| Error::ENOMEM)?;
        }
        let cache = try_leak(Cache::new(indom, Seed::process()))?;
        // Room: just made.
        self.caches.push(CacheSlot { before, cache });
        self.caches[place..].rotate_right(1);
        Ok(place)
    }

    /// The cache with `before` earlier ones.
    pub(crate) fn made(&self, before: usize) -> Option<&Cache<Private>> {
        let made = self.caches.iter().find(|made| made.before == before)?;
        Some(&*made.cache)
    }
}
