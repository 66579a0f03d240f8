//! What the library keeps until the process ends.

use crate::error::{Error, Result};

/// Keeps a value for good. It stays where it is.
///
/// # Errors
/// `-ENOMEM`.
pub fn forever<T: 'static>(value: T) -> Result<&'static T> {
    let mut place = Vec::new();
    place.try_reserve_exact(1).map_err(|_| Error::NOMEM)?;
    place.push(value);
    let place: &'static [T] = place.leak();
    place.first().ok_or(Error::NOMEM)
}
