//! All caches of the process: one a domain, found without a lock.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys::leads::Leads;
use crate::sys::lock::{Mutex, const_mutex, room};
use crate::sys::shared::Shared;
use crate::view::arg::Private;
use pmda_core::cache::Cache;
use pmda_core::error::{Error, Result};
use pmda_core::forever::forever;
use pmda_core::ident::InDom;
use pmda_core::index::Seed;

/// How many ways lead on from a domain, as a power of two.
const BRANCH: u32 = 1;

/// A domain with a cache: one block, as in the C library. It stays for good (CACHE-1).
///
/// What is at the ends of it, and of the cache, hardly ever changes: the next block begins in the
/// same cache line, and may be another thread's.
#[repr(C)]
pub(crate) struct Domain {
    /// The one that was made before.
    older: Option<&'static Domain>,
    /// Domains that begin at the same place lie in a tree, each where the hash of its number leads.
    more: [Leads<Domain>; 1 << BRANCH],
    indom: InDom,
    /// Counts what makes an instance active, or ends that: the lower half of the cache's own
    /// number.
    changes: AtomicU32,
    cache: Shared<Cache<Private>>,
}

/// Where the search for a domain begins: an agent mostly numbers its domains from 0 or 1 on, and
/// finds each at its place.
static PLACES: [Leads<Domain>; 64] = [const { Leads::new() }; 64];

/// The domain that was made last: what hangs on it are all.
pub(crate) static NEWEST: Leads<Domain> = Leads::new();

/// Held to make a domain.
static MAKING: Mutex<(), { room::CACHES }> = const_mutex(());

#[inline(always)]
fn place(indom: InDom) -> &'static Leads<Domain> {
    &PLACES[indom.0 as usize % PLACES.len()]
}

/// The domain if it has a cache (CACHE-34).
#[inline(always)]
pub(crate) fn find(indom: InDom) -> Option<&'static Domain> {
    match place(indom).get() {
        Some(domain) if domain.indom == indom => Some(domain),
        Some(_) => search(indom).ok(),
        None => None,
    }
}

/// The domain if it has a cache, and is found at once.
#[inline(always)]
pub(crate) fn near(indom: InDom) -> Option<&'static Domain> {
    place(indom).get().filter(|domain| domain.indom == indom)
}

/// The domain; its cache is made if there is none (CACHE-5).
///
/// # Errors
/// `PM_ERR_INDOM` for `PM_INDOM_NULL` (CACHE-6); `-ENOMEM`, and none was made.
#[inline(always)]
pub(crate) fn open(indom: InDom) -> Result<&'static Domain> {
    match place(indom).get() {
        Some(domain) if domain.indom == indom => Ok(domain),
        _ => search_or_make(indom),
    }
}

/// The domain, or where it is to be.
#[inline(never)]
fn search(indom: InDom) -> std::result::Result<&'static Domain, &'static Leads<Domain>> {
    let mut at = place(indom);
    let mut hash = Seed::process().number(u64::from(indom.0));
    while let Some(domain) = at.get() {
        if domain.indom == indom {
            return Ok(domain);
        }
        at = &domain.more[hash as usize % domain.more.len()];
        hash >>= BRANCH;
    }
    Err(at)
}

#[inline(never)]
fn search_or_make(indom: InDom) -> Result<&'static Domain> {
    search(indom).or_else(|_| make(indom))
}

/// Makes the cache of a domain, unless another thread just has.
#[cold]
fn make(indom: InDom) -> Result<&'static Domain> {
    if indom.is_null() {
        return Err(Error::INDOM);
    }
    let _making = MAKING.lock();
    let place = match search(indom) {
        Ok(domain) => return Ok(domain),
        Err(place) => place,
    };
    let domain = forever(Domain {
        indom,
        more: [const { Leads::new() }; 1 << BRANCH],
        older: NEWEST.get(),
        changes: AtomicU32::new(0),
        cache: Shared::new(Cache::new(indom, Seed::process())),
    })?;
    domain.cache.enroll();
    NEWEST.set(domain);
    place.set(domain);
    Ok(domain)
}

/// All domains, the newest first.
pub(crate) fn newest_first() -> impl Iterator<Item = &'static Domain> {
    std::iter::successors(NEWEST.get(), |domain| domain.older)
}

impl Domain {
    /// Whether this is the cache of a domain.
    #[inline(always)]
    pub(crate) fn is(&self, indom: InDom) -> bool {
        self.indom == indom
    }

    /// Looks at the cache.
    #[inline(always)]
    pub(crate) fn look<R>(&'static self, work: impl FnOnce(&Cache<Private>) -> R) -> R {
        work(&self.cache.read())
    }

    /// Works on the cache.
    #[inline(always)]
    pub(crate) fn work<R>(&'static self, work: impl FnOnce(&mut Cache<Private>) -> R) -> R {
        work(&mut self.cache.write())
    }

    /// Works on the cache, if this is the only thread.
    #[inline(always)]
    pub(crate) fn work_alone<R>(&'static self, work: impl FnOnce(&mut Cache<Private>) -> R) -> Option<R> {
        self.cache.alone(work)
    }

    /// Works on the cache, where instances may become active or cease to be.
    #[inline(always)]
    pub(crate) fn change<R>(&'static self, work: impl FnOnce(&mut Cache<Private>) -> R) -> R {
        let mut cache = self.cache.write();
        let result = work(&mut cache);
        self.changes.store(cache.changes() as u32, Ordering::Relaxed);
        result
    }

    /// A number that changes whenever an instance becomes active or ceases to be.
    #[inline(always)]
    pub(crate) fn changes(&self) -> u32 {
        self.changes.load(Ordering::Relaxed)
    }
}
