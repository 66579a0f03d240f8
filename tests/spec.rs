//! The specification (docs/spec) against the tests: each number that is cited anywhere has its fact
//! there, and each fact is cited by a test.
//!
//! A fact is a line of docs/spec/*.md, or a row of a table in docs/spec/defects.md, that begins
//! with a number, such as CACHE-10, and what follows up to the next one or an empty line. A test
//! cites it by the number, written out, in a file below tests/ or in the test module of a source
//! file. A fact that needs no test says why in its own paragraph: `(no test: REASON)`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pcp_pmda_test::root;
use regex::Regex;

/// The endings of files that may cite a number.
const KINDS: [&str; 9] = ["rs", "c", "h", "md", "sh", "pl", "py", "in", "toml"];

/// All such files below a folder or, if it is one, the file itself.
fn files(path: &Path, found: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        let kind = path.extension().unwrap_or_default();
        if KINDS.iter().any(|known| kind == *known) {
            found.push(path.to_owned());
        }
        return;
    }
    let mut entries: Vec<_> = fs::read_dir(path)
        .expect("a folder of the repository")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    for entry in entries {
        let name = entry.file_name().unwrap_or_default();
        if name != "target" && name != "corpus" {
            files(&entry, found);
        }
    }
}

fn texts(places: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for place in places {
        files(&root().join(place), &mut found);
    }
    let text =
        |path: &PathBuf| String::from_utf8_lossy(&fs::read(path).expect("a file of the repository")).into_owned();
    found.iter().map(|path| (path.clone(), text(path))).collect()
}

/// Each fact by its number.
fn facts() -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let head = Regex::new(r"^(?:\| )?([A-Z]{1,5}-[0-9]+)(?-u:\b)").expect("valid");
    for (path, text) in texts(&["docs/spec"]) {
        let mut current: Option<String> = None;
        for line in text.lines() {
            if let Some(found) = head.captures(line) {
                let number = found[1].to_owned();
                let before = facts.insert(number.clone(), String::new());
                assert!(before.is_none(), "{number} stands twice, again in {}", path.display());
                current = Some(number);
            } else if line.trim().is_empty() {
                current = None;
            }
            if let Some(fact) = current.as_ref().and_then(|number| facts.get_mut(number)) {
                *fact += line;
                *fact += "\n";
            }
        }
    }
    assert!(facts.len() > 500, "only {} facts in docs/spec", facts.len());
    facts
}

/// The numbers in a text, of the families that the specification has: UTF-8 is none.
fn numbers<'t>(text: &'t str, families: &BTreeSet<&str>) -> BTreeSet<&'t str> {
    let number = Regex::new(r"(?-u:\b)([A-Z]{1,5})-[0-9]+(?-u:\b)").expect("valid");
    let found = number.captures_iter(text);
    let known = found.filter(|found| families.contains(found.get(1).expect("a family").as_str()));
    known.map(|found| found.get(0).expect("all of it").as_str()).collect()
}

fn families(facts: &BTreeMap<String, String>) -> BTreeSet<&str> {
    facts.keys().filter_map(|number| number.split('-').next()).collect()
}

#[test]
fn every_cited_number_is_a_fact() {
    let facts = facts();
    let families = families(&facts);
    let places = [
        "src",
        "core",
        "agents",
        "tests",
        "benches",
        "fuzz",
        "capi",
        "c-examples",
        "docs",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ];
    let mut wrong = Vec::new();
    for (path, text) in texts(&places) {
        for number in numbers(&text, &families) {
            if !facts.contains_key(number) {
                let place = path.strip_prefix(root()).expect("below");
                wrong.push(format!("{}: {number}", place.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "no such fact in docs/spec:\n{}", wrong.join("\n"));
}

/// The part of a source file that is a test: all of a file of tests, otherwise the text after its
/// `#[cfg(test)]`.
fn tested<'t>(path: &Path, text: &'t str) -> &'t str {
    let place = path.strip_prefix(root()).expect("below");
    let all = place.starts_with("tests") || place.ends_with("tests.rs") || place.iter().any(|part| part == "tests");
    match text.find("#[cfg(test)]") {
        _ if all => text,
        Some(start) => &text[start..],
        None => "",
    }
}

#[test]
fn every_fact_has_a_test() {
    let facts = facts();
    let families = families(&facts);
    let mut cited = BTreeSet::new();
    for (path, text) in texts(&["src", "core/src", "tests", "tools", "agents"]) {
        let found = numbers(tested(&path, &text), &families);
        cited.extend(found.into_iter().map(str::to_owned));
    }
    let reason = Regex::new(r"\(no test: [^)]{10,}\)").expect("valid");
    let missing: Vec<_> = facts
        .iter()
        .filter(|(number, fact)| !cited.contains(*number) && !reason.is_match(fact))
        .map(|(number, _)| number)
        .collect();
    assert!(missing.is_empty(), "no test cites {missing:?}");
}

/// The installed header is read by people who do not have this specification.
#[test]
fn the_header_has_no_numbers() {
    let facts = facts();
    for (path, text) in texts(&["include"]) {
        let found = numbers(&text, &families(&facts));
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
}

/// A defect of the C library that is kept is one that a program shows on both libraries.
#[test]
fn what_is_kept_is_compared() {
    let facts = facts();
    let families = families(&facts);
    let programs: Vec<_> = texts(&["tests/c"])
        .into_iter()
        .filter(|(path, text)| !path.iter().any(|part| part == "fixed") && !text.contains("c-library: not run,"))
        .collect();
    let cited: BTreeSet<&str> = programs.iter().flat_map(|(_, text)| numbers(text, &families)).collect();
    let kept: Vec<_> = facts
        .iter()
        .filter(|(number, fact)| fact.trim_start_matches("| ").starts_with(&format!("{number} (kept)")))
        .map(|(number, _)| number)
        .collect();
    assert!(kept.len() > 20, "{kept:?}");
    let missing: Vec<_> = kept.iter().filter(|number| !cited.contains(number.as_str())).collect();
    assert!(
        missing.is_empty(),
        "kept, but no program of tests/c compares it: {missing:?}"
    );
}
