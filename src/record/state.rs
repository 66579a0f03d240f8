//! What the fetch family keeps for an agent: its part of the private record behind `pmdaExt.e_ext`.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use crate::sys::lock::{Mutex, room};
use crate::view::profile::ListPlace;
use crate::view::result_block::Results;
use crate::view::table::{IndomNode, Metric, MetricTable};
use crate::view::types::pmdaIndom;
use pmda_core::cache::Extent;
use pmda_core::ident::{InDom, MetricId};
use pmda_core::index::Map;
use pmda_core::metrics::{Hashed, Places};
use pmda_core::profile::{Compiled, Sightings};

/// The fetch family's part of the private record. All of it is derived from the agent's tables and
/// is checked against them when it is used, except for the hash, which the agent asked for.
#[derive(Default)]
pub(crate) struct FetchState {
    /// The result that the last fetch has given out, and those of fetches inside of it (FETCH-12).
    pub(crate) results: Results,
    /// What `pmdaRehash` has built.
    pub(crate) hash: Mutex<HashedTable, { room::HASH }>,
    /// Where metrics were found in a table that is searched.
    pub(crate) metrics: Mutex<Places, { room::METRICS }>,
    /// Where instance domains were found in `e_indoms`.
    pub(crate) indoms: Mutex<Places, { room::INDOMS }>,
    /// Where instances were found in the tables of domains.
    pub(crate) instances: Mutex<Map<TablePlaces>, { room::INSTANCES }>,
    /// The compiled profile.
    pub(crate) selections: Mutex<Selections, { room::SELECTIONS }>,
    /// The position in a cached domain.
    pub(crate) walk: Walk,
}

/// Where the instances of one table were found, by id and by the hash of a name.
#[derive(Default)]
pub(crate) struct TablePlaces {
    pub(crate) by_id: Places,
    pub(crate) by_name: Places,
}

/// What `pmdaRehash` has built, and the table that it was built over.
pub(crate) struct HashedTable {
    pub(crate) index: Hashed,
    pub(crate) table: MetricTable,
}

impl Default for HashedTable {
    fn default() -> HashedTable {
        HashedTable {
            index: Hashed::default(),
            table: MetricTable::EMPTY,
        }
    }
}

impl HashedTable {
    /// The entry of a metric in the table that the hash was built over.
    #[inline(always)]
    pub(crate) fn find(&self, wanted: MetricId) -> Option<Metric> {
        self.table.entry(self.index.find(wanted)?)
    }
}

/// Compiled profile elements, by instance domain.
///
/// While the list of an element is at the same place, an iteration goes on with what was compiled
/// (INST-53). The place alone does not tell one list from another that was put there later: the
/// lists are compared whenever an iteration starts, and all is forgotten for each profile that
/// passes through this library (`selection`).
#[derive(Default)]
pub(crate) struct Selections {
    pub(crate) elements: Places,
    pub(crate) compiled: Map<CompiledElement>,
}

/// A profile element with a list, ready to be asked.
pub(crate) struct CompiledElement {
    /// What it was made from.
    pub(crate) from: ListPlace,
    pub(crate) profile: Compiled<'static>,
    /// Where its instances were found in the table of the domain.
    pub(crate) sightings: Sightings,
}

/// The position of `__pmdaNextInst` in a cached domain (INST-43): the lowest id that was not
/// examined yet. Since it is a number, and not a place in a list, the cache may change in any way
/// between two steps. Callbacks that store new instances at each step do not prolong the walk: it
/// is bounded by what was there when it began.
pub(crate) struct Walk {
    /// What `e_idp` points to while a cached domain is walked.
    node: IndomNode,
    from: AtomicI64,
    /// One more than the last id of the walk.
    end: AtomicI64,
    /// How many instances may still be given.
    left: AtomicUsize,
}

impl Default for Walk {
    fn default() -> Walk {
        Walk {
            node: IndomNode::new(),
            from: AtomicI64::new(0),
            end: AtomicI64::new(0),
            left: AtomicUsize::new(0),
        }
    }
}

impl Walk {
    /// Starts at the lowest id of `indom`, and gives what `e_idp` is to point to.
    pub(crate) fn begin(&self, indom: InDom, extent: Extent) -> *mut pmdaIndom {
        self.from.store(0, Ordering::Relaxed);
        self.end.store(extent.end, Ordering::Relaxed);
        self.left.store(extent.steps, Ordering::Relaxed);
        self.node.stamp(indom);
        self.node.as_ptr()
    }

    /// Whether `e_idp` says that a cached domain is being walked.
    #[inline(always)]
    pub(crate) fn is_at(&self, idp: *const pmdaIndom) -> bool {
        std::ptr::eq(self.node.as_ptr(), idp)
    }

    /// The lowest id that was not examined yet.
    #[inline(always)]
    pub(crate) fn from(&self) -> i64 {
        self.from.load(Ordering::Relaxed)
    }

    /// The instance if it belongs to this walk; none does once there were as many as there may be.
    #[inline(always)]
    pub(crate) fn within(&self, inst: i32) -> Option<i32> {
        (i64::from(inst) < self.end.load(Ordering::Relaxed) && self.left.load(Ordering::Relaxed) > 0).then_some(inst)
    }

    /// Everything up to `inst`, which is given, was examined.
    #[inline(always)]
    pub(crate) fn passed(&self, inst: i32) {
        self.from.store(i64::from(inst) + 1, Ordering::Relaxed);
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
    }
}
