//! When the file of a persistent instance domain is written.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use pmda::prelude::*;
use pmda::testing::Harness;

/// An agent with a persistent domain, and the place of its file.
struct Saving {
    rows: Indom<u32>,
    kept: Indom<()>,
    file: PathBuf,
    waker: Waker,
    /// The number of instances that the next reading adds, one by one.
    come: u32,
    /// The number of instances in the file when the last reading ended.
    in_file: usize,
    saves_itself: bool,
}

fn instances(file: &Path) -> usize {
    std::fs::read_to_string(file).map_or(0, |text| text.lines().skip(1).count())
}

impl Saving {
    fn add(&mut self) -> Result<()> {
        for _ in 0..self.come {
            let name = format!("i{}", self.rows.len());
            self.rows.change().set(&name, 1)?;
        }
        if self.saves_itself {
            self.rows.save()?;
        }
        self.in_file = instances(&self.file);
        Ok(())
    }
}

impl Agent for Saving {
    const NAME: &'static str = "saving";
    const DOMAIN: u32 = 243;

    fn start(env: &Env) -> Result<Saving> {
        let directory = env.var_dir().ok_or(Error::ENODEV)?.join("config/pmda");
        Ok(Saving {
            rows: Indom::persistent(),
            kept: Indom::persistent_in(env, 7),
            file: directory.join("243.0"),
            waker: env.waker(),
            come: 0,
            in_file: 0,
            saves_itself: false,
        })
    }

    fn metrics(m: &mut Metrics<Saving>) {
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.refresh(|s, _| s.add());
        m.each("row", rows, |row| *row);
    }

    fn woken(&mut self) -> Result<()> {
        self.add()
    }
}

/// All changes of a request are saved by one write, before the reply.
#[test]
fn once_a_request() -> Result<()> {
    let mut pmcd = Harness::<Saving>::new()?;
    let file = pmcd.agent().file.clone();
    pmcd.agent().come = 1000;
    assert_eq!(pmcd.fetch("saving.row")?.len(), 1000);
    assert_eq!((pmcd.agent().in_file, instances(&file)), (0, 1000));
    // Also for a request that reads the domain only.
    pmcd.agent().come = 1;
    assert_eq!(pmcd.instances("saving.row")?.len(), 1001);
    assert_eq!((pmcd.agent().in_file, instances(&file)), (1000, 1001));
    // Nothing is written if nothing has changed.
    pmcd.agent().come = 0;
    std::fs::remove_file(&file).expect("it is there");
    assert_eq!(pmcd.fetch("saving.row")?.len(), 1001);
    assert!(!file.exists());
    Ok(())
}

/// A change that no request has made is saved after it.
#[test]
fn after_a_wake_and_at_the_end() -> Result<()> {
    let mut pmcd = Harness::<Saving>::new()?;
    let file = pmcd.agent().file.clone();
    pmcd.agent().come = 2;
    pmcd.agent().waker.wake();
    assert!(pmcd.wait(Duration::from_secs(10)));
    assert_eq!((pmcd.agent().in_file, instances(&file)), (0, 2));
    pmcd.agent().rows.change().set("last", 3)?;
    assert_eq!(instances(&file), 2);
    let pmcd = pmcd.restart()?;
    assert_eq!(instances(&file), 3);
    drop(pmcd);
    Ok(())
}

/// The agent may save at any time, and a domain that is not declared saves itself.
#[test]
fn at_once() -> Result<()> {
    let mut pmcd = Harness::<Saving>::new()?;
    let file = pmcd.agent().file.clone();
    (pmcd.agent().come, pmcd.agent().saves_itself) = (3, true);
    pmcd.fetch("saving.row")?;
    assert_eq!(pmcd.agent().in_file, 3);
    pmcd.agent().kept.change().set("one", ())?;
    assert_eq!(instances(&file.with_file_name("243.7")), 1);
    std::fs::remove_dir_all(file.parent().expect("a folder")).expect("ours");
    assert_eq!(pmcd.fetch("saving.row").err(), Some(Error::os(2)));
    Ok(())
}

/// An `Indom` in the place of another one, as an entry of a map that has gone and comes again has it, gets
/// the numbers of the file, and is saved.
#[test]
fn another_in_its_place() -> Result<()> {
    let mut pmcd = Harness::<Saving>::new()?;
    let file = pmcd.agent().file.clone();
    pmcd.agent().come = 2;
    pmcd.fetch("saving.row")?;
    pmcd.agent().come = 0;
    pmcd.agent().rows = Indom::persistent();
    for name in ["new", "i1", "i0"] {
        pmcd.agent().rows.change().set(name, 1)?;
    }
    let expected = [(0, "i0"), (1, "i1"), (2, "new")].map(|(inst, name)| (inst, name.to_owned()));
    assert_eq!(pmcd.instances("saving.row")?, expected);
    assert_eq!(instances(&file), 3);
    Ok(())
}
