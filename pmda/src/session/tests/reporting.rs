//! The lines of an agent's failures, in the log and for a harness.

use crate::prelude::*;
use crate::testing::Harness;

/// An agent whose instance domain has no rows, and that cannot end.
struct Lost(Vec<Indom<u32>>);

impl Agent for Lost {
    const NAME: &'static str = "lost";
    const DOMAIN: u32 = 245;
    fn start(_: &Env) -> Result<Lost> {
        Ok(Lost(vec![Indom::fixed([("one", 1)])]))
    }
    fn metrics(m: &mut Metrics<Lost>) {
        let rows = m.indom(0, "Rows", |s: &mut Lost| &mut s.0[0]);
        m.each("row", rows, |row| *row);
        m.value("good", |_| 1).store(|s, _: u32, _| {
            s.0.clear();
            Ok(())
        });
    }
}

impl Drop for Lost {
    fn drop(&mut self) {
        panic!("told to panic at the end");
    }
}

/// A panic of the function that finds an instance domain, or of the agent's end, is a line in the
/// log of the harness.
#[test]
fn panics_do_not_leave_the_harness() -> Result<()> {
    let mut pmcd = Harness::<Lost>::new()?;
    assert_eq!(pmcd.fetch("lost.row")?.value_of("one"), Some(1));
    pmcd.store("lost.good", 0)?;
    assert_eq!(pmcd.fetch("lost.row").err(), Some(Error::GENERIC));
    assert_eq!(pmcd.instances("lost.row").err(), Some(Error::GENERIC));
    assert_eq!(pmcd.instance_labels("lost.row").err(), Some(Error::GENERIC));
    assert_eq!(pmcd.fetch("lost.good")?.value(), Some(1));
    let pmcd = pmcd.restart()?;
    let log = pmcd.log();
    for line in [
        "Error: instance domain 245.0: the agent has panicked: index out of bounds",
        "Error: the end of the agent: the agent has panicked: told to panic at the end",
    ] {
        assert!(log.contains(line), "{log}");
    }
    Ok(())
}

/// An agent whose errors say what has happened.
struct Talking {
    rows: Indom<u32>,
    line: &'static str,
}

impl Agent for Talking {
    const NAME: &'static str = "talking";
    const DOMAIN: u32 = 244;
    const OPTIONS: &'static [Opt] = &[Opt::new("line").argument("TEXT").help("the line")];
    fn start(env: &Env) -> Result<Talking> {
        let rows = Indom::fixed([("one", 1), ("two", 2)]);
        match env.option("line") {
            Some("none") => Err(Error::ENODEV.text("no line was given")),
            _ => Ok(Talking { rows, line: "7" }),
        }
    }
    fn metrics(m: &mut Metrics<Talking>) {
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.refresh(|s, _| {
            let number: u32 = s.line.parse()?;
            let rows = s.rows.rows_mut();
            rows.for_each(|row| *row = number);
            Ok(())
        });
        m.each("row", rows, |row| *row);
        m.cluster(1);
        m.try_text("line", |s| match s.line {
            "7" => Ok(None),
            "x" => Err(Error::VALUE.text("an x")),
            line => Ok(Some(line)),
        });
        m.each("even", rows, |row| {
            (*row % 2 == 0).then_some(*row).ok_or(Error::BADSTORE.text("odd"))
        });
        m.try_each_text("name", rows, |row| match row {
            7 => Ok(Some("seven")),
            8 => Ok(None),
            _ => Err(String::from_utf8(vec![0xff]).map(drop).expect_err("no text").into()),
        });
        m.value("store", |_| 0).store(|s, line: String, _| {
            s.line = match &*line {
                "7" => "7",
                "x" => "x",
                _ => return Err(Error::ENOTSUP.text("neither 7 nor x")),
            };
            Ok(())
        });
    }
}

/// The text of an error is in the log, once; clients get its code.
#[test]
fn errors_say_what() -> Result<()> {
    let started = Harness::<Talking>::builder().option("line", "none").start();
    let error = started.expect_err("no line");
    assert_eq!((&error, error.code()), (&Error::ENODEV, Code::ENODEV));
    assert!(error.to_string().starts_with("no line was given: "), "{error}");
    let mut pmcd = Harness::<Talking>::new()?;
    assert_eq!(pmcd.fetch("talking.row")?.value_of("one"), Some(7));
    assert!(pmcd.fetch("talking.line")?.is_empty());
    assert_eq!(pmcd.fetch("talking.name")?.value_of("one"), Some("seven".to_owned()));
    assert_eq!(pmcd.fetch("talking.even").err(), Some(Error::BADSTORE));
    assert_eq!(
        pmcd.log(),
        "Warning: metric talking.even: instance 0 (\"one\"): odd: A value that cannot be stored (PM_ERR_BADSTORE)\n"
    );
    pmcd.agent().line = "x";
    for _ in 0..3 {
        assert_eq!(pmcd.fetch("talking.row").err(), Some(Error::CONV));
        assert_eq!(pmcd.fetch("talking.line").err(), Some(Error::VALUE));
        assert_eq!(pmcd.store("talking.store", 1), Err(Error::CONV));
    }
    *pmcd.agent().rows.get_mut(1).expect("a row") = 8;
    assert_eq!(pmcd.fetch("talking.even")?.instances(), [1]);
    assert!(pmcd.fetch("talking.name")?.len() == 1);
    *pmcd.agent().rows.get_mut(1).expect("a row") = 9;
    assert_eq!(pmcd.fetch("talking.name")?.len(), 1);
    let log = pmcd.log();
    for line in [
        "reading cluster 0: invalid digit found in string: ",
        "metric talking.line: an x: No value",
        "metric talking.name: instance 1 (\"two\"): invalid utf-8 sequence",
    ] {
        assert_eq!(log.matches(&format!("Warning: {line}")).count(), 1, "{line} {log}");
    }
    Ok(())
}

/// An agent that fails in each place where it can.
struct Failing {
    names: [&'static str; 2],
    named: Indom<u32>,
    numbered: Indom<u32>,
    rows: Indom<u32>,
}

impl Agent for Failing {
    const NAME: &'static str = "failing";
    const DOMAIN: u32 = 243;
    fn start(_: &Env) -> Result<Failing> {
        let rows = Indom::fixed([("one", 1), ("two", 2)]);
        Ok(Failing {
            names: ["a", "b"],
            named: Indom::new(),
            numbered: Indom::new(),
            rows,
        })
    }
    fn metrics(m: &mut Metrics<Failing>) {
        m.refresh(|_, _| pmda_file("/no/such/file"));
        m.value("file", |_| 1);
        m.cluster(1)
            .refresh(|_, _| Ok(std::fs::read("/no/such/file").map(drop)?));
        m.value("plain", |_| 1);
        m.cluster(2).refresh(|s, _| {
            let mut now = s.named.update();
            for name in s.names {
                now.set(name, 1)?;
            }
            now.row("ap 3", || 1)?;
            now.row("", || 1)?;
            now.reserve("a\0b")?;
            now.set("last", 1)?;
            Ok(())
        });
        let named = m.indom(1, "Named", |s| &mut s.named);
        m.each("named", named, |row| *row);
        m.cluster(3).refresh(|s, _| {
            let mut now = s.numbered.update();
            now.set_at(1, "one", 1)?;
            now.set_at(1, "two", 1)?;
            now.row_at(1, "three", || 1)?;
            now.set_at(2, "one", 1)?;
            now.set_at(-3, "negative", 1)?;
            now.reserve_at(1, "four")?;
            now.set_at(2, "last", 1)?;
            Ok(())
        });
        let numbered = m.indom(2, "Numbered", |s| &mut s.numbered);
        m.each("numbered", numbered, |row| *row);
        m.cluster(6);
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.each("each", rows, |row| if *row == 2 { Err(Error::VALUE) } else { Ok(*row) })
            .store(|_, _: u32, _| Err(Error::BADSTORE));
        m.value("value", |_| Err::<u32, Error>(Error::NYI));
        m.value("later", |_| Err::<u32, Error>(Error::AGAIN));
        m.value("known", |_| Err::<u32, Error>(Error::VALUE.logged()));
    }
    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        match request.client().container() {
            Some(container) => Err(Error::NOCONTAINER.text(container)),
            None => Ok(()),
        }
    }
}

fn pmda_file(path: &str) -> Result<()> {
    fs::read(path).map(drop)
}

/// Each error that reaches a client is one line of the log, which names its origin.
#[test]
fn errors_are_logged_once() -> Result<()> {
    let mut pmcd = Harness::<Failing>::new()?;
    pmcd.agent().names = ["ap 1", "ap 2"];
    for _ in 0..3 {
        for (name, error) in [
            ("file", Error::ENOENT),
            ("plain", Error::ENOENT),
            ("value", Error::NYI),
            ("later", Error::AGAIN),
            ("known", Error::VALUE),
        ] {
            assert_eq!(pmcd.fetch(&format!("failing.{name}")).err(), Some(error), "{name}");
        }
        // An instance that cannot be set costs no other one.
        let named = pmcd.fetch("failing.named")?;
        assert_eq!(
            (named.len(), named.value_of("ap 1"), named.value_of("last")),
            (2, Some(1), Some(1))
        );
        let numbered = pmcd.fetch("failing.numbered")?;
        assert_eq!((numbered.instances(), numbered.value_of("last")), (vec![1, 2], Some(1)));
        assert_eq!(pmcd.fetch("failing.each")?.instances(), [0]);
        assert_eq!(pmcd.store_instance("failing.each", "two", 1), Err(Error::BADSTORE));
    }
    pmcd.set_container("web");
    assert_eq!(pmcd.fetch("failing.value").err(), Some(Error::NOCONTAINER));
    let log = pmcd.log();
    let expected = [
        "reading cluster 0: /no/such/file: No such file or directory",
        "reading cluster 1: No such file or directory",
        "metric failing.value: Not yet implemented by the agent (PM_ERR_NYI)",
        "instance domain 243.1: the instance \"ap 2\" is left out: names count up to the first blank, and there is \"ap 1\"; see Indom::whole_names",
        "instance domain 243.1: the instance \"ap 3\" is left out: names count up to the first blank, and there is \"ap 1\"; see Indom::whole_names",
        "instance domain 243.1: the instance \"\" is left out: an empty name",
        "instance domain 243.1: the instance \"a\\0b\" is left out: a name with a NUL",
        "instance domain 243.2: the instance \"two\" is left out: another instance has its number or name",
        "instance domain 243.2: the instance \"three\" is left out: another instance has its number or name",
        "instance domain 243.2: the instance \"one\" is left out: another instance has its number or name",
        "instance domain 243.2: the instance \"negative\" is left out: its number is negative",
        "instance domain 243.2: the instance \"four\" is left out: another instance has its number or name",
        "metric failing.each: instance 1 (\"two\"): No value (PM_ERR_VALUE)",
        "store of failing.each: instance 1: A value that cannot be stored (PM_ERR_BADSTORE)",
        "begin: web: Unknown container (PM_ERR_NOCONTAINER)",
    ];
    assert_eq!(log, expected.map(|line| format!("Warning: {line}\n")).concat());
    Ok(())
}
