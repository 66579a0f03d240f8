//! Lines that PCP's agent does not have, and what a user sees of wrong ones.

use std::fs;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use pmda::Semantics;
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

/// Within the interval, requests get the values of the last document; if the source's file has
/// changed, the source is fetched at once (OM-22).
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

/// A script is killed when its own TIMEOUT is over, be it shorter or longer than that of the agent
/// (OM-22).
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

/// A script has filters, which may change while the agent runs (OM-22).
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
    // The server never answers a connection.
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
        format!(
            "success, but line 2 \"TIMEOUT: soon\" has no effect: no number of seconds from 0.001 to 3600 ({})",
            host.at("config.d/a.url").display()
        )
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
    // The script is running; this makes it another one.
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
    pmcd.fetch("openmetrics.s.b").expect_err("the filter takes effect");
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

/// Changed filters take effect with the next document, and no number changes. What a metric is stands until
/// the agent ends; the status names the metric that would be another one (OM-18, OM-20, OM-22, OM-57).
#[test]
fn lines_take_effect_at_once() {
    for version in ["6.3.8", "7.2.2"] {
        let host = Host::new();
        host.pcp(version);
        let document = "# HELP m_total Of m.\n# TYPE m_total gauge\nm_total{l=\"1\",k=\"2\"} 7\ngo_x 1\nn 1\n";
        host.page("a", document);
        let settle = || thread::sleep(Duration::from_millis(100));
        settle();
        let mut pmcd = host.agent();
        let url = host.at("config.d/a.url");
        let address = fs::read_to_string(&url).expect("ours");
        let (name, help) = ("openmetrics.a.m_total", ("Of m.".to_owned(), "Of m.".to_owned()));
        let first = pmcd.desc(name).expect("known");
        assert_eq!(first.semantics, Some(Semantics::Counter));
        let write = |pmcd: &mut Harness<OpenMetrics>, lines: &str| {
            fs::write(&url, format!("{address}{lines}")).expect("written");
            settle();
            assert_eq!(
                pmcd.fetch("openmetrics.a.n").expect("a value").value::<f64>(),
                Some(1.0)
            );
            let desc = pmcd.desc(name).expect("known");
            assert_eq!((desc.id, desc.indom), (first.id, first.indom), "{lines}");
            assert_eq!(pmcd.text(name), Ok(help.clone()), "{lines}");
            assert_eq!(desc, first, "{lines}");
            (status(pmcd, "a"), pmcd.instances(name).expect("instances"))
        };
        let other = "success, but 1 metric would have another type, semantics, unit or instances if new: \
                     restart pmcd to take it over (openmetrics.a.m_total)";
        let (good, other) = ("success".to_owned(), other.to_owned());
        let all = vec![(0, "0 k:2 l:1".to_owned())];
        assert_eq!(write(&mut pmcd, "TYPES: document\n"), (other.clone(), all));
        let some = vec![(0, "0 k:2 l:1".to_owned()), (1, "1 l:1".to_owned())];
        let lines = "METADATA: m_total u32 x discrete none\nFILTER: EXCLUDE METRIC go_\nFILTER: EXCLUDE LABEL k\n";
        assert_eq!(write(&mut pmcd, lines), (other, some.clone()));
        pmcd.fetch("openmetrics.a.go_x").expect_err("it is excluded");
        let values = pmcd.fetch(name).expect("a value");
        assert_eq!(values.value_of::<f64>("1 l:1"), Some(7.0));
        assert_eq!(write(&mut pmcd, ""), (good.clone(), some.clone()));
        pmcd.fetch("openmetrics.a.go_x").expect("it is shown again");
        let numbers = pmcd.numbers();
        assert!(numbers.contains("openmetrics.a.go_x 144.1.1\n"), "{numbers}");
        // Touched, a file costs nobody anything.
        assert_eq!(write(&mut pmcd, ""), (good, some));
        // A new address, and then a script in the place of the file: the descriptions of the names stay.
        fs::write(
            host.at("other"),
            "# TYPE n counter\nn 1\n# PCP5 m_total 1.1.1 string x discrete byte\nm_total{l=\"1\"} 7\n",
        )
        .expect("written");
        let address = format!("file://{}\n", host.at("other").display());
        fs::write(&url, address).expect("written");
        settle();
        let values = pmcd.fetch(name).expect("a value");
        assert_eq!(
            (values.value_of::<f64>("1 l:1"), pmcd.desc(name)),
            (Some(7.0), Ok(first))
        );
        let two = "success, but 2 metrics would have another type, semantics, unit or instances if new: \
                   restart pmcd to take it over (openmetrics.a.n)";
        assert_eq!(status(&mut pmcd, "a"), two);
        fs::remove_file(&url).expect("ours");
        host.script("a.sh", "echo 'm_total what'; echo n 1");
        pmcd.advance(Duration::from_secs(2));
        pmcd.fetch(name).expect_err("a sample that does not fit is not shown");
        assert_eq!(
            pmcd.fetch("openmetrics.a.n").expect("a value").value::<f64>(),
            Some(1.0)
        );
        let status = status(&mut pmcd, "a");
        assert!(
            status.contains("1 sample without a label of metrics with instances is not shown"),
            "{status}"
        );
        if version < "7" {
            assert_eq!(pmcd.desc(name), Ok(first));
        }
        let pmcd = &mut pmcd.restart().expect("it starts");
        pmcd.fetch("openmetrics.a.n").expect("a value");
        let desc = pmcd.desc(name).expect("a description");
        assert!(
            desc.id == first.id && desc.indom != first.indom,
            "it is declared anew: {desc:?}"
        );
    }
}

/// Each wrong line is in the status, with its number and its file, and the log names the source:
/// several sources may have one address (OM-15, OM-19, OM-22).
#[test]
fn wrong_lines_are_told_with_their_file() {
    let host = Host::new();
    host.page("a", "x 1\n");
    for name in ["one", "two"] {
        let url = host.at(&format!("config.d/{name}.url"));
        let lines = "\nSECRET\nFILTER: EXCLUDE METRIC (\nMETADATA:\n";
        fs::write(url, format!("file://{}\n{lines}", host.at("a").display())).expect("written");
    }
    let mut pmcd = host.agent();
    for name in ["one", "two"] {
        let status = status(&mut pmcd, name);
        let path = host.at(&format!("config.d/{name}.url")).display().to_string();
        for part in [
            "line 3 \"...\" has no effect: unrecognised config entry",
            "line 4 \"FILTER: EXCLUDE METRIC (\" has no effect: not a regular expression",
            "line 5 \"METADATA:\" has no effect: no regular expression",
        ] {
            assert!(status.contains(part), "{status}");
        }
        assert!(
            status.starts_with("success, but ") && status.ends_with(&format!("({path})")),
            "{status}"
        );
        let log = pmcd.log();
        let source = format!("(source {name})");
        assert_eq!(
            log.lines()
                .filter(|line| line.contains(" ignored ") && line.ends_with(&source))
                .count(),
            3,
            "{log}"
        );
    }
}
