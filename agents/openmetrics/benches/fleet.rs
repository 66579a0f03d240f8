//! A hundred exporters beside ten sources that misbehave, each asked once in ten seconds: no value
//! of a good source may be missing or old, and memory must not grow. `make -C tests fleet`, or
//! `cargo bench -p pmda-openmetrics --bench fleet -- MINUTES P99`: at the 99th percentile a request
//! may take P99 seconds, on a machine that does nothing else; the first minute does not count.
//!
//! The servers are another process, this program with the argument `serve`, so that memory is the
//! agent's. It ends when its standard input does.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pmda::testing::Harness;
use pmda_openmetrics::OpenMetrics;

/// The good sources.
const GOOD: usize = 100;

/// Each of them is asked once in so long.
const INTERVAL: Duration = Duration::from_secs(10);

/// The first rounds, whose times do not count: a request waits in full for a source that has just begun to
/// hang, and then less and less (OM-90).
const FIRST: usize = 6;

/// How much more memory the agent may have at the end of the last half than at its beginning, in KiB:
/// pages of the allocator that one round needs and another does not.
const GROWTH: u64 = 1024;

/// The sources that misbehave.
const HOSTILE: [&str; 10] = [
    "hang", "drip", "loop", "stranger", "cookies", "lines", "html", "restart", "continue", "churn",
];

/// The good lines of the source `lines`, which has as many bad ones.
const GOOD_LINES: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "serve") {
        serve();
        return;
    }
    let mut numbers = arguments.iter().filter_map(|argument| argument.parse::<f64>().ok());
    let minutes = numbers.next().unwrap_or(20.0);
    let p99 = numbers.next();
    let servers = Servers::start();
    let folder = tempfile::tempdir().expect("a directory");
    let sources = folder.path().join("config.d");
    fs::create_dir(&sources).expect("made");
    for (number, port) in servers.ports.iter().enumerate() {
        let (name, lines) = match number.checked_sub(GOOD) {
            None => (format!("good{number}"), ""),
            Some(hostile) => (HOSTILE[hostile].to_owned(), "FORGET: 60\n"),
        };
        let url = format!("http://127.0.0.1:{port}/metrics\n{lines}");
        fs::write(sources.join(format!("{name}.url")), url).expect("written");
    }
    let mut agent: Harness<OpenMetrics> = Harness::builder().folder(folder.path()).start().expect("it starts");
    let rounds = Rounds::run(&mut agent, Duration::from_secs_f64(minutes * 60.0));
    rounds.judge(p99);
}

/// What was seen.
struct Rounds {
    /// How long each request took.
    took: Vec<Duration>,
    /// Resident memory behind each, in KiB.
    resident: Vec<u64>,
    /// Values of all good sources together.
    values: usize,
    /// Sources that lacked values, or had old ones, each with the round.
    faults: Vec<String>,
}

impl Rounds {
    fn run(agent: &mut Harness<OpenMetrics>, time: Duration) -> Rounds {
        let names = agent.names().expect("names");
        let is_hostile = |name: &&String| {
            let source = name.split('.').nth(1).unwrap_or_default();
            HOSTILE.contains(&source)
        };
        let hostile: Vec<&str> = names.iter().filter(is_hostile).map(String::as_str).collect();
        let mut asked: Vec<(usize, &str)> = Vec::new();
        for name in &names {
            let source = name.split('.').nth(1).and_then(|source| source.strip_prefix("good"));
            if let Some(source) = source.and_then(|number| number.parse().ok()) {
                asked.push((source, name));
            }
        }
        let all: Vec<&str> = asked.iter().map(|(_, name)| *name).chain(hostile).collect();
        let mut rounds = Rounds {
            took: Vec::new(),
            resident: Vec::new(),
            values: 0,
            faults: Vec::new(),
        };
        let expected = samples(&document(0)) + 1;
        let begun = Instant::now();
        for round in 0.. {
            if begun.elapsed() > time {
                break;
            }
            let (wall, asked_at) = (milliseconds(), Instant::now());
            let replies = agent.fetch_all(&all).expect("values");
            rounds.took.push(asked_at.elapsed());
            rounds.resident.push(resident());
            let mut found = vec![(0, false); GOOD];
            // Each bad line costs itself.
            let lines = all.iter().zip(&replies).filter(|(name, values)| {
                name.starts_with("openmetrics.lines.") && values.as_ref().is_ok_and(|values| values.len() == 1)
            });
            let lines = lines.count();
            if lines != GOOD_LINES {
                let fault = format!("round {round}: lines: {lines} of {GOOD_LINES} values");
                rounds.faults.push(fault);
            }
            for ((source, name), values) in asked.iter().zip(replies) {
                let Ok(values) = values else { continue };
                found[*source].0 += values.len();
                if name.ends_with(".served") {
                    // A document of this request, not of one before it.
                    found[*source].1 = values.value::<f64>().is_some_and(|served| served >= wall as f64);
                }
            }
            rounds.values += found.iter().map(|(count, _)| count).sum::<usize>();
            for (source, (count, is_fresh)) in found.into_iter().enumerate() {
                if count != expected || !is_fresh {
                    let age = if is_fresh { "" } else { ", not of this request" };
                    rounds.faults.push(format!(
                        "round {round}: good{source}: {count} of {expected} values{age}"
                    ));
                }
            }
            // Names of new metrics of those that misbehave are looked up, as a client does.
            drop(agent.fetch("openmetrics.control.status"));
            let next = begun + INTERVAL * (round + 1);
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        rounds
    }

    fn judge(&self, most: Option<f64>) {
        let settled = self.took.get(FIRST..).filter(|rest| !rest.is_empty());
        let mut took = settled.unwrap_or(&self.took).to_vec();
        took.sort_unstable();
        let at = |part: f64| took[((took.len() - 1) as f64 * part).round() as usize].as_secs_f64();
        let half = &self.resident[self.resident.len() / 2..];
        let mean = |part: &[u64]| part.iter().sum::<u64>() / part.len().max(1) as u64;
        let quarter = half.len().div_ceil(4);
        let (first, last) = (mean(&half[..quarter]), mean(&half[half.len() - quarter..]));
        println!("| rounds | values | missing or old | median, s | p99, s | resident at half, KiB | at the end, KiB |");
        println!("|---:|---:|---:|---:|---:|---:|---:|");
        println!(
            "| {} | {} | {} | {:.3} | {:.3} | {first} | {last} |",
            self.took.len(),
            self.values,
            self.faults.len(),
            at(0.5),
            at(0.99)
        );
        let first_faults = self.faults.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
        assert!(self.faults.is_empty(), "{} faults:\n{first_faults}", self.faults.len());
        assert!(last <= first + GROWTH, "memory grows from {first} to {last} KiB");
        if let Some(most) = most {
            assert!(at(0.99) < most, "the 99th percentile of a request is {} s", at(0.99));
        }
    }
}

/// The agent's resident memory, in KiB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .expect("a number")
}

fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("later");
    since.as_millis() as u64
}

/// What the exporter of a node says, with other values each time: 256 samples.
fn document(number: u64) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, labels: &[String]| {
        let _ = writeln!(text, "# HELP {name} What {name} says.\n# TYPE {name} {kind}");
        for (place, labels) in labels.iter().enumerate() {
            let _ = writeln!(text, "{name}{labels} {}.25", number * 10 + place as u64);
        }
    };
    let of = |label: &str, count: u32| {
        (0..count)
            .map(|place| format!("{{{label}=\"{place}\"}}"))
            .collect::<Vec<_>>()
    };
    let modes = ["idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user"];
    let cpus = (0..16).flat_map(|cpu| modes.map(|mode| format!("{{cpu=\"{cpu}\",mode=\"{mode}\"}}")));
    family("node_cpu_seconds_total", "counter", &cpus.collect::<Vec<_>>());
    for what in [
        "reads_completed_total",
        "read_bytes_total",
        "written_bytes_total",
        "io_now",
    ] {
        let kind = if what.ends_with("total") { "counter" } else { "gauge" };
        family(&format!("node_disk_{what}"), kind, &of("device", 8));
    }
    for what in ["receive_bytes_total", "transmit_bytes_total", "receive_errs_total"] {
        family(&format!("node_network_{what}"), "counter", &of("device", 8));
    }
    for what in ["avail_bytes", "size_bytes", "files"] {
        family(&format!("node_filesystem_{what}"), "gauge", &of("mountpoint", 8));
    }
    for what in 0..48 {
        family(&format!("node_memory_{what}_bytes"), "gauge", &[String::new()]);
    }
    text
}

fn samples(document: &str) -> usize {
    let is_sample = |line: &&str| !line.is_empty() && !line.starts_with('#');
    document.lines().filter(is_sample).count()
}

/// The other process.
struct Servers {
    process: Child,
    ports: Vec<u16>,
}

impl Servers {
    fn start() -> Servers {
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("ports");
        let ports = line.split_whitespace().map(|port| port.parse().expect("a port"));
        let ports: Vec<u16> = ports.collect();
        assert_eq!(ports.len(), GOOD + HOSTILE.len());
        Servers { process, ports }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves all ports, whose numbers it prints, until the standard input ends.
fn serve() {
    let mut ports = Vec::new();
    for number in 0..GOOD + HOSTILE.len() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let kind = number.checked_sub(GOOD).map_or("good", |hostile| HOSTILE[hostile]);
        ports.push(port);
        let good = ports[0];
        let served = Arc::new(AtomicU64::new(0));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = Arc::clone(&served);
                let small = thread::Builder::new().stack_size(256 << 10);
                let _ = small.spawn(move || drop(answer(stream, kind, good, &served)));
            }
        });
    }
    let line: Vec<String> = ports.iter().map(u16::to_string).collect();
    println!("{}", line.join(" "));
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Answers the requests of a connection. `good` is the port of a good source.
fn answer(stream: TcpStream, kind: &str, good: u16, served: &AtomicU64) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line)? > 0 {
        let is_end = line == "\r\n";
        line.clear();
        if !is_end {
            continue;
        }
        let number = served.fetch_add(1, Ordering::Relaxed);
        let out = stream.get_mut();
        let reply = |head: &str, body: &str| format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let text = match kind {
            "good" => reply("200 OK", &(document(number) + &format!("served {}\n", milliseconds()))),
            "hang" => {
                thread::sleep(Duration::from_secs(100));
                return Ok(());
            }
            "drip" => {
                out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")?;
                loop {
                    out.write_all(b"x")?;
                    thread::sleep(Duration::from_millis(300));
                }
            }
            "loop" => reply(&format!("302 Found\r\nLocation: /{number}"), ""),
            "stranger" => reply(
                &format!("301 Moved Permanently\r\nLocation: http://127.0.0.1:{good}/metrics"),
                "",
            ),
            "cookies" => {
                let cookies = (0..50).map(|cookie| format!("\r\nSet-Cookie: c{number}x{cookie}={}", "y".repeat(1000)));
                reply(&format!("200 OK{}", cookies.collect::<String>()), "x 1\n")
            }
            "lines" => reply("200 OK", &format!("x 1\n}}{number}\ny 1\n\u{1b}[2J\nx{{l=\"1\nz 1\n")),
            "html" => reply("200 OK", &format!("<html>\n<body>{number}\n</body>\n</html>\n")),
            // It is started anew each minute, and refuses for a quarter of that.
            "restart" if milliseconds() / 15_000 % 4 == 0 => return Ok(()),
            "restart" => reply("200 OK", "x 1\n"),
            "continue" => loop {
                out.write_all("HTTP/1.1 100 Continue\r\n\r\n".repeat(1000).as_bytes())?;
            },
            _ => {
                let series = (0..100).map(|series| format!("m{{id=\"{number}-{series}\"}} 1\n"));
                reply("200 OK", &series.collect::<String>())
            }
        };
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}
