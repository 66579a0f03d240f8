//! The tables of an agent: `pmdaRehash`, and the lookup of metrics and instance domains.

use std::ffi::c_int;

use super::arg;
use super::fetch_state::{self, FetchState};
use super::guard::guard;
use super::types::{pmdaExt, pmdaIndom, pmdaMetric};
use crate::ident::{InDom, MetricId};
use crate::libpcp::log::{self, Debug};
use crate::log::{Journal, Level};
use crate::metrics::{self, Hashed, Method, Table};

/// `PMDA_EXT_FLAG_HASHED`.
const HASHED: u32 = 1 << 1;

/// An entry of the metric table, or NULL, and how it was looked for.
pub(super) struct Found {
    pub(super) metric: *mut pmdaMetric,
    pub(super) method: Method,
}

/// Looks a metric up in the table that `ext` has at this moment (FETCH-20).
///
/// # Safety
/// `ext` is valid, with `e_nmetrics` metrics at `e_metrics`; if the hash is in use, the table given to `pmdaRehash` is.
pub(super) unsafe fn find(state: &FetchState, ext: *const pmdaExt, wanted: MetricId) -> Found {
    // SAFETY: valid by the contract above.
    let (flags, direct, first, count) =
        unsafe { ((*ext).e_flags, (*ext).e_direct, (*ext).e_metrics, (*ext).e_nmetrics) };
    let table = table(first, count);
    // SAFETY: every place asked for is in the table.
    let pmid_at = |place: usize| MetricId(unsafe { (*first.add(place)).m_desc.pmid });
    let in_table = |place: usize| {
        // SAFETY: as above.
        unsafe { first.add(place) }
    };
    if flags & HASHED != 0 {
        let hash = state.hash.lock();
        if Method::choose(true, hash.is_empty(), false, table.len) == Method::Hashed {
            let start = hash.address() as *mut pmdaMetric;
            let metric = hash.find(wanted).map_or(std::ptr::null_mut(), |place| {
                // SAFETY: the place is in the table that the hash was built over.
                unsafe { start.add(place) }
            });
            return Found {
                metric,
                method: Method::Hashed,
            };
        }
    }
    let method = Method::choose(flags & HASHED != 0, true, direct != 0, table.len);
    let place = match method {
        Method::Direct => metrics::direct(wanted, table, pmid_at),
        _ => {
            let is_it = |place| pmid_at(place) == wanted;
            let mut places = state.metrics.lock();
            places.find(table, wanted.0, is_it, |place, add| add(pmid_at(place).0))
        }
    };
    Found {
        metric: place.map_or(std::ptr::null_mut(), in_table),
        method,
    }
}

/// The first element of `e_indoms` for an instance domain.
///
/// # Safety
/// `ext` is valid, with `e_nindoms` domains at `e_indoms`.
pub(super) unsafe fn find_indom(state: &FetchState, ext: *const pmdaExt, indom: InDom) -> Option<*mut pmdaIndom> {
    // SAFETY: valid by the contract above.
    let (first, count) = unsafe { ((*ext).e_indoms, (*ext).e_nindoms) };
    let table = table(first, count);
    // SAFETY: every place asked for is in the table.
    let indom_at = |place: usize| unsafe { (*first.add(place)).it_indom };
    let is_it = |place| indom_at(place) == indom.0;
    let mut places = state.indoms.lock();
    let place = places.find(table, indom.0, is_it, |place, add| add(indom_at(place)))?;
    // SAFETY: as above.
    Some(unsafe { first.add(place) })
}

/// A C array as the index knows it; no entries when the pointer is NULL or the count negative.
pub(super) fn table<T>(first: *const T, count: c_int) -> Table {
    let len = if first.is_null() {
        0
    } else {
        usize::try_from(count).unwrap_or(0)
    };
    Table {
        address: first as usize,
        len,
    }
}

/// Takes a metric table into use, and builds the hash over it (INIT-46).
///
/// # Safety
/// `pmda` is NULL or valid; `metrics` is NULL or valid with `nmetrics` entries, for as long as it is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaRehash(pmda: *mut pmdaExt, metrics: *mut pmdaMetric, nmetrics: c_int) {
    guard(|| {
        if !pmda.is_null() {
            // SAFETY: the contract above.
            unsafe { rehash(pmda, metrics, nmetrics) };
        }
    });
}

/// The body of `pmdaRehash`; `pmdaInit` calls it as well (INIT-44).
///
/// # Safety
/// As `pmdaRehash`, and `ext` is not NULL.
pub(crate) unsafe fn rehash(ext: *mut pmdaExt, first: *mut pmdaMetric, count: c_int) {
    let table = table(first, count);
    // SAFETY: the table is valid by the contract above.
    let built = Hashed::build(
        table.address,
        (0..table.len).map(|place| MetricId(unsafe { (*first.add(place)).m_desc.pmid })),
    );
    // SAFETY: `ext` is valid by the contract above.
    let state = unsafe {
        (*ext).e_direct = 0;
        (*ext).e_metrics = first;
        (*ext).e_nmetrics = count;
        if built.is_ok() {
            (*ext).e_flags |= HASHED;
        } else {
            (*ext).e_flags &= !HASHED;
        }
        fetch_state::of(ext)
    };
    let failed = built.is_err();
    *state.hash.lock() = built.unwrap_or_default();
    let mut journal = Journal::new();
    if failed {
        // SAFETY: `ext` is valid, its name is NULL or a C string, and a table that was too large has a first entry.
        let (name, pmid) = unsafe { (arg::bytes((*ext).e_name), MetricId((*first).m_desc.pmid)) };
        let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
        let text = format!("pmdaRehash: PMDA {name}: Hashed mapping for metrics disabled @ metric[0] {pmid}");
        journal.notify(Level::Warning, text);
    } else if log::debug(Debug::Libpmda) {
        // SAFETY: `ext` is valid, its name is NULL or a C string.
        let name = unsafe { arg::bytes((*ext).e_name) };
        let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
        journal.notify(
            Level::Debug,
            format!("pmdaRehash: PMDA {name}: Successfully hashed metrics table of {count} metrics"),
        );
    }
    log::flush(&mut journal);
}
