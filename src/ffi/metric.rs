//! The metric table: `pmdaRehash`.

use std::ffi::c_int;

use super::guard::guard;
use super::types::{pmdaExt, pmdaMetric};
use crate::abi::ext::Ext;
use crate::abi::table::MetricTable;
use crate::agent::lookup;

/// Takes a metric table into use, and builds the hash over it (INIT-46).
///
/// # Safety
/// `pmda` is NULL or valid; `metrics` is NULL or valid with `nmetrics` entries, for as long as it is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaRehash(pmda: *mut pmdaExt, metrics: *mut pmdaMetric, nmetrics: c_int) {
    // SAFETY: NULL, or what the agent has; the table is the agent's, which leaves it alone while it is in use.
    let (ext, table) = unsafe { (Ext::new(pmda), MetricTable::new(metrics, nmetrics)) };
    guard(|| {
        if let Some(ext) = ext {
            lookup::rehash(ext, table);
        }
    });
}
