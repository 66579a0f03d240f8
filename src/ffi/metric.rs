//! The tables of an agent: `pmdaRehash`, and the lookup of metrics and instance domains.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::Ordering;

use super::fetch_state::{self, FetchState};
use super::guard::guard;
use super::types::{pmdaExt, pmdaIndom, pmdaMetric};
use crate::abi::arg::CText;
use crate::abi::ext::Ext;
use crate::abi::table::{Metric, MetricTable};
use crate::ident::{InDom, MetricId};
use crate::libpcp::log::{self, Debug};
use crate::log::Level;
use crate::log::Part::{Raw, Show};
use crate::metrics::{self, Hashed, Method, Places, Table};

/// `PMDA_EXT_FLAG_HASHED`.
const HASHED: u32 = 1 << 1;

/// An entry of the metric table, or NULL, and how it was looked for.
pub(super) struct Found {
    pub(super) metric: *mut pmdaMetric,
    pub(super) method: Method,
}

/// What a lookup depends on, read from the public fields of a `pmdaExt` at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
struct View {
    hashed: bool,
    direct: bool,
    first: *mut pmdaMetric,
    count: c_int,
}

impl View {
    /// # Safety
    /// `ext` is valid.
    unsafe fn of(ext: *const pmdaExt) -> View {
        // SAFETY: valid by the contract above.
        unsafe {
            View {
                hashed: (*ext).e_flags & HASHED != 0,
                direct: (*ext).e_direct != 0,
                first: (*ext).e_metrics,
                count: (*ext).e_nmetrics,
            }
        }
    }

    fn table(self) -> Table {
        table(self.first, self.count)
    }

    /// The identifier of an entry.
    ///
    /// # Safety
    /// The table is valid, and the place is in it.
    unsafe fn pmid_at(self, place: usize) -> MetricId {
        // SAFETY: the contract above.
        MetricId(unsafe { (*self.first.add(place)).m_desc.pmid })
    }

    /// The entry at a place, NULL for none.
    ///
    /// # Safety
    /// The table is valid, and the place is in it.
    unsafe fn entry(self, place: Option<usize>) -> *mut pmdaMetric {
        // SAFETY: the contract above.
        place.map_or(ptr::null_mut(), |place| unsafe { self.first.add(place) })
    }
}

/// The entry of a metric in the table that the hash was built over, NULL for none.
///
/// # Safety
/// That table is valid.
unsafe fn in_hash(hash: &Hashed, wanted: MetricId) -> *mut pmdaMetric {
    let first = hash.address() as *mut pmdaMetric;
    // SAFETY: the place is in the table by the contract above.
    hash.find(wanted)
        .map_or(ptr::null_mut(), |place| unsafe { first.add(place) })
}

/// The first entry that has the identifier, NULL for none.
///
/// # Safety
/// The table is valid.
unsafe fn in_table(places: &mut Places, view: View, wanted: MetricId) -> *mut pmdaMetric {
    // SAFETY: every place asked for is in the table.
    let pmid_at = |place| unsafe { view.pmid_at(place) };
    let is_it = |place| pmid_at(place) == wanted;
    let place = places.find(view.table(), wanted.0.into(), is_it, |place, add| {
        add(pmid_at(place).0.into());
    });
    // SAFETY: the place is in the table.
    unsafe { view.entry(place) }
}

/// Looks a metric up in the table that `ext` has at this moment (FETCH-20).
///
/// # Safety
/// `ext` is valid, with `e_nmetrics` metrics at `e_metrics`; if the hash is in use, the table given to `pmdaRehash` is.
pub(super) unsafe fn find(state: &FetchState, ext: *const pmdaExt, wanted: MetricId) -> Found {
    // SAFETY: the tables are valid by the contract above.
    unsafe {
        let view = View::of(ext);
        if view.hashed {
            let hash = state.hash.lock();
            let method = Method::choose(true, hash.is_empty(), view.direct, view.table().len);
            if method == Method::Hashed {
                let metric = in_hash(&hash, wanted);
                return Found { metric, method };
            }
        }
        let method = Method::choose(view.hashed, true, view.direct, view.table().len);
        let metric = match method {
            Method::Direct => view.entry(metrics::direct(wanted, view.table(), |place| view.pmid_at(place))),
            _ => in_table(&mut state.metrics.lock(), view, wanted),
        };
        Found { metric, method }
    }
}

/// How many metrics are looked up at once.
const AHEAD: usize = 8;

/// Looks metrics up for a fetch, some of them ahead of their turn: that takes the locks once for all of them.
///
/// Callbacks run between the turns, so what was found is used only if nothing that it depends on has changed: the
/// public fields and the hash, or what the entry says. It has nothing to drop, as callbacks may leave by `longjmp`.
pub(super) struct Ahead {
    found: [(MetricId, *mut pmdaMetric); AHEAD],
    next: usize,
    end: usize,
    view: View,
    generation: u32,
}

impl Ahead {
    /// Nothing is known yet.
    pub(super) fn new() -> Ahead {
        let view = View {
            hashed: false,
            direct: false,
            first: ptr::null_mut(),
            count: 0,
        };
        Ahead {
            found: [(MetricId::NULL, ptr::null_mut()); AHEAD],
            next: 0,
            end: 0,
            view,
            generation: 0,
        }
    }

    /// The entry of `wanted`, NULL for none. The `len` identifiers that `next` gives, of which it is the first, are those
    /// that will be asked for in turn.
    ///
    /// # Safety
    /// As [`find`].
    #[inline]
    pub(super) unsafe fn find(
        &mut self,
        state: &FetchState,
        ext: *const pmdaExt,
        wanted: MetricId,
        next: impl Fn(usize) -> MetricId,
        len: usize,
    ) -> *mut pmdaMetric {
        // SAFETY: the contract above.
        unsafe {
            let view = View::of(ext);
            if !view.hashed {
                let table = view.table();
                if view.direct {
                    return view.entry(metrics::direct(wanted, table, |place| view.pmid_at(place)));
                }
                if table.is_short() {
                    return view.entry((0..table.len).find(|place| view.pmid_at(*place) == wanted));
                }
            }
            if self.next >= self.end || view != self.view {
                self.look(state, view, next, len);
            }
            let (pmid, metric) = self
                .found
                .get(self.next)
                .copied()
                .unwrap_or((MetricId::NULL, ptr::null_mut()));
            self.next += 1;
            let believed = pmid == wanted
                && !metric.is_null()
                && if view.hashed {
                    self.generation == state.rehashed.load(Ordering::Acquire)
                } else {
                    (*metric).m_desc.pmid == wanted.0
                };
            if believed {
                metric
            } else {
                find(state, ext, wanted).metric
            }
        }
    }

    /// Looks up the next metrics.
    ///
    /// # Safety
    /// As [`Ahead::find`].
    unsafe fn look(&mut self, state: &FetchState, view: View, wanted: impl Fn(usize) -> MetricId, len: usize) {
        (self.view, self.next, self.end) = (view, 0, len.min(AHEAD));
        self.generation = state.rehashed.load(Ordering::Acquire);
        // SAFETY: the contract of `find`.
        unsafe {
            if view.hashed {
                let hash = state.hash.lock();
                for (index, found) in self.found.iter_mut().enumerate().take(self.end) {
                    *found = (wanted(index), in_hash(&hash, wanted(index)));
                }
            } else {
                let mut places = state.metrics.lock();
                for (index, found) in self.found.iter_mut().enumerate().take(self.end) {
                    *found = (wanted(index), in_table(&mut places, view, wanted(index)));
                }
            }
        }
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
    let place = if table.is_short() {
        (0..table.len).find(|place| is_it(*place))?
    } else {
        let mut places = state.indoms.lock();
        places.find(table, indom.0.into(), is_it, |place, add| add(indom_at(place).into()))?
    };
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
            let (ext, table) = unsafe { (Ext::new(pmda), MetricTable::new(metrics, nmetrics)) };
            if let Some(ext) = ext {
                rehash(ext, table);
            }
        }
    });
}

/// The body of `pmdaRehash`; `pmdaInit` and the dynamic metrics call it as well (INIT-44).
pub(crate) fn rehash(ext: Ext, table: MetricTable) {
    let built = Hashed::build(table.extent().address, (0..table.len()).map(|place| table.pmid(place)));
    ext.set_direct(0);
    ext.set_metrics(table);
    let flags = if built.is_ok() {
        ext.flags() | HASHED
    } else {
        ext.flags() & !HASHED
    };
    ext.set_flags(flags);
    // SAFETY: the record is valid, as the view is.
    let state = unsafe { fetch_state::of(ext.as_ptr()) };
    let failed = built.is_err();
    let old = std::mem::replace(&mut *state.hash.lock(), built.unwrap_or_default());
    state.rehashed.fetch_add(1, Ordering::Release);
    drop(old);
    let name = ext.name();
    let name = Raw(name.as_ref().map_or(b"", CText::bytes));
    if failed {
        // A table that was too large has a first entry.
        let pmid = table.entry(0).map_or(MetricId::NULL, Metric::pmid);
        log::notify_parts(
            Level::Warning,
            &[
                Raw(b"pmdaRehash: PMDA "),
                name,
                Show(&format_args!(
                    ": Hashed mapping for metrics disabled @ metric[0] {pmid}"
                )),
            ],
        );
    } else if log::debug(Debug::Libpmda) {
        log::debug_parts(&[Raw(b"pmdaRehash: PMDA "), name, Raw(b": successful rebuild")]);
    }
}
