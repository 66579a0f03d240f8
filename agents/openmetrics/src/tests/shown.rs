//! Metrics of the agent itself and of its sources, as clients see them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use pmda::testing::Harness;
use pmda_core::constants::PM_LABEL_CLUSTER;
use pmda_core::ident::MetricId;

use super::{Host, error};
use crate::OpenMetrics;
use crate::control::METRICS;

/// The reply about the labels of a cluster, as text.
pub(super) fn cluster_labels(pmcd: &mut Harness<OpenMetrics>, cluster: u32) -> String {
    // PDU_LABEL_REQ of 20 bytes.
    let mut request: Vec<u8> = Vec::new();
    let ident = MetricId::new(144, cluster, 0).0;
    for word in [20, 0x7012, 0, ident, PM_LABEL_CLUSTER as u32] {
        request.extend_from_slice(&word.to_be_bytes());
    }
    String::from_utf8_lossy(&pmcd.raw(&request)).into_owned()
}

fn calls(pmcd: &mut Harness<OpenMetrics>, source: &str) -> Option<u64> {
    let calls = pmcd.fetch("openmetrics.control.calls").expect("values");
    calls.value_of::<u64>(source)
}

/// The control metrics have these numbers, types, semantics, units, instances and help texts (OM-80
/// to OM-82).
#[test]
fn control_metrics() {
    let host = Host::new();
    host.page("a", "x 1\n");
    let mut pmcd = host.agent();
    for metric in METRICS {
        let name = format!("openmetrics.control.{}", metric.name);
        let desc = pmcd.desc(&name).expect("known");
        assert_eq!(desc.id, MetricId::new(144, 0, metric.item), "{name}");
        assert_eq!(
            (desc.kind, desc.semantics, desc.unit),
            (Some(metric.kind), Some(metric.semantics), metric.unit),
            "{name}"
        );
        let help = metric.help.replace("ROOT", "openmetrics");
        assert_eq!(pmcd.text(&name), Ok((help.clone(), help)));
        if metric.name == "debug" {
            pmcd.instances(&name).expect_err("it is singular");
        } else {
            let expected = [(0, "control".to_owned()), (1, "a".to_owned())];
            assert_eq!(pmcd.instances(&name), Ok(expected.to_vec()), "{name}");
        }
    }
    let status = pmcd.fetch("openmetrics.control.status").expect("values");
    let status = ["control", "a"].map(|source| status.value_of::<String>(source));
    assert_eq!(status, [Some("none".to_owned()), Some("success".to_owned())]);
    let code = pmcd.fetch("openmetrics.control.status_code").expect("values");
    assert_eq!(
        (code.value_of::<i32>("control"), code.value_of::<i32>("a")),
        (Some(0), Some(0))
    );
    let age = pmcd.fetch("openmetrics.control.document_age").expect("values");
    assert!(age.value_of::<u64>("a").is_some() && age.value_of::<u64>("control").is_none());
}

/// The serial of an instance domain is made of the numbers of source and metric; metrics of an
/// address have the labels `hostname`, `source` and `url`, those of a script `script` and
/// `source` (OM-60, OM-64, OM-65).
#[test]
fn labels_and_domains_of_sources() {
    let host = Host::new();
    host.page("a", "x 1\ny{l=\"1\"} 1\nz{l=\"1\"} 1\n");
    let script = host.script("b.sh", "echo x 1");
    let mut pmcd = host.agent();
    for (item, name) in [(1, "y"), (2, "z")] {
        let name = format!("openmetrics.a.{name}");
        let desc = pmcd.desc(&name).expect("known");
        assert_eq!(desc.id, MetricId::new(144, 1, item));
        assert_eq!(desc.indom.serial(), 4096 + 1024 + item);
        assert!(pmcd.labels(&name).expect("labels").contains("\"source\":\"a\""));
    }
    let labels = cluster_labels(&mut pmcd, 1);
    let url = format!("\"url\":\"file://{}\"", host.at("a").display());
    assert!(labels.contains("\"hostname\":") && labels.contains(&url), "{labels:?}");
    let labels = cluster_labels(&mut pmcd, 2);
    let script = format!("\"script\":\"{}\",\"source\":\"b\"", script.display());
    assert!(labels.contains(&script) && !labels.contains("hostname"), "{labels:?}");
}

/// Requests for the agent's own metrics and for names fetch no source that has metrics, unless its
/// names are old and may be forgotten (OM-14, OM-84).
#[test]
fn sources_are_fetched_when_they_are_needed() {
    for (version, later) in [("6.3.8", 1), ("7.2.2", 2)] {
        let host = Host::new();
        host.pcp(version);
        host.page("a", "x 1\n");
        host.page("b", "x 1\n");
        let mut pmcd = host.agent();
        for _ in 0..3 {
            pmcd.names().expect("names");
            pmcd.desc("openmetrics.a.x").expect("known");
            assert_eq!((calls(&mut pmcd, "a"), calls(&mut pmcd, "control")), (Some(1), Some(2)));
        }
        pmcd.advance(Duration::from_secs(11));
        pmcd.names().expect("names");
        assert_eq!(calls(&mut pmcd, "a"), Some(later), "{version}");
        pmcd.fetch("openmetrics.a.x").expect("a value");
        assert_eq!(
            (calls(&mut pmcd, "a"), calls(&mut pmcd, "b")),
            (Some(later + 1), Some(later))
        );
    }
}

/// A file that becomes executable is a source from then on, though its folder has not changed.
#[test]
fn a_file_becomes_a_script() {
    let host = Host::new();
    let script = host.script("s", "echo x 1");
    let mode = |mode| fs::set_permissions(&script, fs::Permissions::from_mode(mode)).expect("its own");
    mode(0o644);
    std::thread::sleep(Duration::from_millis(200));
    let mut pmcd = host.agent();
    pmcd.fetch("openmetrics.control.calls").expect("values");
    mode(0o755);
    pmcd.advance(Duration::from_secs(2));
    let value = pmcd.fetch("openmetrics.s.x").expect("it is known").value::<f64>();
    assert_eq!(value, Some(1.0));
}

/// A request for an instance that is not in the last document gets no value, and no error as long
/// as other instances have values (OM-63).
#[test]
fn instances_that_are_not_in_the_document() {
    let host = Host::new();
    let (two, third) = ("m{l=\"1\"} 1\nm{l=\"2\"} 2\n", "m{l=\"3\"} 3\n");
    host.page("a", two.to_owned() + third);
    let mut pmcd = host.agent();
    let name = "openmetrics.a.m";
    pmcd.profile(name, &["2 l:3"]).expect("it is known");
    assert_eq!(pmcd.fetch(name).expect("a value").value_of::<f64>("2 l:3"), Some(3.0));
    for document in [two, "m{l=\"1\"} 1\n", "m{l=\"1\"} 1\nm{l=\"2\"} -\n"] {
        host.page("a", document);
        assert!(pmcd.fetch(name).expect("no error").is_empty(), "{document}");
    }
    host.page("a", "m{l=\"1\"} what\n");
    assert_eq!(error(pmcd.fetch(name)), pmda::Error::AGAIN);
}

/// If a sample's value is no number, its instance has no value; if that is so for all instances,
/// the request gets `PM_ERR_AGAIN` (OM-40).
#[test]
fn words_that_are_no_values() {
    let host = Host::new();
    host.page("a", "m{l=\"1\"} what\nm{l=\"2\"} 2\nn{l=\"1\"} what\nn{l=\"2\"} -\n");
    let mut pmcd = host.agent();
    let values = pmcd.fetch("openmetrics.a.m").expect("one");
    assert_eq!((values.len(), values.value_of::<f64>("1 l:2")), (1, Some(2.0)));
    assert_eq!(error(pmcd.fetch("openmetrics.a.n")), pmda::Error::AGAIN);
    assert_eq!(pmcd.instances("openmetrics.a.n").expect("both").len(), 2);
    // The same where the others are not in the document.
    host.page("a", "m{l=\"1\"} 3\nn{l=\"2\"} what\n");
    let values = pmcd.fetch("openmetrics.a.m").expect("one");
    assert_eq!((values.len(), values.value_of::<f64>("0 l:1")), (1, Some(3.0)));
    assert_eq!(error(pmcd.fetch("openmetrics.a.n")), pmda::Error::AGAIN);
}
