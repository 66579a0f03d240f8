//! Labels of metrics and instances, however many a document has.

use std::fmt::Write as _;

use pmda::testing::Harness;

use super::Host;
use crate::OpenMetrics;

/// A label that is the whole name of an instance is no label of the metric (OM-66).
#[test]
fn labels_of_a_metric() {
    let host = Host::new();
    let line = "# PCP5 m 1.1.1 u32 hosts instant none\n";
    host.page(
        "a",
        format!("{line}m{{instname=\"eth0\"}} 1\nm{{instname=\"eth1\"}} 2\n"),
    );
    host.page("b", "m{a=\"1\"} 1\nm{a=\"2\",b=\"3\"} 1\nm{a=\"4\"} 1\n");
    let mut pmcd = host.agent();
    assert!(
        pmcd.labels("openmetrics.a.m")
            .expect("labels")
            .contains("\"instname\":\"eth0\"")
    );
    let labels = pmcd.labels("openmetrics.b.m").expect("labels");
    assert!(
        labels.contains("\"a\":\"4\"") && labels.contains("\"b\":\"3\""),
        "{labels}"
    );
}

/// The labels of a metric follow each document, whether its series are new or known (OM-66).
#[test]
fn labels_of_a_metric_follow_the_document() {
    let host = Host::new();
    let (first, second, third) = ("m{a=\"1\",p=\"x\"} 1\n", "m{a=\"2\",p=\"y\"} 1\n", "m{a=\"3\"} 1\n");
    host.page("a", [first, second, third].concat());
    let mut pmcd = host.agent();
    for (document, value) in [
        ([first, second, third], "y"),
        ([first, third, ""], "x"),
        ([second, first, third], "x"),
        ([first, second, third], "y"),
        ([first, second, third], "y"),
        ([third, second, first], "x"),
    ] {
        host.page("a", document.concat());
        pmcd.fetch("openmetrics.a.m").expect("values");
        let labels = pmcd.labels("openmetrics.a.m").expect("labels");
        assert!(labels.contains(&format!("\"p\":\"{value}\"")), "{document:?}: {labels}");
    }
}

/// However many labels there are, values are shown, and as many labels as fit.
#[test]
fn labels_never_cost_a_value() {
    let host = Host::new();
    let mut pods = String::new();
    for pod in 0..300 {
        let _ = writeln!(pods, "m{{pod=\"{pod}\",label_{pod}=\"x\"}} 1");
    }
    host.page("pods", pods);
    let many: Vec<String> = (0..256).map(|label| format!("l{label}=\"x\"")).collect();
    host.page("many", format!("m{{{}}} 1\nm{{l0=\"y\"}} 2\n", many.join(",")));
    host.page("name", format!("m{{{}=\"1\"}} 1\nm{{y=\"1\"}} 2\n", "x".repeat(255)));
    host.page(
        "long",
        format!("m{{a=\"{}\",b=\"1\"}} 1\nm{{b=\"2\"}} 2\n", "\\n".repeat(20_000)),
    );
    host.page("optional", format!("m{{{}}} 1\n", many.join(",")));
    host.page_with(
        "single",
        format!("m{{{}}} 1\n", many.join(",")),
        "FILTER: OPTIONAL LABEL l\n",
    );
    let mut pmcd = host.agent();
    for (source, count) in [
        ("pods", 300),
        ("many", 2),
        ("name", 2),
        ("long", 2),
        ("optional", 1),
        ("single", 1),
    ] {
        let name = format!("openmetrics.{source}.m");
        assert_eq!(pmcd.fetch(&name).expect(source).len(), count, "{source}");
        let labels = pmcd.labels(&name).expect(source);
        let instances = pmcd.instance_labels(&name).expect(source);
        assert_eq!(instances.len(), count, "{source}");
        assert!(labels.contains("\":\"") || source == "name", "{source}: {labels}");
    }
    assert!(
        pmcd.labels("openmetrics.long.m")
            .expect("labels")
            .contains("\"b\":\"2\"")
    );
    // Each metric but that of `name`, whose one label is none for PCP.
    let told = pmcd.log().matches("metric m: not all of its labels are shown").count();
    assert_eq!(told, 5, "{}", pmcd.log());
    let pods = pmcd.instance_labels("openmetrics.pods.m").expect("labels");
    assert!(pods.iter().all(|(_, labels)| labels.contains("label_")), "{pods:?}");
}

/// A name that another metric has is free when that one has gone. The log names the two once, however
/// often the one without the name comes and goes (OM-52).
#[test]
fn names_that_become_free() {
    let host = Host::new();
    host.page("a", "b.good 1\nb:good 2\nown 3\n");
    let mut pmcd = host.agent();
    let value = |pmcd: &mut Harness<OpenMetrics>, name: &str| {
        let values = pmcd.fetch(name).expect(name);
        values.value::<f64>()
    };
    for _ in 0..3 {
        for text in ["b.good 1\nown 3\n", "b:good 2\nb.good 1\nown 3\n"] {
            host.page("a", text);
            assert_eq!(value(&mut pmcd, "openmetrics.a.own"), Some(3.0));
            assert_eq!(value(&mut pmcd, "openmetrics.a.b.good"), Some(1.0));
        }
    }
    let told = pmcd.log().matches("Cannot add metric openmetrics.a.b.good").count();
    assert_eq!(told, 1, "{}", pmcd.log());
    host.page("a", "b:good 2\nown 3\n");
    assert_eq!(value(&mut pmcd, "openmetrics.a.own"), Some(3.0));
    assert_eq!(value(&mut pmcd, "openmetrics.a.b.good"), Some(2.0));
    let status = pmcd.fetch("openmetrics.control.status").expect("values");
    assert_eq!(status.value_of::<String>("a").as_deref(), Some("success"));
}

/// If a source has no number left, further names are not shown, and the status says so (OM-38).
#[test]
fn more_names_than_there_may_be() {
    let host = Host::new();
    let names = |from: usize| -> String { (from..from + 1100).map(|name| format!("m{name} {name}\n")).collect() };
    host.page("a", names(0));
    let mut pmcd = host.agent();
    let status = |pmcd: &mut Harness<OpenMetrics>| {
        let values = pmcd.fetch("openmetrics.control.status").expect("values");
        values.value_of::<String>("a").expect("a status")
    };
    assert!(
        status(&mut pmcd).starts_with("success, but 76 names are not shown"),
        "{}",
        status(&mut pmcd)
    );
    // Other names stand before the known ones.
    host.page("a", names(1100) + &names(0));
    let value = pmcd.fetch("openmetrics.a.m1023").expect("it stays").value::<f64>();
    assert_eq!(value, Some(1023.0));
    assert!(
        status(&mut pmcd).starts_with("success, but 1176 names are not shown"),
        "{}",
        status(&mut pmcd)
    );
    host.page("a", names(0).replace("m1", "n1"));
    pmcd.fetch("openmetrics.a.m0").expect("it stays");
    host.page("a", "m0 1\n");
    pmcd.fetch("openmetrics.a.m0").expect("it stays");
    assert_eq!(status(&mut pmcd), "success");
}
