//! The operations on a whole instance cache.

use std::ffi::c_int;
use std::sync::OnceLock;
use std::time::Duration;

use crate::cache::count;
use crate::cache::domains;
use crate::cache::peek;
use crate::cache::with;
use crate::drive::machine::{Machine, Step};
use crate::sys::libpcp::cancel;
use crate::sys::libpcp::config;
use crate::sys::process::{is_there, now, this_thread};
use pmda_core::cache::{Cache, CacheFile, Directory, Op, SaveState, Write, Writer};
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;
use pmda_core::log::Bytes;

/// The next active instance of a walk, or -1. Walking changes nothing and has nothing to say.
///
/// # Errors
/// `PM_ERR_INDOM` for `PM_INDOM_NULL`.
#[inline(always)]
pub(crate) fn walk_next(indom: InDom) -> Result<c_int> {
    match domains::with(indom, Cache::walk_near).flatten() {
        Some(inst) => Ok(inst),
        None => walk_far(indom),
    }
}

/// As [`walk_next`], for any step: what is not done here needs no registers to be saved.
#[inline(never)]
fn walk_far(indom: InDom) -> Result<c_int> {
    domains::change(indom, |cache| Ok(cache.walk().unwrap_or(-1)))
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
        Some(Op::Check) => return Ok(c_int::from(peek(indom, |_| ()).is_some())),
        Some(Op::Load) => return load(indom),
        Some(Op::WalkNext) => return walk_next(indom),
        _ => {}
    }
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
    let directory = directory()?;
    let path = with(indom, |cache, _| cache.path(directory))?;
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
    directory: &'static Directory,
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

    /// A save that is due.
    ///
    /// # Errors
    /// 0 when nothing is to be written; `PM_ERR_INDOM` for `PM_INDOM_NULL`, `PM_ERR_GENERIC` and
    /// `-errno` without a directory.
    pub(crate) fn new(indom: InDom, when: Write) -> std::result::Result<Save, Result<c_int>> {
        // Nothing is touched, not even the directory, when nothing is to be written (CACHE-70).
        if !with(indom, |cache, _| Ok(cache.is_due(when))).map_err(Err)? {
            return Err(Ok(0));
        }
        // All of these ask C, so before the caches are locked again.
        Ok(Save {
            indom,
            when,
            directory: directory().map_err(Err)?,
            now: now(),
            me: this_thread(),
        })
    }

    /// Writes the file, unless another thread does; `None` to wait for that.
    fn save(&self) -> Result<Option<c_int>> {
        let begin = || {
            with(self.indom, |cache, _| {
                cache.begin_save(self.when, self.directory, self.now, self.me)
            })
        };
        let snapshot = loop {
            match begin()? {
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
        with(self.indom, |cache, report| {
            Ok(Some(count(cache.saved(&snapshot, result, self.me, report)?)))
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

    fn answer(&mut self, (): ()) -> Step<Duration, Result<c_int>> {
        self.start()
    }
}

/// The directory of the cache files, found at its first use (CACHE-72). libpcp is asked while
/// nothing is held, and what it could not say for want of memory is asked again.
fn directory() -> Result<&'static Directory> {
    static DIRECTORY: OnceLock<Directory> = OnceLock::new();
    if let Some(directory) = DIRECTORY.get() {
        return Ok(directory);
    }
    let variable = config::optional(c"PCP_VAR_DIR").ok_or(Error::GENERIC)?;
    let directory = Directory::below(&variable)?;
    Ok(DIRECTORY.get_or_init(|| directory))
}
