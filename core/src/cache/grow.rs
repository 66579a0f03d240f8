//! Lists that grow by less than std's, so that little memory is unused.

use crate::error::{Error, Result};

pub(super) fn room<E>(list: &mut Vec<E>, more: usize) -> Result<()> {
    if list.capacity() - list.len() >= more {
        return Ok(());
    }
    let more = more.max(growth::<E>(list.len()));
    list.try_reserve_exact(more).map_err(|_| Error::ENOMEM)
}

/// The number of elements by which a list grows: small ones double, others get a quarter more
/// (DEF-14). malloc has no block of less than 24 bytes.
fn growth<E>(len: usize) -> usize {
    match len * size_of::<E>() {
        0 => 16 / size_of::<E>(),
        1..1024 => len,
        _ => len / 4,
    }
}
