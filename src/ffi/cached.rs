//! What the fetch family asks the instance caches.

use std::ffi::c_int;

use crate::ident::InDom;

/// Whether the domain has a cache; then its table is not looked at (INST-10).
pub(super) fn exists(_indom: InDom) -> bool {
    false
}

/// Number of active instances, `None` without a cache.
pub(super) fn active_count(_indom: InDom) -> Option<c_int> {
    None
}

/// The active instance with the lowest id that is not below `from`.
pub(super) fn next_active(_indom: InDom, _from: i64) -> Option<i32> {
    None
}

/// Whether an instance is active.
pub(super) fn is_active(_indom: InDom, _inst: i32) -> bool {
    false
}

/// The name of an active instance.
pub(super) fn name_of(_indom: InDom, _inst: i32) -> Option<Vec<u8>> {
    None
}

/// The active instance with a name, as `pmdaCacheLookupName` finds it (INST-65).
pub(super) fn find_name(_indom: InDom, _name: &[u8]) -> Option<i32> {
    None
}

/// All active instances, in ascending order of ids.
pub(super) fn all_active(_indom: InDom) -> Vec<(i32, Vec<u8>)> {
    Vec::new()
}
