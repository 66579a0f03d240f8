//! The interface version of an agent, and the client context, of which agents are told since
//! version 5.

use std::sync::atomic::{AtomicI32, Ordering};

/// The interface version of an agent (INIT-1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Interface(pub u32);

impl Interface {
    /// Whether the version exists: 2 to 7 do.
    #[must_use]
    pub const fn is_supported(self) -> bool {
        self.0 >= 2 && self.0 <= 7
    }

    /// Whether agents have names of their own; then unknown metrics are not reported (FETCH-23).
    #[must_use]
    pub const fn has_names(self) -> bool {
        self.0 >= 4
    }

    /// Whether a fetch callback may say that there is no value (FETCH-40).
    #[must_use]
    pub const fn has_missing_values(self) -> bool {
        self.0 >= 3
    }

    /// Whether a fetch callback may have a value freed when it was copied (FETCH-40).
    #[must_use]
    pub const fn has_values_to_free(self) -> bool {
        self.0 >= 5
    }

    /// Whether agents are told of client contexts (MAIN-25).
    #[must_use]
    pub const fn has_contexts(self) -> bool {
        self.0 >= 5
    }

    /// Whether agents are told of the attributes of clients.
    #[must_use]
    pub const fn has_attributes(self) -> bool {
        self.0 >= 6
    }

    /// Whether agents give labels (LABEL-13).
    #[must_use]
    pub const fn has_labels(self) -> bool {
        self.0 >= 7
    }

    /// Whether results tell pmcd about changes of names and labels (FETCH-60).
    #[must_use]
    pub const fn reports_changes(self) -> bool {
        self.0 >= 7
    }
}

/// The client context that the request being served belongs to: one number for the whole process
/// (MAIN-25).
static CURRENT: AtomicI32 = AtomicI32::new(-1);

/// The context of the request being served, -1 before the first one.
#[must_use]
pub fn current_context() -> i32 {
    CURRENT.load(Ordering::Relaxed)
}

/// Sets what [`current_context`] returns. The default methods call it for agents of interface 5 and
/// up.
pub fn set_current_context(context: i32) {
    CURRENT.store(context, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INIT-10, INIT-13
    #[test]
    fn versions() {
        let exists = |version: u32| Interface(version).is_supported();
        assert!((2..=7).all(exists));
        assert!(!exists(1) && !exists(8) && !exists(255));
    }
}
