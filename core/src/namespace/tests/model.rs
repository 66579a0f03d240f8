//! A tree in plain Rust that grows as libpcp's does, to test the functions on.

use std::cell::Cell;

use crate::ident::MetricId;
use crate::namespace::Node;

/// The content of a node.
struct ModelEntry {
    name: String,
    pmid: Cell<u32>,
    links: [Cell<Option<usize>>; 4],
}

const PARENT: usize = 0;
const NEXT: usize = 1;
const FIRST: usize = 2;
const CHAINED: usize = 3;

/// The tree: all nodes in one vector, the root first.
pub(super) struct Tree {
    entries: Vec<ModelEntry>,
}

/// A node of a [`Tree`].
#[derive(Clone, Copy)]
pub(super) struct ModelNode<'t> {
    tree: &'t Tree,
    pub(super) index: usize,
}

impl Tree {
    /// The tree of these names; a name that the tree has already stays as it is (TREE-11).
    pub(super) fn of(names: &[(&str, u32)]) -> Tree {
        let mut tree = Tree { entries: Vec::new() };
        tree.add("root", None);
        for (name, pmid) in names {
            tree.insert(name, *pmid);
        }
        tree
    }

    /// Adds a name; returns whether it is new.
    pub(super) fn insert(&mut self, name: &str, pmid: u32) -> bool {
        let mut at = 0;
        let mut fresh = false;
        for part in name.split('.') {
            let child = if fresh { None } else { self.child(at, part) };
            fresh = child.is_none();
            at = child.unwrap_or_else(|| self.add(part, Some(at)));
        }
        if fresh {
            self.entries[at].pmid.set(pmid);
        }
        fresh
    }

    /// Puts a node below another, whatever its name: it may have dots, or be the name of another
    /// child.
    pub(super) fn put(&mut self, parent: usize, name: &str, pmid: u32) {
        let index = self.add(name, Some(parent));
        self.entries[index].pmid.set(pmid);
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    fn child(&self, parent: usize, name: &str) -> Option<usize> {
        let first = self.entries[parent].links[FIRST].get();
        std::iter::successors(first, |index| self.entries[*index].links[NEXT].get())
            .find(|index| self.entries[*index].name == name)
    }

    fn add(&mut self, name: &str, parent: Option<usize>) -> usize {
        let index = self.entries.len();
        let next = parent.and_then(|parent| self.entries[parent].links[FIRST].replace(Some(index)));
        self.entries.push(ModelEntry {
            name: name.to_owned(),
            pmid: Cell::new(MetricId::NULL.0),
            links: [parent, next, None, None].map(Cell::new),
        });
        index
    }

    pub(super) fn root(&self) -> ModelNode<'_> {
        ModelNode { tree: self, index: 0 }
    }

    pub(super) fn top(&self) -> Option<ModelNode<'_>> {
        self.root().first()
    }

    /// All names with an identifier.
    pub(super) fn names(&self) -> Vec<(String, u32)> {
        let name = |mut index: usize| {
            let mut parts = Vec::new();
            while let Some(parent) = self.entries[index].links[PARENT].get() {
                parts.push(self.entries[index].name.as_str());
                index = parent;
            }
            parts.reverse();
            parts.join(".")
        };
        let named = |index: &usize| self.entries[*index].pmid.get() != MetricId::NULL.0;
        let all = (0..self.entries.len()).filter(named);
        all.map(|index| (name(index), self.entries[index].pmid.get())).collect()
    }
}

impl<'t> ModelNode<'t> {
    fn entry(self) -> &'t ModelEntry {
        &self.tree.entries[self.index]
    }

    fn link(self, kind: usize) -> Option<Self> {
        let index = self.entry().links[kind].get();
        index.map(|index| ModelNode { index, ..self })
    }
}

impl<'t> Node<'t> for ModelNode<'t> {
    fn name(self) -> &'t [u8] {
        self.entry().name.as_bytes()
    }
    fn pmid(self) -> MetricId {
        MetricId(self.entry().pmid.get())
    }
    fn parent(self) -> Option<Self> {
        self.link(PARENT)
    }
    fn next(self) -> Option<Self> {
        self.link(NEXT)
    }
    fn first(self) -> Option<Self> {
        self.link(FIRST)
    }
    fn chained(self) -> Option<Self> {
        self.link(CHAINED)
    }
    fn set_parent(self, parent: Option<Self>) {
        self.entry().links[PARENT].set(parent.map(|place| place.index));
    }
    fn set_chained(self, chained: Option<Self>) {
        self.entry().links[CHAINED].set(chained.map(|place| place.index));
    }
}
