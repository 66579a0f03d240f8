//! Series that have gone for long.

use std::thread;
use std::time::{Duration, Instant};

use super::Host;

const NAME: &str = "openmetrics.a.m";

fn host(forget: &str) -> Host {
    let host = Host::new();
    host.page_with("a", "m{x=\"first\"} 1\nm{x=\"stays\"} 2\n", forget);
    host
}

/// OM-22: without a line about it nothing is forgotten; with one it is, and its number is nobody
/// else's, also after the next start. What is there stays, whatever its number.
#[test]
fn series_that_have_gone_are_forgotten() {
    let known = |host: &Host| {
        let mut pmcd = host.agent();
        let deadline = Instant::now() + Duration::from_secs(4);
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
    let (_, all) = known(&host(""));
    assert!(all.iter().any(|(_, name)| name == "0 x:first"), "{all:?}");
    let host = host("FORGET: 1\n");
    let (round, some) = known(&host);
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
