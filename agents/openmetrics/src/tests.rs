//! The agent, asked as pmcd asks it, without PCP.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pmda::testing::Harness;
use pmda::{Error, Semantics};

use crate::OpenMetrics;
use crate::control::METRICS;

mod failing;
mod forget;
mod hostile;
mod labels;
mod lines;
mod many;
mod names;
mod options;
mod saving;
mod shown;
mod slow;

/// A folder with sources, and the agent.
struct Host {
    directory: tempfile::TempDir,
}

impl Host {
    fn new() -> Host {
        let directory = tempfile::tempdir().expect("a directory");
        fs::create_dir(directory.path().join("config.d")).expect("made");
        Host { directory }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A source with a document.
    fn page(&self, name: &str, text: impl AsRef<[u8]>) {
        self.page_with(name, text, "");
    }

    /// A source with a document and more lines in the file of its address.
    fn page_with(&self, name: &str, text: impl AsRef<[u8]>, more: &str) {
        let page = self.at(name);
        fs::write(&page, text).expect("written");
        let url = self.at(&format!("config.d/{name}.url"));
        if !url.exists() {
            fs::write(&url, format!("file://{}\n{more}", page.display())).expect("written");
        }
    }

    /// A program, which another one writes: this process must not have it open when it is run.
    fn script(&self, name: &str, text: &str) -> PathBuf {
        let (from, path) = (self.at("text"), self.at("config.d").join(name));
        fs::write(&from, format!("#! /bin/sh\n{text}\n")).expect("written");
        fs::set_permissions(&from, fs::Permissions::from_mode(0o755)).expect("its own");
        let copied = Command::new("cp").arg(&from).arg(&path).status();
        assert!(copied.is_ok_and(|status| status.success()));
        path
    }

    /// The version of the host's PCP.
    fn pcp(&self, version: &str) {
        fs::write(self.at("pcp.conf"), format!("PCP_VERSION={version}\n")).expect("written");
    }

    fn agent(&self) -> Harness<OpenMetrics> {
        Harness::builder()
            .folder(self.directory.path())
            .start()
            .expect("it starts")
    }

    fn table(&self, serial: u32) -> String {
        let path = self.at(&format!("config/pmda/144.{serial}.py"));
        String::from_utf8(fs::read(path).expect("a table")).expect("text")
    }
}

fn error<T: std::fmt::Debug>(result: Result<T, Error>) -> Error {
    result.expect_err("no values")
}

#[test]
fn a_document_becomes_metrics() {
    let host = Host::new();
    host.page(
        "web",
        "# HELP requests_total Requests.\\nBy code.\n# TYPE requests_total counter\n\
         requests_total{code=\"200\"} 7 1395066363000\nrequests_total{code=\"500\",path=\"a \\\"b\\\"\"} 2\n\
         # HELP up Whether it is up.\nup 1\n",
    );
    host.script("deep.sh", "echo load 0.5");
    let mut pmcd = host.agent();
    let requests = "openmetrics.web.requests_total";
    let values = pmcd.fetch(requests).expect("values");
    assert_eq!(values.value_of::<f64>("0 code:200"), Some(7.0));
    assert_eq!(values.value_of::<f64>("1 code:500 path:a \"b\""), Some(2.0));
    let desc = pmcd.desc(requests).expect("known");
    assert_eq!(
        (desc.semantics, desc.indom.serial()),
        (Some(Semantics::Counter), 4096 + 1024 * 2)
    );
    assert_eq!(pmcd.text(requests), Ok(("Requests.".to_owned(), "By code.".to_owned())));
    let up = "openmetrics.web.up";
    assert_eq!(
        pmcd.text(up),
        Ok(("Whether it is up.".to_owned(), "Whether it is up.".to_owned()))
    );
    assert_eq!(pmcd.fetch(up).expect("a value").value::<f64>(), Some(1.0));
    assert_eq!(
        pmcd.fetch("openmetrics.deep.load").expect("a value").value::<f64>(),
        Some(0.5)
    );
    let labels = pmcd.instance_labels(requests).expect("labels");
    assert_eq!(labels[0].1, "{\"code\":\"200\"}");
    // A quote in a label value is escaped (OM-68).
    assert_eq!(labels[1].1, "{\"code\":\"500\",\"path\":\"a \\\"b\\\"\"}");
}

/// Names and labels are those that the agent of the host's PCP shows (OM-61, OM-67).
#[test]
fn names_and_labels_are_those_of_the_hosts_pcp() {
    let label = r#""path":"C:\\DIR\\\"x\"""#;
    let named = r#""instname":"0 path:C:\\DIR\\\"x\"","#;
    for (version, name, labels) in [
        ("6.0.3", r#"0 path:C:\DIR\"x""#, format!("{{{named}{label}}}")),
        ("6.1.0", r#"0 path:C:\\DIR\\"x""#, format!("{{{label}}}")),
        ("7.2.2", r#"0 path:C:\\DIR\\"x""#, format!("{{{label}}}")),
    ] {
        let host = Host::new();
        host.pcp(version);
        host.page("a", format!("m{{{}}} 1\n", r#"path="C:\\DIR\\\"x\"""#));
        let mut pmcd = host.agent();
        let shown = pmcd.instances("openmetrics.a.m").expect("instances");
        assert_eq!(shown, [(0, name.to_owned())], "{version}");
        let found = pmcd.instance_labels("openmetrics.a.m").expect("labels");
        assert_eq!(found, [(name.to_owned(), labels)], "{version}");
    }
}

#[test]
fn what_comes_has_its_names_in_the_same_reply() {
    let host = Host::new();
    host.page("a", "x 1\n");
    let mut pmcd = host.agent();
    pmcd.fetch("openmetrics.a.x").expect("a value");
    assert!(!pmcd.fetch("openmetrics.a.x").expect("a value").names_changed());
    host.page("a", "x 1\ny 2\n");
    assert!(pmcd.fetch("openmetrics.a.x").expect("a value").names_changed());
    assert_eq!(
        pmcd.fetch("openmetrics.a.y").expect("a value").value::<f64>(),
        Some(2.0)
    );
    host.page("b", "z 3\n");
    assert_eq!(
        pmcd.fetch("openmetrics.b.z").expect("a value").value::<f64>(),
        Some(3.0)
    );
}

/// Before PCP 7, a metric that is no longer in the document has no value and keeps its name (OM-13,
/// OM-63).
#[test]
fn what_goes_stays_without_values() {
    let host = Host::new();
    host.pcp("6.3.8");
    host.page("a", "x 1\ny 2\n");
    let mut pmcd = host.agent();
    host.page("a", "y 2\n");
    assert_eq!(error(pmcd.fetch("openmetrics.a.x")), Error::AGAIN);
    fs::remove_file(host.at("config.d/a.url")).expect("its own");
    assert_eq!(error(pmcd.fetch("openmetrics.a.y")), Error::AGAIN);
    assert!(pmcd.names().expect("names").contains(&"openmetrics.a.x".to_owned()));
}

/// Since PCP 7, a metric that is no longer in the document is forgotten, and comes back with its
/// numbers (OM-13, OM-14, OM-63).
#[test]
fn what_goes_is_forgotten_until_it_comes_back() {
    let host = Host::new();
    host.pcp("7.2.2");
    let page = "# HELP x A gauge.\nx{i=\"1\"} 1\ny 2\n";
    host.page("a", page);
    host.page("b", "z 1\n");
    let mut pmcd = host.agent();
    let of_source = |pmcd: &mut Harness<OpenMetrics>| -> Vec<String> {
        let names = pmcd.names().expect("names");
        names
            .into_iter()
            .filter(|name| name.starts_with("openmetrics.a."))
            .collect()
    };
    let all = ["openmetrics.a.x", "openmetrics.a.y"].map(str::to_owned);
    let desc = pmcd.desc("openmetrics.a.x").expect("known");
    assert_eq!(of_source(&mut pmcd), all);

    host.page("a", "y 3\n");
    // The source is asked for its names again when they are old enough, and for its values at once.
    assert_eq!(of_source(&mut pmcd), all);
    pmcd.advance(Duration::from_secs(11));
    assert_eq!(of_source(&mut pmcd), all[1..]);
    host.page("a", page);
    assert!(pmcd.fetch("openmetrics.a.y").expect("a value").names_changed());
    assert_eq!(of_source(&mut pmcd), all);
    assert_eq!(pmcd.desc("openmetrics.a.x"), Ok(desc));
    let text = ("A gauge.".to_owned(), "A gauge.".to_owned());
    assert_eq!(pmcd.text("openmetrics.a.x"), Ok(text));
    assert_eq!(pmcd.instances("openmetrics.a.x"), Ok(vec![(0, "0 i:1".to_owned())]));

    // A document that cannot be fetched takes nothing with it; a file does, at once.
    fs::rename(host.at("a"), host.at("away")).expect("its own");
    assert_eq!(error(pmcd.fetch("openmetrics.a.y")), Error::AGAIN);
    assert_eq!(of_source(&mut pmcd), all);
    fs::rename(host.at("away"), host.at("a")).expect("its own");
    let url = host.at("config.d/a.url");
    fs::rename(&url, host.at("a.url")).expect("its own");
    assert!(of_source(&mut pmcd).is_empty());
    let calls = pmcd.fetch("openmetrics.control.calls").expect("values");
    // The calls of the agent itself, and of b.
    assert_eq!(calls.instances(), [0, 2]);
    fs::rename(host.at("a.url"), &url).expect("its own");
    assert_eq!(of_source(&mut pmcd), all);
    assert_eq!(
        pmcd.fetch("openmetrics.a.y").expect("a value").value::<f64>(),
        Some(2.0)
    );
}

#[test]
fn numbers_survive() {
    let host = Host::new();
    host.page("b", "m{x=\"1\"} 1\n");
    let mut pmcd = host.agent();
    pmcd.fetch("openmetrics.b.m").expect("a value");
    host.page("a", "m{x=\"2\"} 1\n");
    host.page("b", "n 1\nm{x=\"3\"} 1\nm{x=\"1\"} 2\n");
    pmcd.fetch_all(&["openmetrics.a.m", "openmetrics.b.m"]).expect("values");
    let numbers = pmcd.numbers();
    let mut pmcd = pmcd.restart().expect("it starts");
    pmcd.names().expect("names");
    let sorted = |numbers: &str| numbers.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(sorted(&pmcd.numbers()), sorted(&numbers));
    assert!(
        numbers.contains("openmetrics.b.m 144.1.0\n") && numbers.contains("openmetrics.a.m 144.2.0\n"),
        "{numbers}"
    );
    let expected = [(0, "0 x:1".to_owned()), (1, "1 x:3".to_owned())];
    assert_eq!(pmcd.instances("openmetrics.b.m"), Ok(expected.to_vec()));
    assert_eq!(host.table(0), "(lp0\nVcontrol\np1\naVb\np2\naVa\np3\na.I00\n.");
    assert_eq!(host.table(1), "(lp0\nVm\np1\naVn\np2\na.I00\n.");
    assert_eq!(host.table(4096 + 1024), "(lp0\nVx:1\np1\naVx:3\np2\na.I01\n.");
}

/// Instances named by one label, and instances named by all their labels (OM-61, OM-62).
#[test]
fn names_of_instances_change_when_they_need_numbers() {
    let host = Host::new();
    let line = "# PCP5 m 1.1.1 u32 hosts instant none\n";
    host.page("a", format!("{line}m{{instname=\"one two\"}} 4294967297\n"));
    let mut pmcd = host.agent();
    let values = pmcd.fetch("openmetrics.a.m").expect("a value");
    assert_eq!(values.value_of::<u32>("one two"), Some(1));
    host.page("a", format!("{line}m{{instname=\"one two\"}} 5\nm{{x=\"y\"}} 6\n"));
    let values = pmcd.fetch("openmetrics.a.m").expect("values");
    assert_eq!(
        (values.value_of::<u32>("0 one two"), values.value_of::<u32>("1 x:y")),
        (Some(5), Some(6))
    );
}

#[test]
fn filters_and_optional_labels() {
    let host = Host::new();
    let filters = "FILTER: EXCLUDE METRIC go_\nFILTER: OPTIONAL LABEL note\nFILTER: EXCLUDE LABEL secret\n";
    let text = "go_x 1\nm{a=\"1\",note=\"n\",secret=\"s\"} 1\n";
    host.page_with("a", text, filters);
    let mut pmcd = host.agent();
    assert_eq!(error(pmcd.fetch("openmetrics.a.go_x")), Error::NAME);
    assert_eq!(pmcd.instances("openmetrics.a.m"), Ok(vec![(0, "0 a:1".to_owned())]));
    let labels = pmcd.labels("openmetrics.a.m").expect("labels");
    assert!(
        labels.contains("\"note\":\"n\"") && !labels.contains("secret"),
        "{labels}"
    );
}

/// Whatever a source sends costs that source its values, and nothing else.
#[test]
fn hostile_documents() {
    let host = Host::new();
    host.page("good", "x 1\n");
    host.page("bytes", b"a{l=\"\xff\xfe\"} 1\n\xf0\x28\x8c 2\nb 3\n");
    host.page("endless", "y{a=\"".to_owned() + &"x".repeat(4 << 20));
    host.page("overlap", "foo 1\nfoo:bar 2\nfoo 3\n");
    host.page("changing", "m{a=\"1\"} 1\n");
    host.page("singular", "m 1\n");
    host.page("nothing", "");
    host.page("zeros", vec![0; 100_000]);
    let mut pmcd = host.agent();
    let good = |pmcd: &mut Harness<OpenMetrics>| {
        let good = pmcd.fetch("openmetrics.good.x").expect("a value");
        assert_eq!(good.value::<f64>(), Some(1.0));
    };
    good(&mut pmcd);
    assert_eq!(
        pmcd.instances("openmetrics.bytes.a").expect("named")[0].1,
        "0 l:\u{fffd}\u{fffd}"
    );
    assert_eq!(
        pmcd.fetch("openmetrics.overlap.foo")
            .expect("the first stays")
            .value::<f64>(),
        Some(3.0)
    );
    assert_eq!(error(pmcd.fetch("openmetrics.overlap.foo.bar")), Error::NAME);
    // Other labels, none, another type: the metric stays what it was (OM-57), and all but the fault
    // has its values (OM-39).
    host.page("changing", "# TYPE m counter\nm{b=\"2\"} 2\nm 3\nm{a=\"1\"} 4\n");
    let values = pmcd.fetch("openmetrics.changing.m").expect("values");
    assert_eq!((values.len(), values.value_of::<f64>("1 b:2")), (2, Some(2.0)));
    assert_eq!(
        pmcd.desc("openmetrics.changing.m").expect("known").semantics,
        Some(Semantics::Instant)
    );
    host.page("singular", "m{a=\"1\"} 2\nm{a=\"2\"} 3\n");
    assert_eq!(
        pmcd.fetch("openmetrics.singular.m").expect("the last").value::<f64>(),
        Some(3.0)
    );
    host.page("singular", "m what\n");
    assert_eq!(error(pmcd.fetch("openmetrics.singular.m")), Error::AGAIN);
    good(&mut pmcd);
}

/// A source that has a number from an earlier start has its labels at the very first request
/// (OM-64).
#[test]
fn labels_of_a_source_are_there_at_once() {
    let host = Host::new();
    host.page("a", "m 1\n");
    let reply = shown::cluster_labels(&mut host.agent(), 1);
    assert!(reply.contains("\"source\":\"a\""), "{reply:?}");
}

#[test]
fn a_source_has_so_many_metrics() {
    let host = Host::new();
    let many: String = (0..1100).map(|number| format!("m{number} {number}\n")).collect();
    host.page("many", many);
    let mut pmcd = host.agent();
    assert_eq!(
        pmcd.fetch("openmetrics.many.m1023")
            .expect("the last one")
            .value::<f64>(),
        Some(1023.0)
    );
    assert_eq!(error(pmcd.fetch("openmetrics.many.m1024")), Error::NAME);
}

/// A source without metrics is fetched again at the next request (OM-14).
#[test]
fn a_source_that_comes_late() {
    let host = Host::new();
    host.page("late", "");
    fs::remove_file(host.at("late")).expect("its own");
    let mut pmcd = host.agent();
    let status = |pmcd: &mut Harness<OpenMetrics>| {
        let status = pmcd.fetch("openmetrics.control.status").expect("values");
        status.value_of::<String>("late").expect("a value")
    };
    let failed = status(&mut pmcd);
    assert!(
        failed.starts_with("failed to fetch URL or execute script ") && failed.contains("[Errno 2]"),
        "{failed}"
    );
    host.page("late", "x 1\n");
    assert_eq!(error(pmcd.fetch("openmetrics.late.x")), Error::NAME);
    pmcd.advance(Duration::from_secs(11));
    assert_eq!(
        pmcd.fetch("openmetrics.late.x").expect("a value").value::<f64>(),
        Some(1.0)
    );
    assert_eq!(status(&mut pmcd), "success");
    // A source that cannot be fetched is no fault of this host, so the log has no line.
    assert!(!pmcd.log().contains("failed to fetch"), "{}", pmcd.log());
    let calls = pmcd.fetch("openmetrics.control.calls").expect("values");
    assert_eq!(
        (calls.value_of::<u64>("late"), calls.value_of::<u64>("control")),
        (Some(3), Some(3))
    );
}

#[test]
fn debug_is_stored_by_anybody_and_nothing_else_by_nobody() {
    let host = Host::new();
    host.page("a", "x 1\n");
    let mut pmcd = host.agent();
    pmcd.as_client(7).set_uid(1000);
    pmcd.store("openmetrics.control.debug", 5_u32).expect("allowed");
    assert_eq!(
        pmcd.fetch("openmetrics.control.debug").expect("a value").value::<u32>(),
        Some(1)
    );
    pmcd.store("openmetrics.control.debug", 0_u32).expect("allowed");
    pmcd.set_uid(0);
    assert_eq!(error(pmcd.store("openmetrics.control.calls", 0_u64)), Error::PERMISSION);
    assert_eq!(error(pmcd.store("openmetrics.a.x", 0.0)), Error::PERMISSION);
}

#[test]
fn another_root() {
    let pmcd = Harness::<OpenMetrics>::builder().option("root", "mine").start();
    let mut pmcd = pmcd.expect("it starts");
    let names = pmcd.names().expect("names");
    assert!(
        names.iter().all(|name| name.starts_with("mine.control.")) && names.len() == METRICS.len(),
        "{names:?}"
    );
    let host = Host::new();
    host.page_with("a", "x 1\ngo_x 1\n", "FILTER: EXCLUDE METRIC go_\n");
    let start = Harness::<OpenMetrics>::builder().option("root", "mine");
    let start = start.option("config", host.at("config.d").display().to_string());
    let mut pmcd = start.start().expect("it starts");
    pmcd.fetch("mine.a.x").expect("a value");
    let log = pmcd.log();
    assert!(log.contains("Metric mine.a.go_x excluded by config filters"), "{log}");
    for wrong in [("timeout", "soon"), ("root", ""), ("root", "a b")] {
        assert!(
            Harness::<OpenMetrics>::builder()
                .option(wrong.0, wrong.1)
                .start()
                .is_err(),
            "{wrong:?}"
        );
    }
}

#[test]
fn a_script_that_becomes_an_address() {
    let host = Host::new();
    let script = host.script("a.sh", "echo x 1");
    let mut pmcd = host.agent();
    assert_eq!(
        pmcd.fetch("openmetrics.a.x").expect("a value").value::<f64>(),
        Some(1.0)
    );
    remove(&script);
    host.page("a", "x 2\n");
    pmcd.advance(Duration::from_secs(2));
    assert_eq!(
        pmcd.fetch("openmetrics.a.x").expect("a value").value::<f64>(),
        Some(2.0)
    );
    assert!(pmcd.numbers().contains("openmetrics.a.x 144.1.0\n"));
}

fn remove(path: &Path) {
    fs::remove_file(path).expect("its own");
}
