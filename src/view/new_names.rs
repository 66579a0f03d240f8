//! New nodes of a tree of names, block by block as libpcp makes them (TREE-3).

use std::ffi::c_char;
use std::ptr;

use crate::sys::libpcp::bindings::__pmnsNode;
use crate::sys::libpcp::pmns::NodeRef;
use crate::view::memory::{Block, string};
use pmda_core::error::{Error, Result};
use pmda_core::ident::MetricId;
use pmda_core::namespace::Node;

/// A node for one component, which is no part of a tree yet.
struct New {
    node: Block<__pmnsNode>,
    name: Block<c_char>,
}

impl New {
    fn called(component: &[u8]) -> Result<New> {
        Ok(New {
            node: Block::room(1)?,
            name: string(component)?,
        })
    }

    /// Fills the node in.
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

    /// From now on it belongs to a tree.
    fn hand_over(self) -> *mut __pmnsNode {
        let _ = self.name.into_raw();
        self.node.into_raw()
    }
}

/// Adds the components of `name` below `parent`, each below the one before it. The first one comes
/// in front of its siblings (TREE-13), of which none has its name.
///
/// # Errors
/// `-ENOMEM`; the tree is as it was.
pub(crate) fn add(parent: NodeRef<'_>, name: &[u8], pmid: MetricId) -> Result<()> {
    let mut components = name.split(|byte| *byte == b'.');
    let mut top = New::called(components.next().unwrap_or_default())?;
    let mut below = Vec::new();
    for component in components {
        below.try_reserve(1).map_err(|_| Error::NOMEM)?;
        below.push(New::called(component)?);
    }
    // From the last one up, of which each knows the node above and the one below.
    let (mut pmid, mut first) = (pmid, ptr::null_mut());
    while let Some(mut new) = below.pop() {
        let above = below.last().map_or(top.node.as_ptr(), |above| above.node.as_ptr());
        new.put(pmid, above, ptr::null_mut(), first);
        (pmid, first) = (MetricId::NULL, new.hand_over());
    }
    let next = parent.first().map_or(ptr::null_mut(), NodeRef::as_ptr);
    top.put(pmid, parent.as_ptr(), next, first);
    // SAFETY: nodes and names in blocks from malloc, all fields filled in: they lead to each other,
    // to `parent` and to its first child, which follows the new one.
    unsafe { parent.put_first(top.hand_over()) };
    Ok(())
}
