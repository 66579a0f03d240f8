//! Lists of names, as they leave a tree.

use super::Node;
use crate::error::{Error, Result};
use crate::ident::MetricId;

/// What a list may take in memory, pointers included: C callers count in `int` (N-14).
const LIMIT: usize = i32::MAX as usize;

/// Names in the form in which they are handed out: one behind the other, each with a NUL at its end.
#[derive(Default, Debug)]
pub struct Names {
    text: Vec<u8>,
    count: usize,
}

impl Names {
    /// Adds the name that `parts` make up.
    #[inline]
    fn push(&mut self, parts: &[&[u8]]) -> Result<()> {
        self.reserve(parts.iter().map(|part| part.len()).sum::<usize>() + 1)?;
        parts.iter().for_each(|part| self.text.extend_from_slice(part));
        self.text.push(0);
        self.count += 1;
        Ok(())
    }

    fn reserve(&mut self, bytes: usize) -> Result<()> {
        let pointers = (self.count + 1) * size_of::<usize>();
        if self.text.len() + bytes + pointers > LIMIT {
            return Err(Error::os(E2BIG));
        }
        self.text.try_reserve(bytes).map_err(|_| Error::NOMEM)
    }

    /// The number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All names with their NULs.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The names without their NULs.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.text.split(|byte| *byte == 0).take(self.count)
    }
}

/// `E2BIG`: the list is longer than a caller could be told.
const E2BIG: i32 = 7;

/// Names and, for each of them, whether it is a branch.
#[derive(Default, Debug)]
pub struct Children {
    /// The names.
    pub names: Names,
    /// For each name `true` when names go on below it; nothing for a list of leaves.
    pub branches: Vec<bool>,
}

/// The single components right below `node` (TREE-33, traverse 0).
///
/// # Errors
/// `-E2BIG`, `-ENOMEM`.
pub fn children<'t, N: Node<'t>>(node: N) -> Result<Children> {
    let mut found = Children::default();
    let mut next = node.first();
    while let Some(child) = next {
        found.names.push(&[child.name()])?;
        found.branches.try_reserve(1).map_err(|_| Error::NOMEM)?;
        found.branches.push(child.is_branch());
        next = child.next();
    }
    Ok(found)
}

/// The full names of all leaves below `node`, which is known as `name`; of itself when it is a leaf (TREE-33,
/// traverse 1).
///
/// # Errors
/// `-E2BIG`, `-ENOMEM`.
pub fn leaves<'t, N: Node<'t>>(node: N, name: &[u8]) -> Result<Children> {
    let mut found = Children::default();
    if !node.is_branch() {
        found.names.push(&[name])?;
        return Ok(found);
    }
    // What stands before the names of the level being listed; the nodes above, and how much of it is that of their own level.
    let (mut path, mut above) = (Vec::new(), Vec::new());
    extend(&mut path, name)?;
    let mut next = node.first();
    loop {
        while let Some(child) = next {
            next = child.next();
            if !child.is_branch() {
                found.names.push(&[&path, child.name()])?;
            } else if let Some(below) = child.first() {
                above.try_reserve(1).map_err(|_| Error::NOMEM)?;
                above.push((next, path.len()));
                extend(&mut path, child.name())?;
                next = Some(below);
            }
        }
        let Some((after, length)) = above.pop() else {
            return Ok(found);
        };
        path.truncate(length);
        next = after;
    }
}

/// Adds a level to a path.
fn extend(path: &mut Vec<u8>, name: &[u8]) -> Result<()> {
    path.try_reserve(name.len() + 1).map_err(|_| Error::NOMEM)?;
    path.extend_from_slice(name);
    path.push(b'.');
    Ok(())
}

/// The full names of an identifier, measured and not yet written.
#[derive(Clone, Copy, Debug)]
pub struct Paths<N> {
    head: Option<N>,
    pmid: MetricId,
    /// How many there are.
    pub count: usize,
    /// Their bytes, each with a NUL at its end.
    pub bytes: usize,
}

impl<'t, N: Node<'t>> Paths<N> {
    /// The nodes of the identifier, in the order of the chain.
    fn nodes(&self) -> impl Iterator<Item = N> {
        let pmid = self.pmid;
        std::iter::successors(self.head, |node| node.chained()).filter(move |node| node.pmid() == pmid)
    }

    /// Writes the names, one behind the other. There are so many bytes to write to as [`Paths::bytes`] says.
    pub fn write(&self, out: &mut [u8]) {
        let mut rest = out;
        for node in self.nodes() {
            let Some((path, after)) = rest.split_at_mut_checked(length(node)) else {
                return;
            };
            // From its end to its start.
            let mut place = path.len() - 1;
            path[place] = 0;
            for (number, node) in ancestry(node).enumerate() {
                if number > 0 {
                    place -= 1;
                    path[place] = b'.';
                }
                let name = node.name();
                place -= name.len();
                path[place..place + name.len()].copy_from_slice(name);
            }
            rest = after;
        }
    }
}

/// The bytes of the full name of a node, with a NUL.
fn length<'t, N: Node<'t>>(node: N) -> usize {
    ancestry(node).map(|node| node.name().len() + 1).sum::<usize>().max(1)
}

/// The full names of `pmid` among the nodes chained to `head`, in the order of the chain (TREE-32).
///
/// # Errors
/// `-E2BIG`.
pub fn names_of<'t, N: Node<'t>>(head: Option<N>, pmid: MetricId) -> Result<Paths<N>> {
    let mut paths = Paths {
        head,
        pmid,
        count: 0,
        bytes: 0,
    };
    let (mut count, mut bytes) = (0, 0);
    for node in paths.nodes() {
        count += 1;
        bytes += length(node);
        if bytes + count * size_of::<usize>() > LIMIT {
            return Err(Error::os(E2BIG));
        }
    }
    (paths.count, paths.bytes) = (count, bytes);
    Ok(paths)
}

/// `node` and the nodes above it, without the root, whose name is no part of any other name (TREE-2).
fn ancestry<'t, N: Node<'t>>(node: N) -> impl Iterator<Item = N> {
    let step = |node: N| node.parent().map(|parent| (node, parent));
    std::iter::successors(step(node), move |(_, parent)| step(*parent)).map(|(node, _)| node)
}

#[cfg(test)]
mod tests {
    use super::super::lookup;
    use super::super::model::Tree;
    use super::*;

    fn text(names: &Names) -> Vec<String> {
        names
            .iter()
            .map(|name| String::from_utf8(name.to_vec()).unwrap())
            .collect()
    }

    /// TREE-13, TREE-33: children in the order of the list, leaves depth first.
    #[test]
    fn below_a_name() {
        let tree = Tree::of(&[("a.b.c", 1), ("a.b.d", 2), ("a.e", 3), ("a.b.d.under", 4), ("x", 5)]);
        let node = lookup(tree.top(), b"a").unwrap();
        let list = children(node).unwrap();
        assert_eq!(
            (text(&list.names), list.branches),
            (vec!["e".into(), "b".into()], vec![false, true])
        );
        assert_eq!(text(&leaves(node, b"a").unwrap().names), ["a.e", "a.b.d", "a.b.c"]);
        let leaf = lookup(tree.top(), b"x").unwrap();
        assert_eq!(text(&leaves(leaf, b"x").unwrap().names), ["x"]);
        assert!(children(leaf).unwrap().names.is_empty());
    }

    /// TREE-12, TREE-34: empty names and components are names.
    #[test]
    fn empty_components() {
        let tree = Tree::of(&[("w..v", 1), (".z", 2), ("", 3), ("u.", 4), ("..", 5)]);
        let node = lookup(tree.top(), b"w.").unwrap();
        assert_eq!(text(&leaves(node, b"w.").unwrap().names), ["w..v"]);
        let mut names = Names::default();
        names.push(&[b""]).unwrap();
        names.push(&[b".", b""]).unwrap();
        assert_eq!((names.text(), names.len()), (&b"\0.\0"[..], 2));
        for name in ["w..v", ".z", "", "u.", ".."] {
            let node = lookup(tree.top(), name.as_bytes()).unwrap();
            let paths = names_of(Some(node), node.pmid()).unwrap();
            let mut text = vec![b'?'; paths.bytes];
            paths.write(&mut text);
            assert_eq!((paths.count, text), (1, [name.as_bytes(), b"\0"].concat()));
        }
    }
}
