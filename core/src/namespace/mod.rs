//! Trees of metric names: lookup, counting, listing and the table from identifiers to names (TREE-1
//! … TREE-35).
//!
//! The nodes are libpcp's C structures, which other code builds, walks and frees, so nothing here
//! owns one: the algorithms work on whatever implements [`Node`]. None of them recurses, since
//! names may be arbitrarily deep (N-14).
//!
//! Here is also what is remembered of the children of one node; how a wide node finds a child by it
//! is in `wide`.

mod list;
#[cfg(test)]
mod model;
mod wide;
#[cfg(test)]
mod wide_tests;

pub use list::{Paths, Place, Sink, Size, children, find, leaves, lookup, names_of, place};
pub use wide::{Access, Indexes, SLOTS};

use crate::error::{Error, Result};
use crate::ident::MetricId;
use crate::index::{Index, Seed};

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
    let mut count = 0;
    // Where to go on when a level has been counted.
    let mut above = Vec::new();
    let mut next = root.first();
    loop {
        while let Some(node) = next {
            next = node.next();
            if node.pmid() != MetricId::NULL {
                count += 1;
            } else if let Some(below) = node.first() {
                above.try_reserve(1).map_err(|_| Error::NOMEM)?;
                above.push(next);
                next = Some(below);
            }
        }
        match above.pop() {
            Some(after) => next = after,
            None => return Ok(count),
        }
    }
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

/// What a node says about its index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Nothing; it can have a mark.
    Free,
    /// The mark of the index at this place. Whether that is its index is for
    /// [`Indexes`] to say.
    Slot(usize),
    /// Its link is used otherwise: it has no index.
    Used,
}

/// A node whose children can be remembered.
pub trait Recall<'t>: Node<'t> {
    /// Where a node is.
    type Kept: Copy + Eq;
    /// Where the node is.
    fn keep(self) -> Self::Kept;
    /// A child of this node. Only [`Indexes`] asks, for what it has kept of a child
    /// of this very node, which has said so by its mark ever since.
    fn recall(self, child: Self::Kept) -> Self;
    /// What is in the link.
    fn mark(self) -> Mark;
    /// Puts the mark of an index in the link, which is [`Mark::Free`] or has another one.
    fn set_mark(self, slot: usize);
}

/// Children by name: no two have the same one, and none has a dot in it. So the one that is called
/// like the first component is the only one that fits a longer name (TREE-30).
#[derive(Debug)]
struct Children<K> {
    /// Where they are, and the hashes of their names.
    kept: Vec<K>,
    hashes: Vec<u32>,
    index: Index,
    /// The first one, when it was looked at last, and the hash of its name.
    first: Option<(K, u32)>,
}

/// Why there is no index.
enum NoIndex {
    /// Two children have the same name, or a name has a dot in it.
    Unindexable,
    /// The list is not the one that was indexed, or there is no memory.
    Stale,
}

impl From<Error> for NoIndex {
    fn from(_: Error) -> NoIndex {
        NoIndex::Stale
    }
}

impl<K: Copy + Eq> Children<K> {
    /// None remembered yet.
    const NONE: Children<K> = Children {
        kept: Vec::new(),
        hashes: Vec::new(),
        index: Index::new(),
        first: None,
    };

    /// How many there are.
    fn len(&self) -> usize {
        self.kept.len()
    }

    /// The child that is called `name`.
    fn find<'t, N: Recall<'t, Kept = K>>(&self, parent: N, name: &[u8]) -> Option<N> {
        self.find_hashed(parent, name, Seed::process().bytes(name))
    }

    fn find_hashed<'t, N: Recall<'t, Kept = K>>(&self, parent: N, name: &[u8], hash: u32) -> Option<N> {
        let child = |slot: u32| self.kept.get(slot as usize).map(|kept| parent.recall(*kept));
        let same = |slot| child(slot).is_some_and(|child| child.name() == name);
        self.index.find(hash, same).and_then(child)
    }

    /// Whether a child is the one that was first, and not another at its address: the first one may
    /// be unlinked and freed by hand.
    fn is_first<'t, N: Recall<'t, Kept = K>>(&self, child: N) -> bool {
        self.first == Some((child.keep(), Seed::process().bytes(child.name())))
    }

    /// Whether what is not found is not there: then the first child is the one that it was.
    fn is_complete<'t, N: Recall<'t, Kept = K>>(&self, parent: N) -> bool {
        parent.first().is_none_or(|first| self.is_first(first))
    }

    /// Adds the children that are new: those before the one that was first. Without that one
    /// nothing that is remembered is used.
    fn catch_up<'t, N: Recall<'t, Kept = K>>(&mut self, parent: N) -> std::result::Result<(), NoIndex> {
        let Some(first) = parent.first() else {
            return if self.first.is_some() {
                Err(NoIndex::Stale)
            } else {
                Ok(())
            };
        };
        let known = self.first;
        let is_known = |child: &N| known.is_some_and(|(kept, _)| child.keep() == kept);
        if is_known(&first) {
            return Ok(());
        }
        let mut children = std::iter::successors(Some(first), |child| child.next());
        if known.is_some() && !children.find(is_known).is_some_and(|child| self.is_first(child)) {
            return Err(NoIndex::Stale);
        }
        let mut next = Some(first);
        while let Some(child) = next {
            self.add(parent, child)?;
            next = child.next().filter(|child| !is_known(child));
        }
        self.first = Some((first.keep(), Seed::process().bytes(first.name())));
        Ok(())
    }

    fn add<'t, N: Recall<'t, Kept = K>>(&mut self, parent: N, child: N) -> std::result::Result<(), NoIndex> {
        let name = child.name();
        let hash = Seed::process().bytes(name);
        if name.contains(&b'.') || self.find_hashed(parent, name, hash).is_some() {
            return Err(NoIndex::Unindexable);
        }
        self.reserve()?;
        let slot = u32::try_from(self.kept.len()).map_err(|_| NoIndex::Stale)?;
        self.kept.push(child.keep());
        self.hashes.push(hash);
        self.index.insert(hash, slot);
        Ok(())
    }

    /// Makes room for one more.
    fn reserve(&mut self) -> Result<()> {
        self.kept.try_reserve(1).map_err(|_| Error::NOMEM)?;
        self.hashes.try_reserve(1).map_err(|_| Error::NOMEM)?;
        let end = u32::try_from(self.kept.len() + 1).map_err(|_| Error::NOMEM)?;
        self.index.reserve(1, end, |slot| self.hashes[slot as usize])
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
