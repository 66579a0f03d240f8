//! Everything that a client can ask of an agent, as a map from question to answer.

use std::collections::{BTreeMap, BTreeSet};

use pmda_core::constants::*;
use pmda_core::error::{Error, Result};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::log::Counted;
use pmda_core::wire::Kind;
use pmda_core::wire::client::{self, Desc, InDomProfile};
use pmda_core::wire::encode::ResultBuilder;
use pmda_core::wire::result::{self, MetricValues, SentValue};

use crate::client::Client;
use crate::value;

/// The answers of one survey, by question.
pub type Answers = BTreeMap<String, String>;

/// The number of instances of a domain that are looked up one by one.
const LOOKED_UP: usize = 100;
/// The number of names, or of metrics, in one request: pmcd takes 64 KiB from a client.
const AT_ONCE: usize = 500;
const METRICS_AT_ONCE: usize = 10_000;
/// Size in bytes above which pmcd takes no PDU from a client, and ends its connection.
const CLIENT_PDU_MAX: usize = 65_536;

/// `PM_SEM_COUNTER`: a metric whose values only rise.
const PM_SEM_COUNTER: u32 = 1;

/// The answers of one agent to a client, and how many things they are about.
#[derive(Clone, Default, Debug)]
pub struct Survey {
    /// The number of metrics.
    pub metrics: usize,
    /// The number of instances.
    pub instances: usize,
    /// The number of labels.
    pub labels: usize,
    /// The answers.
    pub answers: Answers,
    /// The first and the last value of each counter, by metric and instance.
    pub counters: BTreeMap<String, (i128, i128)>,
}

impl Survey {
    /// Returns whether the agent has answered at all, with something else than an error. Names and
    /// metric identifiers are answers of pmcd.
    #[must_use]
    pub fn has_answers(&self) -> bool {
        let is_of_pmcd = |question: &str| question.ends_with(" pmid") || question.ends_with(" names");
        let mut answers = self.answers.iter();
        answers.any(|(question, answer)| !is_of_pmcd(question) && !answer.starts_with("error"))
    }
}

/// The extent of a survey.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The number of times that the values of all metrics are fetched.
    pub fetches: usize,
    /// True if each value is also stored back.
    pub stores: bool,
}

/// The metrics of a pmcd by their agents' domains, each with its name.
pub type Metrics = BTreeMap<u32, Vec<(String, MetricId)>>;

/// Lists all metrics that pmcd knows.
///
/// # Errors
/// What pmcd says.
pub fn metrics(client: &mut Client) -> Result<Metrics> {
    let reply = client.ask(|request| request.traverse(b""), Kind::PDU_PMNS_NAMES)?;
    let mut names: Vec<Vec<u8>> = client::names(&reply)?.map(|(name, _)| name.to_vec()).collect();
    names.sort();
    let mut metrics = Metrics::new();
    for names in names.chunks(AT_ONCE) {
        let ids = identifiers(client, names)?;
        for (name, id) in names.iter().zip(ids) {
            let name = String::from_utf8_lossy(name).into_owned();
            metrics.entry(id.domain()).or_default().push((name, id));
        }
    }
    Ok(metrics)
}

/// The identifiers of names, `PM_ID_NULL` for a name that does not exist.
fn identifiers(client: &mut Client, names: &[Vec<u8>]) -> Result<Vec<MetricId>> {
    let all = |request: &mut client::ClientRequest| request.names(names.iter().map(Vec::as_slice));
    match client.ask(all, Kind::PDU_PMNS_IDS) {
        Ok(reply) => Ok(client::ids(&reply)?.1.collect()),
        Err(_) if names.len() == 1 => Ok(vec![MetricId::NULL]),
        // One of the names does not exist: ask for each by itself.
        Err(_) => names
            .chunks(1)
            .map(|one| identifiers(client, one).map(|ids| ids[0]))
            .collect(),
    }
}

/// Asks everything about the metrics of one agent.
///
/// # Errors
/// When the connection with pmcd ends. What pmcd or the agent refuses is an answer.
pub fn take(client: &mut Client, metrics: &[(String, MetricId)], extent: Extent) -> Result<Survey> {
    let mut surveyor = Surveyor {
        client,
        survey: Survey::default(),
        domains: BTreeMap::new(),
    };
    surveyor.survey.metrics = metrics.len();
    let mut described = Vec::new();
    let mut clusters = BTreeSet::new();
    for (name, id) in metrics {
        let desc = surveyor.metric(name, *id, &mut clusters)?;
        described.extend(desc.map(|desc| (name.as_str(), desc)));
    }
    for (_, desc) in &described {
        if !desc.indom.is_null() && !surveyor.domains.contains_key(&desc.indom.0) {
            surveyor.indom(desc.indom)?;
        }
    }
    surveyor.all_values(&described, extent.fetches)?;
    if extent.stores {
        surveyor.stores(&described)?;
    }
    Ok(surveyor.survey)
}

/// Asks one agent, and notes its answers.
struct Surveyor<'a> {
    client: &'a mut Client,
    survey: Survey,
    /// The instances of each domain.
    domains: BTreeMap<u32, Vec<i32>>,
}

/// The answer in which a failure is shown; an end of the connection is none.
fn answer<T>(outcome: Result<T>, show: impl FnOnce(T) -> String) -> Result<String> {
    match outcome {
        Ok(reply) => Ok(show(reply)),
        Err(Error::EOF) => Err(Error::EOF),
        Err(error) => Ok(format!("error {error}")),
    }
}

impl Surveyor<'_> {
    fn note(&mut self, question: String, answer: String) {
        self.survey.answers.insert(question, answer);
    }

    /// Asks what a metric is.
    fn metric(&mut self, name: &str, id: MetricId, clusters: &mut BTreeSet<u32>) -> Result<Option<Desc>> {
        if id == MetricId::NULL {
            self.note(format!("{name} pmid"), "error: it has none".to_owned());
            return Ok(None);
        }
        self.note(format!("{name} pmid"), id.to_string());
        let reply = self.client.ask(|request| request.desc(id), Kind::PDU_DESC);
        let desc = reply.and_then(|reply| client::desc(&reply));
        let shown = answer(desc, |desc| {
            format!(
                "pmid {} type {} indom {} semantics {} units {:08x}",
                desc.metric,
                value::type_name(desc.kind),
                desc.indom,
                desc.semantics,
                desc.units
            )
        })?;
        self.note(format!("{name} desc"), shown);
        let reply = self.client.ask(|request| request.names_of(id), Kind::PDU_PMNS_NAMES);
        let names = answer(reply, |reply| {
            let names = client::names(&reply).into_iter().flatten();
            names.map(|(name, _)| value::quoted(name)).collect()
        })?;
        self.note(format!("{name} names"), names);
        self.texts(name, id.0, PM_TEXT_PMID)?;
        self.labels(&format!("{name} labels"), id.0, PM_LABEL_ITEM)?;
        let cluster = MetricId::new(id.domain(), id.cluster(), 0);
        if clusters.insert(cluster.0) {
            self.labels(&format!("cluster {} labels", id.cluster()), cluster.0, PM_LABEL_CLUSTER)?;
        }
        if clusters.len() == 1 && clusters.insert(u32::MAX) {
            self.labels("domain labels", id.domain(), PM_LABEL_DOMAIN)?;
        }
        Ok(desc.ok())
    }

    fn texts(&mut self, about: &str, ident: u32, of: i32) -> Result<()> {
        for (kind, what) in [(PM_TEXT_ONELINE, "line"), (PM_TEXT_HELP, "text")] {
            let reply = self
                .client
                .ask(|request| request.text(ident, of | kind), Kind::PDU_TEXT);
            let shown = answer(reply, |reply| value::quoted(client::text(&reply).unwrap_or_default()))?;
            self.note(format!("{about} help {what}"), shown);
        }
        Ok(())
    }

    fn labels(&mut self, about: &str, ident: u32, kind: i32) -> Result<()> {
        let reply = match self.client.ask(|request| request.label(ident, kind), Kind::PDU_LABEL) {
            Ok(reply) => reply,
            failed => {
                let shown = answer(failed, |_| String::new())?;
                self.note(about.to_owned(), shown);
                return Ok(());
            }
        };
        let sets = client::labels(&reply)?;
        self.note(about.to_owned(), format!("{} sets", sets.len()));
        for set in sets {
            let labels: Vec<_> = set.labels().collect();
            self.survey.labels += labels.len();
            let mut shown: String = labels
                .iter()
                .map(|label| {
                    let (name, value) = (label.name.escape_ascii(), label.value.escape_ascii());
                    format!("{name}={value} flags {:x}, ", label.flags)
                })
                .collect();
            if set.count < 0 {
                shown = format!("error {}", set.count);
            }
            shown += &value::quoted(set.json);
            self.note(format!("{about} set {}", set.inst), shown);
        }
        Ok(())
    }

    /// Asks all about an instance domain.
    fn indom(&mut self, indom: InDom) -> Result<()> {
        let about = format!("indom {indom}");
        let reply = self.client.ask(|request| request.instances(indom), Kind::PDU_INSTANCE);
        let instances: Vec<(i32, Vec<u8>)> = match &reply {
            Ok(reply) => client::instances(reply)?
                .map(|(inst, name)| (inst, name.to_vec()))
                .collect(),
            Err(_) => Vec::new(),
        };
        let shown = answer(reply, |_| Counted(instances.len(), "instance", "instances").to_string())?;
        self.note(format!("{about} instances"), shown);
        self.survey.instances += instances.len();
        for (number, (inst, name)) in instances.iter().enumerate() {
            self.note(format!("{about} instance {inst}"), value::quoted(name));
            if number < LOOKED_UP {
                self.look_up(&about, indom, *inst, None)?;
                self.look_up(&about, indom, PM_IN_NULL, Some(name))?;
            }
        }
        self.look_up(&about, indom, 0x7fff_fff0, None)?;
        self.look_up(&about, indom, PM_IN_NULL, Some(b"no such instance"))?;
        self.texts(&about, indom.0, PM_TEXT_INDOM)?;
        self.labels(&format!("{about} labels"), indom.0, PM_LABEL_INDOM)?;
        self.labels(&format!("{about} instance labels"), indom.0, PM_LABEL_INSTANCES)?;
        let numbers = instances.into_iter().map(|(inst, _)| inst).collect();
        self.domains.insert(indom.0, numbers);
        Ok(())
    }

    /// Asks for the name of an instance, or for the instance with a name.
    fn look_up(&mut self, about: &str, indom: InDom, inst: i32, name: Option<&[u8]>) -> Result<()> {
        let reply = self
            .client
            .ask(|request| request.instance(indom, inst, name), Kind::PDU_INSTANCE);
        let shown = answer(reply, |reply| {
            let instances = client::instances(&reply).into_iter().flatten();
            instances
                .map(|(inst, name)| format!("{inst} {}", value::quoted(name)))
                .collect()
        })?;
        let question = match name {
            Some(name) => format!("{about} instance named {}", value::quoted(name)),
            None => format!("{about} name of {inst}"),
        };
        self.note(question, shown);
        Ok(())
    }

    /// Fetches the values of all metrics together, several times; then of parts of the instances;
    /// then those of each cluster by itself.
    fn all_values(&mut self, metrics: &[(&str, Desc)], fetches: usize) -> Result<()> {
        self.profile(|_| None)?;
        for round in 1..=fetches {
            self.values(metrics, &format!("fetch {round}"))?;
        }
        self.profile(|instances| Some((PM_PROFILE_EXCLUDE, instances.last().copied())))?;
        self.values(metrics, "fetch of the last instance")?;
        self.profile(|instances| Some((PM_PROFILE_INCLUDE, instances.first().copied())))?;
        self.values(metrics, "fetch without the first instance")?;
        self.profile(|_| Some((PM_PROFILE_EXCLUDE, None)))?;
        self.values(metrics, "fetch of no instance")?;
        self.profile(|_| None)?;
        let clusters: BTreeSet<u32> = metrics.iter().map(|(_, desc)| desc.metric.cluster()).collect();
        for cluster in clusters {
            let own = metrics.iter().filter(|(_, desc)| desc.metric.cluster() == cluster);
            let own: Vec<_> = own.copied().collect();
            self.values(&own, "fetch by cluster")?;
        }
        Ok(())
    }

    /// Selects instances of all domains.
    fn profile(&mut self, select: impl Fn(&[i32]) -> Option<(i32, Option<i32>)>) -> Result<()> {
        let selected: Vec<(InDom, i32, Option<i32>)> = self
            .domains
            .iter()
            .filter_map(|(indom, instances)| {
                let (state, inst) = select(instances)?;
                Some((InDom(*indom), state, inst))
            })
            .collect();
        let domains = selected.iter().map(|(indom, state, inst)| InDomProfile {
            indom: *indom,
            state: *state,
            instances: inst.as_slice(),
        });
        self.client.tell(|request| request.profile(PM_PROFILE_INCLUDE, domains))
    }

    fn values(&mut self, metrics: &[(&str, Desc)], how: &str) -> Result<()> {
        for metrics in metrics.chunks(METRICS_AT_ONCE) {
            let mut ids: Vec<MetricId> = metrics.iter().map(|(_, desc)| desc.metric).collect();
            // And one that no agent has.
            ids.push(MetricId::new(ids[0].domain(), 4095, 1023));
            let reply = match self.client.ask(|request| request.fetch(&ids), Kind::PDU_RESULT) {
                Ok(reply) => reply,
                failed => {
                    let shown = answer(failed, |_| String::new())?;
                    self.note(format!("{} and others, {how}", metrics[0].0), shown);
                    continue;
                }
            };
            let sets = result::decode(&reply)?;
            if !sets.sets().map(|set| set.metric).eq(ids.iter().copied()) {
                self.note(
                    format!("{} and others, {how}", metrics[0].0),
                    "other metrics".to_owned(),
                );
                continue;
            }
            for (set, (name, desc)) in sets.sets().zip(metrics) {
                self.metric_values(name, desc, how, set);
            }
        }
        Ok(())
    }

    fn metric_values(&mut self, name: &str, desc: &Desc, how: &str, set: MetricValues<'_>) {
        let status = Error::check(set.numval);
        let counted = |values: i32| Counted(values.unsigned_abs() as usize, "value", "values").to_string();
        let shown = status.map_or_else(|error| format!("error {error}"), counted);
        self.note(format!("{name} {how}"), shown);
        for (inst, value) in set.values() {
            let shown = format!("format {} {}", set.format, value::text(desc.kind, value));
            self.note(format!("{name} {how} value of {inst}"), shown);
            if desc.semantics == PM_SEM_COUNTER {
                if let Some(number) = value::integer(desc.kind, value) {
                    self.count(&format!("{name} of {inst}"), desc.kind, number);
                }
            }
        }
    }

    /// Takes note of the value of a counter.
    fn count(&mut self, counter: &str, kind: i32, number: i128) {
        let (_, last) = self
            .survey
            .counters
            .entry(counter.to_owned())
            .or_insert((number, number));
        let wraps = matches!(kind, PM_TYPE_32 | PM_TYPE_U32) && *last - number > i128::from(i32::MAX);
        let goes_back = number < *last && !wraps;
        *last = number;
        if goes_back {
            self.note(format!("{counter} goes back"), "yes".to_owned());
        }
    }

    /// Stores each metric's own values back, and fetches what becomes of them.
    fn stores(&mut self, metrics: &[(&str, Desc)]) -> Result<()> {
        for (name, desc) in metrics {
            let ids = [desc.metric];
            let Ok(reply) = self.client.ask(|request| request.fetch(&ids), Kind::PDU_RESULT) else {
                continue;
            };
            let Some(set) = result::decode(&reply)?.sets().next().filter(|set| set.numval > 0) else {
                continue;
            };
            let pdu = store(set)?;
            if pdu.len() > CLIENT_PDU_MAX {
                continue;
            }
            let outcome = self.client.store(&pdu);
            let accepted = outcome.is_ok();
            let shown = answer(outcome, |status| status.to_string())?;
            self.note(format!("{name} store"), shown);
            if accepted {
                self.values(&[(name, *desc)], "fetch after the store")?;
            }
        }
        Ok(())
    }
}

/// A RESULT that stores values.
fn store(set: MetricValues<'_>) -> Result<Vec<u8>> {
    let mut store = ResultBuilder::new();
    store.begin_store(0, 1)?;
    store.open(set.metric, set.values().len())?;
    for (inst, value) in set.values() {
        match value {
            SentValue::Word(word) => store.word(inst, word)?,
            SentValue::Block(header, payload) => store.block(inst, header, payload)?,
        }
    }
    store.close(set.numval);
    store.finish()?;
    Ok(store.reply().bytes().to_vec())
}
