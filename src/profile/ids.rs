//! A set of instance identifiers that is asked often.

#![forbid(unsafe_code)]

use foldhash::fast::FixedState;
use hashbrown::HashSet;

/// Lists up to this length are compared one by one.
const SHORT: usize = 4;

/// A bitmap is used while it takes no more than this many bits for each identifier in it.
const BITS_PER_ID: i64 = 256;

/// A set of instance identifiers.
#[derive(Debug)]
pub struct Ids {
    sorted: Box<[i32]>,
    index: Index,
}

#[derive(Debug)]
enum Index {
    Short,
    Bits { first: i32, words: Box<[u64]> },
    Hash(HashSet<i32, FixedState>),
}

impl Ids {
    /// The set of the identifiers in `list`.
    #[must_use]
    pub fn new(list: &[i32]) -> Ids {
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let index = Index::over(&sorted);
        Ids {
            sorted: sorted.into(),
            index,
        }
    }

    /// Whether `id` is in it.
    #[must_use]
    pub fn contains(&self, id: i32) -> bool {
        match &self.index {
            Index::Short => self.sorted.contains(&id),
            Index::Bits { first, words } => {
                // What is below `first` wraps around to a number beyond the last word.
                let bit = id.wrapping_sub(*first).cast_unsigned();
                words
                    .get((bit / 64) as usize)
                    .is_some_and(|word| word >> (bit % 64) & 1 != 0)
            }
            Index::Hash(set) => set.contains(&id),
        }
    }

    /// Its members, ascending.
    #[must_use]
    pub fn sorted(&self) -> &[i32] {
        &self.sorted
    }
}

impl Index {
    fn over(sorted: &[i32]) -> Index {
        let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
            return Index::Short;
        };
        if sorted.len() <= SHORT {
            return Index::Short;
        }
        let span = i64::from(*last) - i64::from(*first) + 1;
        if i64::try_from(sorted.len()).is_ok_and(|len| span <= len.saturating_mul(BITS_PER_ID)) {
            return Index::bits(*first, span, sorted);
        }
        Index::Hash(sorted.iter().copied().collect())
    }

    fn bits(first: i32, span: i64, sorted: &[i32]) -> Index {
        let mut words = vec![0u64; usize::try_from(span / 64 + 1).unwrap_or(0)];
        for id in sorted {
            let bit = id.wrapping_sub(first).cast_unsigned();
            words[(bit / 64) as usize] |= 1 << (bit % 64);
        }
        Index::Bits {
            first,
            words: words.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// INST-52: each form of the index at the ends of the range.
    #[test]
    fn forms() {
        for list in [
            vec![],
            vec![5],
            vec![i32::MIN, -1, 0, 1, i32::MAX],
            (-100..100).step_by(7).collect(),
            (0..1000).map(|id| id * 1_000_003).collect(),
        ] {
            let ids = Ids::new(&list);
            for id in list.iter().flat_map(|id| [id.wrapping_sub(1), *id, id.wrapping_add(1)]) {
                assert_eq!(ids.contains(id), list.contains(&id), "{id} in {list:?}");
            }
            assert!(!ids.contains(77_777_777) && !ids.contains(i32::MIN + 5));
        }
    }

    proptest! {
        #[test]
        fn same_as_a_set(list in prop::collection::vec(-300i32..300, 0..60), asked in prop::collection::vec(-400i32..400, 60)) {
            let (ids, set) = (Ids::new(&list), list.iter().copied().collect::<BTreeSet<_>>());
            for id in asked {
                prop_assert_eq!(ids.contains(id), set.contains(&id));
            }
            prop_assert_eq!(ids.sorted(), set.into_iter().collect::<Vec<_>>());
        }
    }
}
