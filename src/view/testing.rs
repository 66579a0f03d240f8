//! For unit tests: the structures of an agent, which live for ever, and what C reads of the results
//! of a call.

use std::ffi::c_int;
use std::ptr;

use crate::sys::slice;
use crate::view::arg::Out;
use crate::view::interface::{Dispatch, Ext, pmdaInterface};
use crate::view::label_set::{LabelSet, LabelSets};
use crate::view::memory::{AnyBytes, Array, Lasting};
use crate::view::table::Metric;
use crate::view::types::{pmAtomValue, pmID, pmLabelSet, pmdaExt, pmdaIndom, pmdaInstid, pmdaMetric, pmdaResult};
use crate::view::value::Atom;
use pmda_core::fetch::Encoding;

/// A dispatch table and an extension that are zero but for the agent's domain.
pub(crate) fn agent(domain: c_int) -> (Dispatch<'static>, Ext<'static>) {
    // SAFETY: numbers, pointers and functions that may be NULL: zero is a value of each.
    let (table, extension) = unsafe { (std::mem::zeroed::<pmdaInterface>(), std::mem::zeroed::<pmdaExt>()) };
    let (table, extension) = (Box::leak(Box::new(table)), Box::leak(Box::new(extension)));
    (table.domain, extension.e_domain, extension.e_help) = (domain, domain, -1);
    table.ext = extension;
    // SAFETY: the structures are never freed, and have no table, name, profile or callback.
    let views = unsafe { (Dispatch::new(table), Ext::new(extension)) };
    views.0.zip(views.1).expect("addresses")
}

/// A table of an agent.
pub(crate) fn table<T: Copy>(entries: Vec<T>) -> Lasting<T> {
    let entries = Vec::leak(entries);
    // SAFETY: the elements are never freed, and are reached through views alone.
    unsafe { Lasting::new(entries.as_mut_ptr(), entries.len() as c_int) }
}

/// A list of metrics, as a caller hands it over.
pub(crate) fn list(pmids: &[pmID]) -> Array<'static, pmID> {
    let pmids = Vec::leak(pmids.to_vec());
    // SAFETY: as in `table`.
    unsafe { Array::new(pmids.as_mut_ptr(), pmids.len() as c_int) }
}

/// A metric.
pub(crate) fn metric(pmid: u32, kind: c_int, indom: u32) -> pmdaMetric {
    let mut metric = pmdaMetric::zeroed();
    (metric.m_desc.pmid, metric.m_desc.type_, metric.m_desc.indom) = (pmid, kind, indom);
    metric
}

/// The metric in a frame for metrics that are in no table.
pub(crate) fn spare() -> Metric<'static> {
    Metric::in_frame(Box::leak(Box::new(pmdaMetric::zeroed())))
}

/// An instance domain with instances of these numbers.
pub(crate) fn indom(indom: u32, instances: &[c_int]) -> pmdaIndom {
    let name = c"an instance".as_ptr().cast_mut();
    let instances = instances.iter().map(|inst| pmdaInstid {
        i_inst: *inst,
        i_name: name,
    });
    let instances = Vec::leak(instances.collect());
    pmdaIndom {
        it_indom: indom,
        it_numinst: instances.len() as c_int,
        it_set: instances.as_mut_ptr(),
    }
}

/// A value of 32 bits, as a callback stores it, with the callback's return value.
pub(crate) fn number(value: u32, returned: c_int) -> Atom {
    let mut atom = pmAtomValue::zeroed();
    atom.ul = value;
    // SAFETY: the atom was zero. It has a number, which leads to nothing.
    unsafe { Atom::new(atom, Encoding::InSitu, returned) }
}

/// A text as a callback stores it in a block from malloc, or NULL, with the callback's return
/// value.
pub(crate) fn text(text: Option<&std::ffi::CStr>, returned: c_int) -> Atom {
    let mut atom = pmAtomValue::zeroed();
    // SAFETY: `strdup` reads a C string.
    atom.cp = text.map_or(ptr::null_mut(), |text| unsafe { libc::strdup(text.as_ptr()) });
    // SAFETY: the atom was zero. It has NULL or a C string from malloc, which nobody else uses.
    unsafe { Atom::new(atom, Encoding::Text, returned) }
}

/// The argument for the result of a fetch, with NULL in it.
pub(crate) fn result_out() -> Out<'static, *mut pmdaResult> {
    Out::to(Box::leak(Box::new(ptr::null_mut())))
}

/// A value set as C reads it: the metric, and the instances with their words; or the error.
type ValueSet = (u32, Result<Vec<(c_int, u32)>, c_int>);

/// The value sets of a result of metrics with 32 bits; `None` if none was stored.
pub(crate) fn value_sets(out: Out<'static, *mut pmdaResult>) -> Option<Vec<ValueSet>> {
    // SAFETY: `out` is from `result_out`; a result in it has as many value sets, with as many
    // values, as it says.
    unsafe {
        let result = out.as_ptr().read().as_ref()?;
        let sets = slice(
            (&raw const result.vset).cast::<*mut crate::view::types::pmValueSet>(),
            result.numpmid,
        );
        let set = |set: &*mut crate::view::types::pmValueSet| {
            let set = &**set;
            let values = slice((&raw const set.vlist).cast::<crate::view::types::pmValue>(), set.numval);
            let values = values.iter().map(|value| (value.inst, value.value.lval as u32));
            let values = if set.numval < 0 {
                Err(set.numval)
            } else {
                Ok(values.collect())
            };
            (set.pmid, values)
        };
        Some(sets.iter().map(set).collect())
    }
}

/// A pointer to label sets, which is NULL.
pub(crate) fn null_label_sets() -> &'static mut *mut pmLabelSet {
    Box::leak(Box::new(ptr::null_mut()))
}

/// The view of such a pointer.
pub(crate) fn label_sets(sets: &mut *mut pmLabelSet) -> LabelSets<'static> {
    // SAFETY: a pointer of `null_label_sets`, which is never freed: NULL, or sets that the library
    // has stored.
    unsafe { LabelSets::new(sets) }.expect("an address")
}

/// The instances of `count` label sets, and the labels of each: a number, or an error.
pub(crate) fn labels(sets: &*mut pmLabelSet, count: c_int) -> Vec<(u32, c_int)> {
    // SAFETY: the library has stored as many sets, as the test says.
    let sets = unsafe { slice(sets.cast::<LabelSet>(), count) };
    sets.iter().map(|set| (set.inst(), set.count())).collect()
}
