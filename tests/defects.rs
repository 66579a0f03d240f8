//! docs/DEFECTS.md against the tests: every defect of the C library that the specification lists
//! has a row, and what the row names is there and speaks of the defect.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The families of numbers that are defects as a whole, and the parts of others that are.
const FAMILIES: [&str; 8] = ["DEF", "IDEF", "F", "L", "E", "N", "R", "H"];
const PARTS: [(&str, std::ops::RangeInclusive<u32>); 2] = [("WIRE", 70..=77), ("MAIN", 50..=52)];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether a number of the specification is that of a defect.
fn is_defect(number: &str) -> bool {
    let Some((family, digits)) = number.split_once('-') else {
        return false;
    };
    let within = |(part, numbers): &(&str, std::ops::RangeInclusive<u32>)| {
        *part == family && digits.parse().is_ok_and(|digits: u32| numbers.contains(&digits))
    };
    FAMILIES.contains(&family) || PARTS.iter().any(within)
}

/// One row of a table.
struct Row {
    number: String,
    verdict: String,
    /// What shows it, and whether a mark says that the C library is not run.
    shown_by: Vec<(String, bool)>,
}

fn rows() -> Vec<Row> {
    let document = read(root().join("docs/DEFECTS.md"));
    let lines = document
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("-"));
    let parse = |line: &str| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [number, _, verdict, shown_by] = cells[..] else {
            panic!("not four cells: {line}")
        };
        let tests = shown_by.split(", ").map(|test| {
            let name = test.trim_start_matches('`').split('`').next().unwrap_or_default();
            (name.to_owned(), test.ends_with("(*)"))
        });
        Row {
            number: number.to_owned(),
            verdict: verdict.to_owned(),
            shown_by: tests.collect(),
        }
    };
    lines.filter(|line| line.contains('`')).map(parse).collect()
}

/// The file that a name in the last column stands for.
fn file(name: &str) -> PathBuf {
    if name.contains('.') {
        root().join(name)
    } else {
        root().join("tests/c").join(name).with_extension("c")
    }
}

/// A test must not be listed that is not there, and each must say which defect it shows.
#[test]
fn tests_speak_of_their_defects() {
    let mut missing = Vec::new();
    for row in rows() {
        for (name, _) in &row.shown_by {
            let text = read(file(name));
            let cited = |word: &str| word == row.number;
            let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
            if !words.into_iter().any(cited) {
                missing.push(format!("{name} says nothing of {}", row.number));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// No defect of the specification is left out, none is listed twice, and each has a verdict.
#[test]
fn every_defect_is_listed() {
    let mut expected = BTreeSet::new();
    for entry in fs::read_dir(root().join("docs/spec")).expect("docs/spec").flatten() {
        let text = read(entry.path());
        let numbers = text.lines().filter_map(|line| line.split_whitespace().next());
        expected.extend(numbers.filter(|number| is_defect(number)).map(str::to_owned));
    }
    let mut listed = BTreeMap::new();
    for row in rows() {
        assert!(
            ["fixed", "kept", "decided", "nothing to see"].contains(&&*row.verdict),
            "{}: {} is no verdict",
            row.number,
            row.verdict
        );
        *listed.entry(row.number).or_insert(0) += 1;
    }
    assert!(expected.len() > 100, "only {} defects in docs/spec", expected.len());
    assert_eq!(listed.keys().cloned().collect::<BTreeSet<_>>(), expected);
    let twice: Vec<_> = listed.iter().filter(|(_, rows)| **rows > 1).collect();
    assert!(twice.is_empty(), "listed twice: {twice:?}");
}

/// The mark says which programs do not run on the C library; a kept behaviour is compared on both.
#[test]
fn marks_are_right() {
    for row in rows() {
        for (name, marked) in &row.shown_by {
            let is_program = !name.contains('.');
            let skipped = is_program && read(file(name)).contains("c-library: not run,");
            assert_eq!(skipped, *marked, "{}: {name}", row.number);
        }
        let compared = |(name, _): &(String, bool)| !name.contains('.') && !name.starts_with("fixed/");
        assert!(
            row.verdict != "kept" || row.shown_by.iter().any(compared),
            "{} is kept, but no program compares it on both libraries",
            row.number
        );
    }
}
