//! Values on the heap that do not end the process: without memory there is an error.

use crate::error::{Error, Result};

/// Puts a value on the heap, as `Box::new` does, but returns an error without memory, instead of
/// ending the process. The value is the only element of an array, since std offers this for lists
/// only.
///
/// # Errors
/// `-ENOMEM`.
pub fn try_box<T>(value: T) -> Result<Box<[T; 1]>> {
    let mut list = Vec::new();
    list.try_reserve_exact(1).map_err(|_| Error::ENOMEM)?;
    list.push(value);
    list.into_boxed_slice().try_into().map_err(|_| Error::ENOMEM)
}

/// Puts a value on the heap and never frees it, as `Box::leak` does; see [`try_box`].
///
/// # Errors
/// `-ENOMEM`.
pub fn try_leak<T: 'static>(value: T) -> Result<&'static mut T> {
    let [value] = Box::leak(try_box(value)?);
    Ok(value)
}

/// A value on the heap that is made at first use. Before that it is one pointer that is NULL, and
/// takes no memory.
pub struct LazyBox<T>(Option<Box<[T; 1]>>);

impl<T> LazyBox<T> {
    /// No value yet.
    #[must_use]
    pub const fn new() -> LazyBox<T> {
        LazyBox(None)
    }

    /// The value, if it was made.
    #[inline(always)]
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref().map(|[value]| value)
    }

    /// The value, if it was made.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut().map(|[value]| value)
    }

    /// The value, which `make` makes if there is none.
    ///
    /// # Errors
    /// `-ENOMEM`; there is no value then.
    #[inline(always)]
    pub fn get_or_make(&mut self, make: impl FnOnce() -> T) -> Result<&mut T> {
        if self.0.is_none() {
            self.fill(make)?;
        }
        self.get_mut().ok_or(Error::ENOMEM)
    }

    /// Makes the value. It is not inlined: the value is on the stack of this frame alone.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[cold]
    #[inline(never)]
    fn fill(&mut self, make: impl FnOnce() -> T) -> Result<()> {
        self.0 = Some(try_box(make())?);
        Ok(())
    }
}

impl<T> Default for LazyBox<T> {
    fn default() -> LazyBox<T> {
        LazyBox::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value is made once, and takes no memory before.
    #[test]
    fn made_at_first_use() {
        let mut lazy = LazyBox::default();
        assert_eq!(size_of_val(&lazy), size_of::<usize>());
        assert_eq!(lazy.get(), None);
        assert_eq!(lazy.get_mut(), None);
        *lazy.get_or_make(|| 1).expect("memory") += 1;
        assert_eq!(lazy.get_or_make(|| 7), Ok(&mut 2));
        assert_eq!(lazy.get(), Some(&2));
        assert_eq!(lazy.get_mut(), Some(&mut 2));
    }
}
