//! The instance caches: `pmdaCache*`.
//!
//! One lock guards all caches of the process. It is never held while C runs: what there is to log is written out, and
//! purge callbacks are called, after it was released (CACHE-7).

use std::ffi::{c_char, c_int, c_void};
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use super::arg;
use super::guard::guard;
use super::lock::{Mutex, room};
use super::mark::outside;
use super::types::{pmInDom, time_t, wide};
use crate::cache::{Action, Cache, Caches, Hit, Report};
use crate::error::{Error, Result};
use crate::ident::InDom;
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

pub(super) static CACHES: Mutex<Caches<Private>, { room::CACHES }> = Mutex::new(Caches::new());

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
#[inline]
pub(super) fn with<R>(indom: pmInDom, work: impl FnOnce(&mut Cache<Private>, &mut Report) -> Result<R>) -> Result<R> {
    let mut report = Report {
        debug: log::debug(Debug::Indom),
        ..Report::default()
    };
    let result = CACHES.lock().open(InDom(indom)).and_then(|cache| {
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

/// Gives to C what a lookup found.
///
/// # Safety
/// `name`, `inst` and `private` are each NULL or valid for one write.
#[inline]
unsafe fn give(hit: Hit<'_, Private>, name: *mut *mut c_char, inst: *mut c_int, private: *mut *mut c_void) -> c_int {
    // SAFETY: NULL or valid for one write each, as the contract above says.
    unsafe {
        if !name.is_null() {
            name.write(hit.terminated().as_ptr().cast::<c_char>().cast_mut());
        }
        arg::store(inst, hit.id());
        arg::store(
            private,
            hit.private().map_or(ptr::null_mut(), |private| private.0.as_ptr()),
        );
    }
    hit.state() as c_int
}

pub(super) fn count(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    // Where the C library's time() may have 32 bits only, Rust knows the other one.
    #[cfg(target_pointer_width = "32")]
    return std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs() as i64);
    // SAFETY: time() accepts NULL.
    #[cfg(target_pointer_width = "64")]
    unsafe {
        libc::time(ptr::null_mut())
    }
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
        // SAFETY: as the contract above says; the string is only used during this call, and not after it was freed.
        let name = unsafe { arg::bytes(name) };
        let (action, private) = (Action::new(flags), Private::new(private_));
        with(indom, |cache, report| cache.store(action, name, private, report))
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
        // SAFETY: as the contract above says; both are only used during this call, and not after they were freed.
        let (name, key) = unsafe { (arg::bytes(name), arg::slice(key.cast::<u8>(), keylen)) };
        let (action, private) = (Action::new(flags), Private::new(private_));
        with(indom, |cache, report| {
            cache.store_key(action, name, key, private, report)
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
        let mut caches = CACHES.lock();
        let hit = caches.open(InDom(indom))?.lookup(inst)?;
        // SAFETY: as the contract above says.
        Ok(unsafe { give(hit, name, ptr::null_mut(), private_) })
    })
}

/// Looks up the instance `name`.
///
/// # Returns
/// As [`pmdaCacheLookup`], for the instance that has the same short name (up to the first blank), whatever follows.
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
        let mut caches = CACHES.lock();
        let cache = caches.open(InDom(indom))?;
        let hit = cache.lookup_name(name.ok_or(Error::INST)?)?;
        // SAFETY: as the contract above says.
        Ok(unsafe { give(hit, ptr::null_mut(), inst, private_) })
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
        with(indom, |cache, report| {
            let hit = cache.lookup_key(name, key, report)?;
            // SAFETY: as the contract above says.
            Ok(unsafe { give(hit, oname, inst, private_) })
        })
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
pub unsafe extern "C" fn pmdaCachePurge(indom: pmInDom, recent: time_t) -> c_int {
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
    recent: time_t,
    callback: Option<unsafe extern "C" fn(*mut c_void)>,
) -> c_int {
    guard(|| {
        let (number, attached) = purge(indom, recent)?;
        if let Some(callback) = callback {
            for private in attached {
                // SAFETY: as the contract above says; no lock is held.
                outside(|| unsafe { callback(private.0.as_ptr()) });
            }
        }
        Ok(count(number))
    })
}

fn purge(indom: pmInDom, recent: time_t) -> Result<(usize, Vec<Private>)> {
    let limit = now().saturating_sub(wide(recent));
    with(indom, |cache, _| cache.purge(limit))
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
