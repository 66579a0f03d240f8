//! Declarations at run time: refused, edited, taken away and made anew.

#![forbid(unsafe_code)]

use pmda::Problem;
use pmda::prelude::*;
use pmda::testing::Harness;

/// What an agent does next.
type Step = Box<dyn FnOnce(&mut Metrics<Steps>)>;

/// An agent that declares what it is told.
#[derive(Default)]
struct Steps {
    next: Vec<Step>,
    rows: Indom<u32>,
    reads: u32,
}

impl Agent for Steps {
    const NAME: &'static str = "steps";
    const DOMAIN: u32 = 452;
    fn start(_: &Env) -> Result<Steps> {
        Ok(Steps::default())
    }
    fn metrics(m: &mut Metrics<Steps>) {
        m.label("role", "test").value("first", |_| 1).help("First");
    }
    fn dynamic(&mut self, m: &mut Metrics<Steps>, _: &Request<'_>) -> Result<()> {
        for step in std::mem::take(&mut self.next) {
            step(m);
        }
        Ok(())
    }
}

/// Does something in the next request; returns the changes that clients are told.
fn step(pmcd: &mut Harness<Steps>, next: impl FnOnce(&mut Metrics<Steps>) + 'static) -> (bool, bool) {
    pmcd.agent().next.push(Box::new(next));
    let fetched = pmcd.fetch("steps.first").expect("a value");
    (fetched.names_changed(), fetched.labels_changed())
}

/// An error in a declaration is returned in words, and declares nothing.
#[test]
fn problems_come_back() -> Result<()> {
    let mut pmcd = Harness::<Steps>::new()?;
    let changed = step(&mut pmcd, |m| {
        let first = m.find("first").expect("it was declared");
        assert_eq!(
            (first.cluster(), first.item(), m.find("second"), m.len()),
            (0, 0, None, 1)
        );
        let wrong = |outcome: std::result::Result<MetricRef, Problem>| outcome.expect_err("it is wrong").to_string();
        assert_eq!(
            wrong(m.value("first", |_| 1).declare()),
            "metric first is declared twice"
        );
        assert_eq!(
            wrong(m.value("first.x", |_| 1).declare()),
            "metric first.x cannot be beside metric first: one would be below the other"
        );
        assert_eq!(
            wrong(m.value("other", |_| 1).item(0).declare()),
            "metrics first and other both have the number 0.0"
        );
        assert_eq!(
            wrong(m.value("other", |_| 1).label("bad-1", "x").declare()),
            "metric other: label \"bad-1\": a name is made of parts between dots, each a letter and then letters, digits and underscores, of 254 bytes at most"
        );
        assert_eq!(
            wrong(m.value("other", |_| 1).item(1024).declare()),
            "metric other: item 1024 is too great, the last possible one is 1023"
        );
        assert!(wrong(m.value_as("other", Type::Event, |_, _| Ok(Atom::None)).declare()).contains("Metrics::events"));
        let rows = m.indom(3, "Rows", |s| &mut s.rows);
        assert!(m.remove_indom(3));
        assert!(wrong(m.each("other", rows, |row| *row).declare()).starts_with("metric other: instance domain 3"));
        assert_eq!(m.len(), 1);
    });
    assert_eq!(changed, (false, false));
    Ok(())
}

/// A metric's help, unit, semantics and labels can change, and other labels; clients are told.
#[test]
fn edited() -> Result<()> {
    let mut pmcd = Harness::<Steps>::new()?;
    let edit = |m: &mut Metrics<Steps>| {
        let first = m.find("first").expect("it was declared");
        let edited = m
            .edit(&first)
            .help("Other")
            .unit(BYTE)
            .counter()
            .label("a", "b")
            .declare();
        assert_eq!(edited, Ok(first));
    };
    assert_eq!(step(&mut pmcd, edit), (false, true));
    assert_eq!(step(&mut pmcd, edit), (false, false));
    let desc = pmcd.desc("steps.first")?;
    assert_eq!((desc.unit, desc.semantics), (BYTE, Some(Semantics::Counter)));
    assert_eq!(pmcd.text("steps.first")?.0, "Other");
    assert!(pmcd.labels("steps.first")?.contains(r#""a":"b""#));
    let labels = |m: &mut Metrics<Steps>| {
        m.set_labels(Labels::new().add("role", "other"));
        m.cluster_label("cluster", "y");
        let first = m.find("first").expect("it was declared");
        m.edit(&first).labels(Labels::new().optional("note", "n"));
    };
    assert_eq!(step(&mut pmcd, labels), (false, true));
    assert_eq!(step(&mut pmcd, labels), (false, false));
    let labels = pmcd.labels("steps.first")?;
    assert!(
        labels.contains(r#""note":"n""#) && labels.contains(r#""cluster":"y""#),
        "{labels}"
    );
    assert!(
        labels.contains(r#""role":"other""#) && !labels.contains(r#""a""#),
        "{labels}"
    );
    // Errors change nothing.
    let bad = |m: &mut Metrics<Steps>| {
        let first = m.find("first").expect("it was declared");
        assert!(m.edit(&first).label("no name", "x").declare().is_err());
        assert!(m.edit(&first).store(|_, _: u32, _| Ok(())).declare().is_err());
        assert!(m.remove("first"));
        assert_eq!(
            m.edit(&first).help("x").declare().expect_err("gone").to_string(),
            "metric 0.0 does not exist"
        );
        m.value("first", |_| 1).item(0);
    };
    assert_eq!(step(&mut pmcd, bad), (false, false));
    Ok(())
}

/// A removed cluster can be declared anew; clients are not told if its names are the same.
#[test]
fn clusters() -> Result<()> {
    let mut pmcd = Harness::<Steps>::new()?;
    let declare = |m: &mut Metrics<Steps>| {
        m.drop_cluster(5);
        m.cluster(5).cluster_label("c", "d").refresh(|s, _| {
            s.reads += 1;
            s.rows.update().set("one", 1)?;
            Ok(())
        });
        let rows = m.indom(9, "Rows", |s| &mut s.rows);
        m.each("row", rows, |row| *row).help("Row");
        m.text("text", |_| "x").help("Text");
    };
    assert!(step(&mut pmcd, declare).0);
    for _ in 0..3 {
        assert!(!step(&mut pmcd, declare).0);
    }
    assert_eq!(pmcd.desc("steps.text")?.id.to_string(), "452.5.1");
    assert_eq!(pmcd.instances("steps.row")?, [(0, "one".to_owned())]);
    let before = pmcd.agent().reads;
    pmcd.fetch("steps.row")?;
    assert_eq!(pmcd.agent().reads, before + 1, "one function reads it");
    let row = pmcd.desc("steps.row")?;
    assert!(step(&mut pmcd, |m| assert!(m.drop_cluster(5) && !m.drop_cluster(5))).0);
    assert_eq!(pmcd.names()?, ["steps.first"]);
    assert_eq!(pmcd.children("steps.row").err(), Some(Error::NAME));
    assert!(!row.indom.is_null());
    assert!(step(&mut pmcd, |m| assert!(m.find_indom::<u32>(9).is_none())) == (false, false));
    Ok(())
}

/// A cluster has room for 1,024 metrics, whatever there was before.
#[test]
fn numbers_are_given_again() -> Result<()> {
    let mut pmcd = Harness::<Steps>::new()?;
    let changed = step(&mut pmcd, |m| {
        for number in 0..3000 {
            m.cluster(1);
            let metric = m.value(format!("m{number}"), |_| 1).declare().expect("there is room");
            assert_eq!(metric.item(), number % 1024);
            if number > 5 {
                assert!(m.remove(&format!("m{}", number - 5)));
            }
        }
        for number in 3000..4019 {
            m.value(format!("m{number}"), |_| 1);
        }
        let full = m.value("full", |_| 1).declare().expect_err("it is full");
        assert_eq!(full.to_string(), "metric full: cluster 1 is full");
    });
    assert!(changed.0);
    Ok(())
}

/// A persistent domain that is declared at run time has its file.
#[test]
fn persistent_at_run_time() -> Result<()> {
    let mut pmcd = Harness::<Steps>::new()?;
    pmcd.agent().rows = Indom::persistent();
    let declare = |m: &mut Metrics<Steps>| {
        let rows = m.cluster(5).indom(11, "Rows", |s| &mut s.rows);
        m.each("row", rows, |row| *row);
    };
    step(&mut pmcd, declare);
    let mut update = pmcd.agent().rows.update();
    update.set("a", 1)?;
    update.set("b", 2)?;
    drop(update);
    // With the next request.
    pmcd.fetch("steps.first")?;
    assert!(pmcd.folder().join("config/pmda/452.11").exists());
    let mut pmcd = pmcd.restart()?;
    pmcd.agent().rows = Indom::persistent();
    // Before its declaration: the number is that of the file afterwards.
    pmcd.agent().rows.update().set("b", 2)?;
    step(&mut pmcd, declare);
    assert_eq!(pmcd.instances("steps.row")?, [(1, "b".to_owned())]);
    Ok(())
}
