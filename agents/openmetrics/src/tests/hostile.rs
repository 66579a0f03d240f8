//! What a source must not do to others: their log, their time, their values.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use super::Host;
use crate::fetch::tests::{Server, respond};
use crate::limits;
use crate::log_share::HOURLY;

/// A source whose faults come and go with each document has its share of the log, and no more. The
/// status goes on, and other sources have their own share.
#[test]
fn states_that_flip() {
    let host = Host::new();
    let (good, long) = ("x 1\nz{l=\"1\"} 1\ny 1\n", "x".repeat(1000));
    for source in ["flips", "other"] {
        host.page(source, good);
    }
    let mut pmcd = host.agent();
    let bad = format!("x 1\nz 1\ny {long}\n_{long} 1\n");
    let told = |log: &str, source: &str| {
        let lines = log.lines().filter(|line| line.ends_with(&format!("(source {source})")));
        lines.map(str::len).sum::<usize>()
    };
    let mut lengths = Vec::new();
    for _ in 0..2 {
        for _ in 0..60 {
            for document in [good, &bad] {
                host.page("flips", document);
                pmcd.fetch("openmetrics.flips.x").expect("a value");
            }
        }
        lengths.push(told(&pmcd.log(), "flips"));
    }
    assert!(lengths[0] >= HOURLY && lengths[1] == lengths[0], "{lengths:?}");
    assert!(lengths[0] < HOURLY * 2, "{lengths:?}");
    let log = pmcd.log();
    assert_eq!(
        log.matches("is left out for an hour (source flips)").count(),
        1,
        "{log}"
    );
    let status = pmcd.fetch("openmetrics.control.status").expect("values");
    let status = status.value_of::<String>("flips").expect("a status");
    assert!(status.starts_with("success, but 1 sample without a label"), "{status}");
    host.page("other", &bad);
    pmcd.fetch("openmetrics.other.x").expect("a value");
    assert!(told(&pmcd.log(), "other") > 1000, "{}", pmcd.log());
}

/// What a server says about its status is no fault of this host: the log does not have it.
#[test]
fn words_of_a_server() {
    let host = Host::new();
    let count = AtomicU32::new(0);
    let server = Server::new(move |_, out| match count.fetch_add(1, Ordering::SeqCst) {
        0 => respond(out, "200 OK", b"x 1\n"),
        number => respond(out, &format!("404 Permission denied {number}"), b""),
    });
    fs::write(host.at("config.d/a.url"), server.url() + "\n").expect("written");
    let mut pmcd = host.agent();
    for _ in 0..3 {
        pmcd.fetch("openmetrics.a.x").expect_err("refused");
    }
    assert!(!pmcd.log().contains("Permission denied"), "{}", pmcd.log());
    let status = pmcd.fetch("openmetrics.control.status").expect("values");
    let status = status.value_of::<String>("a").expect("a status");
    assert!(
        status.contains("404 Client Error: Permission denied 3 for url"),
        "{status}"
    );
}

/// A large document that waits for its turn is dropped when the source has another address.
#[test]
fn a_large_document_of_the_address_before() {
    let host = Host::new();
    let late = Arc::new(AtomicU32::new(0));
    let delay = Arc::clone(&late);
    let server = Server::new(move |lines, out| match &*lines[0] {
        // So late that the request has no time for it.
        "GET /metrics HTTP/1.1" if delay.load(Ordering::SeqCst) > 0 => {
            thread::sleep(limits::TAKES - limits::READS + Duration::from_millis(100));
            let large = "# nothing\n".repeat(limits::LARGE / 10 + 1) + "x 2\n";
            respond(out, "200 OK", large.as_bytes())
        }
        "GET /metrics HTTP/1.1" => respond(out, "200 OK", b"x 1\n"),
        _ => {
            thread::sleep(Duration::from_secs(60));
            false
        }
    });
    let url = host.at("config.d/a.url");
    fs::write(&url, server.url() + "\n").expect("written");
    let mut pmcd = host.agent();
    pmcd.agent().timeout = Duration::from_secs(4);
    pmcd.fetch("openmetrics.a.x").expect("a value");
    late.store(1, Ordering::SeqCst);
    pmcd.fetch("openmetrics.a.x").expect_err("it waits for its turn");
    fs::write(&url, server.url() + "/of/another\n").expect("written");
    pmcd.fetch("openmetrics.a.x").expect_err("its address is silent");
}
