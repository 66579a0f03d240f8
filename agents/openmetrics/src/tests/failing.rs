//! What the log says where files cannot be read or written, and how often.

use std::fs;

use super::Host;

fn count(log: &str, text: &str) -> usize {
    log.matches(text).count()
}

/// OM-3: a look that finds what was there before is not worth a line.
#[test]
fn changes_are_told() {
    let host = Host::new();
    host.page("a", "x 1\n");
    let mut pmcd = host.agent();
    for _ in 0..3 {
        pmcd.fetch("openmetrics.a.x").expect("a value");
    }
    let change = "Config change detected, traversed ";
    assert_eq!(count(&pmcd.log(), change), 1, "{}", pmcd.log());
    host.page("b", "x 1\n");
    for _ in 0..3 {
        pmcd.fetch("openmetrics.b.x").expect("a value");
    }
    assert_eq!(count(&pmcd.log(), change), 2, "{}", pmcd.log());
    assert!(pmcd.log().contains("Found source b cluster 2"));
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
