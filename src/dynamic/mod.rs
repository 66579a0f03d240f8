//! Dynamic metrics: who has registered, and how large a table they need (DYN-1 … DYN-31).

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

/// A registration: names with a common prefix, and what the caller attaches to them.
#[derive(Debug)]
pub struct Registration<C> {
    prefix: Option<Vec<u8>>,
    /// Meant for identifiers of copied metrics; recorded, and of no effect (DYN-30).
    mask: AtomicU32,
    /// The caller's part.
    pub calls: C,
}

/// What a [`List`] held at one moment.
pub type Snapshot<C> = Arc<Vec<Arc<Registration<C>>>>;

/// Registrations in the order in which they came. None ever goes (DYN-2).
///
/// A walk works on a [`Snapshot`]: callbacks may register more while it runs, and nothing is locked meanwhile (N-9).
#[derive(Debug)]
pub struct List<C> {
    entries: Mutex<Option<Snapshot<C>>>,
}

impl<C> Default for List<C> {
    fn default() -> List<C> {
        List::new()
    }
}

impl<C> List<C> {
    /// An empty list.
    #[must_use]
    pub const fn new() -> List<C> {
        List {
            entries: Mutex::new(None),
        }
    }

    /// Appends a registration (DYN-1).
    pub fn add(&self, prefix: Option<&[u8]>, calls: C) {
        let entry = Registration {
            prefix: prefix.map(<[u8]>::to_vec),
            mask: AtomicU32::new(0),
            calls,
        };
        let mut entries = self.entries.lock();
        Arc::make_mut(entries.get_or_insert_default()).push(Arc::new(entry));
    }

    /// What is registered now; `None` for nothing.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot<C>> {
        self.entries.lock().clone()
    }

    /// Records a mask with the first registration of this prefix (DYN-30, N-1). Tells whether there is one.
    pub fn set_mask(&self, prefix: &[u8], mask: u32) -> bool {
        let entries = self.snapshot().unwrap_or_default();
        let entry = entries.iter().find(|entry| entry.prefix.as_deref() == Some(prefix));
        entry
            .inspect(|entry| entry.mask.store(mask, Ordering::Relaxed))
            .is_some()
    }
}

/// What one registration wants to add to the metric table: so many metrics, each so many times.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Metrics to copy.
    pub metrics: i32,
    /// Copies of each.
    pub trees: i32,
}

impl Counts {
    /// The number of entries; negative counts are none (N-6).
    #[must_use]
    pub fn entries(self) -> usize {
        let number = |count: i32| usize::try_from(count).unwrap_or(0);
        number(self.metrics).saturating_mul(number(self.trees))
    }
}

/// The number of entries beyond the fixed ones (DYN-20).
pub fn extra(counts: impl Iterator<Item = Counts>) -> usize {
    counts.map(Counts::entries).fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DYN-1, DYN-2, N-9: the order stays, duplicates are welcome, and a walk does not see what comes later.
    #[test]
    fn registering_while_walking() {
        let list = List::new();
        assert!(list.snapshot().is_none());
        list.add(Some(b"a"), 1);
        list.add(Some(b"a"), 2);
        let walk = list.snapshot().unwrap();
        for entry in walk.iter() {
            list.add(None, entry.calls + 10);
        }
        let calls = |snapshot: Snapshot<i32>| snapshot.iter().map(|entry| entry.calls).collect::<Vec<_>>();
        assert_eq!(calls(walk), [1, 2]);
        assert_eq!(calls(list.snapshot().unwrap()), [1, 2, 11, 12]);
    }

    /// DYN-30, DYN-31, N-1: the mask goes to the first registration of exactly this prefix.
    #[test]
    fn masks() {
        let list = List::new();
        assert!(!list.set_mask(b"x", 1));
        list.add(None, ());
        list.add(Some(b"x"), ());
        list.add(Some(b"x"), ());
        assert!(list.set_mask(b"x", 7) && !list.set_mask(b"y", 7) && !list.set_mask(b"", 7));
        let masks: Vec<_> = list
            .snapshot()
            .unwrap()
            .iter()
            .map(|entry| entry.mask.load(Ordering::Relaxed))
            .collect();
        assert_eq!(masks, [0, 7, 0]);
    }

    /// DYN-20, N-6: sums of products; what cannot be counts as nothing, and nothing overflows.
    #[test]
    fn sizes() {
        let size = |list: &[(i32, i32)]| extra(list.iter().map(|&(metrics, trees)| Counts { metrics, trees }));
        assert_eq!(size(&[]), 0);
        assert_eq!(size(&[(2, 3), (4, 1), (5, 0)]), 10);
        assert_eq!(size(&[(-2, -3), (-1, 5), (5, -1), (1, 1)]), 1);
        assert!(size(&[(i32::MAX, i32::MAX); 8]) > i32::MAX as usize);
    }
}
