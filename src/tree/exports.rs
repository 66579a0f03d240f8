//! Trees of names: `pmdaTree*` and `pmdaNodeLookup`.
//!
//! A tree is libpcp's C structure ([`crate::sys::libpcp::pmns`]); the algorithms are in
//! [`pmda_core::namespace`].

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::ptr;

use crate::boundary::guard;
use crate::sys::libpcp::bindings::__pmnsNode;
use crate::sys::libpcp::pmns::{self, NodeRef};
use crate::sys::refusal::Refusable;
use crate::view::arg::{CText, Needed, Out};
use crate::view::names::{self, Tree};
use crate::view::types::{pmID, pmdaNameSpace};
use pmda_core::error::{Error, Result};
use pmda_core::ident::MetricId;
use pmda_core::namespace::{self, Node};

/// A number of names as C's functions return it.
fn count(names: usize) -> c_int {
    c_int::try_from(names).unwrap_or(c_int::MAX)
}

/// Makes an empty tree of names and stores it at `tree`.
///
/// # Returns
/// 0; a negative error code when there is no memory or `tree` is NULL. `pmdaTreeRelease` frees the
/// tree.
///
/// # Safety
/// `tree` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeCreate(tree: Out<'_, *mut pmdaNameSpace>) -> c_int {
    guard(|_| -> Refusable<()> {
        let tree = tree.needed(&"tree")?;
        let new = pmns::create()?;
        // SAFETY: a tree that libpcp has just made. It belongs to the caller now, who releases it.
        unsafe { tree.set_pointer(new) };
        Ok(())
    })
}

/// Adds the dotted name `name` with the identifier `pmid` to a tree, and the nodes above it as
/// needed.
///
/// Lookups by name see it at once, lookups by identifier after the next `pmdaTreeRebuildHash`.
///
/// # Returns
/// 0 (PCP 7: 1 when the name is there already, with the same identifier); `PM_ERR_PMID` when the
/// name has another identifier; `-EINVAL` for NULL arguments; another negative code when there is
/// no memory.
///
/// # Safety
/// `tree` is NULL or a tree, `name` NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeInsert(tree: Option<Tree<'_>>, pmid: pmID, name: Option<CText<'_>>) -> c_int {
    guard(|token| -> Refusable<c_int> {
        let (tree, name) = (tree.needed(&"tree")?, name.needed(&"name")?);
        Ok(tree.insert(token, MetricId(pmid), name)?)
    })
}

/// Frees a tree with all its nodes, names and its table. NULL is allowed.
///
/// # Safety
/// `tree` is NULL or a tree that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeRelease(tree: Option<Tree<'_>>) {
    guard(|_| {
        if let Some(tree) = tree {
            // SAFETY: nobody uses the tree any more, as the caller promises.
            unsafe { tree.release() };
        }
    });
}

/// Builds the table from identifiers to names, for about `numpmid` names; the number need not be
/// exact. Sets the links from the nodes to their parents as well.
///
/// # Safety
/// `tree` is NULL or a tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeRebuildHash(tree: Option<Tree<'_>>, numpmid: c_int) {
    guard(|token| {
        let Some(tree) = tree else { return };
        let size = namespace::table_size(numpmid);
        if tree.rebuild(size).is_err() {
            let bytes = (size as isize as usize).wrapping_mul(size_of::<*mut __pmnsNode>());
            pmns::no_memory(token, c"pmdaTreeRebuildHash", bytes);
        }
    });
}

/// Counts the names of a tree.
///
/// # Returns
/// The number; 0 for NULL; a negative code when there is no memory. A node with an identifier
/// counts once and hides what is below it.
///
/// # Safety
/// `tree` is NULL or a tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeSize(tree: Option<Tree<'_>>) -> c_int {
    guard(|_| -> Result<c_int> {
        let names = tree.as_ref().and_then(Tree::root).map_or(Ok(0), namespace::size)?;
        Ok(count(names))
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
pub unsafe extern "C" fn pmdaNodeLookup(node: Option<NodeRef<'_>>, name: Option<CText<'_>>) -> *mut __pmnsNode {
    guard(|_| {
        name.and_then(|name| namespace::lookup(node, name.bytes()))
            .map_or(ptr::null_mut(), NodeRef::as_ptr)
    })
}

/// Returns the identifier of a name: a `pmid` method for agents that keep their names in a tree.
///
/// # Returns
/// 0; `PM_ERR_NAME` when there is no tree, no such name, or it is not a leaf, and `pmid` is left
/// alone.
///
/// # Safety
/// `tree` is NULL or a tree, `name` NULL or a C string, `pmid` NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreePMID(tree: Option<Tree<'_>>, name: Option<CText<'_>>, pmid: Out<'_, pmID>) -> c_int {
    guard(|_| -> Refusable<()> {
        let tree = tree.needed_or(&"tree", Error::NAME)?;
        let name = name.needed_or(&"name", Error::NAME)?;
        let node = tree.find(name.bytes()).filter(|node| !node.is_branch());
        pmid.set(node.ok_or(Error::NAME)?.pmid().0);
        Ok(())
    })
}

/// Returns all names of an identifier: a `name` method for agents that keep their names in a tree.
///
/// # Returns
/// The number of names, stored at `nameset` as one block that the caller frees; `PM_ERR_PMID` when
/// there is no tree, no table (`pmdaTreeRebuildHash`) or no such identifier; `-EINVAL` when
/// `nameset` is NULL; another negative code when there is no memory.
///
/// # Safety
/// `tree` is NULL or a tree, `nameset` NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeName(tree: Option<Tree<'_>>, pmid: pmID, nameset: Out<'_, *mut *mut c_char>) -> c_int {
    guard(|_| -> Refusable<c_int> {
        let nameset = nameset.needed(&"nameset")?;
        let tree = tree.needed_or(&"tree", Error::PMID)?;
        let head = tree.chain(MetricId(pmid));
        let paths = namespace::names_of(head, MetricId(pmid))?;
        if paths.size.count == 0 {
            return Err(Error::PMID.into());
        }
        nameset.hand_over(names::pack_paths(paths)?);
        Ok(count(paths.size.count))
    })
}

/// Returns the names below a name: a `children` method for agents that keep their names in a tree.
///
/// With `traverse` 0 these are single components, and `status` tells leaves (0) from branches (1);
/// else the full names of all leaves below.
///
/// # Returns
/// The number of names, stored at `offspring` and `status` as two blocks that the caller frees.
/// With 0 and `traverse` 0 nothing is stored; with 0 and any other `traverse`, two empty blocks.
/// `PM_ERR_NAME` when there is no tree or no such name; `-EINVAL` when `offspring` or `status` is
/// NULL; another negative code when there is no memory.
///
/// # Safety
/// `tree` is NULL or a tree, `name` NULL or a C string, `offspring` and `status` are NULL or valid
/// for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaTreeChildren(
    tree: Option<Tree<'_>>,
    name: Option<CText<'_>>,
    traverse: c_int,
    offspring: Out<'_, *mut *mut c_char>,
    status: Out<'_, *mut c_int>,
) -> c_int {
    guard(|_| -> Refusable<c_int> {
        let tree = tree.needed_or(&"tree", Error::NAME)?;
        let name = name.needed_or(&"name", Error::NAME)?;
        let node = tree.find(name.bytes()).ok_or(Error::NAME)?;
        let (offspring, status) = (offspring.needed(&"offspring")?, status.needed(&"status")?);
        let nodes = match traverse {
            0 => names::children(node)?,
            _ => names::leaves(node, name.bytes())?,
        };
        if nodes.count > 0 || traverse != 0 {
            offspring.hand_over(nodes.names);
            status.hand_over(nodes.states.into_block());
        }
        Ok(count(nodes.count))
    })
}
