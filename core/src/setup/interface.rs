//! What the version of an agent's interface brings.

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
