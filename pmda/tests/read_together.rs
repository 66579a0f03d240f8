//! Several clusters that one function reads, and metrics that are configured in one place.

#![forbid(unsafe_code)]

use std::time::Duration;

use pmda::prelude::*;
use pmda::testing::Harness;
use pmda::{Atom, Type};

/// Clusters 0 to 3 show one file; cluster 2 reads something else as well, and cluster 3 goes with it.
#[derive(Default)]
struct Together {
    reads: u32,
    others: u32,
    rows: Indom<u32>,
    fails: bool,
    wanted: Vec<u32>,
    stored: Vec<u32>,
}

impl Agent for Together {
    const NAME: &'static str = "together";
    const DOMAIN: u32 = 400;

    fn start(_: &Env) -> Result<Together> {
        let rows = Indom::fixed([("a", 1), ("b", 2)]);
        Ok(Together {
            rows,
            ..Together::default()
        })
    }

    fn metrics(m: &mut Metrics<Together>) {
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.cluster(0).valid_for(Duration::from_secs(10)).refresh(|s, _| {
            s.reads += 1;
            if s.fails { Err(Error::NODATA) } else { Ok(()) }
        });
        m.value("reads", |s| s.reads);
        m.cluster(1).refresh_with(0);
        m.value("one", |s| s.reads);
        m.each("row", rows, |row| *row);
        m.cluster(2).refresh_with(0).refresh(|s, request| {
            s.others += 1;
            s.wanted = request.clusters().collect();
            Ok(())
        });
        m.value("two", |s| s.reads * 10 + s.others);
        m.cluster(3).refresh_with(2);
        m.value("three", |s| s.others);
        m.cluster(4).value("alone", |s| s.reads);
        for (name, has_rows) in [("plain", false), ("rows", true)] {
            let def = if has_rows {
                m.each_as(name, rows, Type::U32, |row, _| Ok(Atom::from(*row)))
                    .of_agent()
            } else {
                m.value_as(name, Type::U32, |s, _| Ok(Atom::from(s.others)))
            };
            def.unit(BYTE)
                .help("Configured in one place")
                .store(|s, value: u32, _| {
                    s.stored.push(value);
                    Ok(())
                });
        }
    }
}

fn started() -> Harness<Together> {
    Harness::<Together>::new().expect("an agent without problems")
}

/// One call serves all clusters of a request, also one for instances.
#[test]
fn one_call_for_a_request() -> Result<()> {
    let mut pmcd = started();
    let all = ["together.one", "together.two", "together.three", "together.reads"];
    pmcd.fetch_all(&all)?;
    assert_eq!((pmcd.agent().reads, pmcd.agent().others), (1, 1));
    assert_eq!(pmcd.agent().wanted, [0, 1, 2, 3]);
    // What is valid for some time is valid for all.
    pmcd.fetch("together.row")?;
    pmcd.fetch("together.alone")?;
    assert_eq!((pmcd.agent().reads, pmcd.agent().others), (1, 1));
    pmcd.advance(Duration::from_secs(11));
    pmcd.fetch("together.three")?;
    assert_eq!((pmcd.agent().reads, pmcd.agent().others), (2, 2));
    Ok(())
}

/// The error is that of all metrics, and one line of the log.
#[test]
fn one_error() -> Result<()> {
    let mut pmcd = started();
    pmcd.agent().fails = true;
    for name in ["together.one", "together.three", "together.reads"] {
        assert_eq!(pmcd.fetch(name).err(), Some(Error::NODATA), "{name}");
    }
    assert_eq!(pmcd.fetch("together.alone")?.value(), Some(3_u32));
    assert_eq!(pmcd.agent().others, 0);
    let log = pmcd.log();
    assert!(
        log.starts_with("Warning: reading cluster 0: ") && log.lines().count() == 1,
        "{log}"
    );
    pmcd.agent().fails = false;
    assert_eq!(pmcd.fetch("together.three")?.value(), Some(1_u32));
    Ok(())
}

/// Two metrics, one with instances, have what is said in one place.
#[test]
fn configured_in_one_place() -> Result<()> {
    let mut pmcd = started();
    pmcd.store("together.plain", 7)?;
    pmcd.store_instance("together.rows", "b", 8)?;
    assert_eq!(pmcd.store_instance("together.rows", "none", 9).err(), Some(Error::INST));
    assert_eq!(pmcd.agent().stored, [7, 8]);
    for name in ["together.plain", "together.rows"] {
        assert_eq!(pmcd.desc(name)?.unit, BYTE);
    }
    Ok(())
}
