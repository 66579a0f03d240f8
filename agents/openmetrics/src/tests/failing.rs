//! What the log says where files cannot be read or written, and how often.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use super::Host;
use super::shown::cluster_labels;
use crate::limits;

fn count(log: &str, text: &str) -> usize {
    log.matches(text).count()
}

/// OM-3: a look that finds what was there before is not worth a line.
#[test]
fn changes_are_told() {
    let host = Host::new();
    // So many that no other test has as many: lines of threads without an agent are all tests'.
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

/// OM-93: an address that cannot be read is an error each time, but where a permission lacks once.
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
    assert_eq!(
        count(&log, &refused("large", "it has more than 1048576 bytes")),
        4,
        "{log}"
    );
    assert_eq!(count(&log, &refused("denied", "Permission denied")), 1, "{log}");
    let status = pmcd.fetch("openmetrics.control.status").expect("values");
    let denied = status.value_of::<String>("denied").expect("a status");
    let begin = format!(
        "failed to fetch URL or execute script {}: cannot read ",
        at("denied").display()
    );
    assert!(denied.starts_with(&begin), "{denied}");
    // OM-64: what is not read yet says nothing of a host.
    for cluster in [1, 2] {
        let labels = cluster_labels(&mut pmcd, cluster);
        assert!(!labels.contains("hostname"), "{labels:?}");
    }
}

/// OM-72: numbers that cannot be saved are told once, and saved as soon as that is possible.
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
    fs::rename(&away, &numbers).expect("ours");
    pmcd.fetch("openmetrics.a.x3").expect("a value");
    assert_eq!(host.table(1), "(lp0\nVx0\np1\naVx1\np2\naVx2\np3\naVx3\np4\na.I00\n.");
    fs::rename(&numbers, &away).expect("ours");
    host.page("a", "x3 1\nx4 1\n");
    pmcd.fetch("openmetrics.a.x3").expect("a value");
    assert_eq!(count(&pmcd.log(), &cannot), 2, "{}", pmcd.log());
}

/// OM-72: a file of numbers that is not whole or none is kept, and the log says what of it counts.
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

/// OM-38, OM-39: what is wrong with documents is told until one has nothing wrong.
#[test]
fn wrong_documents() {
    let host = Host::new();
    host.page("a", "x 1\n");
    let mut pmcd = host.agent();
    for (document, told) in [
        ("x 1\ny{\n", 1),
        ("x 1\ny{\n", 1),
        ("x 1\ny{b}\n", 1),
        ("x 1\n", 1),
        ("x 1\ny{\n", 2),
        ("x 1\ny{\n", 2),
    ] {
        host.page("a", document);
        assert_eq!(
            pmcd.fetch("openmetrics.a.x").expect("a value").value::<f64>(),
            Some(1.0)
        );
        let log = pmcd.log();
        let fault = "cannot parse/store y{: the labels are not closed by } (source a)";
        assert_eq!(count(&log, fault), told, "{log}");
        assert!(!log.contains("y{b}"), "{log}");
    }
}
