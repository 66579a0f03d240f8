//! libpcp's trees of names: their nodes as [`Node`], and the functions that build and free them.
//!
//! libpcp's functions are private, but agents and the Perl and Python bindings mix them freely with `pmdaTree*`, so a
//! tree must be libpcp's own down to its blocks (TREE-3).

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use super::bindings::{__pmAddPMNSNode, __pmFreePMNS, __pmNewPMNS, __pmnsNode, __pmnsTree, PM_RECOV_ERR, pmNoMem};
use crate::error::{Error, Result};
use crate::ident::MetricId;
use crate::namespace::{Link, Node};

/// A node that stays where it is, with its name unchanged, for `'t`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct NodeRef<'t> {
    node: NonNull<__pmnsNode>,
    tree: PhantomData<&'t __pmnsNode>,
}

impl<'t> NodeRef<'t> {
    /// The node behind a pointer; `None` for NULL.
    ///
    /// # Safety
    /// `node` is NULL or a node of a tree all of whose links are NULL or valid, and which only this thread uses for
    /// `'t`.
    pub(crate) unsafe fn new(node: *mut __pmnsNode) -> Option<NodeRef<'t>> {
        NonNull::new(node).map(|node| NodeRef {
            node,
            tree: PhantomData,
        })
    }

    /// The node as C sees it.
    pub(crate) fn as_ptr(self) -> *mut __pmnsNode {
        self.node.as_ptr()
    }
}

/// Reads a link: the other nodes of a tree are as valid as this one, by the contract of `NodeRef::new`.
macro_rules! link {
    ($node:expr, $field:ident) => {
        // SAFETY: the node is valid by the contract of `NodeRef::new`, and so is what it links to.
        unsafe { NodeRef::new((*$node.node.as_ptr()).$field) }
    };
}

impl<'t> Node<'t> for NodeRef<'t> {
    fn name(self) -> &'t [u8] {
        // SAFETY: the node is valid by the contract of `NodeRef::new`.
        let name = unsafe { (*self.node.as_ptr()).name };
        if name.is_null() {
            return b"";
        }
        // SAFETY: the name of a valid node is a C string, unchanged for 't.
        unsafe { CStr::from_ptr(name) }.to_bytes()
    }

    fn pmid(self) -> MetricId {
        // SAFETY: the node is valid by the contract of `NodeRef::new`.
        MetricId(unsafe { (*self.node.as_ptr()).pmid })
    }

    fn parent(self) -> Option<Self> {
        link!(self, parent)
    }

    fn next(self) -> Option<Self> {
        link!(self, next)
    }

    fn first(self) -> Option<Self> {
        link!(self, first)
    }

    fn chained(self) -> Option<Self> {
        link!(self, hash)
    }
}

impl<'t> Link<'t> for NodeRef<'t> {
    fn set_parent(self, parent: Option<Self>) {
        // SAFETY: the node is valid, and no reference to it exists anywhere: only raw pointers are kept.
        unsafe { (*self.node.as_ptr()).parent = parent.map_or(ptr::null_mut(), NodeRef::as_ptr) };
    }

    fn set_chained(self, chained: Option<Self>) {
        // SAFETY: as in set_parent.
        unsafe { (*self.node.as_ptr()).hash = chained.map_or(ptr::null_mut(), NodeRef::as_ptr) };
    }
}

/// A fresh tree (TREE-10).
///
/// # Errors
/// What libpcp says: `-ENOMEM`.
pub(crate) fn create() -> Result<*mut __pmnsTree> {
    let mut tree = ptr::null_mut();
    // SAFETY: the argument is valid for one write.
    Error::check(unsafe { __pmNewPMNS(&raw mut tree) })?;
    Ok(tree)
}

/// Adds a name (TREE-11). The result is libpcp's own: generations differ in what they say about a name that is there
/// already.
///
/// # Safety
/// `tree` is a tree of libpcp with a root.
pub(crate) unsafe fn insert(tree: *mut __pmnsTree, pmid: MetricId, name: &CStr) -> Result<c_int> {
    let pmid = c_int::from_ne_bytes(pmid.0.to_ne_bytes());
    // SAFETY: the contract above is that of the function.
    Error::check(unsafe { __pmAddPMNSNode(tree, pmid, name.as_ptr()) })
}

/// Frees a tree with all that belongs to it; NULL is allowed (TREE-10).
///
/// # Safety
/// `tree` is NULL or a tree of libpcp that nobody uses any more.
pub(crate) unsafe fn release(tree: *mut __pmnsTree) {
    if !tree.is_null() {
        // SAFETY: not NULL; the rest is the contract above.
        unsafe { __pmFreePMNS(tree) };
    }
}

/// Logs that there is no memory for `size` bytes; the process goes on.
pub(crate) fn no_memory(place: &CStr, size: usize) {
    // SAFETY: errno is this thread's own. libpcp prints its text, and a size that was refused before malloc saw it has
    // not set it. The name is a C string; a recoverable error returns.
    unsafe {
        *libc::__errno_location() = libc::ENOMEM;
        pmNoMem(place.as_ptr(), size, PM_RECOV_ERR as c_int);
    }
}
