//! A set of instance identifiers that is asked often.

use foldhash::fast::FixedState;
use hashbrown::HashSet;

/// Lists up to this length are compared one by one.
const SHORT: usize = 4;

/// A bitmap is used while it takes no more than this many bits, or this many for each identifier in it.
const FEW_BITS: u64 = 1 << 18;
const BITS_PER_ID: u64 = 256;

/// A set of instance identifiers.
#[derive(Debug)]
pub struct Ids {
    sorted: Box<[i32]>,
    /// The lowest member, and how far the highest is above it: most that is asked lies outside, and is told so at once.
    first: i32,
    span: u32,
    index: Index,
}

#[derive(Debug)]
enum Index {
    Short,
    Bits(Box<[u64]>),
    Hash(HashSet<i32, FixedState>),
}

impl Ids {
    /// The set of the identifiers in `list`.
    #[must_use]
    pub fn new(list: &[i32]) -> Ids {
        let mut sorted = list.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let first = sorted.first().copied().unwrap_or(0);
        let span = sorted.last().map_or(0, |last| last.abs_diff(first));
        Ids {
            index: Index::over(&sorted, first, span),
            sorted: sorted.into(),
            first,
            span,
        }
    }

    /// Whether `id` is in it.
    #[must_use]
    #[inline]
    pub fn contains(&self, id: i32) -> bool {
        // What is below `first` wraps around to a number beyond the span.
        let offset = id.wrapping_sub(self.first) as u32;
        if offset > self.span {
            return false;
        }
        match &self.index {
            Index::Short => self.sorted.contains(&id),
            Index::Bits(words) => words
                .get((offset / 64) as usize)
                .is_some_and(|word| word >> (offset % 64) & 1 != 0),
            Index::Hash(set) => set.contains(&id),
        }
    }

    /// The first of `len` identifiers that is in it, or is not. Tables are long and few of their instances are selected,
    /// so each form of the index has a loop of its own, with one branch for many identifiers.
    pub fn position(&self, wanted: bool, len: usize, id_at: impl Fn(usize) -> i32) -> Option<usize> {
        let offset = |id: i32| id.wrapping_sub(self.first) as u32;
        match &self.index {
            Index::Short if self.sorted.len() == 1 => first(len, |at| (id_at(at) == self.first) == wanted),
            Index::Short => first(len, |at| self.sorted.contains(&id_at(at)) == wanted),
            Index::Bits(words) => first(len, |at| {
                let offset = offset(id_at(at));
                let word = words.get((offset / 64) as usize).copied().unwrap_or(0);
                (word >> (offset % 64) & 1 != 0) == wanted
            }),
            Index::Hash(_) => (0..len).find(|at| self.contains(id_at(*at)) == wanted),
        }
    }

    /// Its members, ascending.
    #[must_use]
    pub fn sorted(&self) -> &[i32] {
        &self.sorted
    }
}

/// The first number below `len` that is accepted. Blocks are asked as a whole, without a branch for each number.
#[inline]
fn first(len: usize, accepts: impl Fn(usize) -> bool) -> Option<usize> {
    const BLOCK: usize = 16;
    let mut start = 0;
    while start + BLOCK <= len {
        if (start..start + BLOCK).fold(false, |any, at| any | accepts(at)) {
            break;
        }
        start += BLOCK;
    }
    (start..len).find(|at| accepts(*at))
}

impl Index {
    fn over(sorted: &[i32], first: i32, span: u32) -> Index {
        if sorted.len() <= SHORT {
            return Index::Short;
        }
        if u64::from(span) < (sorted.len() as u64 * BITS_PER_ID).max(FEW_BITS) {
            return Index::bits(sorted, first, span);
        }
        Index::Hash(sorted.iter().copied().collect())
    }

    fn bits(sorted: &[i32], first: i32, span: u32) -> Index {
        let mut words = vec![0u64; (span / 64 + 1) as usize];
        for id in sorted {
            let offset = id.wrapping_sub(first) as u32;
            words[(offset / 64) as usize] |= 1 << (offset % 64);
        }
        Index::Bits(words.into())
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
            let outside = [77_777_777, i32::MIN + 5];
            for (place, id) in list.iter().enumerate() {
                let asked: Vec<_> = outside.iter().chain(&list[place..]).copied().collect();
                assert_eq!(
                    ids.position(true, asked.len(), |at| asked[at]),
                    Some(2),
                    "{id} in {list:?}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn same_as_a_set(
            list in prop::collection::vec(-300i32..300, 0..60),
            asked in prop::collection::vec(-400i32..400, 60),
        ) {
            let (ids, set) = (Ids::new(&list), list.iter().copied().collect::<BTreeSet<_>>());
            for id in asked.iter().copied() {
                prop_assert_eq!(ids.contains(id), set.contains(&id));
            }
            for wanted in [true, false] {
                let expected = asked.iter().position(|id| set.contains(id) == wanted);
                prop_assert_eq!(ids.position(wanted, asked.len(), |at| asked[at]), expected);
            }
            prop_assert_eq!(ids.sorted(), set.into_iter().collect::<Vec<_>>());
        }
    }
}
