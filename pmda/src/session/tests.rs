//! The session by PCP's agent `simple`, and by agents that fail.

use std::cell::Cell;
use std::time::Duration;

use crate::prelude::*;
use crate::testing::Harness;

#[derive(Default)]
struct Simple {
    fetches: u32,
    colors: Indom<i32>,
    user: Duration,
    system: Duration,
    now: Indom<u32>,
    parts: Vec<&'static str>,
    reads: [Cell<u32>; 3],
}

impl Agent for Simple {
    const NAME: &'static str = "simple";
    const DOMAIN: u32 = 253;
    fn start(_: &Env) -> Result<Simple> {
        Ok(Simple {
            colors: Indom::fixed([("red", 0), ("green", 100), ("blue", 200)]),
            now: Indom::persistent(),
            parts: vec!["sec", "min"],
            ..Simple::default()
        })
    }
    fn metrics(m: &mut Metrics<Simple>) {
        m.label("role", "testing");
        m.cluster_label("cluster", "zero");
        let colors = m.indom(0, "Colors\nred, green and blue", |s| &mut s.colors);
        m.indom_label(colors, "indom", "colors");
        m.instance_labels(colors, |name, color| match name {
            "green" => Labels::new(),
            _ => Labels::new().add("model", "RGB").optional("start", *color),
        });
        m.value("numfetch", |s| s.fetches)
            .help("Number of fetches\nStore another number to start from there.")
            .store(|s, value: u32, _| {
                s.fetches = value;
                Ok(())
            });
        m.each("color", colors, |color| *color)
            .help("A saw-tooth for each color")
            .label("hue", "yes")
            .writable_by(|client| client.user() == Some("painter"))
            .store(|color, value: i32, _| match value {
                0..256 => {
                    *color = value;
                    Ok(())
                }
                _ => Err(Error::SIGN),
            });
        m.cluster(1).refresh(|s, _| s.read(1)).valid_for(Duration::from_secs(5));
        m.value("time.user", |s| s.user.as_secs_f64())
            .item(2)
            .counter()
            .unit(SEC)
            .help("Time in user code");
        m.value("time.sys", |s| s.system.as_secs_f64())
            .item(3)
            .counter()
            .unit(SEC);
        m.cluster(2).refresh(|s, _| s.read_clock());
        let now = m.indom(1, "Parts of the time of day", |s| &mut s.now);
        m.each("now", now, |part| *part).item(4).help("Time of day");
    }
    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        if request.why() == Why::Fetch {
            self.fetches += 1;
            if request.wants_item(0, 1) {
                self.colors.rows_mut().for_each(|color| *color = (*color + 1) % 256);
            }
        }
        Ok(())
    }
}

impl Simple {
    fn read(&self, cluster: usize) -> Result<()> {
        let count = &self.reads[cluster];
        count.set(count.get() + 1);
        Ok(())
    }
    fn read_clock(&mut self) -> Result<()> {
        self.read(2)?;
        let mut now = self.now.update();
        for (part, name) in (10..).zip(&self.parts) {
            now.set(name, part)?;
        }
        Ok(())
    }
}

fn simple() -> Harness<Simple> {
    Harness::new().expect("it starts")
}

#[test]
fn values() {
    let mut pmcd = simple();
    pmcd.fetch("simple.numfetch").expect("a value");
    let fetched = pmcd.fetch("simple.numfetch").expect("a value");
    assert_eq!((fetched.value(), fetched.value::<String>()), (Some(2), None));
    let colors = pmcd.fetch("simple.color").expect("values");
    assert_eq!((colors.value_of("red"), colors.value_of("blue")), (Some(1), Some(201)));
    assert_eq!((colors.instances(), colors.value::<i32>()), (vec![0, 1, 2], None));
    assert_eq!(pmcd.agent().fetches, 3);
    assert_eq!(pmcd.fetch("simple.nothing").err(), Some(Error::NAME));
}

/// Descriptions. Items are counted in order within a cluster unless the agent chooses them
/// (WIRE-41).
#[test]
fn descriptions() {
    let mut pmcd = simple();
    assert_eq!(
        pmcd.numbers(),
        "simple.numfetch 253.0.0\nsimple.color 253.0.1\nsimple.time.user 253.1.2\nsimple.time.sys 253.1.3\nsimple.now 253.2.4\n"
    );
    let desc = pmcd.desc("simple.time.sys").expect("a metric");
    assert_eq!(
        (desc.kind, desc.semantics, desc.unit),
        (Some(Type::F64), Some(Semantics::Counter), SEC)
    );
    assert_eq!(desc.indom.0, u32::MAX);
    assert_eq!(pmcd.desc("simple.now").expect("a metric").indom.serial(), 1);
    let text = pmcd.text("simple.numfetch").expect("help");
    assert_eq!(text.0, "Number of fetches");
    assert_eq!(text.1, "Store another number to start from there.");
    assert_eq!(pmcd.text("simple.time.sys").err(), Some(Error::TEXT));
    assert_eq!(pmcd.indom_text("simple.color").expect("help").1, "red, green and blue");
}

/// Names and numbers, both ways, and the names below a name (TREE-31 to TREE-33).
#[test]
fn names() {
    let mut pmcd = simple();
    let names = pmcd.names().expect("names");
    assert_eq!(
        names,
        [
            "simple.color",
            "simple.now",
            "simple.numfetch",
            "simple.time.sys",
            "simple.time.user"
        ]
    );
    assert_eq!(
        pmcd.children("simple").expect("names"),
        ["color", "now", "numfetch", "time."]
    );
    assert_eq!(pmcd.children("simple.time").expect("names"), ["sys", "user"]);
    assert_eq!(pmcd.children("simple.color").expect("a leaf"), [""; 0]);
    for unknown in ["", "simp", "simple.t", "simple.time.", "other", "simple.color.x"] {
        assert_eq!(pmcd.children(unknown).err(), Some(Error::NAME), "{unknown}");
    }
    assert_eq!(pmcd.desc("simple.time").err(), Some(Error::NAME));
    assert_eq!(pmcd.fetch_all(&[]).map(|none| none.len()), Ok(0));
}

/// Labels of each level; one set for each instance, also an empty one (LABEL-11, LABEL-15).
#[test]
fn labels() {
    let mut pmcd = simple();
    assert_eq!(
        pmcd.labels("simple.color").expect("labels"),
        r#"{"agent":"simple","cluster":"zero","hue":"yes","indom":"colors","role":"testing"}"#
    );
    let sets = pmcd.instance_labels("simple.color").expect("labels");
    let sets: Vec<(&str, &str)> = sets.iter().map(|(name, json)| (&**name, &**json)).collect();
    assert_eq!(
        sets,
        [
            ("red", r#"{"model":"RGB","start":0}"#),
            ("green", "{}"),
            ("blue", r#"{"model":"RGB","start":200}"#)
        ]
    );
    pmcd.profile("simple.color", &["blue"]).expect("an instance");
    assert_eq!(pmcd.instance_labels("simple.color").expect("labels").len(), 1);
    // A LABEL as captured, with the bit of its level.
    let reply = pmcd.raw(&hex("00000014 00007012 00000000 000000fd 00000002"));
    let expected = "0000005f 00007013 00000000 000000fd 00000002 00000000 00000001 ffffffff 00000002 0000003c 00000023 \
                    00020502 00090008 00130402 00190009 \
                    7b226167 656e7422 3a227369 6d706c65 222c2272 6f6c6522 3a227465 7374696e 67227d";
    assert_eq!(reply, hex(expected));
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex");
    digits.chunks(2).map(byte).collect()
}

/// Access is checked before a value is decoded, for all metrics before one is stored.
#[test]
fn stores() {
    let mut pmcd = simple();
    pmcd.store("simple.numfetch", 41).expect("the superuser may");
    assert_eq!(pmcd.fetch("simple.numfetch").expect("a value").value(), Some(42));
    assert_eq!(pmcd.store("simple.numfetch", "text"), Err(Error::CONV));
    assert_eq!(pmcd.store("simple.time.user", 0), Err(Error::PERMISSION));
    assert_eq!(pmcd.store_instance("simple.color", "red", 7), Err(Error::PERMISSION));
    pmcd.as_client(5);
    assert_eq!(pmcd.store("simple.numfetch", "text"), Err(Error::PERMISSION));
    pmcd.set_user("painter");
    pmcd.store_instance("simple.color", "red", 7).expect("a painter may");
    assert_eq!(pmcd.store_instance("simple.color", "red", 256), Err(Error::SIGN));
    for unknown in ["pink", ""] {
        assert_eq!(pmcd.store_instance("simple.color", unknown, 1), Err(Error::INST));
    }
    assert_eq!(pmcd.fetch("simple.color").expect("values").value_of("red"), Some(8));
    pmcd.end_client();
    assert_eq!(pmcd.store_instance("simple.color", "red", 7), Err(Error::PERMISSION));
}

/// A cluster is read on demand, and not while it is valid.
#[test]
fn refreshing() {
    let mut pmcd = simple();
    let read = |pmcd: &mut Harness<Simple>| [1, 2].map(|cluster: usize| pmcd.agent().reads[cluster].get());
    pmcd.fetch("simple.numfetch").expect("a value");
    assert_eq!(read(&mut pmcd), [0, 0]);
    pmcd.fetch_all(&["simple.time.user", "simple.now"]).expect("values");
    pmcd.fetch_all(&["simple.time.sys", "simple.time.user", "simple.now"])
        .expect("values");
    assert_eq!(read(&mut pmcd), [1, 2]);
    pmcd.advance(Duration::from_secs(6));
    pmcd.fetch("simple.time.user").expect("a value");
    pmcd.instances("simple.now").expect("instances");
    assert_eq!(read(&mut pmcd), [2, 3]);
}

/// A profile with unknown instances gives no values and no error (INST-51, INST-52).
#[test]
fn profiles() {
    let mut pmcd = simple();
    let indom = pmcd.desc("simple.color").expect("a metric").indom;
    pmcd.profile("simple.color", &["blue", "red"]).expect("instances");
    assert_eq!(pmcd.fetch("simple.color").expect("values").instances(), [0, 2]);
    pmcd.profile_numbers(indom, &[77, -5]);
    assert!(pmcd.fetch("simple.color").expect("no error").is_empty());
    assert_eq!(pmcd.fetch("simple.now").expect("another domain").len(), 2);
    assert_eq!(pmcd.fetch("simple.numfetch").expect("one value").len(), 1);
    pmcd.profile_all();
    assert_eq!(pmcd.fetch("simple.color").expect("values").len(), 3);
}

/// An instance by its name and by its number (INST-60); names count up to the first blank
/// (CACHE-10).
#[test]
fn instances() {
    let mut pmcd = simple();
    pmcd.agent().parts = vec!["sec now", "min"];
    let names = pmcd.instances("simple.now").expect("instances");
    assert_eq!(names, [(0, "sec now".to_owned()), (1, "min".to_owned())]);
    assert_eq!(pmcd.instance("simple.now", "sec"), Ok(0));
    assert_eq!(pmcd.instance("simple.now", "hour"), Err(Error::INST));
    let asked = |inst: u32| {
        let words = [0x20, 0x7006, 0, 253 << 22 | 1, 0, 0, inst, 0_u32];
        words.map(u32::to_be_bytes).concat()
    };
    let reply = pmcd.raw(&asked(1));
    assert_eq!(
        reply,
        hex("00000020 00007007 00000000 3f400001 00000001 ffffffff 00000003 6d696e7e")
    );
    assert_eq!(pmcd.raw(&asked(2))[4..8], 0x7000_u32.to_be_bytes());
    assert_eq!(pmcd.instances("simple.numfetch").err(), Some(Error::INDOM));
}

/// A persistent domain keeps its numbers over a restart, in a file that agents in C read
/// (CACHE-74).
#[test]
fn persistence() {
    let mut pmcd = simple();
    pmcd.fetch("simple.now").expect("values");
    let file = pmcd.folder().join("config/pmda/253.1");
    let text = std::fs::read_to_string(&file).expect("a file");
    let names: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(names, ["sec", "min"]);
    let mut pmcd = pmcd.restart().expect("it starts");
    pmcd.agent().parts = vec!["hour", "min"];
    assert_eq!(
        pmcd.instances("simple.now").expect("instances"),
        [(1, "min".to_owned()), (2, "hour".to_owned())]
    );
}

mod events;
mod failing;
mod random;
mod reporting;
mod waking;

/// An agent that keeps a share of what wakes it, or none.
struct Wakeable(Option<Waker>);

impl Agent for Wakeable {
    const NAME: &'static str = "wakeable";
    const DOMAIN: u32 = 250;
    fn start(env: &Env) -> Result<Wakeable> {
        Ok(Wakeable(env.option("waker").map(|_| env.waker())))
    }
    fn metrics(m: &mut Metrics<Wakeable>) {
        m.value("has_waker", |s| u32::from(s.0.is_some()));
    }
}

/// Nothing wakes an agent that keeps neither its environment nor a waker, timer or watch: then the
/// daemon waits for pmcd alone.
#[test]
fn what_may_wake() -> Result<()> {
    for (options, may_wake) in [(vec![], false), (vec![("waker", "1".to_owned())], true)] {
        let env = Env::installed(Wakeable::NAME, Wakeable::DOMAIN, false).with_options(options, Vec::new());
        let handler = super::handler::Handler::<Wakeable>::start(&env)?;
        drop(env);
        assert_eq!(handler.may_wake(), may_wake);
    }
    Ok(())
}

/// An agent whose deadline does not come.
struct Patient;

impl Agent for Patient {
    const NAME: &'static str = "patient";
    const DOMAIN: u32 = 250;
    const DEADLINE: Option<Duration> = Some(Duration::MAX);
    fn start(_: &Env) -> Result<Patient> {
        Ok(Patient)
    }
    fn metrics(m: &mut Metrics<Patient>) {
        m.value("one", |_| 1);
    }
}

#[test]
fn a_deadline_that_does_not_come() -> Result<()> {
    let mut pmcd = Harness::<Patient>::builder().deadline().start()?;
    assert_eq!(pmcd.fetch("patient.one")?.value(), Some(1));
    Ok(())
}
