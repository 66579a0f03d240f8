//! Values on the heap that do not end the process: without memory there is an error.

use crate::error::{Error, Result};

/// Puts a value on the heap, as `Box::new` does, but returns an error without memory, instead of
/// ending the process. The value is the only element of an array, since std offers this for lists
/// only.
///
/// # Errors
/// `-ENOMEM`.
pub fn try_box<T>(value: T) -> Result<Box<[T; 1]>> {
    let mut place = Vec::new();
    place.try_reserve_exact(1).map_err(|_| Error::ENOMEM)?;
    place.push(value);
    place.into_boxed_slice().try_into().map_err(|_| Error::ENOMEM)
}

/// Puts a value on the heap and never frees it, as `Box::leak` does; see [`try_box`].
///
/// # Errors
/// `-ENOMEM`.
pub fn try_leak<T: 'static>(value: T) -> Result<&'static mut T> {
    let [value] = Box::leak(try_box(value)?);
    Ok(value)
}
