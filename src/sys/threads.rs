//! Values behind the lock that are made at first use, and numbers of threads.

use std::ptr;

use crate::sys::lock::{Guard, Mutex, StaticPtr, single_threaded, thread};
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

/// A number that no other thread has while this one lives.
pub(crate) fn number() -> u32 {
    if single_threaded() {
        return 0;
    }
    // Two such blocks are further apart than this.
    (ptr::from_ref(thread()).addr() >> 4) as u32 | 1
}
