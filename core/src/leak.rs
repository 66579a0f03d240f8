//! Values that stay until the process ends.

use crate::error::{Error, Result};

/// Puts a value on the heap and never frees it, as `Box::leak` does, but without memory it returns
/// an error instead of ending the process.
///
/// # Errors
/// `-ENOMEM`.
pub fn try_leak<T: 'static>(value: T) -> Result<&'static mut T> {
    let mut place = Vec::new();
    place.try_reserve_exact(1).map_err(|_| Error::ENOMEM)?;
    place.push(value);
    place.leak().first_mut().ok_or(Error::ENOMEM)
}
