//! The declarations of an agent: metrics, clusters, instance domains, labels.

mod clusters;
mod declare;
mod declared;
mod define;
mod domain;
mod metric;
mod numbers;
mod table;

use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Display};
use std::time::Duration;

pub(crate) use clusters::Cluster;
pub(crate) use declared::help_parts;
pub use declared::{Declared, DeclaredIndom};
pub use define::Def;
pub(crate) use domain::Domain;
pub use domain::IndomRef;
pub(crate) use metric::{Metric, is_name};
pub use metric::{MetricRef, Problem};
pub(crate) use table::Child;

use crate::{Env, Error, Labels, Request, Result};
use clusters::Clusters;
use numbers::Numbers;
use table::Table;

/// The most clusters.
const CLUSTERS: u32 = 1 << 12;

/// In a RESULT: names have changed (`PMCD_NAMES_CHANGE`, WIRE-52).
const NAMES_CHANGE: u32 = 0x10;
/// Labels have changed (`PMCD_LABEL_CHANGE`, FETCH-60).
const LABEL_CHANGE: u32 = 0x08;

/// How many problems are remembered, so that each is logged once.
const PROBLEMS: usize = 1000;

/// What an agent declares: its metrics and what belongs to them.
///
/// Metrics are numbered in the order of their declaration within their cluster, from 0. Archives
/// remember these numbers: a metric that goes, or comes in between, must not change those of
/// others, so pin them with [`Def::item`], or keep them in a file ([`Metrics::numbered_by`]).
/// [`Harness::numbers`](crate::testing::Harness::numbers) shows them, for a test.
pub struct Metrics<S> {
    /// That of the agent.
    pub(crate) domain: u32,
    /// What stands in front of all names.
    root: String,
    table: Table<S>,
    pub(crate) clusters: Clusters<S>,
    pub(crate) indoms: BTreeMap<u32, Domain<S>>,
    pub(crate) labels: Labels,
    /// Serials of the domains that do not know their number yet.
    unbound: Vec<u32>,
    /// The cluster of the next metric.
    cluster: u32,
    /// The serial of the file with the numbers of the next metrics.
    cache: Option<u32>,
    numbers: Numbers,
    /// Names of metrics come and go.
    is_dynamic: bool,
    problems: Vec<String>,
    logged: HashSet<String>,
    /// Labels have changed since clients were last told.
    changes: u32,
    /// The names that clients were last told of.
    told: u64,
    /// Counts the calls of the agent that declare something.
    round: u64,
    /// The metrics that there always are have been declared.
    started: bool,
}

impl<S> Metrics<S> {
    /// The declarations that an agent makes from the start, with `declare`.
    pub(crate) fn of(env: &Env, declare: impl FnOnce(&mut Metrics<S>)) -> Metrics<S> {
        let mut metrics = Metrics::new(env.domain());
        env.root().clone_into(&mut metrics.root);
        if let Some(variable) = env.var_dir() {
            metrics.numbers.bind(env.domain(), variable.to_owned());
        }
        declare(&mut metrics);
        metrics.numbers.save();
        metrics.started = true;
        metrics.take_changes();
        metrics
    }

    fn new(domain: u32) -> Metrics<S> {
        Metrics {
            domain,
            root: String::new(),
            table: Table::new(),
            clusters: Clusters::new(),
            indoms: BTreeMap::new(),
            labels: Labels::new(),
            unbound: Vec::new(),
            cluster: 0,
            cache: None,
            numbers: Numbers::default(),
            is_dynamic: false,
            problems: Vec::new(),
            logged: HashSet::new(),
            changes: 0,
            told: 0,
            round: 0,
            started: false,
        }
    }

    /// Gives the whole agent a label, in place of one with this name.
    pub fn label(&mut self, name: &str, value: &str) -> &mut Self {
        let outcome = self.labels.give(name, value, false);
        self.labelled(outcome, "the agent")
    }

    /// Gives the whole agent these labels, in place of all that it had.
    pub fn set_labels(&mut self, labels: Labels) -> &mut Self {
        let outcome = self.labels.replace(labels);
        self.labelled(outcome, "the agent")
    }

    /// What follows is part of this cluster: its metrics are read together. The first cluster is 0.
    pub fn cluster(&mut self, number: u32) -> &mut Self {
        if number >= CLUSTERS {
            self.problem(format!("cluster {number}: the last possible one is {}", CLUSTERS - 1));
            return self;
        }
        self.cluster = number;
        self.cache = None;
        self.clusters.at(number);
        self
    }

    /// The current cluster.
    fn current(&mut self) -> &mut Cluster<S> {
        self.clusters.at(self.cluster)
    }

    /// Gives the cluster a label, in place of one with this name.
    pub fn cluster_label(&mut self, name: &str, value: &str) -> &mut Self {
        let (number, outcome) = (self.cluster, self.current().labels.give(name, value, false));
        self.labelled(outcome, format_args!("cluster {number}"))
    }

    /// Gives the cluster these labels, in place of all that it had.
    pub fn set_cluster_labels(&mut self, labels: Labels) -> &mut Self {
        let (number, outcome) = (self.cluster, self.current().labels.replace(labels));
        self.labelled(outcome, format_args!("cluster {number}"))
    }

    /// Reads what the metrics of the cluster show: called before a request that needs one of them,
    /// or the instances that they have. If it fails, they have its error instead of values, and
    /// other clusters are not concerned.
    ///
    /// Several for one cluster are called in order. Those that are given in a later call of
    /// [`Agent::dynamic`](crate::Agent::dynamic) take the place of all earlier ones.
    pub fn refresh(&mut self, refresh: impl Fn(&mut S, &Request<'_>) -> Result<()> + 'static) -> &mut Self {
        let round = self.round;
        self.current().add_refresh(round, Box::new(refresh));
        self
    }

    /// What was read for the cluster is good for so long: who asks earlier gets the same. What
    /// failed is read again.
    pub fn valid_for(&mut self, time: Duration) -> &mut Self {
        self.current().valid_for = Some(time);
        self
    }

    /// Metrics that follow in this cluster, and come and go, keep their numbers over restarts of
    /// the agent: they are in a file, as those of a persistent instance domain with the serial
    /// `cache`, which no domain of the agent may have. A number given by [`Def::item`] is kept
    /// there, too.
    pub fn numbered_by(&mut self, cache: u32) -> &mut Self {
        if self.indoms.contains_key(&cache) {
            self.problem(format!("the numbers of metrics cannot be in instance domain {cache}"));
        } else {
            self.cache = Some(cache);
            self.is_dynamic = true;
        }
        self
    }

    /// The item that a metric with this name has, or will have, after [`Metrics::numbered_by`]: for
    /// what is to be numbered after it, such as an instance domain of its own.
    ///
    /// # Errors
    /// `-EINVAL` without `numbered_by`, `PM_ERR_GENERIC` when all items are in use.
    pub fn reserve_item(&mut self, name: &str) -> Result<u32> {
        let cache = self.cache.ok_or(Error::EINVAL)?;
        let item = self.numbers.number(cache, name)?;
        if !self.has(name) {
            self.numbers.release(cache, name);
        }
        Ok(item)
    }

    /// Names of metrics come and go, also if there are some from the start: pmcd asks the agent for
    /// names, and has none in a file that `--write` makes. So it is after
    /// [`Metrics::numbered_by`], or if no metric is declared from the start.
    pub fn dynamic_names(&mut self) -> &mut Self {
        self.is_dynamic = true;
        self
    }

    /// Takes a metric away; its number is not given to another one as long as there are others.
    /// Tells whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        let Some(metric) = self.table.remove(name) else {
            return false;
        };
        if let Some(cluster) = self.clusters.get_mut(metric.cluster) {
            cluster.remove(metric.item);
        }
        self.forget(&metric);
        true
    }

    /// A metric has gone: so has what others have remembered of it.
    fn forget(&mut self, metric: &Metric<S>) {
        if let Some(serial) = metric.indom {
            self.release_indom(serial, metric.cluster);
        }
        if let Some(cache) = metric.cache {
            self.numbers.release(cache, &metric.name);
        }
    }

    /// Takes a cluster away: its metrics, what reads them, its labels, and the instance domains
    /// that were declared in it and that no metric of another cluster has. If it is declared anew,
    /// its metrics are numbered from 0 again, unless [`Metrics::numbered_by`] or [`Def::item`] says
    /// otherwise. Tells whether it was there.
    pub fn drop_cluster(&mut self, number: u32) -> bool {
        let Some(cluster) = self.clusters.take(number) else {
            return false;
        };
        for slot in cluster.slots() {
            if let Some(metric) = self.table.remove_at(slot) {
                self.forget(&metric);
            }
        }
        self.drop_indoms(number, &cluster.indoms);
        true
    }

    /// Whether there is a metric with this name, the root not in front.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.table.has(name)
    }

    /// The metric with a name, the root not in front.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<MetricRef> {
        let metric = self.table.named(name)?;
        Some(MetricRef::new(metric.cluster, metric.item))
    }

    /// How many metrics there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What stands in front of the names of all metrics.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Labels have changed, such as those of instances: clients that keep them ask again. For
    /// [`Agent::dynamic`](crate::Agent::dynamic). Labels that are given to something by its name
    /// need not be told of.
    pub fn labels_changed(&mut self) {
        self.changes |= LABEL_CHANGE;
    }

    /// Takes note of something that is wrong with the declarations.
    fn problem(&mut self, text: String) {
        if !self.started {
            if !self.problems.contains(&text) {
                self.problems.push(text);
            }
            return;
        }
        if self.logged.len() == PROBLEMS {
            self.logged.clear();
        }
        if !self.logged.contains(&text) {
            log::error!("{text}");
            self.logged.insert(text);
        }
    }

    /// Labels have been given to something.
    fn labelled(&mut self, outcome: std::result::Result<bool, String>, of: impl Display) -> &mut Self {
        match outcome {
            Ok(is_changed) => self.changes |= if is_changed { LABEL_CHANGE } else { 0 },
            Err(text) => self.problem(format!("{of}: {text}")),
        }
        self
    }

    /// Begins another call of the agent that declares something.
    pub(crate) fn begin(&mut self) {
        self.round += 1;
        (self.cluster, self.cache) = (0, None);
    }

    /// The declarations are complete, for now. Returns the serials of domains that are new.
    pub(crate) fn finish(&mut self) -> Vec<u32> {
        self.numbers.save();
        std::mem::take(&mut self.unbound)
    }

    /// What has changed since clients were last told (`PMCD_*_CHANGE`), which they are now.
    pub(crate) fn take_changes(&mut self) -> u32 {
        let names = self.table.fingerprint();
        if std::mem::replace(&mut self.told, names) != names {
            self.changes |= NAMES_CHANGE;
        }
        std::mem::take(&mut self.changes)
    }

    /// What is wrong with the declarations: the agent does not start with it.
    pub(crate) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The metric of a cluster with this item.
    #[inline]
    pub(crate) fn in_cluster(&self, cluster: &Cluster<S>, item: u32) -> Option<&Metric<S>> {
        self.table.at(cluster.slot(item)?)
    }

    /// The metric with a number.
    pub(crate) fn numbered(&self, cluster: u32, item: u32) -> Option<&Metric<S>> {
        self.in_cluster(self.clusters.get(cluster)?, item)
    }

    /// The metric with a name as clients know it.
    pub(crate) fn named(&self, name: &str) -> Option<&Metric<S>> {
        self.table.named(name.strip_prefix(&*self.root)?.strip_prefix('.')?)
    }

    /// The names of the metrics below a name, or of the metric that has it, as clients know them.
    pub(crate) fn below(&self, name: &str) -> Vec<String> {
        let full = |name: &str| [&self.root, ".", name].concat();
        match self.local(name) {
            Some(Place::Above) => self.table.starting_with("").map(full).collect(),
            Some(Place::Name(name)) if self.has(name) => vec![full(name)],
            Some(Place::Name(name)) => self.table.starting_with(&[name, "."].concat()).map(full).collect(),
            None => Vec::new(),
        }
    }

    /// The names directly below a name, as clients know them; none below that of a metric. `None`
    /// if there is no such name.
    pub(crate) fn children<'m>(&'m self, name: &str) -> Option<Vec<Child<'m>>> {
        let children = match self.local(name)? {
            Place::Above => {
                let rest = self.root.get(name.len()..).unwrap_or_default().trim_start_matches('.');
                match rest.split_once('.').map_or(rest, |(next, _)| next) {
                    _ if self.is_empty() => return None,
                    "" => self.table.children(""),
                    next => vec![Child {
                        name: next,
                        is_leaf: false,
                    }],
                }
            }
            Place::Name(name) if self.has(name) => return Some(Vec::new()),
            Place::Name(name) => self.table.children(&[name, "."].concat()),
        };
        (!children.is_empty()).then_some(children)
    }

    /// Where a name is, as clients know it.
    fn local<'n>(&self, name: &'n str) -> Option<Place<'n>> {
        let is_above = |rest: &str| rest.is_empty() || rest.starts_with('.');
        if !name.is_empty() && self.root.strip_prefix(name).is_some_and(is_above) {
            return Some(Place::Above);
        }
        let name = name.strip_prefix(&*self.root)?.strip_prefix('.')?;
        Some(Place::Name(name))
    }

    /// The metrics that have a queue.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &Metric<S>> {
        self.table.queues()
    }

    /// A metric's name as clients know it.
    pub(crate) fn full_name<'m>(&'m self, metric: &'m Metric<S>) -> FullName<'m> {
        FullName {
            root: &self.root,
            name: &metric.name,
        }
    }
}

/// Where a name of clients is.
enum Place<'n> {
    /// It is the root, or above it.
    Above,
    /// It is this one below the root.
    Name(&'n str),
}

/// A metric's name as clients know it.
pub(crate) struct FullName<'m> {
    root: &'m str,
    name: &'m str,
}

impl Display for FullName<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.root, self.name)
    }
}

impl<S> fmt::Debug for Metrics<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} metrics", self.len())
    }
}
