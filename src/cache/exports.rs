//! The instance caches: `pmdaCache*`.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use crate::boundary::{Guarded, guard, guarded, returned, try_guarded};
use crate::cache::{self, Purge, open, with};
use crate::sys::CFile;
use crate::sys::refusal::Refusable;
use crate::view::arg::{CText, Needed, Out, Private};
use crate::view::buffer::CBytes;
use crate::view::types::{pmInDom, time_t, wide};
use pmda_core::cache::Entry;
use pmda_core::constants::{PMDA_CACHE_LOAD, PMDA_CACHE_SAVE, PMDA_CACHE_SYNC, PMDA_CACHE_WALK_NEXT, PMDA_CACHE_WRITE};
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;

/// Stores the name, id and pointer of the entry that a lookup has found where C wants them. Returns
/// its state.
///
/// # Safety
/// The entry is in a cache of the state: such a cache is never freed, and keeps the name until the
/// instance is culled and reclaimed, as `pmdaCacheLookup` tells its caller.
unsafe fn give(
    entry: &Entry<Private>,
    name: Out<'_, *mut c_char>,
    inst: Out<'_, c_int>,
    private: Out<'_, *mut c_void>,
) -> c_int {
    if !name.is_null() {
        // SAFETY: the name stays for as long as the manual says, as the caller promises.
        unsafe { name.set_text(entry.terminated()) };
    }
    inst.set(entry.id());
    private.set_private(entry.private());
    entry.state() as c_int
}

/// Adds, hides or culls the instance `name` (`PMDA_CACHE_ADD`, `PMDA_CACHE_HIDE`,
/// `PMDA_CACHE_CULL`).
///
/// # Returns
/// The id of the instance; `PM_ERR_INST` if it does not exist and is not to be added, `-EINVAL` if
/// only its short name is known, or for other flags, `PM_ERR_GENERIC` without a name or a free id,
/// `PM_ERR_INDOM` for `PM_INDOM_NULL`.
///
/// # Safety
/// `name` is NULL or a C string. `private_` is kept and given back, never followed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCacheStore(
    indom: pmInDom,
    flags: c_int,
    name: Option<CText<'_>>,
    private_: Option<Private>,
) -> c_int {
    guard(|token| {
        let name = name.as_ref().map(CText::bytes);
        with(token, InDom(indom), |cache| cache.store(flags, name, private_))
    })
}

/// As [`pmdaCacheStore`], with an id made of `keylen` bytes of `key`, or of the name when there is
/// no key.
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
    name: Option<CText<'_>>,
    keylen: c_int,
    key: *const c_void,
    private_: Option<Private>,
) -> c_int {
    // SAFETY: NULL or a key of that length, as the caller promises. It is copied before code of C
    // runs again.
    let key = unsafe { CBytes::new(key, keylen) };
    guard(|token| {
        let name = name.as_ref().map(CText::bytes);
        with(token, InDom(indom), |cache| {
            cache.store_key(flags, name, key.bytes(), private_)
        })
    })
}

/// Looks up instance `inst`.
///
/// # Returns
/// `PMDA_CACHE_ACTIVE` or `PMDA_CACHE_INACTIVE`; `PM_ERR_INST` if there is none. The name belongs
/// to the cache and stays valid until the instance is culled and reclaimed.
///
/// # Safety
/// `name` and `private_` are each NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCacheLookup(
    indom: pmInDom,
    inst: c_int,
    name: Out<'_, *mut c_char>,
    private_: Out<'_, *mut c_void>,
) -> c_int {
    guard(|token| {
        open(token, InDom(indom), |cache| -> Result<_> {
            // SAFETY: `open` works on a cache of the state.
            Ok(unsafe { give(cache.lookup(inst)?, name, Out::NONE, private_) })
        })
    })
}

/// Looks up the instance `name`.
///
/// # Returns
/// As [`pmdaCacheLookup`], for the instance that has the same short name (up to the first blank),
/// whatever follows.
///
/// # Safety
/// `name` is NULL or a C string; `inst` and `private_` are each NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCacheLookupName(
    indom: pmInDom,
    name: Option<CText<'_>>,
    inst: Out<'_, c_int>,
    private_: Out<'_, *mut c_void>,
) -> c_int {
    guard(|token| {
        open(token, InDom(indom), |cache| -> Refusable<_> {
            let entry = cache.lookup_name(name.needed_or(&"name", Error::INST)?.bytes())?;
            // SAFETY: `open` works on a cache of the state.
            Ok(unsafe { give(entry, Out::NONE, inst, private_) })
        })
    })
}

/// Looks up the instance with a key, or with the name as its key when there is no key.
///
/// # Returns
/// As [`pmdaCacheLookup`].
///
/// # Safety
/// `name` is NULL or a C string; `key` is NULL or valid for reads of `keylen` bytes; `oname`,
/// `inst` and `private_` are each NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaCacheLookupKey(
    indom: pmInDom,
    name: Option<CText<'_>>,
    keylen: c_int,
    key: *const c_void,
    oname: Out<'_, *mut c_char>,
    inst: Out<'_, c_int>,
    private_: Out<'_, *mut c_void>,
) -> c_int {
    // SAFETY: NULL or a key of that length, as the caller promises. No code of C runs while it is
    // read.
    let key = unsafe { CBytes::new(key, keylen) };
    guard(|token| {
        with(token, InDom(indom), |cache| {
            let name = name.as_ref().map(CText::bytes);
            // SAFETY: `with` works on a cache of the state.
            Ok(unsafe { give(cache.lookup_key(name, key.bytes())?, oname, inst, private_) })
        })
    })
}

/// Culls the instances that were saved more than `recent` seconds ago and not stored since.
///
/// # Returns
/// The number of culled instances; `PM_ERR_INDOM` for `PM_INDOM_NULL`, `-ENOMEM`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaCachePurge(indom: pmInDom, recent: time_t) -> c_int {
    guard(|token| cache::purge(token, InDom(indom), wide(recent), None))
}

/// As [`pmdaCachePurge`]. `callback` gets the pointer that was attached to each instance, in
/// ascending order of ids.
///
/// # Returns
/// As [`pmdaCachePurge`].
///
/// # Safety
/// `callback` is NULL or may be called with each pointer that was attached. It may call any
/// function of the cache.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaCachePurgeCallback(
    indom: pmInDom,
    recent: time_t,
    callback: Option<unsafe extern "C-unwind" fn(*mut c_void)>,
) -> c_int {
    let purge = || -> Guarded<c_int> {
        let mut purge = try_guarded(|token| Purge::new(token, InDom(indom), wide(recent), callback))?;
        while let Some((callback, private)) = guarded(|_| purge.next())? {
            // SAFETY: the function may be called with each pointer that the agent has attached, as
            // the caller promises. The instance is culled, so the cache does not return the pointer
            // again. This frame has nothing to drop.
            unsafe { callback(private.as_ptr()) };
        }
        Ok(purge.number)
    };
    returned(purge())
}

/// Sets the greatest id that the cache may hand out.
///
/// # Returns
/// 0; `PM_ERR_SIGN` for a negative number, `PM_ERR_TOOBIG` if an instance has a greater id.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaCacheResize(indom: pmInDom, maximum: c_int) -> c_int {
    guard(|token| with(token, InDom(indom), |cache| cache.resize(maximum)))
}

/// Prints a cache, with its hash chains if `do_hash` is not 0; nothing if there is none.
///
/// # Safety
/// `stream` is an open stdio stream or NULL, for which nothing is printed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaCacheDump(stream: Option<CFile>, indom: pmInDom, do_hash: c_int) {
    guard(|token| {
        if let Some(stream) = stream {
            let text = cache::dump(token, InDom(indom), do_hash != 0);
            stream.write(token, &text);
        }
    });
}

/// Prints all caches, the newest first.
///
/// # Safety
/// `stream` is an open stdio stream or NULL, for which nothing is printed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaCacheDumpAll(stream: Option<CFile>, do_hash: c_int) {
    guard(|token| {
        if let Some(stream) = stream {
            cache::dump_all(token, do_hash != 0, |token, text| stream.write(token, text));
        }
    });
}

/// Does an operation on the whole cache: one of the `PMDA_CACHE_*` macros from LOAD on. It may
/// write to stderr and to libpcp's log.
///
/// # Returns
/// What the operation counts or finds; -1 at the end of a walk; `-EINVAL` for an unknown operation,
/// `PM_ERR_INDOM` for `PM_INDOM_NULL`, `-errno` or `PM_ERR_GENERIC` when a file cannot be read or
/// written.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaCacheOp(indom: pmInDom, op: c_int) -> c_int {
    let indom = InDom(indom);
    guard(|token| match op {
        PMDA_CACHE_WALK_NEXT => cache::walk_next(token, indom),
        PMDA_CACHE_LOAD | PMDA_CACHE_SAVE | PMDA_CACHE_SYNC | PMDA_CACHE_WRITE => cache::persist(token, indom, op),
        _ => cache::operate(token, indom, op),
    })
}
