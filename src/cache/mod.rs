//! The instance caches of the process, and operations on a whole one.
//!
//! Nothing is locked while C runs: journals are written, and purge callbacks called, without the
//! lock (CACHE-7).

pub(crate) mod cached_indom;
pub(crate) mod exports;

use crate::sys::lock::Token;
use std::ffi::{CStr, c_int};
use std::{io, mem, vec};

use crate::boundary::NoDropCell;
use crate::state;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::{cancel, config};
use crate::sys::process::{keeping_errno, now};
use crate::view::arg::Private;
use crate::view::interface::Free;
use pmda_core::cache::{Cache, CacheFile, Snapshot, Write, directory_below, file_path};
use pmda_core::constants::*;
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;
use pmda_core::log::Bytes;
use pmda_core::path::FilePath;

/// Works on the cache of a domain, if there is one.
pub(crate) fn peek<R>(token: &mut Token, indom: InDom, work: impl FnOnce(&mut Cache<Private>) -> R) -> Option<R> {
    let mut globals = state::peek(token)?;
    Some(work(globals.caches.find(indom)?))
}

/// Works on the cache of a domain, made if need be. The work logs nothing. `PM_ERR_INDOM` for
/// `PM_INDOM_NULL`, `-ENOMEM`; the work's errors.
pub(crate) fn open<R>(
    token: &mut Token,
    indom: InDom,
    work: impl FnOnce(&mut Cache<Private>) -> Result<R>,
) -> Result<R> {
    let mut globals = state::lock(token)?;
    work(globals.caches.open(indom)?)
}

/// [`open`], with the cache's journal written out.
pub(crate) fn with<R>(
    token: &mut Token,
    indom: InDom,
    work: impl FnOnce(&mut Cache<Private>) -> Result<R>,
) -> Result<R> {
    let mut globals = state::lock(token)?;
    let cache = globals.caches.open(indom)?;
    cache.debug = log::debug(Debug::Indom);
    let result = work(cache);
    if cache.journal.messages.is_empty() {
        return result;
    }
    let mut journal = mem::take(&mut cache.journal);
    drop(globals);
    log::flush(&mut journal);
    result
}

fn count(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

/// The dump of a cache, if there is one.
pub(crate) fn dump(token: &mut Token, indom: InDom, chains: bool) -> Vec<u8> {
    peek(token, indom, |cache| cache.dump(chains)).unwrap_or_default()
}

/// The dumps of all caches, the newest first.
pub(crate) fn dump_all(token: &mut Token, chains: bool) -> impl Iterator<Item = Vec<u8>> {
    let count = state::peek(token).map_or(0, |globals| globals.caches.caches.len());
    let dump = move |before: usize| Some(state::peek(token)?.caches.made(before)?.dump(chains));
    (0..count).rev().filter_map(dump)
}

/// [`walk_next`] as a short call.
#[inline(always)]
pub(crate) fn step(indom: InDom) -> Option<c_int> {
    state::short(|globals| Some(globals.caches.last(indom)?.walk().unwrap_or(-1)))
}

/// The next active instance of a walk, or -1. Makes the cache if there is none (CACHE-5).
pub(crate) fn walk_next(token: &mut Token, indom: InDom) -> Result<c_int> {
    open(token, indom, |cache| Ok(cache.walk().unwrap_or(-1)))
}

/// Reads or writes the file of a domain. It needs much of the stack, so as little else as possible
/// is there. `PM_ERR_INDOM` for `PM_INDOM_NULL`, and the errors of files.
pub(crate) fn persist(token: &mut Token, indom: InDom, op: c_int) -> Result<c_int> {
    if indom.is_null() {
        return Err(Error::INDOM);
    }
    let when = match op {
        PMDA_CACHE_SAVE => Write::Save,
        PMDA_CACHE_SYNC => Write::Sync,
        PMDA_CACHE_WRITE => Write::Always,
        _ => {
            return keeping_errno(|| {
                find_directory(token)?;
                load(token, indom)
            });
        }
    };
    // Not even the directory is made when nothing is to be written (CACHE-70).
    if !is_due(token, indom, when)? {
        return Ok(0);
    }
    keeping_errno(|| {
        find_directory(token)?;
        save(token, indom, when)
    })
}

/// Does an operation in memory. `PM_ERR_INDOM` for `PM_INDOM_NULL`, `-EINVAL` for an unknown
/// operation, `-ENOMEM`.
pub(crate) fn operate(token: &mut Token, indom: InDom, op: c_int) -> Result<c_int> {
    if indom.is_null() {
        return Err(Error::INDOM);
    }
    if op == PMDA_CACHE_CHECK {
        return Ok(c_int::from(peek(token, indom, |_| ()).is_some()));
    }
    // An unknown operation makes the cache, too.
    with(token, indom, |cache| match op {
        PMDA_CACHE_CULL => Ok(count(cache.cull_all())),
        PMDA_CACHE_STRINGS => cache.use_strings().map(|()| 0),
        PMDA_CACHE_ACTIVE => Ok(count(cache.activate_all())),
        PMDA_CACHE_INACTIVE => Ok(count(cache.deactivate_all())),
        PMDA_CACHE_SIZE => Ok(count(cache.inserted() as usize)),
        PMDA_CACHE_SIZE_ACTIVE => Ok(count(cache.active())),
        PMDA_CACHE_SIZE_INACTIVE => Ok(count(cache.inactive())),
        PMDA_CACHE_REUSE => {
            cache.reuse();
            Ok(0)
        }
        PMDA_CACHE_WALK_REWIND => {
            cache.rewind();
            Ok(0)
        }
        PMDA_CACHE_REORG => cache.reorganize().map(|()| 0),
        PMDA_CACHE_DUMP | PMDA_CACHE_DUMP_ALL => {
            let dump = cache.dump(op == PMDA_CACHE_DUMP_ALL);
            cache.journal.trace(Bytes(&dump));
            Ok(0)
        }
        _ => Err(Error::EINVAL),
    })
}

/// LOAD. Pieces of the file are read without the lock, and applied one by one. Its frame is not
/// there while [`find_directory`] has the stack.
#[inline(never)]
fn load(token: &mut Token, indom: InDom) -> Result<c_int> {
    // The domain gets a cache in any case (CACHE-5).
    let path = path(token, indom)?;
    with(token, indom, |_| Ok(()))?;
    let mut file = cancel::disabled(|| CacheFile::open(path))?;
    loop {
        cancel::disabled(|| file.read());
        if let Some(loaded) = with(token, indom, |cache| cache.load(&mut file))? {
            return Ok(count(loaded));
        }
    }
}

#[inline(never)]
fn is_due(token: &mut Token, indom: InDom, when: Write) -> Result<bool> {
    with(token, indom, |cache| Ok(cache.is_due(when)))
}

/// SAVE, SYNC and WRITE: writes the file if that is due, without the lock; once more if another
/// thread has done so meanwhile. Its frame is not there earlier, like that of [`load`].
#[inline(never)]
fn save(token: &mut Token, indom: InDom, when: Write) -> Result<c_int> {
    let now = now();
    loop {
        let Some(snapshot) = begin_save(token, indom, when, now)? else {
            return Ok(0);
        };
        let result = cancel::disabled(|| snapshot.write());
        if let Some(saved) = end_save(token, indom, &snapshot, result)? {
            return Ok(count(saved));
        }
    }
}

fn begin_save(token: &mut Token, indom: InDom, when: Write, now: i64) -> Result<Option<Snapshot>> {
    let path = path(token, indom)?;
    with(token, indom, |cache| cache.begin_save(when, path, now))
}

fn end_save(token: &mut Token, indom: InDom, snapshot: &Snapshot, result: io::Result<()>) -> Result<Option<usize>> {
    with(token, indom, |cache| cache.saved(snapshot, result))
}

/// Finds the directory of the cache files at its first use (CACHE-72), without the lock. It takes
/// much of the stack, so nothing else is there.
#[inline(never)]
fn find_directory(token: &mut Token) -> Result<()> {
    if state::lock(token)?.caches.directory.is_some() {
        return Ok(());
    }
    config::with_optional(c"PCP_VAR_DIR", |variable| remember_directory(token, variable)).unwrap_or(Err(Error::GENERIC))
}

/// Out of line: its frame is not there while libpcp reads pcp.conf.
#[inline(never)]
fn remember_directory(token: &mut Token, variable: &CStr) -> Result<()> {
    let path = cancel::disabled(|| directory_below(variable.to_bytes()))?;
    state::lock(token)?.caches.directory.get_or_insert(path);
    Ok(())
}

/// The file of a domain's cache, after [`find_directory`].
fn path(token: &mut Token, indom: InDom) -> Result<FilePath> {
    let globals = state::lock(token)?;
    let directory = globals.caches.directory.as_ref().ok_or(Error::GENERIC)?;
    file_path(directory, indom)
}

/// Culls the instances that were saved more than `recent` seconds ago and not stored since; returns
/// their number. What was attached to them is added to the list, in ascending order of ids.
/// `PM_ERR_INDOM`, `-ENOMEM`.
pub(crate) fn purge(
    token: &mut Token,
    indom: InDom,
    recent: i64,
    attached: Option<&mut Vec<Private>>,
) -> Result<c_int> {
    let limit = now().saturating_sub(recent);
    with(token, indom, |cache| cache.purge(limit, attached)).map(count)
}

/// Tells the agent about each culled instance, after all were culled.
pub(crate) struct Purge {
    callback: Option<Free>,
    /// How many were culled.
    pub(crate) number: c_int,
    attached: NoDropCell<vec::IntoIter<Private>>,
}

impl Purge {
    /// Culls the instances of [`purge`].
    ///
    /// # Errors
    /// As [`purge`].
    pub(crate) fn new(token: &mut Token, indom: InDom, recent: i64, callback: Option<Free>) -> Result<Purge> {
        let mut attached = Vec::new();
        let number = purge(token, indom, recent, Some(&mut attached))?;
        Ok(Purge {
            callback,
            number,
            attached: NoDropCell::new(attached.into_iter()),
        })
    }

    /// The next call; none after the last one.
    pub(crate) fn next(&mut self) -> Option<(Free, Private)> {
        let next = self.attached.get().and_then(Iterator::next);
        let call = self.callback.zip(next);
        if call.is_none() {
            drop(self.attached.take());
        }
        call
    }
}
