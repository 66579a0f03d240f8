//! Agents in C on both libraries and in Rust, side by side: processor time of the agent for a
//! request, and its resident memory. One is PCP's `simple`, compiled from the source that Debian
//! ships, beside the example of the crate `pmda`; the other one is that of `benches/in_rust`.
//!
//! A daemon hangs on two pipes, as pmcd starts it, and gets the same bytes again and again. Its
//! client runs on the same core unless the row says otherwise: to wake another core costs an
//! interrupt, which the kernel counts as work of the agent. A shared object is opened by a host
//! that fetches. The runs of a row take turns; what counts is the median of the ratios of those
//! that follow each other.

mod heavy;
pub mod ports;

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdin, ChildStdout, Command, Stdio};

use pcp_pmda_test::{pcp, profile_dir, root, target_dir};

use crate::agents::{processor, resident};

/// How many runs of each agent a row gets.
const RUNS: usize = 7;
/// The core of the agents, and that of a client which has another one.
const CORE: &str = "1";
const OTHER_CORE: &str = "0";
/// Types of PDUs.
const ERROR: u32 = 0x7000;
const RESULT: u32 = 0x7001;
const FETCH: u32 = 0x7003;
const CREDS: u32 = 0x700c;

/// What is measured.
#[derive(Clone, Copy)]
enum Subject {
    /// PCP's `simple`.
    Simple,
    /// The agent of `benches/in_rust`, with so many fixed rows.
    Rows(u32),
    /// The same, with so many jobs.
    Jobs(u32),
    /// The same, which declares so many metrics for a fetch.
    Metrics(u32),
}

/// The head of the table.
const HEAD: &str = "| | C agent, C library | C agent, this library | agent in Rust | Rust / C library | limit |\n\
                    |---|---:|---:|---:|---:|---:|\n";
/// The rows that docs/PERFORMANCE.md shows; a run prints all.
const PAGE: &[&str] = &[
    "simple, 1 value, µs",
    "10,000 fixed instances, one metric, µs",
    "100,000 instances, 1 % replaced a fetch, µs",
    "100,000 metrics declared by the first fetch, µs",
    "DSO, simple, 1 value, µs",
    "DSO, an agent of one value, µs",
    "resident, simple, KiB",
    "resident, 1,000,000 instances, KiB",
    "5,000 processes more, of five files, µs",
    "5,000 processes more, a metric of one, µs",
    "statsd, 10,000 counters, µs",
];

/// The lines of a table that docs/PERFORMANCE.md shows.
pub fn page(table: &str) -> String {
    let on_page = |line: &&str| {
        let name = line.split('|').nth(1).map_or("", str::trim);
        !line.starts_with('|') || HEAD.contains(*line) || PAGE.contains(&name)
    };
    table.lines().filter(on_page).map(|line| format!("{line}\n")).collect()
}

/// Metrics, as cluster and item.
type Metrics = &'static [(u32, u32)];

/// What a row measures.
enum Kind {
    /// Microseconds of a daemon for a fetch, its client on this core.
    Daemon(Metrics, &'static str),
    /// Microseconds of a daemon for its first fetch.
    First(Metrics),
    /// Microseconds of a host of the shared object for a fetch of an item of cluster 0.
    Object(u32),
    /// Resident KiB of a daemon after fetches.
    Memory(Metrics),
}

struct Row {
    name: &'static str,
    subject: Subject,
    kind: Kind,
    rounds: u32,
    /// What the agent in Rust may cost at most, with that in C on the C library for 1.
    limit: f64,
}

const fn row(name: &'static str, subject: Subject, kind: Kind, rounds: u32, limit: f64) -> Row {
    Row {
        name,
        subject,
        kind,
        rounds,
        limit,
    }
}

const VALUE: Metrics = &[(0, 0)];
const NUMBERS: Metrics = &[(0, 1)];
const THREE: Metrics = &[(0, 1), (0, 2), (0, 3)];
const JOBS: Metrics = &[(1, 0)];
const DECLARED: Metrics = &[(2, 0)];

/// The agent of one value, which does nothing else for a fetch.
const ONE: Subject = Subject::Rows(0);
const MANY: Subject = Subject::Rows(10_000);
const MILLION: Subject = Subject::Jobs(1_000_000);

const ROWS: [Row; 17] = [
    row(
        "simple, 1 value, µs",
        Subject::Simple,
        Kind::Daemon(VALUE, CORE),
        20_000,
        0.5,
    ),
    row("an agent of one value, µs", ONE, Kind::Daemon(VALUE, CORE), 20_000, 1.0),
    row(
        "10,000 fixed instances, one metric, µs",
        MANY,
        Kind::Daemon(NUMBERS, CORE),
        500,
        0.25,
    ),
    row(
        "the same, the client on another core, µs",
        MANY,
        Kind::Daemon(NUMBERS, OTHER_CORE),
        500,
        1.0,
    ),
    row(
        "10,000 fixed instances, three metrics, one a string, µs",
        MANY,
        Kind::Daemon(THREE, CORE),
        100,
        1.0,
    ),
    row(
        "10,000 instances, 1 % replaced a fetch, µs",
        Subject::Jobs(10_000),
        Kind::Daemon(JOBS, CORE),
        100,
        1.0,
    ),
    row(
        "100,000 instances, 1 % replaced a fetch, µs",
        Subject::Jobs(100_000),
        Kind::Daemon(JOBS, CORE),
        10,
        1.0,
    ),
    row(
        "1,000,000 instances, the first fetch, µs",
        MILLION,
        Kind::First(JOBS),
        1,
        1.0,
    ),
    // A metric in Rust is its value function, its help and its labels as well, in C a descriptor.
    row(
        "100,000 metrics declared by the first fetch, µs",
        Subject::Metrics(100_000),
        Kind::First(DECLARED),
        1,
        4.0,
    ),
    row(
        "100,000 metrics declared anew by each fetch, µs",
        Subject::Metrics(100_000),
        Kind::Daemon(DECLARED, CORE),
        5,
        4.0,
    ),
    row(
        "DSO, simple, 1 value, µs",
        Subject::Simple,
        Kind::Object(0),
        50_000,
        1.0,
    ),
    row("DSO, an agent of one value, µs", ONE, Kind::Object(0), 50_000, 1.0),
    row("DSO, 10,000 fixed instances, µs", MANY, Kind::Object(1), 500, 1.0),
    row("resident, simple, KiB", Subject::Simple, Kind::Memory(VALUE), 100, 1.0),
    row(
        "resident, an agent of one value, KiB",
        ONE,
        Kind::Memory(VALUE),
        100,
        1.0,
    ),
    row("resident, 10,000 instances, KiB", MANY, Kind::Memory(NUMBERS), 100, 1.0),
    row(
        "resident, 1,000,000 instances, KiB",
        MILLION,
        Kind::Memory(JOBS),
        1,
        1.0,
    ),
];

impl Subject {
    /// The domain of the agent.
    fn domain(self) -> u32 {
        match self {
            Subject::Simple => 253,
            _ => 250,
        }
    }

    /// The function of its shared object.
    fn init(self, is_rust: bool) -> &'static str {
        match (self, is_rust) {
            (Subject::Simple, false) => "simple_init",
            (Subject::Simple, true) => "pmda_simple_init",
            (_, false) => "rows_init",
            (_, true) => "pmda_rows_init",
        }
    }

    /// What it finds in its environment: how many fixed rows, jobs and metrics declared for a fetch
    /// it has.
    fn sizes(self) -> [(&'static str, u32); 3] {
        let (rows, jobs, metrics) = match self {
            Subject::Simple => (0, 0, 0),
            Subject::Rows(size) => (size, 0, 0),
            Subject::Jobs(size) => (0, size, 0),
            Subject::Metrics(size) => (0, 0, size),
        };
        [("ROWS", rows), ("JOBS", jobs), ("METRICS", metrics)]
    }

    /// How many values the first of these metrics has.
    fn values(self, metrics: &[(u32, u32)]) -> u32 {
        match self {
            Subject::Rows(size) if metrics != VALUE => size,
            Subject::Jobs(size) => size,
            _ => 1,
        }
    }
}

/// One of the three agents: its daemon, its shared object, and where its library is.
struct Agent {
    daemon: PathBuf,
    object: PathBuf,
    library: PathBuf,
    is_rust: bool,
}

/// The table of all rows whose names contain one of these words, or of all; and what is above its
/// limit. `build` compiles a file of `benches`.
pub fn table(build: impl Fn(&str, &str, &[&str]) -> PathBuf, libraries: &[PathBuf; 2], words: &[&str]) -> String {
    let host = build("bench-rows-host", "in_rust/host.c", &["-ldl", "-lpcp"]);
    let c_simple = pcp::agent("simple").join("simple.c");
    let c_simple = c_simple.to_str().expect("a path of ours");
    let agents = |name: &str, source: &str, rust: (PathBuf, PathBuf)| {
        // PCP's own source does not compile without warnings.
        let link = ["-w", "-lpcp_pmda", "-lpcp"];
        let daemon = build(name, source, &link);
        let object = build(
            &format!("{name}.so"),
            source,
            &[&["-shared", "-fPIC"][..], &link].concat(),
        );
        let c = |library: &PathBuf| Agent {
            daemon: daemon.clone(),
            object: object.clone(),
            library: library.clone(),
            is_rust: false,
        };
        let rust = Agent {
            daemon: rust.0,
            object: rust.1,
            library: libraries[0].clone(),
            is_rust: true,
        };
        [c(&libraries[0]), c(&libraries[1]), rust]
    };
    let programs = heavy::Programs {
        processes: build("bench-processes", "agents/processes.c", &[]),
        statsd: build(
            "bench-statsd",
            "in_rust/statsd.c",
            &["-lpcp_pmda", "-lpcp", "-lpthread"],
        ),
    };
    cargo(&["--package", "pmda", "--example", "processes", "--example", "statsd"]);
    let simple = agents("bench-simple", c_simple, in_rust("simple"));
    let rows = agents("bench-rows", "in_rust/agent.c", in_rust("rows"));
    fs::create_dir_all(profile_dir().join("bench-var/config/pmda")).expect("target is writable");
    let mut text = HEAD.to_owned();
    let mut above = Vec::new();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    for row in ROWS.iter().filter(|row| is_wanted(row.name)) {
        let agents = match row.subject {
            Subject::Simple => &simple,
            _ => &rows,
        };
        let measure = || agents.each_ref().map(|agent| Some(run(row, agent, &host)));
        text += &line(row.name, measure, row.limit, &mut above);
    }
    for row in heavy::ROWS.iter().filter(|row| is_wanted(row.name)) {
        text += &line(row.name, || row.measure(&programs, libraries), row.limit, &mut above);
    }
    match above.is_empty() {
        true => writeln!(text, "\nNo row is above its limit."),
        false => writeln!(text, "\nAbove the limit: {}.", above.join("; ")),
    }
    .expect("a string");
    text
}

/// A line of the table, with the medians of some runs of an agent in C on both libraries, if there
/// is one, and of the one in Rust. The name of a row above its limit is added to `above`.
fn line(
    name: &'static str,
    measure: impl Fn() -> [Option<f64>; 3],
    limit: f64,
    above: &mut Vec<&'static str>,
) -> String {
    let runs: Vec<[Option<f64>; 3]> = (0..RUNS).map(|_| measure()).collect();
    let of = |index: usize| {
        let numbers: Option<Vec<f64>> = runs.iter().map(|run| run[index]).collect();
        numbers.map_or("-".to_owned(), |numbers| shown(median(numbers.into_iter())))
    };
    let ratios: Option<Vec<f64>> = runs.iter().map(|run| Some(run[2]? / run[0]?)).collect();
    let ratio = ratios.map(|ratios| median(ratios.into_iter()));
    let [shown_ratio, shown_limit] = [ratio, ratio.map(|_| limit)].map(|number| match number {
        Some(number) => format!("{number:.2}"),
        None => "-".to_owned(),
    });
    let line = format!(
        "| {name} | {} | {} | {} | {shown_ratio} | {shown_limit} |\n",
        of(0),
        of(1),
        of(2)
    );
    eprint!("{line}");
    above.extend(ratio.filter(|ratio| *ratio > limit).map(|_| name));
    line
}

/// Builds an agent in Rust: its daemon and its shared object.
fn in_rust(name: &str) -> (PathBuf, PathBuf) {
    cargo(&["--package", &format!("pmda-{name}")]);
    let file = |name: String| target_dir().join("release").join(name);
    (file(format!("pmda{name}")), file(format!("libpmda_{name}.so")))
}

fn cargo(what: &[&str]) {
    let status = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["build", "--quiet", "--locked", "--release"])
        .args(what)
        .status()
        .expect("cargo is there");
    assert!(status.success(), "the agents in Rust do not compile");
}

/// What one agent costs.
fn run(row: &Row, agent: &Agent, host: &Path) -> f64 {
    match row.kind {
        Kind::Object(item) => object(row, agent, host, item),
        Kind::Daemon(metrics, core) => {
            stay_on(core);
            let mut daemon = Daemon::start(agent, row.subject);
            // What is done once is done in the first three.
            (0..3).for_each(|_| daemon.fetch(row, metrics));
            let before = processor(daemon.child.id());
            (0..row.rounds).for_each(|_| daemon.fetch(row, metrics));
            (processor(daemon.child.id()) - before) / f64::from(row.rounds)
        }
        Kind::First(metrics) => {
            stay_on(CORE);
            let mut daemon = Daemon::start(agent, row.subject);
            let before = processor(daemon.child.id());
            daemon.fetch(row, metrics);
            processor(daemon.child.id()) - before
        }
        Kind::Memory(metrics) => {
            let mut daemon = Daemon::start(agent, row.subject);
            (0..row.rounds).for_each(|_| daemon.fetch(row, metrics));
            resident(daemon.child.id()) as f64
        }
    }
}

/// Keeps this process, the client of the daemons, on a core.
fn stay_on(core: &str) {
    let status = Command::new("taskset")
        .args(["-p", "-c", core, &process::id().to_string()])
        .stdout(Stdio::null())
        .status()
        .expect("taskset is installed");
    assert!(status.success(), "there is no core {core}");
}

/// A program on the core of agents, with the agent's library.
fn command(program: &Path, agent: &Agent, subject: Subject) -> Command {
    let mut command = Command::new("taskset");
    command
        .args(["-c", CORE])
        .arg(program)
        .env("LD_LIBRARY_PATH", &agent.library)
        .env("PCP_LOG_DIR", profile_dir())
        .env("PCP_VAR_DIR", profile_dir().join("bench-var"))
        // Where simple has its help texts and simple.conf.
        .env("PCP_PMDAS_DIR", pcp::agent("simple").with_file_name(""))
        .envs(subject.sizes().map(|(name, size)| (name, size.to_string())))
        // Who starts an agent as root need not have PCP's user.
        .env("PCP_USER", "root")
        .current_dir(profile_dir());
    command
}

fn object(row: &Row, agent: &Agent, host: &Path, item: u32) -> f64 {
    let Row { subject, rounds, .. } = row;
    let output = command(host, agent, *subject)
        .arg(&agent.object)
        .arg(subject.init(agent.is_rust))
        .args([subject.domain(), item, *rounds].map(|number| number.to_string()))
        .output()
        .expect("taskset is installed");
    let text = String::from_utf8_lossy(&output.stdout);
    let fields: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
    let [nanoseconds, values] = fields[..] else {
        panic!("{}: {}", row.name, String::from_utf8_lossy(&output.stderr))
    };
    assert_eq!(
        values,
        f64::from(subject.values(&[(0, item)])),
        "{}: not all values",
        row.name
    );
    nanoseconds / 1e3
}

/// A fetch of some metrics, without a profile: of all instances.
fn request(domain: u32, metrics: &[(u32, u32)]) -> Vec<u8> {
    let ids = metrics
        .iter()
        .map(|(cluster, item)| domain << 22 | cluster << 10 | item);
    let count = metrics.len() as u32;
    pdu(FETCH, [0, 0, 0, count].into_iter().chain(ids))
}

/// The bytes of a PDU.
fn pdu(kind: u32, body: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let mut words = vec![0, kind, 0];
    words.extend(body);
    words[0] = words.len() as u32 * 4;
    words.into_iter().flat_map(u32::to_be_bytes).collect()
}

/// An agent on two pipes.
struct Daemon {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    reply: Vec<u8>,
}

impl Daemon {
    fn start(agent: &Agent, subject: Subject) -> Daemon {
        Daemon::of(&mut command(&agent.daemon, agent, subject), subject.domain())
    }

    fn of(command: &mut Command, domain: u32) -> Daemon {
        let log = profile_dir().join("bench-rows.log");
        let mut child = command
            .args(["-d", &domain.to_string(), "-l"])
            .arg(log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("taskset is installed");
        let mut daemon = Daemon {
            stdin: child.stdin.take(),
            stdout: child.stdout.take().expect("a pipe"),
            child,
            reply: Vec::new(),
        };
        assert_eq!(daemon.reply(), CREDS);
        // Version 2 of the PDUs.
        daemon.send(&pdu(CREDS, [1, 0x0102_0000]));
        daemon
    }

    fn send(&mut self, pdu: &[u8]) {
        let stdin = self.stdin.as_mut().expect("open until the end");
        stdin.write_all(pdu).expect("the agent listens");
    }

    /// The kind of the next PDU, whose body is kept.
    fn reply(&mut self) -> u32 {
        let mut header = [0; 12];
        self.stdout.read_exact(&mut header).expect("the agent answers");
        self.reply.resize(word(&header, 0) as usize - header.len(), 0);
        self.stdout.read_exact(&mut self.reply).expect("the agent answers");
        word(&header, 1)
    }

    /// Waits until the agent has started. If that takes more than a second, as under callgrind, an agent in
    /// Rust answers a request that it is not ready, and tells when it is.
    fn wait_until_started(&mut self, request: &[u8]) {
        self.send(request);
        if self.reply() == ERROR {
            assert_eq!(self.reply(), ERROR);
        }
    }

    /// Sends a fetch. Returns the number of metrics in the answer, and that of values of the first.
    fn values(&mut self, name: &str, request: &[u8]) -> [u32; 2] {
        self.send(request);
        assert_eq!(self.reply(), RESULT, "{name}: an error");
        // A time of two words, the number of sets, and the first set: its metric, its number of
        // values.
        [word(&self.reply, 2), word(&self.reply, 4)]
    }

    /// One fetch, whose answer must have all values.
    fn fetch(&mut self, row: &Row, metrics: Metrics) {
        let sets = self.values(row.name, &request(row.subject.domain(), metrics));
        assert_eq!(
            sets,
            [metrics.len() as u32, row.subject.values(metrics)],
            "{}: not all values",
            row.name
        );
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// A word of a PDU.
fn word(bytes: &[u8], index: usize) -> u32 {
    let bytes = bytes.get(index * 4..).and_then(|rest| rest.first_chunk());
    u32::from_be_bytes(*bytes.expect("a longer PDU"))
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn shown(number: f64) -> String {
    match number {
        ..10.0 => format!("{number:.2}"),
        _ => format!("{number:.0}"),
    }
}
