//! The client context that the request being served belongs to: one number for the whole process
//! (MAIN-25).

use std::sync::atomic::{AtomicI32, Ordering};

static CURRENT: AtomicI32 = AtomicI32::new(-1);

/// The context of the request being served, -1 before the first one.
#[must_use]
pub fn current() -> i32 {
    CURRENT.load(Ordering::Relaxed)
}

/// Sets what [`current`] returns. The default methods call it for agents of interface 5 and up.
pub fn set_current(context: i32) {
    CURRENT.store(context, Ordering::Relaxed);
}
