//! The instance caches of the process.
//!
//! One lock guards all of them. It is never held while C runs: what there is to log is written out,
//! and purge callbacks are called, after it was released (CACHE-7).

mod op;
mod purge;

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use self::op::{Save, operate, walk_next};
pub(crate) use self::purge::{Purge, purge};
use crate::abi::arg::{Out, Private};
use crate::cache::{Cache, Caches, Hit, Report};
use crate::error::Result;
use crate::ident::InDom;
use crate::libpcp::log::{self, Debug};
use crate::os::lock::{Mutex, const_mutex, room};

pub(crate) static CACHES: Mutex<Caches<Private>, { room::CACHES }> = const_mutex(Caches::new());

/// Counts the calls that made an instance of any domain active, or ended that.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// A number that changes whenever an instance of any domain becomes active, or ceases to be.
pub(crate) fn changes() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}

/// Works on the cache of a domain if there is one.
pub(crate) fn peek<R>(indom: InDom, work: impl FnOnce(&mut Cache<Private>) -> R) -> Option<R> {
    CACHES.lock().get(indom).map(work)
}

/// Works on the cache of a domain, made if need be. Nothing changes, and nothing is to be said.
#[inline]
pub(crate) fn look<R>(indom: InDom, work: impl FnOnce(&mut Cache<Private>) -> Result<R>) -> Result<R> {
    CACHES.lock().open(indom).and_then(work)
}

/// Works on the cache of a domain, made if need be, and then writes out what there is to say.
#[inline]
pub(crate) fn with<R>(indom: InDom, work: impl FnOnce(&mut Cache<Private>, &mut Report) -> Result<R>) -> Result<R> {
    let mut report = Report {
        debug: log::debug(Debug::Indom),
        ..Report::default()
    };
    let result = CACHES.lock().open(indom).and_then(|cache| {
        let before = cache.changes();
        let result = work(cache, &mut report);
        if cache.changes() != before {
            // Only written while the caches are locked, so this needs no atomic addition.
            CHANGES.store(changes() + 1, Ordering::Relaxed);
        }
        result
    });
    log::flush(&mut report.journal);
    result
}

/// Where C wants what a lookup finds.
#[derive(Clone, Copy)]
pub(crate) struct Outputs {
    /// The name.
    pub(crate) name: Out<*mut c_char>,
    /// The id.
    pub(crate) inst: Out<c_int>,
    /// What the agent has attached.
    pub(crate) private: Out<*mut c_void>,
}

impl Outputs {
    /// Gives what was found, and its state.
    #[inline]
    pub(crate) fn give(self, hit: Hit<'_, Private>) -> c_int {
        if !self.name.is_null() {
            self.name.set(hit.terminated().as_ptr().cast::<c_char>().cast_mut());
        }
        self.inst.set(hit.id());
        self.private.set(hit.private().map_or(ptr::null_mut(), Private::as_ptr));
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

/// All caches as text, the newest first.
pub(crate) fn dump_all(chains: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for cache in CACHES.lock().newest_first() {
        text.append(&mut cache.dump(chains));
    }
    text
}
