//! The control metrics, cluster 0 (OM-80): a row for each, which the declaration, the tests and the
//! comparison with PCP's agent read. A test compares the documents with it.

use pmda::{Atom, COUNT, MSEC, Semantics, Type, Unit};

use crate::model::Status;

/// A control metric.
#[derive(Clone, Copy, Debug)]
pub struct ControlMetric {
    /// Its number in cluster 0, which no other one ever has.
    pub item: u32,
    /// Its name below `ROOT.control`.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Type,
    /// Their semantics.
    pub semantics: Semantics,
    /// Their unit.
    pub unit: Unit,
    /// Its help text, where `ROOT` stands for the root of all names.
    pub help: &'static str,
    /// True if PCP's agent has it as well.
    pub is_of_pcp: bool,
    /// The origin of its values.
    pub(crate) value: ControlValue,
}

/// The origin of the values of a control metric.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ControlValue {
    /// A value for each source, and for all together as instance 0.
    Source(fn(&Status) -> Atom<'_>),
    /// The switch of debug messages, a single value that clients store.
    Debug,
}

/// All control metrics.
pub const METRICS: &[ControlMetric] = &[
    ControlMetric {
        item: 1,
        name: "calls",
        kind: Type::U64,
        semantics: Semantics::Counter,
        unit: COUNT,
        help: "per-end-point source call counter",
        is_of_pcp: true,
        value: ControlValue::Source(|status| status.calls.into()),
    },
    ControlMetric {
        item: 2,
        name: "fetch_time",
        kind: Type::U64,
        semantics: Semantics::Counter,
        unit: MSEC,
        help: "per-end-point source fetch time counter, excluding parse time",
        is_of_pcp: true,
        value: ControlValue::Source(|status| status.fetch_time.into()),
    },
    ControlMetric {
        item: 3,
        name: "parse_time",
        kind: Type::U64,
        semantics: Semantics::Counter,
        unit: MSEC,
        help: "per-end-point source parse time counter, excluding fetch time",
        is_of_pcp: true,
        value: ControlValue::Source(|status| status.parse_time.into()),
    },
    ControlMetric {
        item: 4,
        name: "debug",
        kind: Type::U32,
        semantics: Semantics::Discrete,
        unit: Unit::NONE,
        help: "debug flag to enable verbose log messages, to enable: pmstore ROOT.control.debug 1",
        is_of_pcp: true,
        value: ControlValue::Debug,
    },
    ControlMetric {
        item: 5,
        name: "status",
        kind: Type::String,
        semantics: Semantics::Instant,
        unit: Unit::NONE,
        help: "per-end-point source URL response status after the most recent fetch",
        is_of_pcp: true,
        value: ControlValue::Source(|status| status.status.as_str().into()),
    },
    ControlMetric {
        item: 6,
        name: "status_code",
        kind: Type::I32,
        semantics: Semantics::Discrete,
        unit: Unit::NONE,
        help: "per-end-point source URL response status code after the most recent fetch",
        is_of_pcp: true,
        value: ControlValue::Source(|status| status.code.into()),
    },
    ControlMetric {
        item: 7,
        name: "document_age",
        kind: Type::U64,
        semantics: Semantics::Instant,
        unit: MSEC,
        help: "per-end-point source age of the document whose values are served",
        is_of_pcp: false,
        value: ControlValue::Source(|status| if_any(status.document_age())),
    },
    ControlMetric {
        item: 8,
        name: "up",
        kind: Type::U32,
        semantics: Semantics::Instant,
        unit: Unit::NONE,
        help: "per-end-point source state: 1 if it has a document, 0 if the most recent fetch has brought none",
        is_of_pcp: false,
        value: ControlValue::Source(|status| if_any(status.up())),
    },
    ControlMetric {
        item: 9,
        name: "failures",
        kind: Type::U64,
        semantics: Semantics::Counter,
        unit: COUNT,
        help: "per-end-point source counter of fetches that have brought no document",
        is_of_pcp: false,
        value: ControlValue::Source(|status| status.failures.into()),
    },
    ControlMetric {
        item: 10,
        name: "samples",
        kind: Type::U64,
        semantics: Semantics::Instant,
        unit: COUNT,
        help: "per-end-point source number of samples of the document that are shown",
        is_of_pcp: false,
        value: ControlValue::Source(|status| if_any(status.document.map(|document| document.samples))),
    },
    ControlMetric {
        item: 11,
        name: "samples_lost",
        kind: Type::U64,
        semantics: Semantics::Instant,
        unit: COUNT,
        help: "per-end-point source number of samples of the document that are not shown, though no filter excludes them",
        is_of_pcp: false,
        value: ControlValue::Source(|status| if_any(status.document.map(|document| document.lost))),
    },
    ControlMetric {
        item: 12,
        name: "numbers_unsaved",
        kind: Type::U64,
        semantics: Semantics::Instant,
        unit: COUNT,
        help: "per-end-point source number of metrics and instances whose numbers are not saved, and are lost with the agent",
        is_of_pcp: false,
        value: ControlValue::Source(|status| status.unsaved.into()),
    },
];

fn if_any<'s>(value: Option<impl Into<Atom<'s>>>) -> Atom<'s> {
    value.map_or(Atom::None, Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers and names are given once. The documents have each metric as it is declared: OM-80 has all
    /// facts of it, and what PCP's agent lacks is in the guide's table, in the manual, among the differences,
    /// and in the list of the lane that runs PCP's own tests.
    #[test]
    fn the_documents_have_each_metric() {
        let specification = include_str!("../../../docs/spec/openmetrics.md");
        let guide = include_str!("../../../docs/OPENMETRICS.md");
        let manual = include_str!("../man/pmdaopenmetrics-rust.1");
        let differences = include_str!("../DIFFERENCES.md");
        let lane = include_str!("../../../packaging/openmetrics-test.sh");
        let line =
            |text: &str, begin: &str| -> String { text.lines().filter(|line| line.starts_with(begin)).collect() };
        let (fact, row) = (line(specification, "OM-80 "), line(differences, "| OM-80 |"));
        let mut own: Vec<&str> = Vec::new();
        for (at, metric) in METRICS.iter().enumerate() {
            let ControlMetric { item, name, .. } = metric;
            assert!(
                METRICS[..at]
                    .iter()
                    .all(|other| other.item < *item && other.name != *name),
                "{name}"
            );
            let kind = match metric.kind {
                Type::U64 => "u64",
                Type::U32 => "u32",
                Type::I32 => "32",
                _ => "string",
            };
            let semantics = format!("{:?}", metric.semantics).to_lowercase();
            let unit = match metric.unit {
                COUNT => "count",
                MSEC => "millisec",
                _ => "none",
            };
            let facts = format!("`{name}` {item} {kind} {semantics} {unit}");
            assert!(fact.contains(&facts), "OM-80 has no {facts}");
            if metric.is_of_pcp {
                continue;
            }
            own.push(name);
            for (place, text, wanted) in [
                ("OPENMETRICS.md", guide, format!("| `openmetrics.control.{name}` | ")),
                ("the manual", manual, format!(".B openmetrics.control.{name}\n")),
                ("the row of OM-80 in DIFFERENCES.md", &*row, format!("`{name}`")),
            ] {
                assert!(text.contains(&wanted), "{place} has no {wanted}");
            }
        }
        own.sort_unstable();
        let wanted = format!("control\\.({})$", own.join("|"));
        assert!(lane.contains(&wanted), "packaging/openmetrics-test.sh has no {wanted}");
    }
}
