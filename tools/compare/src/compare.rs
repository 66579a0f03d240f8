//! The whole comparison: the C library, ours, the C library, and again those agents that differ.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use pmda_core::error::{Error, Result as WireResult};
use pmda_core::ident::MetricId;
use pmda_core::wire::Kind;

use crate::client::Client;
use crate::difference::{Comparison, Differences, ROUNDS};
use crate::host::{Agent, Channel, Host};
use crate::pmcd::Pmcd;
use crate::processes::{self, Guard, Usage};
use crate::survey::{self, Extent, Metrics, Survey};

/// The time that an agent may take until it is ready.
const READY: Duration = Duration::from_secs(60);
/// The interval at which it is asked.
const INTERVAL: Duration = Duration::from_millis(50);

/// The settings of a comparison.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Our library.
    pub ours: PathBuf,
    /// The C library.
    pub c: PathBuf,
    /// The agents by name; none for all.
    pub agents: Vec<String>,
    /// The number of times that all values are fetched in a run.
    pub fetches: usize,
}

/// The verdict on an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A client sees the same.
    Equal,
    /// A client sees something else, and what.
    Different(Differences),
    /// The agent does not run on our library, and why.
    Lost(String),
    /// The agent could not be compared, and why.
    NotCompared(String),
    /// The agent runs on the C library, and the name space has none of its metrics.
    NoMetrics,
}

/// The reason why a run has no answers of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Failure {
    /// The agent runs, and the name space has none of its metrics.
    NoMetrics,
    /// The agent does not run or does not answer, and why.
    NoAnswers(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Failure::NoMetrics => "it runs, but the name space has none of its metrics",
            Failure::NoAnswers(reason) => reason,
        })
    }
}

impl From<String> for Failure {
    fn from(reason: String) -> Failure {
        Failure::NoAnswers(reason)
    }
}

/// The processor time and the memory of an agent, or of pmcd, in the runs on each library.
#[derive(Clone, Default, Debug)]
pub struct Usages {
    /// On the C library.
    pub c: Vec<Usage>,
    /// On ours.
    pub ours: Vec<Usage>,
}

/// All that is known of an agent.
#[derive(Debug)]
pub struct Outcome {
    /// The agent.
    pub agent: Agent,
    /// The verdict.
    pub verdict: Verdict,
    /// The survey of the last run on ours.
    pub survey: Survey,
    /// The number of answers that the host has changed itself.
    pub moving: usize,
    /// The processor time and memory that it has used; none for a shared object, which is in pmcd.
    pub usages: Usages,
}

/// The outcome of a comparison.
#[derive(Debug)]
pub struct Report {
    /// Of each agent, in the order of `pmcd.conf`.
    pub agents: Vec<Outcome>,
    /// The processor time and memory of pmcd itself, with the agents that are shared objects.
    pub pmcd: Usages,
}

/// Which library a run is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Library {
    C,
    Ours,
}

/// An agent while it is compared.
struct Candidate {
    agent: Agent,
    comparison: Comparison,
    /// The reason why the last run on each library has failed.
    c_failed: Option<Failure>,
    ours_failed: Option<Failure>,
    usages: Usages,
}

/// Compares in the folder of `guard`, and tells `progress` what happens.
///
/// # Errors
/// Why nothing could be compared.
pub fn compare(settings: &Settings, guard: &Guard, progress: &dyn Fn(&str)) -> Result<Report, String> {
    for library in [&settings.ours, &settings.c] {
        fs::metadata(library).map_err(|error| format!("{}: {error}", library.display()))?;
    }
    let host = Host::read()?;
    host.has_names()?;
    let agents = selected(&host, &settings.agents)?;
    let mut comparison = Whole {
        settings,
        host: &host,
        guard,
        progress,
        candidates: agents.iter().map(candidate).collect(),
        rounds: 0,
        pmcd: Usages::default(),
    };
    comparison.run(Library::C, 1)?;
    while !comparison.wanted().is_empty() {
        let round = comparison.rounds + 1;
        // Two in the first round, as of the C library: one time tells nothing about its spread.
        for number in if round == 1 { 1..=2 } else { round + 1..=round + 1 } {
            if let Err(reason) = comparison.run(Library::Ours, number) {
                comparison.all_lost(&format!("pmcd: {reason}"));
            }
        }
        comparison.run(Library::C, round + 1)?;
        comparison.rounds = round;
    }
    Ok(Report {
        agents: comparison.candidates.into_iter().map(outcome).collect(),
        pmcd: comparison.pmcd,
    })
}

fn selected(host: &Host, names: &[String]) -> Result<Vec<Agent>, String> {
    for name in names {
        if !host.agents.iter().any(|agent| agent.name == *name) {
            let names: Vec<&str> = host.agents.iter().map(|agent| agent.name.as_str()).collect();
            return Err(format!("pmcd.conf names no agent {name}, but {}", names.join(", ")));
        }
    }
    let is_wanted = |agent: &&Agent| names.is_empty() || names.contains(&agent.name);
    Ok(host.agents.iter().filter(is_wanted).cloned().collect())
}

fn candidate(agent: &Agent) -> Candidate {
    let c_failed = match &agent.channel {
        Channel::Socket(address) => Some(format!("it listens at {address}, which the running one may have").into()),
        Channel::Dso | Channel::Pipe => None,
    };
    Candidate {
        agent: agent.clone(),
        comparison: Comparison::default(),
        c_failed,
        ours_failed: None,
        usages: Usages::default(),
    }
}

fn outcome(candidate: Candidate) -> Outcome {
    let differences = candidate.comparison.differences().cloned();
    let verdict = match (candidate.c_failed, candidate.ours_failed, differences) {
        (Some(Failure::NoMetrics), _, _) if !candidate.comparison.has_run() => Verdict::NoMetrics,
        (Some(failure), _, _) => Verdict::NotCompared(failure.to_string()),
        (None, Some(failure), _) => Verdict::Lost(failure.to_string()),
        (None, None, Some(differences)) if differences.is_empty() => Verdict::Equal,
        (None, None, Some(differences)) => Verdict::Different(differences),
        (None, None, None) => Verdict::NotCompared("it did not run on both libraries".to_owned()),
    };
    Outcome {
        agent: candidate.agent,
        verdict,
        moving: candidate.comparison.moving(),
        survey: candidate.comparison.ours().cloned().unwrap_or_default(),
        usages: candidate.usages,
    }
}

struct Whole<'a> {
    settings: &'a Settings,
    host: &'a Host,
    guard: &'a Guard,
    progress: &'a dyn Fn(&str),
    candidates: Vec<Candidate>,
    /// Rounds that have ended.
    rounds: usize,
    pmcd: Usages,
}

impl Candidate {
    /// Returns whether another round can tell more: the first one, a difference may not last, or it
    /// may run.
    fn is_wanted(&self, rounds: usize) -> bool {
        let may_run = self.ours_failed.is_some() && rounds < ROUNDS;
        self.c_failed.is_none() && (may_run || self.comparison.is_open(rounds))
    }

    fn add(&mut self, library: Library, outcome: Result<Survey, Failure>) {
        let failed = match library {
            Library::C => &mut self.c_failed,
            Library::Ours => &mut self.ours_failed,
        };
        match outcome {
            Err(failure) => *failed = Some(failure),
            Ok(survey) => {
                *failed = None;
                match library {
                    Library::C => self.comparison.add_c(survey),
                    Library::Ours => self.comparison.add_ours(survey),
                }
            }
        }
    }
}

impl Whole<'_> {
    fn wanted(&self) -> Vec<Agent> {
        let wanted = self
            .candidates
            .iter()
            .filter(|candidate| candidate.is_wanted(self.rounds));
        wanted.map(|candidate| candidate.agent.clone()).collect()
    }

    fn all_lost(&mut self, reason: &str) {
        let rounds = self.rounds;
        for candidate in self
            .candidates
            .iter_mut()
            .filter(|candidate| candidate.is_wanted(rounds))
        {
            candidate.ours_failed = Some(reason.to_owned().into());
        }
    }

    /// One run: starts a pmcd with the chosen agents, and asks each of them.
    fn run(&mut self, library: Library, number: usize) -> Result<(), String> {
        let (path, name) = match library {
            Library::C => (&self.settings.c, "the C library"),
            Library::Ours => (&self.settings.ours, "this library"),
        };
        let wanted = self.wanted();
        let agents: Vec<&Agent> = wanted.iter().collect();
        if agents.is_empty() {
            return Ok(());
        }
        (self.progress)(&format!("run {number} on {name}: pmcd starts"));
        let pmcd = Pmcd::start(self.guard, self.host, &agents, path);
        let pmcd = pmcd.map_err(|reason| format!("on {name} {reason}"))?;
        let mut client = pmcd.connect().map_err(|error| format!("pmcd on {name}: {error}"))?;
        for agent in &wanted {
            wait_until_ready(&mut client, agent);
        }
        let metrics = survey::metrics(&mut client).map_err(|error| format!("pmcd on {name}: names: {error}"))?;
        drop(client);
        for agent in &wanted {
            (self.progress)(&format!("run {number} on {name}: {}", agent.name));
            let survey = self.survey(&pmcd, agent, &metrics);
            let candidate = self.candidates.iter_mut().find(|other| other.agent == *agent);
            candidate.expect("it was wanted").add(library, survey);
        }
        self.take_usages(&pmcd, library);
        Ok(())
    }

    fn survey(&self, pmcd: &Pmcd<'_>, agent: &Agent, metrics: &Metrics) -> Result<Survey, Failure> {
        let processes = pmcd.processes();
        if agent.channel == Channel::Pipe && !processes.contains_key(&agent.name) {
            return Err(format!("it does not start: {}", pmcd.last_words(&agent.name)).into());
        }
        if let (Channel::Dso, Some(refusal)) = (&agent.channel, pmcd.refusal_of_object(&agent.name)) {
            return Err(format!("it cannot be loaded: {refusal}").into());
        }
        if let Some(pids) = processes.get(&agent.name) {
            pmcd.check_libraries(pids)?;
        }
        let own = metrics.get(&agent.domain).map(Vec::as_slice).unwrap_or_default();
        let extent = Extent {
            fetches: self.settings.fetches,
            stores: false,
        };
        let survey = pmcd.connect().and_then(|mut client| {
            let status = status(&mut client, agent);
            status.and_then(|()| match own {
                [] => Ok(Survey::default()),
                _ => survey::take(&mut client, own, extent),
            })
        });
        let survey = survey.map_err(|error| format!("{}: {}", reason(error), pmcd.last_words(&agent.name)))?;
        let pids = processes.get(&agent.name);
        if pids.is_some_and(|pids| processes::usage(pids).resident == 0) {
            return Err(format!("it has ended: {}", pmcd.last_words(&agent.name)).into());
        }
        if own.is_empty() {
            return Err(Failure::NoMetrics);
        }
        if !survey.has_answers() {
            let said = pmcd.last_words(&agent.name);
            return Err(format!("it answers nothing but errors: {said}").into());
        }
        Ok(survey)
    }

    fn take_usages(&mut self, pmcd: &Pmcd<'_>, library: Library) {
        let add = |usages: &mut Usages, usage| match library {
            Library::C => usages.c.push(usage),
            Library::Ours => usages.ours.push(usage),
        };
        add(&mut self.pmcd, processes::usage(&[pmcd.pid]));
        for (name, pids) in pmcd.processes() {
            let candidate = self
                .candidates
                .iter_mut()
                .find(|candidate| candidate.agent.name == name);
            if let Some(candidate) = candidate {
                add(&mut candidate.usages, processes::usage(&pids));
            }
        }
    }
}

fn reason(error: Error) -> String {
    match error {
        Error::EOF => "pmcd has ended the connection".to_owned(),
        Error::NOAGENT => "pmcd has lost it".to_owned(),
        other => format!("pmcd says {other}"),
    }
}

/// The answer of pmcd about an agent: no error if the agent runs.
fn status(client: &mut Client, agent: &Agent) -> WireResult<()> {
    // The agent has to answer, whether or not it has this metric.
    let metric = MetricId::new(agent.domain, 0, 0);
    match client.ask(|request| request.desc(metric), Kind::PDU_DESC) {
        Err(error @ (Error::AGAIN | Error::NOAGENT | Error::IPC | Error::EOF)) => Err(error),
        _ => Ok(()),
    }
}

fn wait_until_ready(client: &mut Client, agent: &Agent) {
    let begin = Instant::now();
    while status(client, agent) == Err(Error::AGAIN) && begin.elapsed() < READY {
        thread::sleep(INTERVAL);
    }
}
