//! Dynamic metrics: who has registered, and how large a table they need (DYN-1 … DYN-31).

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use once_cell::race::OnceRef;

use crate::error::{Error, Result};
use crate::forever::forever;

/// A registration: names with a common prefix, and what the caller attaches to them.
#[derive(Debug)]
pub struct Registration<C: 'static> {
    prefix: Option<Vec<u8>>,
    /// Meant for identifiers of copied metrics; recorded, and of no effect (DYN-30).
    mask: AtomicU32,
    /// The caller's part.
    pub calls: C,
    next: OnceRef<'static, Registration<C>>,
}

/// Registrations in the order in which they came. None ever goes (DYN-2), so each lives as long as
/// the process.
///
/// A walk takes no lock and goes as far as the [`Snapshot`] that it works on: callbacks may
/// register more while it runs (N-9).
#[derive(Debug)]
pub struct List<C: 'static> {
    first: OnceRef<'static, Registration<C>>,
    len: AtomicUsize,
}

/// What a [`List`] held at one moment.
#[derive(Debug)]
pub struct Snapshot<'l, C: 'static> {
    list: &'l List<C>,
    len: usize,
}

/// A walk over the registrations of a [`Snapshot`]. It may be kept and copied.
#[derive(Debug)]
pub struct Walk<C: 'static> {
    next: Option<&'static Registration<C>>,
    left: usize,
}

impl<C> Clone for Walk<C> {
    fn clone(&self) -> Walk<C> {
        *self
    }
}

impl<C> Copy for Walk<C> {}

impl<C> Iterator for Walk<C> {
    type Item = &'static Registration<C>;

    fn next(&mut self) -> Option<&'static Registration<C>> {
        self.left = self.left.checked_sub(1)?;
        let entry = self.next?;
        self.next = entry.next.get();
        Some(entry)
    }
}

impl<C> Snapshot<'_, C> {
    /// The registrations.
    #[must_use]
    pub fn iter(&self) -> Walk<C> {
        Walk {
            next: self.list.first.get(),
            left: self.len,
        }
    }

    /// The number of registrations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<C> Default for List<C> {
    fn default() -> List<C> {
        List::new()
    }
}

impl<C: Sync + Send> List<C> {
    /// Appends a registration (DYN-1).
    ///
    /// # Errors
    /// `-ENOMEM`; nothing was registered.
    pub fn add(&self, prefix: Option<&[u8]>, calls: C) -> Result<()> {
        let entry = forever(Registration {
            prefix: prefix.map(copy).transpose()?,
            mask: AtomicU32::new(0),
            calls,
            next: OnceRef::new(),
        })?;
        let mut end = &self.first;
        // Another thread may have added at the same time; then the end is further on. No lock: a
        // fork would have to know of it.
        while end.set(entry).is_err() {
            if let Some(taken) = end.get() {
                end = &taken.next;
            }
        }
        self.len.fetch_add(1, Ordering::Release);
        Ok(())
    }
}

impl<C> List<C> {
    /// An empty list.
    #[must_use]
    pub const fn new() -> List<C> {
        List {
            first: OnceRef::new(),
            len: AtomicUsize::new(0),
        }
    }

    /// What is registered now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<'_, C> {
        Snapshot {
            list: self,
            len: self.len.load(Ordering::Acquire),
        }
    }

    /// Records a mask with the first registration of this prefix (DYN-30, N-1). Tells whether there
    /// is one.
    pub fn set_mask(&self, prefix: &[u8], mask: u32) -> bool {
        let snapshot = self.snapshot();
        let entry = snapshot.iter().find(|entry| entry.prefix.as_deref() == Some(prefix));
        entry
            .inspect(|entry| entry.mask.store(mask, Ordering::Relaxed))
            .is_some()
    }
}

fn copy(text: &[u8]) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(text.len()).map_err(|_| Error::NOMEM)?;
    copy.extend_from_slice(text);
    Ok(copy)
}

/// What one registration wants to add to the metric table: how many metrics, and how often each.
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

    /// DYN-1, DYN-2, N-9: the order stays, duplicates are welcome, and a walk does not see what
    /// comes later.
    #[test]
    fn registering_while_walking() {
        let list = List::new();
        assert!(list.snapshot().is_empty());
        list.add(Some(b"a"), 1).unwrap();
        list.add(Some(b"a"), 2).unwrap();
        let walk = list.snapshot();
        for entry in walk.iter() {
            list.add(None, entry.calls + 10).unwrap();
        }
        let calls = |snapshot: &Snapshot<'_, i32>| snapshot.iter().map(|entry| entry.calls).collect::<Vec<_>>();
        assert_eq!((calls(&walk), walk.len()), (vec![1, 2], 2));
        assert_eq!(calls(&list.snapshot()), [1, 2, 11, 12]);
    }

    /// DYN-30, DYN-31, N-1: the mask goes to the first registration of exactly this prefix.
    #[test]
    fn masks() {
        let list = List::new();
        assert!(!list.set_mask(b"x", 1));
        list.add(None, ()).unwrap();
        list.add(Some(b"x"), ()).unwrap();
        list.add(Some(b"x"), ()).unwrap();
        assert!(list.set_mask(b"x", 7) && !list.set_mask(b"y", 7) && !list.set_mask(b"", 7));
        let masks: Vec<_> = list
            .snapshot()
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
