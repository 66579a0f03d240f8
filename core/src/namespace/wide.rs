//! Wide nodes: an index of the children of a node that has many (TREE-36).
//!
//! Nodes are built and freed by others, without a word to us: an index remembers where the children
//! are, and must never follow one of these addresses into a tree that was freed. What proves that
//! the children are still there is a mark in the parent. It lies in a link that libpcp sets to NULL
//! in each node that it makes, and that nobody uses in a node without an identifier. So a node that
//! was made later at the same address has no mark, and its index is dropped without a look at what
//! it remembers. As nothing but the end of a tree removes a node, and new children come first
//! (TREE-13), the children that are new are those before the one that was first last time.

use super::{Children, Mark, NoIndex, Recall};
use crate::error::{Error, Result};

/// A node with at least this many children is wide: it may get an index.
pub(super) const WIDE: usize = 48;
/// The price of an index: for each child that it is to hold, walks must have passed this many
/// children. To put one in takes about twice as long as to pass those.
pub(super) const PRICE: usize = 16;
/// An index that was used this often was worth its price many times over: each use saves passing
/// half of the children. If there are more wide nodes in use than indexes, so that they are dropped
/// before that, the price doubles with each, up to `DEAREST` times the usual one; each that was
/// worth it halves the price again.
const WORTH: usize = 64 * PRICE;
const DEAREST: usize = 64;
/// How many indexes there are at most. Those of a tree that libpcp itself has freed stay until
/// others are built.
pub const SLOTS: usize = 64;
/// How many of them may be of any size;
pub(super) const ALWAYS: usize = 16;
/// more only if they remember no more children than this, together.
pub(super) const CHILDREN: usize = 1 << 16;

/// The way to the indexes of a process.
pub trait Access<K> {
    /// Works on them, alone.
    fn with<R>(&self, work: impl FnOnce(&mut Indexes<K>) -> R) -> R;
}

/// The indexes of all trees of a process.
#[derive(Debug)]
pub struct Indexes<K> {
    slots: Vec<Slot<K>>,
    /// What walks over wide nodes without an index have cost, in children passed.
    credit: usize,
    /// The credit that the last node wanted whose children were counted in vain: until then none
    /// are.
    due: usize,
    /// How many children are to be passed for each that is put into an index.
    price: usize,
    /// Number of uses.
    turn: u64,
}

#[derive(Debug)]
struct Slot<K> {
    owner: Option<Owner<K>>,
    children: Children<K>,
    /// When it was used last.
    turn: u64,
    /// How often it was used.
    uses: usize,
}

#[derive(Debug)]
struct Owner<K> {
    /// The node whose index this is.
    parent: K,
    /// The root of its tree, if that was known.
    root: Option<K>,
    /// The children cannot be told by their names: there is no index, and none is tried.
    is_refused: bool,
}

impl<K> Slot<K> {
    /// Drops what is there.
    fn clear(&mut self)
    where
        K: Copy + Eq,
    {
        (self.owner, self.children) = (None, Children::NONE);
    }

    fn is_of(&self, parent: &K) -> bool
    where
        K: Eq,
    {
        self.owner.as_ref().is_some_and(|owner| owner.parent == *parent)
    }
}

impl<K> Indexes<K> {
    /// None yet.
    #[must_use]
    pub const fn new() -> Indexes<K> {
        Indexes {
            slots: Vec::new(),
            credit: 0,
            due: 0,
            price: PRICE,
            turn: 0,
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
    fn child<'t, N: Recall<'t, Kept = K>>(&mut self, parent: N, slot: usize, name: &[u8]) -> Option<Option<N>> {
        self.turn += 1;
        let slot = self.slots.get_mut(slot).filter(|slot| slot.is_of(&parent.keep()))?;
        slot.turn = self.turn;
        slot.uses = slot.uses.saturating_add(1);
        let owner = slot.owner.as_mut().filter(|owner| !owner.is_refused)?;
        match slot.children.catch_up(parent) {
            Ok(()) => {
                let found = slot.children.find(parent, name);
                if found.is_none() && !slot.children.is_complete(parent) {
                    slot.clear();
                    return None;
                }
                Some(found)
            }
            Err(NoIndex::Unindexable) => {
                owner.is_refused = true;
                slot.children = Children::NONE;
                None
            }
            Err(NoIndex::Stale) => {
                slot.clear();
                None
            }
        }
    }

    /// A walk has passed `passed` children of `parent`, of the tree of `root`: that pays for an
    /// index, now or later.
    fn walked<'t, N: Recall<'t, Kept = K>>(&mut self, parent: N, root: Option<N>, passed: usize) {
        let has_tried = match parent.mark() {
            Mark::Used => true,
            Mark::Slot(slot) => self.slots.get(slot).is_some_and(|slot| slot.is_of(&parent.keep())),
            Mark::Free => false,
        };
        if has_tried {
            return;
        }
        self.credit = self.credit.saturating_add(passed);
        if self.credit < self.due.max(passed.saturating_mul(self.price)) {
            return;
        }
        let all = std::iter::successors(parent.first(), |child| child.next()).count();
        let cost = all.saturating_mul(self.price);
        let Some(credit) = self.credit.checked_sub(cost) else {
            self.due = cost;
            return;
        };
        (self.credit, self.due) = (credit, 0);
        let _ = self.build(parent, root);
    }

    fn build<'t, N: Recall<'t, Kept = K>>(&mut self, parent: N, root: Option<N>) -> Result<()> {
        let mut children = Children::NONE;
        let outcome = children.catch_up(parent);
        let is_refused = matches!(outcome, Err(NoIndex::Unindexable));
        if is_refused {
            children = Children::NONE;
        } else if outcome.is_err() {
            return Err(Error::NOMEM);
        }
        let place = self.place(parent.keep())?;
        self.turn += 1;
        self.slots[place] = Slot {
            owner: Some(Owner {
                parent: parent.keep(),
                root: root.map(N::keep),
                is_refused,
            }),
            children,
            turn: self.turn,
            uses: 0,
        };
        parent.set_mark(place);
        Ok(())
    }

    /// A place for the index of a node: that of an earlier node at this address, a free one, a new
    /// one, or the one that was not used for the longest time.
    fn place(&mut self, parent: K) -> Result<usize> {
        for slot in self.slots.iter_mut().filter(|slot| slot.is_of(&parent)) {
            slot.clear();
        }
        loop {
            let held = self.slots.iter().filter(|slot| slot.owner.is_some()).count();
            let children = self.slots.iter().map(|slot| slot.children.len()).sum::<usize>();
            if held < ALWAYS || (held < SLOTS && children <= CHILDREN) {
                break;
            }
            let slots = self.slots.iter_mut().filter(|slot| slot.owner.is_some());
            if let Some(oldest) = slots.min_by_key(|slot| slot.turn) {
                self.price = if oldest.uses < WORTH {
                    (self.price * 2).min(PRICE * DEAREST)
                } else {
                    (self.price / 2).max(PRICE)
                };
                oldest.clear();
            }
        }
        if let Some(free) = self.slots.iter().position(|slot| slot.owner.is_none()) {
            return Ok(free);
        }
        self.slots.try_reserve(1).map_err(|_| Error::NOMEM)?;
        self.slots.push(Slot {
            owner: None,
            children: Children::NONE,
            turn: 0,
            uses: 0,
        });
        Ok(self.slots.len() - 1)
    }

    /// Drops the indexes of the tree of this root, which is going to be freed.
    pub fn forget(&mut self, root: K) {
        let is_of_tree = |slot: &&mut Slot<K>| slot.owner.as_ref().is_some_and(|owner| owner.root == Some(root));
        self.slots.iter_mut().filter(is_of_tree).for_each(Slot::clear);
    }
}

/// The first child of `parent` that fits, by its index or else by a walk over the children. What
/// fits is called `name`.
///
/// `root` is that of the tree, if it is known.
#[inline(always)]
pub(super) fn child<'t, 'n, N: Recall<'t>, F>(
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
fn indexed<'t, N: Recall<'t>>(
    parent: N,
    slot: usize,
    name: &[u8],
    indexes: &impl Access<N::Kept>,
) -> Option<Option<N>> {
    indexes.with(|indexes| indexes.child(parent, slot, name))
}

#[cold]
#[inline(never)]
fn walked<'t, N: Recall<'t>>(parent: N, root: Option<N>, passed: usize, indexes: &impl Access<N::Kept>) {
    indexes.with(|indexes| indexes.walked(parent, root, passed));
}

#[cfg(test)]
impl<K: Copy + Eq> Indexes<K> {
    /// For each node that has an index, how many children it has.
    pub(super) fn held(&self) -> Vec<usize> {
        let held = self.slots.iter().filter(|slot| slot.owner.is_some());
        held.map(|slot| slot.children.len()).collect()
    }

    /// Whether a node has one.
    pub(super) fn is_held(&self, parent: K) -> bool {
        self.slots.iter().any(|slot| slot.is_of(&parent))
    }
}
