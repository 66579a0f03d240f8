//! Trees of metric names: lookup, counting, listing and the table from identifiers to names (TREE-1
//! … TREE-35).
//!
//! The nodes are libpcp's C structures, which other code builds, walks and frees. So no node is
//! owned here: the functions work on anything that implements [`Node`]. No function recurses, since
//! names may be arbitrarily deep (N-14).

mod list;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub use list::{InsertPoint, Paths, Sink, Size, TreeWalk, children, find, insert_point, lookup, names_of};

use crate::error::{Error, Result};
use crate::ident::MetricId;

/// `DYNAMIC_PMID`: item 0 of this domain marks the root of a dynamic subtree; the cluster says
/// whose.
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
    /// The next node in the same chain of the table from identifiers to names.
    fn chained(self) -> Option<Self>;
    /// Sets what [`Node::parent`] returns.
    fn set_parent(self, parent: Option<Self>);
    /// Sets what [`Node::chained`] returns.
    fn set_chained(self, chained: Option<Self>);

    /// Returns whether names go on below this node; whether it has children does not matter
    /// (TREE-4).
    fn is_branch(self) -> bool {
        let pmid = self.pmid();
        pmid == MetricId::NULL || (pmid.domain() == DYNAMIC_DOMAIN && pmid.item() == 0)
    }
}

/// Returns the number of names below `root`. A node with an identifier is counted, and the nodes
/// below it are not (TREE-23). For the root itself neither holds: libpcp gives it an identifier
/// when it repairs a table.
///
/// # Errors
/// `-ENOMEM`.
pub fn size<'t, N: Node<'t>>(root: N) -> Result<usize> {
    let mut count = 0;
    // For each level above, the node where it goes on.
    let mut above = Vec::new();
    let mut next = root.first();
    loop {
        while let Some(node) = next {
            next = node.next();
            if node.pmid() != MetricId::NULL {
                count += 1;
            } else if let Some(below) = node.first() {
                above.try_reserve(1).map_err(|_| Error::ENOMEM)?;
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

/// Returns the number of chains of a table for about `hint` names (TREE-20); a negative one for a
/// hint that no table can have (TREE-21).
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

/// Returns the chain of a table of `chains` that the names of `pmid` are in; `None` without a
/// table.
#[must_use]
pub fn chain(pmid: MetricId, chains: usize) -> Option<usize> {
    (pmid.0 as usize).checked_rem(chains)
}

/// Fills the table from identifiers to names and sets the parents of all nodes below `root`
/// (TREE-20). Later nodes go to the front of a chain; nodes without an identifier keep their link
/// (N-2).
///
/// No memory is needed: the way back leads over the parents that were set on the way down.
pub fn rebuild<'t, N: Node<'t>>(root: N, table: &mut [Option<N>]) {
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
        // Nodes beside the root are no part of the tree.
        at = above.take(depth).enumerate().find_map(|(levels, node)| {
            let next = (node.next()?, node.parent()?);
            depth -= levels;
            Some(next)
        });
    }
}
