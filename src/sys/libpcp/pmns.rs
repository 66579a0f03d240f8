//! libpcp's trees of names: their nodes as [`Node`], and the functions that build and free them.
//!
//! These functions of libpcp are private. But agents, and the Perl and Python bindings, mix them
//! with `pmdaTree*`: so a tree has to be libpcp's own, block by block (TREE-3).

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use crate::sys::libpcp::__pmNewPMNS;
use crate::sys::libpcp::bindings::{__pmAddPMNSNode, __pmnsNode, __pmnsTree, PM_RECOV_ERR, pmNoMem};
use crate::sys::libpcp::log::{Debug, debug};
use crate::sys::lock::Token;
use pmda_core::error::{Error, Result};
use pmda_core::ident::MetricId;
use pmda_core::namespace::Node;

/// A pointer to a node that stays where it is, with an unchanged name, for `'t`. Links between
/// nodes may change meanwhile: each is read when it is needed.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct NodeRef<'t> {
    node: NonNull<__pmnsNode>,
    tree: PhantomData<&'t __pmnsNode>,
}

impl<'t> NodeRef<'t> {
    /// The node that a pointer leads to; `None` for NULL.
    ///
    /// # Safety
    /// `node` is NULL or a node of a tree all of whose links are NULL or valid, and which only this
    /// thread uses for `'t`.
    pub(crate) unsafe fn new(node: *mut __pmnsNode) -> Option<NodeRef<'t>> {
        NonNull::new(node).map(|node| NodeRef {
            node,
            tree: PhantomData,
        })
    }

    /// The node, for C.
    pub(crate) fn as_ptr(self) -> *mut __pmnsNode {
        self.node.as_ptr()
    }
}

impl<'t> NodeRef<'t> {
    /// A copy of the node at this moment.
    fn fields(self) -> __pmnsNode {
        // SAFETY: the node is valid by the contract of `new`, and only this thread uses it. It is
        // copied without a reference to it; the one of `change` does not exist outside of that
        // function.
        unsafe { self.node.as_ptr().read() }
    }

    /// The node that a link of this one leads to.
    fn follow(self, link: *mut __pmnsNode) -> Option<NodeRef<'t>> {
        // SAFETY: by the contract of `new` all links of the tree are NULL or lead to nodes of it,
        // which fulfil the contract as this one does.
        unsafe { NodeRef::new(link) }
    }

    /// Makes `child` the first child.
    ///
    /// # Safety
    /// `child` is a node that links to the present first child, and as valid as this node.
    pub(crate) unsafe fn put_first(self, child: *mut __pmnsNode) {
        self.change(|node| node.first = child);
    }

    /// Changes fields of the node.
    fn change(self, change: impl FnOnce(&mut __pmnsNode)) {
        // SAFETY: the node is valid, and only this thread uses it, by the contract of `new`. No
        // other reference to a node exists: a `NodeRef` is a raw pointer, and the closures in this
        // file store one field and call nothing.
        change(unsafe { &mut *self.node.as_ptr() });
    }
}

impl<'t> Node<'t> for NodeRef<'t> {
    fn name(self) -> &'t [u8] {
        let name = self.fields().name;
        if name.is_null() {
            return b"";
        }
        // SAFETY: not NULL, so a C string, unchanged for `'t`: nobody changes the name of a node.
        unsafe { CStr::from_ptr(name) }.to_bytes()
    }

    fn pmid(self) -> MetricId {
        MetricId(self.fields().pmid)
    }

    fn parent(self) -> Option<Self> {
        self.follow(self.fields().parent)
    }

    fn next(self) -> Option<Self> {
        self.follow(self.fields().next)
    }

    fn first(self) -> Option<Self> {
        self.follow(self.fields().first)
    }

    fn chained(self) -> Option<Self> {
        self.follow(self.fields().hash)
    }

    fn set_parent(self, parent: Option<Self>) {
        self.change(|node| node.parent = parent.map_or(ptr::null_mut(), NodeRef::as_ptr));
    }

    fn set_chained(self, chained: Option<Self>) {
        self.change(|node| node.hash = chained.map_or(ptr::null_mut(), NodeRef::as_ptr));
    }
}

/// Makes a tree with a root (TREE-10).
///
/// # Errors
/// Those of libpcp: `-ENOMEM`.
pub(crate) fn create() -> Result<*mut __pmnsTree> {
    let mut tree = ptr::null_mut();
    Error::check(__pmNewPMNS(&mut tree))?;
    Ok(tree)
}

/// Adds a name (TREE-11). Releases of PCP differ in the result for a name that exists already.
///
/// # Errors
/// Those of libpcp.
///
/// # Safety
/// `tree` is a tree of libpcp with a root.
pub(crate) unsafe fn insert(token: &mut Token, tree: *mut __pmnsTree, pmid: MetricId, name: &CStr) -> Result<c_int> {
    let pmid = c_int::from_ne_bytes(pmid.0.to_ne_bytes());
    // SAFETY: a tree of libpcp with a root, as the caller promises, and a C string, which libpcp
    // copies.
    let add = || unsafe { __pmAddPMNSNode(tree, pmid, name.as_ptr()) };
    // libpcp prints lines under -Dpmns alone, so only then the lock is given back: with several
    // threads `apart` blocks signals, two system calls a name, and a tree may have thousands.
    Error::check(if debug(Debug::Pmns) { token.apart(add) } else { add() })
}

/// Logs that `size` bytes cannot be allocated. The process goes on.
pub(crate) fn no_memory(token: &mut Token, purpose: &CStr, size: usize) {
    // `pmNoMem` prints the text of errno, which malloc has not set when the size was refused before
    // it was called.
    // SAFETY: errno is this thread's own. The purpose is a C string. With `PM_RECOV_ERR` `pmNoMem`
    // returns.
    token.apart(|| unsafe {
        *libc::__errno_location() = libc::ENOMEM;
        pmNoMem(purpose.as_ptr(), size, PM_RECOV_ERR as c_int);
    });
}
