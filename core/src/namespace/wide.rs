//! Wide nodes: an index of the children of a node that has many (TREE-36).
//!
//! Nodes are built and freed by others, without a word to us: an index remembers where the children
//! are, and must never follow one of these addresses into a tree that was freed. What proves that
//! the children are still there is a mark in the parent. It lies in a link that libpcp sets to NULL
//! in each node that it makes, and that nobody uses in a node without an identifier. So a node that
//! was made later at the same address has no mark, and its index is dropped without a look at what
//! it remembers. As nothing but the end of a tree removes a node, and new children come first
//! (TREE-13), the children that are new are those before the one that was first last time.

use super::{Mark, Node};
use crate::error::{Error, Result};
use crate::index::{Index, Seed};

/// A node with at least this many children is wide: it may get an index.
pub(super) const WIDE: usize = 48;
/// The price of an index: for each child that it is to hold, walks must have passed this many
/// children. To put one in takes about twice as long as to pass those.
pub(super) const PRICE: usize = 16;
/// How many indexes there are at most. Those of a tree that libpcp itself has freed stay until they
/// make room for others.
pub const SLOTS: usize = 64;
/// How many children they remember at most, together, when another one comes.
pub(super) const CHILDREN: usize = 1 << 16;

/// The way to the indexes of a process.
pub trait Access<K> {
    /// Works on them, alone.
    fn with<R>(&self, work: impl FnOnce(&mut Indexes<K>) -> R) -> R;
}

/// The indexes of all trees of a process.
#[derive(Debug)]
pub struct Indexes<K> {
    slots: Vec<Option<Children<K>>>,
    /// Which of them has made room last.
    turn: usize,
    /// What walks over wide nodes without an index have paid, in children passed, less what the
    /// indexes have cost.
    credit: isize,
}

/// The children of a node by name: no two have the same one, and none has a dot in it. So the one
/// that is called like the first component is the only one that fits a longer name (TREE-30).
#[derive(Debug)]
struct Children<K> {
    parent: K,
    /// The root of its tree, if that was known.
    root: Option<K>,
    /// Where they are, and the hashes of their names.
    kept: Vec<K>,
    hashes: Vec<u32>,
    index: Index,
    /// The first one, when it was looked at last, and the hash of its name.
    first: Option<(K, u32)>,
}

fn hash_of(name: &[u8]) -> u32 {
    Seed::process().bytes(name)
}

impl<K: Copy + Eq> Children<K> {
    /// The child that is called `name`, `Some(None)` if no child is; `None` when the list is not
    /// the one that is remembered.
    fn look_up<'t, N: Node<'t, Kept = K>>(&mut self, parent: N, name: &[u8]) -> Option<Option<N>> {
        self.catch_up(parent).ok()?;
        let found = self.find(parent, name, hash_of(name));
        // What is not found is not there if the first child is the one that it was.
        let is_known = found.is_some() || parent.first().is_none_or(|first| self.is_first(first));
        is_known.then_some(found)
    }

    fn find<'t, N: Node<'t, Kept = K>>(&self, parent: N, name: &[u8], hash: u32) -> Option<N> {
        let child = |slot: u32| self.kept.get(slot as usize).map(|kept| parent.recall(*kept));
        let same = |slot| child(slot).is_some_and(|child| child.name() == name);
        self.index.find(hash, same).and_then(child)
    }

    /// Whether a child is the one that was first, and not another at its address: the first one may
    /// be unlinked and freed by hand.
    fn is_first<'t, N: Node<'t, Kept = K>>(&self, child: N) -> bool {
        self.first == Some((child.keep(), hash_of(child.name())))
    }

    /// Adds the children that are new: those before the one that was first. Without that one
    /// nothing that is remembered is used.
    ///
    /// # Errors
    /// Whatever is in the way: the list is not the one that is remembered, its children cannot be
    /// told by their names, or there is no memory.
    fn catch_up<'t, N: Node<'t, Kept = K>>(&mut self, parent: N) -> Result<()> {
        let (first, known) = (parent.first(), self.first);
        let is_known = |child: &N| known.is_some_and(|(kept, _)| child.keep() == kept);
        if first.is_some_and(|first| is_known(&first)) {
            return Ok(());
        }
        let mut children = std::iter::successors(first, |child| child.next());
        if known.is_some() && !children.find(is_known).is_some_and(|child| self.is_first(child)) {
            return Err(Error::EINVAL);
        }
        let mut next = first;
        while let Some(child) = next {
            self.add(parent, child)?;
            next = child.next().filter(|child| !is_known(child));
        }
        self.first = first.map(|first| (first.keep(), hash_of(first.name())));
        Ok(())
    }

    fn add<'t, N: Node<'t, Kept = K>>(&mut self, parent: N, child: N) -> Result<()> {
        let name = child.name();
        let hash = hash_of(name);
        if name.contains(&b'.') || self.find(parent, name, hash).is_some() {
            return Err(Error::EINVAL);
        }
        self.kept.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        self.hashes.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        let slot = u32::try_from(self.kept.len()).map_err(|_| Error::ENOMEM)?;
        self.index.reserve(1, slot + 1, |slot| self.hashes[slot as usize])?;
        self.kept.push(child.keep());
        self.hashes.push(hash);
        self.index.insert(hash, slot, |_| false);
        Ok(())
    }
}

impl<K> Indexes<K> {
    /// None yet.
    #[must_use]
    pub const fn new() -> Indexes<K> {
        Indexes {
            slots: Vec::new(),
            turn: 0,
            credit: 0,
        }
    }
}

impl<K> Default for Indexes<K> {
    fn default() -> Indexes<K> {
        Indexes::new()
    }
}

impl<K: Copy + Eq> Indexes<K> {
    /// The child that is called `name`, `Some(None)` if no child is. `None` when the children of
    /// `parent`, whose mark is that of `slot`, have no index.
    fn child<'t, N: Node<'t, Kept = K>>(&mut self, parent: N, slot: usize, name: &[u8]) -> Option<Option<N>> {
        let place = self.slots.get_mut(slot)?;
        let children = place.as_mut().filter(|children| children.parent == parent.keep())?;
        let found = children.look_up(parent, name);
        if found.is_none() {
            *place = None;
        }
        found
    }

    /// A walk has passed `passed` children of `parent`, of the tree of `root`: that pays for an
    /// index, now or later.
    fn walked<'t, N: Node<'t, Kept = K>>(&mut self, parent: N, root: Option<N>, passed: usize) -> Result<()> {
        if parent.mark() == Mark::Used {
            return Ok(());
        }
        let as_credit = |children: usize| isize::try_from(children.saturating_mul(PRICE)).unwrap_or(isize::MAX);
        self.credit = self.credit.saturating_add_unsigned(passed);
        if self.credit < as_credit(passed) {
            return Ok(());
        }
        let mut children = Children {
            parent: parent.keep(),
            root: root.map(N::keep),
            kept: Vec::new(),
            hashes: Vec::new(),
            index: Index::new(),
            first: None,
        };
        let outcome = children.catch_up(parent);
        self.credit = self.credit.saturating_sub(as_credit(children.kept.len()));
        outcome?;
        let place = self.place()?;
        self.slots[place] = Some(children);
        parent.set_mark(place);
        Ok(())
    }

    /// A place for another index, for which those there make room in turn.
    fn place(&mut self) -> Result<usize> {
        loop {
            let held = self.slots.iter().flatten().map(|children| children.kept.len());
            if held.sum::<usize>() <= CHILDREN {
                if let Some(free) = self.slots.iter().position(Option::is_none) {
                    return Ok(free);
                }
                if self.slots.len() < SLOTS {
                    self.slots.try_reserve(1).map_err(|_| Error::ENOMEM)?;
                    self.slots.push(None);
                    continue;
                }
            }
            self.turn = (self.turn + 1) % self.slots.len();
            self.slots[self.turn] = None;
        }
    }

    /// Drops the indexes of the tree of this root, which is going to be freed.
    pub fn forget(&mut self, root: K) {
        for slot in &mut self.slots {
            slot.take_if(|children| children.root == Some(root));
        }
    }
}

/// The first child of `parent` that fits, by its index or else by a walk over the children. What
/// fits is called `name`.
///
/// `root` is that of the tree, if it is known.
#[inline(always)]
pub(super) fn child<'t, 'n, N: Node<'t>, F>(
    parent: N,
    root: Option<N>,
    name: impl FnOnce() -> &'n [u8],
    fits: impl Fn(N) -> Option<F>,
    indexes: &impl Access<N::Kept>,
) -> Option<F> {
    if let Mark::Slot(slot) = parent.mark() {
        if let Some(child) = indexed(parent, slot, name(), indexes) {
            return child.and_then(fits);
        }
    }
    let (mut next, mut passed) = (parent.first(), 0);
    let found = loop {
        let Some(child) = next else { break None };
        match fits(child) {
            None => next = child.next(),
            found => break found,
        }
        passed += 1;
    };
    if passed >= WIDE {
        walked(parent, root, passed, indexes);
    }
    found
}

#[inline(never)]
fn indexed<'t, N: Node<'t>>(parent: N, slot: usize, name: &[u8], indexes: &impl Access<N::Kept>) -> Option<Option<N>> {
    indexes.with(|indexes| indexes.child(parent, slot, name))
}

#[cold]
#[inline(never)]
fn walked<'t, N: Node<'t>>(parent: N, root: Option<N>, passed: usize, indexes: &impl Access<N::Kept>) {
    // Without an index it is found all the same.
    let _ = indexes.with(|indexes| indexes.walked(parent, root, passed));
}

#[cfg(test)]
impl<K: Copy + Eq> Indexes<K> {
    /// For each node that has an index, how many children it has.
    pub(super) fn held(&self) -> Vec<usize> {
        self.slots
            .iter()
            .flatten()
            .map(|children| children.kept.len())
            .collect()
    }

    /// Whether a node has one.
    pub(super) fn is_held(&self, parent: K) -> bool {
        self.slots.iter().flatten().any(|children| children.parent == parent)
    }
}
