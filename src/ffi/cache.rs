//! The instance caches: `pmdaCache*`.
//!
//! One lock guards all caches of the process. It is never held while C runs: what there is to log is written out, and
//! purge callbacks are called, after it was released (CACHE-7).

use std::ffi::{OsStr, c_char, c_int, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use super::lock::Mutex;
use once_cell::sync::OnceCell;

use super::arg;
use super::guard::guard;
use super::types::pmInDom;
use crate::cache::{Action, Cache, Caches, Hit, Place, Report, Write};
use crate::error::{Error, Result};
use crate::ident::InDom;
use crate::libpcp::config;
use crate::libpcp::log::{self, Debug};

/// What the agent attaches to an instance. It is the agent's, and is never looked into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Private(NonNull<c_void>);

// SAFETY: the pointer is only handed back, never followed; what it points to is the agent's affair.
unsafe impl Send for Private {}

impl fmt::Pointer for Private {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.0, out)
    }
}

impl Private {
    fn new(pointer: *mut c_void) -> Option<Private> {
        NonNull::new(pointer).map(Private)
    }
}

static CACHES: Mutex<Caches<Private>> = Mutex::new(Caches::new());

/// Counts the calls that made an instance of any domain active, or ended that.
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// A number that changes whenever an instance of any domain becomes active, or ceases to be.
pub(super) fn changes() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}

/// Works on the cache of a domain if there is one.
pub(super) fn peek<R>(indom: InDom, work: impl FnOnce(&mut Cache<Private>) -> R) -> Option<R> {
    CACHES.lock().get(indom).map(work)
}

/// Works on the cache of a domain, made if need be, and then writes out what there is to say.
fn with<R>(indom: pmInDom, work: impl FnOnce(&mut Cache<Private>, &mut Report) -> Result<R>) -> Result<R> {
    let mut report = Report {
        debug: log::debug(Debug::Indom),
        ..Report::default()
    };
    let result = CACHES.lock().open(InDom(indom)).and_then(|cache| {
        let before = cache.changes();
        let result = work(cache, &mut report);
        if cache.changes() != before {
            CHANGES.fetch_add(1, Ordering::Relaxed);
        }
        result
    });
    log::flush(&mut report.journal);
    result
}

/// What a lookup gives to C, taken out of the cache.
struct Found {
    state: c_int,
    id: c_int,
    name: *mut c_char,
    private: *mut c_void,
}

impl From<Hit<'_, Private>> for Found {
    fn from(hit: Hit<'_, Private>) -> Found {
        Found {
            state: hit.state as c_int,
            id: hit.id,
            name: hit.name.as_ptr().cast::<c_char>().cast_mut(),
            private: hit.private.map_or(ptr::null_mut(), |private| private.0.as_ptr()),
        }
    }
}

fn count(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

/// The place of the cache files, found at its first use (CACHE-72).
fn place() -> Result<&'static Place> {
    static PLACE: OnceCell<Option<Place>> = OnceCell::new();
    let find = || {
        let variable = config::optional(c"PCP_VAR_DIR")?;
        Some(Place::below(Path::new(OsStr::from_bytes(&variable))))
    };
    PLACE.get_or_init(find).as_ref().ok_or(Error::GENERIC)
}

/// Seconds since 1970.
fn now() -> i64 {
    // SAFETY: time() accepts NULL.
    unsafe { libc::time(ptr::null_mut()) }
}

/// Adds, hides or culls the instance `name` (`PMDA_CACHE_ADD`, `PMDA_CACHE_HIDE`, `PMDA_CACHE_CULL`).
///
/// # Returns
/// The id of the instance; `PM_ERR_INST` if it is not there and not to be added, `-EINVAL` if only its short name is
/// known, or for other flags, `PM_ERR_GENERIC` without a name or a free id, `PM_ERR_INDOM` for `PM_INDOM_NULL`.
///
/// # Safety
/// `name` is NULL or a C string. `private_` is kept and given back, never followed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCacheStore(
    indom: pmInDom,
    flags: c_int,
    name: *const c_char,
    private_: *mut c_void,
) -> c_int {
    guard(|| {
        // SAFETY: as the contract above says; the string is only used during this call.
        let name = unsafe { arg::bytes(name) };
        with(indom, |cache, report| {
            cache.store(Action::new(flags), name, Private::new(private_), report)
        })
    })
}

/// As [`pmdaCacheStore`], with an id made of `keylen` bytes of `key`, or of the name when there is no key.
///
/// # Returns
/// As [`pmdaCacheStore`]; also `PM_ERR_INST` when name and key belong to different instances.
///
/// # Safety
/// `name` is NULL or a C string; `key` is NULL or valid for reads of `keylen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCacheStoreKey(
    indom: pmInDom,
    flags: c_int,
    name: *const c_char,
    keylen: c_int,
    key: *const c_void,
    private_: *mut c_void,
) -> c_int {
    guard(|| {
        // SAFETY: as the contract above says; both are only used during this call.
        let (name, key) = unsafe { (arg::bytes(name), arg::slice(key.cast::<u8>(), keylen)) };
        with(indom, |cache, report| {
            cache.store_key(Action::new(flags), name, key, Private::new(private_), report)
        })
    })
}

/// Looks up instance `inst`.
///
/// # Returns
/// `PMDA_CACHE_ACTIVE` or `PMDA_CACHE_INACTIVE`; `PM_ERR_INST` if there is none. The name belongs to the cache and
/// stays valid until the instance is culled and reclaimed.
///
/// # Safety
/// `name` and `private_` are each NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCacheLookup(
    indom: pmInDom,
    inst: c_int,
    name: *mut *mut c_char,
    private_: *mut *mut c_void,
) -> c_int {
    guard(|| {
        let found = CACHES.lock().open(InDom(indom))?.lookup(inst).map(Found::from)?;
        // SAFETY: NULL or valid for one write, as the contract above says.
        unsafe {
            arg::store(name, found.name);
            arg::store(private_, found.private);
        }
        Ok(found.state)
    })
}

/// Looks up the instance `name`.
///
/// # Returns
/// As [`pmdaCacheLookup`]; `-EINVAL` when only the short name fits.
///
/// # Safety
/// `name` is NULL or a C string; `inst` and `private_` are each NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCacheLookupName(
    indom: pmInDom,
    name: *const c_char,
    inst: *mut c_int,
    private_: *mut *mut c_void,
) -> c_int {
    guard(|| {
        // SAFETY: as the contract above says; the string is only used during this call.
        let name = unsafe { arg::bytes(name) };
        let found = {
            let mut caches = CACHES.lock();
            let cache = caches.open(InDom(indom))?;
            cache.lookup_name(name.ok_or(Error::INST)?).map(Found::from)?
        };
        // SAFETY: NULL or valid for one write, as the contract above says.
        unsafe {
            arg::store(inst, found.id);
            arg::store(private_, found.private);
        }
        Ok(found.state)
    })
}

/// Looks up the instance with a key, or with the name as its key when there is no key.
///
/// # Returns
/// As [`pmdaCacheLookup`].
///
/// # Safety
/// `name` is NULL or a C string; `key` is NULL or valid for reads of `keylen` bytes; `oname`, `inst` and `private_`
/// are each NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCacheLookupKey(
    indom: pmInDom,
    name: *const c_char,
    keylen: c_int,
    key: *const c_void,
    oname: *mut *mut c_char,
    inst: *mut c_int,
    private_: *mut *mut c_void,
) -> c_int {
    guard(|| {
        // SAFETY: as the contract above says; both are only used during this call.
        let (name, key) = unsafe { (arg::bytes(name), arg::slice(key.cast::<u8>(), keylen)) };
        let found = with(indom, |cache, report| {
            cache.lookup_key(name, key, report).map(Found::from)
        })?;
        // SAFETY: NULL or valid for one write, as the contract above says.
        unsafe {
            arg::store(oname, found.name);
            arg::store(inst, found.id);
            arg::store(private_, found.private);
        }
        Ok(found.state)
    })
}

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
    guard(|| operate(indom, op))
}

/// The operations by their numbers.
fn operate(indom: pmInDom, op: c_int) -> Result<c_int> {
    if InDom(indom).is_null() {
        return Err(Error::INDOM);
    }
    match op {
        16 => return Ok(c_int::from(CACHES.lock().get(InDom(indom)).is_some())),
        1 | 6 | 18 | 21 => return transfer(indom, op),
        _ => {}
    }
    if op == 15 {
        // Walking changes nothing and has nothing to say.
        return Ok(CACHES.lock().open(InDom(indom))?.walk().unwrap_or(-1));
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
        17 => {
            cache.reorganize();
            Ok(0)
        }
        19 | 20 => {
            report.journal.trace(cache.dump(op == 20));
            Ok(0)
        }
        _ => Err(Error::INVAL),
    })
}

/// LOAD, SAVE, SYNC and WRITE.
fn transfer(indom: pmInDom, op: c_int) -> Result<c_int> {
    let when = match op {
        6 => Some(Write::Save),
        18 => Some(Write::Sync),
        21 => Some(Write::Always),
        _ => None,
    };
    // Nothing is touched, not even the directory, when nothing is to be written (CACHE-70).
    if let Some(when) = when
        && !with(indom, |cache, _| Ok(cache.is_due(when)))?
    {
        return Ok(0);
    }
    // Both ask C, so before the caches are locked again.
    let (place, now) = (place()?, now());
    with(indom, |cache, report| {
        let number = match when {
            Some(when) => cache.save(when, place, now, report)?,
            None => cache.load(place, report)?,
        };
        Ok(count(number))
    })
}

/// Culls the instances that were saved more than `recent` seconds ago and not stored since.
///
/// # Returns
/// How many.
///
/// # Safety
/// None of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCachePurge(indom: pmInDom, recent: libc::time_t) -> c_int {
    guard(|| purge(indom, recent).map(|(number, _)| count(number)))
}

/// As [`pmdaCachePurge`]; `callback` gets what was attached to each instance, in ascending order of ids.
///
/// # Returns
/// How many were culled.
///
/// # Safety
/// `callback` is NULL or may be called with each pointer that was attached. It may call any function of the cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCachePurgeCallback(
    indom: pmInDom,
    recent: libc::time_t,
    callback: Option<unsafe extern "C" fn(*mut c_void)>,
) -> c_int {
    guard(|| {
        let (number, attached) = purge(indom, recent)?;
        if let Some(callback) = callback {
            for private in attached {
                // SAFETY: as the contract above says; no lock is held.
                unsafe { callback(private.0.as_ptr()) };
            }
        }
        Ok(count(number))
    })
}

fn purge(indom: pmInDom, recent: libc::time_t) -> Result<(usize, Vec<Private>)> {
    let limit = now().saturating_sub(recent);
    with(indom, |cache, _| Ok(cache.purge(limit)))
}

/// Sets the greatest id that the cache may hand out.
///
/// # Returns
/// 0; `PM_ERR_SIGN` for a negative number, `PM_ERR_TOOBIG` if an instance has a greater id.
///
/// # Safety
/// None of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCacheResize(indom: pmInDom, maximum: c_int) -> c_int {
    guard(|| with(indom, |cache, _| cache.resize(maximum)))
}

/// Prints a cache, with its hash chains if `do_hash` is not 0; nothing if there is none.
///
/// # Safety
/// `stream` is an open stdio stream or NULL, for which nothing is printed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaCacheDump(stream: *mut libc::FILE, indom: pmInDom, do_hash: c_int) {
    guard(|| {
        let text = peek(InDom(indom), |cache| cache.dump(do_hash != 0));
        // SAFETY: as the contract above says.
        unsafe { print(stream, &text.unwrap_or_default()) };
    });
}

/// Prints all caches, the newest first.
///
/// # Safety
/// `stream` is an open stdio stream or NULL, for which nothing is printed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaCacheDumpAll(stream: *mut libc::FILE, do_hash: c_int) {
    guard(|| {
        let mut text = Vec::new();
        for cache in CACHES.lock().newest_first() {
            text.append(&mut cache.dump(do_hash != 0));
        }
        // SAFETY: as the contract above says.
        unsafe { print(stream, &text) };
    });
}

/// Writes through stdio, in order with what the caller wrote.
///
/// # Safety
/// `stream` is an open stdio stream or NULL, for which nothing is printed.
unsafe fn print(stream: *mut libc::FILE, text: &[u8]) {
    if !text.is_empty() && !stream.is_null() {
        // SAFETY: an open stream by the contract above, and the bytes of a slice.
        unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stream) };
    }
}
