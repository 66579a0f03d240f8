//! The operations on a whole instance cache: `pmdaCacheOp`.

use std::ffi::{OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use once_cell::sync::OnceCell;

use super::cache::{CACHES, count, now, with};
use super::guard::guard;
use super::types::pmInDom;
use crate::cache::{Place, Write};
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
        1 | 6 | 18 | 21 => return transfer(indom, op),
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

/// LOAD, SAVE, SYNC and WRITE.
fn transfer(indom: pmInDom, op: c_int) -> Result<c_int> {
    let when = match op {
        6 => Some(Write::Save),
        18 => Some(Write::Sync),
        21 => Some(Write::Always),
        _ => None,
    };
    // Nothing is touched, not even the directory, when nothing is to be written (CACHE-70).
    if let Some(when) = when {
        if !with(indom, |cache, _| Ok(cache.is_due(when)))? {
            return Ok(0);
        }
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

/// The place of the cache files, found at its first use (CACHE-72).
fn place() -> Result<&'static Place> {
    static PLACE: OnceCell<Option<Place>> = OnceCell::new();
    let find = || {
        let variable = config::optional(c"PCP_VAR_DIR")?;
        Some(Place::below(Path::new(OsStr::from_bytes(&variable))))
    };
    PLACE.get_or_init(find).as_ref().ok_or(Error::GENERIC)
}
