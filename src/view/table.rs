//! The tables of an agent: metrics, instance domains, the instances of a domain; and the profile,
//! which says which instances are selected.
//!
//! A view of a table is its address and length at one moment. Agents exchange, move and rewrite
//! their tables in callbacks, so a view is made anew after each call into C.

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

use crate::sys::slice;
use crate::view::arg::{CText, Out, view};
use crate::view::memory::{AnyBytes, Array, CVec, Lasting};
use crate::view::types::{pmDesc, pmInDomProfile, pmProfile, pmdaIndom, pmdaInstid, pmdaMetric};
use pmda_core::error::{Error, Result};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::profile::Element;

/// The metrics of an agent.
pub type MetricTable<'call> = Array<'call, pmdaMetric>;

/// The classic instance domains of an agent.
pub type IndomTable<'call> = Array<'call, pmdaIndom>;

/// The instances of a classic instance domain.
pub type InstanceTable<'call> = Array<'call, pmdaInstid>;

view! {
    /// One metric of an agent's table; or one in our frame that stands for a metric that a fetch
    /// finds in no table.
    Metric of pmdaMetric, contract "`pointer` is NULL or points to a metric."
    fields {
        /// The description.
        desc: m_desc as pmDesc;
        /// The identifier in the description, as C has it.
        pmid_number: m_desc.pmid as u32;
        /// The type in the description.
        kind: m_desc.type_ as c_int;
        /// The instance domain in the description, as C has it.
        indom_number: m_desc.indom as u32;
    }
}

impl<'call> Metric<'call> {
    /// The identifier in the description.
    #[inline(always)]
    pub(crate) fn pmid(self) -> MetricId {
        MetricId(self.pmid_number())
    }

    /// The instance domain in the description.
    #[inline(always)]
    pub(crate) fn indom(self) -> InDom {
        InDom(self.indom_number())
    }

    /// The view of a metric in our frame, which is used through the view alone during `'call`.
    #[inline(always)]
    pub(crate) fn in_frame(metric: &'call mut pmdaMetric) -> Metric<'call> {
        Metric(ptr::NonNull::from(metric), PhantomData)
    }

    /// The description as an argument, for a method that fills it in.
    #[inline(always)]
    pub(crate) fn desc_out(self) -> Out<'call, pmDesc> {
        // SAFETY: the metric is valid for writes by the contract of `new`, and its description is a
        // part of it.
        unsafe { Out::new(&raw mut (*self.as_ptr()).m_desc) }
    }

    /// Makes the metric zero: nothing is known of it yet.
    pub(crate) fn clear(self) {
        // SAFETY: the metric is valid for writes by the contract of `new`, and zero is a value of
        // each field.
        unsafe { self.as_ptr().write(pmdaMetric::zeroed()) };
    }
}

impl<'call> MetricTable<'call> {
    /// The identifier of an entry.
    ///
    /// # Panics
    /// When the index is not in the table.
    #[inline(always)]
    pub(crate) fn pmid(self, index: usize) -> MetricId {
        MetricId(self.at(index).m_desc.pmid)
    }

    /// The entry whose index is the item of the metric, in a table that is in that order
    /// (`e_direct`). Only the cluster is compared (FETCH-20, F-13).
    #[inline(always)]
    pub(crate) fn direct(self, wanted: MetricId) -> Option<Metric<'call>> {
        let metric = self.entry(wanted.item() as usize)?;
        (metric.pmid().cluster() == wanted.cluster()).then_some(metric)
    }

    /// The first entry with this identifier, searched for from the start.
    #[inline(always)]
    pub(crate) fn find(self, wanted: MetricId) -> Option<Metric<'call>> {
        self.entry(self.entries().position(|entry| entry.m_desc.pmid == wanted.0)?)
    }

    /// The entry at an index, or `None` behind the end.
    #[inline(always)]
    pub(crate) fn entry(self, index: usize) -> Option<Metric<'call>> {
        // SAFETY: the index is in the table, whose entries are valid for `'call` by the contract of
        // `Array::new`.
        (index < self.len()).then(|| unsafe { Metric::new(self.first().add(index)) })?
    }
}

view! {
    /// One classic instance domain of an agent's table; or our node that stands for a cached domain
    /// during a walk.
    Indom of pmdaIndom, contract "`pointer` is NULL or points to an instance domain with its instances."
    fields {
        /// The number of instances as the agent gives it, negative for an error.
        numinst: it_numinst as c_int;
        /// The identifier as C has it.
        indom_number: it_indom as u32;
    }
    arrays {
        /// The instances at this moment.
        instances: it_set[it_numinst] as InstanceTable;
    }
}

impl Indom<'_> {
    /// The identifier.
    #[inline(always)]
    pub(crate) fn indom(self) -> InDom {
        InDom(self.indom_number())
    }
}

/// The node that `e_idp` points to while a cached domain is walked. It has the layout of a
/// `pmdaIndom`, with the domain's number and no instances (INST-30).
///
/// `stamp` writes the number, and walks over the same `pmdaExt` read it. The fields are atomic
/// since a node is shared: two threads may walk at a time.
#[repr(C)]
pub(crate) struct IndomNode {
    indom: AtomicU32,
    count: AtomicI32,
    instances: AtomicPtr<pmdaInstid>,
}

const _: () = {
    assert!(size_of::<IndomNode>() == size_of::<pmdaIndom>() && align_of::<IndomNode>() == align_of::<pmdaIndom>());
    assert!(offset_of!(IndomNode, count) == offset_of!(pmdaIndom, it_numinst));
    assert!(offset_of!(IndomNode, instances) == offset_of!(pmdaIndom, it_set));
};

impl IndomNode {
    /// A node that stands for no domain yet.
    pub(crate) const fn new() -> IndomNode {
        IndomNode {
            indom: AtomicU32::new(0),
            count: AtomicI32::new(0),
            instances: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Makes the node stand for a domain.
    #[inline(always)]
    pub(crate) fn stamp(&self, indom: InDom) {
        self.indom.store(indom.0, Ordering::Relaxed);
    }

    /// The node in the form that `e_idp` leads to.
    #[inline(always)]
    pub(crate) fn view(&'static self) -> Indom<'static> {
        // The node fulfils the contract of `Indom::new`: its layout is that of the structure, as is
        // asserted above; it is static, and has no instances.
        Indom(ptr::NonNull::from(self).cast(), PhantomData)
    }

    /// Returns whether a view leads to this node.
    #[inline(always)]
    pub(crate) fn is(&self, view: Indom<'_>) -> bool {
        ptr::eq(view.as_ptr().cast(), self)
    }
}

impl<'call> IndomTable<'call> {
    /// The identifier of an entry.
    ///
    /// # Panics
    /// When the index is not in the table.
    #[inline(always)]
    pub(crate) fn indom(self, index: usize) -> InDom {
        InDom(self.at(index).it_indom)
    }

    /// The entry at an index, or `None` behind the end.
    pub(crate) fn entry(self, index: usize) -> Option<Indom<'call>> {
        // SAFETY: the index is in the table, whose entries are valid for `'call` by the contract of
        // `Array::new`.
        (index < self.len()).then(|| unsafe { Indom::new(self.first().add(index)) })?
    }
}

impl<'call> InstanceTable<'call> {
    /// The identifier of the instance at an index, or `None` outside of the table.
    #[inline(always)]
    pub(crate) fn inst_at(self, index: c_int) -> Option<c_int> {
        // Both have a sign, as in C: that saves a comparison for each instance of a fetch.
        if index < 0 || index >= self.count() {
            return None;
        }
        Some(self.get(index as usize)?.i_inst)
    }

    /// The identifier of an instance.
    ///
    /// # Panics
    /// When the index is not in the table.
    #[inline(always)]
    pub(crate) fn inst(self, index: usize) -> c_int {
        self.at(index).i_inst
    }

    /// The name of an instance; `None` for NULL.
    ///
    /// # Panics
    /// When the index is not in the table.
    #[inline(always)]
    pub(crate) fn name(self, index: usize) -> Option<CText<'call>> {
        // SAFETY: entries are valid by the contract of `Array::new`: the name of one is NULL or a C
        // string.
        unsafe { CText::new(self.at(index).i_name) }
    }

    /// The bytes of the name of an instance; none where it is NULL. They are valid until control
    /// goes back to C.
    ///
    /// # Panics
    /// When the index is not in the table.
    #[inline(always)]
    pub(crate) fn name_bytes(&self, index: usize) -> &[u8] {
        let name = self.at(index).i_name;
        if name.is_null() {
            return &[];
        }
        // SAFETY: not NULL, so a C string, as in `name`. C changes it only while it runs, and it
        // does not while the bytes are borrowed.
        unsafe { CStr::from_ptr(name) }.to_bytes()
    }
}

/// `PM_PROFILE_INCLUDE`; any other number means exclude (INST-51).
const INCLUDE: c_int = 0;

view! {
    /// The profile that an agent has received last. Agents may exchange it at any time.
    Profile of pmProfile, contract
    "`pointer` is NULL, or a profile with the number of elements that it tells, and their lists, which are aligned for \
     their numbers: they come from the library's decoder or libpcp's, in blocks from malloc."
    fields {
        /// The state of domains without an element.
        state: state as c_int;
        /// The number of elements.
        count: profile_len as c_int;
    }
    arrays {
        /// The elements at this moment.
        elements: profile[profile_len] as Elements;
    }
}

/// The elements of a profile: one for each domain with a list.
type Elements<'call> = Array<'call, pmInDomProfile>;

/// A copy of a profile's element for one domain. Its list of instances is not copied.
#[derive(Clone, Copy)]
pub(crate) struct ProfileElement<'call> {
    element: pmInDomProfile,
    /// The key of its list.
    pub(crate) key: ListKey,
    call: PhantomData<&'call c_int>,
}

/// The key of an element's list: its address and length. The library finds a compiled form of the
/// list by this key. An equal address and length do not prove an equal list, because the memory may
/// have been freed and reused. So when that may have happened, the agent's counter `forgotten`
/// changes, and all older keys differ from new keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListKey {
    profile: usize,
    indom: u32,
    state: c_int,
    list: usize,
    len: c_int,
    /// `AgentRecord::forgotten` when the key was made.
    forgotten: u32,
}

impl<'call> Profile<'call> {
    /// The element for a domain: the first one, if the profile has several.
    pub(crate) fn element(self, indom: InDom, forgotten: u32) -> Option<ProfileElement<'call>> {
        let element = self.elements().entries().find(|element| element.indom == indom.0)?;
        Some(ProfileElement {
            element,
            key: ListKey {
                profile: self.as_ptr().addr(),
                indom: element.indom,
                state: element.state,
                list: element.instances.addr(),
                len: element.instances_len,
                forgotten,
            },
            call: PhantomData,
        })
    }

    /// Returns whether domains without an element are selected.
    #[inline(always)]
    pub(crate) fn includes(self) -> bool {
        self.state() == INCLUDE
    }

    /// Returns whether all instances of all domains are selected.
    #[inline(always)]
    pub(crate) fn selects_all(self) -> bool {
        self.count() <= 0 && self.includes()
    }
}

impl ProfileElement<'_> {
    /// Returns whether the element lists instances.
    pub(crate) fn has_list(self) -> bool {
        self.element.instances_len > 0 && !self.element.instances.is_null()
    }

    /// Returns whether instances are selected that are not listed.
    pub(crate) fn includes(self) -> bool {
        self.element.state == INCLUDE
    }

    /// The largest number of instances that the element can select.
    pub(crate) fn most(self) -> c_int {
        if self.includes() {
            c_int::MAX
        } else {
            self.element.instances_len
        }
    }

    /// The element in the form that the core takes. The list is valid until control goes back to C.
    pub(crate) fn element(&self) -> Element<'_> {
        Element {
            include: self.includes(),
            // SAFETY: the lists of the profile that this was copied from are valid and aligned by
            // the contract of `Profile::new`. C changes them only while it runs: after a call into C
            // the element is copied anew, so none is in use across one.
            exceptions: unsafe { slice(self.element.instances, self.element.instances_len) },
        }
    }
}

/// A metric table that the library has made for an agent, and has not freed yet. There is one such
/// value for each, which cannot be copied. It does not free the table when it is dropped: the agent
/// uses the table by its address.
///
/// ```
/// # use pcp_pmda::view::table::MadeTable;
/// fn freed(table: MadeTable) {
///     // SAFETY: nobody uses it.
///     unsafe { table.free() };
/// }
/// ```
///
/// ```compile_fail,E0133
/// # use pcp_pmda::view::table::MadeTable;
/// fn freed_in_a_safe_module(table: MadeTable) {
///     table.free();
/// }
/// ```
///
/// ```compile_fail,E0382
/// # use pcp_pmda::view::table::MadeTable;
/// fn freed_and_used(table: MadeTable) -> MadeTable {
///     // SAFETY: nobody uses it.
///     unsafe { table.free() };
///     table
/// }
/// ```
#[derive(Debug)]
pub struct MadeTable(ptr::NonNull<pmdaMetric>);

// SAFETY: the address of a block from malloc, which any thread may free.
unsafe impl Send for MadeTable {}

impl MadeTable {
    /// Frees the table.
    ///
    /// # Safety
    /// No agent uses the table any more, and nobody has a view of it.
    pub unsafe fn free(self) {
        // SAFETY: `hand_over` has made this value of a block from malloc. The value is consumed, so
        // the block is freed once; nobody uses it any more, as the caller promises.
        unsafe { libc::free(self.0.as_ptr().cast()) };
    }
}

/// The metric tables that the library has made for agents and not freed yet.
pub(crate) struct MadeTables(Vec<MadeTable>);

impl MadeTables {
    /// No tables.
    pub(crate) const fn new() -> MadeTables {
        MadeTables(Vec::new())
    }

    /// Notes a table that is handed over to an agent.
    ///
    /// # Errors
    /// `-ENOMEM`; the table is freed.
    pub(crate) fn hand_over(&mut self, table: CVec<pmdaMetric>) -> Result<Lasting<pmdaMetric>> {
        let count = c_int::try_from(table.len()).map_err(|_| Error::ENOMEM)?;
        self.0.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        let first = table.into_raw();
        self.0.extend(ptr::NonNull::new(first).map(MadeTable));
        // SAFETY: `count` entries were written. They stay until `MadeTable::free`, whose caller
        // makes sure that no agent uses the table any more.
        Ok(unsafe { Lasting::new(first, count) })
    }

    /// Takes out a table that was made here, for its free; `None` for any other table.
    pub(crate) fn take(&mut self, table: MetricTable<'_>) -> Option<MadeTable> {
        let position = self.0.iter().position(|made| ptr::eq(made.0.as_ptr(), table.first()))?;
        Some(self.0.swap_remove(position))
    }
}

#[cfg(test)]
mod tests {
    use super::{MadeTables, MetricTable};
    use crate::view::memory::{AnyBytes, Array, CVec, Lasting};
    use crate::view::types::pmdaMetric;
    use pmda_core::ident::MetricId;

    /// A direct lookup ignores the domain, and the item of the entry that it finds (F-13).
    #[test]
    fn direct_compares_the_cluster_alone() {
        let mut table = CVec::with_capacity(2).expect("memory");
        for pmid in [0x3e80_0400, 0x3e80_0409] {
            let mut metric = pmdaMetric::zeroed();
            metric.m_desc.pmid = pmid;
            table.push(metric).expect("memory");
        }
        // SAFETY: two metrics, which stay until the end of the test.
        let view: MetricTable<'_> = unsafe { Array::new(table.as_ptr(), 2) };
        let find = |pmid| view.direct(MetricId(pmid)).map(|metric| metric.pmid().0);
        assert_eq!(find(0x00c0_0401), Some(0x3e80_0409));
        assert_eq!(find(0x3e80_0801), None);
        assert_eq!(find(0x3e80_0402), None);
    }

    /// A table has as many entries as were written, also where more were announced than it has room
    /// for (N-6).
    #[test]
    fn made_tables_have_what_they_say() {
        let mut tables = MadeTables::new();
        let mut metric = pmdaMetric::zeroed();
        metric.m_desc.pmid = 7;
        let mut metrics = CVec::with_capacity(1).expect("memory");
        metrics.push(metric).expect("memory");
        for _ in 1..1000 {
            metrics.push(pmdaMetric::zeroed()).expect("memory");
        }
        let made: Lasting<pmdaMetric> = tables.hand_over(metrics).expect("memory");
        let metrics: MetricTable<'_> = made.view();
        assert_eq!((metrics.len(), metrics.pmid(0)), (1000, MetricId(7)));
        assert!((1..1000).all(|index| metrics.pmid(index) == MetricId(0)));
        let made = tables.take(metrics).expect("it was made here");
        assert!(tables.take(metrics).is_none(), "it was taken out");
        // SAFETY: nobody uses it any more.
        unsafe { made.free() };
    }
}
