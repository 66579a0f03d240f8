//! The instance caches of the process.
//!
//! The lock is not held while C runs: what there is to log is written out, and purge callbacks are
//! called, after it was released (CACHE-7).

pub(crate) mod cached_indom;
pub(crate) mod exports;
mod op;

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) use crate::cache::op::{Purge, Save, operate, purge, walk_next};
use crate::library;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::{Guard, Mutex};
use crate::view::arg::{Out, Private};
use pmda_core::cache::{Cache, Hit, Report};
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;
use pmda_core::index::Seed;
use pmda_core::leak::try_leak;

/// How many chains there are: an agent mostly numbers its domains from 0 or 1 on, and finds each at
/// the start of a chain.
const CHAINS: usize = 8;

/// A domain with a cache: one block, as in the C library. It stays for good (CACHE-1).
pub(crate) struct Domain {
    indom: InDom,
    /// Counts what makes an instance active, or ends that: the lower half of the cache's own
    /// number.
    changes: AtomicU32,
    /// The one in the same chain that was made before.
    next: Option<&'static Domain>,
    /// The one that was made before.
    older: Option<&'static Domain>,
    cache: Mutex<Cache<Private>>,
}

/// All domains with a cache.
pub(crate) struct Domains {
    chains: [Option<&'static Domain>; CHAINS],
    newest: Option<&'static Domain>,
}

impl Domains {
    /// None yet.
    pub(crate) const fn new() -> Domains {
        Domains {
            chains: [None; CHAINS],
            newest: None,
        }
    }

    /// The domain if it has a cache (CACHE-34).
    #[inline(always)]
    pub(crate) fn find(&self, indom: InDom) -> Option<&'static Domain> {
        let first = self.chains[indom.0 as usize % CHAINS]?;
        if first.indom == indom {
            return Some(first);
        }
        first.search(indom)
    }

    /// The domain; its cache is made if there is none (CACHE-5).
    ///
    /// # Errors
    /// `PM_ERR_INDOM` for `PM_INDOM_NULL` (CACHE-6); `-ENOMEM`, and none was made.
    #[inline(always)]
    fn open(&mut self, indom: InDom) -> Result<&'static Domain> {
        match self.find(indom) {
            Some(domain) => Ok(domain),
            None => self.make(indom),
        }
    }

    #[cold]
    fn make(&mut self, indom: InDom) -> Result<&'static Domain> {
        if indom.is_null() {
            return Err(Error::INDOM);
        }
        let chain = &mut self.chains[indom.0 as usize % CHAINS];
        let domain: &'static Domain = try_leak(Domain {
            indom,
            changes: AtomicU32::new(0),
            next: *chain,
            older: self.newest,
            cache: Mutex::new(Cache::new(indom, Seed::process())),
        })?;
        *chain = Some(domain);
        self.newest = Some(domain);
        Ok(domain)
    }
}

/// The domain if it has a cache.
#[inline(always)]
pub(crate) fn find(indom: InDom) -> Option<&'static Domain> {
    library::peek()?.domains.find(indom)
}

/// Works on the cache of a domain if there is one.
#[inline(always)]
pub(crate) fn peek<R>(indom: InDom, work: impl FnOnce(&mut Cache<Private>) -> R) -> Option<R> {
    let mut library = library::peek()?;
    let domain = library.domains.find(indom)?;
    Some(work(domain.cache.within(&mut library)))
}

/// Works on the cache of a domain, made if need be, where instances may become active or cease to
/// be.
///
/// # Errors
/// `PM_ERR_INDOM` for `PM_INDOM_NULL` (CACHE-6), `-ENOMEM`; what the work gives.
#[inline(always)]
pub(crate) fn change<R>(indom: InDom, work: impl FnOnce(&mut Cache<Private>) -> Result<R>) -> Result<R> {
    let mut library = library::lock()?;
    let domain = library.domains.open(indom)?;
    domain.change_within(&mut library, work)
}

impl Domain {
    #[inline(never)]
    fn search(&'static self, indom: InDom) -> Option<&'static Domain> {
        std::iter::successors(self.next, |domain| domain.next).find(|domain| domain.indom == indom)
    }

    /// Whether this is the cache of a domain.
    #[inline(always)]
    pub(crate) fn is(&self, indom: InDom) -> bool {
        self.indom == indom
    }

    /// Works on the cache.
    #[inline(always)]
    pub(crate) fn work<R>(&'static self, work: impl FnOnce(&mut Cache<Private>) -> R) -> R {
        work(&mut self.cache.lock())
    }

    #[inline(always)]
    fn change_within<U, R>(&self, guard: &mut Guard<'_, U>, work: impl FnOnce(&mut Cache<Private>) -> R) -> R {
        let cache = self.cache.within(guard);
        let result = work(cache);
        self.changes.store(cache.changes() as u32, Ordering::Relaxed);
        result
    }

    /// A number that changes whenever an instance becomes active or ceases to be.
    #[inline(always)]
    pub(crate) fn changes(&self) -> u32 {
        self.changes.load(Ordering::Relaxed)
    }
}

/// Works on the cache of a domain, made if need be, and then writes out what there is to say.
#[inline]
pub(crate) fn with<R>(indom: InDom, work: impl FnOnce(&mut Cache<Private>, &mut Report) -> Result<R>) -> Result<R> {
    let mut report = Report {
        debug: log::debug(Debug::Indom),
        ..Report::default()
    };
    let result = change(indom, |cache| work(cache, &mut report));
    log::flush(&mut report.journal);
    result
}

/// Where C wants what a lookup finds.
#[derive(Clone, Copy)]
pub(crate) struct Outputs<'call> {
    /// The name.
    pub(crate) name: Out<'call, *mut c_char>,
    /// The id.
    pub(crate) inst: Out<'call, c_int>,
    /// What the agent has attached.
    pub(crate) private: Out<'call, *mut c_void>,
}

impl Outputs<'_> {
    /// Gives what was found, and its state.
    #[inline]
    pub(crate) fn give(self, hit: Hit<'_, Private>) -> c_int {
        if !self.name.is_null() {
            self.name.lend(hit.terminated());
        }
        self.inst.set(hit.id());
        self.private.give(hit.private());
        hit.state() as c_int
    }
}

fn count(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

/// A cache as text, with its hash chains if they are asked for; nothing if there is none.
pub(crate) fn dump(indom: InDom, chains: bool) -> Vec<u8> {
    peek(indom, |cache| cache.dump(chains)).unwrap_or_default()
}

/// All domains, the newest first.
pub(crate) fn newest_first() -> impl Iterator<Item = &'static Domain> {
    let newest = library::peek().and_then(|library| library.domains.newest);
    std::iter::successors(newest, |domain| domain.older)
}

/// All caches as text, one by one, the newest first.
pub(crate) fn dump_all(chains: bool) -> impl Iterator<Item = Vec<u8>> {
    newest_first().map(move |domain| domain.work(|cache| cache.dump(chains)))
}
