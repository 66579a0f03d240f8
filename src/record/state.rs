//! What the fetch family keeps for an agent: its part of the private record behind `pmdaExt.e_ext`.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::sys::lazy::LazyMutex;
use crate::sys::lock::Mutex;
use crate::view::array::Lasting;
use crate::view::profile::ListPlace;
use crate::view::result_block::Results;
use crate::view::table::{Indom, IndomNode, Metric};
use crate::view::types::pmdaMetric;
use pmda_core::cache::{Position, Start};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::index::Map;
use pmda_core::metrics::{Hashed, HintIndex};
use pmda_core::profile::Compiled;

/// The fetch family's part of the private record. All of it is derived from the agent's tables and
/// is checked against them when it is used, except for the hash, which the agent asked for.
#[derive(Default)]
pub(crate) struct FetchState {
    /// The result that the last fetch has given out, and those of fetches inside of it (FETCH-12).
    pub(crate) results: Results,
    /// What `pmdaRehash` has built.
    pub(crate) hash: Mutex<HashedTable>,
    /// Where metrics were found in a table that is searched.
    pub(crate) metrics: Mutex<HintIndex>,
    /// Where instance domains were found in `e_indoms`.
    pub(crate) indoms: Mutex<HintIndex>,
    /// Where instances were found in the tables of domains.
    pub(crate) instances: LazyMutex<Map<TablePlaces>>,
    /// The compiled profile.
    pub(crate) selections: LazyMutex<Selections>,
    /// The position in a cached domain.
    pub(crate) walk: Walk,
}

/// Where the instances of one table were found, by id and by the hash of a name.
#[derive(Default)]
pub(crate) struct TablePlaces {
    pub(crate) by_id: HintIndex,
    pub(crate) by_name: HintIndex,
}

/// What `pmdaRehash` has built, and the table that it was built over.
pub(crate) struct HashedTable {
    pub(crate) index: Hashed,
    pub(crate) table: Lasting<pmdaMetric>,
}

impl Default for HashedTable {
    fn default() -> HashedTable {
        HashedTable {
            index: Hashed::default(),
            table: Lasting::EMPTY,
        }
    }
}

impl HashedTable {
    /// The entry of a metric in the table that the hash was built over.
    #[inline(always)]
    pub(crate) fn find<'call>(&self, wanted: MetricId) -> Option<Metric<'call>> {
        self.table.seen().entry(self.index.find(wanted)?)
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
    pub(crate) elements: HintIndex,
    /// None while it is used.
    pub(crate) compiled: Map<Option<CompiledElement>>,
}

/// A profile element with a list, ready to be asked.
pub(crate) struct CompiledElement {
    /// What it was made from.
    pub(crate) from: ListPlace,
    pub(crate) profile: Compiled<'static>,
}

/// How many steps of a walk may find that the domain has grown, beside one for each entry that was
/// listed at its start: then the walk ends. The C library goes on for as long as callbacks store
/// new instances.
const GROWING_STEPS: usize = 1 << 16;

/// The position of `__pmdaNextInst` in a cached domain (INST-43). Since it is not a place in a
/// list, the cache may change in any way between two steps.
pub(crate) struct Walk {
    /// What `e_idp` points to while a cached domain is walked.
    node: IndomNode,
    /// The entry that was noted, as [`Position::to_bits`].
    position: AtomicU64,
    /// Number of entries that were ever inserted, when it was looked at last.
    inserted: AtomicU32,
    /// At how many more steps the domain may have grown.
    growing: AtomicUsize,
}

impl Default for Walk {
    fn default() -> Walk {
        Walk {
            node: IndomNode::new(),
            position: AtomicU64::new(Position::END.to_bits()),
            inserted: AtomicU32::new(0),
            growing: AtomicUsize::new(0),
        }
    }
}

impl Walk {
    /// Starts at the first entry of `indom`, and gives what `e_idp` is to point to.
    pub(crate) fn begin(&'static self, indom: InDom, start: Start) -> Indom<'static> {
        self.go_on(start.first);
        self.inserted.store(start.inserted, Ordering::Relaxed);
        self.growing
            .store(start.listed.saturating_add(GROWING_STEPS), Ordering::Relaxed);
        self.node.stamp(indom);
        self.node.view()
    }

    /// Whether `e_idp` says that a cached domain is being walked.
    #[inline(always)]
    pub(crate) fn is_at(&self, idp: Indom<'_>) -> bool {
        self.node.is(idp)
    }

    /// Where it goes on.
    #[inline(always)]
    pub(crate) fn position(&self) -> Position {
        Position::from_bits(self.position.load(Ordering::Relaxed))
    }

    /// Where it goes on, given how many entries were ever inserted: at the end when the domain has
    /// grown at too many steps.
    pub(crate) fn resume(&self, inserted: u32) -> Position {
        if self.inserted.swap(inserted, Ordering::Relaxed) != inserted {
            let left = self.growing.load(Ordering::Relaxed);
            if left == 0 {
                return Position::END;
            }
            self.growing.store(left - 1, Ordering::Relaxed);
        }
        self.position()
    }

    /// An instance is given, and this is the entry behind it.
    #[inline(always)]
    pub(crate) fn go_on(&self, next: Position) {
        self.position.store(next.to_bits(), Ordering::Relaxed);
    }
}
