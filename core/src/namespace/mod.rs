//! Trees of metric names: lookup, counting, listing and the table from identifiers to names (TREE-1
//! … TREE-35).
//!
//! The nodes are libpcp's C structures, which other code builds, walks and frees. So no node is
//! owned here: the functions work on anything that implements [`Node`]. No function recurses, since
//! names may be arbitrarily deep (N-14). No node has an index of its children: it would have to
//! follow remembered addresses into trees that others free, and no agent of PCP that has many names
//! in one group is asked by name often.
//!
//! Each list of names is made twice: once to measure it, and once to write it into memory of that
//! size.

use std::iter;

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
        let above = iter::successors(Some(node), |node| node.parent());
        // Nodes beside the root are no part of the tree.
        at = above.take(depth).enumerate().find_map(|(levels, node)| {
            let next = (node.next()?, node.parent()?);
            depth -= levels;
            Some(next)
        });
    }
}

/// The size in bytes that a list may have, pointers included: C callers count in `int` (N-14).
const LIMIT: usize = i32::MAX as usize;

/// The receiver of the names of a list.
pub trait Sink {
    /// Adds a name of `bytes` bytes. `parts` has its components from the last one to the first; the
    /// sink writes the dots between them. `is_branch` is true if the tree has names below it.
    ///
    /// # Errors
    /// `-E2BIG`, `-ENOMEM`.
    fn add<'t>(&mut self, bytes: usize, is_branch: bool, parts: impl Iterator<Item = &'t [u8]>) -> Result<()>;
}

/// The size of a list: the number of names, and their bytes, each with a NUL at its end.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Size {
    /// The number of names.
    pub count: usize,
    /// The bytes of all names.
    pub bytes: usize,
}

impl Sink for Size {
    fn add<'t>(&mut self, bytes: usize, _: bool, _: impl Iterator<Item = &'t [u8]>) -> Result<()> {
        self.count += 1;
        self.bytes += bytes + 1;
        if self.bytes + self.count * size_of::<usize>() > LIMIT {
            return Err(Error::E2BIG);
        }
        Ok(())
    }
}

/// Lists the components right below `node` (TREE-33, traverse 0).
///
/// # Errors
/// What the sink gives.
pub fn children<'t, N: Node<'t>>(node: N, sink: &mut impl Sink) -> Result<()> {
    let mut next = node.first();
    while let Some(child) = next {
        let name = child.name();
        sink.add(name.len(), child.is_branch(), iter::once(name))?;
        next = child.next();
    }
    Ok(())
}

/// A walk over the leaves below a node. Its memory serves the next walk as well: once a list was
/// measured, writing it needs none.
#[derive(Debug)]
pub struct TreeWalk<N> {
    /// The prefix of the names of the level that is listed, with a dot at its end.
    path: Vec<u8>,
    /// For each level above, the node where it goes on, and the length of its prefix.
    above: Vec<(Option<N>, usize)>,
}

impl<N> Default for TreeWalk<N> {
    fn default() -> TreeWalk<N> {
        TreeWalk {
            path: Vec::new(),
            above: Vec::new(),
        }
    }
}

impl<'t, N: Node<'t>> TreeWalk<N> {
    /// Lists the full names of all leaves below `node`, which is known as `name`; a leaf lists
    /// itself (TREE-33, traverse 1).
    ///
    /// # Errors
    /// `-ENOMEM`, and what the sink gives.
    pub fn list(&mut self, node: N, name: &[u8], sink: &mut impl Sink) -> Result<()> {
        if !node.is_branch() {
            return sink.add(name.len(), false, iter::once(name));
        }
        let TreeWalk { path, above } = self;
        path.clear();
        above.clear();
        // Few names are longer.
        path.try_reserve(128).map_err(|_| Error::ENOMEM)?;
        extend(path, name)?;
        let mut next = node.first();
        loop {
            while let Some(child) = next {
                next = child.next();
                if !child.is_branch() {
                    let name = child.name();
                    // The dot at the end of the path is the one between the two, which the sink
                    // writes.
                    let parts = [name, &path[..path.len() - 1]];
                    sink.add(path.len() + name.len(), false, parts.into_iter())?;
                } else if let Some(below) = child.first() {
                    above.try_reserve(1).map_err(|_| Error::ENOMEM)?;
                    above.push((next, path.len()));
                    extend(path, child.name())?;
                    next = Some(below);
                }
            }
            let Some((after, length)) = above.pop() else {
                return Ok(());
            };
            path.truncate(length);
            next = after;
        }
    }
}

/// Adds a level to a path.
fn extend(path: &mut Vec<u8>, name: &[u8]) -> Result<()> {
    path.try_reserve(name.len() + 1).map_err(|_| Error::ENOMEM)?;
    path.extend_from_slice(name);
    path.push(b'.');
    Ok(())
}

/// The full names of an identifier, measured and not yet written.
#[derive(Clone, Copy, Debug)]
pub struct Paths<N> {
    head: Option<N>,
    pmid: MetricId,
    /// The size of the list.
    pub size: Size,
}

impl<'t, N: Node<'t>> Paths<N> {
    /// The nodes of the identifier, in the order of the chain.
    fn nodes(&self) -> impl Iterator<Item = N> {
        let pmid = self.pmid;
        iter::successors(self.head, |node| node.chained()).filter(move |node| node.pmid() == pmid)
    }

    /// # Errors
    /// What the sink gives.
    pub fn list(&self, sink: &mut impl Sink) -> Result<()> {
        // A single name was measured with the list.
        let measured = (self.size.count == 1).then(|| self.size.bytes.saturating_sub(1));
        for node in self.nodes() {
            let bytes = measured.unwrap_or_else(|| length(node));
            sink.add(bytes, false, ancestry(node).map(Node::name))?;
        }
        Ok(())
    }
}

/// The bytes of the full name of a node.
fn length<'t, N: Node<'t>>(node: N) -> usize {
    let bytes = ancestry(node).map(|node| node.name().len() + 1).sum::<usize>();
    bytes.saturating_sub(1)
}

/// Measures the full names of `pmid` among the nodes chained to `head`, in the order of the chain
/// (TREE-32).
///
/// # Errors
/// `-E2BIG`.
pub fn names_of<'t, N: Node<'t>>(head: Option<N>, pmid: MetricId) -> Result<Paths<N>> {
    let mut size = Size::default();
    let paths = Paths { head, pmid, size };
    paths.list(&mut size)?;
    Ok(Paths { size, ..paths })
}

/// `node` and the nodes above it, without the root, whose name is no part of other names (TREE-2).
fn ancestry<'t, N: Node<'t>>(node: N) -> impl Iterator<Item = N> {
    let step = |node: N| node.parent().map(|parent| (node, parent));
    iter::successors(step(node), move |(_, parent)| step(*parent)).map(|(node, _)| node)
}

/// Finds `name` among `node`, its following siblings and what is below them (TREE-30).
///
/// The first sibling that fits decides: if the rest of the name is not below it, no other is tried.
pub fn lookup<'t, N: Node<'t>>(node: Option<N>, name: &[u8]) -> Option<N> {
    let (node, below) = siblings(node).find_map(|node| fit(node, name))?;
    match below {
        None => Some(node),
        Some(below) => descend(node, below),
    }
}

/// Finds `name` in the tree of this root.
pub fn find<'t, N: Node<'t>>(root: N, name: &[u8]) -> Option<N> {
    descend(root, name)
}

/// A node, and the later nodes with the same parent.
fn siblings<'t, N: Node<'t>>(first: Option<N>) -> impl Iterator<Item = N> {
    iter::successors(first, |node| node.next())
}

/// Finds `name` below `parent`.
fn descend<'t, N: Node<'t>>(parent: N, name: &[u8]) -> Option<N> {
    let (mut parent, mut name) = (parent, name);
    loop {
        match siblings(parent.first()).find_map(|node| fit(node, name))? {
            (node, None) => return Some(node),
            (node, Some(below)) => (parent, name) = (node, below),
        }
    }
}

/// Returns the node if `name` is its name, or begins with it and a dot: then with the rest of the
/// name, to be found below.
fn fit<'t, 'n, N: Node<'t>>(node: N, name: &'n [u8]) -> Option<(N, Option<&'n [u8]>)> {
    match name.strip_prefix(node.name()) {
        Some([]) => Some((node, None)),
        Some([b'.', below @ ..]) if node.is_branch() => Some((node, Some(below))),
        _ => None,
    }
}

/// The place where a new name belongs (TREE-11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertPoint<'n, N> {
    /// The name exists already: this node.
    Taken(N),
    /// Below this node, with the rest of the name.
    Below(N, &'n [u8]),
}

/// Finds the insert point of a new name. Unlike a lookup this goes by components, each of which is
/// the whole name of a node, and through leaves as well (TREE-12, TREE-14).
pub fn insert_point<'t, 'n, N: Node<'t>>(root: N, name: &'n [u8]) -> InsertPoint<'n, N> {
    let (mut parent, mut name) = (root, name);
    loop {
        let (component, below) = split(name);
        let Some(node) = siblings(parent.first()).find(|node| node.name() == component) else {
            return InsertPoint::Below(parent, name);
        };
        match below {
            Some(below) => (parent, name) = (node, below),
            None => return InsertPoint::Taken(node),
        }
    }
}

/// The first component of a name, and the rest after its dot.
fn split(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = name.splitn(2, |byte| *byte == b'.');
    (parts.next().unwrap_or_default(), parts.next())
}

#[cfg(test)]
mod tests;
