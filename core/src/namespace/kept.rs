//! What is remembered of the children of one node.

use super::Node;
use crate::error::{Error, Result};
use crate::index::{Index, Seed};

/// What a node says about its index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Nothing; it can have a mark.
    Free,
    /// The mark of the index at this place. Whether that is its index is for
    /// [`Indexes`](super::Indexes) to say.
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
    /// A child of this node. Only [`Indexes`](super::Indexes) asks, for what it has kept of a child
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
pub(super) struct Children<K> {
    /// Where they are, and the hashes of their names.
    kept: Vec<K>,
    hashes: Vec<u32>,
    index: Index,
    /// The first one, when it was looked at last, and the hash of its name.
    first: Option<(K, u32)>,
}

/// Why there is no index.
pub(super) enum NoIndex {
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
    pub(super) const NONE: Children<K> = Children {
        kept: Vec::new(),
        hashes: Vec::new(),
        index: Index::new(),
        first: None,
    };

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// The child that is called `name`.
    pub(super) fn find<'t, N: Recall<'t, Kept = K>>(&self, parent: N, name: &[u8]) -> Option<N> {
        self.find_hashed(parent, name, Seed::process().bytes(name))
    }

    #[inline]
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
    pub(super) fn is_complete<'t, N: Recall<'t, Kept = K>>(&self, parent: N) -> bool {
        parent.first().is_none_or(|first| self.is_first(first))
    }

    /// Adds the children that are new: those before the one that was first. Without that one
    /// nothing that is remembered is used.
    pub(super) fn catch_up<'t, N: Recall<'t, Kept = K>>(&mut self, parent: N) -> std::result::Result<(), NoIndex> {
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
