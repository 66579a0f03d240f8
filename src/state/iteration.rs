//! What is kept of an agent between two steps of an iteration.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::view::table::{Indom, IndomNode, ListPlace, ProfileElement};
use pmda_core::cache::{Position, WalkStart};
use pmda_core::ident::InDom;
use pmda_core::profile::Compiled;

/// Number of steps of a walk that may find that the domain has grown, beside one for each entry
/// that was listed at its start: then the walk ends. The C library goes on for as long as callbacks
/// store new instances, unless one of them walks the same cache. The number is so low that a
/// callback which walks all that it has stored, at each step, comes to an end as well.
const GROWING_STEPS: usize = 1 << 10;

/// The position of `__pmdaNextInst` in a cached domain (INST-43). Since it is not a place in a
/// list, the cache may change in any way between two steps.
pub(crate) struct InstanceWalk {
    /// The node that `e_idp` points to while a cached domain is walked.
    node: IndomNode,
    /// The entry that was noted, as [`Position::to_bits`].
    position: AtomicU64,
    /// Number of entries that were ever inserted, when it was looked at last.
    inserted: AtomicU32,
    /// At how many more steps the domain may have grown.
    growing: AtomicUsize,
}

impl Default for InstanceWalk {
    fn default() -> InstanceWalk {
        InstanceWalk {
            node: IndomNode::new(),
            position: AtomicU64::new(Position::END.to_bits()),
            inserted: AtomicU32::new(0),
            growing: AtomicUsize::new(0),
        }
    }
}

impl InstanceWalk {
    /// Starts at the first entry of `indom`, and gives what `e_idp` is to point to.
    pub(crate) fn begin(&'static self, indom: InDom, start: WalkStart) -> Indom<'static> {
        self.go_on(start.first);
        self.inserted.store(start.inserted, Ordering::Relaxed);
        self.growing
            .store(start.listed.saturating_add(GROWING_STEPS), Ordering::Relaxed);
        self.node.stamp(indom);
        self.node.view()
    }

    /// Returns whether `e_idp` says that a cached domain is being walked.
    pub(crate) fn is_at(&self, idp: Indom<'_>) -> bool {
        self.node.is(idp)
    }

    /// The position of the walk.
    pub(crate) fn position(&self) -> Position {
        Position::from_bits(self.position.load(Ordering::Relaxed))
    }

    /// The position of the walk, given how many entries were ever inserted: at the end when the
    /// domain has grown at too many steps.
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
    pub(crate) fn go_on(&self, next: Position) {
        self.position.store(next.to_bits(), Ordering::Relaxed);
    }
}

/// The list of a profile that an agent was asked about last, compiled. While it is at the same
/// place, an iteration goes on with what was compiled (INST-53).
#[derive(Default)]
pub(crate) struct CompiledList {
    /// The list that it was made from.
    from: Option<ListPlace>,
    profile: Compiled,
}

impl CompiledList {
    /// The compiled form of a list; without memory there is none.
    pub(crate) fn of(&mut self, element: &ProfileElement<'_>) -> Option<&Compiled> {
        if self.from != Some(element.place) {
            self.from = None;
            self.profile.set(element.element()).ok()?;
            self.from = Some(element.place);
        }
        Some(&self.profile)
    }
}
