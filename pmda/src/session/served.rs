//! An agent that serves requests on the thread that it was started on.

use std::collections::HashMap;
use std::time::Duration;

use pmda_core::ident::{InDom, MetricId};
use pmda_core::wire::encode::{ResultBuilder, is_whole};
use pmda_core::wire::{Kind, decode, number};

use super::agents;
use crate::metrics::Metrics;
use crate::profile::Profile;
use crate::request::{Clock, Wanted};
use crate::{Agent, Client, ClientId, Env, Error, Request, Result, Why, guard};

/// An agent, its declarations, and what pmcd has told it.
pub(super) struct Served<A: Agent> {
    pub(super) agent: A,
    pub(super) metrics: Metrics<A>,
    /// Those that pmcd has told something about.
    pub(super) clients: HashMap<i32, Client>,
    pub(super) profile: Profile,
    pub(super) draft: ResultBuilder,
    /// The metrics of the present fetch, and their clusters: their memory is used again.
    pub(super) asked: Vec<MetricId>,
    pub(super) clusters: Vec<u32>,
    domain: u32,
    /// How far a harness has moved the clock.
    ahead: Duration,
}

impl<A: Agent> Served<A> {
    pub(super) fn start(env: &Env) -> Result<Served<A>> {
        guard::install();
        let mut metrics = guard::call("metrics", || Ok(Metrics::of(Some(env))))?;
        for problem in metrics.problems() {
            log::error!("{problem}");
        }
        if !metrics.problems().is_empty() {
            return Err(Error::INVAL);
        }
        let mut agent = guard::call("start", || A::start(env))?;
        for domain in metrics.indoms.values_mut() {
            let indom = InDom::new(env.domain(), domain.serial);
            guard::call(format_args!("instance domain {indom}"), || {
                domain.table.bind(&mut agent, indom, env.var_dir());
                Ok(())
            })?;
        }
        Ok(Served {
            agent,
            metrics,
            clients: HashMap::new(),
            profile: Profile::all(),
            draft: ResultBuilder::new()?,
            asked: Vec::new(),
            clusters: Vec::new(),
            domain: env.domain(),
            ahead: Duration::ZERO,
        })
    }

    pub(super) fn agent(&mut self) -> &mut A {
        &mut self.agent
    }

    /// The instances of a domain as they are: nothing is read for this.
    pub(super) fn instance_names(&mut self, serial: u32) -> Vec<(i32, String)> {
        let mut names = Vec::new();
        if let Some(domain) = self.metrics.indoms.get(&serial) {
            domain.table.each(&mut self.agent, &mut |inst, name| {
                names.push((inst, String::from_utf8_lossy(name).into_owned()));
            });
        }
        names
    }

    pub(super) fn advance(&mut self, time: Duration) {
        self.ahead += time;
    }

    /// Serves a request. What is returned is to be sent.
    pub(super) fn request(&mut self, pdu: &[u8]) -> &[u8] {
        if !is_whole(pdu) {
            log::error!("{}: a request of {} bytes is not whole", A::NAME, pdu.len());
            return &[];
        }
        let kind = Kind(number(pdu, 4).unwrap_or(0));
        let from = ClientId(number(pdu, 8).unwrap_or(0));
        let outcome = match kind {
            Kind::PDU_FETCH => self.fetch(pdu, from),
            Kind::PDU_RESULT => self.store(pdu, from),
            Kind::PDU_DESC_REQ => self.desc(pdu, from),
            Kind::PDU_INSTANCE_REQ => self.instances(pdu, from),
            Kind::PDU_TEXT_REQ => self.text(pdu, from),
            Kind::PDU_LABEL_REQ => self.labels(pdu, from),
            Kind::PDU_PMNS_NAMES => self.id_of_name(pdu, from),
            Kind::PDU_PMNS_IDS => self.name_of_id(pdu, from),
            Kind::PDU_PMNS_CHILD => self.names_below(pdu, from, false),
            Kind::PDU_PMNS_TRAVERSE => self.names_below(pdu, from, true),
            other => {
                self.take_note(other, pdu, from);
                return &[];
            }
        };
        if let Err(error) = outcome {
            self.draft.reply().error(error.code());
        }
        self.draft.reply().bytes()
    }

    /// What gets no reply.
    fn take_note(&mut self, kind: Kind, pdu: &[u8], from: ClientId) {
        match kind {
            Kind::PDU_PROFILE => {
                if let Ok(profile) = decode::profile(pdu) {
                    self.profile = Profile::new(profile, self.domain);
                }
            }
            Kind::PDU_ATTR => {
                if let Ok(attribute) = decode::attribute(pdu) {
                    let client = self.clients.entry(from.0).or_insert_with(|| Client::new(from));
                    client.set(attribute.key, attribute.value);
                }
            }
            Kind::PDU_ERROR => match decode::error(pdu) {
                Ok(code) if code == Error::NOTCONN.code() => self.client_ended(from),
                Ok(code) => log::error!("{}: unexpected error pdu from pmcd: {code}", A::NAME),
                Err(_) => {}
            },
            Kind::PDU_CONTROL_REQ => {}
            other => log::error!("{}: Unrecognised pdu type: {other}?", A::NAME),
        }
    }

    /// The context of a client has ended.
    pub(super) fn client_ended(&mut self, client: ClientId) {
        self.clients.remove(&client.0);
        let agent = &mut self.agent;
        // What fails is logged, and costs nothing else.
        for ended in self.metrics.iter().filter_map(|metric| metric.ended.as_ref()) {
            let _ = guard::call("an event queue", || {
                ended(agent, client);
                Ok(())
            });
        }
        let _ = guard::call(format_args!("the end of client {client}"), || {
            agent.client_ended(client);
            Ok(())
        });
    }

    /// What is known of a client.
    pub(super) fn client(&self, id: ClientId) -> Client {
        let known = self.clients.get(&id.0);
        known.cloned().unwrap_or_else(|| Client::new(id))
    }

    /// The clock of a request.
    pub(super) fn clock(&self) -> Clock {
        Clock::new(self.ahead)
    }

    /// Begins a request for current values.
    pub(super) fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        guard::call("begin", || self.agent.begin(request)).map_err(agents)
    }

    /// Lets the agent declare what comes and goes.
    pub(super) fn declare_dynamic(&mut self) {
        let (agent, metrics) = (&mut self.agent, &mut self.metrics);
        // A panic is logged; what was declared before it is there.
        let _ = guard::call("dynamic", || {
            agent.dynamic(metrics);
            Ok(())
        });
        if metrics.names_changed {
            metrics.finish();
        }
    }

    /// Reads what the metrics of a cluster show.
    pub(super) fn refresh(&mut self, number: u32, request: &Request<'_>) -> Result<()> {
        let Some(cluster) = self.metrics.clusters.get_mut(&number) else {
            return Ok(());
        };
        let is_valid = match (cluster.read, cluster.valid_for) {
            (Some(read), Some(valid)) => request.now().saturating_duration_since(read) < valid,
            _ => false,
        };
        if is_valid {
            return Ok(());
        }
        cluster.read = None;
        for refresher in &cluster.refreshers {
            guard::call(format_args!("reading cluster {number}"), || {
                refresher(&mut self.agent, request)
            })
            .map_err(agents)?;
        }
        cluster.read = cluster.valid_for.map(|_| request.now());
        Ok(())
    }

    /// The number of a metric, as it is known to clients.
    pub(super) fn metric_id(&self, cluster: u32, item: u32) -> MetricId {
        MetricId::new(self.domain, cluster, item)
    }

    pub(super) fn indom(&self, serial: u32) -> InDom {
        InDom::new(self.domain, serial)
    }

    /// Whether there is such a metric. One that is not there may be one that the agent declares
    /// now.
    pub(super) fn has(&mut self, id: MetricId) -> bool {
        if id.domain() != self.domain {
            return false;
        }
        let is_there = |metrics: &Metrics<A>| metrics.numbered(id.cluster(), id.item()).is_some();
        if !is_there(&self.metrics) {
            self.declare_dynamic();
        }
        is_there(&self.metrics)
    }

    /// The serial of one of the agent's instance domains.
    pub(super) fn serial(&self, indom: InDom) -> Result<u32> {
        let serial = indom.serial();
        let is_there = indom == self.indom(serial) && self.metrics.indoms.contains_key(&serial);
        is_there.then_some(serial).ok_or(Error::INDOM)
    }

    /// Brings the instances of a domain up to date.
    pub(super) fn refresh_instances(&mut self, why: Why, serial: u32, client: &Client) -> Result<()> {
        let clusters = self.metrics.clusters_of(serial);
        let clock = self.clock();
        let request = Request::new(why, client, Wanted::Clusters(&clusters), &clock);
        self.begin(&request)?;
        // As long as one of them can be read, there is something to show.
        let outcomes: Vec<Result<()>> = clusters
            .iter()
            .map(|cluster| self.refresh(*cluster, &request))
            .collect();
        let is_read = outcomes.is_empty() || outcomes.iter().any(Result::is_ok);
        if is_read {
            Ok(())
        } else {
            outcomes.into_iter().collect()
        }
    }
}
