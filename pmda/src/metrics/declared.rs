//! The declarations as the writer and checker of an agent's files and tests see them.

use std::rc::Rc;

use pmda_core::ident::MetricId;

use super::{Metric, Metrics};
use crate::labels::Labels;
use crate::unit::Unit;
use crate::value::{Semantics, Type};

/// A metric as it was declared.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Declared<'m> {
    /// Its name without the root.
    pub name: &'m str,
    /// The cluster of its number.
    pub cluster: u32,
    /// The item of its number.
    pub item: u32,
    /// The type of its values.
    pub kind: Type,
    /// The meaning of its values.
    pub semantics: Semantics,
    /// Their unit.
    pub unit: Unit,
    /// The serial of its instance domain.
    pub indom: Option<u32>,
    /// Its help: the first line is for lists, the rest is the long text.
    pub help: &'m str,
    /// Its labels.
    pub labels: &'m Labels,
    /// True if it can be stored.
    pub is_writable: bool,
    aliases: &'m [Rc<str>],
}

impl<'m> Declared<'m> {
    /// All its names without the root: that of [`Declared::name`] first.
    pub fn names(&self) -> impl Iterator<Item = &'m str> + use<'m> {
        std::iter::once(self.name).chain(self.aliases.iter().map(|name| &**name))
    }
}

/// An instance domain as it was declared.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct DeclaredIndom<'m> {
    /// Its serial.
    pub serial: u32,
    /// Its help: the first line is for lists, the rest is the long text.
    pub help: &'m str,
    /// Its labels.
    pub labels: &'m Labels,
}

impl<'m, S> From<&'m Metric<S>> for Declared<'m> {
    fn from(metric: &'m Metric<S>) -> Declared<'m> {
        Declared {
            name: &metric.name,
            cluster: metric.cluster,
            item: metric.item,
            kind: metric.kind,
            semantics: metric.semantics,
            unit: metric.unit,
            indom: metric.indom,
            help: &metric.help,
            labels: &metric.labels,
            is_writable: metric.store.is_some(),
            aliases: &metric.aliases,
        }
    }
}

impl<S> Metrics<S> {
    /// The metrics in the order of their declaration.
    pub fn declared(&self) -> impl Iterator<Item = Declared<'_>> {
        self.table.iter().map(Declared::from)
    }

    /// The instance domains by serial.
    pub fn declared_indoms(&self) -> impl Iterator<Item = DeclaredIndom<'_>> {
        self.indoms.values().map(|domain| DeclaredIndom {
            serial: domain.serial,
            help: &domain.help,
            labels: &domain.labels,
        })
    }

    /// The names of all metrics with their numbers, one a line.
    pub(crate) fn numbers_of_all(&self) -> String {
        let lines = self.declared().flat_map(|metric| {
            let id = MetricId::new(self.domain(), metric.cluster, metric.item);
            metric
                .names()
                .map(move |name| format!("{} {id}\n", self.with_root(name)))
        });
        lines.collect()
    }

    /// Returns whether names of metrics are dynamic.
    pub(crate) fn are_dynamic(&self) -> bool {
        self.is_dynamic || self.is_empty()
    }

    /// Returns whether a name is below one with dynamic names.
    pub(crate) fn is_dynamic_below(&self, name: &str) -> bool {
        let dots = name.match_indices('.').filter_map(|(dot, _)| name.get(..dot));
        dots.into_iter().any(|above| self.dynamic_below.contains(above))
    }

    /// The names with dynamic names below them, without those below another such name.
    pub(crate) fn dynamic_names_declared(&self) -> impl Iterator<Item = &str> {
        let names = self.dynamic_below.iter().map(String::as_str);
        names.filter(|name| !self.is_dynamic_below(name))
    }
}

/// The first line of a help, and the rest.
pub(crate) fn help_parts(help: &str) -> (&str, &str) {
    let (line, rest) = help.split_once('\n').unwrap_or((help, ""));
    (line, rest.trim_matches('\n'))
}
