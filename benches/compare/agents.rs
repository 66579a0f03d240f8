//! Where a user feels it: whole agents below a pmcd, on both libraries. A client fetches all
//! metrics of an agent again and again; what counts is how long that takes, the processor time
//! of agent and pmcd, and the memory that they have after as many fetches as an hour has seconds.

mod stage;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use crate::LIBRARIES;
use pcp_pmda_test::Library;
use pcp_pmda_test::pcp::Environment;
use stage::{Answer, Stage};
pub use stage::{crowd, processor, resident};

/// How many pairs of runs an agent gets.
const PAIRS: usize = 5;
/// So many seconds one of them takes at most.
const RUN_LIMIT: u64 = 60;
/// An hour of a client that fetches each second.
const HOUR: u32 = 3_600;
/// What an agent does at first is not growth.
const EARLY: u32 = 100;
/// So many seconds an agent's hour takes at most on the C library; ours may take twice as many.
const HOUR_LIMIT: u64 = 180;

/// What is measured.
struct Scenario {
    name: &'static str,
    /// The agents, as `NAME DOMAIN KIND`.
    agents: &'static [(&'static str, u32, Kind)],
    /// The subtrees that the client fetches.
    subtrees: &'static [&'static str],
    rounds: u32,
    /// So many processes run beside it.
    processes: usize,
}

/// How an agent is started.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Dso,
    Daemon,
    Perl,
    Python,
}

const SCENARIOS: [Scenario; 7] = [
    one(
        "pmdalinux, all metrics",
        &[("linux", 60, Kind::Daemon)],
        &["kernel", "mem", "disk", "network"],
        300,
    ),
    Scenario {
        processes: 5_000,
        ..one(
            "pmdaproc, 5,000 processes more",
            &[("proc", 3, Kind::Daemon)],
            &["proc"],
            10,
        )
    },
    one("pmdasample", &[("sample", 29, Kind::Daemon)], SAMPLE, 20_000),
    one("pmdamounts", &[("mounts", 72, Kind::Daemon)], &["mounts"], 20_000),
    one(
        "Perl, 1,000 instances anew each time",
        &[("instancespl", 496, Kind::Perl)],
        &["instancespl"],
        1_000,
    ),
    one(
        "Python, 1,000 instances anew each time",
        &[("instancespy", 497, Kind::Python)],
        &["instancespy"],
        600,
    ),
    one(
        "pmcd's default agents, all metrics",
        &[
            ("pmcd", 2, Kind::Dso),
            ("proc", 3, Kind::Daemon),
            ("xfs", 11, Kind::Daemon),
            ("linux", 60, Kind::Daemon),
            ("mmv", 70, Kind::Dso),
            ("jbd2", 122, Kind::Dso),
        ],
        &["pmcd", "proc", "xfs", "kernel", "mem", "disk", "network", "jbd2"],
        30,
    ),
];

/// Others of its metrics make it end, or fail, as they were made to.
const SAMPLE: &[&str] = &[
    "sample.aggregate",
    "sample.bin",
    "sample.bucket",
    "sample.colour",
    "sample.double",
    "sample.drift",
    "sample.float",
    "sample.hordes",
    "sample.lights",
    "sample.long",
    "sample.longlong",
    "sample.magnitude",
    "sample.step",
    "sample.string",
    "sample.ulong",
    "sample.ulonglong",
];

const fn one(
    name: &'static str,
    agents: &'static [(&'static str, u32, Kind)],
    subtrees: &'static [&'static str],
    rounds: u32,
) -> Scenario {
    Scenario {
        name,
        agents,
        subtrees,
        rounds,
        processes: 0,
    }
}

/// What one run has cost, for a fetch.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Microseconds until the answer was there.
    trip: f64,
    /// Microseconds of processor time of the agents that are daemons, and of pmcd.
    agents: f64,
    pmcd: f64,
    metrics: u32,
}

/// The programs that stand beside the agents.
pub struct Programs {
    /// Fetches.
    pub client: PathBuf,
    /// Makes processes.
    pub processes: PathBuf,
}

/// The tables of all scenarios whose names contain one of these words, or of all.
pub fn tables(programs: &Programs, words: &[&str]) -> String {
    let wanted = |scenario: &&Scenario| words.is_empty() || words.iter().any(|word| scenario.name.contains(word));
    let mut times = String::from(
        "| agents | metrics | a fetch of all, µs: C library / ours | round trip | processor time of the agents | of pmcd |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    let mut memory = String::from(
        "| agents | fetches | C library, KiB: after 100 | at the end | PSS | ours, KiB: after 100 | at the end | PSS |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for scenario in SCENARIOS.iter().filter(wanted) {
        let crowd = crowd(&programs.processes, scenario.processes);
        for (table, line) in [
            (&mut times, time(scenario, programs)),
            (&mut memory, hour(scenario, programs)),
        ] {
            eprint!("{line}");
            *table += &line;
        }
        drop(crowd);
    }
    format!("{times}\n{memory}")
}

/// A line of the table of times.
fn time(scenario: &Scenario, programs: &Programs) -> String {
    let pairs: Vec<_> = (0..PAIRS)
        .map(|_| LIBRARIES.map(|library| run(scenario, library, programs)))
        .collect();
    let median = |of: &dyn Fn(&[Cost; 2]) -> f64| {
        let mut numbers: Vec<_> = pairs.iter().map(of).collect();
        numbers.sort_by(f64::total_cmp);
        numbers[numbers.len() / 2]
    };
    let ratio = |of: fn(&Cost) -> f64| median(&|[c, ours]| of(ours) / of(c));
    let [c, ours] = pairs[PAIRS - 1];
    format!(
        "| {} | {} | {:.0} / {:.0} | {:.2} | {} | {:.2} |\n",
        scenario.name,
        ours.metrics,
        median(&|[c, _]| c.trip),
        median(&|[_, ours]| ours.trip),
        ratio(|cost| cost.trip),
        if c.agents > 0.0 {
            format!("{:.2}", ratio(|cost| cost.agents))
        } else {
            "-".to_owned()
        },
        ratio(|cost| cost.pmcd),
    )
}

/// Some rounds on one library.
fn run(scenario: &Scenario, library: Library, programs: &Programs) -> Cost {
    let environment = Environment::new("bench-agents", library);
    let mut stage = Stage::set(scenario, &environment, &programs.client);
    // What is done once, and by the client's preparation, is done before.
    stage.fetch(1, RUN_LIMIT);
    let before = stage.processor();
    let Answer { trip, fetches, metrics } = stage.fetch(scenario.rounds, RUN_LIMIT);
    let after = stage.processor();
    stage.lives();
    let fetches = f64::from(fetches);
    Cost {
        trip,
        agents: (after.0 - before.0) / fetches,
        pmcd: (after.1 - before.1) / fetches,
        metrics,
    }
}

/// A line of the table of memory. Ours makes as many fetches as the C library has made in its time.
fn hour(scenario: &Scenario, programs: &Programs) -> String {
    let mut line = format!("| {} |", scenario.name);
    let (mut whole, mut limit) = (HOUR, HOUR_LIMIT);
    for library in LIBRARIES {
        let environment = Environment::new("bench-agents", library);
        let mut stage = Stage::set(scenario, &environment, &programs.client);
        let start = Instant::now();
        let first = stage.fetch(EARLY.min(whole), limit).fetches;
        let early = stage.memory();
        let left = limit.saturating_sub(start.elapsed().as_secs());
        let fetches = first + stage.fetch(whole - first, left).fetches;
        if library == Library::C {
            write!(line, " {fetches} |").expect("a string");
            (whole, limit) = (fetches, 2 * HOUR_LIMIT);
        }
        assert_eq!(fetches, whole, "{}: twice as slow as the C library", scenario.name);
        let (end, once) = (stage.memory(), stage.proportional_memory());
        write!(line, " {early} | {end} | {once} |").expect("a string");
        stage.lives();
    }
    line + "\n"
}
