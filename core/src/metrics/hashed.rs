//! The hash that `pmdaRehash` builds.

use crate::error::{Error, Result};
use crate::ident::MetricId;
use crate::index::{Index, Seed};

/// Maps metric identifiers to places in the table that was given to `pmdaRehash`.
///
/// It answers for the table as it was then, wherever the agent's fields point now (INIT-46).
#[derive(Default, Debug)]
pub struct Hashed {
    /// All of them, in the order of the table.
    pmids: Vec<MetricId>,
    places: Index,
    address: usize,
}

impl Hashed {
    /// An index over the identifiers of the table at `address`, in table order. Of duplicates the
    /// first counts (F-15).
    ///
    /// # Errors
    /// `-ENOMEM` when there is no memory for it.
    pub fn build(address: usize, pmids: impl ExactSizeIterator<Item = MetricId>) -> Result<Hashed> {
        let len = pmids.len();
        let mut hashed = Hashed {
            address,
            ..Hashed::default()
        };
        hashed.pmids.try_reserve_exact(len).map_err(|_| Error::NOMEM)?;
        hashed.pmids.extend(pmids.take(len));
        let end = u32::try_from(len).map_err(|_| Error::NOMEM)?;
        // With more room than it needs: nothing is added, but each fetch searches.
        hashed.places.reserve(len.saturating_add(len / 2), end, |_| 0)?;
        for place in 0..end {
            let pmid = &hashed.pmids[place as usize];
            if hashed.find(*pmid).is_none() {
                hashed.places.insert(hash(*pmid), place);
            }
        }
        Ok(hashed)
    }

    /// The place of a metric.
    #[must_use]
    #[inline(always)]
    pub fn find(&self, wanted: MetricId) -> Option<usize> {
        let same = |place: u32| self.pmids[place as usize] == wanted;
        self.places.find(hash(wanted), same).map(|place| place as usize)
    }

    /// The address of the table that the places are in.
    #[must_use]
    pub fn address(&self) -> usize {
        self.address
    }

    /// Whether nothing was ever put in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

#[inline(always)]
fn hash(pmid: MetricId) -> u32 {
    Seed::process().number(u64::from(pmid.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INIT-46, F-15: every entry is found at its place, the first of duplicates.
    #[test]
    fn finds_the_first() {
        // A table of nothing but duplicates costs no more than another.
        let many = Hashed::build(1, std::iter::repeat_n(MetricId(3), 300_000)).expect("memory");
        assert_eq!((many.find(MetricId(3)), many.find(MetricId(4))), (Some(0), None));
        let pmids = [5, 7, 5, 9].map(MetricId);
        let hashed = Hashed::build(4096, pmids.into_iter()).expect("memory");
        assert_eq!(hashed.find(MetricId(5)), Some(0));
        assert_eq!(hashed.find(MetricId(9)), Some(3));
        assert_eq!(hashed.find(MetricId(6)), None);
        assert_eq!(hashed.address(), 4096);
        assert!(!hashed.is_empty() && Hashed::default().is_empty());
    }
}
