//! The metrics of the derive macros: names, numbers, help texts, units and values.

#![forbid(unsafe_code)]
#![allow(clippy::doc_paragraphs_missing_punctuation)] // One-line help texts are no sentences.

use pmda::prelude::*;
use pmda::testing::Harness;

#[derive(Default, pmda::Metrics)]
struct Machine {
    /// One line
    ///
    /// The "long" text,
    /// of two lines.
    #[metric(counter, unit = BYTE, item = 7)]
    r#type: u64,
    #[metric(discrete, name = "os.name")]
    name: String,
    #[doc = concat!(" Not", " there")]
    #[doc(alias = "nothing")]
    ///
    #[doc = "\n In two\n lines."]
    #[metric(instant)]
    missing: Option<f64>,
    disks: Indom<Disk>,
}

#[derive(pmda::Row)]
struct Disk {
    /// Reads a second
    #[metric(instant, unit = COUNT.per(SEC), name = "read.rate")]
    rate: u32,
    /// The model
    #[metric(discrete)]
    model: &'static str,
    _not_a_metric: std::collections::HashMap<u32, Vec<u8>>,
}

impl Agent for Machine {
    const NAME: &'static str = "machine";
    const DOMAIN: u32 = 402;
    fn start(_: &Env) -> Result<Machine> {
        let disk = |rate, model| Disk {
            rate,
            model,
            _not_a_metric: std::collections::HashMap::new(),
        };
        Ok(Machine {
            r#type: 5,
            name: "Linux".to_owned(),
            missing: None,
            disks: Indom::fixed([("sda", disk(1, "a")), ("sdb", disk(2, "b"))]),
        })
    }
    fn metrics(m: &mut Metrics<Machine>) {
        m.fields();
        let disks = m.indom(0, "Disks", |s| &mut s.disks);
        m.cluster(1);
        m.rows("disk.", disks);
    }
}

#[test]
fn fields_become_metrics() -> Result<()> {
    let mut pmcd = Harness::<Machine>::new()?;
    let numbers = pmcd.numbers();
    let numbers: Vec<&str> = numbers.lines().collect();
    for line in [
        "machine.type 402.0.7",
        "machine.disk.read.rate 402.1.0",
        "machine.disk.model 402.1.1",
    ] {
        assert!(numbers.contains(&line), "{line}: {numbers:?}");
    }
    assert_eq!(numbers.len(), 5, "{numbers:?}");
    assert_eq!(pmcd.fetch("machine.type")?.value(), Some(5_u64));
    assert_eq!(pmcd.fetch("machine.missing")?.value::<f64>(), None);
    assert_eq!(pmcd.fetch("machine.disk.read.rate")?.value_of("sdb"), Some(2_u32));
    assert_eq!(pmcd.desc("machine.type")?.unit, BYTE);
    assert_eq!(pmcd.desc("machine.disk.read.rate")?.unit, COUNT.per(SEC));
    let (line, text) = pmcd.text("machine.missing")?;
    assert_eq!((&*line, &*text), ("Not there", "In two\nlines."));
    let (line, text) = pmcd.text("machine.type")?;
    assert_eq!(line, "One line");
    assert_eq!(text, "The \"long\" text,\nof two lines.");
    Ok(())
}

/// A metric without semantics, unit, name and item.
#[derive(Default, pmda::Metrics)]
struct Bare {
    /// Threads
    #[metric]
    threads: u32,
}

impl Agent for Bare {
    const NAME: &'static str = "bare";
    const DOMAIN: u32 = 403;
    fn start(_: &Env) -> Result<Bare> {
        Ok(Bare { threads: 3 })
    }
    fn metrics(m: &mut Metrics<Bare>) {
        m.fields();
    }
}

#[test]
fn a_bare_attribute() -> Result<()> {
    let mut pmcd = Harness::<Bare>::new()?;
    assert_eq!(pmcd.fetch("bare.threads")?.value(), Some(3));
    let desc = pmcd.desc("bare.threads")?;
    assert_eq!((desc.semantics, desc.unit), (Some(Semantics::Instant), Unit::NONE));
    Ok(())
}
