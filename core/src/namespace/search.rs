//! From a name to a node, and to where a new name belongs.

use super::Node;
use super::kept::Recall;
use super::wide::{Access, child};

/// Finds `name` among `node`, its following siblings and what is below them (TREE-30).
///
/// The first sibling that fits decides: there is no way back from its children.
pub fn lookup<'t, N: Recall<'t>>(node: Option<N>, name: &[u8], indexes: &impl Access<N::Kept>) -> Option<N> {
    let mut siblings = std::iter::successors(node, |node| node.next());
    let (node, below) = siblings.find_map(|node| fit(node, name))?;
    match below {
        None => Some(node),
        Some(below) => descend(node, None, below, indexes),
    }
}

/// Finds `name` in the tree of this root.
pub fn find<'t, N: Recall<'t>>(root: N, name: &[u8], indexes: &impl Access<N::Kept>) -> Option<N> {
    descend(root, Some(root), name, indexes)
}

/// Finds `name` below `parent`.
#[inline]
fn descend<'t, N: Recall<'t>>(parent: N, root: Option<N>, name: &[u8], indexes: &impl Access<N::Kept>) -> Option<N> {
    let (mut parent, mut name) = (parent, name);
    loop {
        match child(parent, root, || split(name).0, |node| fit(node, name), indexes)? {
            (node, None) => return Some(node),
            (node, Some(below)) => (parent, name) = (node, below),
        }
    }
}

/// Whether a node is what `name` looks for, or on the way there: then the rest of the name comes
/// with it.
#[inline(always)]
fn fit<'t, 'n, N: Node<'t>>(node: N, name: &'n [u8]) -> Option<(N, Option<&'n [u8]>)> {
    match name.strip_prefix(node.name()) {
        Some([]) => Some((node, None)),
        Some([b'.', below @ ..]) if node.is_branch() => Some((node, Some(below))),
        _ => None,
    }
}

/// Where a name belongs that is to be added (TREE-11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place<'n, N> {
    /// It is there already: this node.
    Taken(N),
    /// Below this node, which is there already; and what of the name is to be put there.
    Below(N, &'n [u8]),
}

/// Finds the place of a name.
///
/// Unlike a lookup this goes by components, each of which is the whole name of a node, and through
/// leaves as well (TREE-12, TREE-14).
pub fn place<'t, 'n, N: Recall<'t>>(root: N, name: &'n [u8], indexes: &impl Access<N::Kept>) -> Place<'n, N> {
    let (mut parent, mut name) = (root, name);
    loop {
        let (component, below) = split(name);
        let same = |node: N| (node.name() == component).then_some(node);
        let Some(node) = child(parent, Some(root), || component, same, indexes) else {
            return Place::Below(parent, name);
        };
        match below {
            Some(below) => (parent, name) = (node, below),
            None => return Place::Taken(node),
        }
    }
}

/// The first component, and what is behind its dot.
#[inline]
fn split(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut parts = name.splitn(2, |byte| *byte == b'.');
    (parts.next().unwrap_or_default(), parts.next())
}
