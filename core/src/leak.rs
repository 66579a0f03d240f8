//! Boxes that return an error without memory.

use crate::error::{Error, Result};

/// Puts a value on the heap, as `Box::new` does, or fails without memory. (As an array: std makes
/// only lists in this way.)
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
