//! The instance profile of a client, prepared for lookups: which instances of a domain a fetch is
//! to visit (INST-51).

use std::collections::BinaryHeap;

use crate::error::{Error, Result};

/// The part of a profile that is about one instance domain: its first element for that domain or,
/// without one, its global default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element<'a> {
    /// True if the state is `PM_PROFILE_INCLUDE`; any other number counts as exclude.
    pub include: bool,
    /// The instances to which the opposite applies, in any order, with duplicates and unknown ones
    /// (INST-52).
    pub exceptions: &'a [i32],
}

impl Element<'_> {
    /// Returns whether an instance is selected.
    #[must_use]
    pub fn selects(self, inst: i32) -> bool {
        self.exceptions.contains(&inst) != self.include
    }
}

/// An element that was prepared for questions about many instances.
#[derive(Default, Debug)]
pub struct Compiled {
    include: bool,
    /// The exceptions as they were given, to see whether the next element is the same.
    source: Vec<i32>,
    /// The exceptions, ascending and each once.
    sorted: Vec<i32>,
    /// The first of them, which bit 0 stands for.
    first: i32,
    /// One bit for each instance from the first exception to the last one; empty where these are
    /// too many, and the list is searched.
    bits: Vec<u64>,
}

/// The length of a range of instances, in bits, up to which a list always has bits.
const FEW_BITS: u32 = 1 << 16;
/// In longer ranges: the number of bits for each exception up to which a list has bits.
const BITS_PER_ID: usize = 256;

impl Compiled {
    /// Prepares an element.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn new(element: Element<'_>) -> Result<Compiled> {
        let mut compiled = Compiled::default();
        compiled.set(element)?;
        Ok(compiled)
    }

    /// Prepares another element in the memory of this one.
    ///
    /// # Errors
    /// `-ENOMEM`; it lists nothing then.
    pub fn set(&mut self, element: Element<'_>) -> Result<()> {
        // Mostly it is the same as before.
        if self.include == element.include && self.source == element.exceptions {
            return Ok(());
        }
        self.bits.clear();
        self.sorted.clear();
        let mut source = std::mem::take(&mut self.source);
        copy(&mut source, element.exceptions)?;
        copy(&mut self.sorted, element.exceptions)?;
        (self.include, self.source) = (element.include, source);
        if !self.sorted.is_sorted() {
            // A heap, since `sort_unstable` is 27 KB of code, which would be here for this list
            // alone.
            self.sorted = BinaryHeap::from(std::mem::take(&mut self.sorted)).into_sorted_vec();
        }
        self.sorted.dedup();
        let (Some(first), Some(last)) = (self.sorted.first(), self.sorted.last()) else {
            return Ok(());
        };
        let span = last.abs_diff(*first);
        if span >= FEW_BITS && span as usize / BITS_PER_ID >= self.sorted.len() {
            return Ok(());
        }
        self.first = *first;
        let words = span as usize / 64 + 1;
        if self.bits.try_reserve(words).is_err() {
            return Ok(());
        }
        self.bits.resize(words, 0);
        for inst in &self.sorted {
            let offset = inst.abs_diff(*first);
            self.bits[offset as usize / 64] |= 1 << (offset % 64);
        }
        Ok(())
    }

    /// Returns whether an instance is selected.
    #[must_use]
    pub fn selects(&self, inst: i32) -> bool {
        let is_listed = if self.bits.is_empty() {
            self.is_in_list(inst)
        } else {
            self.has_bit(inst)
        };
        is_listed != self.include
    }

    /// The place of the first instance that is selected.
    pub fn position(&self, mut instances: impl Iterator<Item = i32>) -> Option<usize> {
        // Often one instance of many is selected, so each kind of list has a loop of its own.
        if let ([only], false) = (&self.sorted[..], self.include) {
            instances.position(|inst| inst == *only)
        } else if self.bits.is_empty() {
            instances.position(|inst| self.is_in_list(inst) != self.include)
        } else {
            instances.position(|inst| self.has_bit(inst) != self.include)
        }
    }

    /// Returns whether an instance is an exception, by a search.
    fn is_in_list(&self, inst: i32) -> bool {
        self.sorted.binary_search(&inst).is_ok()
    }

    /// Returns whether an instance is an exception, by its bit.
    fn has_bit(&self, inst: i32) -> bool {
        // An instance below the first one wraps around to a place after the last one.
        let offset = inst.wrapping_sub(self.first) as u32;
        let word = self.bits.get(offset as usize / 64);
        word.is_some_and(|word| word >> (offset % 64) & 1 != 0)
    }

    /// The only instances that can be selected, ascending and each once; `None` when all but the
    /// listed ones are.
    #[must_use]
    pub fn candidates(&self) -> Option<&[i32]> {
        (!self.include).then_some(&self.sorted)
    }
}

/// Replaces a list by a copy of another one.
fn copy(target: &mut Vec<i32>, list: &[i32]) -> Result<()> {
    target.clear();
    target.try_reserve(list.len()).map_err(|_| Error::ENOMEM)?;
    target.extend_from_slice(list);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn compiled(include: bool, exceptions: &[i32]) -> Compiled {
        Compiled::new(Element { include, exceptions }).expect("memory")
    }

    /// States and lists select the instances of the table in the specification (INST-51).
    #[test]
    fn table() {
        let selected = |include, exceptions: &[i32]| {
            let compiled = compiled(include, exceptions);
            let selected: Vec<_> = (0..10).filter(|inst| compiled.selects(*inst)).collect();
            let element = Element { include, exceptions };
            assert!((0..10).all(|inst| element.selects(inst) == compiled.selects(inst)));
            selected
        };
        assert_eq!(selected(true, &[]), (0..10).collect::<Vec<_>>());
        assert_eq!(selected(true, &[3, 7]), [0, 1, 2, 4, 5, 6, 8, 9]);
        assert_eq!(selected(false, &[]), []);
        assert_eq!(selected(false, &[7, 3]), [3, 7]);
    }

    /// Lists may be unsorted, with duplicates and unknown instances (INST-52).
    #[test]
    fn candidates() {
        assert_eq!(compiled(false, &[9, -4, 9, 1]).candidates(), Some(&[-4, 1, 9][..]));
        assert_eq!(compiled(false, &[]).candidates(), Some(&[][..]));
        assert_eq!(compiled(true, &[1]).candidates(), None);
    }

    /// Nothing is left of the element that was prepared before (INST-53).
    #[test]
    fn again() {
        let mut compiled = compiled(false, &(0..1000).collect::<Vec<_>>());
        for exceptions in [&[5, 900][..], &[], &[i32::MIN, 7, i32::MAX], &[6]] {
            let element = Element {
                include: true,
                exceptions,
            };
            compiled.set(element).expect("memory");
            assert!((-10..2000).all(|inst| compiled.selects(inst) != exceptions.contains(&inst)));
        }
    }

    /// Lists with and without bits are right at the ends of the range (INST-52).
    #[test]
    fn ends() {
        for list in [
            vec![],
            vec![5],
            vec![i32::MIN, -1, 0, 1, i32::MAX],
            vec![i32::MAX - 1, i32::MAX],
            (-100..100).step_by(7).collect(),
            (0..1000).map(|id| id * 1_000_003).collect(),
        ] {
            let listed = compiled(false, &list);
            for id in list.iter().flat_map(|id| [id.wrapping_sub(1), *id, id.wrapping_add(1)]) {
                assert_eq!(listed.selects(id), list.contains(&id), "{id} in {list:?}");
                let asked = [77_777_777, id, id.wrapping_add(1)];
                for include in [false, true] {
                    let position = asked.iter().position(|id| list.contains(id) != include);
                    assert_eq!(
                        compiled(include, &list).position(asked.into_iter()),
                        position,
                        "{asked:?} in {list:?}"
                    );
                }
            }
            assert!(!listed.selects(77_777_777) && !listed.selects(i32::MIN + 5));
        }
    }

    /// A list has one bit for each number between the first and the last, and none if these numbers
    /// are many.
    #[test]
    fn as_few_words_as_can_be() {
        for (last, words) in [(62, 1), (64, 2), (126, 2), (640, 11)] {
            let list: Vec<_> = (0..=last).step_by(2).collect();
            assert_eq!(compiled(false, &list).bits.len(), words, "{last}");
        }
        assert_eq!(compiled(false, &[0, 1 << 16]).bits.len(), 0);
    }

    proptest! {
        #[test]
        fn same_as_a_set(
            list in prop::collection::vec(-300i32..300, 0..60),
            asked in prop::collection::vec(-400i32..400, 60),
        ) {
            let (listed, set) = (compiled(false, &list), list.iter().copied().collect::<BTreeSet<_>>());
            for id in asked.iter().copied() {
                prop_assert_eq!(listed.selects(id), set.contains(&id));
            }
            let first = asked.iter().position(|id| set.contains(id));
            prop_assert_eq!(listed.position(asked.iter().copied()), first);
            for id in &list {
                let position = asked.iter().position(|asked| asked == id);
                prop_assert_eq!(compiled(false, &[*id]).position(asked.iter().copied()), position);
            }
            let sorted: Vec<_> = set.into_iter().collect();
            prop_assert_eq!(listed.candidates(), Some(&sorted[..]));
        }
    }
}
