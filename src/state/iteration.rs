//! The state of an agent's iteration over instances between two steps.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::view::table::{Indom, IndomNode, ListPlace, ProfileElement};
use pmda_core::cache::{Position, WalkStart};
use pmda_core::ident::InDom;
use pmda_core::profile::Compiled;

/// The number of steps of a walk at which the domain may have grown, beside one for each entry that
/// it had at the start of the walk. After as many the walk ends. (In the C library it goes on for
/// as long as callbacks store new instances.) The number is so low that the walk ends in reasonable
/// time also if a callback walks, at each step, over all that it has stored.
const GROWING_STEPS: usize = 1 << 10;

/// The position of `__pmdaNextInst` in a cached domain (INST-43). It is not a pointer into the
/// cache, so the cache may change in any way between two steps.
pub(crate) struct InstanceWalk {
    /// The node that `e_idp` points to during the walk.
    node: IndomNode,
    /// The next entry of the walk, as [`Position::to_bits`].
    position: AtomicU64,
    /// The number of entries that were ever inserted into the cache, as of the last step.
    inserted: AtomicU32,
    /// The number of further steps at which the domain may have grown.
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
    /// Starts a walk at the first entry of `indom`, and returns the node that `e_idp` has to point
    /// to.
    pub(crate) fn begin(&'static self, indom: InDom, start: WalkStart) -> Indom<'static> {
        self.go_on(start.first);
        self.inserted.store(start.inserted, Ordering::Relaxed);
        self.growing
            .store(start.listed.saturating_add(GROWING_STEPS), Ordering::Relaxed);
        self.node.stamp(indom);
        self.node.view()
    }

    /// Returns whether `e_idp` points to the node of this walk: a cached domain is walked.
    pub(crate) fn is_at(&self, idp: Indom<'_>) -> bool {
        self.node.is(idp)
    }

    /// The position of the walk.
    pub(crate) fn position(&self) -> Position {
        Position::from_bits(self.position.load(Ordering::Relaxed))
    }

    /// The position of the walk, or its end when the domain has grown at too many steps. `inserted`
    /// is the number of entries that were ever inserted into the cache.
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

    /// Moves the walk to the entry behind the instance that is returned now.
    pub(crate) fn go_on(&self, next: Position) {
        self.position.store(next.to_bits(), Ordering::Relaxed);
    }
}

/// The list of a profile that was used last, in a form for fast lookups. It is used again for as
/// long as a list is at the same place (INST-53).
#[derive(Default)]
pub(crate) struct CompiledList {
    /// The place of the list that was compiled.
    from: Option<ListPlace>,
    profile: Compiled,
}

impl CompiledList {
    /// The compiled form of a list; `None` without memory.
    pub(crate) fn of(&mut self, element: &ProfileElement<'_>) -> Option<&Compiled> {
        if self.from != Some(element.place) {
            self.from = None;
            self.profile.set(element.element()).ok()?;
            self.from = Some(element.place);
        }
        Some(&self.profile)
    }
}
