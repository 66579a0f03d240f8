//! The handles of arrays.

use super::Array;
use crate::error::{Error, Result};
use crate::handles::{self, Handles};

/// All arrays of the process by handle. Arrays of either form and the private arrays of queues
/// share one table (EVENT-10, EVENT-11).
#[derive(Debug, Default)]
pub struct Arrays(Handles<Array>);

impl Arrays {
    /// No arrays.
    #[must_use]
    pub const fn new() -> Arrays {
        Arrays(Handles::new())
    }

    /// Whether there never was one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.slots() == 0
    }

    /// Makes a new array and gives the lowest free handle (EVENT-12).
    ///
    /// # Errors
    /// `-ENOMEM` when handles or memory run out; nothing has changed then.
    pub fn create(&mut self) -> Result<i32> {
        let slot = self.0.vacant()?;
        self.0.put(slot, Array::new()?);
        handles::handle(slot)
    }

    /// The array of a handle.
    ///
    /// # Errors
    /// `PM_ERR_NOCONTEXT` when there is none (EVENT-13).
    #[inline]
    pub fn get(&mut self, handle: i32) -> Result<&mut Array> {
        let slot = handles::slot(handle);
        slot.and_then(|slot| self.0.get_mut(slot)).ok_or(Error::NOCONTEXT)
    }

    /// Frees an array; its handle is given to the next one (EVENT-15, E-15).
    ///
    /// # Errors
    /// `PM_ERR_NOCONTEXT` when there is none.
    pub fn release(&mut self, handle: i32) -> Result<()> {
        let slot = handles::slot(handle);
        slot.and_then(|slot| self.0.take(slot)).ok_or(Error::NOCONTEXT)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EVENT-10, EVENT-13, EVENT-15: lowest free handle first; released and unknown ones are
    /// refused.
    #[test]
    fn handles() {
        let mut arrays = Arrays::new();
        assert_eq!([0; 3].map(|_| arrays.create()), [Ok(0), Ok(1), Ok(2)]);
        arrays.release(1).expect("exists");
        assert_eq!(arrays.release(1), Err(Error::NOCONTEXT));
        assert_eq!(arrays.create(), Ok(1));
        for handle in [-1, 3, i32::MIN, i32::MAX] {
            assert_eq!(arrays.get(handle).err(), Some(Error::NOCONTEXT));
        }
    }
}
