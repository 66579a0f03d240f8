//! The memory that the names of a source take.

/// A budget in bytes. What files have is charged as well, so more may be used than there is: then
/// nothing new has a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    used: usize,
    limit: usize,
}

impl Budget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Budget {
        Budget { used: 0, limit }
    }

    /// Whether something new has a place.
    #[must_use]
    pub fn has_room(&self, size: usize) -> bool {
        self.limit.checked_sub(self.used).is_some_and(|left| size <= left)
    }

    /// Whether more may be read from files: names that had a number before the agent has started may
    /// take as much again.
    #[must_use]
    pub fn may_load(&self) -> bool {
        self.used / 2 <= self.limit
    }

    /// Charges what is kept from now on.
    pub fn charge(&mut self, size: usize) {
        self.used = self.used.saturating_add(size);
    }

    /// Gives back the size of what is not kept any more.
    pub fn give_back(&mut self, size: usize) {
        self.used = self.used.saturating_sub(size);
    }

    /// The bytes that are used.
    #[cfg(test)]
    #[must_use]
    pub fn used(&self) -> usize {
        self.used
    }

    /// Changes the limit.
    #[cfg(test)]
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets() {
        let mut budget = Budget::new(10);
        assert!(budget.has_room(10) && !budget.has_room(11));
        budget.charge(4);
        assert!(budget.has_room(6) && !budget.has_room(7));
        budget.charge(8);
        assert!(!budget.has_room(0) && budget.may_load(), "more is used than there is");
        budget.give_back(3);
        assert_eq!((budget.used(), budget.has_room(1)), (9, true));
        budget.charge(100);
        assert!(!budget.may_load());
        budget.give_back(200);
        assert!(budget.has_room(10));
    }
}
