//! The operations on a whole instance cache. The last of them culls instances that were not stored
//! for some time, and has what was attached to them freed.

use std::ffi::{CStr, c_int};
use std::time::Duration;
use std::{io, vec};

use crate::cache::{change, count, peek, with};
use crate::drive::{Machine, NoDropCell, Step};
use crate::sys::libpcp::{cancel, config};
use crate::sys::lock::Mutex;
use crate::sys::process::{is_there, now, this_thread};
use crate::view::arg::Private;
use crate::view::methods::Free;
use pmda_core::cache::{Cache, CacheFile, Directory, Op, SaveState, Snapshot, Write, Writer};
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;
use pmda_core::log::Bytes;
use pmda_core::path::FilePath;

/// The next active instance of a walk, or -1. Walking changes nothing and has nothing to say.
///
/// # Errors
/// `PM_ERR_INDOM` for `PM_INDOM_NULL`.
#[inline(always)]
pub(crate) fn walk_next(indom: InDom) -> Result<c_int> {
    match peek(indom, Cache::walk_near).flatten() {
        Some(inst) => Ok(inst),
        None => walk_far(indom),
    }
}

/// As [`walk_next`], for any step: what is not done here needs no registers to be saved.
#[inline(never)]
fn walk_far(indom: InDom) -> Result<c_int> {
    change(indom, |cache| Ok(cache.walk().unwrap_or(-1)))
}

/// Does an operation that writes no file; none for an unknown one.
///
/// # Errors
/// `PM_ERR_INDOM` for `PM_INDOM_NULL`, `-EINVAL` for an unknown operation, and what reading a file
/// may give.
pub(crate) fn operate(indom: InDom, op: Option<Op>) -> Result<c_int> {
    if indom.is_null() {
        return Err(Error::INDOM);
    }
    match op {
        Some(Op::Check) => Ok(c_int::from(peek(indom, |_| ()).is_some())),
        Some(Op::Load) => load(indom),
        Some(Op::WalkNext) => walk_next(indom),
        _ => work(indom, op),
    }
}

/// Does an operation in memory. Apart from [`load`], which needs stack of its own.
#[inline(never)]
fn work(indom: InDom, op: Option<Op>) -> Result<c_int> {
    // An unknown operation makes the cache, too.
    with(indom, |cache, report| match op {
        Some(Op::Cull) => Ok(count(cache.cull_all())),
        Some(Op::Strings) => cache.use_strings().map(|()| 0),
        Some(Op::Active) => Ok(count(cache.activate_all())),
        Some(Op::Inactive) => Ok(count(cache.deactivate_all())),
        Some(Op::Size) => Ok(count(cache.inserted() as usize)),
        Some(Op::SizeActive) => Ok(count(cache.active())),
        Some(Op::SizeInactive) => Ok(count(cache.inactive())),
        Some(Op::Reuse) => {
            cache.reuse();
            Ok(0)
        }
        Some(Op::WalkRewind) => {
            cache.rewind();
            Ok(0)
        }
        Some(Op::Reorganize) => cache.reorganize().map(|()| 0),
        Some(op @ (Op::Dump | Op::DumpAll)) => {
            report.journal.trace(Bytes(&cache.dump(op == Op::DumpAll)));
            Ok(0)
        }
        _ => Err(Error::INVAL),
    })
}

/// LOAD. The file is read while nothing is locked, and each piece is applied before the next one is
/// read.
fn load(indom: InDom) -> Result<c_int> {
    find_directory()?;
    load_found(indom)
}

/// LOAD when it is known where the file is.
#[inline(never)]
fn load_found(indom: InDom) -> Result<c_int> {
    // The domain gets a cache, whatever becomes of the file (CACHE-5).
    let path = path(indom)?;
    with(indom, |_, _| Ok(()))?;
    let mut file = cancel::disabled(|| CacheFile::open(path))?;
    loop {
        cancel::disabled(|| file.read());
        if let Some(loaded) = with(indom, |cache, report| cache.load(&mut file, report))? {
            return Ok(count(loaded));
        }
    }
}

/// SAVE, SYNC and WRITE. The file is written while nothing is locked; of several threads that save
/// one cache, each waits for the one before.
pub(crate) struct Save {
    indom: InDom,
    when: Write,
    now: i64,
    me: Writer,
}

impl Save {
    /// When an operation writes the file, if it does.
    pub(crate) fn when(op: Op) -> Option<Write> {
        match op {
            Op::Save => Some(Write::Save),
            Op::Sync => Some(Write::Sync),
            Op::Write => Some(Write::Always),
            _ => None,
        }
    }

    /// Whether a save is due: 1 when it is, and the directory of the files is known then. Before
    /// the save itself, as finding the directory takes much of the stack.
    ///
    /// # Errors
    /// `PM_ERR_INDOM` for `PM_INDOM_NULL`, `PM_ERR_GENERIC` and `-errno` without a directory.
    pub(crate) fn prepare(indom: InDom, when: Write) -> Result<c_int> {
        // Nothing is touched, not even the directory, when nothing is to be written (CACHE-70).
        if !is_due(indom, when)? {
            return Ok(0);
        }
        find_directory().map(|()| 1)
    }

    /// A save that is due.
    pub(crate) fn new(indom: InDom, when: Write) -> Save {
        // Both ask C, so before the caches are locked again.
        Save {
            indom,
            when,
            now: now(),
            me: this_thread(),
        }
    }

    /// Writes the file, unless another thread does; `None` to wait for that.
    fn save(&self) -> Result<Option<c_int>> {
        let snapshot = loop {
            match self.begin()? {
                SaveState::Done => return Ok(Some(0)),
                SaveState::Write(snapshot) => break snapshot,
                SaveState::Wait(other) if is_there(other) => return Ok(None),
                SaveState::Wait(other) => with(self.indom, |cache, _| {
                    cache.abandon(other);
                    Ok(())
                })?,
            }
        };
        let result = cancel::disabled(|| snapshot.write());
        self.end(&snapshot, result).map(Some)
    }

    #[inline(never)]
    fn begin(&self) -> Result<SaveState> {
        let path = path(self.indom)?;
        with(self.indom, |cache, _| {
            cache.begin_save(self.when, path, self.now, self.me)
        })
    }

    #[inline(never)]
    fn end(&self, snapshot: &Snapshot, result: io::Result<()>) -> Result<c_int> {
        with(self.indom, |cache, report| {
            Ok(count(cache.saved(snapshot, result, self.me, report)?))
        })
    }
}

impl Machine for Save {
    /// To sleep for a while.
    type Call = Duration;
    type Answer = ();
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Duration, Result<c_int>> {
        match self.save() {
            Ok(Some(saved)) => Step::Done(Ok(saved)),
            Ok(None) => Step::Call(Duration::from_millis(1)),
            Err(error) => Step::Done(Err(error)),
        }
    }

    fn resume(&mut self, (): ()) -> Step<Duration, Result<c_int>> {
        self.start()
    }
}

#[inline(never)]
fn is_due(indom: InDom, when: Write) -> Result<bool> {
    with(indom, |cache, _| Ok(cache.is_due(when)))
}

/// Where the files of all caches are.
static DIRECTORY: Mutex<Directory> = Mutex::new(Directory::unknown());

/// Finds the directory of the cache files at its first use (CACHE-72). libpcp is asked while
/// nothing is held, and what it could not say for want of memory is asked again. It takes much of
/// the stack, so nothing else is there meanwhile.
#[inline(never)]
fn find_directory() -> Result<()> {
    if DIRECTORY.lock().is_known() {
        return Ok(());
    }
    config::with_optional(c"PCP_VAR_DIR", remember_directory).unwrap_or(Err(Error::GENERIC))
}

/// Out of line: its frame is not there while libpcp reads pcp.conf.
#[inline(never)]
fn remember_directory(variable: &CStr) -> Result<()> {
    let path = Directory::below(variable.to_bytes())?;
    DIRECTORY.lock().set(&path)
}

/// The file of a domain's cache, below the directory that was found.
fn path(indom: InDom) -> Result<FilePath> {
    DIRECTORY.lock().file(indom)
}

/// Culls the instances that were saved more than `recent` seconds ago and not stored since. Gives
/// their number, and what was attached to them, in ascending order of ids.
///
/// # Errors
/// `PM_ERR_INDOM`, `-ENOMEM`.
pub(crate) fn purge(indom: InDom, recent: i64) -> Result<(c_int, Vec<Private>)> {
    let limit = now().saturating_sub(recent);
    let (number, attached) = with(indom, |cache, _| cache.purge(limit))?;
    Ok((count(number), attached))
}

/// Tells the agent about each culled instance, after all were culled.
pub(crate) struct Purge {
    callback: Option<Free>,
    number: c_int,
    attached: NoDropCell<vec::IntoIter<Private>>,
}

impl Purge {
    /// Culls the instances of [`purge`].
    ///
    /// # Errors
    /// As [`purge`].
    pub(crate) fn new(indom: InDom, recent: i64, callback: Option<Free>) -> Result<Purge> {
        let (number, attached) = purge(indom, recent)?;
        Ok(Purge {
            callback,
            number,
            attached: NoDropCell::new(attached.into_iter()),
        })
    }

    fn step(&mut self) -> Step<(Free, Private), Result<c_int>> {
        let next = self.attached.get().and_then(Iterator::next);
        if let Some(call) = self.callback.zip(next) {
            return Step::Call(call);
        }
        drop(self.attached.take());
        Step::Done(Ok(self.number))
    }
}

impl Machine for Purge {
    type Call = (Free, Private);
    type Answer = ();
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<(Free, Private), Result<c_int>> {
        self.step()
    }

    fn resume(&mut self, (): ()) -> Step<(Free, Private), Result<c_int>> {
        self.step()
    }
}
