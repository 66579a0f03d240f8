//! The lines of the log about files that cannot be read or written, and how often they appear.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use super::Host;
use super::shown::cluster_labels;
use crate::limits;

fn count(log: &str, text: &str) -> usize {
    log.matches(text).count()
}

/// The log has a line when the folder of sources has changed, and none when it has not (OM-3).
#[test]
fn changes_are_told() {
    let host = Host::new();
    // No other test has this number of sources: all tests see the lines of threads without an
    // agent.
    for number in 0..70 {
        host.page(&format!("s{number}"), "x 1\n");
    }
    let mut pmcd = host.agent();
    let change = |entries: u32| format!("Config change detected, traversed {entries} config entries in ");
    for _ in 0..3 {
        pmcd.fetch("openmetrics.s1.x").expect("a value");
    }
    assert_eq!(count(&pmcd.log(), &change(70)), 1, "{}", pmcd.log());
    host.page("new", "x 1\n");
    for _ in 0..3 {
        pmcd.fetch("openmetrics.new.x").expect("a value");
    }
    let log = pmcd.log();
    assert_eq!((count(&log, &change(70)), count(&log, &change(71))), (1, 1), "{log}");
    assert!(log.contains("Found source new cluster 71"));
}

/// The text of a file or a server is bounded in the status.
#[test]
fn long_reasons() {
    let host = Host::new();
    fs::write(
        host.at("config.d/long.url"),
        format!("file:///{}\n", "x".repeat(100_000)),
    )
    .expect("written");
    let filter = format!("file:///x\nFILTER: EXCLUDE METRIC ({}\n", "x".repeat(100_000));
    fs::write(host.at("config.d/filter.url"), filter).expect("written");
    let mut pmcd = host.agent();
    let status = pmcd.fetch("openmetrics.control.status").expect("an answer");
    for source in ["long", "filter"] {
        let status = status.value_of::<String>(source).expect("a status");
        assert!(status.len() < 2000, "{source}: {} bytes", status.len());
    }
    let log = pmcd.log();
    assert!(log.lines().all(|line| line.len() < 2000), "{log}");
}

/// A file of an address that cannot be read is logged as an error once (OM-93).
#[test]
fn addresses_that_cannot_be_read() {
    let host = Host::new();
    let at = |name: &str| host.at(&format!("config.d/{name}.url"));
    fs::write(at("large"), "x".repeat(limits::CONFIG + 1)).expect("written");
    fs::write(host.at("text"), "file:///x\n").expect("written");
    if nix::unistd::geteuid().is_root() {
        // Whoever may write to the folder leads root nowhere.
        symlink(host.at("text"), at("denied")).expect("made");
        fs::set_permissions(host.at("config.d"), fs::Permissions::from_mode(0o777)).expect("ours");
    } else {
        fs::write(at("denied"), "file:///x\n").expect("written");
        fs::set_permissions(at("denied"), fs::Permissions::from_mode(0o000)).expect("ours");
    }
    let mut pmcd = host.agent();
    for _ in 0..3 {
        pmcd.advance(Duration::from_secs(11));
        pmcd.names().expect("names");
    }
    let log = pmcd.log();
    let refused = |name: &str, why: &str| format!("cannot read {}: {why}", at(name).display());
    for (name, why) in [
        ("large", "it has more than 1048576 bytes"),
        ("denied", "Permission denied"),
    ] {
        assert_eq!(count(&log, &refused(name, why)), 1, "{log}");
    }
    let status = pmcd.fetch("openmetrics.control.status").expect("values");
    let denied = status.value_of::<String>("denied").expect("a status");
    let begin = format!(
        "failed to fetch URL or execute script {}: cannot read ",
        at("denied").display()
    );
    assert!(denied.starts_with(&begin), "{denied}");
    // A source whose file is not read yet has no label `hostname` (OM-64).
    for cluster in [1, 2] {
        let labels = cluster_labels(&mut pmcd, cluster);
        assert!(!labels.contains("hostname"), "{labels:?}");
    }
}

/// If the numbers cannot be saved, the log says so once, and they are saved as soon as that is
/// possible (OM-72).
#[test]
fn numbers_that_cannot_be_saved() {
    let host = Host::new();
    host.pcp("6.3.8");
    host.page("a", "x0 1\n");
    let mut pmcd = host.agent();
    let (numbers, away) = (host.at("config/pmda"), host.at("away"));
    fs::rename(&numbers, &away).expect("ours");
    for round in 1..=3 {
        host.page("a", format!("x{round} 1\n"));
        pmcd.fetch("openmetrics.a.x0").expect_err("it has gone");
        pmcd.fetch(&format!("openmetrics.a.x{round}")).expect("a value");
    }
    let cannot = format!("cannot save {}: ", numbers.join("144.1.py").display());
    assert_eq!(count(&pmcd.log(), &cannot), 1, "{}", pmcd.log());
    let mut shown = || {
        let unsaved = pmcd.fetch("openmetrics.control.numbers_unsaved").expect("values");
        let status = pmcd.fetch("openmetrics.control.status").expect("values");
        ["a", "control"].map(|source| {
            let count = unsaved.value_of::<u64>(source).expect("a number");
            (count, status.value_of::<String>(source).expect("a status"))
        })
    };
    let words = format!(
        "3 numbers are not saved, and may be another name's after a restart ({}: No such file or directory (os error 2))",
        numbers.join("144.1.py").display()
    );
    assert_eq!(shown(), [(3, format!("success, but {words}")), (3, words)]);
    fs::rename(&away, &numbers).expect("ours");
    // Whatever is asked.
    assert_eq!(shown(), [(0, "success".to_owned()), (0, "none".to_owned())]);
    assert_eq!(host.table(1), "(lp0\nVx0\np1\naVx1\np2\naVx2\np3\naVx3\np4\na.I00\n.");
    fs::rename(&numbers, &away).expect("ours");
    host.page("a", "x3 1\nx4 1\n");
    pmcd.fetch("openmetrics.a.x3").expect("a value");
    assert_eq!(count(&pmcd.log(), &cannot), 2, "{}", pmcd.log());
}

/// A file of numbers that is damaged or incomplete is kept, and the log says how many of its
/// numbers are used (OM-72).
#[test]
fn numbers_that_cannot_be_read() {
    let host = Host::new();
    host.page("a", "x 1\n");
    host.page("b", "x 1\n");
    host.agent();
    let file = |serial: u32| host.at(&format!("config/pmda/144.{serial}.py"));
    fs::write(file(1), "(lp0\nVx\np1\naVy\np2\na.I0").expect("written");
    fs::write(file(2), "what").expect("written");
    let log = host.agent().log();
    let whole = format!("{} is not whole (", file(1).display());
    assert_eq!(count(&log, &whole), 1, "{log}");
    assert_eq!(
        count(&log, "its first 2 names keep their numbers; the file is kept as "),
        1,
        "{log}"
    );
    let none = format!("{} has no numbers that can be read (", file(2).display());
    assert_eq!(count(&log, &none), 1, "{log}");
}

/// A fault of a document is logged when it begins: a bad line, lost labels and a page of HTML are
/// three faults, and each is logged again when it comes back (OM-38, OM-39).
#[test]
fn wrong_documents() {
    let host = Host::new();
    host.page("a", "x 1\nz{l=\"1\"} 1\n");
    let mut pmcd = host.agent();
    let (good, line, labels) = ("x 1\nz{l=\"1\"} 1\n", "x 1\ny{\n", "x 1\nz 1\n");
    let page = "<html>\n<p>\n</html>\n";
    for (document, told) in [
        (line, [1, 0, 0]),
        (line, [1, 0, 0]),
        ("x 1\ny{b}\n", [1, 0, 0]),
        (labels, [1, 1, 0]),
        (page, [1, 1, 1]),
        (page, [1, 1, 1]),
        (good, [1, 1, 1]),
        (line, [2, 1, 1]),
        ("x 1\ny{\nz 1\n", [2, 2, 1]),
        (page, [2, 2, 2]),
    ] {
        host.page("a", document);
        let value = pmcd.fetch("openmetrics.a.x").map(|values| values.value::<f64>());
        assert_eq!(value.ok(), (document != page).then_some(Some(1.0)), "{document}");
        let log = pmcd.log();
        let faults = [
            "cannot parse/store y{: the labels are not closed by } (source a)",
            "cannot parse/store z 1: it has no labels, and the metric has instances (source a)",
            "the page is no document: line 1: there is no value (source a)",
        ];
        assert_eq!(faults.map(|fault| count(&log, fault)), told, "{document}: {log}");
        assert!(!log.contains("y{b}"), "{log}");
    }
}

/// The metrics for alarms: whether a source has a document, how often it had none, and how many of
/// its samples are shown and lost. A failure without a status of HTTP has the status -1, not 0
/// (OM-83).
#[test]
fn numbers_of_sources() {
    let host = Host::new();
    host.page("a", "x 1\ny 2\n");
    let mut pmcd = host.agent();
    let mut seen = |document: Option<&str>| {
        match document {
            Some(document) => host.page("a", document),
            None => fs::remove_file(host.at("a")).expect("its own"),
        }
        drop(pmcd.fetch("openmetrics.a.x"));
        let metrics = ["up", "failures", "samples", "samples_lost", "status_code"];
        let mut value = |metric: &str, source: &str| {
            let values = pmcd.fetch(&format!("openmetrics.control.{metric}")).ok()?;
            let number = values.value_of::<u64>(source);
            number
                .map(|number| number as i64)
                .or(values.value_of::<u32>(source).map(i64::from))
                .or(values.value_of::<i32>(source).map(i64::from))
        };
        (
            metrics.map(|metric| value(metric, "a")),
            value("failures", "control"),
            value("up", "control"),
        )
    };
    assert_eq!(
        seen(Some("x 1\ny 2\n")),
        ([Some(1), Some(0), Some(2), Some(0), Some(0)], Some(0), None)
    );
    assert_eq!(
        seen(Some("x 1\ny what\n{\n")).0,
        [Some(1), Some(0), Some(1), Some(2), Some(0)]
    );
    assert_eq!(
        seen(Some("<a>\n<b>\n")),
        ([Some(0), Some(1), None, None, Some(-1)], Some(1), None)
    );
    assert_eq!(seen(None).0, [Some(0), Some(2), None, None, Some(-1)]);
    assert_eq!(seen(Some("x 1\n")).0, [Some(1), Some(2), Some(1), Some(0), Some(0)]);
}

/// A script that its owner may not execute is no source, and the status of `control` names it until it
/// is one (OM-82).
#[test]
fn a_script_that_may_not_be_executed() {
    let host = Host::new();
    let path = host.at("config.d/idle.sh");
    fs::write(&path, "#! /bin/sh\necho x 1\n").expect("written");
    let mut pmcd = host.agent();
    let mut status = || {
        let values = pmcd.fetch("openmetrics.control.status").expect("values");
        values.value_of::<String>("control").expect("a status")
    };
    let words = status();
    let what_to_do = format!("(chmod u+x {0}): {0}", path.display());
    assert!(
        words.starts_with("no source, as its owner may not") && words.ends_with(&what_to_do),
        "{words}"
    );
    fs::remove_file(&path).expect("ours");
    assert_eq!(status(), "none");
}

/// Lines of the file without effect are named while the source fails, too, and how many more there
/// are (OM-15).
#[test]
fn lines_without_effect_of_a_source_that_fails() {
    let host = Host::new();
    let lines = "INTERVAL: x\n".repeat(9);
    fs::write(host.at("config.d/a.url"), format!("file:///nowhere\n{lines}")).expect("written");
    let mut pmcd = host.agent();
    let values = pmcd.fetch("openmetrics.control.status").expect("values");
    let status = values.value_of::<String>("a").expect("a status");
    assert!(
        status.contains("No such file or directory") && status.contains("; line 2 \"INTERVAL: x\" has no effect: ")
    );
    assert!(
        status.contains("; line 4 ") && !status.contains("; line 5 "),
        "{status}"
    );
    assert!(
        status.contains("; 6 more lines have no effect, see the log ("),
        "{status}"
    );
}

/// Samples that a filter of labels makes one instance are said and counted as lost, as are those that
/// overwrite each other without it (OM-83).
#[test]
fn samples_that_overwrite_each_other() {
    let host = Host::new();
    let page = "m{a=\"1\",cpu=\"1\"} 1\nm{a=\"1\",cpu=\"2\"} 2\nn{b=\"1\"} 1\nn{b=\"1\"} 2\n";
    host.page_with("a", page, "FILTER: EXCLUDE LABEL cpu\n");
    let mut pmcd = host.agent();
    assert_eq!(
        pmcd.fetch("openmetrics.a.m").expect("values").value_of::<f64>("0 a:1"),
        Some(2.0)
    );
    let mut control = |metric: &str| pmcd.fetch(&format!("openmetrics.control.{metric}")).expect("values");
    assert_eq!(control("samples_lost").value_of::<u64>("a"), Some(2));
    let status = control("status").value_of::<String>("a").expect("a status");
    let merged = "1 sample is not shown, as without the labels that are filtered another one has the instance (line 2)";
    let repeated = "1 sample is not shown, as another one of the same instance follows (line 4)";
    assert!(status.contains(merged) && status.contains(repeated), "{status}");
}
