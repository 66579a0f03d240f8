//! The instance profile of a client, compiled: which instances of a domain a fetch is to visit
//! (INST-51).

mod ids;

pub use ids::Ids;

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
            source: ids::copy(element.exceptions)?,
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
