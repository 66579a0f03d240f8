//! The event arrays of the process: an agent packs events into one, as the value of a metric.

pub(crate) mod exports;

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::state;
use crate::sys::lock::Token;
use crate::sys::refusal::Refusable;
use crate::view::arg::{In, Needed};
use crate::view::types::{timespec, timeval, wide};
use pmda_core::error::{Error, Result};
use pmda_core::events::{self, EventArray, Form, Stamp};

/// Works on the array of a handle.
///
/// # Errors
/// `PM_ERR_NOCONTEXT` for an unknown handle, `-ENOMEM`; errors of the work.
pub(crate) fn with<T, E: From<Error>>(
    token: &mut Token,
    handle: c_int,
    work: impl FnOnce(&mut EventArray) -> Result<T, E>,
) -> Result<T, E> {
    work(state::lock(token)?.arrays.get(handle)?)
}

/// Makes an array, for an agent or for a queue. Returns its handle.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn create(token: &mut Token) -> Result<c_int> {
    state::lock(token)?.arrays.create()
}

/// Frees an array.
///
/// # Errors
/// `PM_ERR_NOCONTEXT` for an unknown handle.
pub(crate) fn release(token: &mut Token, handle: c_int) -> Result<()> {
    state::lock(token)?.arrays.release(handle)
}

/// The address of an array, NULL for an unknown handle (EVENT-13). The bytes are in the block of a
/// vector, which comes from malloc: so they are aligned for each field of the C structures.
pub(crate) fn address(token: &mut Token, handle: c_int, form: Form) -> *mut c_void {
    let publish = |array: &mut EventArray| -> Result<_> { Ok(array.publish(form).as_mut_ptr().cast()) };
    with(token, handle, publish).unwrap_or(ptr::null_mut())
}

/// The time stamp of a record in microseconds.
///
/// # Errors
/// `-EINVAL` without a time.
pub(crate) fn low(when: In<'_, timeval>) -> Refusable<Stamp> {
    let when = when.get().needed(&"tv")?;
    Ok(Stamp::Low(wide(when.tv_sec), wide(when.tv_usec)))
}

/// The time stamp of a record in nanoseconds.
///
/// # Errors
/// `-EINVAL` without a time.
pub(crate) fn high(when: In<'_, timespec>) -> Refusable<Stamp> {
    let when = when.get().needed(&"ts")?;
    Ok(Stamp::High(wide(when.tv_sec), wide(when.tv_nsec)))
}

/// Starts a record. As in the C library, the flags are checked before the time.
///
/// # Errors
/// `PM_ERR_CONV` when the flags claim a missed record; errors of `stamp` and of
/// [`EventArray::add_record`].
pub(crate) fn add_record(
    array: &mut EventArray,
    flags: c_int,
    stamp: impl FnOnce() -> Refusable<Stamp>,
) -> Refusable<()> {
    let flags = flags as u32;
    if flags & events::PM_EVENT_FLAG_MISSED != 0 {
        return Err(Error::CONV.into());
    }
    Ok(array.add_record(stamp()?, flags)?)
}

/// Adds a record that says that `count` events were missed.
///
/// # Errors
/// That of `stamp`, and those of [`EventArray::add_missed`].
pub(crate) fn add_missed(array: &mut EventArray, stamp: Refusable<Stamp>, count: c_int) -> Refusable<()> {
    Ok(array.add_missed(stamp?, count)?)
}
