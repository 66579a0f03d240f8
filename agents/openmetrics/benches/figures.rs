//! This agent beside PCP's in Python: processor time and wall time of a fetch, resident memory, and
//! how long a start takes. `cargo bench -p pmda-openmetrics --bench figures -- --update` writes the
//! table of docs/PERFORMANCE.md.
//!
//! The program takes pmcd's place: it starts the agent with pipes, waits until it says that it is
//! ready, and fetches all metrics of all sources again and again.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pcp_pmda_test::pcp::{self, Environment};
use pcp_pmda_test::{Library, profile_dir};
use pmda_core::ident::MetricId;
use pmda_core::wire::Kind;
use pmda_core::wire::client::ClientRequest;
use pmda_core::wire::receive::{Pdu, ReadMode, Receiver};

/// The domain of both agents.
const DOMAIN: u32 = 144;

/// A row is measured for so long, and for so many fetches at least and at most.
const TIME: Duration = Duration::from_secs(2);
const FETCHES: std::ops::RangeInclusive<u32> = 2..=2000;

/// Where the agents have their files, those of each row apart: ext4 does not soon give an inode
/// again that was deleted, and looks at them one by one for another. Files that a first start makes
/// then take it a second; so all are deleted at the end. First starts are longer in a run that
/// follows another one within minutes.
const FOLDER: &str = "openmetrics-figures";

/// The clock ticks of `/proc/PID/stat` in a second (`sysconf(_SC_CLK_TCK)`, on all Linux).
const TICKS: f64 = 100.0;

/// Where a document may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    File,
    Http,
}

/// Which agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    Python,
    Ours,
}

/// What is asked: so many sources with so many samples each.
#[derive(Clone, Copy, Debug)]
struct Row {
    sources: u32,
    samples: u32,
    by: By,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
struct Figures {
    /// Of a fetch, in milliseconds.
    processor: f64,
    wall: f64,
    /// In MiB.
    resident: f64,
    /// From its very first start until it is ready, in milliseconds: all sources are fetched once,
    /// and all numbers are written.
    first: f64,
    /// The same when the numbers are known.
    again: f64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let update = arguments.iter().any(|argument| argument == "--update");
    // Rows with more samples altogether are left out: PCP's agent takes minutes for a million.
    let most = arguments.iter().skip_while(|argument| *argument != "--most").nth(1);
    let most: u32 = most.and_then(|number| number.parse().ok()).unwrap_or(u32::MAX);
    // One row alone: "10x1000".
    let only = arguments.iter().skip_while(|argument| *argument != "--row").nth(1);
    let mut table = String::from(
        "| sources x samples | by | processor, ms | | | wall, ms | | resident, MiB | | first start, ms | | start again, ms | |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n\
         | | | Python | Rust | Rust / Python | Python | Rust | Python | Rust | Python | Rust | Python | Rust |\n",
    );
    for by in [By::File, By::Http] {
        for sources in [1, 10, 100] {
            for samples in [10, 1000, 10_000] {
                if sources * samples > most || only.is_some_and(|row| *row != format!("{sources}x{samples}")) {
                    continue;
                }
                let row = Row { sources, samples, by };
                let (python, ours) = (measure(row, Which::Python), measure(row, Which::Ours));
                let line = line(row, &python, &ours);
                eprint!("{line}");
                table.push_str(&line);
            }
        }
    }
    let _ = fs::remove_dir_all(profile_dir().join("test-pcp").join(FOLDER));
    if update {
        write(&table);
    } else {
        print!("{table}");
    }
}

fn line(row: Row, python: &Figures, ours: &Figures) -> String {
    let by = match row.by {
        By::File => "file",
        By::Http => "http",
    };
    format!(
        "| {} x {} | {by} | {:.2} | {:.3} | {:.3} | {:.2} | {:.2} | {:.1} | {:.1} | {:.0} | {:.0} | {:.0} | {:.0} |\n",
        row.sources,
        row.samples,
        python.processor,
        ours.processor,
        ours.processor / python.processor,
        python.wall,
        ours.wall,
        python.resident,
        ours.resident,
        python.first,
        ours.first,
        python.again,
        ours.again
    )
}

/// The lines of the table that the document shows; without `--update` a run prints all.
fn page(table: &str) -> String {
    let shown = [
        "| 1 x 10 | http",
        "| 10 x 1000 | http",
        "| 100 x 10 | http",
        "| 100 x 1000 | http",
    ];
    let is_row = |line: &str| line.contains(" x ") && !line.contains(" sources x ");
    let lines = table
        .lines()
        .filter(|line| !is_row(line) || shown.iter().any(|start| line.starts_with(start)));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Puts the table between the marks of the document.
fn write(table: &str) {
    let table = page(table);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/PERFORMANCE.md");
    let document = fs::read_to_string(&path).expect("the document");
    let (begin, end) = ("<!-- openmetrics: begin -->\n", "<!-- openmetrics: end -->");
    let (head, rest) = document.split_once(begin).expect("a mark");
    let (_, tail) = rest.split_once(end).expect("a mark");
    let output = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let date = output("date", &["+%Y-%m-%d"]);
    let commit = output("git", &["rev-parse", "--short=8", "HEAD"]);
    let measured = format!("Measured on {date}, commit {commit}.\n\n");
    fs::write(&path, format!("{head}{begin}{measured}{table}{end}{tail}")).expect("the document can be written");
}

/// A document: metrics with ten instances each, or a hundred where that would be too many metrics.
fn document(samples: u32) -> (String, u32) {
    let instances = if samples > 1000 { 100 } else { 10 };
    let metrics = samples / instances;
    let mut text = String::new();
    for metric in 0..metrics {
        let _ = writeln!(
            text,
            "# HELP http_requests_{metric}_total Requests by method and status."
        );
        let _ = writeln!(text, "# TYPE http_requests_{metric}_total counter");
        for instance in 0..instances {
            let value = metric * 1000 + instance;
            let _ = writeln!(
                text,
                "http_requests_{metric}_total{{handler=\"/api/v1/query\",method=\"get\",code=\"{instance}\"}} {value}.25"
            );
        }
    }
    (text, metrics)
}

/// Serves a document on connections that are kept.
fn serve(text: &str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let reply = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    );
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let reply = reply.clone();
            thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                while stream.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                    if line == "\r\n" && stream.get_mut().write_all(reply.as_bytes()).is_err() {
                        return;
                    }
                    line.clear();
                }
            });
        }
    });
    port
}

fn measure(row: Row, which: Which) -> Figures {
    let folder = format!("{FOLDER}/{which:?}-{}x{}-{:?}", row.sources, row.samples, row.by);
    let environment = Environment::new(&folder, Library::C);
    let (text, metrics) = document(row.samples);
    let sources = environment.directory.join("sources");
    fs::create_dir_all(&sources).expect("target is writable");
    let page = environment.directory.join("page");
    fs::write(&page, &text).expect("target is writable");
    let port = if row.by == By::Http { serve(&text) } else { 0 };
    for source in 1..=row.sources {
        let url = match row.by {
            By::File => format!("file://{}\n", page.display()),
            By::Http => format!("http://127.0.0.1:{port}/metrics\n"),
        };
        fs::write(sources.join(format!("s{source:03}.url")), url).expect("target is writable");
    }
    let all = (1..=row.sources).flat_map(|cluster| (0..metrics).map(move |item| MetricId::new(DOMAIN, cluster, item)));
    let all: Vec<MetricId> = all.collect();
    let mut agent = Agent::start(&environment, which, &sources);
    let expected = u64::from(row.sources) * u64::from(row.samples);
    // What is new in the first fetch is no part of the figures.
    agent.fetch(&all, expected);
    let (processor, begun) = (agent.processor(), Instant::now());
    let mut fetches = 0;
    while fetches < *FETCHES.start() || (fetches < *FETCHES.end() && begun.elapsed() < TIME) {
        agent.fetch(&all, expected);
        fetches += 1;
    }
    let wall = begun.elapsed().as_secs_f64() * 1000.0 / f64::from(fetches);
    let processor = (agent.processor() - processor) * 1000.0 / f64::from(fetches);
    let (resident, first) = (agent.resident(), agent.start.as_secs_f64() * 1000.0);
    drop(agent);
    let again = Agent::start(&environment, which, &sources);
    Figures {
        processor,
        wall,
        resident,
        first,
        again: again.start.as_secs_f64() * 1000.0,
    }
}

/// A running agent, with this program as its pmcd.
struct Agent {
    process: Child,
    requests: ChildStdin,
    replies: ChildStdout,
    receiver: Receiver,
    request: ClientRequest,
    start: Duration,
}

impl Agent {
    fn start(environment: &Environment, which: Which, sources: &Path) -> Agent {
        let begun = Instant::now();
        let mut command = match which {
            Which::Python => {
                let mut command = environment.command("/usr/bin/python3");
                command.arg(pcp::agent("openmetrics").join("pmdaopenmetrics.python"));
                command
            }
            Which::Ours => environment.command(env!("CARGO_BIN_EXE_pmdaopenmetrics")),
        };
        // Without what tests need to change users.
        command
            .env_remove("LD_PRELOAD")
            .arg("-c")
            .arg(sources)
            .args(["-t", "60"]);
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let mut agent = Agent {
            requests: process.stdin.take().expect("a pipe"),
            replies: process.stdout.take().expect("a pipe"),
            process,
            receiver: Receiver::new(),
            request: ClientRequest::new(),
            start: Duration::ZERO,
        };
        assert_eq!(agent.next().header.kind, Kind::PDU_CREDS);
        agent.request.credentials(1, 0).expect("it fits");
        agent
            .requests
            .write_all(agent.request.bytes())
            .expect("the agent reads");
        // It says that it is ready.
        assert_eq!(agent.next().header.kind, Kind::PDU_ERROR);
        agent.start = begun.elapsed();
        agent
    }

    fn next(&mut self) -> Pdu {
        self.receiver.next(&mut self.replies, ReadMode::Ahead).expect("a reply")
    }

    /// Fetches metrics, which have so many values.
    fn fetch(&mut self, metrics: &[MetricId], expected: u64) {
        self.request.fetch(metrics).expect("it fits");
        self.requests.write_all(self.request.bytes()).expect("the agent reads");
        let reply = loop {
            let reply = self.next();
            // Before the reply PCP's agent may tell once more that it is ready.
            if reply.header.kind == Kind::PDU_RESULT {
                break reply;
            }
            self.receiver.recycle(reply);
        };
        // Doubles: eight bytes for the instance and where the value is, and three words there.
        let least = expected * (8 + 12);
        assert!(
            reply.bytes().len() as u64 > least,
            "{} bytes for {expected} values",
            reply.bytes().len()
        );
        self.receiver.recycle(reply);
    }

    fn proc(&self, name: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{name}", self.process.id())).expect("the agent runs")
    }

    /// The processor time that it has used, in seconds.
    fn processor(&self) -> f64 {
        let stat = self.proc("stat");
        // Behind the name of the program: fields 14 and 15, of which the third is the first here.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: f64 = fields
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<f64>().ok())
            .sum();
        ticks / TICKS
    }

    /// Its resident memory in MiB.
    fn resident(&self) -> f64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.expect("VmRSS") / 1024.0
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
