//! The declarations of an agent: metrics, clusters, instance domains, labels.

mod clusters;
mod declare;
mod declared;
mod define;
mod domain;
mod fields;
mod metric;
mod names;
mod numbers;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::time::Duration;

use log::Level;
use pmda_core::log::Counted;

pub(crate) use clusters::Cluster;
pub(crate) use declared::help_parts;
pub use declared::{Declared, DeclaredIndom};
pub use define::Def;
pub(crate) use domain::Domain;
pub use domain::IndomRef;
pub use fields::{Fields, Row};
use metric::NAME_RULE;
pub(crate) use metric::{Metric, is_name};
pub use metric::{MetricRef, Problem};

use crate::env::Env;
use crate::env::{Schedule, Schedules};
use crate::error::{Error, Result};
use crate::labels::Given;
use crate::labels::{LabelValue, Labels};
use crate::logger::describe;
use crate::reports::Reports;
use crate::request::Request;
use clusters::Clusters;
use numbers::Numbers;
use table::Table;

/// The most clusters.
const CLUSTERS: u32 = 1 << 12;

/// Flag of a RESULT: names have changed (`PMCD_NAMES_CHANGE`, WIRE-52).
const NAMES_CHANGE: u32 = 0x10;
/// Flag of a RESULT: labels have changed (`PMCD_LABEL_CHANGE`, FETCH-60).
const LABEL_CHANGE: u32 = 0x08;

/// The declarations of an agent: its metrics and what belongs to them.
///
/// Metrics are numbered from 0 in their cluster, in the order of their declaration. Archives
/// remember these numbers, so a metric that is removed, or added between others, must not change
/// the numbers of the others: pin them with [`Def::item`], or keep them in a file
/// ([`Metrics::numbered_by`]). [`Harness::numbers`](crate::testing::Harness::numbers) shows them,
/// for a test.
pub struct Metrics<S> {
    env: Env,
    table: Table<S>,
    pub(crate) clusters: Clusters<S>,
    pub(crate) indoms: BTreeMap<u32, Domain<S>>,
    pub(crate) labels: Labels,
    /// Serials of domains that were not bound yet.
    unbound: Vec<u32>,
    /// The cluster of the next metric.
    cluster: u32,
    /// The problem of the place of the next metrics, which cannot be declared then.
    misplaced: Option<String>,
    /// The serial of the file with the numbers of the next metrics.
    cache: Option<u32>,
    numbers: Numbers,
    schedules: Schedules,
    /// True if names of metrics are dynamic: pmcd asks the agent for them.
    is_dynamic: bool,
    /// Names with dynamic names below them.
    dynamic_below: BTreeSet<String>,
    /// The problems of the static declarations.
    problems: Vec<String>,
    /// Problems of later declarations, and errors, that were logged.
    reports: Reports,
    /// Changes since clients were last told.
    changes: u32,
    /// The fingerprint of the names that clients were last told of.
    told: u64,
    /// The number of calls of the agent that declare something.
    round: u64,
    /// The static metrics were declared.
    started: bool,
}

impl<S> Metrics<S> {
    /// The declarations that an agent makes from the start, with `declare`.
    pub(crate) fn of(env: &Env, declare: impl FnOnce(&mut Metrics<S>)) -> Metrics<S> {
        let mut metrics = Metrics::new(env.clone());
        if let Some(variable) = env.var_dir() {
            metrics.numbers.bind(env.domain(), variable.to_owned());
        }
        declare(&mut metrics);
        metrics.numbers.save();
        metrics.started = true;
        metrics.take_changes();
        metrics
    }

    fn new(env: Env) -> Metrics<S> {
        Metrics {
            labels: of_every_agent(&env),
            env,
            table: Table::new(),
            clusters: Clusters::new(),
            indoms: BTreeMap::new(),
            unbound: Vec::new(),
            cluster: 0,
            misplaced: None,
            cache: None,
            numbers: Numbers::default(),
            schedules: Schedules::new(),
            is_dynamic: false,
            dynamic_below: BTreeSet::new(),
            problems: Vec::new(),
            reports: Reports::default(),
            changes: 0,
            told: 0,
            round: 0,
            started: false,
        }
    }

    /// The environment of the agent, with its options and its folder: for metrics that a file of
    /// configuration names.
    ///
    /// ```
    /// # use pmda::prelude::*;
    /// # struct Probes;
    /// fn declare(m: &mut Metrics<Probes>) {
    ///     let file = m.env().folder().join("probes.conf");
    ///     match fs::read_to_string(file) {
    ///         Ok(names) => names.lines().for_each(|name| drop(m.value(name, |_| 1))),
    ///         Err(error) => m.problem(error),
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn env(&self) -> &Env {
        &self.env
    }

    pub(crate) fn domain(&self) -> u32 {
        self.env.domain()
    }

    /// Gives the whole agent a label, in place of one with this name.
    pub fn label(&mut self, name: impl AsRef<str>, value: impl Into<LabelValue>) -> &mut Self {
        let given = self.labels.give(name.as_ref(), value.into(), false);
        self.labelled(given, "the agent")
    }

    /// Gives the whole agent these labels, in place of all that it had but for `agent`, which is its
    /// name unless they say otherwise.
    pub fn set_labels(&mut self, labels: Labels) -> &mut Self {
        let given = self.labels.replace(of_every_agent(&self.env).join(labels));
        self.labelled(given, "the agent")
    }

    /// Puts the declarations that follow into this cluster, whose metrics are read together. The
    /// first cluster is 0, the last possible one 4095: after a greater number no metric can be
    /// declared.
    pub fn cluster(&mut self, number: u32) -> &mut Self {
        (self.cluster, self.cache, self.misplaced) = (number, None, None);
        if number < CLUSTERS {
            self.clusters.at(number);
        } else {
            self.misplace(format!("cluster {number}: the last possible one is {}", CLUSTERS - 1));
        }
        self
    }

    /// Takes note that the next metrics have no place.
    fn misplace(&mut self, text: String) {
        self.misplaced = Some(text.clone());
        self.problem(text);
    }

    /// The cluster that is being declared, if it can be.
    fn current(&mut self) -> Option<&mut Cluster<S>> {
        (self.cluster < CLUSTERS).then(|| self.clusters.at(self.cluster))
    }

    /// Gives the cluster a label, in place of one with this name.
    pub fn cluster_label(&mut self, name: impl AsRef<str>, value: impl Into<LabelValue>) -> &mut Self {
        let number = self.cluster;
        let give = |cluster: &mut Cluster<S>| cluster.labels.give(name.as_ref(), value.into(), false);
        match self.current().map(give) {
            Some(given) => self.labelled(given, format_args!("cluster {number}")),
            None => self,
        }
    }

    /// Gives the cluster these labels, in place of all that it had.
    pub fn set_cluster_labels(&mut self, labels: Labels) -> &mut Self {
        let number = self.cluster;
        match self.current().map(|cluster| cluster.labels.replace(labels)) {
            Some(given) => self.labelled(given, format_args!("cluster {number}")),
            None => self,
        }
    }

    /// Reads what the metrics of the cluster show: called before a request that needs one of them,
    /// or the instances that they have. If it fails, they have its error instead of values, and
    /// other clusters are not concerned.
    ///
    /// Several for one cluster are called in order. Those that are given in a later call of
    /// [`Agent::dynamic`](crate::Agent::dynamic) take the place of all earlier ones.
    pub fn refresh(&mut self, refresh: impl Fn(&mut S, &Request<'_>) -> Result<()> + 'static) -> &mut Self {
        let round = self.round;
        if let Some(cluster) = self.current() {
            cluster.add_refresh(round, Box::new(refresh));
        }
        self
    }

    /// Has the functions of another cluster read this one as well: they are called once for a request
    /// that needs either, and if they fail, the metrics of both have the error. For several clusters
    /// that show one file. [`Request::clusters`] says which of them a request needs.
    ///
    /// ```
    /// # use pmda::prelude::*;
    /// # #[derive(Default)]
    /// # struct Load { one: f64, tasks: u32 }
    /// # fn declare(m: &mut Metrics<Load>) {
    /// m.cluster(0).refresh(|s, _| {
    ///     let text = fs::read_to_string("/proc/loadavg")?;
    ///     // …
    /// #   let _ = (text, s);
    ///     Ok(())
    /// });
    /// m.value("one", |s| s.one).help("Load of the last minute");
    /// m.cluster(1).refresh_with(0);
    /// m.value("tasks", |s| s.tasks).help("Tasks");
    /// # }
    /// ```
    pub fn refresh_with(&mut self, cluster: u32) -> &mut Self {
        let round = self.round;
        if let Some(current) = self.current() {
            current.read_with(round, cluster);
        }
        self
    }

    /// Sets the time for which the values of the cluster are valid: requests within it get the same
    /// values, without another reading. After a failure the next request reads again.
    pub fn valid_for(&mut self, time: Duration) -> &mut Self {
        if let Some(cluster) = self.current() {
            cluster.valid_for = Some(time);
        }
        self
    }

    /// Keeps the numbers of the cluster's next metrics over restarts of the agent, for metrics that
    /// are declared at run time. The file is that of a persistent instance domain with the serial
    /// `cache`, which no domain of the agent may have. The file keeps numbers of [`Def::item`],
    /// too.
    pub fn numbered_by(&mut self, cache: u32) -> &mut Self {
        if self.indoms.contains_key(&cache) {
            self.cache = None;
            self.misplace(format!("the numbers of metrics cannot be in instance domain {cache}"));
        } else {
            self.cache = Some(cache);
            self.is_dynamic = true;
        }
        self
    }

    /// The item that a metric with this name has, or will have, after [`Metrics::numbered_by`]: for
    /// something that is numbered after it, such as an instance domain of its own.
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

    /// Declares that names of metrics come and go: pmcd asks the agent for names, and has none in a
    /// file that `--write` makes. [`Metrics::numbered_by`] implies it, and so does an agent that
    /// declares no metric in [`Agent::metrics`](crate::Agent::metrics).
    pub fn dynamic_names(&mut self) -> &mut Self {
        self.is_dynamic = true;
        self
    }

    /// Declares that names below this one come and go, as [`Metrics::dynamic_names`] does for all:
    /// the others are in the file that `--write` makes. The root is not part of the name; that of
    /// an agent with several roots may be one of them, also one below which no metric is declared
    /// yet. For [`Agent::metrics`](crate::Agent::metrics).
    pub fn dynamic_names_below(&mut self, name: impl AsRef<str>) -> &mut Self {
        let name = name.as_ref();
        if !is_name(name) {
            self.problem(format!("names below \"{name}\": {NAME_RULE}"));
        } else if let Some(metric) = self.table.at_or_above(name) {
            let text =
                format!("metric {metric}: no name can be below a metric, so names below {name} cannot be dynamic");
            self.problem(text);
        } else {
            self.dynamic_below.insert(name.to_owned());
        }
        self
    }

    /// A name with dynamic names below it that is the metric's own name, or is below the metric.
    fn dynamic_at_or_below(&self, metric: &str) -> Option<&str> {
        let is_below = |name: &str| {
            let rest = name.strip_prefix(metric);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.dynamic_below
            .iter()
            .map(String::as_str)
            .find(|name| is_below(name))
    }

    /// Removes a metric. Its number is given to another metric only if no other number is left.
    /// Returns whether the metric existed.
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

    /// Releases the instance domain and the number of a metric that was removed.
    fn forget(&mut self, metric: &Metric<S>) {
        if let Some(serial) = metric.indom {
            self.release_indom(serial, metric.cluster);
        }
        if let Some(cache) = metric.cache {
            self.numbers.release(cache, &metric.name);
        }
    }

    /// Removes a cluster: its metrics, refresh functions and labels, and the instance domains that
    /// were declared in it and that no metric of another cluster has. If it is declared anew, its
    /// metrics are numbered from 0 again, apart from [`Metrics::numbered_by`] and [`Def::item`].
    /// Returns whether the cluster existed.
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

    /// Returns whether a metric has this name; the root is not part of `name`.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.table.has(name)
    }

    /// The metric with a name; the root is not part of it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<MetricRef> {
        let metric = self.table.named(name)?;
        Some(MetricRef::new(metric.cluster, metric.item))
    }

    /// The number of metrics.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether no metric is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first part of the names of all metrics; empty if the agent has several
    /// ([`Agent::root`](crate::Agent::root)).
    #[must_use]
    pub fn root(&self) -> &str {
        self.env.root()
    }

    /// Labels have changed, such as those of instances: clients that keep them ask again. For
    /// [`Agent::dynamic`](crate::Agent::dynamic). Labels that are given to something by its name
    /// need not be told of.
    pub fn labels_changed(&mut self) {
        self.changes |= LABEL_CHANGE;
    }

    /// Reports a fault of the declarations, or of the file that they were made from. In
    /// [`Agent::metrics`](crate::Agent::metrics) the agent then does not start, and `--check` says
    /// why; in [`Agent::dynamic`](crate::Agent::dynamic) it is logged, once.
    pub fn problem(&mut self, what: impl Display) {
        let text = what.to_string();
        self.problem_of(&text, &text);
    }

    /// As [`Metrics::problem`], of a thing, which has some lines of the log and no more.
    fn problem_of(&mut self, thing: &str, text: &str) {
        if self.started {
            self.reports.log(Level::Error, thing, text);
        } else if !self.problems.iter().any(|problem| problem == text) {
            self.problems.push(text.to_owned());
        }
    }

    /// Logs an error that a client gets, once, with the metric or other thing that it is about.
    pub(crate) fn report(&mut self, of: impl Display, error: &Error) {
        if error.is_for_the_log() {
            let of = of.to_string();
            self.reports
                .log(Level::Warn, &of, format_args!("{of}: {}", describe(error)));
        }
    }

    /// Takes note that labels were given to something, or of what is wrong with them.
    fn labelled(&mut self, given: Given, of: impl Display) -> &mut Self {
        self.changes |= if given.is_changed { LABEL_CHANGE } else { 0 };
        if let Some(text) = given.problem {
            let of = of.to_string();
            self.problem_of(&of, &format!("{of}: {text}"));
        }
        self
    }

    /// Begins a call of the agent that declares something.
    pub(crate) fn begin(&mut self) {
        self.round += 1;
        (self.cluster, self.cache, self.misplaced) = (0, None, None);
    }

    /// Ends such a call. Returns the serials of new domains.
    pub(crate) fn finish(&mut self) -> Vec<u32> {
        self.numbers.save();
        std::mem::take(&mut self.unbound)
    }

    /// The changes since this was called last, which clients are to be told of (`PMCD_*_CHANGE`).
    pub(crate) fn take_changes(&mut self) -> u32 {
        let names = self.table.fingerprint();
        if std::mem::replace(&mut self.told, names) != names {
            self.changes |= NAMES_CHANGE;
        }
        std::mem::take(&mut self.changes)
    }

    /// Declares that the agent reads something in the background, and how often: see
    /// [`Background`](crate::Background), which has an example. For
    /// [`Agent::metrics`](crate::Agent::metrics).
    pub fn background(&mut self, name: impl AsRef<str>) -> &mut Schedule {
        let name = name.as_ref();
        if self.started {
            self.problem(format!(
                "background {name:?} is declared too late: declare it in Agent::metrics"
            ));
        } else if self.schedules.contains_key(name) {
            self.problem(format!("background {name:?} is declared twice"));
        }
        self.schedules.entry(name.to_owned()).or_default()
    }

    /// What the agent reads in the background, by name.
    pub(crate) fn schedules(&self) -> &Schedules {
        &self.schedules
    }

    /// The problems that were found while metrics were declared from the start.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.problems.clone();
        let of_schedules = self.schedules.iter();
        problems.extend(
            of_schedules.filter_map(|(name, schedule)| Some(format!("background {name:?}: {}", schedule.problem()?))),
        );
        let unread = self.clusters.unread();
        problems.extend(
            unread
                .map(|(number, other)| format!("cluster {number} is read with cluster {other}, which has no refresh")),
        );
        problems
    }

    /// The metric of a cluster with this item.
    pub(crate) fn in_cluster(&self, cluster: &Cluster<S>, item: u32) -> Option<&Metric<S>> {
        self.table.at(cluster.slot(item)?)
    }

    pub(crate) fn numbered(&self, cluster: u32, item: u32) -> Option<&Metric<S>> {
        self.in_cluster(self.clusters.get(cluster)?, item)
    }

    /// The metrics with a queue.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &Metric<S>> {
        self.table.queues()
    }
}

/// The labels that every agent has, by which archives select.
fn of_every_agent(env: &Env) -> Labels {
    Labels::new().add("agent", env.name())
}

impl<S> fmt::Debug for Metrics<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&Counted(self.len(), "metric", "metrics"), out)
    }
}
