//! The names of metrics as clients know them, with the root, and the tree of names.

use std::fmt::{self, Display};

use super::Metrics;
use super::metric::Metric;
use super::table::Child;

impl<S> Metrics<S> {
    /// The metric with a full name.
    pub(crate) fn named(&self, name: &str) -> Option<&Metric<S>> {
        self.table.named(self.below_root(name)?)
    }

    /// A full name without the root. `None` if it is not below the root.
    fn below_root<'n>(&self, name: &'n str) -> Option<&'n str> {
        if self.root().is_empty() {
            return Some(name);
        }
        name.strip_prefix(self.root())?.strip_prefix('.')
    }

    /// A name with the root.
    pub(crate) fn with_root(&self, name: &str) -> String {
        if self.root().is_empty() {
            return name.to_owned();
        }
        [self.root(), ".", name].concat()
    }

    /// The full names of the metrics below a name, or of the metric that has it.
    pub(crate) fn below(&self, name: &str) -> Vec<String> {
        let full = |name: &str| self.with_root(name);
        match self.local(name) {
            Some(RelativeName::Above) => self.table.starting_with("").map(full).collect(),
            Some(RelativeName::Below(name)) if self.has(name) => vec![full(name)],
            Some(RelativeName::Below(name)) => self.table.starting_with(&[name, "."].concat()).map(full).collect(),
            None => Vec::new(),
        }
    }

    /// The names directly below a full name; none below that of a metric. `None` if the name does
    /// not exist.
    pub(crate) fn children<'m>(&'m self, name: &str) -> Option<Vec<Child<'m>>> {
        let children = match self.local(name)? {
            RelativeName::Above => {
                let rest = self
                    .root()
                    .get(name.len()..)
                    .unwrap_or_default()
                    .trim_start_matches('.');
                match rest.split_once('.').map_or(rest, |(next, _)| next) {
                    _ if self.is_empty() => return None,
                    "" => self.table.children(""),
                    next => vec![Child {
                        name: next,
                        is_leaf: false,
                    }],
                }
            }
            RelativeName::Below(name) if self.has(name) => return Some(Vec::new()),
            RelativeName::Below(name) => self.table.children(&[name, "."].concat()),
        };
        (!children.is_empty()).then_some(children)
    }

    /// A full name as seen from the root. `None` if it is neither above nor below the root.
    fn local<'n>(&self, name: &'n str) -> Option<RelativeName<'n>> {
        let is_above = |rest: &str| rest.is_empty() || rest.starts_with('.');
        let may_be_above = !name.is_empty() || self.root().is_empty();
        if may_be_above && self.root().strip_prefix(name).is_some_and(is_above) {
            return Some(RelativeName::Above);
        }
        self.below_root(name).map(RelativeName::Below)
    }

    pub(crate) fn full_name<'m>(&'m self, metric: &'m Metric<S>) -> FullName<'m> {
        FullName {
            root: self.root(),
            name: &metric.name,
        }
    }
}

/// A full name, as seen from the agent's root.
enum RelativeName<'n> {
    /// The root, or above it; with several roots, above all of them.
    Above,
    /// The name below the root.
    Below(&'n str),
}

/// A metric's name with the root, as clients know it.
pub(crate) struct FullName<'m> {
    root: &'m str,
    name: &'m str,
}

impl Display for FullName<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.root.is_empty() {
            write!(out, "{}.", self.root)?;
        }
        out.write_str(self.name)
    }
}
