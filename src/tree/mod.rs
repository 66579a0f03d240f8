//! Trees of names: the indexes of their wide nodes, which all trees share.

pub(crate) mod exports;

use crate::state;
use crate::sys::libpcp::pmns::Kept;
use crate::view::names::Tree;
use pmda_core::namespace::{Access, Indexes, Node};

/// The way to the indexes of wide nodes; without memory for them there are none.
pub(crate) struct SharedIndexes;

impl Access<Kept> for SharedIndexes {
    fn with<R>(&self, work: impl FnOnce(&mut Indexes<Kept>) -> R) -> R {
        match state::lock() {
            Ok(mut globals) => work(&mut globals.name_indexes),
            Err(_) => work(&mut Indexes::new()),
        }
    }
}

/// Drops the indexes of a tree that is about to be freed.
fn forget_indexes(tree: &Tree<'_>) {
    if let (Some(root), Some(mut globals)) = (tree.root(), state::peek()) {
        globals.name_indexes.forget(root.keep());
    }
}
