//! A running agent and its declarations.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pmda_core::ident::{InDom, MetricId};

use crate::agent::Agent;
use crate::client::{Client, ClientId};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::metrics::{Cluster, Metrics};
use crate::profile::{Profile, Selection};
use crate::request::{Clock, Wanted, WantedInstances};
use crate::request::{Request, Why};
use crate::result_sink::ResultSink;
use crate::value::Encoder;
use crate::{guard, problems};

/// A running agent, and what it declares.
pub(super) struct AgentState<A: Agent> {
    pub(super) agent: A,
    pub(super) metrics: Metrics<A>,
    domain: u32,
    /// `$PCP_VAR_DIR`, for files of instance domains.
    files: Option<PathBuf>,
    /// Set by a persistent domain that has to be saved.
    due: Arc<AtomicBool>,
    /// The number of requests that read clusters.
    requests: u64,
    /// The time by which a harness has moved the clock.
    pub(super) ahead: Duration,
}

impl<A: Agent> AgentState<A> {
    /// Starts the agent.
    ///
    /// # Errors
    /// Those of the agent; `-EINVAL` for what is wrong with its declarations, which the text says.
    pub(super) fn start(env: &Env) -> Result<AgentState<A>> {
        let mut env = env.clone();
        let root = guard::call("root", || Ok(A::root(&env)))?;
        env = env.with_root(root);
        let env = &env;
        let metrics = guard::call("metrics", || Ok(Metrics::of(env, A::metrics)))?;
        let problems = problems::of::<A>(&metrics);
        if !problems.is_empty() {
            return Err(Error::EINVAL.text(problems.join("; ")));
        }
        let env = &env.clone().with_schedules(metrics.schedules());
        let agent = guard::call("start", || A::start(env))?;
        let mut state = AgentState {
            agent,
            metrics,
            domain: env.domain(),
            files: env.var_dir().map(Path::to_owned),
            due: Arc::default(),
            requests: 0,
            ahead: Duration::ZERO,
        };
        let new = state.metrics.finish();
        state.bind(&new)?;
        Ok(state)
    }

    /// Tells instance domains their numbers and the directory of files.
    fn bind(&mut self, serials: &[u32]) -> Result<()> {
        let mut outcome = Ok(());
        for serial in serials {
            let indom = self.indom(*serial);
            let Some(domain) = self.metrics.indoms.get(serial) else {
                continue;
            };
            let bound = guard::call(format_args!("instance domain {indom}"), || {
                let files = self.files.as_deref();
                domain.instances.bind(&mut self.agent, indom, files, &self.due);
                Ok(())
            });
            outcome = outcome.and(bound);
        }
        outcome
    }

    /// Saves the persistent domains that have changed: once for all that the agent has done for a
    /// request, and before clients see it. What fails is logged.
    #[inline]
    pub(super) fn save(&mut self) {
        if self.due.load(Ordering::Relaxed) {
            self.save_domains();
        }
    }

    #[cold]
    fn save_domains(&mut self) {
        self.due.store(false, Ordering::Relaxed);
        for domain in self.metrics.indoms.values() {
            let _ = guard::serve(|_| {
                guard::call(format_args!("saving instance domain {}", domain.serial), || {
                    domain.instances.save(&mut self.agent);
                    Ok(())
                })
            });
        }
    }

    /// Tells queues and agent that the context of a client has ended. What fails is logged, and
    /// costs nothing else.
    pub(super) fn client_ended(&mut self, client: ClientId) {
        let agent = &mut self.agent;
        for ended in self.metrics.queues().filter_map(|metric| metric.ended.as_ref()) {
            let _ = guard::call("an event queue", || {
                ended(agent, client);
                Ok(())
            });
        }
        let _ = guard::call("the end of a client", || {
            agent.client_ended(client);
            Ok(())
        });
    }

    fn clock(&self) -> Clock {
        Clock::new(self.ahead)
    }

    /// Serves a request that needs current values or names: begins it, does the work, and calls the
    /// agent's hook at its end.
    ///
    /// # Errors
    /// That of [`Agent::begin`]; those of the work.
    fn serve<R>(&mut self, request: &Request<'_>, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        // After a mistake of this crate the agent is told of the end as well: it may act as its
        // client until then.
        let outcome = guard::serve(|_| {
            self.begin(request)?;
            work(self)
        });
        let of_all = outcome.as_ref().map(|_| ());
        let agent = &mut self.agent;
        let _ = guard::serve(|_| {
            guard::call("end", || {
                agent.end(request, of_all);
                Ok(())
            })
        });
        outcome
    }

    /// Begins a request.
    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        let outcome = guard::call("begin", || self.agent.begin(request));
        outcome.map_err(|error| {
            self.metrics.report("begin", &error);
            guard::agents(error)
        })
    }

    /// Lets the agent declare metrics that come and go.
    fn declare_dynamic(&mut self, request: &Request<'_>) {
        let (agent, metrics) = (&mut self.agent, &mut self.metrics);
        metrics.begin();
        // Metrics that were declared before an error, or a panic, stay.
        let outcome = guard::call("dynamic", || agent.dynamic(metrics, request));
        let new = metrics.finish();
        if let Err(error) = outcome {
            metrics.report("dynamic", &error);
        }
        if !new.is_empty() {
            // Errors are logged.
            let _ = self.bind(&new);
        }
    }

    /// Lets the agent declare the thing that a request is about, if it does not exist yet.
    fn declare_missing(&mut self, client: &Client) {
        let clock = self.clock();
        self.declare_dynamic(&names_request(client, &clock));
    }

    /// Puts the values of metrics into a sink.
    ///
    /// # Errors
    /// Those that cost the whole request. The error of one metric is in its set.
    pub(super) fn fetch(
        &mut self,
        asked: &[MetricId],
        client: &Client,
        profile: &Profile,
        sink: &mut ResultSink<'_>,
    ) -> Result<()> {
        let clock = self.clock();
        let instances = WantedInstances::Profile(profile);
        let request = Request::new(Why::Fetch, client, Wanted::Metrics(asked), instances, &clock);
        self.serve(&request, |state| state.fetch_begun(&request, asked, profile, sink))
    }

    /// As [`AgentState::fetch`], for a request that has begun.
    fn fetch_begun(
        &mut self,
        request: &Request<'_>,
        asked: &[MetricId],
        profile: &Profile,
        sink: &mut ResultSink<'_>,
    ) -> Result<()> {
        self.declare_dynamic(request);
        self.requests += 1;
        let mut has_read = false;
        for id in asked {
            let clusters = &self.metrics.clusters;
            if clusters.is_to_be_read(id.cluster(), id.item(), self.requests) {
                has_read = true;
                let _ = self.read_cluster(id.cluster(), request);
            }
        }
        if has_read {
            self.declare_dynamic(&request.after_reading());
        }
        sink.begin(self.metrics.take_changes(), asked.len())?;
        for id in asked {
            sink.open(*id)?;
            match self.values(*id, request.client(), profile, sink) {
                Ok(values) if values > 0 => sink.close(values),
                Ok(_) => sink.fail(0),
                Err(error) => {
                    self.report_value(*id, &error);
                    sink.fail(error.code().number());
                }
            }
        }
        Ok(())
    }

    /// Puts the values of a metric into a sink; returns their number.
    #[inline]
    fn values(&mut self, id: MetricId, client: &Client, profile: &Profile, sink: &mut ResultSink<'_>) -> Result<i32> {
        let cluster = self
            .metrics
            .clusters
            .get(id.cluster())
            .filter(|_| id.domain() == self.domain);
        let cluster = cluster.ok_or(Error::PMID)?;
        let metric = self.metrics.in_cluster(cluster, id.item()).ok_or(Error::PMID)?;
        if let Some(failure) = &cluster.failure {
            return Err(failure.clone());
        }
        // A parameter of events has values in records only.
        let Some(fetch) = &metric.fetch else { return Ok(0) };
        let mut out = Encoder::new(sink.part(), metric.kind, metric.unit);
        guard::call(format_args!("metric {}", self.metrics.full_name(metric)), || {
            fetch(&mut self.agent, &mut out, profile, client)
        })?;
        let values = out.values();
        if let Some(failure) = out.failure.take() {
            self.report_value(id, &failure);
        }
        Ok(values)
    }

    /// Logs an error of a metric, unless its cluster could not be read.
    #[cold]
    fn report_value(&mut self, id: MetricId, error: &Error) {
        let cluster = self.metrics.clusters.get(id.cluster());
        if cluster.is_some_and(|cluster| cluster.failure.is_none()) {
            self.report_of("metric", id, error);
        }
    }

    /// Logs an error about a declared metric.
    pub(super) fn report_of(&mut self, what: &str, id: MetricId, error: &Error) {
        let metric = self.metrics.numbered(id.cluster(), id.item());
        if let Some(metric) = metric.filter(|_| error.is_for_the_log()) {
            let name = self.metrics.full_name(metric).to_string();
            self.metrics.report(format_args!("{what} {name}"), error);
        }
    }

    pub(super) fn domain(&self) -> u32 {
        self.domain
    }

    pub(super) fn metric_id(&self, cluster: u32, item: u32) -> MetricId {
        MetricId::new(self.domain, cluster, item)
    }

    pub(super) fn indom(&self, serial: u32) -> InDom {
        InDom::new(self.domain, serial)
    }

    /// Returns whether the metric exists. The agent may declare a missing metric now.
    pub(super) fn has(&mut self, id: MetricId, client: &Client) -> bool {
        if id.domain() != self.domain {
            return false;
        }
        let is_there = |metrics: &Metrics<A>| metrics.numbered(id.cluster(), id.item()).is_some();
        if !is_there(&self.metrics) {
            self.declare_missing(client);
        }
        is_there(&self.metrics)
    }

    /// A cluster. The agent may declare a missing cluster now.
    pub(super) fn cluster(&mut self, number: u32, client: &Client) -> Option<&Cluster<A>> {
        if self.metrics.clusters.get(number).is_none() {
            self.declare_missing(client);
        }
        self.metrics.clusters.get(number)
    }

    /// The serial of one of the agent's instance domains. The agent may declare a missing domain
    /// now.
    ///
    /// # Errors
    /// `PM_ERR_INDOM` if the agent has not declared it.
    pub(super) fn serial(&mut self, indom: InDom, client: &Client) -> Result<u32> {
        let serial = indom.serial();
        if indom != self.indom(serial) {
            return Err(Error::INDOM);
        }
        if !self.metrics.indoms.contains_key(&serial) {
            self.declare_missing(client);
        }
        let is_there = self.metrics.indoms.contains_key(&serial);
        is_there.then_some(serial).ok_or(Error::INDOM)
    }

    /// Brings the selected instances of a domain up to date, and takes from them what a request is
    /// for.
    ///
    /// # Errors
    /// That of `begin`; that of the clusters with the domain's metrics, if none can be read; those
    /// of `take`.
    pub(super) fn with_instances<R>(
        &mut self,
        why: Why,
        serial: u32,
        selection: Selection<'_>,
        client: &Client,
        take: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let clusters = self.metrics.clusters_of(serial);
        let clock = self.clock();
        let instances = WantedInstances::Domain(serial, selection);
        let request = Request::new(why, client, Wanted::Clusters(&clusters), instances, &clock);
        self.serve(&request, |state| {
            state.read_clusters(&clusters, &request)?;
            take(state)
        })
    }

    /// Reads clusters. If one of them can be read, the request goes on.
    ///
    /// # Errors
    /// The first one, if none can be read.
    fn read_clusters(&mut self, clusters: &[u32], request: &Request<'_>) -> Result<()> {
        self.requests += 1;
        let mut outcome = Ok(());
        let mut is_read = clusters.is_empty();
        for number in clusters.iter().copied() {
            match self.read_cluster(number, request) {
                Ok(()) => is_read = true,
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        self.declare_dynamic(&request.after_reading());
        if is_read { Ok(()) } else { outcome }
    }

    /// Reads a cluster, once for the present request, and those that it is read with.
    ///
    /// # Errors
    /// That of the reading, which is logged.
    fn read_cluster(&mut self, number: u32, request: &Request<'_>) -> Result<()> {
        let mut failures = Vec::new();
        let clusters = &mut self.metrics.clusters;
        let is_read = clusters.read(number, self.requests, &mut self.agent, request, &mut |number, error| {
            failures.push((number, error.clone()));
        });
        for (number, error) in failures {
            self.metrics.report(format_args!("reading cluster {number}"), &error);
        }
        if is_read {
            return Ok(());
        }
        let failure = self
            .metrics
            .clusters
            .get(number)
            .and_then(|cluster| cluster.failure.clone());
        failure.map_or(Ok(()), Err)
    }

    /// Brings the names of metrics up to date, and takes from them what a request is for.
    ///
    /// # Errors
    /// That of `begin`; those of `take`.
    pub(super) fn with_names<R>(&mut self, client: &Client, take: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let clock = self.clock();
        let request = names_request(client, &clock);
        self.serve(&request, |state| {
            state.declare_dynamic(&request);
            take(state)
        })
    }
}

/// A request for names: it needs no values, and no instances.
fn names_request<'r>(client: &'r Client, clock: &'r Clock) -> Request<'r> {
    Request::new(Why::Names, client, Wanted::Clusters(&[]), WantedInstances::None, clock)
}
