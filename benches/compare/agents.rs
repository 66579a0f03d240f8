//! Where a user feels it: whole agents below a pmcd, on both libraries. A client fetches all
//! metrics of an agent again and again; what counts is how long that takes, and the processor time
//! of agent and pmcd.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pcp_pmda_test::pcp::{Environment, Pmcd, agent, installed};
use pcp_pmda_test::{Library, root};

/// How many pairs of runs an agent gets.
const PAIRS: usize = 5;

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
        processes: 1_000,
        ..one(
            "pmdaproc, 1,000 processes more",
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
    /// Resident memory of pmcd and the agents at the end, in KiB.
    memory: u64,
    metrics: u64,
}

/// The table of all scenarios.
pub fn table(client: &Path) -> String {
    let mut text = String::from(
        "| agents | metrics | a fetch of all, µs: C library / ours | round trip | processor time of the agents | of pmcd | memory of all, KiB: C / ours |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for scenario in &SCENARIOS {
        let others: Vec<Child> = (0..scenario.processes).map(|_| idle()).collect();
        let pairs: Vec<_> = (0..PAIRS)
            .map(|_| [Library::C, Library::Ours].map(|library| run(scenario, library, client)))
            .collect();
        for mut other in others {
            let _ = other.kill();
            let _ = other.wait();
        }
        let median = |of: &dyn Fn(&[Cost; 2]) -> f64| {
            let mut numbers: Vec<_> = pairs.iter().map(of).collect();
            numbers.sort_by(f64::total_cmp);
            numbers[numbers.len() / 2]
        };
        let ratio = |of: fn(&Cost) -> f64| median(&|[c, ours]| of(ours) / of(c));
        let [c, ours] = pairs[PAIRS - 1];
        let line = format!(
            "| {} | {} | {:.0} / {:.0} | {:.2} | {} | {:.2} | {} / {} |\n",
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
            c.memory,
            ours.memory,
        );
        eprint!("{line}");
        text += &line;
    }
    text
}

/// A process that does nothing.
fn idle() -> Child {
    Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .expect("coreutils are installed")
}

fn run(scenario: &Scenario, library: Library, client: &Path) -> Cost {
    let environment = Environment::new("bench-agents", library);
    let (lines, names) = prepare(scenario, &environment);
    let pmcd = environment
        .pmcd_with(&lines, &names, &["-q", "30", "-t", "30"])
        .expect("pmcd starts");
    let daemons: Vec<u32> = scenario
        .agents
        .iter()
        .filter(|(_, _, kind)| *kind != Kind::Dso)
        .map(|(name, ..)| pmcd.agent_pid(name).expect("pmcd lists its agents"))
        .collect();
    let ask = |rounds: u32| {
        let mut command = pmcd.client(client);
        let output = command
            .arg(pmcd.host())
            .arg(rounds.to_string())
            .args(scenario.subtrees)
            .output();
        let output = output.expect("the client was compiled");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let fields: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [trip, metrics, _] = fields[..] else {
            panic!(
                "{}: {}\n{}",
                scenario.name,
                String::from_utf8_lossy(&output.stderr),
                pmcd.log()
            )
        };
        (trip, metrics as u64)
    };
    // What is done once, and by the client's preparation, is done before.
    ask(1);
    let time = || {
        (
            daemons.iter().map(|pid| processor(*pid)).sum::<f64>(),
            processor(pmcd.pid()),
        )
    };
    let before = time();
    let (trip, metrics) = ask(scenario.rounds);
    let after = time();
    assert!(
        daemons.is_empty() || after.0 > before.0,
        "{}: an agent has ended\n{}",
        scenario.name,
        pmcd.log()
    );
    let fetches = f64::from(scenario.rounds);
    Cost {
        trip,
        agents: (after.0 - before.0) / fetches,
        pmcd: (after.1 - before.1) / fetches,
        memory: memory(&pmcd, &daemons),
        metrics,
    }
}

/// The lines of pmcd.conf, and the file with all names.
fn prepare(scenario: &Scenario, environment: &Environment) -> (String, PathBuf) {
    let merged = environment.directory.join("names");
    let mut merge = environment.command(installed("usr/lib/pcp/bin/pmnsmerge"));
    merge.current_dir(installed("var/lib/pcp/pmns")).arg("-f");
    let mut lines = String::new();
    for (name, domain, kind) in scenario.agents {
        let file = |of: &str| agent(name).join(of);
        let script = |end: &str| root().join(format!("benches/agents/instances.{end}"));
        lines += &match kind {
            Kind::Dso => format!(
                "{name} {domain} dso {name}_init {}\n",
                file(&format!("pmda_{name}.so")).display()
            ),
            Kind::Daemon => format!(
                "{name} {domain} pipe binary {} -d {domain}\n",
                file(&format!("pmda{name}")).display()
            ),
            Kind::Perl => format!("{name} {domain} pipe binary /usr/bin/perl {}\n", script("pl").display()),
            Kind::Python => format!(
                "{name} {domain} pipe binary /usr/bin/python3 {}\n",
                script("python").display()
            ),
        };
        let own = file("root");
        if own.exists() {
            merge.arg(own);
            continue;
        }
        let names = if matches!(kind, Kind::Perl | Kind::Python) {
            format!("root {{ {name} }}\n{name} {{ value {domain}:0:0 }}\n")
        } else {
            let standard = installed("usr/lib/pcp/pmns").join(format!("root_{name}"));
            format!("#include <stdpmid>\n#include \"{}\"\n", standard.display())
        };
        let part = environment.directory.join(format!("root_{name}"));
        fs::write(&part, names).expect("target is writable");
        merge.arg(part);
    }
    let status = merge.arg(&merged).status().expect("make setup");
    assert!(status.success(), "{}: pmnsmerge fails", scenario.name);
    (lines, merged)
}

/// Microseconds that a process has had a processor.
fn processor(pid: u32) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e3
}

/// Resident memory of pmcd and its daemons, in KiB.
fn memory(pmcd: &Pmcd<'_>, daemons: &[u32]) -> u64 {
    let resident = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok())
            .unwrap_or(0u64)
    };
    daemons.iter().chain([&pmcd.pid()]).map(resident).sum()
}
