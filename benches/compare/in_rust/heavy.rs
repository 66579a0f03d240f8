//! The examples that are as heavy as PCP's own agents: `processes` beside pmdaproc, which look at
//! the same processes, and `statsd`. Debian's package `pcp` has no pmdastatsd (6.0.3 and 6.3.8): in
//! its place is an agent in C that does the same for counters.

use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;

use pcp_pmda_test::pcp::agent;
use pcp_pmda_test::{profile_dir, target_dir};

use super::{CORE, Daemon, pdu, request, stay_on};
use crate::agents::{crowd, processor, resident};

/// Types of PDUs, and the attribute of a client that has its user.
const PROFILE: u32 = 0x7002;
const ATTR: u32 = 0x7011;
const USERID: u32 = 11;

/// The domains of pmdaproc and of the examples.
const PROC: u32 = 3;
const PROCESSES: u32 = 411;
const STATSD: u32 = 408;
/// How many names statsd has in a cluster, and how many numbers a name has.
const NAMES: u32 = 128;
const ITEMS: u32 = 8;

pub struct Row {
    pub name: &'static str,
    what: What,
    /// Fetches; none for a row of resident memory.
    rounds: u32,
    pub limit: f64,
}

enum What {
    /// Fetches of the first files of all processes, while so many more run than do anyway.
    All(usize, usize),
    /// Of one of them.
    One(usize),
    /// Fetches of all of so many counters, or durations.
    Counters(u32),
    Durations(u32),
}

/// Programs in C: the one that makes processes, and the agent that is statsd.
pub struct Programs {
    pub processes: PathBuf,
    pub statsd: PathBuf,
}
use What::{All, Counters, Durations, One};

const fn row(name: &'static str, what: What, rounds: u32, limit: f64) -> Row {
    Row {
        name,
        what,
        rounds,
        limit,
    }
}

pub const ROWS: [Row; 14] = [
    row("10 processes more, a metric of one file, µs", All(10, 1), 100, 1.0),
    row("10 processes more, of five files, µs", All(10, 5), 100, 1.0),
    row("10 processes more, a metric of one, µs", One(10), 500, 1.0),
    row("5,000 processes more, a metric of one file, µs", All(5000, 1), 3, 1.0),
    row("5,000 processes more, of five files, µs", All(5000, 5), 1, 1.0),
    row("5,000 processes more, a metric of one, µs", One(5000), 50, 1.0),
    row("resident, 10 processes more, five files, KiB", All(10, 5), 0, 2.0),
    row("resident, 5,000 processes more, five files, KiB", All(5000, 5), 0, 2.0),
    row("statsd, 10 counters, µs", Counters(10), 10_000, 1.0),
    row("statsd, 1,000 counters, µs", Counters(1000), 500, 1.0),
    row("statsd, 10,000 counters, µs", Counters(10_000), 50, 1.0),
    row("statsd, 1,000 durations, µs", Durations(1000), 50, 1.0),
    row("resident, statsd, 10,000 counters, KiB", Counters(10_000), 0, 2.0),
    row("resident, statsd, 1,000 durations, KiB", Durations(1000), 0, 2.0),
];

/// Metrics of five files of a process: of pmdaproc, and of the example.
const FILES: [[(u32, u32); 2]; 5] = [
    // proc.psinfo.utime, proc.memory.rss, proc.psinfo.vctxsw, proc.schedstat.cpu_time and
    // proc.io.read_bytes.
    [(8, 13), (0, 2)],
    [(9, 1), (0, 5)],
    [(24, 29), (0, 8)],
    [(31, 0), (0, 6)],
    [(32, 4), (0, 9)],
];

impl Row {
    /// What the agent in C costs on both libraries, if there is one, and what the one in Rust does.
    pub fn measure(&self, programs: &Programs, libraries: &[PathBuf; 2]) -> [Option<f64>; 3] {
        stay_on(CORE);
        let (count, files) = match self.what {
            All(count, files) => (count, files),
            One(count) => (count, 1),
            Counters(count) => {
                let c = |library| {
                    let mut command = program(&programs.statsd);
                    command.env("LD_LIBRARY_PATH", library);
                    Some(self.statsd(command, count, "c"))
                };
                let [first, second] = libraries.each_ref().map(c);
                return [
                    first,
                    second,
                    Some(self.statsd(program(&example("statsd")), count, "c")),
                ];
            }
            Durations(count) => {
                let rust = self.statsd(program(&example("statsd")), count, "ms");
                return [None, None, Some(rust)];
            }
        };
        let processes = crowd(&programs.processes, count).expect("some");
        let one = matches!(self.what, One(_)).then(|| processes.pid());
        let least = if one.is_some() { 1 } else { count as u32 };
        let c = |library| {
            let mut command = program(&agent("proc").join("pmdaproc"));
            // Clients that are not known see all.
            command.env("LD_LIBRARY_PATH", library).arg("-A");
            self.run(Daemon::of(&mut command, PROC), PROC, 0, files, one, least)
        };
        let [first, second] = libraries.each_ref().map(c);
        let mut daemon = Daemon::of(&mut program(&example("processes")), PROCESSES);
        daemon.send(&pdu(ATTR, [USERID, u32::from_be_bytes(*b"0\0\0\0")]));
        let rust = self.run(daemon, PROCESSES, 1, files, one, least);
        [Some(first), Some(second), Some(rust)]
    }

    /// What an agent that looks at processes costs.
    fn run(&self, mut daemon: Daemon, domain: u32, of: usize, files: usize, one: Option<u32>, least: u32) -> f64 {
        if let Some(process) = one {
            // Nothing but this instance of domain 9 of pmdaproc, or 0.
            let indom = domain << 22 | if domain == PROC { 9 } else { 0 };
            daemon.send(&pdu(PROFILE, [0, 0, 1, 0, indom, 1, 1, 0, process]));
        }
        let metrics: Vec<_> = FILES[..files].iter().map(|numbers| numbers[of]).collect();
        let request = request(domain, &metrics);
        self.cost(&mut daemon, |daemon| {
            let [sets, values] = daemon.values(self.name, &request);
            assert!(
                sets == files as u32 && values >= least,
                "{}: {sets} {values}",
                self.name
            );
        })
    }

    /// What statsd costs with so many names, each with a value of this kind.
    fn statsd(&self, mut command: Command, count: u32, kind: &str) -> f64 {
        let _ = fs::remove_dir_all(profile_dir().join("bench-var/config/pmda"));
        fs::create_dir_all(profile_dir().join("bench-var/config/pmda")).expect("target is writable");
        let client = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let address = free.expect("loopback");
        command.args(["-P", &address.port().to_string()]);
        let mut daemon = Daemon::of(&mut command, STATSD);
        // It listens when it answers.
        daemon.values(self.name, &request(STATSD, &[(0, 0)]));
        let metric = |name: u32| (1 + name / NAMES, name % NAMES * ITEMS);
        for first in (0..count).step_by(50) {
            let names = first..count.min(first + 50);
            let lines: Vec<_> = names
                .clone()
                .map(|name| format!("bench.group{}.name{name}:{name}|{kind}", name % 10))
                .collect();
            client.send_to(lines.join("\n").as_bytes(), address).expect("loopback");
            let last = request(STATSD, &[metric(names.end - 1)]);
            while daemon.values(self.name, &last) != [1, 1] {}
        }
        // Of a duration the number, the least one, three quantiles and the greatest.
        let items = if kind == "ms" { 0..6 } else { 0..1 };
        let metrics = (0..count).map(metric);
        let metrics = metrics.flat_map(|(cluster, first)| items.clone().map(move |item| (cluster, first + item)));
        let metrics: Vec<_> = metrics.collect();
        let request = request(STATSD, &metrics);
        self.cost(&mut daemon, |daemon| {
            assert_eq!(
                daemon.values(self.name, &request),
                [metrics.len() as u32, 1],
                "{}",
                self.name
            );
        })
    }

    /// What a fetch costs: microseconds of processor time, or the resident memory in KiB after three.
    fn cost(&self, daemon: &mut Daemon, fetch: impl Fn(&mut Daemon)) -> f64 {
        // What is done once is done in these.
        (0..3).for_each(|_| fetch(daemon));
        if self.rounds == 0 {
            return resident(daemon.child.id()) as f64;
        }
        let before = processor(daemon.child.id());
        (0..self.rounds).for_each(|_| fetch(daemon));
        (processor(daemon.child.id()) - before) / f64::from(self.rounds)
    }
}

/// An example of the crate.
fn example(name: &str) -> PathBuf {
    target_dir().join("release/examples").join(name)
}

/// A program on the core of agents.
fn program(path: &Path) -> Command {
    let mut command = Command::new("taskset");
    command
        .args(["-c", CORE])
        .arg(path)
        .env("PCP_CONF", target_dir().join("pcp/pcp.conf"))
        .env("PCP_LOG_DIR", profile_dir())
        .env("PCP_VAR_DIR", profile_dir().join("bench-var"))
        .env("PCP_USER", "root")
        .current_dir(profile_dir());
    command
}
