//! Agents that fail, panic, hang, and change.

use std::time::{Duration, Instant};

use pmda_core::constants::PM_LABEL_CLUSTER;
use pmda_core::ident::MetricId;

use crate::prelude::*;
use crate::testing::Harness;
use crate::value::{Encoder, Type};

/// An agent that panics where it is told to.
#[derive(Default)]
struct Faulty {
    rows: Indom<u32>,
    panics: &'static str,
}

impl Faulty {
    fn maybe(&self, place: &str) {
        assert!(self.panics != place, "told to panic in {place}");
    }
}

impl Agent for Faulty {
    const OPTIONS: &'static [Opt] = &[Opt::new("start").argument("HOW").help("how to start")];
    const NAME: &'static str = "faulty";
    const DOMAIN: u32 = 249;
    fn start(env: &Env) -> Result<Faulty> {
        assert!(env.option("start") != Some("panic"), "told to panic in start");
        Ok(Faulty {
            rows: Indom::fixed([("one", 1), ("two", 2)]),
            ..Faulty::default()
        })
    }
    fn metrics(m: &mut Metrics<Faulty>) {
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.instance_labels(rows, |name, row| {
            assert!(*row < 100 || name != "two", "told to panic in labels");
            Labels::new().add("row", *row)
        });
        m.value("good", |_| 1);
        m.text("order", |s| s.panics).store(|s, place: String, _| {
            assert!(place != "panic", "told to panic in store");
            s.panics = "";
            Ok(())
        });
        m.value("bad", |s| {
            s.maybe("value");
            2
        });
        m.each_text("text", rows, |row| {
            if *row < 100 {
                "small"
            } else {
                panic!("told to panic in a row")
            }
        });
        m.value("missing", |_| None::<u64>);
        m.value("refused", |_| Err::<f64, _>(Error::PERMISSION));
        m.value("broken", |_| Err::<f64, _>(Error::IPC));
        m.each("some", rows, |row| if *row == 2 { Err(Error::AGAIN) } else { Ok(*row) });
        m.cluster(1).refresh(|s, _| {
            s.maybe("refresh");
            Ok(())
        });
        m.value("read", |_| 3_u64);
        m.cluster(2).refresh(|_, _| Err(Error::AGAIN));
        m.value("unread", |_| 4_i64);
    }
    fn begin(&mut self, _: &Request<'_>) -> Result<()> {
        self.maybe("begin");
        Ok(())
    }
    fn dynamic(&mut self, m: &mut Metrics<Faulty>, _: &Request<'_>) -> Result<()> {
        self.maybe("dynamic");
        if self.rows.len() > 2 && !m.has("late") {
            m.cluster(3).cluster_label("late", "yes").value("late", |_| 5);
        }
        if self.rows.len() == 4 {
            m.labels_changed();
        }
        Ok(())
    }
    fn client_ended(&mut self, _: ClientId) {
        self.maybe("ended");
    }
}

const NAMES: [&str; 4] = ["faulty.good", "faulty.bad", "faulty.read", "faulty.unread"];

fn codes(pmcd: &mut Harness<Faulty>) -> [Result<Option<i64>>; 4] {
    let fetched = pmcd.fetch_all(&NAMES).expect("a reply");
    let values: Vec<_> = fetched
        .into_iter()
        .map(|fetched| fetched.map(|fetched| fetched.value()))
        .collect();
    values.try_into().expect("four metrics")
}

/// A panic costs what the agent was called for.
#[test]
fn panics() {
    let mut pmcd = Harness::<Faulty>::new().expect("it starts");
    let again = || Err(Error::AGAIN);
    assert_eq!(codes(&mut pmcd), [Ok(Some(1)), Ok(Some(2)), Ok(Some(3)), again()]);
    pmcd.agent().panics = "value";
    assert_eq!(
        codes(&mut pmcd),
        [Ok(Some(1)), Err(Error::GENERIC), Ok(Some(3)), again()]
    );
    pmcd.agent().panics = "refresh";
    assert_eq!(
        codes(&mut pmcd),
        [Ok(Some(1)), Ok(Some(2)), Err(Error::GENERIC), again()]
    );
    pmcd.agent().panics = "ended";
    pmcd.end_client();
    pmcd.set_uid(0);
    assert_eq!(pmcd.store("faulty.order", "panic"), Err(Error::GENERIC));
    assert!(pmcd.store("faulty.order", "nothing").is_ok());
    pmcd.agent().panics = "begin";
    assert_eq!(pmcd.names().err(), Some(Error::GENERIC));
    pmcd.agent().panics = "dynamic";
    assert_eq!(codes(&mut pmcd), [Ok(Some(1)), Ok(Some(2)), Ok(Some(3)), again()]);
    let started = Harness::<Faulty>::builder().option("start", "panic").start();
    assert_eq!(started.err(), Some(Error::GENERIC));
}

/// A row that panics costs its own value and its own labels. For each metric the log has one line,
/// until it has been fetched without a panic.
#[test]
fn half_a_set() {
    let mut pmcd = Harness::<Faulty>::new().expect("it starts");
    let set_rows = |pmcd: &mut Harness<Faulty>, values: [u32; 2]| {
        pmcd.agent()
            .rows
            .rows_mut()
            .zip(values)
            .for_each(|(row, value)| *row = value);
    };
    let texts = |pmcd: &mut Harness<Faulty>| {
        let fetched = pmcd.fetch("faulty.text")?;
        Ok(["one", "two"].map(|row| fetched.value_of::<String>(row)))
    };
    let small = || Some("small".to_owned());
    set_rows(&mut pmcd, [100, 2]);
    for _ in 0..3 {
        assert_eq!(texts(&mut pmcd), Ok([None, small()]));
        let fetched = pmcd.fetch_all(&["faulty.text", "faulty.some", "faulty.good"]);
        let fetched = fetched.expect("whole");
        assert_eq!(fetched[1].as_ref().map(|some| some.value_of("one")), Ok(Some(100)));
        assert_eq!(fetched[2].as_ref().map(|good| good.value()), Ok(Some(1)));
    }
    let line = "Error: metric faulty.text: the agent has panicked: instance 0: told to panic in a row at ";
    assert_eq!(pmcd.log().matches(line).count(), 1, "{}", pmcd.log());
    set_rows(&mut pmcd, [1, 2]);
    assert_eq!(texts(&mut pmcd), Ok([small(), small()]));
    set_rows(&mut pmcd, [1, 100]);
    for _ in 0..3 {
        assert_eq!(texts(&mut pmcd), Ok([small(), None]));
        let labels = pmcd.instance_labels("faulty.text").expect("those of the others");
        assert_eq!(labels, [("one".to_owned(), r#"{"row":1}"#.to_owned())]);
    }
    // Without any value the metric has the error.
    set_rows(&mut pmcd, [100, 100]);
    assert_eq!(texts(&mut pmcd), Err(Error::GENERIC));
    let log = pmcd.log();
    let panics: Vec<&str> = log.lines().filter(|line| line.contains("panicked")).collect();
    assert_eq!(panics.len(), 3, "{log}");
    assert!(
        panics[1].starts_with("Error: metric faulty.text: the agent has panicked: instance 1: "),
        "{log}"
    );
    let line = "Error: labels of instance domain 249.0: the agent has panicked: instance 1 (\"two\"): ";
    assert!(panics[2].starts_with(line), "{log}");
}

/// After a row that panics the walk goes on, whichever instances are asked for.
#[test]
fn rows_behind_a_panic() {
    let mut pmcd = Harness::<Faulty>::new().expect("it starts");
    let mut rows = pmcd.agent().rows.update();
    for row in 0..1000 {
        rows.set(&format!("n{row}"), if row % 3 == 0 { 100 } else { 1 })
            .expect("a name");
    }
    drop(rows);
    let indom = pmcd.desc("faulty.text").expect("there").indom;
    let numbers: Vec<i32> = (0..1002).collect();
    // n3 has number 5; n3 and n6 panic.
    for (profile, values) in [(None, 666), (Some(&numbers[..]), 666), (Some(&numbers[5..9]), 2)] {
        match profile {
            Some(profile) => pmcd.profile_numbers(indom, profile),
            None => pmcd.profile_all(),
        }
        assert_eq!(pmcd.fetch("faulty.text").expect("some").instances().len(), values);
    }
}

/// A value that is not always of the type that it announces.
struct Odd(u32);

impl Value for Odd {
    const TYPE: Type = Type::U64;

    fn write(self, out: &mut Encoder<'_>) -> Result<()> {
        match self.0 {
            2 => self.0.write(out),
            row => u64::from(row).write(out),
        }
    }
}

/// A value that is written twice.
struct Twice(u32);

impl Value for Twice {
    const TYPE: Type = Type::U32;

    fn write(self, out: &mut Encoder<'_>) -> Result<()> {
        self.0.write(out)?;
        self.0.write(out)
    }
}

/// An agent with one of each.
struct Mixing(Indom<u32>);

impl Agent for Mixing {
    const NAME: &'static str = "mixing";
    const DOMAIN: u32 = 248;
    fn start(_: &Env) -> Result<Mixing> {
        Ok(Mixing(Indom::fixed([("one", 1), ("two", 2), ("three", 3)])))
    }
    fn metrics(m: &mut Metrics<Mixing>) {
        let rows = m.indom(0, "Rows", |s| &mut s.0);
        m.each("odd", rows, |row| Odd(*row));
        m.each("even", rows, |row| *row);
        m.value("two", |_| Odd(2));
        m.value("twice", |_| Twice(1));
        m.each("each.twice", rows, |row| Twice(*row));
        m.value("small.i8", |_| i8::MIN);
        m.value("small.i16", |_| i16::MIN);
        m.value("small.u8", |_| u8::MAX);
        m.value("small.u16", |_| u16::MAX).store(|s, value: u16, _| {
            s.0.rows_mut().for_each(|row| *row = u32::from(value));
            Ok(())
        });
    }
}

/// A value of another type is refused.
#[test]
fn other_types() {
    let mut pmcd = Harness::<Mixing>::new().expect("it starts");
    let fetched = pmcd
        .fetch_all(&["mixing.odd", "mixing.two", "mixing.even"])
        .expect("whole");
    let values = |of: usize| {
        let fetched = fetched[of].as_ref().map_err(Error::clone)?;
        Ok(["one", "two", "three"].map(|row| fetched.value_of(row)))
    };
    assert_eq!(values(0), Ok([Some(1), None, Some(3)]));
    assert_eq!(values(1), Err(Error::TYPE));
    assert_eq!(values(2), Ok([Some(1), Some(2), Some(3)]));
}

/// A metric or instance has one value.
#[test]
fn two_values_of_one() {
    let mut pmcd = Harness::<Mixing>::new().expect("it starts");
    assert_eq!(pmcd.fetch("mixing.twice").err(), Some(Error::E2BIG));
    assert_eq!(pmcd.fetch("mixing.each.twice").expect("values").len(), 3);
}

/// Small numbers are values of 32 bits; stores have to fit.
#[test]
fn small_numbers() {
    let mut pmcd = Harness::<Mixing>::new().expect("it starts");
    let value = |name: &str, pmcd: &mut Harness<Mixing>| pmcd.fetch(name).expect("a value").value::<i64>();
    let values = ["i8", "i16", "u8", "u16"].map(|name| value(&format!("mixing.small.{name}"), &mut pmcd));
    assert_eq!(values, [Some(-128), Some(-32768), Some(255), Some(65535)]);
    assert_eq!(pmcd.desc("mixing.small.i8").expect("there").kind, Some(Type::I32));
    assert_eq!(pmcd.store("mixing.small.u16", 65536_u32), Err(Error::TRUNC));
    // The metric's type does not hold these.
    assert_eq!(pmcd.store("mixing.small.u16", -1), Err(Error::CONV));
    assert_eq!(pmcd.store("mixing.small.u16", (1_u64 << 32) + 7), Err(Error::CONV));
    assert_eq!(pmcd.store("mixing.small.u16", 7_u32), Ok(()));
    let long = "x".repeat((16 << 20) - 6);
    assert_eq!(pmcd.store("mixing.small.u16", &*long), Err(Error::CONV));
    assert_eq!(pmcd.store("mixing.small.u16", long + "x"), Err(Error::TOOBIG));
    assert_eq!(value("mixing.even", &mut pmcd), None);
    assert_eq!(pmcd.fetch("mixing.even").expect("values").value_of("one"), Some(7));
}

/// An error is reported if no instance has a value; an error that pmcd would misunderstand has
/// another code (WIRE-30).
#[test]
fn errors() {
    let mut pmcd = Harness::<Faulty>::new().expect("it starts");
    assert!(pmcd.fetch("faulty.missing").expect("no error").is_empty());
    assert_eq!(pmcd.fetch("faulty.refused").err(), Some(Error::PERMISSION));
    assert_eq!(pmcd.fetch("faulty.some").expect("one value").instances(), [0]);
    pmcd.profile("faulty.some", &["two"]).expect("an instance");
    assert_eq!(pmcd.fetch("faulty.some").err(), Some(Error::AGAIN));
}

/// Clients are told once of metrics that come and go.
#[test]
fn dynamic() {
    let mut pmcd = Harness::<Faulty>::new().expect("it starts");
    assert!(!pmcd.fetch("faulty.good").expect("a value").names_changed());
    assert_eq!(pmcd.fetch("faulty.late").err(), Some(Error::NAME));
    let mut rows = pmcd.agent().rows.update();
    for name in ["one", "two", "three"] {
        rows.set(name, 1).expect("a name");
    }
    drop(rows);
    let fetched = pmcd.fetch("faulty.late").expect("a value");
    assert_eq!((fetched.value(), fetched.names_changed()), (Some(5), true));
    let fetched = pmcd.fetch("faulty.good").expect("a value");
    assert_eq!((fetched.names_changed(), fetched.labels_changed()), (false, false));
}

/// A cluster that is declared on demand has its labels at once.
#[test]
fn labels_of_a_late_cluster() {
    let mut pmcd = Harness::<Faulty>::new().expect("it starts");
    pmcd.agent().rows.change().set("three", 1).expect("a name");
    // A PDU_LABEL_REQ of 20 bytes.
    let words = [
        20,
        0x7012,
        0,
        MetricId::new(Faulty::DOMAIN, 3, 0).0,
        PM_LABEL_CLUSTER as u32,
    ];
    let request: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_be_bytes()).collect();
    let reply = String::from_utf8_lossy(&pmcd.raw(&request)).into_owned();
    assert!(reply.contains(r#"{"late":"yes"}"#), "{reply:?}");
}

/// Clients are told when labels have changed (FETCH-60).
#[test]
fn changed_labels() {
    let mut pmcd = Harness::<Faulty>::new().expect("it starts");
    let mut told = |rows: &[&str]| {
        let mut update = pmcd.agent().rows.update();
        for name in rows {
            update.set(name, 1).expect("a name");
        }
        drop(update);
        pmcd.fetch("faulty.good").expect("a value").labels_changed()
    };
    let four = ["one", "two", "three", "four"];
    assert_eq!([told(&four[..2]), told(&four), told(&four[..2])], [false, true, false]);
}

/// An agent whose metrics have their numbers from a file, and keep them over a restart.
struct Numbered(Vec<&'static str>);

impl Agent for Numbered {
    const NAME: &'static str = "numbered";
    const DOMAIN: u32 = 248;
    fn start(_: &Env) -> Result<Numbered> {
        Ok(Numbered(vec!["a", "b.x", "c"]))
    }
    fn metrics(m: &mut Metrics<Numbered>) {
        m.cluster(0).value("count", |s| s.0.len());
    }
    fn dynamic(&mut self, m: &mut Metrics<Numbered>, _: &Request<'_>) -> Result<()> {
        for name in ["a", "b.x", "c", "d"] {
            match self.0.contains(&name) {
                true if !m.has(name) => {
                    m.cluster(7).numbered_by(9).value(name, move |_| name.to_owned());
                }
                false if m.has(name) => assert!(m.remove(name)),
                _ => {}
            }
        }
        Ok(())
    }
}

#[test]
fn numbers() {
    let id = |pmcd: &mut Harness<Numbered>, name| pmcd.desc(name).map(|desc| desc.id.to_string());
    let mut pmcd = Harness::<Numbered>::new().expect("it starts");
    assert_eq!(id(&mut pmcd, "numbered.c").as_deref(), Ok("248.7.2"));
    pmcd.agent().0 = vec!["c"];
    assert_eq!(id(&mut pmcd, "numbered.a").err(), Some(Error::NAME));
    assert_eq!(
        pmcd.fetch("numbered.c").expect("a value").value::<String>().as_deref(),
        Some("c")
    );
    let mut pmcd = pmcd.restart().expect("it starts");
    pmcd.agent().0 = vec!["d", "c"];
    assert_eq!(id(&mut pmcd, "numbered.c").as_deref(), Ok("248.7.2"));
    assert_eq!(id(&mut pmcd, "numbered.d").as_deref(), Ok("248.7.3"));
    pmcd.agent().0 = vec!["d", "c", "b.x"];
    assert_eq!(id(&mut pmcd, "numbered.b.x").as_deref(), Ok("248.7.1"));
}

/// An agent that cannot start, as its declarations are wrong.
struct Wrong;

impl Agent for Wrong {
    const NAME: &'static str = "wrong";
    const DOMAIN: u32 = 247;
    fn start(_: &Env) -> Result<Wrong> {
        Ok(Wrong)
    }
    fn metrics(m: &mut Metrics<Wrong>) {
        m.value("a", |_| 1);
        m.value("a", |_| 1);
        m.value("a.b", |_| 1);
        m.value("1", |_| 1);
        m.value("c", |_| 1).item(0).label("no name", "x");
        m.value("d", |_| 1).item(1024);
        m.cluster(4096);
    }
}

#[test]
fn problems() {
    let env = Env::in_folder(Wrong::NAME, Wrong::DOMAIN, std::path::Path::new(""));
    let metrics = Metrics::of(&env.without_files(), Wrong::metrics);
    let problems = metrics.problems();
    assert_eq!(problems.len(), 7, "{problems:#?}");
    assert_eq!(Harness::<Wrong>::new().err(), Some(Error::EINVAL));
}

/// An agent that takes its time.
struct Slow(Duration);

impl Agent for Slow {
    const NAME: &'static str = "slow";
    const DOMAIN: u32 = 246;
    const DEADLINE: Option<Duration> = Some(Duration::from_millis(100));
    fn start(_: &Env) -> Result<Slow> {
        Ok(Slow(Duration::ZERO))
    }
    fn metrics(m: &mut Metrics<Slow>) {
        m.value("time", |s| s.0).unit(MSEC).store(|s, time: Duration, _| {
            s.0 = time;
            Ok(())
        });
        m.cluster(1).refresh(|s, _| {
            std::thread::sleep(s.0);
            Ok(())
        });
        m.value("slow", |_| 1);
    }
}

/// A source that hangs costs "try again", in time, and one line of the log; then the agent serves again.
#[test]
fn deadline() {
    let mut pmcd = Harness::<Slow>::builder().deadline().start().expect("it starts");
    assert_eq!(pmcd.fetch("slow.slow").expect("a value").value(), Some(1));
    pmcd.store("slow.time", 3000).expect("the superuser may");
    let begin = Instant::now();
    assert_eq!(pmcd.fetch("slow.slow").err(), Some(Error::AGAIN));
    assert_eq!(pmcd.fetch("slow.time").err(), Some(Error::AGAIN));
    pmcd.as_client(3).set_uid(0);
    assert!(begin.elapsed() < Duration::from_millis(2500));
    let value = loop {
        match pmcd.fetch("slow.time") {
            Err(error) => assert_eq!(error, Error::AGAIN),
            Ok(fetched) => break fetched.value(),
        }
    };
    assert_eq!(value, Some(3000));
    let (log, line) = (
        pmcd.log(),
        "Warning: a request has taken longer than 100ms: clients are told to try again\n",
    );
    // Some thirty requests have come meanwhile. On a busy machine another one may have been late.
    assert!(log.starts_with(line) && log.lines().count() < 5, "{log}");
    // The requests that were kept meanwhile have arrived.
    pmcd.store("slow.time", 0).expect("the superuser may");
    assert_eq!(pmcd.fetch("slow.slow").expect("a value").value(), Some(1));
}
