//! What the fetch family keeps for an agent: its part of the private record behind `pmdaExt.e_ext`.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering};

use super::lookup::HashedTable;
use super::record;
use super::selection::Selections;
use crate::abi::ext::Ext;
use crate::abi::result_block::Results;
use crate::abi::table::IndomNode;
use crate::abi::types::pmdaIndom;
use crate::cache::Extent;
use crate::error::Result;
use crate::forever::forever;
use crate::ident::InDom;
use crate::index::Map;
use crate::metrics::Places;
use crate::os::lock::{Mutex, const_mutex, room};

/// The fetch family's part of the private record. All of it is derived from the agent's tables and
/// is checked against them when it is used, except for the hash, which the agent asked for.
#[derive(Default)]
pub(crate) struct FetchState {
    /// The result that the last fetch has given out, and those of fetches inside of it (FETCH-12).
    pub(super) results: Results,
    /// What `pmdaRehash` has built.
    pub(super) hash: Mutex<HashedTable, { room::HASH }>,
    /// How often `pmdaRehash` was called.
    pub(super) rehashed: AtomicU32,
    /// Where metrics were found in a table that is searched.
    pub(super) metrics: Mutex<Places, { room::METRICS }>,
    /// Where instance domains were found in `e_indoms`.
    pub(super) indoms: Mutex<Places, { room::INDOMS }>,
    /// Where instances were found in the tables of domains.
    pub(crate) instances: Mutex<Map<TablePlaces>, { room::INSTANCES }>,
    /// The compiled profile.
    pub(super) selections: Mutex<Selections, { room::SELECTIONS }>,
    /// The position in a cached domain.
    pub(super) walk: Walk,
}

/// Where the instances of one table were found, by id and by the hash of a name.
#[derive(Default)]
pub(crate) struct TablePlaces {
    pub(crate) by_id: Places,
    pub(crate) by_name: Places,
}

/// The position of `__pmdaNextInst` in a cached domain (INST-43): the lowest id that was not
/// examined yet. Since it is a number, and not a place in a list, the cache may change in any way
/// between two steps. Callbacks that store new instances at each step do not prolong the walk: it
/// is bounded by what was there when it began.
pub(super) struct Walk {
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
    pub(super) fn begin(&self, indom: InDom, extent: Extent) -> *mut pmdaIndom {
        self.from.store(0, Ordering::Relaxed);
        self.end.store(extent.end, Ordering::Relaxed);
        self.left.store(extent.steps, Ordering::Relaxed);
        self.node.stamp(indom);
        self.node.as_ptr()
    }

    /// Whether `e_idp` says that a cached domain is being walked.
    #[inline(always)]
    pub(super) fn is_at(&self, idp: *const pmdaIndom) -> bool {
        std::ptr::eq(self.node.as_ptr(), idp)
    }

    /// The lowest id that was not examined yet.
    #[inline(always)]
    pub(super) fn from(&self) -> i64 {
        self.from.load(Ordering::Relaxed)
    }

    /// The instance if it belongs to this walk; none does once there were as many as there may be.
    #[inline(always)]
    pub(super) fn within(&self, inst: i32) -> Option<i32> {
        (i64::from(inst) < self.end.load(Ordering::Relaxed) && self.left.load(Ordering::Relaxed) > 0).then_some(inst)
    }

    /// Everything up to `inst`, which is given, was examined.
    #[inline(always)]
    pub(super) fn passed(&self, inst: i32) {
        self.from.store(i64::from(inst) + 1, Ordering::Relaxed);
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
    }
}

/// The state for an agent. Callers may use a `pmdaExt` that they have zeroed themselves: it gets a
/// record of its own, found by its address, which is kept (INST-43).
///
/// # Errors
/// `-ENOMEM` for such a record.
pub(crate) fn of(ext: Ext) -> Result<&'static FetchState> {
    record::of(ext).map_or_else(|| foreign(ext.as_ptr().addr()), |record| Ok(&record.fetch))
}

/// The state for a `pmdaExt` that this library has not made.
#[cold]
fn foreign(address: usize) -> Result<&'static FetchState> {
    static FOREIGN: Mutex<Map<&'static FetchState>, { room::FOREIGN_STATES }> = const_mutex(Map::new());
    let mut known = FOREIGN.lock();
    if let Some(state) = known.get(address as u64) {
        return Ok(state);
    }
    known.reserve(1)?;
    let state = forever(FetchState::default())?;
    known.get_or_insert_with(address as u64, || state).copied()
}
