//! Lists that grow by less than std's, so that little memory is unused.

use crate::error::{Error, Result};

/// Reserves memory for `more` elements, and for some beyond them, so that lists grow seldom.
///
/// # Errors
/// `-ENOMEM`; the list is unchanged.
pub(super) fn reserve<E>(list: &mut Vec<E>, more: usize) -> Result<()> {
    if list.capacity() - list.len() >= more {
        return Ok(());
    }
    let more = more.max(growth::<E>(list.len()));
    list.try_reserve_exact(more).map_err(|_| Error::ENOMEM)
}

/// The number of elements by which a list grows: small lists double, others get a quarter more, so
/// that little memory is unused at any size (DEF-14). The first block has 16 bytes, since malloc
/// has none of less than 24.
fn growth<E>(len: usize) -> usize {
    match len * size_of::<E>() {
        0 => 16 / size_of::<E>(),
        1..1024 => len,
        _ => len / 4,
    }
}
