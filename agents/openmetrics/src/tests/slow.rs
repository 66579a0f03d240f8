//! Sources that need longer than a request waits.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use pmda::testing::Harness;

use super::Host;
use crate::{OpenMetrics, limits};

/// OM-90: what is not there in time is for a later request, and delays nobody.
#[test]
fn a_slow_source_has_values() {
    const LIMIT: Duration = Duration::from_secs(2);
    let host = Host::new();
    let go = host.at("go");
    let script = format!(
        "while ! test -e {0}; do sleep 0.02; done\nrm {0}\necho x $(date +%s%N)",
        go.display()
    );
    host.script("slow.sh", &script);
    host.page("good", "y 1\n");
    let let_go = || fs::write(&go, "").expect("written");
    let_go();
    let mut pmcd = host.agent();
    pmcd.agent().timeout = LIMIT;
    let ask = |pmcd: &mut Harness<OpenMetrics>| {
        let begun = Instant::now();
        let values = pmcd
            .fetch_all(&["openmetrics.slow.x", "openmetrics.good.y"])
            .expect("a reply");
        let value = |at: usize| values[at].as_ref().ok().and_then(|value| value.value::<f64>());
        assert_eq!(value(1), Some(1.0));
        (value(0), begun.elapsed())
    };
    let (none, waited) = ask(&mut pmcd);
    assert!(none.is_none() && waited >= LIMIT, "{none:?} {waited:?}");
    // From now on it is not waited for, and has the values of the last document.
    let mut last = None;
    for _ in 0..3 {
        let_go();
        let deadline = Instant::now() + Duration::from_secs(20);
        let next = loop {
            let (value, waited) = ask(&mut pmcd);
            assert!(waited < LIMIT, "{waited:?}");
            if value > last {
                break value;
            }
            assert_eq!(value, last, "it keeps its values");
            assert!(Instant::now() < deadline, "no other value than {last:?}");
            thread::sleep(Duration::from_millis(50));
        };
        // The next one takes too long again.
        thread::sleep(LIMIT);
        last = next;
    }
    let age = pmcd.fetch("openmetrics.control.document_age").expect("values");
    let [slow, good] = ["slow", "good"].map(|source| age.value_of::<u64>(source));
    assert!(
        slow > good && slow >= Some(LIMIT.as_millis() as u64),
        "{slow:?} {good:?}"
    );
    // Once it is quick it is waited for.
    let_go();
    thread::sleep(Duration::from_millis(500));
    let_go();
    let deadline = Instant::now() + Duration::from_secs(20);
    while ask(&mut pmcd).1 < LIMIT {
        assert!(Instant::now() < deadline, "it is never waited for");
        let_go();
        thread::sleep(Duration::from_millis(200));
        let _ = fs::remove_file(&go);
    }
}

/// OM-90: a slow source whose document is old is waited for. If it is late again it keeps its
/// values: they are better than none.
#[test]
fn old_values_of_a_slow_source_are_kept() {
    const LIMIT: Duration = Duration::from_millis(200);
    let host = Host::new();
    // Before PCP 7 no source is fetched for its names alone.
    host.pcp("6.3.8");
    let go = host.at("go");
    host.script(
        "slow.sh",
        &format!(
            "while ! test -e {0}; do sleep 0.02; done\nrm {0}\necho x 1",
            go.display()
        ),
    );
    let let_go = || fs::write(&go, "").expect("written");
    let_go();
    let mut pmcd = host.agent();
    pmcd.agent().timeout = LIMIT;
    let value = |pmcd: &mut Harness<OpenMetrics>| pmcd.fetch("openmetrics.slow.x").map(|values| values.value::<f64>());
    value(&mut pmcd).expect_err("it is late");
    let_go();
    let deadline = Instant::now() + Duration::from_secs(20);
    let status = |pmcd: &mut Harness<OpenMetrics>| {
        let values = pmcd.fetch("openmetrics.control.status").expect("values");
        values.value_of::<String>("slow")
    };
    while status(&mut pmcd).as_deref() != Some("success") {
        assert!(Instant::now() < deadline, "it does not come");
        thread::sleep(Duration::from_millis(20));
    }
    pmcd.advance(limits::FRESH + Duration::from_secs(1));
    let begun = Instant::now();
    assert_eq!(value(&mut pmcd), Ok(Some(1.0)));
    assert!(begun.elapsed() >= LIMIT);
}
