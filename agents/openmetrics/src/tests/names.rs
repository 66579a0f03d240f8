//! Names that lie in the part of another source.

use std::fs;
use std::time::Duration;

use pmda::Error;
use pmda::testing::Harness;

use super::{Host, remove};
use crate::OpenMetrics;

fn value(pmcd: &mut Harness<OpenMetrics>, name: &str) -> Result<f64, Error> {
    let values = pmcd.fetch(&format!("openmetrics.{name}"))?;
    values.value::<f64>().ok_or(Error::AGAIN)
}

fn control(pmcd: &mut Harness<OpenMetrics>, metric: &str, source: &str) -> String {
    let values = pmcd.fetch(&format!("openmetrics.control.{metric}")).expect("values");
    let text = values.value_of::<String>(source);
    text.or(values.value_of::<u64>(source).map(|value| value.to_string()))
        .expect("a value")
}

/// A name that is another source's, below its name or above it as a leaf, is not given to a source that
/// sends it, not even while that other source has no document; the status says whose it is (OM-52).
#[test]
fn a_name_is_of_the_source_whose_file_it_is_below() {
    for version in ["6.3.8", "7.2.2"] {
        let host = Host::new();
        host.pcp(version);
        host.page("a", "b:up 666\nb:load{x=\"9\"} 666\nb 667\nc 668\nup 1\n");
        host.page("a.b", "");
        remove(&host.at("a.b"));
        host.script("a.c.d.sh", "echo up 3");
        let mut pmcd = host.agent();
        assert_eq!(value(&mut pmcd, "a.up"), Ok(1.0));
        let status = "success, but 4 metrics are not shown, as their names are another source's \
                      (openmetrics.a.b.up is of source a.b)";
        assert_eq!(control(&mut pmcd, "status", "a"), status);
        assert_eq!(control(&mut pmcd, "samples_lost", "a"), "4");
        for name in ["a.b.up", "a.b.load", "a.b", "a.c"] {
            value(&mut pmcd, name).expect_err(name);
        }
        host.page("a.b", "up 2\n");
        pmcd.advance(Duration::from_secs(11));
        pmcd.names().expect("names");
        assert_eq!(
            (value(&mut pmcd, "a.b.up"), value(&mut pmcd, "a.c.d.up")),
            (Ok(2.0), Ok(3.0))
        );
        host.page("a", "b:up 666\nup 1\n");
        assert_eq!(
            (value(&mut pmcd, "a.up"), value(&mut pmcd, "a.b.up")),
            (Ok(1.0), Ok(2.0))
        );
        let log = pmcd.log();
        let told = "metric openmetrics.a.b.up is not shown: the name is of source a.b (source a)";
        assert_eq!(log.matches(told).count(), 1, "{log}");
    }
}

/// The same holds for a source whose file comes later, a URL's or a script's. When that file goes, its names
/// are free since PCP 7.
#[test]
fn a_source_that_comes_later_has_its_names() {
    for (version, is_script) in [("6.3.8", false), ("7.2.2", false), ("7.2.2", true)] {
        let host = Host::new();
        host.pcp(version);
        host.page("a", "b:up 666\nup 1\n");
        let mut pmcd = host.agent();
        assert_eq!(value(&mut pmcd, "a.b.up"), Ok(666.0));
        let file = if is_script {
            host.script("a.b.sh", "echo up 2")
        } else {
            host.page("a.b", "up 2\n");
            host.at("config.d/a.b.url")
        };
        // Any request sees the new file; the next one has its values.
        pmcd.names().expect("names");
        assert_eq!(value(&mut pmcd, "a.b.up"), Ok(2.0), "{version}");
        assert_eq!(value(&mut pmcd, "a.up"), Ok(1.0));
        assert!(control(&mut pmcd, "status", "a").ends_with("(openmetrics.a.b.up is of source a.b)"));
        let numbers = pmcd.numbers();
        assert!(numbers.contains("openmetrics.a.b.up 144.2.0\n"), "{numbers}");
        fs::remove_file(&file).expect("ours");
        drop(value(&mut pmcd, "a.up"));
        let freed = value(&mut pmcd, "a.b.up");
        assert_eq!(freed.is_ok(), version >= "7", "{version}: {freed:?}");
    }
}
