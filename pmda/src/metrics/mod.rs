//! The declarations of an agent: metrics, clusters, instance domains, labels.

mod clusters;
mod declared;
mod define;
mod domain;
mod numbers;

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::Duration;

pub(crate) use declared::help_parts;
pub use declared::{Declared, DeclaredIndom};
pub(crate) use define::is_name;
pub use define::{Def, IndomRef};

pub(crate) use domain::Domain;
use pmda_core::labels::JsonLabels;

use crate::profile::Profile;
use crate::value::{Encoder, Semantics, Stored, Type};
use crate::{Agent, Client, ClientId, Env, Labels, Request, Result, Unit};
use clusters::{Cluster, Clusters};
use numbers::Numbers;

/// The most clusters, and the most metrics of one.
const CLUSTERS: u32 = 1 << 12;
const ITEMS: u32 = 1 << 10;

/// In a RESULT: names have changed (`PMCD_NAMES_CHANGE`, WIRE-52).
pub(crate) const NAMES_CHANGE: u32 = 0x10;
/// Labels have changed (`PMCD_LABEL_CHANGE`, FETCH-60).
const LABEL_CHANGE: u32 = 0x08;

/// Writes the values of a metric into the reply.
type Fetch<S> = Box<dyn Fn(&mut S, &mut Encoder<'_>, &Profile, &Client) -> Result<()>>;
/// Stores a value of an instance.
type Store<S> = Box<dyn Fn(&mut S, i32, Stored<'_>, Unit, &Client) -> Result<()>>;
/// Reads what the metrics of a cluster show.
type Refresh<S> = Box<dyn Fn(&mut S, &Request<'_>) -> Result<()>>;

/// Tells a queue that the context of a client has ended.
type End<S> = Box<dyn Fn(&mut S, ClientId)>;

/// A metric.
pub(crate) struct Metric<S> {
    /// Without that of the agent in front.
    pub(crate) name: String,
    pub(crate) cluster: u32,
    pub(crate) item: u32,
    pub(crate) kind: Type,
    pub(crate) semantics: Semantics,
    pub(crate) unit: Unit,
    /// The serial of its instance domain.
    pub(crate) indom: Option<u32>,
    pub(crate) help: String,
    pub(crate) labels: Labels,
    /// `None` for a parameter of events, which has values nowhere else.
    pub(crate) fetch: Option<Fetch<S>>,
    pub(crate) store: Option<Store<S>>,
    pub(crate) writable_by: fn(&Client) -> bool,
    pub(crate) ended: Option<End<S>>,
    /// Where its number is kept.
    cache: Option<u32>,
}

/// A metric as the log names it.
pub(crate) struct FullName<'m, A>(pub(crate) &'m Metric<A>);

impl<A: Agent> Display for FullName<'_, A> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "metric {}.{}", A::NAME, self.0.name)
    }
}

/// What an agent declares: its metrics and what belongs to them.
///
/// Metrics are numbered in the order of their declaration within their cluster, from 0. Archives
/// remember these numbers: a metric that goes, or comes in between, must not change those of
/// others, so pin them with [`Def::item`] then.
/// [`Harness::numbers`](crate::testing::Harness::numbers) shows them, for a test.
pub struct Metrics<S> {
    /// That of the agent.
    pub(crate) domain: u32,
    /// Those that were removed are `None`.
    list: Vec<Option<Metric<S>>>,
    by_name: BTreeMap<String, usize>,
    pub(crate) clusters: Clusters<S>,
    pub(crate) indoms: BTreeMap<u32, Domain<S>>,
    pub(crate) labels: Labels,
    /// The cluster of the next metric.
    cluster: u32,
    /// The cache with the numbers of the next metrics.
    cache: Option<u32>,
    numbers: Numbers,
    problems: Vec<String>,
    /// What has changed since the last fetch.
    pub(crate) changes: u32,
    /// The metrics that there always are have been declared.
    pub(crate) started: bool,
}

impl<A: Agent> Metrics<A> {
    /// What an agent declares from the start. Without an environment no file is read.
    pub(crate) fn of(env: Option<&Env>) -> Metrics<A> {
        let mut metrics = Metrics::new(env.map_or(A::DOMAIN, Env::domain));
        if let Some((env, variable)) = env.and_then(|env| Some((env, env.var_dir()?))) {
            metrics.numbers.bind(env.domain(), variable.to_owned());
        }
        A::metrics(&mut metrics);
        metrics.finish();
        metrics.started = true;
        metrics.changes = 0;
        metrics
    }
}

impl<S> Metrics<S> {
    fn new(domain: u32) -> Metrics<S> {
        Metrics {
            domain,
            list: Vec::new(),
            by_name: BTreeMap::new(),
            clusters: Clusters::new(),
            indoms: BTreeMap::new(),
            labels: Labels::new(),
            cluster: 0,
            cache: None,
            numbers: Numbers::default(),
            problems: Vec::new(),
            changes: 0,
            started: false,
        }
    }

    /// Gives the whole agent a label.
    pub fn label(&mut self, name: &str, value: &str) -> &mut Self {
        self.labels.push_text(name, value, false);
        self.check_labels(&self.labels.set(0), "the agent");
        self
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

    /// Gives the cluster a label.
    pub fn cluster_label(&mut self, name: &str, value: &str) -> &mut Self {
        let number = self.cluster;
        let cluster = self.current();
        cluster.labels.push_text(name, value, false);
        let made = cluster.labels.set(0);
        self.check_labels(&made, format_args!("cluster {number}"));
        self
    }

    /// Reads what the metrics of the cluster show: called before a request that needs one of them,
    /// or the instances that they have. If it fails, they have its error instead of values, and
    /// other clusters are not concerned.
    pub fn refresh(&mut self, refresh: impl Fn(&mut S, &Request<'_>) -> Result<()> + 'static) -> &mut Self {
        self.current().refreshers.push(Box::new(refresh));
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
    /// `cache`, which no domain of the agent may have.
    pub fn numbered_by(&mut self, cache: u32) -> &mut Self {
        self.cache = Some(cache);
        self
    }

    /// Takes a metric away; its number is not given to another one. Tells whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        let Some(slot) = self.by_name.remove(name) else {
            return false;
        };
        if let Some(metric) = self.list.get_mut(slot).and_then(Option::take) {
            self.clusters.at(metric.cluster).remove(metric.item);
            if let Some(cache) = metric.cache {
                self.numbers.release(cache, name);
            }
        }
        self.changes |= NAMES_CHANGE;
        true
    }

    /// Whether there is a metric with this name, the agent's not in front.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Labels have changed, such as those of instances: clients that keep them ask again. For
    /// [`Agent::dynamic`].
    pub fn labels_changed(&mut self) {
        self.changes |= LABEL_CHANGE;
    }

    /// Takes note of something that is wrong with the declarations.
    fn problem(&mut self, text: String) {
        if !self.problems.contains(&text) {
            if self.started {
                log::error!("{text}");
            }
            self.problems.push(text);
        }
    }

    /// Takes note of labels that cannot be sent.
    fn check_labels(&mut self, made: &Result<JsonLabels>, of: impl Display) {
        if let Err(error) = made {
            self.problem(format!("labels of {of}: {error}"));
        }
    }

    /// The declarations are complete, for now.
    pub(crate) fn finish(&mut self) {
        let twice = self.numbers.serials().find(|serial| self.indoms.contains_key(serial));
        if let Some(serial) = twice {
            self.problem(format!("the numbers of metrics cannot be in instance domain {serial}"));
        }
        self.numbers.save();
    }

    /// What is wrong with the declarations: the agent does not start with it.
    pub(crate) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The metric of a cluster with this item.
    #[inline]
    pub(crate) fn in_cluster(&self, cluster: &Cluster<S>, item: u32) -> Option<&Metric<S>> {
        self.list.get(cluster.slot(item)?)?.as_ref()
    }

    /// The metric with a number.
    pub(crate) fn numbered(&self, cluster: u32, item: u32) -> Option<&Metric<S>> {
        self.in_cluster(self.clusters.get(cluster)?, item)
    }

    /// The metric with a name, that of the agent not in front.
    pub(crate) fn named(&self, name: &str) -> Option<&Metric<S>> {
        self.list.get(*self.by_name.get(name)?)?.as_ref()
    }

    /// The metrics in the order of their names.
    pub(crate) fn by_name(&self) -> impl Iterator<Item = &Metric<S>> {
        self.by_name.values().filter_map(|slot| self.list.get(*slot)?.as_ref())
    }

    /// The metrics in the order of their declaration.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Metric<S>> {
        self.list.iter().flatten()
    }

    /// The clusters with metrics that have instances of a domain, else the one it was declared in.
    pub(crate) fn clusters_of(&self, serial: u32) -> Vec<u32> {
        let users = self.iter().filter(|metric| metric.indom == Some(serial));
        let mut clusters: Vec<u32> = users.map(|metric| metric.cluster).collect();
        if clusters.is_empty() {
            clusters.extend(self.indoms.get(&serial).map(|domain| domain.cluster));
        }
        clusters.sort_unstable();
        clusters.dedup();
        clusters
    }
}

impl<S> fmt::Debug for Metrics<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} metrics", self.by_name.len())
    }
}
