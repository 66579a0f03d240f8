//! The tables of an agent: the lookup of instance domains, and the hash of `pmdaRehash`.

use crate::agent::{self, HashedTable};
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::view::arg::Shown;
use crate::view::interface::Ext;
use crate::view::memory::Lasting;
use crate::view::table::{Indom, IndomTable, Metric};
use crate::view::types::pmdaMetric;
use pmda_core::constants::PMDA_EXT_FLAG_HASHED;
use pmda_core::ident::{InDom, MetricId};
use pmda_core::log::Level;
use pmda_core::table_index::Hashed;

/// The first element of `e_indoms` for an instance domain.
pub(crate) fn find_indom<'call>(token: &mut Token, ext: Ext<'call>, indom: InDom) -> Option<Indom<'call>> {
    let indoms = ext.indoms();
    match indoms.entries().first() {
        Some(first) if first.get().it_indom == indom.0 => indoms.entry(0),
        _ => indoms.entry(position_of_indom(token, ext, indoms, indom)?),
    }
}

/// The position of an instance domain in a table: by a search in a short one, by the agent's index
/// in others.
#[inline(never)]
fn position_of_indom(token: &mut Token, ext: Ext<'_>, indoms: IndomTable<'_>, indom: InDom) -> Option<usize> {
    let is_it = |position| indoms.indom(position) == indom;
    if indoms.is_short() {
        return (0..indoms.len()).find(|position| is_it(*position));
    }
    let index = agent::of_any(token, ext).ok()?.indoms.lock(token);
    index.find(indoms.extent(), indom.0.into(), is_it, |position, add| {
        add(indoms.indom(position).0.into());
    })
}

/// The body of `pmdaRehash`: builds the hash over a metric table, which the agent uses from now on.
/// `pmdaInit` and dynamic metrics use it as well (INIT-44, INIT-46). If there is no memory, the
/// table is searched, and the log says so.
pub(crate) fn rehash(token: &mut Token, ext: Ext<'_>, lasting: Lasting<pmdaMetric>) {
    let table = lasting.seen();
    let built = agent::of_any(token, ext).and_then(|agent| {
        let before = agent.hash.lock(token).index.entered();
        let pmids = (0..table.len()).map(|position| table.pmid(position));
        let built = Hashed::build(pmids, before);
        let (new, outcome) = match built {
            Ok(index) => (HashedTable { index, table: lasting }, Ok(())),
            Err(error) => (HashedTable::default(), Err(error)),
        };
        let old = std::mem::replace(&mut *agent.hash.lock(token), new);
        drop(old);
        outcome
    });
    ext.set_direct(0);
    ext.set_metrics(lasting);
    if built.is_ok() {
        ext.add_flags(PMDA_EXT_FLAG_HASHED);
    } else {
        ext.clear_flags(PMDA_EXT_FLAG_HASHED);
    }
    let name = Shown(ext.name());
    if built.is_err() {
        // Only a table with entries fails, so there is a first one.
        let pmid = table.entry(0).map_or(MetricId::NULL, Metric::pmid);
        log::notify!(
            token,
            Level::Warning,
            "pmdaRehash: PMDA {name}: Hashed mapping for metrics disabled @ metric[0] {pmid}"
        );
    } else if log::debug(Debug::Libpmda) {
        log::debug_line!(token, "pmdaRehash: PMDA {name}: successful rebuild");
    }
}
