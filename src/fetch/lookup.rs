//! The tables of an agent: the lookup of metrics and of instance domains, and the hash of
//! `pmdaRehash`.

use crate::record;
use crate::record::state::{FetchState, HashedTable};
use crate::sys::libpcp::log::{self, Debug};
use crate::view::agent::{Ext, ExtFlags};
use crate::view::arg::CText;
use crate::view::memory::Lasting;
use crate::view::table::{Indom, IndomTable, Metric, MetricTable};
use crate::view::types::pmdaMetric;
use pmda_core::ident::{InDom, MetricId};
use pmda_core::log::{Bytes, Level};
use pmda_core::metrics::{self, Hashed, Method};

/// What a lookup depends on, read from the public fields of a `pmdaExt` at one moment.
#[derive(Clone, Copy)]
struct View<'call> {
    hashed: bool,
    direct: bool,
    table: MetricTable<'call>,
}

impl<'call> View<'call> {
    #[inline(always)]
    fn of(ext: Ext<'call>) -> View<'call> {
        View {
            hashed: ext.has(ExtFlags::HASHED),
            direct: ext.direct() != 0,
            table: ext.metrics(),
        }
    }

    /// The entry that the item of a metric tells.
    #[inline(always)]
    fn direct(self, wanted: MetricId) -> Option<Metric<'call>> {
        let place = metrics::direct(wanted, self.table.extent(), |place| self.table.pmid(place));
        self.table.entry(place?)
    }

    /// The first entry that has the identifier.
    fn search(self, state: &FetchState, wanted: MetricId) -> Option<Metric<'call>> {
        if self.table.extent().is_short() {
            return self.table.find(wanted);
        }
        let pmid_at = |place| self.table.pmid(place);
        let is_it = |place| pmid_at(place) == wanted;
        let mut places = state.metrics.lock();
        let place = places.find(self.table.extent(), wanted.0.into(), is_it, |place, add| {
            add(pmid_at(place).0.into());
        });
        self.table.entry(place?)
    }
}

/// Looks a metric up in the table that an agent has at this moment (FETCH-20); also gives how.
pub(crate) fn find<'call>(state: &FetchState, ext: Ext<'call>, wanted: MetricId) -> (Option<Metric<'call>>, Method) {
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
        _ => view.search(state, wanted),
    };
    (metric, method)
}

/// [`find`] for a fetch, which does not ask how: a direct table and a short one are looked at in
/// place.
#[inline(always)]
pub(crate) fn metric<'call>(state: &FetchState, ext: Ext<'call>, wanted: MetricId) -> Option<Metric<'call>> {
    if !ext.has(ExtFlags::HASHED) {
        let view = View::of(ext);
        if view.direct {
            return view.direct(wanted);
        }
        if view.table.extent().is_short() {
            return view.table.find(wanted);
        }
    }
    indirect(state, ext, wanted)
}

/// [`metric`] in a table that is hashed, or long and searched. The hash answers first, as in
/// [`find`], which looks at the whole table before that to say how.
#[inline(never)]
fn indirect<'call>(state: &FetchState, ext: Ext<'call>, wanted: MetricId) -> Option<Metric<'call>> {
    if !ext.has(ExtFlags::HASHED) {
        return View::of(ext).search(state, wanted);
    }
    let hash = state.hash.lock();
    if !hash.index.is_empty() {
        return hash.find(wanted);
    }
    drop(hash);
    find(state, ext, wanted).0
}

/// The first element of `e_indoms` for an instance domain.
pub(crate) fn find_indom(ext: Ext<'_>, indom: InDom) -> Option<Indom<'_>> {
    let indoms = ext.indoms();
    match indoms.entries().first() {
        Some(first) if first.get().it_indom == indom.0 => indoms.entry(0),
        _ => indoms.entry(place_of_indom(ext, indoms, indom)?),
    }
}

/// The place of a domain in a table.
#[inline(never)]
fn place_of_indom(ext: Ext<'_>, indoms: IndomTable<'_>, indom: InDom) -> Option<usize> {
    let is_it = |place| indoms.indom(place) == indom;
    if indoms.extent().is_short() {
        return (0..indoms.len()).find(|place| is_it(*place));
    }
    let mut places = record::fetch_state(ext).ok()?.indoms.lock();
    places.find(indoms.extent(), indom.0.into(), is_it, |place, add| {
        add(indoms.indom(place).0.into());
    })
}

/// The body of `pmdaRehash`; `pmdaInit` and the dynamic metrics call it as well (INIT-44, INIT-46).
pub(crate) fn rehash(ext: Ext<'_>, lasting: Lasting<pmdaMetric>) {
    let table = lasting.seen();
    let state = record::fetch_state(ext);
    let before = state.as_ref().map_or(0, |state| state.hash.lock().index.entered());
    let pmids = (0..table.len()).map(|place| table.pmid(place));
    let built = Hashed::build(table.extent().address, pmids, before);
    let built = state.and_then(|state| Ok((state, built?)));
    ext.set_direct(0);
    ext.set_metrics(lasting);
    if built.is_ok() {
        ext.add_flags(ExtFlags::HASHED);
    } else {
        ext.clear_flags(ExtFlags::HASHED);
    }
    let failed = built.is_err();
    if let Ok(state) = state {
        let new = built.map_or_else(
            |_| HashedTable::default(),
            |(_, index)| HashedTable { index, table: lasting },
        );
        let old = std::mem::replace(&mut *state.hash.lock(), new);
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
