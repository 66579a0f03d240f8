//! The numbers of a request: identifiers of metrics and instance domains (WIRE-40), the client
//! context that it belongs to, and the interface version of the agent that serves it.

use std::fmt;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::constants::{
    PMDA_INTERFACE_2, PMDA_INTERFACE_3, PMDA_INTERFACE_4, PMDA_INTERFACE_5, PMDA_INTERFACE_6, PMDA_INTERFACE_7,
    PMDA_INTERFACE_LATEST,
};

/// `DYNAMIC_PMID`: the domain whose metrics stand for the trees of other domains.
const DYNAMIC: u32 = 511;

/// A metric identifier: domain (9 bits), cluster (12 bits) and item (10 bits), with a flag in the
/// top bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub struct MetricId(pub u32);

/// An instance domain identifier: domain (9 bits) and serial (22 bits), with a flag in the top bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(transparent)]
pub struct InDom(pub u32);

impl MetricId {
    /// `PM_ID_NULL`: no metric.
    pub const NULL: MetricId = MetricId(u32::MAX);

    /// Builds an identifier with flag 0.
    #[must_use]
    pub const fn new(domain: u32, cluster: u32, item: u32) -> MetricId {
        MetricId((domain & 0x1ff) << 22 | (cluster & 0xfff) << 10 | (item & 0x3ff))
    }

    /// The domain of the agent that owns the metric.
    #[must_use]
    pub const fn domain(self) -> u32 {
        (self.0 >> 22) & 0x1ff
    }

    /// The cluster that the agent has put the metric into.
    #[must_use]
    pub const fn cluster(self) -> u32 {
        (self.0 >> 10) & 0xfff
    }

    /// The metric's number in its cluster.
    #[must_use]
    pub const fn item(self) -> u32 {
        self.0 & 0x3ff
    }

    /// The same metric in another domain: an agent's metrics get its domain at set-up (INIT-41).
    #[must_use]
    pub const fn in_domain(self, domain: u32) -> MetricId {
        MetricId((self.0 & !(0x1ff << 22)) | ((domain & 0x1ff) << 22))
    }
}

impl InDom {
    /// `PM_INDOM_NULL`, no instance domain: the metric has a single value.
    pub const NULL: InDom = InDom(u32::MAX);

    /// The domain of the agent that owns the instance domain.
    #[must_use]
    pub const fn domain(self) -> u32 {
        (self.0 >> 22) & 0x1ff
    }

    /// The agent's own number for the instance domain.
    #[must_use]
    pub const fn serial(self) -> u32 {
        self.0 & 0x3f_ffff
    }

    /// Builds an identifier with flag 0 (INIT-41).
    #[must_use]
    pub const fn new(domain: u32, serial: u32) -> InDom {
        InDom(((domain & 0x1ff) << 22) | (serial & 0x3f_ffff))
    }

    /// Returns whether this is [`InDom::NULL`].
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.0 == u32::MAX
    }
}

/// `domain.cluster.item`, as `pmIDStr` prints it.
impl fmt::Display for MetricId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == MetricId::NULL {
            return out.write_str("PM_ID_NULL");
        }
        // In the domain of dynamic metrics, item 0 stands for the whole tree of the domain that is
        // the cluster.
        if self.domain() == DYNAMIC && self.item() == 0 {
            return write!(out, "{}.*.*", self.cluster());
        }
        write!(out, "{}.{}.{}", self.domain(), self.cluster(), self.item())
    }
}

/// `domain.serial`, as `pmInDomStr` prints it.
impl fmt::Display for InDom {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            return out.write_str("PM_INDOM_NULL");
        }
        write!(out, "{}.{}", self.domain(), self.serial())
    }
}

/// The interface version of an agent (INIT-1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Interface(pub u32);

impl Interface {
    /// Returns whether the version exists: 2 to 7 do.
    #[must_use]
    pub const fn is_supported(self) -> bool {
        self.0 >= PMDA_INTERFACE_2 && self.0 <= PMDA_INTERFACE_LATEST
    }

    /// Returns whether agents may have names of their own. An unknown metric is not reported then
    /// (FETCH-23).
    #[must_use]
    pub const fn has_names(self) -> bool {
        self.0 >= PMDA_INTERFACE_4
    }

    /// Returns whether a fetch callback may return no value (FETCH-40).
    #[must_use]
    pub const fn has_missing_values(self) -> bool {
        self.0 >= PMDA_INTERFACE_3
    }

    /// Returns whether a fetch callback may return a value to be freed (FETCH-40).
    #[must_use]
    pub const fn has_values_to_free(self) -> bool {
        self.0 >= PMDA_INTERFACE_5
    }

    /// Returns whether agents are told the client's context (MAIN-25).
    #[must_use]
    pub const fn has_contexts(self) -> bool {
        self.0 >= PMDA_INTERFACE_5
    }

    /// Returns whether agents are told the client's attributes.
    #[must_use]
    pub const fn has_attributes(self) -> bool {
        self.0 >= PMDA_INTERFACE_6
    }

    /// Returns whether agents have labels (LABEL-13).
    #[must_use]
    pub const fn has_labels(self) -> bool {
        self.0 >= PMDA_INTERFACE_7
    }

    /// Returns whether results tell pmcd about changes of names and labels (FETCH-60).
    #[must_use]
    pub const fn reports_changes(self) -> bool {
        self.0 >= PMDA_INTERFACE_7
    }
}

/// The number that [`current_context`] returns, one for the whole process (MAIN-25).
static CURRENT: AtomicI32 = AtomicI32::new(-1);

/// Returns the client context that the request being served belongs to, -1 before the first one.
#[must_use]
pub fn current_context() -> i32 {
    CURRENT.load(Ordering::Relaxed)
}

/// Sets what [`current_context`] returns. The stock methods call it for agents of interface 5 and
/// later.
pub fn set_current_context(context: i32) {
    CURRENT.store(context, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interface versions 2 to 7 exist (INIT-10, INIT-13).
    #[test]
    fn versions() {
        let exists = |version: u32| Interface(version).is_supported();
        assert!((2..=7).all(exists));
        assert!(!exists(1) && !exists(8) && !exists(255));
    }

    /// Each version can do what the one before it could, and more (FETCH-23, FETCH-40, FETCH-60,
    /// LABEL-13, MAIN-25).
    #[test]
    fn abilities() {
        type IsAble = fn(Interface) -> bool;
        let can: [(IsAble, u32); 7] = [
            (Interface::has_missing_values, 3),
            (Interface::has_names, 4),
            (Interface::has_values_to_free, 5),
            (Interface::has_contexts, 5),
            (Interface::has_attributes, 6),
            (Interface::has_labels, 7),
            (Interface::reports_changes, 7),
        ];
        for (is_able, first) in can {
            assert!(
                (2..=7).all(|version| is_able(Interface(version)) == (version >= first)),
                "{first}"
            );
        }
    }

    /// The context is that of the request being served; before the first one it is -1 (MAIN-25).
    #[test]
    fn contexts() {
        assert_eq!(current_context(), -1);
        for context in [0, 7, -1] {
            set_current_context(context);
            assert_eq!(current_context(), context);
        }
    }

    /// The bits of both identifiers are those that PCP uses (WIRE-40).
    #[test]
    fn parts_and_text() {
        let metric = MetricId(0x3f40_2409);
        assert_eq!((metric.domain(), metric.cluster(), metric.item()), (253, 9, 9));
        assert_eq!(metric.to_string(), "253.9.9");
        assert_eq!(MetricId::new(253, 9, 9), metric);
        assert_eq!(metric.in_domain(3).to_string(), "3.9.9");
        // Item 0 of the dynamic domain stands for a whole tree, and nothing else does.
        let shown = [(511, 5, 0), (511, 5, 1), (510, 5, 0)]
            .map(|(domain, cluster, item)| MetricId::new(domain, cluster, item).to_string());
        assert_eq!(shown, ["5.*.*", "511.5.1", "510.5.0"]);
        assert_eq!(InDom::new(253, 7).to_string(), "253.7");
        assert_eq!(MetricId::NULL.to_string(), "PM_ID_NULL");
        assert_eq!(InDom::NULL.to_string(), "PM_INDOM_NULL");
    }
}
