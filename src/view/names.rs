//! Names in C's memory: trees of names and their nodes, and lists of names in one block. C frees
//! them all.

use std::ffi::{c_char, c_int};
use std::mem::{MaybeUninit, take};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::{ptr, slice};

use crate::sys::libpcp::bindings::{__pmFreePMNS, __pmnsNode};
use crate::sys::libpcp::log::{Debug, debug};
use crate::sys::libpcp::pmns::{self, NodeRef};
use crate::sys::lock::Token;
use crate::sys::slice_mut;
use crate::view::arg::{CText, view};
use crate::view::memory::{Block, CVec, string};
use crate::view::types::pmdaNameSpace;
use pmda_core::constants::{PMNS_LEAF_STATUS, PMNS_NONLEAF_STATUS};
use pmda_core::error::{Error, Result};
use pmda_core::ident::MetricId;
use pmda_core::namespace::{self, InsertPoint, Node, Paths, Sink, Size, TreeWalk};

/// The names below a name, as `pmdaTreeChildren` returns them.
pub(crate) struct ChildNames {
    /// The number of names.
    pub(crate) count: usize,
    /// The names in one block, which C frees with one `free()`: the pointers, then the strings
    /// (TREE-34).
    pub(crate) names: Block<*mut c_char>,
    /// `PMNS_LEAF_STATUS` or `PMNS_NONLEAF_STATUS` of each name.
    pub(crate) states: CVec<c_int>,
}

/// The names right below a node.
///
/// # Errors
/// `-E2BIG` when the block would be larger than half of the address space; `-ENOMEM`.
pub(crate) fn children<'t>(node: impl Node<'t>) -> Result<ChildNames> {
    let mut size = Size::default();
    namespace::children(node, &mut size)?;
    below(size, |list| namespace::children(node, list))
}

/// The full names of all leaves below a node that is called `name`.
///
/// # Errors
/// As [`children`].
pub(crate) fn leaves<'t>(node: impl Node<'t>, name: &[u8]) -> Result<ChildNames> {
    let (mut walk, mut size) = (TreeWalk::default(), Size::default());
    walk.list(node, name, &mut size)?;
    below(size, |list| walk.list(node, name, list))
}

/// Names of this size, which `list` writes, and their states.
///
/// # Errors
/// `-ENOMEM`, and what `list` returns.
fn below(size: Size, list: impl FnOnce(&mut NameWriter<'_>) -> Result<()>) -> Result<ChildNames> {
    let mut states = CVec::with_capacity(size.count)?;
    Ok(ChildNames {
        count: size.count,
        names: packed(size, Some(&mut states), list)?,
        states,
    })
}

/// The full names of an identifier, in one block as in [`ChildNames`].
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn pack_paths<'t>(paths: Paths<impl Node<'t>>) -> Result<Block<*mut c_char>> {
    packed(paths.size, None, |list| paths.list(list))
}

/// A block for names of this size, which `list` writes: pointers, then strings. `states` takes the
/// state of each.
///
/// # Errors
/// `-ENOMEM`; `PM_ERR_GENERIC` when `list` writes more or less than `size`; what `list` returns.
fn packed(
    size: Size,
    states: Option<&mut CVec<c_int>>,
    list: impl FnOnce(&mut NameWriter<'_>) -> Result<()>,
) -> Result<Block<*mut c_char>> {
    let Size { count, bytes } = size;
    let words = bytes.div_ceil(size_of::<*mut c_char>());
    let block = Block::<*mut c_char>::uninit(count + words)?;
    let start = block.as_ptr();
    // SAFETY: the new block has room for `count` pointers and, behind them, `bytes` bytes, all of
    // them still to be written. Nobody else has it, and the two parts do not overlap.
    let (pointers, text) = unsafe {
        (
            slice::from_raw_parts_mut(start.cast::<MaybeUninit<*mut c_char>>(), count),
            slice::from_raw_parts_mut(start.add(count).cast::<MaybeUninit<u8>>(), bytes),
        )
    };
    let mut names = NameWriter { pointers, text, states };
    list(&mut names)?;
    // C reads as many names as were measured: none of them may be unwritten.
    if names.pointers.is_empty() && names.text.is_empty() {
        Ok(block)
    } else {
        Err(Error::GENERIC)
    }
}

/// The part of a block that is still to be written with names, and the list of their states. Each
/// name takes its pointer from the front of `pointers` and its bytes from the front of `text`. A
/// name that does not fit is an error.
struct NameWriter<'b> {
    pointers: &'b mut [MaybeUninit<*mut c_char>],
    text: &'b mut [MaybeUninit<u8>],
    states: Option<&'b mut CVec<c_int>>,
}

impl Sink for NameWriter<'_> {
    fn add<'t>(&mut self, bytes: usize, is_branch: bool, parts: impl Iterator<Item = &'t [u8]>) -> Result<()> {
        let (pointer, pointers) = take(&mut self.pointers).split_first_mut().ok_or(Error::GENERIC)?;
        let (name, text) = take(&mut self.text)
            .split_at_mut_checked(bytes + 1)
            .ok_or(Error::GENERIC)?;
        pointer.write(name.as_mut_ptr().cast());
        (self.pointers, self.text) = (pointers, text);
        if let Some(states) = &mut self.states {
            let state = if is_branch {
                PMNS_NONLEAF_STATUS
            } else {
                PMNS_LEAF_STATUS
            };
            states.push(state)?;
        }
        let (nul, mut rest) = name.split_last_mut().ok_or(Error::GENERIC)?;
        nul.write(0);
        for part in parts {
            let (before, target) = rest.split_at_mut(rest.len() - part.len());
            write(target, part);
            rest = before;
            if let Some((dot, before)) = take(&mut rest).split_last_mut() {
                dot.write(b'.');
                rest = before;
            }
        }
        Ok(())
    }
}

/// Writes bytes. It is a function of its own for the optimizer: parameters tell it that the two do
/// not overlap.
fn write(out: &mut [MaybeUninit<u8>], bytes: &[u8]) {
    for (target, byte) in out.iter_mut().zip(bytes) {
        target.write(*byte);
    }
}

/// A node for one component of a name. It is not part of a tree yet, and is freed when dropped.
struct NewNode {
    node: Block<__pmnsNode>,
    name: Block<c_char>,
}

impl NewNode {
    /// A node for this component; its fields are still to be written by `put`.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn called(component: &[u8]) -> Result<NewNode> {
        Ok(NewNode {
            node: Block::uninit(1)?,
            name: string(component)?,
        })
    }

    /// Writes all fields of the node.
    fn put(&mut self, pmid: MetricId, parent: *mut __pmnsNode, next: *mut __pmnsNode, first: *mut __pmnsNode) {
        self.node.put(__pmnsNode {
            parent,
            next,
            first,
            hash: ptr::null_mut(),
            name: self.name.as_ptr(),
            pmid: pmid.0,
        });
    }

    /// Gives the node and its name to a tree, which frees both.
    fn hand_over(self) -> *mut __pmnsNode {
        let _ = self.name.into_raw();
        self.node.into_raw()
    }
}

/// Adds the components of `name` below `parent`, each below the one before it. The first component
/// becomes the first child of `parent` (TREE-13), which has no child of that name yet.
///
/// # Errors
/// `-ENOMEM`; the tree is as it was.
fn add(parent: NodeRef<'_>, name: &[u8], pmid: MetricId) -> Result<()> {
    let mut components = name.split(|byte| *byte == b'.');
    let mut top = NewNode::called(components.next().unwrap_or_default())?;
    let mut below = Vec::new();
    for component in components {
        below.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        below.push(NewNode::called(component)?);
    }
    // From the last component up: each node needs the addresses of its parent and of its child.
    let (mut pmid, mut first) = (pmid, ptr::null_mut());
    while let Some(mut new) = below.pop() {
        let above = below.last().map_or(top.node.as_ptr(), |above| above.node.as_ptr());
        new.put(pmid, above, ptr::null_mut(), first);
        (pmid, first) = (MetricId::NULL, new.hand_over());
    }
    let next = parent.first().map_or(ptr::null_mut(), NodeRef::as_ptr);
    top.put(pmid, parent.as_ptr(), next, first);
    // SAFETY: the new nodes and their names are in blocks from malloc, and `put` has written all
    // fields: each node leads to its parent and its first child, the top one to `parent` and to the
    // sibling that was first so far.
    unsafe { parent.put_first(top.hand_over()) };
    Ok(())
}

/// The result of libpcp for a name that the tree has already with the same identifier; -1 before
/// libpcp was asked. Releases of PCP differ in it, and each gives the same result always.
static AGAIN: AtomicI32 = AtomicI32::new(-1);

view! {
    /// A tree of names, libpcp's own structure (TREE-1).
    Tree of pmdaNameSpace, contract
    "`pointer` is NULL or a tree as libpcp builds it, which only this thread uses."
    fields {
        /// The root, or NULL.
        root_ptr: root as *mut __pmnsNode;
        /// The table from identifiers to names, or NULL.
        table_ptr: htab as *mut *mut __pmnsNode;
        /// The number of chains in the table.
        table_len: htabsize as c_int;
    }
}

impl Tree<'_> {
    /// The root, or `None` for a tree without one.
    pub(crate) fn root(&self) -> Option<NodeRef<'_>> {
        // SAFETY: the nodes of a tree are valid by the contract of `new`. The view of a node
        // borrows this one, so none is in use after `release` or, in another call, `insert`.
        unsafe { NodeRef::new(self.root_ptr()) }
    }

    /// Adds a name (TREE-11). libpcp adds it where that prints messages (`-Dpmns`), or where the
    /// name exists already, for its result differs between releases.
    ///
    /// # Errors
    /// `-EINVAL` for a tree without a root, `-ENOMEM`, and what libpcp gives.
    pub(crate) fn insert(self, token: &mut Token, pmid: MetricId, name: CText<'_>) -> Result<c_int> {
        let root = self.root().ok_or(Error::EINVAL)?;
        if debug(Debug::Pmns) {
            return self.insert_by_libpcp(token, pmid, name);
        }
        match namespace::insert_point(root, name.bytes()) {
            InsertPoint::Below(parent, rest) => {
                add(parent, rest, pmid)?;
                Ok(0)
            }
            // The name exists with this identifier: libpcp gives the same result each time.
            InsertPoint::Taken(node) if node.pmid() == pmid && pmid != MetricId::NULL => {
                let status = AGAIN.load(Ordering::Relaxed);
                if status >= 0 {
                    return Ok(status);
                }
                let status = self.insert_by_libpcp(token, pmid, name)?;
                AGAIN.store(status, Ordering::Relaxed);
                Ok(status)
            }
            InsertPoint::Taken(_) => self.insert_by_libpcp(token, pmid, name),
        }
    }

    /// Adds a name by libpcp's own function.
    ///
    /// # Errors
    /// Those of libpcp.
    fn insert_by_libpcp(self, token: &mut Token, pmid: MetricId, name: CText<'_>) -> Result<c_int> {
        // SAFETY: a tree by the contract of `new`. It has a root, as `insert` has looked.
        unsafe { pmns::insert(token, self.as_ptr(), pmid, name.c_str()) }
    }

    /// Frees the tree with its nodes, names and table.
    ///
    /// # Safety
    /// Nobody has another view of the tree, or of its nodes.
    pub(crate) unsafe fn release(self) {
        // SAFETY: a tree as libpcp builds it by the contract of `new`. Nobody uses it any more, as
        // the caller promises.
        unsafe { __pmFreePMNS(self.as_ptr()) };
    }

    /// Builds a table of `size` chains from identifiers to names, and the links from nodes to their
    /// parents.
    ///
    /// # Errors
    /// `-ENOMEM`: the links were built, and the tree has no table.
    pub(crate) fn rebuild(self, size: c_int) -> Result<()> {
        let table = usize::try_from(size)
            .map_err(|_| Error::ENOMEM)
            .and_then(Block::<*mut __pmnsNode>::zeroed);
        let (table, size, outcome) = match table {
            Ok(table) => (table.into_raw(), size, Ok(())),
            Err(error) => (ptr::null_mut(), 0, Err(error)),
        };
        let old = self.table_ptr();
        const { assert!(size_of::<Option<NodeRef<'static>>>() == size_of::<*mut __pmnsNode>()) };
        // SAFETY: this thread alone uses the tree, by the contract of `new`. The new table is NULL
        // or a block from malloc with `size` pointers, all NULL, which the tree alone gets. The old
        // one is NULL or from malloc, and no pointer to it but the tree's existed.
        unsafe {
            (*self.as_ptr()).htab = table;
            (*self.as_ptr()).htabsize = size;
            libc::free(old.cast());
        }
        // SAFETY: the new table has `size` pointers, or is NULL with a size of 0. This thread alone
        // uses the tree, and nothing else touches the table while it is borrowed. An
        // `Option<NodeRef>` is a pointer with NULL as `None`, as was asserted.
        let chains: &mut [Option<NodeRef<'_>>] = unsafe { slice_mut(table.cast(), size) };
        if let Some(root) = self.root() {
            namespace::rebuild(root, chains);
        }
        outcome
    }

    /// The node that is called `name`.
    pub(crate) fn find(&self, name: &[u8]) -> Option<NodeRef<'_>> {
        namespace::find(self.root()?, name)
    }

    /// The first node of the chain that has the names of `pmid`, among others.
    pub(crate) fn chain(&self, pmid: MetricId) -> Option<NodeRef<'_>> {
        let table = self.table_ptr();
        let chain = namespace::chain(pmid, usize::try_from(self.table_len()).ok()?)?;
        if table.is_null() {
            return None;
        }
        // SAFETY: by the contract of `new` the table has `table_len` chains, each NULL or a valid
        // node; `chain` is less than `table_len`, as `namespace::chain` computes it modulo that.
        unsafe { NodeRef::new(table.add(chain).read()) }
    }

    /// Returns whether the tree has a name for `pmid` (DYN-12).
    pub(crate) fn knows(&self, pmid: MetricId) -> bool {
        let head = self.chain(pmid);
        std::iter::successors(head, |node| node.chained()).any(|node| node.pmid() == pmid)
    }
}

/// The pointer to a tree of dynamic names, which the agent stores. The pointer never moves, as the
/// agent keeps its address.
///
/// C stores NULL, or a tree that stays valid until C stores another one. That is the contract of
/// the agent's `pmdaUpdatePMNS` callback, the only function that gets the address.
pub(crate) struct TreeCell(AtomicPtr<pmdaNameSpace>);

impl TreeCell {
    pub(crate) const fn new() -> TreeCell {
        TreeCell(AtomicPtr::new(ptr::null_mut()))
    }

    pub(crate) fn as_ptr(&self) -> *mut *mut pmdaNameSpace {
        self.0.as_ptr()
    }

    /// The tree that the agent has stored, if it has stored one (N-4).
    pub(crate) fn tree(&self) -> Option<Tree<'_>> {
        // SAFETY: NULL, or a valid tree by the contract of the pointer (see [`TreeCell`]).
        unsafe { Tree::new(self.0.load(Ordering::Relaxed)) }
    }
}
