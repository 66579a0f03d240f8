//! What is made at first use, and stays until the process ends: read without a lock.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::sys::lock::{Guard, Mutex};
use pmda_core::error::Result;
use pmda_core::leak::try_leak;

/// Leads to nothing, or to a value that stays for good.
#[repr(transparent)]
pub(crate) struct StaticPtr<T: 'static>(AtomicPtr<T>, PhantomData<&'static T>);

impl<T> StaticPtr<T> {
    /// Leads to nothing.
    pub(crate) const fn new() -> StaticPtr<T> {
        StaticPtr(AtomicPtr::new(std::ptr::null_mut()), PhantomData)
    }

    /// What it leads to.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&'static T> {
        // SAFETY: it is NULL or a `&'static T` that `set` has stored. The marker makes this type
        // `Sync` only where `T` is, so other threads may share it.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Leads to this from now on.
    pub(crate) fn set(&self, value: &'static T) {
        self.0.store(std::ptr::from_ref(value).cast_mut(), Ordering::Release);
    }

    /// What it leads to, made if it leads to nothing. One thread at a time asks.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn get_or_make(&self, new: impl FnOnce() -> T) -> Result<&'static T> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let value: &'static T = try_leak(new())?;
        self.set(value);
        Ok(value)
    }
}

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
