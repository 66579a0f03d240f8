//! The instance caches of the process: the way to one of them, the operations on a whole one, and
//! the lookups of the families that walk over instances (fetches, instance requests, labels).
//!
//! A file is read and written apart from the lock ([`Token::apart`]), so that lookups do not wait.
//! A cache writes its messages into a journal, which is written out in the same way. Purge
//! callbacks are called between steps (CACHE-7).

pub(crate) mod exports;

use std::ffi::{CStr, c_int};
use std::{io, mem, vec};

use crate::agent::InstanceWalk;
use crate::boundary::NoDropCell;
use crate::state;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::sys::{keeping_errno, libpcp, now};
use crate::view::arg::Private;
use crate::view::interface::Free;
use crate::view::table::ListKey;
use pmda_core::cache::{
    Cache, CacheFile, EntryState, Position, Snapshot, WalkEntry, WalkStart, Write, changes, directory_below, file_path,
};
use pmda_core::constants::*;
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;
use pmda_core::log::Whole;
use pmda_core::path::FilePath;

/// Works on the cache of a domain, if the cache exists.
pub(crate) fn peek<R>(token: &mut Token, indom: InDom, work: impl FnOnce(&mut Cache<Private>) -> R) -> Option<R> {
    let globals = state::peek(token)?;
    Some(work(globals.caches.find(indom)?))
}

/// Works on the cache of a domain, which is made if it does not exist (CACHE-5). The work writes no
/// messages.
///
/// # Errors
/// `PM_ERR_INDOM` for `PM_INDOM_NULL`, `-ENOMEM`; errors of the work.
pub(crate) fn open<R, E: From<Error>>(
    token: &mut Token,
    indom: InDom,
    work: impl FnOnce(&mut Cache<Private>) -> Result<R, E>,
) -> Result<R, E> {
    let globals = state::lock(token)?;
    work(globals.caches.open(indom)?)
}

/// [`open`] for work that may write messages: they are written out afterwards, without the lock.
///
/// # Errors
/// As [`open`].
pub(crate) fn with<R>(
    token: &mut Token,
    indom: InDom,
    work: impl FnOnce(&mut Cache<Private>) -> Result<R>,
) -> Result<R> {
    let globals = state::lock(token)?;
    let cache = globals.caches.open(indom)?;
    cache.debug = log::debug(Debug::Indom);
    let result = work(cache);
    if cache.journal.messages.is_empty() {
        return result;
    }
    let mut journal = mem::take(&mut cache.journal);
    log::flush(token, &mut journal);
    result
}

/// A number as C's functions return it.
fn count(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

/// A cache as text, with its hash chains if `chains`; empty if the cache does not exist.
pub(crate) fn dump(token: &mut Token, indom: InDom, chains: bool) -> Vec<u8> {
    peek(token, indom, |cache| cache.dump(chains)).unwrap_or_default()
}

/// Writes all caches as texts, one by one, the newest first. Other threads may have the lock
/// between two of them.
pub(crate) fn dump_all(token: &mut Token, chains: bool, write: impl Fn(&mut Token, &[u8])) {
    let count = state::peek(token).map_or(0, |globals| globals.caches.caches.len());
    for ordinal in (0..count).rev() {
        let cache = state::peek(token).and_then(|globals| globals.caches.nth_created(ordinal));
        if let Some(text) = cache.map(|cache| cache.dump(chains)) {
            write(token, &text);
        }
    }
}

/// The next active instance of a walk over a cache, or -1 at its end. The cache is made if it does
/// not exist (CACHE-5).
///
/// # Errors
/// `PM_ERR_INDOM` for `PM_INDOM_NULL`, `-ENOMEM`.
pub(crate) fn walk_next(token: &mut Token, indom: InDom) -> Result<c_int> {
    open(token, indom, |cache| Ok(cache.walk().unwrap_or(-1)))
}

/// Reads or writes the file of a domain's cache: LOAD, SAVE, SYNC and WRITE. Files, and the search
/// for their directory, need much of the stack. So the steps are functions of their own, which are
/// not inlined: no frame has more on the stack than its own step needs.
///
/// # Errors
/// `PM_ERR_INDOM` for `PM_INDOM_NULL`, and the errors of reading or writing a file.
#[inline(never)]
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
    // If nothing has to be written, nothing is touched, not even the directory (CACHE-70).
    if !is_due(token, indom, when)? {
        return Ok(0);
    }
    keeping_errno(|| {
        find_directory(token)?;
        save(token, indom, when)
    })
}

/// Does an operation that needs no file.
///
/// # Errors
/// `PM_ERR_INDOM` for `PM_INDOM_NULL`, `-EINVAL` for an unknown operation, `-ENOMEM`.
#[inline(never)]
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
        PMDA_CACHE_REORG => {
            cache.reorganize();
            Ok(0)
        }
        PMDA_CACHE_DUMP | PMDA_CACHE_DUMP_ALL => {
            let dump = cache.dump(op == PMDA_CACHE_DUMP_ALL);
            cache.journal.trace(Whole(&dump));
            Ok(0)
        }
        _ => Err(Error::EINVAL),
    })
}

/// LOAD: reads pieces of the file without the lock, and applies each under the lock. Returns the
/// number of instances.
///
/// # Errors
/// `-errno` of the file, `PM_ERR_GENERIC` for a file with errors, `-ENOMEM`.
#[inline(never)]
fn load(token: &mut Token, indom: InDom) -> Result<c_int> {
    // The domain gets a cache in any case (CACHE-5).
    let path = path(token, indom)?;
    with(token, indom, |_| Ok(()))?;
    let mut file = match token.apart(|| CacheFile::open(path)) {
        Ok(file) => file,
        Err(error) => {
            let error = error.into();
            with(token, indom, |cache| {
                cache.load_failed(error);
                Ok(())
            })?;
            return Err(error);
        }
    };
    let loaded = load_pieces(token, indom, &mut file);
    token.apart(|| drop(file));
    loaded
}

/// The loop of [`load`], with an open file.
///
/// # Errors
/// As [`load`].
fn load_pieces(token: &mut Token, indom: InDom, file: &mut CacheFile) -> Result<c_int> {
    loop {
        token.apart(|| file.read());
        if let Some(loaded) = with(token, indom, |cache| cache.load(file))? {
            return Ok(count(loaded));
        }
    }
}

/// Returns whether a save has something to write (CACHE-70).
///
/// # Errors
/// `-ENOMEM` when the cache cannot be made.
#[inline(never)]
fn is_due(token: &mut Token, indom: InDom, when: Write) -> Result<bool> {
    with(token, indom, |cache| Ok(cache.is_due(when)))
}

/// SAVE, SYNC and WRITE: collects the text of the file under the lock, if a save is due, and writes
/// it without. It does so once more if another thread has saved the cache meanwhile. Returns the
/// number of instances.
///
/// # Errors
/// `-errno` of the file, `-ENOMEM`.
#[inline(never)]
fn save(token: &mut Token, indom: InDom, when: Write) -> Result<c_int> {
    let now = now();
    loop {
        let Some(snapshot) = begin_save(token, indom, when, now)? else {
            return Ok(0);
        };
        let result = token.apart(|| snapshot.write());
        if let Some(saved) = end_save(token, indom, &snapshot, result)? {
            return Ok(count(saved));
        }
    }
}

/// The text to write, or `None` if nothing is due. It is a function of its own: its frame is not on
/// the stack while the file is written.
///
/// # Errors
/// `-ENOMEM`.
fn begin_save(token: &mut Token, indom: InDom, when: Write, now: i64) -> Result<Option<Snapshot>> {
    let path = path(token, indom)?;
    with(token, indom, |cache| cache.begin_save(when, path, now))
}

/// Takes over the result of a write. Returns the number of instances, or `None` if the file has to
/// be written again.
///
/// # Errors
/// `-errno` of the file.
fn end_save(token: &mut Token, indom: InDom, snapshot: &Snapshot, result: io::Result<()>) -> Result<Option<usize>> {
    with(token, indom, |cache| cache.saved(snapshot, result))
}

/// Finds the directory of the cache files at the first use of one (CACHE-72), without the lock. It
/// needs much of the stack: see [`persist`].
///
/// # Errors
/// `PM_ERR_GENERIC` if pcp.conf names no directory, `-ENOMEM`.
#[inline(never)]
fn find_directory(token: &mut Token) -> Result<()> {
    if state::lock(token)?.caches.directory.is_some() {
        return Ok(());
    }
    libpcp::with_optional_config(token, c"PCP_VAR_DIR", remember_directory).unwrap_or(Err(Error::GENERIC))
}

/// Keeps the directory. It is not inlined: its frame is not on the stack while libpcp reads
/// pcp.conf.
///
/// # Errors
/// `-ENOMEM`.
#[inline(never)]
fn remember_directory(token: &mut Token, variable: &CStr) -> Result<()> {
    let path = token.apart(|| directory_below(variable.to_bytes()))?;
    state::lock(token)?.caches.directory.get_or_insert(path);
    Ok(())
}

/// The path of the file of a domain's cache, after [`find_directory`].
///
/// # Errors
/// `PM_ERR_GENERIC` without a directory, `-ENOMEM`.
fn path(token: &mut Token, indom: InDom) -> Result<FilePath> {
    let globals = state::lock(token)?;
    let directory = globals.caches.directory.as_ref().ok_or(Error::GENERIC)?;
    file_path(directory, indom)
}

/// Culls the instances that were saved more than `recent` seconds ago and not stored since; returns
/// their number. Their ids, and the pointers that were attached to them, are added to the list, in
/// ascending order of ids.
///
/// # Errors
/// `PM_ERR_INDOM` for `PM_INDOM_NULL`, `-ENOMEM`.
pub(crate) fn purge(
    token: &mut Token,
    indom: InDom,
    recent: i64,
    attached: Option<&mut Vec<(u32, Private)>>,
) -> Result<c_int> {
    let limit = now().saturating_sub(recent);
    with(token, indom, |cache| cache.purge(limit, attached)).map(count)
}

/// A purge that calls the agent for each culled instance, after all were culled.
pub(crate) struct Purge {
    callback: Option<Free>,
    /// The number of culled instances.
    pub(crate) number: c_int,
    attached: NoDropCell<vec::IntoIter<(u32, Private)>>,
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

    /// The function and the argument of the next call; `None` after the last one, and then nothing
    /// is owned any more.
    pub(crate) fn next(&mut self) -> Option<(Free, Private)> {
        let next = self.attached.get().and_then(Iterator::next);
        let call = self.callback.zip(next.map(|(_, private)| private));
        if call.is_none() {
            drop(self.attached.take());
        }
        call
    }
}

/// Returns whether the domain has a cache; then its table is ignored (INST-10).
#[inline(always)]
pub(crate) fn exists(token: &mut Token, indom: InDom) -> bool {
    peek(token, indom, |_| ()).is_some()
}

/// The start of a walk over the domain; `None` without a cache.
pub(crate) fn start(token: &mut Token, indom: InDom) -> Option<WalkStart> {
    peek(token, indom, |cache| cache.start())
}

/// Number of active instances; `None` without a cache.
pub(crate) fn active_count(token: &mut Token, indom: InDom) -> Option<c_int> {
    peek(token, indom, |cache| {
        c_int::try_from(cache.active()).unwrap_or(c_int::MAX)
    })
}

/// The number of instances that are read at once, at most: the first step of a walk reads one, as
/// its caller may want no more.
const AHEAD: usize = 16;

/// Active instances of a cached domain that were read ahead, so that the cache is looked up once
/// for several.
///
/// Callbacks run between two steps of a walk. So an instance that was read ahead is returned only
/// if no instance was stored, made active or inactive, or reclaimed since it was read (INST-41).
/// The structure has nothing to drop, since a callback may leave by `longjmp` while it is on the
/// stack.
pub(crate) struct InstancesAhead {
    /// The instances that were read; `None` before the first read, since a walk over a table needs
    /// none.
    read: Option<[WalkEntry; AHEAD]>,
    /// The place of the next one.
    next: usize,
    /// Their number.
    len: usize,
    /// The number that the next read asks for.
    batch: usize,
    /// The position of the walk: after the instance that was returned last.
    after: Position,
    /// The domain that they were read from; and the list, if only instances of a list were read.
    source: Option<(InDom, Option<ListKey>)>,
    /// [`changes`] when they were read.
    changes: u32,
}

impl InstancesAhead {
    /// Nothing is read yet, and one step may be enough.
    pub(crate) const fn new() -> InstancesAhead {
        InstancesAhead {
            read: None,
            next: 0,
            len: 0,
            batch: 1,
            after: Position::END,
            source: None,
            changes: 0,
        }
    }

    /// Forgets what was read, for a walk of more than one step.
    pub(crate) fn reset(&mut self) {
        self.source = None;
        (self.next, self.len, self.batch) = (0, 0, AHEAD);
    }

    /// The next active instance of a walk, which goes on after this instance.
    #[inline(always)]
    pub(crate) fn next(&mut self, token: &mut Token, walk: &InstanceWalk, indom: InDom) -> Option<i32> {
        match self.next_read(walk, indom, None) {
            Some(inst) => Some(inst),
            None => self.read(token, walk, indom, None, Cache::read_active),
        }
    }

    /// The next active instance of a walk over the instances of a list, if it was read ahead.
    pub(crate) fn next_listed(&mut self, walk: &InstanceWalk, indom: InDom, list: ListKey) -> Option<i32> {
        self.next_read(walk, indom, Some(list))
    }

    /// The next instance that was read ahead, if a read would find the same one now: it is a walk
    /// over the same domain and list, from the same position, and nothing has changed.
    #[inline(always)]
    fn next_read(&mut self, walk: &InstanceWalk, indom: InDom, list: Option<ListKey>) -> Option<i32> {
        let (domain, read) = self.source?;
        let is_current = walk.position() == self.after && domain.0 == indom.0 && changes() == self.changes;
        if read != list || self.next >= self.len || !is_current {
            return None;
        }
        let entry = *self.read.as_ref()?.get(self.next)?;
        self.next += 1;
        Some(self.give(walk, entry))
    }

    /// Lets the walk go on after an instance.
    #[inline(always)]
    fn give(&mut self, walk: &InstanceWalk, entry: WalkEntry) -> i32 {
        self.after = entry.next;
        walk.go_on(entry.next);
        entry.inst
    }

    /// The next active instance of a walk over the instances of a list. `listed` has them in
    /// ascending order, and `key` is the key of the list.
    pub(crate) fn read_listed(
        &mut self,
        token: &mut Token,
        walk: &InstanceWalk,
        indom: InDom,
        key: ListKey,
        listed: &[i32],
    ) -> Option<i32> {
        self.read(token, walk, indom, Some(key), |cache, from, buffer| {
            cache.read_listed(from, listed, buffer)
        })
    }

    /// Reads instances from the position of the walk on, and returns the first.
    fn read(
        &mut self,
        token: &mut Token,
        walk: &InstanceWalk,
        indom: InDom,
        list: Option<ListKey>,
        read: impl FnOnce(&Cache<Private>, Position, &mut [WalkEntry]) -> usize,
    ) -> Option<i32> {
        self.source = None;
        if walk.position() == Position::END {
            return None;
        }
        // Instances that were read ahead are left, and of no use: a callback has changed the
        // domain, and may do so again. So less is read.
        if self.next < self.len {
            self.batch = 1;
        }
        self.changes = changes();
        let nothing = WalkEntry {
            inst: 0,
            next: Position::END,
        };
        let buffer = &mut self.read.get_or_insert([nothing; AHEAD])[..self.batch];
        self.len = peek(token, indom, |cache| {
            let from = walk.resume(cache.inserted());
            read(cache, from, buffer)
        })?;
        self.source = Some((indom, list));
        let first = buffer[..self.len].first().copied();
        self.batch = (self.batch * 4).min(AHEAD);
        self.next = 1;
        match first {
            Some(entry) => Some(self.give(walk, entry)),
            None => {
                walk.go_on(Position::END);
                None
            }
        }
    }
}

/// The active instance with a name, as `pmdaCacheLookupName` finds it (INST-65).
pub(crate) fn find_name(token: &mut Token, indom: InDom, name: &[u8]) -> Option<i32> {
    peek(token, indom, |cache| {
        let hit = cache
            .lookup_name(name)
            .ok()
            .filter(|hit| hit.state() == EntryState::Active)?;
        Some(hit.id())
    })?
}

/// Calls `use_it` with the name of an active instance, while the lock is held.
///
/// # Errors
/// `PM_ERR_INST` if there is no such instance; errors of `use_it`.
pub(crate) fn with_name<R>(
    token: &mut Token,
    indom: InDom,
    inst: i32,
    use_it: impl FnOnce(&[u8]) -> Result<R>,
) -> Result<R> {
    let outcome = peek(token, indom, |cache| {
        let hit = cache.lookup(inst)?;
        match hit.state() {
            EntryState::Active => use_it(hit.name()),
            _ => Err(Error::INST),
        }
    });
    outcome.unwrap_or(Err(Error::INST))
}

/// Calls `use_them` with the cache of a domain. The lock is held meanwhile.
///
/// # Errors
/// `PM_ERR_INDOM` without a cache; errors of `use_them`.
pub(crate) fn with_all<R>(
    token: &mut Token,
    indom: InDom,
    use_them: impl FnOnce(&mut Cache<Private>) -> Result<R>,
) -> Result<R> {
    peek(token, indom, use_them).unwrap_or(Err(Error::INDOM))
}
