//! Sources that need longer than a request waits.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pmda::testing::Harness;

use super::Host;
use crate::fetch::tests::{Server, respond};
use crate::{OpenMetrics, limits};

/// A document that is late is used by a later request, and delays no other source (OM-90).
#[test]
fn a_slow_source_has_values() {
    const LIMIT: Duration = Duration::from_secs(1);
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
        let (same, waited) = ask(&mut pmcd);
        assert!(same == next && waited < LIMIT, "{same:?} {waited:?}");
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

/// Requests wait for a slow source whose document is old. If the source is late again, it keeps its
/// values: old ones are better than none (OM-90).
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

/// The program of a source whose file has gone is ended at once: nobody waits for its document.
#[test]
fn a_program_whose_source_has_gone() {
    let host = Host::new();
    host.pcp("7.2.2");
    let pid = host.at("pid");
    let script = host.script(
        "a.sh",
        &format!("echo $$ > {0}.new; mv {0}.new {0}; sleep 60", pid.display()),
    );
    let mut pmcd = host.agent();
    let pid = fs::read_to_string(pid).expect("it runs");
    fs::remove_file(script).expect("ours");
    pmcd.fetch("openmetrics.control.calls").expect("values");
    let stat = format!("/proc/{}/stat", pid.trim());
    let deadline = Instant::now() + Duration::from_secs(20);
    // As a zombie it may be there for a moment.
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < deadline, "it goes on");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A server whose replies take as many milliseconds as the number says; a source with its address;
/// and an agent that waits half a second.
fn delayed(host: &Host) -> (Arc<AtomicU64>, Harness<OpenMetrics>) {
    let delay = Arc::new(AtomicU64::new(0));
    let now = Arc::clone(&delay);
    let server = Server::new(move |_, out| {
        thread::sleep(Duration::from_millis(now.load(Ordering::SeqCst)));
        respond(out, "200 OK", b"x 1\n")
    });
    fs::write(host.at("config.d/a.url"), server.url() + "\n").expect("written");
    let mut pmcd = host.agent();
    pmcd.agent().timeout = Duration::from_millis(500);
    (delay, pmcd)
}

/// The delay of a server that never answers while a test runs, in milliseconds.
const MUTE: u64 = 60_000;

fn has_value(pmcd: &mut Harness<OpenMetrics>) -> bool {
    let values = pmcd.fetch("openmetrics.a.x");
    values.is_ok_and(|values| values.value::<f64>().is_some())
}

/// While a server does not answer, only its own samples are missing. The source is asked again at
/// each request. The first one after it has become late waits for it as long as before, the others less
/// and less; each counts as a failure, and the status says since when there is no answer (OM-90).
#[test]
fn a_late_source_is_waited_for_less_and_less() {
    let host = Host::new();
    let (delay, mut pmcd) = delayed(&host);
    // The third request waits for half of it, in which an answer has to come on a busy machine, too.
    let limit = Duration::from_secs(1);
    pmcd.agent().timeout = limit;
    assert!(has_value(&mut pmcd));
    for _ in 0..2 {
        delay.store(MUTE, Ordering::SeqCst);
        let mut in_vain = || {
            let begun = Instant::now();
            assert!(!has_value(&mut pmcd));
            let waited = begun.elapsed();
            thread::sleep(Duration::from_millis(200));
            waited
        };
        let waited = [in_vain(), in_vain(), in_vain()];
        assert!(
            waited[0] >= limit && waited[1] >= limit && waited[2] < limit,
            "{waited:?}"
        );
        let status = pmcd.fetch("openmetrics.control.status").expect("values");
        let status = status.value_of::<String>("a").expect("a status");
        assert!(
            status.contains(": no answer since ") && status.ends_with(" GMT"),
            "{status}"
        );
        delay.store(0, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(200));
        // The very next request has values.
        assert!(has_value(&mut pmcd) && has_value(&mut pmcd));
    }
    let calls = pmcd.fetch("openmetrics.control.calls").expect("values");
    // Two for names and values at first; then each time one, one on another connection, two for the
    // next requests, one when it is back, and the last.
    assert_eq!(calls.value_of::<u64>("a"), Some(2 + 2 * 6));
    let failures = pmcd.fetch("openmetrics.control.failures").expect("values");
    assert_eq!(failures.value_of::<u64>("a"), Some(2 * 3));
}

/// A source that has been late for one request, and is slower than usual then, as it has just been
/// started, has values in the next one (OM-90).
#[test]
fn a_late_source_that_is_cold() {
    let host = Host::new();
    let (delay, mut pmcd) = delayed(&host);
    pmcd.agent().timeout = Duration::from_secs(2);
    assert!(has_value(&mut pmcd));
    delay.store(MUTE, Ordering::SeqCst);
    assert!(!has_value(&mut pmcd));
    delay.store(400, Ordering::SeqCst);
    for _ in 0..3 {
        assert!(has_value(&mut pmcd));
    }
}

/// A failure ends lateness, and the next request waits as before. To have no answer in the time of the
/// source is no such failure (OM-90).
#[test]
fn what_ends_lateness() {
    let host = Host::new();
    let mode = Arc::new(AtomicU64::new(0));
    let now = Arc::clone(&mode);
    let server = Server::new(move |_, out| match now.load(Ordering::SeqCst) {
        0 => respond(out, "200 OK", b"x 1\n"),
        1 => respond(out, "500 Internal Server Error", b""),
        mute => {
            thread::sleep(Duration::from_millis(mute));
            false
        }
    });
    fs::write(host.at("config.d/a.url"), server.url() + "\nTIMEOUT: 0.6\n").expect("written");
    let mut pmcd = host.agent();
    pmcd.agent().timeout = Duration::from_millis(300);
    assert!(has_value(&mut pmcd));
    mode.store(MUTE, Ordering::SeqCst);
    assert!(!has_value(&mut pmcd));
    let mut until = |words: &str, is_late: bool, is_asked: bool| {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let values = pmcd.fetch("openmetrics.control.status").expect("values");
            let status = values.value_of::<String>("a").expect("a status");
            if status.contains(words) {
                let standing = pmcd.agent().source(1).expect("the first").standing;
                assert_eq!(standing.lateness().is_some(), is_late, "{status}");
                let failures = pmcd.fetch("openmetrics.control.failures").expect("values");
                return failures.value_of::<u64>("a").expect("a number");
            }
            assert!(Instant::now() < deadline, "{status}");
            thread::sleep(Duration::from_millis(100));
            if is_asked {
                drop(pmcd.fetch("openmetrics.a.x"));
            }
        }
    };
    assert_eq!(until("no answer since ", true, false), 1);
    // The same fetch, which is counted once.
    assert_eq!(until("no answer within 0.6 s for url: http://", true, false), 1);
    mode.store(1, Ordering::SeqCst);
    until("500 Server Error", false, true);
}

/// A late document is for the next request for values; a request for names does not use it up
/// (OM-90).
#[test]
fn a_request_for_names_uses_up_no_document() {
    let host = Host::new();
    let (delay, mut pmcd) = delayed(&host);
    pmcd.agent().timeout = Duration::from_secs(2);
    delay.store(MUTE, Ordering::SeqCst);
    for _ in 0..2 {
        assert!(!has_value(&mut pmcd));
        thread::sleep(Duration::from_millis(200));
    }
    // Half of the time is waited for the third request.
    delay.store(1400, Ordering::SeqCst);
    assert!(!has_value(&mut pmcd), "it comes later than it is waited for");
    delay.store(MUTE, Ordering::SeqCst);
    thread::sleep(Duration::from_secs(1));
    for _ in 0..2 {
        pmcd.advance(Duration::from_secs(11));
        pmcd.names().expect("names");
        thread::sleep(Duration::from_millis(200));
    }
    assert!(has_value(&mut pmcd), "the document that came late");
    thread::sleep(Duration::from_millis(200));
    assert!(!has_value(&mut pmcd), "it was shown");
}
