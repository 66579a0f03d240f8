//! Trees of names: `pmdaTree*` and `pmdaNodeLookup`.
//!
//! A tree is libpcp's C structure ([`crate::libpcp::pmns`]); the algorithms are in [`crate::namespace`].

use std::ffi::{c_char, c_int};
use std::ptr;

use super::guard::guard;
use super::memory::Block;
use super::types::{pmID, pmdaNameSpace};
use crate::abi::arg::{CText, Out};
use crate::abi::block::CVec;
use crate::abi::names;
use crate::abi::tree::Tree;
use crate::error::Error;
use crate::ident::MetricId;
use crate::libpcp::bindings::__pmnsNode;
use crate::libpcp::pmns::{self, NodeRef};
use crate::namespace::{self, Names, Node};

/// `PMNS_LEAF_STATUS` and `PMNS_NONLEAF_STATUS`.
const STATUS: [c_int; 2] = [0, 1];

/// The number of names as C gets it; [`Names`] holds no more than fit.
fn count(names: &Names) -> c_int {
    c_int::try_from(names.len()).unwrap_or(c_int::MAX)
}

/// Makes an empty tree of names and stores it at `tree`.
///
/// # Returns
/// 0; a negative error code when there is no memory or `tree` is NULL. `pmdaTreeRelease` frees the tree.
///
/// # Safety
/// `tree` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeCreate(tree: *mut *mut pmdaNameSpace) -> c_int {
    // SAFETY: the caller gives NULL or a place for one pointer, which is written once, before this returns.
    let out = unsafe { Out::new(tree) };
    guard(|| {
        if out.is_null() {
            return Err(Error::INVAL);
        }
        out.set(pmns::create()?);
        Ok(())
    })
}

/// Adds the dotted name `name` with the identifier `pmid` to a tree, and the nodes above it as needed.
///
/// Lookups by name see it at once, lookups by identifier after the next `pmdaTreeRebuildHash`.
///
/// # Returns
/// 0 (PCP 7: 1 when the name is there already, with the same identifier); `PM_ERR_PMID` when the name has another
/// identifier; `-EINVAL` for NULL arguments; another negative code when there is no memory.
///
/// # Safety
/// `tree` is NULL or a tree, `name` NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeInsert(tree: *mut pmdaNameSpace, pmid: pmID, name: *const c_char) -> c_int {
    guard(|| {
        // SAFETY: NULL or a tree, as the contract above says.
        let view = unsafe { Tree::new(tree) };
        if view.as_ref().and_then(Tree::root).is_none() || name.is_null() {
            return Err(Error::INVAL);
        }
        // SAFETY: a tree with a root and a C string.
        unsafe { pmns::insert(tree, MetricId(pmid), name) }
    })
}

/// Frees a tree with all its nodes, names and its table. NULL is allowed.
///
/// # Safety
/// `tree` is NULL or a tree that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeRelease(tree: *mut pmdaNameSpace) {
    // SAFETY: the contracts are the same.
    guard(|| unsafe { pmns::release(tree) });
}

/// Builds the table from identifiers to names, for about `numpmid` names; the number need not be exact. Sets the
/// links from the nodes to their parents as well.
///
/// # Safety
/// `tree` is NULL or a tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeRebuildHash(tree: *mut pmdaNameSpace, numpmid: c_int) {
    guard(|| {
        if tree.is_null() {
            return;
        }
        let size = namespace::table_size(numpmid);
        let table = usize::try_from(size)
            .map_err(|_| Error::NOMEM)
            .and_then(Block::<*mut __pmnsNode>::zeroed);
        let (table, size) = match table {
            Ok(table) => (table.into_raw(), size),
            Err(_) => {
                let bytes = (size as isize as usize).wrapping_mul(size_of::<*mut __pmnsNode>());
                pmns::no_memory(c"pmdaTreeRebuildHash", bytes);
                (ptr::null_mut(), 0)
            }
        };
        // SAFETY: a tree, as the contract above says. Its old table is NULL or a block from malloc that only the tree
        // knows. A place of the new table is a pointer, zeroed; `Option<NodeRef>` is one too, with None as NULL.
        unsafe {
            let Some(tree) = Tree::new(tree) else { return };
            let old = tree.table_ptr();
            tree.set_table_ptr(table);
            tree.set_table_len(size);
            libc::free(old.cast());
            if let Some(root) = tree.root() {
                namespace::rebuild(root, places(table, size));
            }
        }
    });
}

/// The table of a tree as the core fills it.
///
/// # Safety
/// `table` is NULL or has `size` entries, each NULL or a node; nobody else uses it for `'t`.
unsafe fn places<'t>(table: *mut *mut __pmnsNode, size: c_int) -> &'t mut [Option<NodeRef<'t>>] {
    const { assert!(size_of::<Option<NodeRef<'static>>>() == size_of::<*mut __pmnsNode>()) };
    match usize::try_from(size) {
        // SAFETY: not NULL, hence `size` entries; NodeRef is transparent over a non-NULL pointer, None is NULL.
        Ok(size) if !table.is_null() => unsafe { std::slice::from_raw_parts_mut(table.cast(), size) },
        _ => &mut [],
    }
}

/// Counts the names of a tree.
///
/// # Returns
/// The number; 0 for NULL; a negative code when there is no memory. A node with an identifier counts once and hides what
/// is below it.
///
/// # Safety
/// `tree` is NULL or a tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeSize(tree: *mut pmdaNameSpace) -> c_int {
    guard(|| {
        // SAFETY: NULL or a tree, as the contract above says.
        let tree = unsafe { Tree::new(tree) };
        let names = tree.as_ref().and_then(Tree::root).map_or(Ok(0), namespace::size)?;
        Ok(c_int::try_from(names).unwrap_or(c_int::MAX))
    })
}

/// Finds the node called `name` among `node`, its following siblings and what is below them.
///
/// # Returns
/// The node, or NULL.
///
/// # Safety
/// `node` is NULL or a node of a tree, `name` NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaNodeLookup(node: *mut __pmnsNode, name: *const c_char) -> *mut __pmnsNode {
    guard(|| {
        // SAFETY: NULL or a node, and NULL or a C string, as the contract above says.
        let (node, name) = unsafe { (NodeRef::new(node), CText::new(name)) };
        name.and_then(|name| namespace::lookup(node, name.bytes()))
            .map_or(ptr::null_mut(), NodeRef::as_ptr)
    })
}

/// Gives the identifier of a name: a `pmid` method for agents that keep their names in a tree.
///
/// # Returns
/// 0; `PM_ERR_NAME` when there is no tree, no such name, or it is not a leaf, and `pmid` is left alone.
///
/// # Safety
/// `tree` is NULL or a tree, `name` NULL or a C string, `pmid` NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreePMID(tree: *mut pmdaNameSpace, name: *const c_char, pmid: *mut pmID) -> c_int {
    // SAFETY: the caller gives NULL or a tree, a C string and a place; no C code runs while the views are in use.
    let (tree, name, out) = unsafe { (Tree::new(tree), CText::new(name), Out::new(pmid)) };
    guard(|| {
        let (tree, name) = tree.zip(name).ok_or(Error::NAME)?;
        let node = tree.find(name.bytes()).filter(|node| !node.is_branch());
        out.set(node.ok_or(Error::NAME)?.pmid().0);
        Ok(())
    })
}

/// Gives all names of an identifier: a `name` method for agents that keep their names in a tree.
///
/// # Returns
/// The number of names, stored at `nameset` as one block that the caller frees; `PM_ERR_PMID` when there is no tree,
/// no table (`pmdaTreeRebuildHash`) or no such identifier; `-EINVAL` when `nameset` is NULL; another negative code when
/// there is no memory.
///
/// # Safety
/// `tree` is NULL or a tree, `nameset` NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeName(tree: *mut pmdaNameSpace, pmid: pmID, nameset: *mut *mut *mut c_char) -> c_int {
    // SAFETY: the caller gives NULL or a tree, and a place; no C code runs while the views are in use.
    let (tree, out) = unsafe { (Tree::new(tree), Out::new(nameset)) };
    guard(|| {
        if out.is_null() {
            return Err(Error::INVAL);
        }
        let head = tree.as_ref().and_then(|tree| tree.chain(MetricId(pmid)));
        let names = namespace::names_of(head, MetricId(pmid))?;
        if names.is_empty() {
            return Err(Error::PMID);
        }
        out.set(names::pack(&names)?.into_raw());
        Ok(count(&names))
    })
}

/// Gives the names below a name: a `children` method for agents that keep their names in a tree.
///
/// With `traverse` 0 these are single components, and `status` tells leaves (0) from branches (1); else the full names
/// of all leaves below.
///
/// # Returns
/// The number of names, stored at `offspring` and `status` as two blocks that the caller frees. With 0 and `traverse`
/// 0 nothing is stored; with 0 and any other `traverse`, two empty blocks. `PM_ERR_NAME` when there is no tree or no
/// such name; `-EINVAL` when `offspring` or `status` is NULL; another negative code when there is no memory.
///
/// # Safety
/// `tree` is NULL or a tree, `name` NULL or a C string, `offspring` and `status` are NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeChildren(
    tree: *mut pmdaNameSpace,
    name: *const c_char,
    traverse: c_int,
    offspring: *mut *mut *mut c_char,
    status: *mut *mut c_int,
) -> c_int {
    // SAFETY: the caller gives NULL or a tree, and a C string; no C code runs while the views are in use.
    let (tree, name) = unsafe { (Tree::new(tree), CText::new(name)) };
    // SAFETY: the caller gives NULL or a place for one pointer each, written at the end of the call.
    let (names_out, states_out) = unsafe { (Out::new(offspring), Out::new(status)) };
    guard(|| {
        let (tree, name) = tree.zip(name).ok_or(Error::NAME)?;
        let node = tree.find(name.bytes()).ok_or(Error::NAME)?;
        if names_out.is_null() || states_out.is_null() {
            return Err(Error::INVAL);
        }
        let found = match traverse {
            0 => namespace::children(node)?,
            _ => namespace::leaves(node, name.bytes())?,
        };
        if found.names.is_empty() && traverse == 0 {
            return Ok(0);
        }
        let block = names::pack(&found.names)?;
        let mut states = CVec::with_capacity(found.branches.len())?;
        for branch in &found.branches {
            states.push(STATUS[usize::from(*branch)])?;
        }
        names_out.set(block.into_raw());
        states_out.set(states.into_raw());
        Ok(count(&found.names))
    })
}
