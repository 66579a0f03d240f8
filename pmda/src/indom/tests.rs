//! Numbers of instances stay, and memory is bounded.

use pmda_core::ident::InDom;
use pmda_core::profile::{Compiled, Element};

use crate::prelude::*;
use crate::profile::Selection;
use crate::testing::Harness;

fn set(indom: &mut Indom<u32>, names: &[&str]) {
    let mut update = indom.update();
    for (number, name) in (0..).zip(names) {
        update.set(name, number).expect("a good name");
    }
}

fn names(indom: &Indom<u32>) -> Vec<(i32, &str)> {
    indom
        .iter()
        .map(|(inst, _)| (inst, indom.name(inst).expect("UTF-8")))
        .collect()
}

/// An instance that comes back has the number that it had; a new instance has a number that no
/// other one had (CACHE-40).
#[test]
fn coming_and_going() {
    let mut indom = Indom::new();
    set(&mut indom, &["a", "b", "c"]);
    set(&mut indom, &["c", "a", "d"]);
    assert_eq!(names(&indom), [(0, "a"), (2, "c"), (3, "d")]);
    assert_eq!((indom.get(2), indom.get(1), indom.find("b")), (Some(&0), None, None));
    set(&mut indom, &["b", "d"]);
    assert_eq!(names(&indom), [(1, "b"), (3, "d")]);
    indom.forget_inactive();
    set(&mut indom, &["a", "b"]);
    assert_eq!(names(&indom), [(1, "b"), (4, "a")]);
    set(&mut indom, &[]);
    assert!(indom.is_empty() && indom.rows_mut().next().is_none());
}

/// An active row keeps its value; one whose maker panics is not active.
#[test]
fn rows() {
    let mut indom = Indom::<u32>::new();
    for round in 1..4 {
        let mut update = indom.update();
        *update.row("a", || 0).expect("memory").expect("a good name") += 1;
        assert!(update.has("a") && !update.has("b"));
        drop(update);
        assert_eq!(indom.get(0), Some(&round));
    }
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut update = indom.update();
        let _ = update.row("b", || panic!("told to"));
    }));
    assert!(outcome.is_err() && indom.is_empty());
    set(&mut indom, &["b"]);
    assert_eq!(names(&indom), [(1, "b")]);
}

/// An update that was leaked costs none of its instances, once another one begins.
#[test]
fn leaked() {
    let mut indom = Indom::new();
    let mut update = indom.update();
    update.set("a", 1).expect("a good name");
    update.set("b", 2).expect("a good name");
    std::mem::forget(update);
    set(&mut indom, &["c", "a"]);
    assert_eq!(names(&indom), [(0, "a"), (2, "c")]);
    let mut update = indom.change();
    update.set_at(9, "d", 4).expect("a good name");
    std::mem::forget(update);
    let mut update = indom.change();
    assert!(update.keep_at(9).is_some() && update.hide("c"));
    drop(update);
    assert_eq!(names(&indom), [(0, "a"), (9, "d")]);
}

/// Two names are one instance if they agree up to the first blank; with `whole_names` the whole
/// name counts (CACHE-4, CACHE-10).
#[test]
fn blanks() {
    let mut indom = Indom::new();
    set(&mut indom, &["sda1 root", "sda2"]);
    assert_eq!(indom.find("sda1"), Some(0));
    let mut update = indom.update();
    assert_eq!(update.set("sda1", 5), Ok(Some(0)));
    for bad in ["sda1 home", "", "a\0b"] {
        assert_eq!(update.set(bad, 6), Ok(None), "{bad:?}");
    }
    drop(update);
    assert_eq!((names(&indom), indom.get(0)), (vec![(0, "sda1 root")], Some(&5)));
    let mut indom = Indom::new().whole_names();
    set(&mut indom, &["a b", "a c", "a"]);
    assert_eq!(names(&indom), [(0, "a b"), (1, "a c"), (2, "a")]);
}

/// A table may have names that begin alike, and an empty name; a client may name an instance by the
/// part before the first blank (INST-66).
#[test]
fn tables() {
    let mut indom = Indom::new().whole_names();
    set(&mut indom, &["disk read", "disk write", "", " ", "fan 1", "fan"]);
    let fixed = Indom::fixed([
        ("disk read", 0),
        ("disk write", 1),
        ("", 2),
        (" ", 3),
        ("fan 1", 4),
        ("fan", 5),
    ]);
    for indom in [&indom, &fixed] {
        assert_eq!(names(indom).len(), 6);
        let asked = |name: &str| indom.asked(name.as_bytes());
        assert_eq!(
            (asked("disk"), asked("disk write"), asked("disk none")),
            (Some(0), Some(1), None)
        );
        assert_eq!((asked("fan"), asked("fan 1"), asked("fa")), (Some(5), Some(4), None));
        assert_eq!((asked(""), asked(" ")), (Some(2), Some(3)));
        assert_eq!(indom.find("disk"), None);
    }
    // An instance that has disappeared is not found by the first word of its name.
    set(&mut indom, &["disk write", "fan 1"]);
    assert_eq!((indom.asked(b"disk"), indom.asked(b"fan")), (Some(1), Some(4)));
    let mut persistent = Indom::persistent().whole_names();
    assert_eq!(persistent.update().set("", 0), Ok(None));
}

/// The instances that a profile selects (INST-51).
#[test]
fn selections() {
    let indom = Indom::fixed([("a", 10), ("b", 11), ("c", 12)]);
    let visited = |include, exceptions: &[i32]| {
        let compiled = Compiled::new(Element { include, exceptions }).expect("memory");
        let mut visited = Vec::new();
        indom.visit(Selection::Some(&compiled), &mut 0, |inst, row| {
            visited.push((inst, *row));
        });
        visited
    };
    assert_eq!(visited(true, &[1]), [(0, 10), (2, 12)]);
    assert_eq!(visited(false, &[2, 2, 9, -1]), [(2, 12)]);
}

/// Memory is bounded, and no number gets another meaning.
#[test]
fn churn() {
    let mut indom = Indom::<u32>::new();
    let mut last = -1;
    for round in 0..300_u32 {
        let mut update = indom.update();
        for number in round * 100..round * 100 + 1000 {
            let inst = number as i32;
            assert_eq!(update.set(&format!("n{number}"), number), Ok(Some(inst)));
            last = last.max(inst);
        }
    }
    assert_eq!((last, indom.len(), indom.rows.len()), (30_899, 1000, 1100));
    assert!(indom.cache.inactive() <= 1000 + super::REMEMBERED);
}

/// The numbers come from the file, also for instances that were set before the file was read
/// (CACHE-74, CACHE-93).
#[test]
fn files() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("config/pmda")).expect("a folder");
    let file = folder.path().join("config/pmda/250.3");
    std::fs::write(&file, "2 0 2147483647\n7 1700000000 b\n3 1700000000 a x\n").expect("a file");
    let mut indom = Indom::persistent();
    set(&mut indom, &["c", "a x"]);
    indom.bind(InDom::new(250, 3), Some(folder.path()), None);
    assert_eq!(names(&indom), [(3, "a x"), (8, "c")]);
    assert_eq!((indom.get(3), indom.get(8)), (Some(&1), Some(&0)));
    set(&mut indom, &["b", "c"]);
    assert_eq!(names(&indom), [(7, "b"), (8, "c")]);
    let text = std::fs::read_to_string(&file).expect("a file");
    let lines: Vec<(&str, &str)> = text
        .lines()
        .skip(1)
        .filter_map(|line| Some((line.split_once(' ')?.0, line.splitn(3, ' ').nth(2)?)))
        .collect();
    assert_eq!(lines, [("3", "a x"), ("7", "b"), ("8", "c")]);
}

/// An instance that is set again gets a new time stamp in the file; an instance that is not set
/// keeps its old one (CACHE-21, CACHE-62).
#[test]
fn time_stamps() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("config/pmda")).expect("a folder");
    let file = folder.path().join("config/pmda/250.3");
    std::fs::write(&file, "2 0 2147483647\n0 1700000000 a\n1 1700000000 b\n").expect("a file");
    let mut indom = Indom::persistent();
    indom.bind(InDom::new(250, 3), Some(folder.path()), None);
    // New instances, so that the file is written, with a time for all.
    set(&mut indom, &["b", "c"]);
    let text = std::fs::read_to_string(&file).expect("a file");
    let old: Vec<bool> = text.lines().skip(1).map(|line| line.contains(" 1700000000 ")).collect();
    assert_eq!(old, [true, false, false]);
    // A purge removes only instances that were not set since: with an update in the expected order,
    // and in another one.
    set(&mut indom, &["b", "c"]);
    assert_eq!(indom.cache.purge(i64::MAX, None), Ok(1));
    set(&mut indom, &["b", "c", "d"]);
    set(&mut indom, &["d", "c", "b"]);
    assert_eq!(indom.cache.purge(i64::MAX, None), Ok(0));
    assert_eq!(names(&indom), [(1, "b"), (2, "c"), (3, "d")]);
}

/// 100,000 jobs; each fetch replaces 1 % of them.
#[derive(Default)]
struct Many {
    jobs: Indom<u32>,
    oldest: u32,
}

impl Many {
    const JOBS: u32 = 100_000;
}

impl Agent for Many {
    const NAME: &'static str = "many";
    const DOMAIN: u32 = 250;
    fn start(_: &Env) -> Result<Many> {
        Ok(Many::default())
    }
    fn metrics(m: &mut Metrics<Many>) {
        m.refresh(|s, _| {
            let mut jobs = s.jobs.update();
            for number in s.oldest..s.oldest + Many::JOBS {
                jobs.set(&format!("n{number}"), number)?;
            }
            drop(jobs);
            s.oldest += Many::JOBS / 100;
            Ok(())
        });
        let jobs = m.indom(0, "Jobs", |s| &mut s.jobs);
        m.each("job", jobs, |number| *number);
    }
}

/// Numbers keep their meaning, and memory is bounded: `INDOM_CASES=1000` is the long form.
#[test]
fn many_instances() {
    let cases = std::env::var("INDOM_CASES").ok().and_then(|cases| cases.parse().ok());
    let rounds: u32 = cases.unwrap_or(5);
    let jobs = Many::JOBS as usize;
    let mut pmcd = Harness::<Many>::new().expect("it starts");
    let fetch = [32, 0x7003, 0, 0, 0, 0, 1, 250 << 22].map(u32::to_be_bytes).concat();
    for round in 0..rounds {
        let reply = pmcd.raw(&fetch);
        let words: Vec<u32> = reply
            .chunks_exact(4)
            .map(|word| word.iter().fold(0, |all, byte| all << 8 | u32::from(*byte)))
            .collect();
        let oldest = round * (Many::JOBS / 100);
        // Behind the reply's head: metric, number of values, format.
        assert_eq!(words[6..9], [250 << 22, Many::JOBS, 0]);
        // The number of its first fetch, which no other one has had.
        let expected = (oldest..oldest + Many::JOBS).flat_map(|number| [number, number]);
        assert!(expected.eq(words[9..].iter().copied()), "round {round}");
        // Rows are used again, and names are forgotten.
        let indom = &pmcd.agent().jobs;
        assert!(indom.rows.len() <= jobs + jobs / 100);
        assert!(indom.cache.inactive() <= jobs + super::REMEMBERED);
    }
}

/// An error of saving is remembered, so that it is logged once.
#[test]
fn a_file_that_cannot_be_written() {
    let variable = tempfile::tempdir().expect("a directory");
    let mut indom = Indom::persistent();
    indom.bind(InDom::new(250, 0), Some(variable.path()), None);
    set(&mut indom, &["a"]);
    assert_eq!(indom.unsaved, Some(pmda_core::error::Error::os(libc::ENOENT)));
    std::fs::create_dir_all(variable.path().join("config/pmda")).expect("writable");
    set(&mut indom, &["a"]);
    assert_eq!(indom.unsaved, None);
    assert!(variable.path().join("config/pmda/250.0").exists());
}

/// An instance that is forgotten, active or not, gets a new number, also after a restart.
#[test]
fn forgotten_instances() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(folder.path().join("config/pmda")).expect("a folder");
    let start = || {
        let mut indom = Indom::persistent();
        indom.bind(InDom::new(240, 1), Some(folder.path()), None);
        indom
    };
    let mut indom = start();
    set(&mut indom, &["a x", "b", "c"]);
    set(&mut indom, &["a x", "b"]);
    let mut change = indom.change();
    change.set("d", 7).expect("a good name");
    // By the name up to the first blank, an inactive one, one of this update, and none.
    let forgotten = ["a", "c", "d", "a x"].map(|name| change.forget(name));
    assert_eq!(forgotten, [true, true, true, false]);
    drop(change);
    assert_eq!((names(&indom), indom.inactive().count()), (vec![(1, "b")], 0));
    assert_eq!(start().inactive().collect::<Vec<_>>(), [(1, "b")]);
    set(&mut indom, &["a x", "c", "d"]);
    assert_eq!(names(&indom), [(4, "a x"), (5, "c"), (6, "d")]);
}
