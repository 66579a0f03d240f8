//! The tables of an agent: metrics, instance domains, and the instances of a domain.
//!
//! A table is seen as it was at one moment: its address and its length. Agents exchange, move and
//! rewrite their tables in callbacks, so a view is made anew after each call into C.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

use crate::sys::lock::{Mutex, const_mutex, room};
use crate::view::arg::{CText, Out};
use crate::view::array::Array;
use crate::view::block::{CVec, Zeroed};
use crate::view::declare::view;
use crate::view::types::{pmDesc, pmdaIndom, pmdaInstid, pmdaMetric};
use pmda_core::error::{Error, Result};
use pmda_core::ident::{InDom, MetricId};

/// The metrics of an agent.
pub(crate) type MetricTable = Array<pmdaMetric>;

/// The classic instance domains of an agent.
pub(crate) type IndomTable = Array<pmdaIndom>;

/// The instances of a classic instance domain.
pub(crate) type InstanceTable = Array<pmdaInstid>;

view! {
    /// One metric of an agent's table, or one that stands in for it during a fetch.
    Metric of pmdaMetric, contract "`pointer` is NULL or points to a metric."
    get {
        /// The description.
        desc: m_desc as pmDesc;
        /// The identifier in the description, as C has it.
        pmid_number: m_desc.pmid as u32;
        /// The type in the description.
        kind: m_desc.type_ as c_int;
        /// The instance domain in the description, as C has it.
        indom_number: m_desc.indom as u32;
    }
    set {
        /// Stores what is the agent's own.
        set_user: m_user as *mut c_void;
        /// Stores the description.
        set_desc: m_desc as pmDesc;
    }
}

impl Metric {
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

    /// The view of a metric in a frame of ours.
    ///
    /// # Safety
    /// `metric` stays where it is, and is used through the view alone, until the view was used for
    /// the last time.
    #[inline(always)]
    pub(crate) unsafe fn in_frame(metric: &mut pmdaMetric) -> Metric {
        Metric(ptr::NonNull::from(metric))
    }

    /// Where the description is, for a method that fills it in.
    #[inline(always)]
    pub(crate) fn desc_place(self) -> Out<pmDesc> {
        // SAFETY: the metric is valid for writes by the contract of `new`, and its description with
        // it.
        unsafe { Out::new(&raw mut (*self.as_ptr()).m_desc) }
    }

    /// Makes all of it zero: a metric of which nothing is known yet.
    pub(crate) fn clear(self) {
        self.set_user(ptr::null_mut());
        self.set_desc(pmDesc::zeroed());
    }
}

impl MetricTable {
    /// The identifier of an entry.
    ///
    /// # Panics
    /// When the place is not in the table.
    #[inline(always)]
    pub(crate) fn pmid(self, place: usize) -> MetricId {
        MetricId(self.entries()[place].m_desc.pmid)
    }

    /// A copy of an entry.
    ///
    /// # Panics
    /// When the place is not in the table.
    pub(crate) fn copy(self, place: usize) -> pmdaMetric {
        self.entries()[place]
    }

    /// An entry, if the place is in the table.
    #[inline(always)]
    pub(crate) fn entry(self, place: usize) -> Option<Metric> {
        // SAFETY: a place in the table, whose entries are valid by the contract of `new`.
        (place < self.len()).then(|| unsafe { Metric::new(self.first().add(place)) })?
    }
}

view! {
    /// One classic instance domain, or the node that stands for a cached one during a walk.
    Indom of pmdaIndom, contract "`pointer` is NULL or points to an instance domain with its instances."
    get {
        /// The number of instances as the agent gives it, negative for an error.
        numinst: it_numinst as c_int;
        /// The identifier as C has it.
        indom_number: it_indom as u32;
    }
    set {
        /// Stores the identifier.
        set_indom_number: it_indom as u32;
    }
    arrays {
        /// The instances at this moment.
        instances: it_set[it_numinst] as InstanceTable;
    }
}

impl Indom {
    /// The identifier.
    #[inline(always)]
    pub(crate) fn indom(self) -> InDom {
        InDom(self.indom_number())
    }
}

/// What `e_idp` points to while a cached domain is walked: it holds the domain's number and nothing
/// else (INST-30).
///
/// It is written by `stamp`, one plain number, and read by whoever walks over the same `pmdaExt`.
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
    /// A node for no domain yet.
    pub(crate) const fn new() -> IndomNode {
        IndomNode {
            indom: AtomicU32::new(0),
            count: AtomicI32::new(0),
            instances: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Makes the node one for a domain.
    #[inline(always)]
    pub(crate) fn stamp(&self, indom: InDom) {
        self.indom.store(indom.0, Ordering::Relaxed);
    }

    /// The node as C sees it.
    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *mut pmdaIndom {
        ptr::from_ref(self).cast_mut().cast()
    }
}

impl IndomTable {
    /// The identifier of an entry.
    ///
    /// # Panics
    /// When the place is not in the table.
    #[inline(always)]
    pub(crate) fn indom(self, place: usize) -> InDom {
        InDom(self.entries()[place].it_indom)
    }

    /// An entry, if the place is in the table.
    pub(crate) fn entry(self, place: usize) -> Option<Indom> {
        // SAFETY: a place in the table, whose entries are valid by the contract of `new`.
        (place < self.len()).then(|| unsafe { Indom::new(self.first().add(place)) })?
    }
}

impl InstanceTable {
    /// The instances from a place on, good until control goes back to C: for loops over long
    /// tables.
    #[inline(always)]
    pub(crate) fn rest(&self, place: usize) -> &[pmdaInstid] {
        self.entries().get(place..).unwrap_or_default()
    }

    /// The identifier of the instance at a place, if there is one.
    #[inline(always)]
    pub(crate) fn inst_at(self, place: c_int) -> Option<c_int> {
        // As C has both, with a sign: one comparison less for each instance of a fetch.
        if place < 0 || place >= self.count() {
            return None;
        }
        Some(self.entries().get(place as usize)?.i_inst)
    }

    /// The identifier of an instance.
    ///
    /// # Panics
    /// When the place is not in the table.
    #[inline(always)]
    pub(crate) fn inst(self, place: usize) -> c_int {
        self.entries()[place].i_inst
    }

    /// The name of an instance.
    ///
    /// # Panics
    /// When the place is not in the table.
    #[inline(always)]
    pub(crate) fn name(self, place: usize) -> Option<CText> {
        // SAFETY: the name of a valid entry is NULL or a C string.
        unsafe { CText::new(self.entries()[place].i_name) }
    }
}

/// The addresses of metric tables that the library has made for agents and not freed yet. Most
/// agents have one: the first ones have no block of their own, which would be lost when an agent is
/// unloaded.
pub(crate) struct MadeTables(Mutex<Made, { room::DYNAMIC_TABLES }>);

struct Made {
    /// 0: none.
    first: [usize; 8],
    more: Vec<usize>,
}

impl MadeTables {
    /// None yet.
    pub(crate) const fn new() -> MadeTables {
        MadeTables(const_mutex(Made {
            first: [0; 8],
            more: Vec::new(),
        }))
    }

    /// Notes a table that an agent gets now, with at least `announced` entries: those that were not
    /// filled in are zero.
    ///
    /// # Errors
    /// `-ENOMEM`; the table is freed.
    pub(crate) fn hand_over(&self, table: CVec<pmdaMetric>, announced: usize) -> Result<MetricTable> {
        let mut tables = self.0.lock();
        let address = table.as_ptr().addr();
        if let Some(place) = tables.first.iter_mut().find(|place| **place == 0) {
            *place = address;
        } else {
            tables.more.try_reserve(1).map_err(|_| Error::NOMEM)?;
            tables.more.push(address);
        }
        let count = c_int::try_from(table.len().max(announced)).unwrap_or(c_int::MAX);
        // SAFETY: `count` entries, or less when more were announced: the block has room for those,
        // all zero.
        Ok(unsafe { MetricTable::new(table.into_raw(), count) })
    }

    /// Frees a table that was made here, once; any other is left alone.
    pub(crate) fn free(&self, table: MetricTable) {
        let mut tables = self.0.lock();
        let address = table.first().addr();
        if address == 0 {
            return;
        }
        let known = if let Some(place) = tables.first.iter_mut().find(|place| **place == address) {
            *place = 0;
            true
        } else {
            let place = tables.more.iter().position(|more| *more == address);
            place.map(|place| tables.more.swap_remove(place)).is_some()
        };
        if known {
            // SAFETY: `hand_over` has noted this address of a block from malloc, and it is
            // forgotten now, so it is freed once. The caller has taken the table out of use.
            unsafe { libc::free(table.first().cast()) };
        }
    }
}
