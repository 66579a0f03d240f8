//! The instance profile of a client, compiled: which instances of a domain a fetch is to visit
//! (INST-51). Behind it, a set of instance identifiers that is asked often.

use std::collections::BinaryHeap;

/// What a profile says about one instance domain: the first of its elements for that domain, or its
/// global default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element<'a> {
    /// Whether the state is `PM_PROFILE_INCLUDE`; any other number counts as exclude.
    pub include: bool,
    /// The instances to which the opposite applies, in any order, with duplicates and unknown ones
    /// (INST-52).
    pub exceptions: &'a [i32],
}

/// One element of a profile, ready to be asked about many instances.
#[derive(Debug)]
pub struct Compiled<'l> {
    include: bool,
    source: Vec<i32>,
    exceptions: Ids<'l>,
}

impl<'l> Compiled<'l> {
    /// Prepares an element; `None` without memory.
    #[must_use]
    pub fn new(element: Element<'_>) -> Option<Compiled<'static>> {
        Some(Compiled {
            include: element.include,
            source: copy(element.exceptions)?,
            exceptions: Ids::new(element.exceptions)?,
        })
    }

    /// An element that there is no memory to prepare: it answers as well, and takes its time.
    #[must_use]
    pub fn unprepared(element: Element<'l>) -> Compiled<'l> {
        Compiled {
            include: element.include,
            source: Vec::new(),
            exceptions: Ids::unsorted(element.exceptions),
        }
    }

    /// Whether this was made from an element that says the same (INST-53).
    #[must_use]
    pub fn is_made_from(&self, element: Element<'_>) -> bool {
        self.include == element.include && *self.source == *element.exceptions
    }

    /// Whether an instance is selected.
    #[must_use]
    pub fn selects(&self, inst: i32) -> bool {
        self.exceptions.contains(inst) != self.include
    }

    /// The place of the first entry whose instance is selected.
    pub fn position<T>(&self, entries: &[T], inst: impl Fn(&T) -> i32) -> Option<usize> {
        self.exceptions.position(!self.include, entries, inst)
    }

    /// The only instances that can be selected, ascending and each once; `None` when they are not
    /// listed.
    #[must_use]
    pub fn candidates(&self) -> Option<&[i32]> {
        self.exceptions.sorted().filter(|_| !self.include)
    }
}

/// Lists up to this length are compared one by one.
const SHORT: usize = 4;

/// A bitmap is used for longer ones while it takes no more than this many bits, or this many for
/// each identifier in it.
const FEW_BITS: u64 = 1 << 18;
const BITS_PER_ID: u64 = 256;

/// A set of instance identifiers.
#[derive(Debug)]
pub struct Ids<'l> {
    sorted: Vec<i32>,
    /// The lowest member, and how far the highest is above it: most that is asked lies outside, and
    /// is told so at once.
    first: i32,
    span: u32,
    form: Form<'l>,
}

#[derive(Debug)]
enum Form<'l> {
    /// A bit for each identifier from the first one on.
    Bits(Vec<u64>),
    /// The sorted list is searched.
    Sorted,
    /// There was no memory for a sorted list.
    List(&'l [i32]),
}

impl<'l> Ids<'l> {
    /// The set of the identifiers in `list`; `None` without memory.
    #[must_use]
    pub fn new(list: &[i32]) -> Option<Ids<'static>> {
        // Sorted as a heap: `sort_unstable` is 27 KB of code, and would be here for this list
        // alone.
        let mut sorted = BinaryHeap::from(copy(list)?).into_sorted_vec();
        sorted.dedup();
        let first = sorted.first().copied().unwrap_or(0);
        let span = sorted.last().map_or(0, |last| last.abs_diff(first));
        Some(Ids {
            form: Form::of(&sorted, first, span)?,
            sorted,
            first,
            span,
        })
    }

    /// The same, without memory of its own: each question goes through the list.
    #[must_use]
    pub fn unsorted(list: &'l [i32]) -> Ids<'l> {
        Ids {
            form: Form::List(list),
            sorted: Vec::new(),
            first: i32::MIN,
            span: u32::MAX,
        }
    }

    /// Whether `id` is in it.
    #[must_use]
    pub fn contains(&self, id: i32) -> bool {
        // What is below `first` wraps around to a number beyond the span.
        let offset = id.wrapping_sub(self.first) as u32;
        if offset > self.span {
            return false;
        }
        match &self.form {
            Form::Bits(words) => words
                .get((offset / 64) as usize)
                .is_some_and(|word| word >> (offset % 64) & 1 != 0),
            Form::Sorted => self.sorted.binary_search(&id).is_ok(),
            Form::List(list) => list.contains(&id),
        }
    }

    /// The place of the first entry whose identifier is in it, or is not. Tables are long and few
    /// of their instances are selected, so the forms have loops of their own, with one
    /// branch for many entries.
    pub fn position<T>(&self, wanted: bool, entries: &[T], id: impl Fn(&T) -> i32) -> Option<usize> {
        let offset = |id: i32| id.wrapping_sub(self.first) as u32;
        match &self.form {
            Form::Sorted if self.sorted.len() == 1 => first(entries, |entry| (id(entry) == self.first) == wanted),
            Form::Sorted if self.sorted.len() <= SHORT => {
                first(entries, |entry| self.sorted.contains(&id(entry)) == wanted)
            }
            Form::Bits(words) => first(entries, |entry| {
                let offset = offset(id(entry));
                let word = words.get((offset / 64) as usize).copied().unwrap_or(0);
                (word >> (offset % 64) & 1 != 0) == wanted
            }),
            Form::Sorted | Form::List(_) => entries.iter().position(|entry| self.contains(id(entry)) == wanted),
        }
    }

    /// Its members, ascending; `None` when they are not sorted.
    #[must_use]
    pub fn sorted(&self) -> Option<&[i32]> {
        (!matches!(self.form, Form::List(_))).then_some(&self.sorted)
    }
}

/// The place of the first entry that is accepted. Blocks are asked as a whole, without a branch for
/// each entry.
fn first<T>(entries: &[T], accepts: impl Fn(&T) -> bool) -> Option<usize> {
    const BLOCK: usize = 16;
    let mut start = 0;
    for block in entries.chunks_exact(BLOCK) {
        if block.iter().fold(false, |any, entry| any | accepts(entry)) {
            break;
        }
        start += BLOCK;
    }
    let found = entries.get(start..)?.iter().position(accepts)?;
    Some(start + found)
}

/// A copy of the list, if there is memory for it.
fn copy(list: &[i32]) -> Option<Vec<i32>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(list.len()).ok()?;
    copy.extend_from_slice(list);
    Some(copy)
}

impl Form<'static> {
    /// The form for these identifiers; `None` without memory.
    fn of(sorted: &[i32], first: i32, span: u32) -> Option<Form<'static>> {
        let bits = (sorted.len() as u64 * BITS_PER_ID).max(FEW_BITS);
        if sorted.len() <= SHORT || u64::from(span) >= bits {
            return Some(Form::Sorted);
        }
        let mut words = Vec::new();
        let len = (span / 64 + 1) as usize;
        words.try_reserve_exact(len).ok()?;
        words.resize(len, 0u64);
        for id in sorted {
            let offset = id.wrapping_sub(first) as u32;
            words[(offset / 64) as usize] |= 1 << (offset % 64);
        }
        Some(Form::Bits(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(include: bool, exceptions: &[i32]) -> Compiled<'static> {
        Compiled::new(Element { include, exceptions }).expect("memory")
    }

    /// INST-51: the table of states and lists.
    #[test]
    fn table() {
        let selected = |profile: &Compiled| (0..10).filter(|inst| profile.selects(*inst)).collect::<Vec<_>>();
        assert_eq!(selected(&compiled(true, &[])), (0..10).collect::<Vec<_>>());
        assert_eq!(selected(&compiled(true, &[3, 7])), [0, 1, 2, 4, 5, 6, 8, 9]);
        assert_eq!(selected(&compiled(false, &[])), []);
        assert_eq!(selected(&compiled(false, &[7, 3])), [3, 7]);
    }

    /// INST-52: unsorted lists with duplicates and unknown instances.
    #[test]
    fn candidates() {
        assert_eq!(compiled(false, &[9, -4, 9, 1]).candidates(), Some(&[-4, 1, 9][..]));
        assert_eq!(compiled(false, &[]).candidates(), Some(&[][..]));
        assert_eq!(compiled(true, &[1]).candidates(), None);
    }

    /// INST-53: a list that was rewritten in place is noticed.
    #[test]
    fn same_source() {
        let made = compiled(false, &[1, 2, 3]);
        let element = |include, exceptions| Element { include, exceptions };
        assert!(made.is_made_from(element(false, &[1, 2, 3])));
        assert!(!made.is_made_from(element(false, &[1, 2, 4])));
        assert!(!made.is_made_from(element(true, &[1, 2, 3])));
    }
}

#[cfg(test)]
mod ids_tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// INST-52: each form at the ends of the range.
    #[test]
    fn forms() {
        for list in [
            vec![],
            vec![5],
            vec![i32::MIN, -1, 0, 1, i32::MAX],
            (-100..100).step_by(7).collect(),
            (0..1000).map(|id| id * 1_000_003).collect(),
        ] {
            let ids = Ids::new(&list).expect("memory");
            for id in list.iter().flat_map(|id| [id.wrapping_sub(1), *id, id.wrapping_add(1)]) {
                assert_eq!(ids.contains(id), list.contains(&id), "{id} in {list:?}");
            }
            assert!(!ids.contains(77_777_777) && !ids.contains(i32::MIN + 5));
            let outside = [77_777_777, i32::MIN + 5];
            for (place, id) in list.iter().enumerate() {
                let asked: Vec<_> = outside.iter().chain(&list[place..]).copied().collect();
                assert_eq!(ids.position(true, &asked, |id| *id), Some(2), "{id} in {list:?}");
            }
        }
    }

    /// One bit for each identifier between the first and the last.
    #[test]
    fn as_few_words_as_can_be() {
        for (last, words) in [(62, 1), (64, 2), (126, 2), (640, 11)] {
            let list: Vec<_> = (0..=last).step_by(2).collect();
            let Form::Bits(bits) = Ids::new(&list).expect("memory").form else {
                panic!("{last}: not as bits");
            };
            assert_eq!(bits.len(), words, "{last}");
        }
    }

    proptest! {
        #[test]
        fn same_as_a_set(
            list in prop::collection::vec(-300i32..300, 0..60),
            asked in prop::collection::vec(-400i32..400, 60),
        ) {
            let (ids, set) = (Ids::new(&list).expect("memory"), list.iter().copied().collect::<BTreeSet<_>>());
            for id in asked.iter().copied() {
                prop_assert_eq!(ids.contains(id), set.contains(&id));
                prop_assert_eq!(Ids::unsorted(&list).contains(id), set.contains(&id));
            }
            for wanted in [true, false] {
                let expected = asked.iter().position(|id| set.contains(id) == wanted);
                prop_assert_eq!(ids.position(wanted, &asked, |id| *id), expected);
                prop_assert_eq!(Ids::unsorted(&list).position(wanted, &asked, |id| *id), expected);
            }
            let sorted: Vec<_> = set.into_iter().collect();
            prop_assert_eq!(ids.sorted(), Some(&sorted[..]));
        }
    }
}
