//! Lines that PCP's agent does not have, and what a user sees of wrong ones.

use std::fs;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use pmda::testing::Harness;

use super::Host;
use crate::OpenMetrics;

fn status(pmcd: &mut Harness<OpenMetrics>, source: &str) -> String {
    let status = pmcd.fetch("openmetrics.control.status").expect("values");
    status.value_of::<String>(source).expect("a status")
}

fn calls(pmcd: &mut Harness<OpenMetrics>, source: &str) -> u64 {
    let calls = pmcd.fetch("openmetrics.control.calls").expect("values");
    calls.value_of::<u64>(source).expect("a number")
}

/// OM-22: between, requests get the values of the last document; a file that has changed counts at
/// once.
#[test]
fn a_source_is_asked_at_its_interval() {
    let host = Host::new();
    host.page_with("a", "x 1\n", "INTERVAL: 100\n");
    host.page_with("often", "x 1\n", "INTERVAL: 0.5\n");
    // Later, a file that has just changed is taken for one that may change once more.
    thread::sleep(Duration::from_millis(100));
    let mut pmcd = host.agent();
    let value = |pmcd: &mut Harness<OpenMetrics>, name: &str| {
        let values = pmcd.fetch(&format!("openmetrics.{name}.x")).expect("values");
        values.value::<f64>()
    };
    host.page("a", "x 2\n");
    host.page("often", "x 2\n");
    for _ in 0..3 {
        assert_eq!(value(&mut pmcd, "a"), Some(1.0));
    }
    assert_eq!(calls(&mut pmcd, "a"), 1);
    thread::sleep(Duration::from_millis(600));
    assert_eq!(
        (value(&mut pmcd, "often"), value(&mut pmcd, "a")),
        (Some(2.0), Some(1.0))
    );
    // A minute later it is nearly time.
    pmcd.advance(Duration::from_secs(98));
    assert_eq!(value(&mut pmcd, "a"), Some(1.0));
    pmcd.advance(Duration::from_secs(1));
    assert_eq!(value(&mut pmcd, "a"), Some(2.0));
    host.page("a", "x 3\n");
    let page = host.at("a");
    fs::write(host.at("config.d/a.url"), format!("file://{}\n", page.display())).expect("written");
    pmcd.advance(Duration::from_secs(1));
    assert_eq!(value(&mut pmcd, "a"), Some(3.0));
}

/// OM-22: a script is killed when its own time is over, before others are, or after.
#[test]
fn a_source_has_its_own_time() {
    let host = Host::new();
    host.script("short.sh", "#OPENMETRICS TIMEOUT: 0.2\nsleep 7.03125\necho x 1");
    host.script("good.sh", "#OPENMETRICS TIMEOUT: 100\necho x 1");
    let begun = Instant::now();
    let mut pmcd = host.agent();
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    let status = status(&mut pmcd, "short");
    assert!(
        status.ends_with("short.sh' has not ended in time and was killed"),
        "{status}"
    );
    let good = pmcd.fetch("openmetrics.good.x").expect("values");
    assert_eq!(good.value::<f64>(), Some(1.0));
}

/// OM-22: filters of a script, which may change while the agent runs.
#[test]
fn a_script_has_filters() {
    let host = Host::new();
    let text = "#OPENMETRICS FILTER: EXCLUDE METRIC b\n#OPENMETRICS FILTER: OPTIONAL LABEL o\n\
                #OPENMETRICS METADATA: a u32 x counter count\n\
                echo 'a{l=\"1\",o=\"2\"} 5'; echo 'b 1'; echo 'c 1'";
    host.script("s.sh", text);
    let mut pmcd = host.agent();
    let values = pmcd.fetch("openmetrics.s.a").expect("values");
    assert_eq!(values.value_of::<u32>("0 l:1"), Some(5), "{values:?}");
    pmcd.fetch("openmetrics.s.c").expect("values");
    pmcd.fetch("openmetrics.s.b").expect_err("not shown");
    host.script("s.sh", "echo 'a{l=\"1\",o=\"2\"} 5'; echo 'b 1'");
    thread::sleep(Duration::from_millis(100));
    pmcd.advance(Duration::from_secs(2));
    drop(pmcd.fetch("openmetrics.s.a"));
    pmcd.fetch("openmetrics.s.b").expect("values");
}

/// A line that cannot be used is in the log once, and in the status as long as it is there.
#[test]
fn a_wrong_line_is_named_once() {
    let host = Host::new();
    host.page_with("a", "x 1\n", "TIMEOUT: soon\n");
    let missing = host.at("none.pem").display().to_string();
    // Who connects is never answered.
    let server = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = server.local_addr().expect("bound").port();
    for (name, line) in [("b", format!("CERT: {missing}")), ("c", "VERIFY: never".to_owned())] {
        let url = format!("https://127.0.0.1:{port}/\n{line}\n");
        fs::write(host.at(&format!("config.d/{name}.url")), url).expect("written");
    }
    thread::sleep(Duration::from_millis(200));
    let mut pmcd = host.agent();
    for _ in 0..3 {
        drop(pmcd.fetch_all(&["openmetrics.a.x", "openmetrics.control.calls"]));
        pmcd.advance(Duration::from_secs(20));
    }
    assert_eq!(
        status(&mut pmcd, "a"),
        "success, but \"TIMEOUT: soon\" has no effect: no number of seconds from 0.001 to 3600"
    );
    let b = status(&mut pmcd, "b");
    let why = format!("CERT: {missing}: No such file or directory");
    assert!(b.contains(&why), "{b}");
    let c = status(&mut pmcd, "c");
    assert!(c.contains("config entry VERIFY: has neither yes nor no"), "{c}");
    let log = pmcd.log();
    for part in ["TIMEOUT: soon", "VERIFY: never", &why] {
        assert_eq!(log.matches(part).count(), 1, "{part}: {log}");
    }
}

/// Scripts of any form are run; of what is wrong in thousands of lines the log has some.
#[test]
fn odd_scripts() {
    let host = Host::new();
    host.script("long.sh", &format!("#OPENMETRICS {}\necho x 1", "y".repeat(10 << 20)));
    host.script(
        "many.sh",
        &format!("{}echo x 1", "#OPENMETRICS TIMEOUT: x\n".repeat(3000)),
    );
    host.script(
        "behind.sh",
        &format!(
            "{}#OPENMETRICS FILTER: EXCLUDE METRIC x\necho x 1",
            "#\n".repeat(40_000)
        ),
    );
    host.script("bytes.sh", "#OPENMETRICS FILTER: EXCLUDE METRIC \u{fe}\u{0}(\necho x 1");
    let mut pmcd = host.agent();
    for name in ["long", "many", "behind", "bytes"] {
        let values = pmcd.fetch(&format!("openmetrics.{name}.x"));
        assert_eq!(values.expect(name).value::<f64>(), Some(1.0), "{name}");
    }
    let log = pmcd.log();
    assert!(log.len() < 20_000 && log.contains("more config entries"), "{log}");
    assert!(status(&mut pmcd, "many").len() < 2000);
}

/// A file that changes while its source is fetched counts from the next fetch on.
#[test]
fn lines_change_while_a_fetch_is_on() {
    let host = Host::new();
    let go = host.at("go");
    let text = |filter: &str| {
        format!(
            "#OPENMETRICS {filter}\nwhile ! test -e {}; do sleep 0.02; done\necho a 1\necho b 1",
            go.display()
        )
    };
    let mut pmcd = host.agent();
    pmcd.agent().timeout = Duration::from_millis(200);
    host.script("s.sh", &text("FILTER: EXCLUDE METRIC a"));
    drop(pmcd.fetch("openmetrics.control.calls"));
    // It runs; with this it will be another one.
    host.script("s.sh", &text("FILTER: EXCLUDE METRIC b"));
    pmcd.advance(Duration::from_secs(2));
    drop(pmcd.fetch("openmetrics.control.calls"));
    fs::write(&go, "").expect("written");
    let deadline = Instant::now() + Duration::from_secs(20);
    while pmcd.fetch("openmetrics.s.a").is_err() {
        assert!(Instant::now() < deadline, "{}", pmcd.log());
        thread::sleep(Duration::from_millis(20));
        pmcd.advance(Duration::from_secs(11));
    }
    // What was shown stays: a filter that comes later removes nothing.
    pmcd.fetch("openmetrics.s.b").expect("it was shown before");
    // Without its line the source is as any other.
    host.script("s.sh", "echo a 2");
    pmcd.advance(Duration::from_secs(2));
    let deadline = Instant::now() + Duration::from_secs(20);
    while !pmcd
        .fetch("openmetrics.s.a")
        .is_ok_and(|values| values.value::<f64>() == Some(2.0))
    {
        assert!(Instant::now() < deadline, "{}", pmcd.log());
        thread::sleep(Duration::from_millis(20));
    }
}
