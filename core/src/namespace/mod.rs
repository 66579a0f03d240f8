//! Trees of metric names: lookup, counting, listing and the table from identifiers to names (TREE-1
//! … TREE-35).
//!
//! The nodes are libpcp's C structures, which other code builds, walks and frees, so nothing here
//! owns one: the algorithms work on whatever implements [`Node`]. None of them recurses, since
//! names may be arbitrarily deep (N-14).

mod kept;
mod list;
#[cfg(test)]
mod model;
mod search;
mod wide;
#[cfg(test)]
mod wide_tests;

pub use kept::{Mark, Recall};
pub use list::{Paths, Sink, Size, children, leaves, names_of};
pub use search::{Place, find, lookup, place};
pub use wide::{Access, Indexes, SLOTS};

use crate::error::{Error, Result};
use crate::ident::MetricId;

/// The domain number whose item 0 marks the root of a dynamic subtree; the cluster then tells whose
/// it is.
const DYNAMIC_DOMAIN: u32 = 511;

/// A node of a tree of names, living for `'t`.
pub trait Node<'t>: Copy {
    /// One component of a name.
    fn name(self) -> &'t [u8];
    /// The identifier; [`MetricId::NULL`] above the leaves.
    fn pmid(self) -> MetricId;
    /// The node above; the root has none.
    fn parent(self) -> Option<Self>;
    /// The next node with the same parent.
    fn next(self) -> Option<Self>;
    /// The first node below.
    fn first(self) -> Option<Self>;
    /// The next node with the same place in the table from identifiers to names.
    fn chained(self) -> Option<Self>;

    /// Whether names go on below this node. Having children plays no part in it (TREE-4).
    fn is_branch(self) -> bool {
        let pmid = self.pmid();
        pmid == MetricId::NULL || (pmid.domain() == DYNAMIC_DOMAIN && pmid.item() == 0)
    }
}

/// A node whose links can be set.
pub trait Link<'t>: Node<'t> {
    /// Sets what [`Node::parent`] gives.
    fn set_parent(self, parent: Option<Self>);
    /// Sets what [`Node::chained`] gives.
    fn set_chained(self, chained: Option<Self>);
}

/// The number of names below `root`: a node with an identifier counts and hides what is below it
/// (TREE-23). The root itself does neither: libpcp's repair of a table gives it one.
///
/// # Errors
/// `-ENOMEM`.
pub fn size<'t, N: Node<'t>>(root: N) -> Result<usize> {
    let named = |node: N| node.pmid() != MetricId::NULL;
    let mut count = 0;
    let mut top = root.first();
    while let Some(node) = top {
        for step in Walk::new(Some(node), |node| !named(node)) {
            count += usize::from(named(step?.node));
        }
        top = node.next();
    }
    Ok(count)
}

/// The number of chains of a table for about `hint` names (TREE-20). Negative when the hint asks
/// for a table that cannot exist (TREE-21).
#[must_use]
pub fn table_size(hint: i32) -> i32 {
    let mut size = hint / 5;
    if size % 2 == 0 {
        size += 1;
    }
    if size % 3 == 0 {
        size += 2;
    }
    if size % 5 == 0 {
        size += 2;
    }
    size
}

/// The chain of a table of `chains` that names of `pmid` are in; `None` without a table.
#[must_use]
pub fn chain(pmid: MetricId, chains: usize) -> Option<usize> {
    (pmid.0 as usize).checked_rem(chains)
}

/// Fills the table from identifiers to names and sets the parents of all nodes below `root`
/// (TREE-20). Later nodes go to the front of a chain; nodes without an identifier keep their link
/// (N-2).
///
/// It needs no memory: the way back leads over the parents that were set on the way down.
pub fn rebuild<'t, N: Link<'t>>(root: N, table: &mut [Option<N>]) {
    let chains = table.len();
    let mut at = root.first().map(|node| (node, root));
    let mut depth = 1;
    while let Some((node, parent)) = at {
        node.set_parent(Some(parent));
        if node.pmid() != MetricId::NULL {
            if let Some(head) = chain(node.pmid(), chains).and_then(|chain| table.get_mut(chain)) {
                node.set_chained(*head);
                *head = Some(node);
            }
        }
        if let Some(below) = node.first() {
            depth += 1;
            at = Some((below, node));
            continue;
        }
        let above = std::iter::successors(Some(node), |node| node.parent());
        // What hangs beside the root is no part of the tree.
        at = above.take(depth).enumerate().find_map(|(levels, node)| {
            let next = (node.next()?, node.parent()?);
            depth -= levels;
            Some(next)
        });
    }
}

/// One node on the way of a [`Walk`].
#[derive(Clone, Copy, Debug)]
pub struct Step<N> {
    /// The node.
    pub node: N,
    /// Number of levels below the start.
    pub depth: usize,
}

/// Visits a node and what is below it: parents first, siblings in the order of the list. Its memory
/// grows with the depth of the tree only; when there is none, the walk ends with `-ENOMEM`.
pub struct Walk<N, D> {
    at: Option<Step<N>>,
    above: Vec<Step<N>>,
    descend: D,
}

impl<N: Copy, D: Fn(N) -> bool> Walk<N, D> {
    /// A walk that starts at `start` and goes below the nodes that `descend` allows.
    pub fn new(start: Option<N>, descend: D) -> Walk<N, D> {
        let at = start.map(|node| Step { node, depth: 0 });
        Walk {
            at,
            above: Vec::new(),
            descend,
        }
    }
}

impl<'t, N: Node<'t>, D: Fn(N) -> bool> Walk<N, D> {
    /// What comes after `step`, when nothing below it is wanted.
    fn after(&mut self, step: Step<N>) -> Option<Step<N>> {
        let mut step = step;
        loop {
            if step.depth > 0 {
                if let Some(node) = step.node.next() {
                    return Some(Step { node, ..step });
                }
            }
            step = self.above.pop()?;
        }
    }
}

impl<'t, N: Node<'t>, D: Fn(N) -> bool> Iterator for Walk<N, D> {
    type Item = Result<Step<N>>;

    fn next(&mut self) -> Option<Result<Step<N>>> {
        let step = self.at.take()?;
        let below = if (self.descend)(step.node) {
            step.node.first()
        } else {
            None
        };
        self.at = match below {
            Some(node) => {
                if self.above.try_reserve(1).is_err() {
                    return Some(Err(Error::NOMEM));
                }
                self.above.push(step);
                Some(Step {
                    node,
                    depth: step.depth + 1,
                })
            }
            None => self.after(step),
        };
        Some(Ok(step))
    }
}

#[cfg(test)]
mod tests {
    use super::list::tests::paths;
    use super::model::{Tree, lookup};
    use super::*;
    use proptest::prelude::*;

    /// TREE-20: the examples of the specification; TREE-21: hints that no table fits.
    #[test]
    fn sizes_of_tables() {
        for (hints, size) in [
            (0..=9, 1),
            (10..=39, 7),
            (40..=59, 11),
            (60..=60, 13),
            (70..=70, 17),
            (100..=100, 23),
            (130..=130, 29),
            (150..=150, 31),
            (1000..=1000, 203),
            (-4..=-1, 1),
        ] {
            for hint in hints {
                assert_eq!(table_size(hint), size, "hint {hint}");
            }
        }
        for hint in [-10, -15, -1000, i32::MIN] {
            assert!(table_size(hint) < 0, "hint {hint}");
        }
        assert!(table_size(i32::MAX) > 0);
    }

    /// TREE-4, TREE-14: a leaf ends the search, a dynamic root does not, a derived metric is a
    /// leaf.
    #[test]
    fn leaves_stop_the_search() {
        let tree = Tree::of(&[
            ("x", 5),
            ("x.below", 6),
            ("dyn", (511 << 22) | (60 << 10)),
            ("dyn.hidden", 7),
            ("derived", (511 << 22) | (60 << 10) | 1),
            ("derived.below", 8),
        ]);
        let found = |name: &str| lookup(tree.top(), name.as_bytes()).map(|node| node.pmid().0);
        assert_eq!(found("x"), Some(5));
        assert_eq!(found("x.below"), None);
        assert_eq!(found("dyn.hidden"), Some(7));
        assert_eq!(found("derived.below"), None);
        assert_eq!(size(tree.root()), Ok(3));
    }

    /// N-14: neither deep nor broad trees need stack.
    #[test]
    fn deep_trees() {
        let name = vec!["n"; 200_000].join(".");
        let tree = Tree::of(&[(&name, 1)]);
        assert_eq!(size(tree.root()), Ok(1));
        assert!(lookup(tree.top(), name.as_bytes()).is_some());
        let mut table = [None; 1];
        rebuild(tree.root(), &mut table);
        assert_eq!(paths(table[0], MetricId(1)), [name]);
    }

    proptest! {
        /// TREE-11, TREE-17, TREE-20, TREE-23, TREE-32: a tree agrees with the plain list of its
        /// names.
        #[test]
        fn agrees_with_a_list(
            names in prop::collection::vec(("[ab]{1,2}(\\.[ab]{1,2}){0,3}", 0u32..12), 0..40),
            hint in 0..60i32,
        ) {
            let tree = Tree::of(&names.iter().map(|(name, pmid)| (name.as_str(), *pmid)).collect::<Vec<_>>());
            let listed = tree.names();
            let visible: Vec<_> = listed
                .iter()
                .filter(|(name, _)| !listed.iter().any(|(above, _)| name.starts_with(&format!("{above}."))))
                .collect();
            prop_assert_eq!(size(tree.root()), Ok(visible.len()));
            for (name, pmid) in &visible {
                prop_assert_eq!(lookup(tree.top(), name.as_bytes()).map(Node::pmid), Some(MetricId(*pmid)));
            }
            let mut table = vec![None; usize::try_from(table_size(hint)).unwrap()];
            rebuild(tree.root(), &mut table);
            for pmid in (0..12).map(MetricId) {
                let head = table[chain(pmid, table.len()).unwrap()];
                let mut expected: Vec<_> = listed.iter().filter(|entry| entry.1 == pmid.0).map(|entry| &entry.0).collect();
                expected.sort();
                let mut found = paths(head, pmid);
                found.sort();
                prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
            }
        }
    }
}
