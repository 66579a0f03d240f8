//! The state of an iteration between two steps.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::view::table::{Indom, IndomNode, ListPlace, ProfileElement};
use pmda_core::cache::{Position, WalkStart};
use pmda_core::ident::InDom;
use pmda_core::profile::Compiled;

/// Number of steps of a walk that may find that the domain has grown, beside one for each entry at
/// its start: then the walk ends. (The C library goes on for as long as callbacks store new
/// instances.) It is so low that a callback which walks all that it has stored, at each step, comes
/// to an end as well.
const GROWING_STEPS: usize = 1 << 10;

/// The position of `__pmdaNextInst` in a cached domain (INST-43), which may change in any way
/// between two steps.
pub(crate) struct InstanceWalk {
    /// The node for `e_idp`.
    node: IndomNode,
    /// As [`Position::to_bits`].
    position: AtomicU64,
    /// The last seen number of insertions.
    inserted: AtomicU32,
    /// Number of further steps that may find that the domain has grown.
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
    /// Starts at the first entry of `indom`, and returns the node for `e_idp`.
    pub(crate) fn begin(&'static self, indom: InDom, start: WalkStart) -> Indom<'static> {
        self.go_on(start.first);
        self.inserted.store(start.inserted, Ordering::Relaxed);
        self.growing
            .store(start.listed.saturating_add(GROWING_STEPS), Ordering::Relaxed);
        self.node.stamp(indom);
        self.node.view()
    }

    /// Returns whether `e_idp` is the node of a cached domain.
    pub(crate) fn is_at(&self, idp: Indom<'_>) -> bool {
        self.node.is(idp)
    }

    pub(crate) fn position(&self) -> Position {
        Position::from_bits(self.position.load(Ordering::Relaxed))
    }

    /// The position, given the number of insertions: at the end when the domain has grown at too
    /// many steps.
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

    pub(crate) fn go_on(&self, next: Position) {
        self.position.store(next.to_bits(), Ordering::Relaxed);
    }
}

/// The last used list of a profile, compiled. It is used while the list is at the same place
/// (INST-53).
#[derive(Default)]
pub(crate) struct CompiledList {
    from: Option<ListPlace>,
    profile: Compiled,
}

impl CompiledList {
    /// The compiled form of a list, if there is memory.
    pub(crate) fn of(&mut self, element: &ProfileElement<'_>) -> Option<&Compiled> {
        if self.from != Some(element.place) {
            self.from = None;
            self.profile.set(element.element()).ok()?;
            self.from = Some(element.place);
        }
        Some(&self.profile)
    }
}
