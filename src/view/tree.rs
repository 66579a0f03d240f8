//! A tree of names as C hands it around.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use crate::sys::libpcp::bindings::{__pmFreePMNS, __pmnsNode};
use crate::sys::libpcp::log::{Debug, debug};
use crate::sys::libpcp::pmns::{self, Kept, NodeRef};
use crate::sys::slice_mut;
use crate::view::arg::CText;
use crate::view::block::Block;
use crate::view::declare::view;
use crate::view::names;
use crate::view::types::pmdaNameSpace;
use pmda_core::error::{Error, Result};
use pmda_core::ident::MetricId;
use pmda_core::namespace::{self, Access, Node, Place};

/// What libpcp says about a name that is there already, with the same identifier; -1 before it was
/// asked. Generations differ in that.
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
    followed {
        /// Stores the number of chains in the table.
        set_table_len: htabsize as c_int;
        /// Stores another table.
        set_table_ptr: htab as *mut *mut __pmnsNode;
    }
}

impl Tree<'_> {
    /// The root, if the tree has one.
    pub(crate) fn root(&self) -> Option<NodeRef<'_>> {
        // SAFETY: a tree has valid nodes by the contract of `new`, for as long as the view is used.
        unsafe { NodeRef::new(self.root_ptr()) }
    }

    /// Adds a name (TREE-11), which it looks for by the indexes of wide nodes. What is to be said
    /// of it, of a name that is there already, and of another identifier is libpcp's to say.
    ///
    /// # Errors
    /// `-EINVAL` for a tree without a root, `-ENOMEM`, and what libpcp gives.
    pub(crate) fn insert(self, pmid: MetricId, name: CText<'_>, indexes: &impl Access<Kept>) -> Result<c_int> {
        let root = self.root().ok_or(Error::INVAL)?;
        if debug(Debug::Pmns) {
            return self.insert_by_libpcp(pmid, name);
        }
        match namespace::place(root, name.bytes(), indexes) {
            Place::Below(parent, rest) => {
                names::add(parent, rest, pmid)?;
                Ok(0)
            }
            // A leaf that is there already, with this identifier: libpcp says the same each time.
            Place::Taken(node) if node.pmid() == pmid && pmid != MetricId::NULL => {
                let known = AGAIN.load(Ordering::Relaxed);
                if known >= 0 {
                    return Ok(known);
                }
                let answer = self.insert_by_libpcp(pmid, name)?;
                AGAIN.store(answer, Ordering::Relaxed);
                Ok(answer)
            }
            Place::Taken(_) => self.insert_by_libpcp(pmid, name),
        }
    }

    fn insert_by_libpcp(self, pmid: MetricId, name: CText<'_>) -> Result<c_int> {
        // SAFETY: a tree by the contract of `new`. It has a root, as `insert` has looked.
        unsafe { pmns::insert(self.as_ptr(), pmid, name.c_str()) }
    }

    /// Frees the tree with all that belongs to it.
    ///
    /// # Safety
    /// Nobody has another view of the tree, or of its nodes.
    pub(crate) unsafe fn release(self) {
        // SAFETY: a tree by the contract of `new`, which nobody uses any more: the caller promises
        // that.
        unsafe { __pmFreePMNS(self.as_ptr()) };
    }

    /// Builds a table of `size` chains from identifiers to names, and the links from the nodes to
    /// their parents.
    ///
    /// # Errors
    /// `-ENOMEM`: the links were built, and the tree has no table.
    pub(crate) fn rebuild(self, size: c_int) -> Result<()> {
        let table = usize::try_from(size)
            .map_err(|_| Error::NOMEM)
            .and_then(Block::<*mut __pmnsNode>::zeroed);
        let (table, size, outcome) = match table {
            Ok(table) => (table.into_raw(), size, Ok(())),
            Err(error) => (ptr::null_mut(), 0, Err(error)),
        };
        let old = self.table_ptr();
        const { assert!(size_of::<Option<NodeRef<'static>>>() == size_of::<*mut __pmnsNode>()) };
        // SAFETY: the new table is NULL or a block from malloc, for the tree alone.
        unsafe { self.set_table_ptr(table) };
        // SAFETY: it has `size` pointers, all NULL.
        unsafe { self.set_table_len(size) };
        // SAFETY: NULL or a block from malloc that only the tree knew.
        unsafe { libc::free(old.cast()) };
        // SAFETY: the new table has `size` pointers, or is NULL with a size of 0, and this thread
        // alone uses the tree; an `Option<NodeRef>` is such a pointer, with None as NULL.
        let chains: &mut [Option<NodeRef<'_>>] = unsafe { slice_mut(table.cast(), size) };
        if let Some(root) = self.root() {
            namespace::rebuild(root, chains);
        }
        outcome
    }

    /// The node that is called `name`, looked for by the indexes of wide nodes.
    pub(crate) fn find(&self, name: &[u8], indexes: &impl Access<Kept>) -> Option<NodeRef<'_>> {
        namespace::find(self.root()?, name, indexes)
    }

    /// The first node of the chain that names of `pmid` are in.
    pub(crate) fn chain(&self, pmid: MetricId) -> Option<NodeRef<'_>> {
        let table = self.table_ptr();
        let chain = namespace::chain(pmid, usize::try_from(self.table_len()).ok()?)?;
        if table.is_null() {
            return None;
        }
        // SAFETY: the table has that many chains, each NULL or a valid node, by the contract of
        // `new`.
        unsafe { NodeRef::new(table.add(chain).read()) }
    }

    /// Whether the tree has a name for `pmid` (DYN-12).
    pub(crate) fn knows(&self, pmid: MetricId) -> bool {
        let head = self.chain(pmid);
        std::iter::successors(head, |node| node.chained()).any(|node| node.pmid() == pmid)
    }
}

/// Where an agent stores its tree of dynamic names. The place never moves, as the agent keeps its
/// address.
///
/// What C stores there by its address is NULL, or a tree that stays valid while it is there: that
/// is the contract of `pmdaUpdatePMNS`, whose callers alone hand out the address.
pub(crate) struct TreePlace(AtomicPtr<pmdaNameSpace>);

impl TreePlace {
    /// A place that holds no tree yet.
    pub(crate) const fn new() -> TreePlace {
        TreePlace(AtomicPtr::new(ptr::null_mut()))
    }

    /// The place as C sees it.
    pub(crate) fn as_ptr(&self) -> *mut *mut pmdaNameSpace {
        self.0.as_ptr()
    }

    /// The tree that the agent has stored (N-4).
    pub(crate) fn tree(&self) -> Option<Tree<'_>> {
        // SAFETY: what is stored there is NULL or a valid tree, by the contract of the place.
        unsafe { Tree::new(self.0.load(Ordering::Relaxed)) }
    }
}
