//! Lines that programs send to a statsd by UDP become metrics: counters, gauges and durations,
//! which appear when they are first received, with their tags as labels.
//!
//! A line has a name, tags, a number, a type (`c`, `g`, or `ms` for a duration) and a sampling
//! rate, as `requests,host=web1,zone=eu:1|c|@0.1`; tags and rate may be missing. A thread adds
//! lines up. It shares each sum with the agent, so that a fetch has nothing to do but to read sums.

#![forbid(unsafe_code)]
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use pmda::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::net::UdpSocket;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::{sync::Arc, thread, time::Duration};

/// Maximum number of sums: whoever can send a datagram can make more.
const SUMS: usize = 100_000;
/// Serials of the instance domains.
const NAMES: u32 = 0;
const TAGS: u32 = 1;

/// The sum of all lines with one name and one set of tags.
enum Sum {
    Counter(f64),
    Gauge(f64),
    /// In microseconds, with two significant digits.
    Durations(Box<Histogram<u32>>),
}

impl Sum {
    /// A quantile of durations in milliseconds, or their number; the value of others.
    fn value(&self, quantile: Option<f64>) -> f64 {
        match (self, quantile) {
            (Sum::Counter(value) | Sum::Gauge(value), _) => *value,
            (Sum::Durations(all), Some(quantile)) => all.value_at_quantile(quantile) as f64 / 1000.0,
            (Sum::Durations(all), None) => all.len() as f64,
        }
    }
}

/// A sum that the agent does not know yet.
struct New {
    name: String,
    tags: String,
    sum: Arc<Mutex<Sum>>,
}

#[derive(Default)]
struct Lines {
    received: AtomicU64,
    dropped: AtomicU64,
}

/// Receives datagrams until the agent has ended.
fn listen(socket: &UdpSocket, lines: &Arc<Lines>, new: &Sender<New>) {
    let (mut sums, mut buffer) = (HashMap::new(), vec![0; 65_536]);
    while Arc::strong_count(lines) > 1 {
        // The socket has a timeout, so an error is a second without a datagram.
        let length = socket.recv(&mut buffer).unwrap_or(0);
        for line in String::from_utf8_lossy(&buffer[..length]).lines() {
            lines.received.fetch_add(1, Relaxed);
            if add(&mut sums, new, line).is_none() {
                lines.dropped.fetch_add(1, Relaxed);
                log::debug!("dropped: {line:?}");
            }
        }
    }
}

/// Adds a line to its sum, by name and tags. `None` if the line has another form, or another type.
fn add(sums: &mut HashMap<String, Arc<Mutex<Sum>>>, new: &Sender<New>, line: &str) -> Option<()> {
    let (key, rest) = line.split_once(':')?;
    let mut fields = rest.split('|');
    let (text, kind) = (fields.next()?, fields.next()?);
    let number: f64 = text.parse().ok()?;
    let rate = fields.find_map(|field| field.strip_prefix('@')).unwrap_or("1");
    let times = 1.0 / rate.parse::<f64>().ok()?;
    if !number.is_finite() || !(1.0..1e6).contains(&times) {
        return None;
    }
    if !sums.contains_key(key) {
        let sum = match kind {
            _ if sums.len() == SUMS => return None,
            "c" => Sum::Counter(0.0),
            "g" => Sum::Gauge(0.0),
            "ms" => Sum::Durations(Box::new(Histogram::new(2).ok()?)),
            _ => return None,
        };
        let sum = Arc::new(Mutex::new(sum));
        sums.insert(key.to_owned(), Arc::clone(&sum));
        let (name, tags) = key.split_once(',').unwrap_or((key, "/"));
        let (name, tags) = (name.to_owned(), tags.to_owned());
        new.send(New { name, tags, sum }).ok()?;
    }
    match (&mut *sums.get(key)?.lock(), kind) {
        (Sum::Counter(sum), "c") => *sum += number * times,
        (Sum::Gauge(value), "g") if text.starts_with(['+', '-']) => *value += number,
        (Sum::Gauge(value), "g") => *value = number,
        (Sum::Durations(all), "ms") => all.record_n((number * 1000.0) as u64, times as u32).ok()?,
        _ => return None,
    }
    Some(())
}

/// The row of a set of tags: its sums, by the number of their name.
type Sums = BTreeMap<i32, Arc<Mutex<Sum>>>;

struct Statsd {
    new: Receiver<New>,
    lines: Arc<Lines>,
    /// All names, numbered in the order in which they came, each with the number of its sums.
    names: Indom<u32>,
    sums: Indom<Sums>,
    port: u16,
}

impl Agent for Statsd {
    const NAME: &'static str = "statsd";
    const DOMAIN: u32 = 408;
    const OPTIONS: &'static [Opt] = &[Opt::new("port")
        .short('P')
        .argument("PORT")
        .help("the port of UDP, instead of 8125")];
    fn start(env: &Env) -> Result<Statsd> {
        let port: u16 = env.option("port").unwrap_or("8125").parse()?;
        let socket = UdpSocket::bind(("127.0.0.1", port))?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        let port = socket.local_addr()?.port();
        let (lines, (sender, new)) = (Arc::new(Lines::default()), channel());
        let shared = Arc::clone(&lines);
        thread::spawn(move || listen(&socket, &shared, &sender));
        Ok(Statsd {
            new,
            lines,
            names: Indom::persistent_in(env, NAMES),
            sums: Indom::persistent_in(env, TAGS),
            port,
        })
    }
    fn metrics(m: &mut Metrics<Statsd>) {
        m.dynamic_names();
        let names = m.indom(NAMES, "Names of received metrics", |s| &mut s.names);
        let tags = m.indom(TAGS, "Sets of tags\n\"/\" is the one without tags.", |s| &mut s.sums);
        m.instance_labels(tags, |tags, _| {
            let tags = tags.split(',').filter_map(|tag| tag.split_once('='));
            tags.fold(Labels::new(), |labels, (name, value)| labels.add(name, value))
        });
        m.each("pmda.sums", names, |sums| *sums)
            .help("Sums of each name, one for each set of tags");
        m.value("pmda.received", |s| s.lines.received.load(Relaxed))
            .counter()
            .unit(COUNT)
            .help("Lines that were received");
        m.value("pmda.dropped", |s| s.lines.dropped.load(Relaxed))
            .counter()
            .unit(COUNT)
            .help("Lines that were dropped\nThey have another form, or their name has another type.");
        m.value("pmda.port", |s| u32::from(s.port))
            .discrete()
            .help("The port of UDP");
    }
    fn dynamic(&mut self, m: &mut Metrics<Statsd>, _: &Request<'_>) -> Result<()> {
        let (mut names, mut sums) = (self.names.change(), self.sums.change());
        for new in self.new.try_iter() {
            if let Err(error) = show(m, &new, &mut names, &mut sums) {
                log::warn!("{:?} is not shown: {error}", new.name);
            }
        }
        Ok(())
    }
}

/// A metric of a name: the end of the metric's name, semantics, unit, and quantile of durations.
type Shown = (&'static str, Semantics, Unit, Option<f64>);
const COUNTER: &[Shown] = &[("", Semantics::Counter, COUNT, None)];
const GAUGE: &[Shown] = &[("", Semantics::Instant, Unit::NONE, None)];
const DURATIONS: &[Shown] = &[
    (".count", Semantics::Counter, COUNT, None),
    (".min", Semantics::Instant, MSEC, Some(0.0)),
    (".p50", Semantics::Instant, MSEC, Some(0.5)),
    (".p90", Semantics::Instant, MSEC, Some(0.9)),
    (".p99", Semantics::Instant, MSEC, Some(0.99)),
    (".max", Semantics::Instant, MSEC, Some(1.0)),
];

/// Shows a new sum, and declares the metrics of its name if it is the first one with that.
fn show(m: &mut Metrics<Statsd>, new: &New, names: &mut Update<'_, u32>, sums: &mut Update<'_, Sums>) -> Result<()> {
    let Some(number) = names.reserve(&new.name)? else {
        return Ok(());
    };
    // Each name has eight numbers for metrics, in clusters of 1024.
    let (cluster, first) = (1 + number as u32 / 128, number as u32 % 128 * 8);
    let tags = m.find_indom::<Sums>(TAGS).ok_or(Error::INDOM)?;
    m.cluster(cluster);
    let metrics = match *new.sum.lock() {
        Sum::Counter(_) => COUNTER,
        Sum::Gauge(_) => GAUGE,
        Sum::Durations(_) => DURATIONS,
    };
    for (item, &(suffix, semantics, unit, quantile)) in (first..).zip(metrics) {
        let name = format!("{}{suffix}", new.name);
        if !m.has(&name) {
            m.each(&name, tags, move |sums| Some(sums.get(&number)?.lock().value(quantile)))
                .item(item)
                .semantics(semantics)
                .unit(unit)
                .help("Received by UDP")
                .declare()?;
        }
    }
    if let Some(count) = names.row(&new.name, || 0)? {
        *count += 1;
    }
    if let Some(sums) = sums.row(&new.tags, Sums::new)? {
        sums.insert(number, Arc::clone(&new.sum));
    }
    Ok(())
}

fn main() -> ExitCode {
    pmda::run::<Statsd>()
}

#[test]
fn numbers_add_up() -> Result<()> {
    let mut pmcd = pmda::testing::Harness::<Statsd>::builder()
        .option("port", "0")
        .start()?;
    let client = UdpSocket::bind("127.0.0.1:0")?;
    for datagram in [
        "visits:2|c\nvisits:1|c|@0.5",
        "load,host=a,zone=eu:5|g\nload,host=a,zone=eu:-2|g",
        "answer:1.5|ms\nanswer:9|ms",
        "nonsense\nvisits:1|g\nvisits:NaN|c\n1st:1|c",
    ] {
        client.send_to(datagram.as_bytes(), ("127.0.0.1", pmcd.agent().port))?;
    }
    while pmcd.fetch("statsd.pmda.received")?.value() != Some(10_u64) {}
    assert_eq!(pmcd.fetch("statsd.pmda.dropped")?.value(), Some(3_u64));
    assert_eq!(pmcd.fetch("statsd.visits")?.value_of("/"), Some(4.0));
    assert_eq!(pmcd.fetch("statsd.load")?.value_of("host=a,zone=eu"), Some(3.0));
    let answer = ["count", "p50", "max"].map(|name| pmcd.fetch(&format!("statsd.answer.{name}")).ok()?.value_of("/"));
    assert_eq!(answer.map(|value| value.map(f64::round)), [2.0, 2.0, 9.0].map(Some));
    assert_eq!(pmcd.instance_labels("statsd.load")?[1].1, r#"{"host":"a","zone":"eu"}"#);
    assert!(pmcd.log().contains("\"1st\" is not shown"), "{}", pmcd.log());
    // All keep their numbers over a restart.
    let load = (pmcd.desc("statsd.load")?.id, pmcd.instances("statsd.load")?);
    let mut pmcd = pmcd.restart()?;
    client.send_to(b"first:1|c\nload,host=a,zone=eu:1|g", ("127.0.0.1", pmcd.agent().port))?;
    while pmcd.fetch("statsd.pmda.received")?.value() != Some(2_u64) {}
    assert_eq!((pmcd.desc("statsd.load")?.id, pmcd.instances("statsd.load")?), load);
    Ok(())
}
