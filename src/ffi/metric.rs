//! The metric table: `pmdaRehash`.

use std::ffi::c_int;

use super::guard::guard;
use super::types::pmdaMetric;
use crate::abi::ext::Ext;
use crate::abi::table::MetricTable;
use crate::agent::lookup;

/// Takes a metric table into use, and builds the hash over it (INIT-46).
///
/// # Safety
/// `pmda` is NULL or valid; `metrics` is NULL or valid with `nmetrics` entries, for as long as it
/// is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaRehash(pmda: Option<Ext>, metrics: *mut pmdaMetric, nmetrics: c_int) {
    // SAFETY: the table is the agent's, of the length that it gives, and it leaves it alone while
    // it is in use.
    let table = unsafe { MetricTable::new(metrics, nmetrics) };
    guard(|| {
        if let Some(ext) = pmda {
            lookup::rehash(ext, table);
        }
    });
}
