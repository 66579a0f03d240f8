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
    /// How many entries were put into this and all the tables before it.
    entered: u64,
}

impl Hashed {
    /// An index over the identifiers of the table at `address`, in table order. Of duplicates that
    /// one counts which is in front in libpcp's hash (F-15).
    ///
    /// # Errors
    /// `-ENOMEM` when there is no memory for it.
    pub fn build(address: usize, pmids: impl ExactSizeIterator<Item = MetricId>, before: u64) -> Result<Hashed> {
        let len = pmids.len();
        let mut hashed = Hashed {
            address,
            entered: before.saturating_add(len as u64),
            ..Hashed::default()
        };
        hashed.pmids.try_reserve_exact(len).map_err(|_| Error::NOMEM)?;
        hashed.pmids.extend(pmids.take(len));
        let end = u32::try_from(len).map_err(|_| Error::NOMEM)?;
        // With more room than it needs: nothing is added, but each fetch searches.
        hashed.places.reserve(len.saturating_add(len / 2), end, |_| 0)?;
        // libpcp puts an entry in front of its chain, and turns all chains round whenever its hash
        // grows. So the last of those counts that are turned an even number of times, if there are
        // any besides the first, else the first.
        let mut growth = Growth::after(before);
        let mut turns = (0..end).filter(|_| growth.add()).count();
        growth = Growth::after(before);
        for place in 0..end {
            turns -= usize::from(growth.add());
            let pmid = hashed.pmids[place as usize];
            match hashed.find(pmid) {
                None => hashed.places.insert(hash(pmid), place),
                Some(known) if turns % 2 == 0 => {
                    hashed.places.replace(hash(pmid), known as u32, place);
                }
                Some(_) => {}
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

    /// How many entries were put into this and all the tables before it.
    #[must_use]
    pub fn entered(&self) -> u64 {
        self.entered
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

/// How libpcp's hash grows.
struct Growth {
    /// How many entries were ever put in: it goes on counting when the hash is emptied.
    entered: u64,
    chains: u64,
}

impl Growth {
    /// Of a hash that is empty.
    fn after(entered: u64) -> Growth {
        Growth { entered, chains: 0 }
    }

    /// Counts an entry; whether the hash grows just before it is put in. It does when there are
    /// more than four entries a chain, and gets twice as many chains, rounded up towards multiples
    /// of 30.
    #[inline]
    fn add(&mut self) -> bool {
        self.entered += 1;
        if self.chains == 0 {
            self.chains = 1;
            return false;
        }
        let grows = self.entered / 4 > self.chains;
        if grows {
            self.chains *= 2;
            for divisor in [3, 5] {
                self.chains += if self.chains % divisor == 0 { 0 } else { 2 };
            }
        }
        grows
    }
}

#[inline(always)]
fn hash(pmid: MetricId) -> u32 {
    Seed::process().number(u64::from(pmid.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INIT-46: every entry is found at its place.
    #[test]
    fn finds() {
        let pmids = [5, 7, 9].map(MetricId);
        let hashed = Hashed::build(4096, pmids.into_iter(), 0).expect("memory");
        assert_eq!(hashed.find(MetricId(5)), Some(0));
        assert_eq!(hashed.find(MetricId(9)), Some(2));
        assert_eq!(hashed.find(MetricId(6)), None);
        assert_eq!(hashed.address(), 4096);
        assert!(!hashed.is_empty() && Hashed::default().is_empty());
    }

    /// F-15: of duplicates that one is found which libpcp's hash finds, seen there.
    #[test]
    fn duplicates() {
        let mut growth = Growth::after(0);
        let points: Vec<u32> = (1..1000).filter(|_| growth.add()).collect();
        assert_eq!(points, [8, 28, 60, 124, 244, 484, 964]);
        let pairs = |count: u32| (0..count).map(|place| MetricId(1 + place / 2)).collect::<Vec<_>>();
        let lasts = |count: u32, before: u64| {
            let hashed = Hashed::build(1, pairs(count).into_iter(), before).expect("memory");
            assert_eq!(hashed.entered(), before + u64::from(count));
            let places = (0..count / 2).filter_map(|pair| hashed.find(MetricId(1 + pair)));
            places.filter(|place| place % 2 == 1).count()
        };
        assert_eq!([2, 6, 10, 1000].map(|count| lasts(count, 0)), [1, 3, 2, 181]);
        // The same table once more.
        let twice = |count: u32| lasts(count, u64::from(count));
        assert_eq!([4, 6, 8, 14, 28, 30].map(twice), [1, 3, 4, 1, 13, 2]);
        // A table of nothing but duplicates costs no more than another.
        let many = Hashed::build(1, std::iter::repeat_n(MetricId(3), 300_000), 0).expect("memory");
        assert_eq!((many.find(MetricId(3)), many.find(MetricId(4))), (Some(299_999), None));
    }
}
