//! The tables of defects in docs/COMPATIBILITY.md against the tests: they alone have those numbers,
//! each with a mark that means something, and what is kept is compared on both libraries.
//! That each number is cited by a test is checked with the other facts (`spec.rs`).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The families of numbers that are defects as a whole, and the parts of others that are.
const FAMILIES: [&str; 8] = ["DEF", "IDEF", "F", "L", "E", "N", "R", "H"];
const PARTS: [(&str, std::ops::RangeInclusive<u32>); 2] = [("WIRE", 70..=77), ("MAIN", 50..=52)];

/// The marks behind a number, but for "fixed", which is none.
const MARKS: [&str; 3] = ["(decided)", "(kept)", "(unseen)"];

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
    let Ok(digits) = digits.parse::<u32>() else {
        return false;
    };
    let within = |(part, numbers): &(&str, std::ops::RangeInclusive<u32>)| *part == family && numbers.contains(&digits);
    FAMILIES.contains(&family) || PARTS.iter().any(within)
}

/// Each entry of the page: its number, and its mark or nothing.
fn entries() -> Vec<(String, Option<String>)> {
    let text = read(root().join("docs/COMPATIBILITY.md"));
    let mut entries = Vec::new();
    for line in text.lines() {
        let mut words = line.trim_start_matches("| ").split_whitespace();
        let number = words.next().unwrap_or_default();
        if is_defect(number) {
            let mark = words.next().filter(|word| word.starts_with('('));
            entries.push((number.to_owned(), mark.map(str::to_owned)));
        }
    }
    entries
}

/// The texts of the C programs that are compared on both libraries.
fn programs() -> Vec<String> {
    let entries = fs::read_dir(root().join("tests/c")).expect("tests/c");
    let paths = entries.flatten().map(|entry| entry.path());
    let texts = paths
        .filter(|path| path.extension().is_some_and(|kind| kind == "c"))
        .map(read);
    texts.filter(|text| !text.contains("c-library: not run,")).collect()
}

/// Whether a text cites a number.
fn cites(text: &str, number: &str) -> bool {
    let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    words.any(|word| word == number)
}

/// None is listed twice or described elsewhere in the specification, and each mark is known.
#[test]
fn every_defect_is_listed() {
    let entries = entries();
    assert!(entries.len() > 100, "only {} defects", entries.len());
    let listed: BTreeSet<_> = entries.iter().map(|(number, _)| number.as_str()).collect();
    assert_eq!(listed.len(), entries.len(), "a defect is listed twice");
    for (number, mark) in &entries {
        let mark = mark.as_deref();
        assert!(
            mark.is_none_or(|mark| MARKS.contains(&mark)),
            "{number}: {mark:?} is no mark"
        );
    }
    for entry in fs::read_dir(root().join("docs/spec")).expect("docs/spec").flatten() {
        for line in read(entry.path()).lines() {
            let number = line.split_whitespace().next().unwrap_or_default();
            assert!(
                !is_defect(number),
                "{number} belongs in docs/COMPATIBILITY.md, not in {}",
                entry.path().display()
            );
        }
    }
}

/// A kept behaviour is compared on both libraries.
#[test]
fn what_is_kept_is_compared() {
    let programs = programs();
    for (number, mark) in entries() {
        let compared = programs.iter().any(|text| cites(text, &number));
        assert!(
            mark.as_deref() != Some("(kept)") || compared,
            "{number} is kept, but no program compares it on both libraries"
        );
    }
}
