//! The memory that the names of a source take.

use super::losses::Loss;
use crate::headroom;

/// Memory is asked for in pieces of so many bytes.
const PIECE: usize = 1 << 20;

/// A budget in bytes. What files have is charged as well, so more may be used than there is: then
/// nothing new has a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    used: usize,
    limit: usize,
    /// The memory that the system has granted in this document, less what was charged since.
    granted: usize,
    /// The system had no memory in this document.
    is_refused: bool,
}

impl Budget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Budget {
        Budget {
            used: 0,
            limit,
            granted: 0,
            is_refused: false,
        }
    }

    /// Returns whether something new has a place.
    #[must_use]
    pub fn has_room(&self, size: usize) -> bool {
        self.limit.checked_sub(self.used).is_some_and(|left| size <= left)
    }

    /// Returns whether more may be read from files: names that had a number before the agent has
    /// started may take as much again.
    fn may_load(&self) -> bool {
        self.used / 2 <= self.limit
    }

    /// Returns if a name of this size has a place. One with a number, which clients may have seen before a
    /// restart, has it however many others the files have.
    ///
    /// # Errors
    /// The limit that it is beyond: of the source, or of the system.
    pub fn admit(&mut self, size: usize, has_number: bool) -> Result<(), Loss> {
        let has_room = if has_number {
            self.may_load()
        } else {
            self.has_room(size)
        };
        if !has_room {
            return Err(Loss::Memory);
        }
        if !self.has_memory(size) {
            return Err(Loss::System);
        }
        Ok(())
    }

    /// Begins a document: the system is asked anew.
    pub fn begin(&mut self) {
        (self.granted, self.is_refused) = (0, false);
    }

    /// Returns whether the system has memory for so many bytes, and for tables that double. If it
    /// has none, it is not asked again for this document.
    #[must_use]
    pub fn has_memory(&mut self, size: usize) -> bool {
        if size > self.granted && !self.is_refused {
            let piece = size.max(PIECE);
            self.is_refused = !headroom::has(piece.saturating_add(self.used));
            self.granted = piece;
        }
        !self.is_refused
    }

    /// Charges what is kept from now on.
    pub fn charge(&mut self, size: usize) {
        self.used = self.used.saturating_add(size);
        self.granted = self.granted.saturating_sub(size);
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

    /// Memory that the system has refused once is refused until the next document.
    #[test]
    fn memory_of_the_system() {
        let mut budget = Budget::new(10);
        assert!(budget.has_memory(1) && budget.granted == PIECE);
        budget.charge(PIECE);
        assert!(budget.granted == 0 && budget.has_memory(2 * PIECE) && budget.granted == 2 * PIECE);
        assert!(!budget.has_memory(isize::MAX as usize) && !budget.has_memory(1));
        budget.begin();
        assert!(budget.has_memory(1));
        budget.charge(isize::MAX as usize);
        assert!(!budget.has_memory(1), "tables may double");
    }
}
