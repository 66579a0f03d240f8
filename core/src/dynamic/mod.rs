//! Dynamic metrics: the callers that have registered some, and the size of the table that they need
//! (DYN-1 … DYN-31).

use crate::error::{Error, Result};
use crate::leak::try_leak;

/// A registration: names with a common prefix, and whatever the caller attaches to them.
#[derive(Debug)]
pub struct Registration<C: 'static> {
    prefix: Option<Vec<u8>>,
    /// The caller's part: its functions.
    pub calls: C,
}

/// All registrations, in the order in which they came. None ever goes (DYN-2), so each lives as
/// long as the process.
#[derive(Debug)]
pub struct RegistrationList<C: 'static> {
    entries: Vec<&'static Registration<C>>,
}

impl<C> Default for RegistrationList<C> {
    fn default() -> RegistrationList<C> {
        RegistrationList::new()
    }
}

impl<C> RegistrationList<C> {
    /// An empty list.
    #[must_use]
    pub const fn new() -> RegistrationList<C> {
        RegistrationList { entries: Vec::new() }
    }

    /// Appends a registration (DYN-1).
    ///
    /// # Errors
    /// `-ENOMEM`; nothing was registered.
    pub fn add(&mut self, prefix: Option<&[u8]>, calls: C) -> Result<()> {
        self.entries.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        self.entries.push(try_leak(Registration {
            prefix: prefix.map(copy).transpose()?,
            calls,
        })?);
        Ok(())
    }

    /// The number of registrations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether nothing is registered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The registration at an index, in the order in which they came.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&'static Registration<C>> {
        self.entries.get(index).copied()
    }

    /// Returns whether a registration has this prefix (N-1).
    #[must_use]
    pub fn has(&self, prefix: &[u8]) -> bool {
        self.entries.iter().any(|entry| entry.prefix.as_deref() == Some(prefix))
    }
}

/// A copy of a prefix.
fn copy(text: &[u8]) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(text.len()).map_err(|_| Error::ENOMEM)?;
    copy.extend_from_slice(text);
    Ok(copy)
}

/// The number of metrics that one registration adds to the table, and of the copies of each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// The number of metrics to copy.
    pub metrics: i32,
    /// The number of copies of each.
    pub trees: i32,
}

impl Counts {
    /// The number of entries in the table; negative counts are none (N-6).
    #[must_use]
    pub fn entries(self) -> usize {
        let number = |count: i32| usize::try_from(count).unwrap_or(0);
        number(self.metrics).saturating_mul(number(self.trees))
    }
}

/// Returns the number of entries of the table beyond the fixed ones (DYN-20).
pub fn extra(counts: impl Iterator<Item = Counts>) -> usize {
    counts.map(Counts::entries).fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registrations keep their order, and duplicates are accepted (DYN-1, DYN-2).
    #[test]
    fn registering() {
        let mut list = RegistrationList::new();
        assert!(list.is_empty());
        list.add(Some(b"a"), 1).unwrap();
        assert!(!list.is_empty());
        list.add(Some(b"a"), 2).unwrap();
        list.add(None, 3).unwrap();
        let calls: Vec<_> = (0..4).map(|index| list.get(index).map(|entry| entry.calls)).collect();
        assert_eq!((calls, list.len()), (vec![Some(1), Some(2), Some(3), None], 3));
    }

    /// Only exactly the same prefix counts (DYN-31, N-1).
    #[test]
    fn prefixes() {
        let mut list = RegistrationList::new();
        assert!(!list.has(b"x"));
        list.add(None, ()).unwrap();
        list.add(Some(b"x"), ()).unwrap();
        assert!(list.has(b"x") && !list.has(b"y") && !list.has(b""));
    }

    /// Sizes are sums of products; negative counts are none, and nothing overflows (DYN-20, N-6).
    #[test]
    fn sizes() {
        let size = |list: &[(i32, i32)]| extra(list.iter().map(|&(metrics, trees)| Counts { metrics, trees }));
        assert_eq!(size(&[]), 0);
        assert_eq!(size(&[(2, 3), (4, 1), (5, 0)]), 10);
        assert_eq!(size(&[(-2, -3), (-1, 5), (5, -1), (1, 1)]), 1);
        assert!(size(&[(i32::MAX, i32::MAX); 8]) > i32::MAX as usize);
    }
}
