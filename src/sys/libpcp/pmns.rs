//! libpcp's trees of names: nodes as [`Node`], and the functions that build and free them.
//!
//! libpcp's functions are private, but agents and the Perl and Python bindings mix them with
//! `pmdaTree*`, so a tree must be libpcp's own (TREE-3).

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use crate::sys::libpcp::bindings::{__pmAddPMNSNode, __pmnsNode, __pmnsTree, PM_RECOV_ERR, pmNoMem};
use crate::sys::libpcp::cancel;
use crate::sys::libpcp::log::{Debug, debug};
use crate::sys::libpcp::safe_externs::__pmNewPMNS;
use pmda_core::error::{Error, Result};
use pmda_core::ident::MetricId;
use pmda_core::namespace::Node;

/// A node that stays where it is, with its name, for `'t`.
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
    /// `node` is NULL or a node of a tree all of whose links are NULL or valid, and which only this
    /// thread uses for `'t`.
    pub(crate) unsafe fn new(node: *mut __pmnsNode) -> Option<NodeRef<'t>> {
        NonNull::new(node).map(|node| NodeRef {
            node,
            tree: PhantomData,
        })
    }

    pub(crate) fn as_ptr(self) -> *mut __pmnsNode {
        self.node.as_ptr()
    }
}

impl<'t> NodeRef<'t> {
    /// The node at this moment.
    fn fields(self) -> __pmnsNode {
        // SAFETY: the node is valid by the contract of `new`, and only this thread uses it. No
        // reference to it is made.
        unsafe { self.node.as_ptr().read() }
    }

    /// The node behind a link of this one.
    fn follow(self, link: *mut __pmnsNode) -> Option<NodeRef<'t>> {
        // SAFETY: by the contract of `new` what a node links to is NULL or as valid as the node
        // itself, and as long.
        unsafe { NodeRef::new(link) }
    }

    /// Makes `child` the first child.
    ///
    /// # Safety
    /// `child` is a node that links to the first child there was, and as valid as this node.
    pub(crate) unsafe fn put_first(self, child: *mut __pmnsNode) {
        self.change(|node| node.first = child);
    }

    fn change(self, change: impl FnOnce(&mut __pmnsNode)) {
        // SAFETY: the node is valid, and no other reference to it exists anywhere: only raw
        // pointers are kept.
        change(unsafe { &mut *self.node.as_ptr() });
    }
}

impl<'t> Node<'t> for NodeRef<'t> {
    fn name(self) -> &'t [u8] {
        let name = self.fields().name;
        if name.is_null() {
            return b"";
        }
        // SAFETY: not NULL, and the name of a valid node is a C string, unchanged for 't.
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

/// TREE-10.
pub(crate) fn create() -> Result<*mut __pmnsTree> {
    let mut tree = ptr::null_mut();
    Error::check(__pmNewPMNS(&mut tree))?;
    Ok(tree)
}

/// Adds a name (TREE-11). The result is libpcp's, and depends on the release.
///
/// # Safety
/// `tree` is a tree of libpcp with a root.
pub(crate) unsafe fn insert(tree: *mut __pmnsTree, pmid: MetricId, name: &CStr) -> Result<c_int> {
    let pmid = c_int::from_ne_bytes(pmid.0.to_ne_bytes());
    // SAFETY: a tree of libpcp with a root, as the caller promises, and a C string, which libpcp
    // copies.
    let add = || unsafe { __pmAddPMNSNode(tree, pmid, name.as_ptr()) };
    // Only then something is printed for each.
    Error::check(if debug(Debug::Pmns) {
        cancel::disabled(add)
    } else {
        add()
    })
}

/// Logs that there is no memory for `size` bytes.
pub(crate) fn no_memory(place: &CStr, size: usize) {
    // SAFETY: errno is this thread's own. libpcp prints its text, and a size that was refused
    // before malloc saw it has not set it. The name is a C string; a recoverable error returns.
    cancel::disabled(|| unsafe {
        *libc::__errno_location() = libc::ENOMEM;
        pmNoMem(place.as_ptr(), size, PM_RECOV_ERR as c_int);
    });
}
