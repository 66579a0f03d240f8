//! The instance caches of the process.
//!
//! The lock is not held while C runs: what there is to log is written out, and purge callbacks are
//! called, after it was released (CACHE-7).

pub(crate) mod cached_indom;
pub(crate) mod domains;
pub(crate) mod exports;
mod op;
mod purge;

use std::ffi::{c_char, c_int, c_void};

pub(crate) use crate::cache::op::{Save, operate, walk_next};
pub(crate) use crate::cache::purge::{Purge, purge};
use crate::sys::libpcp::log::{self, Debug};
use crate::view::arg::{Out, Private};
use pmda_core::cache::{Cache, Hit, Report};
use pmda_core::error::Result;
use pmda_core::ident::InDom;

/// Looks at the cache of a domain if there is one.
#[inline]
pub(crate) fn peek<R>(indom: InDom, look: impl FnOnce(&Cache<Private>) -> R) -> Option<R> {
    domains::with(indom, |cache| look(cache))
}

/// Looks at the cache of a domain, made if need be. There is nothing to be said.
#[inline]
pub(crate) fn look<R>(indom: InDom, look: impl FnOnce(&Cache<Private>) -> Result<R>) -> Result<R> {
    domains::change(indom, |cache| look(cache))
}

/// Works on the cache of a domain, made if need be, and then writes out what there is to say.
#[inline]
pub(crate) fn with<R>(indom: InDom, work: impl FnOnce(&mut Cache<Private>, &mut Report) -> Result<R>) -> Result<R> {
    let mut report = Report {
        debug: log::debug(Debug::Indom),
        ..Report::default()
    };
    let result = domains::change(indom, |cache| work(cache, &mut report));
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
    domains::with(indom, |cache| cache.dump(chains)).unwrap_or_default()
}

/// All caches as text, one by one, the newest first.
pub(crate) fn dump_all(chains: bool) -> impl Iterator<Item = Vec<u8>> {
    domains::newest_first().map(move |domain| domain.work(|cache| cache.dump(chains)))
}
