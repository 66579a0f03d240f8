//! Sources that need more memory than the process may have: a process of its own, as the limit is
//! one of the process. Where an allocation fails the process ends, and so does the test.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use parking_lot::Mutex;
use pmda::testing::Harness;
use pmda_openmetrics::OpenMetrics;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the process may have beside what it has, in bytes.
const MORE: u64 = 64 << 20;

/// The address space of this process, in bytes.
fn size() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("a size") << 10
}

/// Limits the address space of this process, or takes the limit away.
fn limit(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::As).maximum;
    setrlimit(
        Resource::As,
        Rlimit {
            current: bytes,
            maximum,
        },
    )
    .expect("below the hard limit");
}

/// The document of a source in a round.
type Document = fn(usize) -> String;

/// Series that nobody has seen before, in each round.
fn new_series(round: usize) -> String {
    let mut text = String::from("tick 1\n");
    let pad = "x".repeat(400);
    for series in 0..8_000 {
        let _ = writeln!(text, "series{{round=\"{round}\",x=\"{series}{pad}\"}} 1");
    }
    text
}

/// Metrics whose help texts are as long as they may be, others in each round.
fn long_help(round: usize) -> String {
    let help = "x".repeat(16_000);
    let help = |number: usize| format!("# HELP help {help}\nhelp{round}n{number} 1\n");
    "tick 1\n".to_owned() + &(0..100).map(help).collect::<String>()
}

/// A label, and so the name of an instance, that is as long.
fn long_label(round: usize) -> String {
    let label = "\\\\".repeat(3 << 20);
    format!("tick 1\nlabel{{x=\"{round}{label}\"}} 1\n")
}

/// A value that is as long.
fn long_value(_: usize) -> String {
    let value = "x".repeat(12 << 20);
    format!("tick 1\n# PCP5 text 1.2.3 string PM_INDOM_NULL instant none\ntext {value}\n")
}

/// A document without an end.
fn long_document(_: usize) -> String {
    format!("tick 1\n{}", ("# nothing ".repeat(100) + "\n").repeat(30_000))
}

/// A metric whose file of numbers is as long.
fn many_numbers(_: usize) -> String {
    "tick 1\nnumbered{x=\"1\"} 1\n".to_owned()
}

/// Writes a file with the numbers of instances of the first metric of the first source.
fn write_numbers(folder: &Path) {
    let directory = folder.join("config/pmda");
    fs::create_dir_all(&directory).expect("made");
    let table = |names: &[&str]| {
        let names = names.iter().enumerate();
        let lines = names.map(|(number, name)| format!("V{name}\np{}\na", number + 1));
        format!("(lp0\n{}.I00\n.", lines.collect::<String>())
    };
    fs::write(directory.join("144.0.py"), table(&["control", "big", "small"])).expect("written");
    fs::write(directory.join("144.1.py"), table(&["numbered", "tick"])).expect("written");
    let mut names = String::from("(lp0\n");
    for number in 0..1_000_000 {
        let _ = write!(names, "Vx:{number}\np{}\na", number + 1);
    }
    names.push_str(".I01\n.");
    fs::write(directory.join("144.5120.py"), names).expect("written");
}

/// A document of one value.
fn tick(round: usize) -> String {
    format!("tick {round}\n")
}

/// Has a script write the document of the first source: a thread of its own waits for its end.
fn write_script(folder: &Path) {
    let script = folder.join("config.d/big.sh");
    let text = format!("#!/bin/sh\nexec cat '{}'\n", folder.join("big").display());
    fs::write(&script, text).expect("written");
    fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("changed");
}

/// One test at a time: the limit is one of the process.
static LIMIT: Mutex<()> = Mutex::new(());

/// Fetches a source whose documents need more and more memory beside a small one. What the first
/// needs beyond the limit costs it values, and status and log say so, the log once; the other one
/// has all of its values in each round. Without the limit the first one has its values again.
fn hurts_itself_alone(document: Document, prepare: fn(&Path)) {
    let _guard = LIMIT.lock();
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("config.d")).expect("made");
    prepare(directory.path());
    for source in ["big", "small"] {
        if !at(&format!("config.d/{source}.sh")).exists() {
            let url = format!("file://{}\n", at(source).display());
            fs::write(at(&format!("config.d/{source}.url")), url).expect("written");
        }
        fs::write(at(source), "tick 1\n").expect("written");
    }
    let builder = Harness::<OpenMetrics>::builder().folder(directory.path());
    let mut pmcd = builder.start().expect("it starts");
    // An agent that runs has its threads.
    drop(pmcd.fetch_all(&["openmetrics.small.tick", "openmetrics.big.tick"]));
    let (mut bound, mut is_lost) = (None, false);
    for round in 1..=20 {
        // What this program needs to write them does not count.
        limit(None);
        fs::write(at("small"), format!("tick {round}\n")).expect("written");
        fs::write(at("big"), document(round)).expect("written");
        limit(Some(*bound.get_or_insert_with(|| size() + MORE)));
        let values = pmcd.fetch_all(&["openmetrics.small.tick", "openmetrics.big.tick"]);
        let values = values.expect("an answer");
        let small = values[0].as_ref().ok().and_then(|fetched| fetched.value::<f64>());
        assert_eq!(small, Some(round as f64), "round {round}");
        let status = pmcd.fetch("openmetrics.control.status").expect("an answer");
        let status = status.value_of::<String>("big").unwrap_or_default();
        let was_lost = std::mem::replace(&mut is_lost, status.contains("no memory"));
        // The same is not logged again.
        if was_lost && is_lost {
            break;
        }
    }
    limit(None);
    assert!(is_lost, "nothing is lost");
    let log = pmcd.log();
    let count = log.lines().filter(|line| line.contains("no memory")).count();
    assert_eq!(count, 1, "{log}");
    pmcd.fetch("openmetrics.big.tick").expect("a value");
    let status = pmcd.fetch("openmetrics.control.status").expect("an answer");
    assert_eq!(status.value_of::<String>("big").as_deref(), Some("success"));
}

#[test]
fn series() {
    hurts_itself_alone(new_series, |_| ());
}

#[test]
fn help() {
    hurts_itself_alone(long_help, |_| ());
}

#[test]
fn labels() {
    hurts_itself_alone(long_label, |_| ());
}

#[test]
fn values() {
    hurts_itself_alone(long_value, |_| ());
}

#[test]
fn documents() {
    hurts_itself_alone(long_document, |_| ());
}

#[test]
fn threads() {
    hurts_itself_alone(tick, write_script);
}

#[test]
fn numbers() {
    hurts_itself_alone(many_numbers, write_numbers);
}
