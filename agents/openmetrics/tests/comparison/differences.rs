//! The deliberate differences: which answer shows which row of DIFFERENCES.md.

use std::collections::BTreeMap;
use std::process::Command;

use pmda_openmetrics::control::METRICS;

/// Document, a part of the question (those of dbpmda show the answer to the one before), and the
/// fact whose row in DIFFERENCES.md says why the agents differ there.
pub type Row = (&'static str, &'static str, &'static str);

const DELIBERATE: &[Row] = &[
    ("all_labels_excluded", "status", "OM-83"),
    ("all_labels_optional", "status", "OM-83"),
    ("byte_order_mark", "", "OM-31"),
    ("comma_first", "", "OM-37"),
    ("control", "log: Info: metric", "OM-20"),
    ("control", "pminfo openmetrics.control.status_code", "OM-83"),
    ("dbpmda", "30 desc", "OM-80"),
    ("dbpmda", "36 fetch", "OM-80"),
    ("dbpmda", "37 fetch", "OM-83"),
    ("dbpmda", " text ", "OM-56"),
    ("dbpmda", "22 children", "OM-56"),
    ("dbpmda", "23 name", "OM-31"),
    ("fault_comma", "", "OM-38"),
    ("fault_no_value", "", "OM-38"),
    ("fault_open", "", "OM-38"),
    ("fault_quote", "", "OM-38"),
    ("filters", "status", "OM-83"),
    ("goes_bad", "then: ", "OM-38"),
    ("integers_out_of_range", "", "OM-41"),
    ("label_escapes", "pminfo", "OM-68"),
    ("instance_names", "words[disk]", "OM-61"),
    ("label_names", "pminfo", "OM-68"),
    ("label_syntax", "status", "OM-83"),
    ("labels_missing_later", "", "OM-38"),
    ("line_separators", "", "OM-30"),
    ("log", "", "OM-38"),
    ("many", "status", "OM-38"),
    ("metadata_colon", "", "OM-52"),
    ("name_underscore", "", "OM-38"),
    ("names", "status", "OM-83"),
    ("names_not_pcp", "", "OM-52"),
    ("not_utf8", "", "OM-31"),
    ("nul", "pminfo openmetrics.nul.nul", "OM-68"),
    ("pcp5_fields", "", "OM-35"),
    ("pcp5_short", "", "OM-35"),
    ("pcp_aggregate", "", "OM-42"),
    ("pcp_colon", "", "OM-52"),
    ("pcp_lines", "status", "OM-83"),
    ("pcp_name_twice", "status", "OM-83"),
    ("pcp_types", "status", "OM-83"),
    ("prometheus_documented", "msdos_file_access_time_seconds", "OM-68"),
    ("values", "status", "OM-83"),
    ("wrong_filter", "", "OM-19"),
];

/// And with the agent of PCP 5.3, which logs more while it is told to, and gives numbers to names
/// that are none.
const DELIBERATE_5: &[Row] = &[
    ("control", "log: Info: Metric: adding new metric", "OM-20"),
    ("control", "log: Info: Warning: cannot fetch item", "OM-20"),
    ("goes_bad", "table 144.26.py", "OM-38"),
];

/// And with the agents since PCP 6.0.
const DELIBERATE_6: &[Row] = &[("type_changes", "", "OM-38")];

/// And with the agent of PCP 6.3, which always says as whom it runs.
const DELIBERATE_6_3: &[Row] = &[("control", "Note: running as user", "OM-3")];

/// And with the agent of PCP 7, whose metrics that have just gone are unknown to pminfo here and
/// there in other words.
const DELIBERATE_7: &[Row] = &[
    ("changes", "then: ", "OM-56"),
    ("control", "pminfo openmetrics.control.debug", "OM-81"),
    ("goes_bad", "then: ", "OM-56"),
    ("goes_empty", "then: ", "OM-56"),
];

/// Whether the agent in Python is that of this version of PCP or a later one.
pub fn is_since(version: (u32, u32)) -> bool {
    let output = Command::new("pkg-config")
        .args(["--modversion", "libpcp_pmda"])
        .output();
    let text = String::from_utf8(output.expect("pkg-config").stdout).expect("a version");
    let mut parts = text
        .split('.')
        .map(|part| part.trim().parse::<u32>().unwrap_or_default());
    (parts.next(), parts.next()) >= (Some(version.0), Some(version.1))
}

/// Differences by document and question.
pub type Differences = BTreeMap<(String, String), String>;

/// Fails unless exactly what is listed differs.
pub fn judge(found: &Differences) {
    let lists = [
        (true, DELIBERATE),
        (!is_since((6, 0)), DELIBERATE_5),
        (is_since((6, 0)), DELIBERATE_6),
        (is_since((6, 3)), DELIBERATE_6_3),
        (is_since((7, 0)), DELIBERATE_7),
    ];
    lists.iter().for_each(|(_, rows)| documented(rows));
    let known = lists.into_iter().filter(|(is_known, _)| *is_known);
    let own = METRICS.iter().filter(|metric| !metric.is_of_pcp);
    let own = own.map(|metric| {
        (
            "control",
            &*format!("pminfo openmetrics.control.{}", metric.name).leak(),
            "OM-80",
        )
    });
    let rows: Vec<Row> = known.flat_map(|(_, rows)| rows).copied().chain(own).collect();
    check(found, &rows);
}

/// Fails if anything differs.
pub fn judge_equal(found: &Differences) {
    check(found, &[]);
}

/// Fails unless exactly what these rows say differs.
pub fn judge_by(found: &Differences, rows: &[Row]) {
    documented(rows);
    check(found, rows);
}

/// Whatever the agent's version: each row has its reason.
fn documented(rows: &[Row]) {
    let table = include_str!("../../DIFFERENCES.md");
    for (_, _, fact) in rows {
        assert!(
            table.contains(&format!("| {fact} |")),
            "{fact} has no row in DIFFERENCES.md"
        );
    }
}

fn check(found: &Differences, deliberate: &[Row]) {
    let fits = |(document, part, _): &Row, known: &(String, String)| *document == known.0 && known.1.contains(part);
    let mut text = String::new();
    for (key, difference) in found {
        if !deliberate.iter().any(|row| fits(row, key)) {
            text += &format!("== {}: {}\n{difference}", key.0, key.1);
        }
    }
    for row in deliberate {
        if !found.keys().any(|key| fits(row, key)) {
            let (document, part, fact) = row;
            text += &format!("== {document}: no difference in {part:?}, but {fact} is listed\n");
        }
    }
    assert!(text.is_empty(), "the agents differ:\n{text}");
}
