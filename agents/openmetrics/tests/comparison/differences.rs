//! The deliberate differences: which document shows which row of DIFFERENCES.md.

use std::collections::BTreeMap;

/// Document, and the fact whose row in DIFFERENCES.md says why the agents differ there.
const DELIBERATE: &[(&str, &str)] = &[];

/// Fails unless exactly the documents that are listed differ.
pub fn judge(found: &BTreeMap<String, String>) {
    let table = include_str!("../../DIFFERENCES.md");
    for (_, fact) in DELIBERATE {
        assert!(
            table.contains(&format!("| {fact} |")),
            "{fact} has no row in DIFFERENCES.md"
        );
    }
    let is_deliberate = |document: &str| DELIBERATE.iter().any(|(known, _)| *known == document);
    let mut text = String::new();
    for (document, differences) in found.iter().filter(|(document, _)| !is_deliberate(document)) {
        text += &format!("== {document}\n{differences}");
    }
    for (document, fact) in DELIBERATE {
        if !found.contains_key(*document) {
            text += &format!("== {document}: no difference, but {fact} is listed\n");
        }
    }
    assert!(text.is_empty(), "the agents differ:\n{text}");
}
