//! The tables of an agent: metrics, instance domains, and the instances of a domain.
//!
//! A table is seen as it was at one moment: its address and its length. Agents exchange, move and
//! rewrite their tables in callbacks, so a view is made anew after each call into C.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::ptr;

use super::arg::{CText, Out};
use super::block::CVec;
use super::types::{pmDesc, pmdaIndom, pmdaInstid, pmdaMetric};
use super::view::view;
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};
use crate::metrics::Table;
use crate::os::lock::{Mutex, const_mutex, room};

/// Declares the view of a C array.
macro_rules! table {
    ($(#[$doc:meta])* $name:ident of $entry:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) struct $name {
            first: *mut $entry,
            count: c_int,
        }

        // SAFETY: an address and a number. Which thread may follow the address is C's affair: it is the one
        // that C has called us on, as `new` demands that the table is valid whenever the view is used.
        unsafe impl Send for $name {}
        // SAFETY: as for Send: it has no state that two threads could change.
        unsafe impl Sync for $name {}

        impl $name {
            /// No table.
            #[allow(dead_code)]
            pub(crate) const EMPTY: $name = $name { first: std::ptr::null_mut(), count: 0 };

            /// The view of `count` entries from `first` on; empty for NULL and for a negative count.
            ///
            /// # Safety
            /// `first` is NULL or points to that many valid entries, until the view was used for the last time.
            #[inline(always)]
            pub(crate) const unsafe fn new(first: *mut $entry, count: c_int) -> $name {
                $name { first, count }
            }

            /// The first entry as C sees it, or NULL.
            #[inline(always)]
            pub(crate) const fn first(self) -> *mut $entry {
                self.first
            }

            /// The number of entries.
            #[inline(always)]
            pub(crate) const fn len(self) -> usize {
                if self.first.is_null() || self.count < 0 {
                    return 0;
                }
                self.count as usize
            }

            /// The number of entries as C has given it.
            pub(crate) const fn count(self) -> c_int {
                self.count
            }

            /// The table as an index knows it.
            #[inline(always)]
            pub(crate) fn extent(self) -> Table {
                Table { address: self.first.addr(), len: self.len() }
            }

            /// Works on all entries at once. Nothing of C runs meanwhile: this is for safe code, which calls no C.
            #[inline(always)]
            pub(crate) fn with_entries<R>(self, work: impl FnOnce(&mut [$entry]) -> R) -> R {
                if self.len() == 0 {
                    return work(&mut []);
                }
                // SAFETY: not empty, hence not NULL, and so many valid entries by the contract of `new`. C lets us write
                // them, and looks at them again when we return to it; the reference ends before.
                work(unsafe { std::slice::from_raw_parts_mut(self.first, self.len()) })
            }

            /// The address of an entry that is in the table.
            #[inline(always)]
            fn at(self, place: usize) -> *mut $entry {
                assert!(place < self.len(), "place {place} of {}", self.len());
                // SAFETY: the place is in the table, which is valid by the contract of `new`.
                unsafe { self.first.add(place) }
            }
        }
    };
}

pub(super) use table;

/// Reads one field behind the address of an entry, or of what a view points to.
macro_rules! field {
    ($address:expr, $($field:tt)+) => {
        // SAFETY: views and `at` give addresses of valid structures, by the contracts of their constructors. One plain
        // field is copied, and no reference to it is made, so that it does not matter who else has a pointer to it.
        unsafe { (&raw const (*$address).$($field)+).read() }
    };
}

table! {
    /// The metrics of an agent.
    MetricTable of pmdaMetric
}

table! {
    /// The classic instance domains of an agent.
    IndomTable of pmdaIndom
}

table! {
    /// The instances of a classic instance domain.
    InstanceTable of pmdaInstid
}

view! {
    /// One metric of an agent's table, or one that stands in for it during a fetch.
    Metric of pmdaMetric, contract "`pointer` is NULL or points to a metric."
    get {
        /// The description.
        desc: m_desc as pmDesc;
    }
}

impl Metric {
    /// The identifier in the description.
    #[inline(always)]
    pub(crate) fn pmid(self) -> MetricId {
        MetricId(field!(self.as_ptr(), m_desc.pmid))
    }

    /// The type in the description.
    #[inline(always)]
    pub(crate) fn kind(self) -> c_int {
        field!(self.as_ptr(), m_desc.type_)
    }

    /// The instance domain in the description.
    #[inline(always)]
    pub(crate) fn indom(self) -> InDom {
        InDom(field!(self.as_ptr(), m_desc.indom))
    }

    /// The view of a metric in a frame of ours.
    ///
    /// # Safety
    /// `metric` is the address of a metric that stays until the view was used for the last time.
    #[inline(always)]
    pub(crate) unsafe fn in_frame(metric: *mut pmdaMetric) -> Metric {
        // SAFETY: the address of a variable is not NULL.
        Metric(unsafe { ptr::NonNull::new_unchecked(metric) })
    }

    /// Where the description is, for a method that fills it in.
    #[inline(always)]
    pub(crate) fn desc_place(self) -> Out<pmDesc> {
        // SAFETY: the metric is valid for writes by the contract of `new`, and its description with it.
        unsafe { Out::new(&raw mut (*self.as_ptr()).m_desc) }
    }

    /// Makes all of it zero: a metric of which nothing is known yet.
    pub(crate) fn clear(self) {
        // SAFETY: valid by the contract of `new`; a metric may be all zero, and nobody has a reference to it.
        unsafe { self.as_ptr().write_bytes(0, 1) };
    }
}

impl MetricTable {
    /// The identifier of an entry.
    ///
    /// # Panics
    /// When the place is not in the table.
    #[inline(always)]
    pub(crate) fn pmid(self, place: usize) -> MetricId {
        MetricId(field!(self.at(place), m_desc.pmid))
    }

    /// A copy of an entry.
    ///
    /// # Panics
    /// When the place is not in the table.
    pub(crate) fn copy(self, place: usize) -> pmdaMetric {
        // SAFETY: `at` gives the address of a valid entry.
        unsafe { self.at(place).read() }
    }

    /// An entry, if the place is in the table.
    #[inline(always)]
    pub(crate) fn entry(self, place: usize) -> Option<Metric> {
        // SAFETY: a place in the table, whose entries are valid by the contract of `new`.
        (place < self.len()).then(|| unsafe { Metric::new(self.first.add(place)) })?
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
}

impl Indom {
    /// The identifier.
    #[inline(always)]
    pub(crate) fn indom(self) -> InDom {
        InDom(self.indom_number())
    }

    /// The instances at this moment.
    #[inline(always)]
    pub(crate) fn instances(self) -> InstanceTable {
        // SAFETY: the domain and its instances are valid by the contract of `new`.
        unsafe { InstanceTable::new((*self.as_ptr()).it_set, (*self.as_ptr()).it_numinst) }
    }
}

/// What `e_idp` points to while a cached domain is walked: it holds the domain's number and nothing
/// else (INST-30).
pub(crate) struct IndomNode(UnsafeCell<pmdaIndom>);

// SAFETY: the node is written by `stamp`, one plain number, and read by whoever walks over the same `pmdaExt`, which
// C does from one thread at a time. No reference to it is ever made.
unsafe impl Send for IndomNode {}
// SAFETY: as above.
unsafe impl Sync for IndomNode {}

impl IndomNode {
    /// A node for no domain yet.
    pub(crate) const fn new() -> IndomNode {
        IndomNode(UnsafeCell::new(pmdaIndom {
            it_indom: 0,
            it_numinst: 0,
            it_set: ptr::null_mut(),
        }))
    }

    /// Makes the node one for a domain.
    pub(crate) fn stamp(&self, indom: InDom) {
        // SAFETY: the write is to our own memory, and no reference to the domain exists.
        unsafe { (&raw mut (*self.0.get()).it_indom).write(indom.0) };
    }

    /// The node as C sees it.
    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *mut pmdaIndom {
        self.0.get()
    }
}

impl IndomTable {
    /// The identifier of an entry.
    ///
    /// # Panics
    /// When the place is not in the table.
    #[inline(always)]
    pub(crate) fn indom(self, place: usize) -> InDom {
        InDom(field!(self.at(place), it_indom))
    }

    /// An entry, if the place is in the table.
    pub(crate) fn entry(self, place: usize) -> Option<Indom> {
        // SAFETY: a place in the table, whose entries are valid by the contract of `new`.
        (place < self.len()).then(|| unsafe { Indom::new(self.first.add(place)) })?
    }
}

impl InstanceTable {
    /// The instances from a place on, good until control goes back to C: for loops over long tables.
    #[inline(always)]
    pub(crate) fn rest(&self, place: usize) -> &[pmdaInstid] {
        let Some(left @ 1..) = self.len().checked_sub(place) else {
            return &[];
        };
        // SAFETY: the places from `place` to the end of the table, whose entries are valid by the contract of `new`. C
        // alone changes them, and does not run while the slice is used.
        unsafe { std::slice::from_raw_parts(self.first.add(place), left) }
    }

    /// The identifier of the instance at a place, if there is one.
    #[inline(always)]
    pub(crate) fn inst_at(self, place: u32) -> Option<c_int> {
        if i64::from(place) >= i64::from(self.count) || self.first.is_null() {
            return None;
        }
        // SAFETY: a place in the table, whose entries are valid by the contract of `new`; one number is copied.
        Some(unsafe { (&raw const (*self.first.add(place as usize)).i_inst).read() })
    }

    /// The identifier of an instance.
    ///
    /// # Panics
    /// When the place is not in the table.
    #[inline(always)]
    pub(crate) fn inst(self, place: usize) -> c_int {
        field!(self.at(place), i_inst)
    }

    /// The name of an instance.
    ///
    /// # Panics
    /// When the place is not in the table.
    #[inline(always)]
    pub(crate) fn name(self, place: usize) -> Option<CText> {
        // SAFETY: `at` gives the address of a valid entry, whose name is NULL or a C string.
        unsafe { CText::new((&raw const (*self.at(place)).i_name).read()) }
    }
}

/// The addresses of metric tables that the library has made for agents and not freed yet. Most agents have one: the first
/// ones have no block of their own, which would be lost when an agent is unloaded.
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
        Ok(MetricTable {
            first: table.into_raw(),
            count,
        })
    }

    /// Frees a table that was made here, once; any other is left alone.
    pub(crate) fn free(&self, table: MetricTable) {
        let mut tables = self.0.lock();
        let address = table.first.addr();
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
            // SAFETY: `hand_over` has noted this address of a block from malloc, and it is forgotten now, so
            // it is freed once. The caller has taken the table out of use.
            unsafe { libc::free(table.first.cast()) };
        }
    }
}
