//! The flags of an agent: `e_flags`.

use std::ffi::c_uint;

use crate::view::ext::Ext;

/// `PMDA_EXT_FLAG_*` and `PMDA_EXT_*` bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExtFlags(pub(crate) c_uint);

impl ExtFlags {
    /// The agent wants the item of a PMID to be its place in the metric table.
    pub(crate) const DIRECT: ExtFlags = ExtFlags(1 << 0);
    /// The agent wants metrics to be found by a hash.
    pub(crate) const HASHED: ExtFlags = ExtFlags(1 << 1);
    /// `pmdaDaemon` or `pmdaDSO` was called.
    pub(crate) const SETUP_DONE: ExtFlags = ExtFlags(1 << 2);
    /// `pmdaConnect` was called.
    pub(crate) const CONNECTED: ExtFlags = ExtFlags(1 << 3);
}

impl Ext<'_> {
    /// Whether a flag is set at this moment.
    #[inline(always)]
    pub(crate) fn has(self, flag: ExtFlags) -> bool {
        self.flags() & flag.0 != 0
    }

    /// Sets flags beside those that are set.
    pub(crate) fn add_flags(self, flags: ExtFlags) {
        self.set_flags(self.flags() | flags.0);
    }

    /// Clears flags.
    pub(crate) fn clear_flags(self, flags: ExtFlags) {
        self.set_flags(self.flags() & !flags.0);
    }
}
