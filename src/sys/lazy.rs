//! Values that few agents need: made at first use.

use crate::sys::lock::{Guard, Mutex};
use crate::sys::static_ptr::StaticPtr;
use pmda_core::error::Result;

/// A value behind the lock of the library, which is made at first use, and stays.
pub(crate) struct LazyMutex<T: 'static>(StaticPtr<Mutex<T>>);

impl<T> Default for LazyMutex<T> {
    fn default() -> LazyMutex<T> {
        LazyMutex(StaticPtr::new())
    }
}

impl<T: Default> LazyMutex<T> {
    /// The value, locked; made if there is none.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline]
    pub(crate) fn lock(&self) -> Result<Guard<'static, T>> {
        match self.0.get() {
            Some(value) => Ok(value.lock()),
            None => self.make(),
        }
    }

    /// The value, locked, if it was made.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Guard<'static, T>> {
        self.0.get().map(Mutex::lock)
    }

    #[cold]
    fn make(&self) -> Result<Guard<'static, T>> {
        static MAKING: Mutex<()> = Mutex::new(());
        let making = MAKING.lock();
        let value = self.0.get_or_make(|| Mutex::new(T::default()))?;
        drop(making);
        Ok(value.lock())
    }
}
