//! A pointer to what the library keeps until the process ends: read without a lock.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Leads to nothing, or to a value that stays for good.
#[repr(transparent)]
pub(crate) struct Leads<T: 'static>(AtomicPtr<T>, PhantomData<&'static T>);

impl<T> Leads<T> {
    /// Leads to nothing.
    pub(crate) const fn new() -> Leads<T> {
        Leads(AtomicPtr::new(std::ptr::null_mut()), PhantomData)
    }

    /// What it leads to.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&'static T> {
        // SAFETY: it is NULL or was made of a reference for ever by `set`, which whoever has the
        // type may share.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Leads to this from now on.
    pub(crate) fn set(&self, value: &'static T) {
        self.0.store(std::ptr::from_ref(value).cast_mut(), Ordering::Release);
    }
}
