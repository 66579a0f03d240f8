//! Arrays of label sets, one for each instance, as `pmdaLabel` gives them out.

use std::ffi::c_int;

use crate::sys::libpcp::labels::Sets;
use crate::view::block::CVec;
use crate::view::label_set::LabelSet;
use crate::view::types::pmLabelSet;
use pmda_core::error::{Error, Result};

/// An array of label sets that grows; freed with all that is in it unless it is handed over.
pub(crate) struct LabelArray(Option<CVec<pmLabelSet>>);

impl LabelArray {
    /// An empty array with room for some sets.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn new(room: usize) -> Result<LabelArray> {
        CVec::with_capacity(room).map(|sets| LabelArray(Some(sets)))
    }

    /// Adds an empty set.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn push(&mut self) -> Result<LabelSet<'_>> {
        let set = self.0.as_mut().ok_or(Error::GENERIC)?.push_zeroed()?;
        // SAFETY: the new set points to nothing but what is put into it through this view and by
        // the agent, from malloc; it borrows the array.
        unsafe { LabelSet::new(set) }.ok_or(Error::NOMEM)
    }

    /// The set that was added last.
    pub(crate) fn last(&mut self) -> Option<LabelSet<'_>> {
        let sets = self.0.as_mut()?;
        let last = sets.len().checked_sub(1)?;
        // SAFETY: a set of the array; for the rest see `push`.
        unsafe { LabelSet::new(sets.as_ptr().add(last)) }
    }

    /// The array as libpcp frees it, and the number of its sets.
    pub(crate) fn into_sets(mut self) -> (Sets, c_int) {
        self.give_up()
    }

    fn give_up(&mut self) -> (Sets, c_int) {
        let Some(sets) = self.0.take() else {
            return (Sets::NONE, 0);
        };
        let count = c_int::try_from(sets.len()).unwrap_or(c_int::MAX);
        // SAFETY: the array is ours with what its sets point to, in blocks from malloc, and is
        // given up here.
        (unsafe { Sets::own(sets.into_raw(), count) }, count)
    }
}

impl Drop for LabelArray {
    fn drop(&mut self) {
        drop(self.give_up());
    }
}
