//! The operations on a whole instance cache: `pmdaCacheOp`.

use std::ffi::{OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use once_cell::sync::OnceCell;

use super::attributes;
use super::cache::{CACHES, count, now, with};
use super::guard::guard;
use super::types::pmInDom;
use crate::cache::{Content, Place, Turn, Write, Writer};
use crate::error::{Error, Result};
use crate::ident::InDom;
use crate::libpcp::config;
use crate::log::Bytes;

/// Does an operation on the whole cache: one of the `PMDA_CACHE_*` macros from LOAD on.
///
/// # Returns
/// What the operation counts or finds; -1 at the end of a walk; `-EINVAL` for an unknown operation, `PM_ERR_INDOM`
/// for `PM_INDOM_NULL`, `-errno` or `PM_ERR_GENERIC` when a file cannot be read or written.
///
/// # Safety
/// None of its own; it writes to stderr and to libpcp's log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCacheOp(indom: pmInDom, op: c_int) -> c_int {
    guard(|| {
        if op == WALK_NEXT {
            // Walking changes nothing and has nothing to say.
            return Ok(CACHES.lock().open(InDom(indom))?.walk().unwrap_or(-1));
        }
        operate(indom, op)
    })
}

/// `PMDA_CACHE_WALK_NEXT`.
const WALK_NEXT: c_int = 15;

/// The operations by their numbers.
fn operate(indom: pmInDom, op: c_int) -> Result<c_int> {
    if InDom(indom).is_null() {
        return Err(Error::INDOM);
    }
    match op {
        16 => return Ok(c_int::from(CACHES.lock().get(InDom(indom)).is_some())),
        1 => return load(indom),
        6 => return save(indom, Write::Save),
        18 => return save(indom, Write::Sync),
        21 => return save(indom, Write::Always),
        _ => {}
    }
    with(indom, |cache, report| match op {
        4 => Ok(count(cache.cull_all())),
        7 => cache.use_strings().map(|()| 0),
        8 => Ok(count(cache.activate_all())),
        9 => Ok(count(cache.deactivate_all())),
        10 => Ok(count(cache.inserted() as usize)),
        11 => Ok(count(cache.active())),
        12 => Ok(count(cache.inactive())),
        13 => {
            cache.reuse();
            Ok(0)
        }
        14 => {
            cache.rewind();
            Ok(0)
        }
        17 => cache.reorganize().map(|()| 0),
        19 | 20 => {
            report.journal.trace(Bytes(&cache.dump(op == 20)));
            Ok(0)
        }
        _ => Err(Error::INVAL),
    })
}

/// SAVE, SYNC and WRITE. The file is written while nothing is locked; of several threads that save one cache, each
/// waits for the one before.
fn save(indom: pmInDom, when: Write) -> Result<c_int> {
    // Nothing is touched, not even the directory, when nothing is to be written (CACHE-70).
    if !with(indom, |cache, _| Ok(cache.is_due(when)))? {
        return Ok(0);
    }
    // All of these ask C, so before the caches are locked again.
    let (place, now, me) = (place()?, now(), this_thread());
    let snapshot = loop {
        match with(indom, |cache, _| cache.begin_save(when, place, now, me))? {
            Turn::Done => return Ok(0),
            Turn::Write(snapshot) => break snapshot,
            Turn::Wait(other) if is_there(other) => thread::sleep(Duration::from_millis(1)),
            Turn::Wait(other) => with(indom, |cache, _| {
                cache.abandon(other);
                Ok(())
            })?,
        }
    };
    let result = snapshot.write(attributes::same);
    with(indom, |cache, report| {
        Ok(count(cache.saved(&snapshot, result, me, report)?))
    })
}

/// LOAD. The file is read while nothing is locked, and then applied.
fn load(indom: pmInDom) -> Result<c_int> {
    let place = place()?;
    let path = with(indom, |cache, _| cache.path(place))?;
    let content = Content::read(&path)?;
    with(indom, |cache, report| Ok(count(cache.load(&path, content, report)?)))
}

/// The calling thread.
fn this_thread() -> Writer {
    // SAFETY: neither has arguments, nor can it fail.
    let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
    Writer { process, thread }
}

/// Whether a thread of this process is still there: one that was ended in the middle of a save does not come back.
fn is_there(writer: Writer) -> bool {
    // SAFETY: the system call looks for a thread and sends it nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, writer.process, writer.thread, 0) == 0 }
}

/// The place of the cache files, found at its first use (CACHE-72). libpcp is asked while nothing is held, and what it
/// could not say for want of memory is asked again.
fn place() -> Result<&'static Place> {
    static PLACE: OnceCell<Place> = OnceCell::new();
    if let Some(place) = PLACE.get() {
        return Ok(place);
    }
    let variable = config::optional(c"PCP_VAR_DIR").ok_or(Error::GENERIC)?;
    let place = Place::below(Path::new(OsStr::from_bytes(&variable)))?;
    Ok(PLACE.get_or_init(|| place))
}
