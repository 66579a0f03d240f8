//! Series that have been missing for long.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::Host;

const NAME: &str = "openmetrics.a.m";

fn host(forget: &str) -> Host {
    let host = Host::new();
    host.page_with("a", "m{x=\"first\"} 1\nm{x=\"stays\"} 2\n", forget);
    host
}

/// Without a FORGET line no series is forgotten. With one, a series that has disappeared is
/// forgotten; its number is never given again, also after the next start. A series that is still
/// there stays, whatever its number (OM-22).
#[test]
fn series_that_have_gone_are_forgotten() {
    let known = |host: &Host, time: Duration| {
        let mut pmcd = host.agent();
        let deadline = Instant::now() + time;
        let mut round = 0;
        let mut names = Vec::new();
        while Instant::now() < deadline && (round < 3 || names.iter().any(|(_, name)| name == "0 x:first")) {
            round += 1;
            host.page("a", format!("m{{x=\"stays\"}} {round}\nm{{x=\"r{round}\"}} 1\n"));
            let values = pmcd.fetch(NAME).expect("values");
            assert_eq!(values.value_of::<f64>("1 x:stays"), Some(f64::from(round)));
            let new = format!("{} x:r{round}", round + 1);
            assert_eq!(values.value_of::<f64>(&new), Some(1.0), "{values:?}");
            names = pmcd.instances(NAME).expect("instances");
            thread::sleep(Duration::from_millis(100));
        }
        (round, names)
    };
    // Twice as long as the line has.
    let (_, all) = known(&host(""), Duration::from_secs(2));
    assert!(all.iter().any(|(_, name)| name == "0 x:first"), "{all:?}");
    let host = host("FORGET: 1\n");
    let (round, some) = known(&host, Duration::from_secs(20));
    assert!(
        some.len() < 25 && some.len() < round as usize,
        "after {round} rounds {some:?}"
    );
    assert!(some.iter().any(|(_, name)| name == "1 x:stays"), "{some:?}");
    // Back again it is a new instance.
    host.page("a", "m{x=\"first\"} 1\nm{x=\"stays\"} 2\n");
    let mut pmcd = host.agent();
    let values = pmcd.fetch(NAME).expect("values");
    assert_eq!(values.value_of::<f64>("1 x:stays"), Some(2.0));
}

/// The memory of names is bounded; at the limit a FORGET line makes room without a restart.
#[test]
fn forgetting_makes_room() {
    let host = host("");
    let mut pmcd = host.agent();
    pmcd.agent().source_mut(1).expect("the first").limit_memory(10_000);
    let mut ask = |round: u32| {
        let series = (0..10).map(|number| format!("m{{x=\"r{round}n{number}\"}} 1\n"));
        host.page("a", series.collect::<String>() + "m{x=\"stays\"} 2\n");
        let shown = pmcd.fetch(NAME).expect("values").len();
        let status = pmcd.fetch("openmetrics.control.status").expect("values");
        (shown, status.value_of::<String>("a").expect("a status"), pmcd.log())
    };
    for round in 0..4 {
        ask(round);
    }
    let (shown, status, _) = ask(4);
    assert_eq!(shown, 1, "{status}");
    assert_eq!(
        status,
        "success, but 10 series are not shown (there are more than a source may have; a line FORGET: makes room) (line 1)"
    );
    let url = host.at("config.d/a.url");
    let text = fs::read_to_string(&url).expect("ours");
    fs::write(&url, text + "FORGET: 1\n").expect("written");
    let deadline = Instant::now() + Duration::from_secs(20);
    let log = loop {
        let (shown, status, log) = ask(5);
        if shown == 11 {
            assert_eq!(status, "success");
            break log;
        }
        assert!(Instant::now() < deadline, "{status}");
        thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(log.matches("makes room").count(), 1, "{log}");
}
