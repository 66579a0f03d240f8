//! The tables of an agent: the lookup of metrics and of instance domains, and the hash of
//! `pmdaRehash`.

use std::sync::atomic::Ordering;

use super::record;
use super::record::state::{FetchState, HashedTable};
use crate::abi::arg::CText;
use crate::abi::ext::Ext;
use crate::abi::flags::ExtFlags;
use crate::abi::pmids::List;
use crate::abi::table::{Indom, IndomTable, Metric, MetricTable};
use crate::ident::{InDom, MetricId};
use crate::libpcp::log::{self, Debug};
use crate::log::{Bytes, Level};
use crate::metrics::{self, Hashed, Method, Places};

/// What a lookup depends on, read from the public fields of a `pmdaExt` at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
struct View {
    hashed: bool,
    direct: bool,
    table: MetricTable,
}

impl View {
    #[inline(always)]
    fn of(ext: Ext) -> View {
        View {
            hashed: ext.has(ExtFlags::HASHED),
            direct: ext.direct() != 0,
            table: ext.metrics(),
        }
    }

    /// The entry that the item of a metric tells.
    #[inline(always)]
    fn direct(self, wanted: MetricId) -> Option<Metric> {
        let place = metrics::direct(wanted, self.table.extent(), |place| self.table.pmid(place));
        self.table.entry(place?)
    }

    /// The first entry that has the identifier.
    fn search(self, places: &mut Places, wanted: MetricId) -> Option<Metric> {
        let pmid_at = |place| self.table.pmid(place);
        let is_it = |place| pmid_at(place) == wanted;
        let place = places.find(self.table.extent(), wanted.0.into(), is_it, |place, add| {
            add(pmid_at(place).0.into());
        });
        self.table.entry(place?)
    }
}

/// Looks a metric up in the table that an agent has at this moment (FETCH-20); also gives how.
pub(crate) fn find(state: &FetchState, ext: Ext, wanted: MetricId) -> (Option<Metric>, Method) {
    let view = View::of(ext);
    let len = view.table.len();
    if view.hashed {
        let hash = state.hash.lock();
        let method = Method::choose(true, hash.index.is_empty(), view.direct, len);
        if method == Method::Hashed {
            return (hash.find(wanted), method);
        }
    }
    let method = Method::choose(view.hashed, true, view.direct, len);
    let metric = match method {
        Method::Direct => view.direct(wanted),
        _ => view.search(&mut state.metrics.lock(), wanted),
    };
    (metric, method)
}

/// How many metrics are looked up at once.
const AHEAD: usize = 8;

/// Looks metrics up for a fetch, some of them ahead of their turn: that takes the locks once for
/// all of them.
///
/// Callbacks run between the turns, so what was found is used only if nothing that it depends on
/// has changed: the public fields and the hash, or what the entry says. It has nothing to drop, as
/// callbacks may leave by `longjmp`.
pub(crate) struct MetricsAhead {
    wanted: [MetricId; AHEAD],
    found: [Option<Metric>; AHEAD],
    next: usize,
    end: usize,
    view: View,
    generation: u32,
}

impl MetricsAhead {
    /// Nothing is known yet.
    pub(crate) const fn new() -> MetricsAhead {
        let view = View {
            hashed: false,
            direct: false,
            table: MetricTable::EMPTY,
        };
        MetricsAhead {
            wanted: [MetricId(0); AHEAD],
            found: [None; AHEAD],
            next: 0,
            end: 0,
            view,
            generation: 0,
        }
    }

    /// The entry of a metric, whose place in the list is given; those behind it will be asked for
    /// in turn.
    #[inline(always)]
    pub(crate) fn find(
        &mut self,
        state: &FetchState,
        ext: Ext,
        list: &impl List,
        place: usize,
        wanted: MetricId,
    ) -> Option<Metric> {
        if !ext.has(ExtFlags::HASHED) {
            if ext.direct() != 0 {
                return View::of(ext).direct(wanted);
            }
        } else if let Some(metric) = self.hashed(state, ext.metrics(), wanted) {
            return Some(metric);
        }
        self.find_known(state, ext, list, place, wanted)
    }

    /// The entry of a metric that was found in the hash, which is the same one still.
    #[inline(always)]
    fn hashed(&mut self, state: &FetchState, table: MetricTable, wanted: MetricId) -> Option<Metric> {
        let known = self.next < self.end
            && self.view.hashed
            && self.view.table == table
            && self.generation == state.rehashed.load(Ordering::Acquire)
            && self.wanted.get(self.next) == Some(&wanted);
        let metric = if known { self.found[self.next] } else { None };
        self.next += usize::from(metric.is_some());
        metric
    }

    /// [`MetricsAhead::find`] in a table that is hashed or searched.
    #[inline(never)]
    fn find_known(
        &mut self,
        state: &FetchState,
        ext: Ext,
        list: &impl List,
        place: usize,
        wanted: MetricId,
    ) -> Option<Metric> {
        let view = View::of(ext);
        if !view.hashed && view.table.extent().is_short() {
            let found = (0..view.table.len()).find(|place| view.table.pmid(*place) == wanted);
            return view.table.entry(found?);
        }
        if self.next >= self.end || view != self.view {
            self.look(state, view, list, place);
        }
        let place = self.next;
        self.next += 1;
        let metric = self.found.get(place).copied().flatten();
        let believed = metric.is_some_and(|metric| {
            self.wanted[place] == wanted
                && if view.hashed {
                    self.generation == state.rehashed.load(Ordering::Acquire)
                } else {
                    metric.pmid() == wanted
                }
        });
        if believed { metric } else { find(state, ext, wanted).0 }
    }

    /// Looks up the next metrics.
    #[inline(never)]
    fn look(&mut self, state: &FetchState, view: View, list: &impl List, place: usize) {
        (self.view, self.next, self.end) = (view, 0, (list.len() - place).min(AHEAD));
        self.generation = state.rehashed.load(Ordering::Acquire);
        let wanted = &mut self.wanted[..self.end];
        for (wanted, place) in wanted.iter_mut().zip(place..) {
            *wanted = list.pmid(place);
        }
        let both = wanted.iter().zip(&mut self.found);
        if view.hashed {
            let hash = state.hash.lock();
            for (wanted, found) in both {
                *found = hash.find(*wanted);
            }
        } else {
            let mut known = state.metrics.lock();
            for (wanted, found) in both {
                *found = view.search(&mut known, *wanted);
            }
        }
    }
}

/// The first element of `e_indoms` for an instance domain.
pub(crate) fn find_indom(state: &FetchState, ext: Ext, indom: InDom) -> Option<Indom> {
    let indoms = ext.indoms();
    let place = if indoms.extent().is_short() {
        indoms.entries().iter().position(|entry| entry.it_indom == indom.0)?
    } else {
        place_of_indom(state, indoms, indom)?
    };
    indoms.entry(place)
}

/// The place of a domain in a table that is not short.
#[inline(never)]
fn place_of_indom(state: &FetchState, indoms: IndomTable, indom: InDom) -> Option<usize> {
    let is_it = |place| indoms.indom(place) == indom;
    let mut places = state.indoms.lock();
    places.find(indoms.extent(), indom.0.into(), is_it, |place, add| {
        add(indoms.indom(place).0.into());
    })
}

/// The body of `pmdaRehash`; `pmdaInit` and the dynamic metrics call it as well (INIT-44, INIT-46).
pub(crate) fn rehash(ext: Ext, table: MetricTable) {
    let state = record::fetch_state(ext);
    let built = Hashed::build(table.extent().address, (0..table.len()).map(|place| table.pmid(place)));
    let built = state.and_then(|state| Ok((state, built?)));
    ext.set_direct(0);
    ext.set_metrics(table);
    if built.is_ok() {
        ext.add_flags(ExtFlags::HASHED);
    } else {
        ext.clear_flags(ExtFlags::HASHED);
    }
    let failed = built.is_err();
    if let Ok(state) = state {
        let new = built.map_or_else(|_| HashedTable::default(), |(_, index)| HashedTable { index, table });
        let old = std::mem::replace(&mut *state.hash.lock(), new);
        state.rehashed.fetch_add(1, Ordering::Release);
        drop(old);
    }
    let name = ext.name();
    let name = Bytes(name.as_ref().map_or(b"", CText::bytes));
    if failed {
        // A table that was too large has a first entry.
        let pmid = table.entry(0).map_or(MetricId::NULL, Metric::pmid);
        log::notify!(
            Level::Warning,
            "pmdaRehash: PMDA {name}: Hashed mapping for metrics disabled @ metric[0] {pmid}"
        );
    } else if log::debug(Debug::Libpmda) {
        log::debug_line!("pmdaRehash: PMDA {name}: successful rebuild");
    }
}
