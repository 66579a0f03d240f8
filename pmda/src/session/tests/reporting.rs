//! What an agent's failures say in the log, and to a harness.

use crate::prelude::*;
use crate::testing::Harness;

/// An agent whose instance domain is not there, and that cannot end.
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
    let started = Harness::<Talking>::with_options(&[("line", "none")]);
    let error = started.expect_err("no line");
    assert_eq!((&error, error.code()), (&Error::ENODEV, -19));
    assert!(error.to_string().starts_with("no line was given: "), "{error}");
    let mut pmcd = Harness::<Talking>::new()?;
    assert_eq!(pmcd.fetch("talking.row")?.value_of("one"), Some(7));
    assert!(pmcd.fetch("talking.line")?.is_empty());
    assert_eq!(pmcd.fetch("talking.name")?.value_of("one"), Some("seven".to_owned()));
    assert_eq!(pmcd.fetch("talking.even").err(), Some(Error::BADSTORE));
    assert_eq!(
        pmcd.log(),
        "Warning: metric talking.even: odd: A value that cannot be stored (PM_ERR_BADSTORE)\n"
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
        "metric talking.name: invalid utf-8 sequence",
    ] {
        assert_eq!(log.matches(&format!("Warning: {line}")).count(), 1, "{line} {log}");
    }
    Ok(())
}
