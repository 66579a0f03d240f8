//! What is kept for an agent whose `pmdaExt` was made by hand, and has no record of ours: it is
//! found by the address, and stays.

use crate::sys::lock::Mutex;
use crate::view::ext::Ext;
use pmda_core::error::Result;
use pmda_core::forever::forever;
use pmda_core::index::Map;

/// Such parts of one kind, by address.
pub(super) type Parts<T, const ROOM: usize> = Mutex<Map<&'static T>, ROOM>;

/// The part of an agent, made when it is asked for first.
///
/// # Errors
/// `-ENOMEM`.
#[cold]
pub(super) fn part<T, const ROOM: usize>(
    parts: &Parts<T, ROOM>,
    ext: Ext<'_>,
    new: impl FnOnce() -> T,
) -> Result<&'static T> {
    let address = ext.as_ptr().addr() as u64;
    let mut known = parts.lock();
    if let Some(part) = known.get(address) {
        return Ok(part);
    }
    known.reserve(1)?;
    let part = forever(new())?;
    known.get_or_insert_with(address, || part).copied()
}
