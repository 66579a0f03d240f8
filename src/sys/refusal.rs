//! The argument that a step has refused, on its way from the place that refuses it to the guard
//! (MAIN-59). The place may be deep in a step and knows neither the function nor the lock; the guard
//! knows both, and not the argument.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pmda_core::error::Error;

/// The name of the argument whose NULL was refused last; NULL for none. Only the step that refuses it
/// writes and takes it, under the lock.
static REFUSED: AtomicPtr<&'static str> = AtomicPtr::new(ptr::null_mut());

/// The name of the argument that this step has refused. The guard takes it when the step has failed,
/// and says it under `-Dlibpmda`.
pub(crate) fn take_refused() -> Option<&'static str> {
    let name = REFUSED.load(Ordering::Relaxed);
    if !name.is_null() {
        REFUSED.store(ptr::null_mut(), Ordering::Relaxed);
    }
    // SAFETY: NULL, or the address of a `'static` name: `refuse` alone stores one.
    unsafe { name.as_ref() }.copied()
}

/// Notes which argument is refused since it is NULL, and returns the error.
#[cold]
pub(crate) fn refuse(argument: &'static &'static str, error: Error) -> Error {
    REFUSED.store(ptr::from_ref(argument).cast_mut(), Ordering::Relaxed);
    error
}
