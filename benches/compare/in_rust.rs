//! The agent of `benches/in_rust`, in C on both libraries and in Rust: processor time of the agent
//! for a request, and its resident memory.
//!
//! A daemon hangs on two pipes, as pmcd starts it, and gets the same bytes again and again. A
//! shared object is opened by a host that fetches. The runs of a row take turns; what counts is the
//! median of the ratios of those that follow each other.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use pcp_pmda_test::{profile_dir, root, target_dir};

use crate::agents::{processor, resident};

/// How many runs of each agent a row gets.
const RUNS: usize = 7;
/// The domain of the agent.
const DOMAIN: u32 = 250;
/// Types of PDUs.
const RESULT: u32 = 0x7001;
const FETCH: u32 = 0x7003;
const CREDS: u32 = 0x700c;

/// What a row measures.
enum Kind {
    /// Microseconds of a daemon for a fetch of these metrics, as cluster and item.
    Daemon(&'static [(u32, u32)]),
    /// Microseconds of a host of the shared object for a fetch of an item of cluster 0.
    Object(u32),
    /// Resident KiB of a daemon after fetches of these metrics.
    Memory(&'static [(u32, u32)]),
}

struct Row {
    name: &'static str,
    /// How many rows and jobs the agent has.
    size: u32,
    kind: Kind,
    rounds: u32,
    /// What the agent in Rust may cost at most, with that in C on the C library for 1.
    limit: f64,
}

const fn row(name: &'static str, size: u32, kind: Kind, rounds: u32, limit: f64) -> Row {
    Row {
        name,
        size,
        kind,
        rounds,
        limit,
    }
}

const VALUE: &[(u32, u32)] = &[(0, 0)];
const NUMBERS: &[(u32, u32)] = &[(0, 1)];
const THREE: &[(u32, u32)] = &[(0, 1), (0, 2), (0, 3)];
const JOBS: &[(u32, u32)] = &[(1, 0)];

const ROWS: [Row; 9] = [
    row("1 value, µs", 0, Kind::Daemon(VALUE), 20_000, 0.5),
    row(
        "10,000 fixed instances, one metric, µs",
        10_000,
        Kind::Daemon(NUMBERS),
        500,
        0.25,
    ),
    row(
        "the same, three metrics, one a string, µs",
        10_000,
        Kind::Daemon(THREE),
        100,
        1.0,
    ),
    row(
        "10,000 instances, 1 % replaced a fetch, µs",
        10_000,
        Kind::Daemon(JOBS),
        100,
        1.0,
    ),
    row(
        "100,000 instances, 1 % replaced a fetch, µs",
        100_000,
        Kind::Daemon(JOBS),
        10,
        1.0,
    ),
    row("DSO, 1 value, µs", 0, Kind::Object(0), 50_000, 1.0),
    row("DSO, 10,000 fixed instances, µs", 10_000, Kind::Object(1), 500, 1.0),
    row("resident, 1 value, KiB", 0, Kind::Memory(VALUE), 100, 1.0),
    row(
        "resident, 10,000 instances, KiB",
        10_000,
        Kind::Memory(NUMBERS),
        100,
        1.0,
    ),
];

/// One of the three agents: its daemon, its shared object, and where its library is.
struct Agent {
    daemon: PathBuf,
    object: PathBuf,
    library: PathBuf,
}

/// The table of all rows whose names contain one of these words, or of all; and what is above its
/// limit. `build` compiles a file of `benches`.
pub fn table(build: impl Fn(&str, &str, &[&str]) -> PathBuf, libraries: &[PathBuf; 2], words: &[&str]) -> String {
    let host = build("bench-rows-host", "in_rust/host.c", &["-ldl", "-lpcp"]);
    let daemon = build("bench-rows", "in_rust/agent.c", &["-lpcp_pmda", "-lpcp"]);
    let object = build(
        "bench-rows.so",
        "in_rust/agent.c",
        &["-shared", "-fPIC", "-lpcp_pmda", "-lpcp"],
    );
    let agents = [&libraries[0], &libraries[1], &libraries[0]].map(|library| Agent {
        daemon: daemon.clone(),
        object: object.clone(),
        library: library.clone(),
    });
    let [c, ours, rust] = agents;
    let (daemon, object) = in_rust();
    let agents = [c, ours, Agent { daemon, object, ..rust }];
    let mut text = "| | C agent, C library | C agent, this library | agent in Rust | Rust / C library | limit |\n\
                    |---|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let mut above = Vec::new();
    for row in ROWS
        .iter()
        .filter(|row| words.is_empty() || words.iter().any(|word| row.name.contains(word)))
    {
        let runs: Vec<[f64; 3]> = (0..RUNS)
            .map(|_| agents.each_ref().map(|agent| run(row, agent, &host)))
            .collect();
        let of = |index: usize| shown(median(runs.iter().map(|run| run[index])));
        let ratio = median(runs.iter().map(|run| run[2] / run[0]));
        let line = format!(
            "| {} | {} | {} | {} | {ratio:.2} | {:.2} |\n",
            row.name,
            of(0),
            of(1),
            of(2),
            row.limit
        );
        eprint!("{line}");
        text += &line;
        if ratio > row.limit {
            above.push(row.name);
        }
    }
    match above.is_empty() {
        true => writeln!(text, "\nNo row is above its limit."),
        false => writeln!(text, "\nAbove the limit: {}.", above.join("; ")),
    }
    .expect("a string");
    text
}

/// Builds the agent in Rust: its daemon and its shared object.
fn in_rust() -> (PathBuf, PathBuf) {
    let status = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["build", "--quiet", "--locked", "--release", "--package", "pmda-rows"])
        .status()
        .expect("cargo is there");
    assert!(status.success(), "the agent in Rust does not compile");
    let directory = target_dir().join("release");
    (directory.join("pmdarows"), directory.join("libpmda_rows.so"))
}

/// What one agent costs.
fn run(row: &Row, agent: &Agent, host: &Path) -> f64 {
    match row.kind {
        Kind::Object(item) => object(row, agent, host, item),
        Kind::Daemon(metrics) => {
            let mut daemon = Daemon::start(agent, row.size);
            let request = request(metrics);
            // What is done once is done in the first three.
            (0..3).for_each(|_| daemon.fetch(&request, row, metrics));
            let before = processor(daemon.child.id());
            (0..row.rounds).for_each(|_| daemon.fetch(&request, row, metrics));
            (processor(daemon.child.id()) - before) / f64::from(row.rounds)
        }
        Kind::Memory(metrics) => {
            let mut daemon = Daemon::start(agent, row.size);
            (0..row.rounds).for_each(|_| daemon.fetch(&request(metrics), row, metrics));
            resident(daemon.child.id()) as f64
        }
    }
}

/// A program on one core, with the agent's library.
fn command(program: &Path, agent: &Agent, size: u32) -> Command {
    let mut command = Command::new("taskset");
    command
        .args(["-c", "1"])
        .arg(program)
        .env("LD_LIBRARY_PATH", &agent.library)
        .env("PCP_LOG_DIR", profile_dir())
        .env("ROWS", size.to_string())
        // Who starts an agent as root need not have PCP's user.
        .env("PCP_USER", "root")
        .current_dir(profile_dir());
    command
}

fn object(row: &Row, agent: &Agent, host: &Path, item: u32) -> f64 {
    let output = command(host, agent, row.size)
        .arg(&agent.object)
        .args([item.to_string(), row.rounds.to_string()])
        .output()
        .expect("taskset is installed");
    let text = String::from_utf8_lossy(&output.stdout);
    let fields: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
    let [nanoseconds, values] = fields[..] else {
        panic!("{}: {}", row.name, String::from_utf8_lossy(&output.stderr))
    };
    assert_eq!(values, f64::from(row.size.max(1)), "{}: not all values", row.name);
    nanoseconds / 1e3
}

/// A fetch of some metrics, without a profile: of all instances.
fn request(metrics: &[(u32, u32)]) -> Vec<u8> {
    let ids = metrics
        .iter()
        .map(|(cluster, item)| DOMAIN << 22 | cluster << 10 | item);
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
    fn start(agent: &Agent, size: u32) -> Daemon {
        let log = profile_dir().join("bench-rows.log");
        let mut child = command(&agent.daemon, agent, size)
            .args(["-d", &DOMAIN.to_string(), "-l"])
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

    /// One fetch, whose answer must have all values.
    fn fetch(&mut self, request: &[u8], row: &Row, metrics: &[(u32, u32)]) {
        self.send(request);
        assert_eq!(self.reply(), RESULT, "{}: an error", row.name);
        // A time of two words, the number of sets, and the first set: its metric, its number of
        // values.
        let sets = [word(&self.reply, 2), word(&self.reply, 4)];
        assert_eq!(
            sets,
            [metrics.len() as u32, row.size_of(metrics)],
            "{}: not all values",
            row.name
        );
    }
}

impl Row {
    /// How many values the first metric has.
    fn size_of(&self, metrics: &[(u32, u32)]) -> u32 {
        if metrics == VALUE { 1 } else { self.size }
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
