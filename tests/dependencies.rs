//! What is linked into the library is what docs/DEPENDENCIES.md lists, each with its licence and
//! its reason; what builds and tests it has licences that fit, and all of it comes from one
//! registry.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Whether a crate is part of this repository.
fn is_ours(name: &str) -> bool {
    let name = name.trim_matches('"');
    ["pcp-pmda", "pmda"].iter().any(|ours| name.starts_with(ours))
}

/// Crate and licence of each line of the table.
fn listed(text: &str) -> BTreeMap<String, String> {
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| {
        let mut cells = row.split('|').skip(1).map(str::trim);
        let mut cell = || cells.next().expect("three columns").to_owned();
        let (name, licence, why) = (cell(), cell(), cell());
        assert!(!why.is_empty(), "{name} has no reason");
        (name, licence)
    })
    .collect()
}

/// Crate and licence of all that cargo uses on this platform by dependencies of this kind.
fn used(root: &Path, edges: &str) -> BTreeMap<String, String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--edges", edges, "--prefix", "none", "--locked", "--offline"])
        .args(["--format", "{p}|{l}"])
        .current_dir(root)
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let rows = text.lines().filter_map(|line| line.split_once('|'));
    let crates = rows.map(|(package, licence)| {
        let name = package.split_whitespace().next().expect("a name");
        (name.to_owned(), licence.trim_end_matches(" (*)").to_owned())
    });
    crates.filter(|(name, _)| !is_ours(name)).collect()
}

#[test]
fn every_dependency_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/DEPENDENCIES.md")).expect("docs/DEPENDENCIES.md");
    assert_eq!(listed(&text), used(root, "normal"));
}

/// An agent in Rust is built from at most 19 crates, itself not counted; five of them are
/// parking_lot and what it needs.
#[test]
fn agents_in_rust_are_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            "pmda-load",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
        ])
        .args(["--no-dedupe", "--locked", "--offline", "--format", "{p}"])
        .current_dir(root)
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let crates: BTreeSet<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(
        crates.contains("pmda-load") && crates.contains("pmda-core"),
        "{crates:?}"
    );
    // Each has its reason in docs/DEPENDENCIES.md.
    assert!(crates.len() <= 22, "{crates:?}");
}

/// One licence of each crate is permissive, or, for what is never part of the library, leaves files
/// under their own terms.
#[test]
fn licences_fit() {
    const PERMISSIVE: [&str; 5] = ["MIT", "Apache-2.0", "ISC", "BSD-3-Clause", "Unlicense"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let linked = used(root, "normal");
    for (name, licence) in used(root, "all") {
        // All of "A AND B", one of "A OR B", which older crates write "A/B".
        let fits = |one: &str| {
            let build_only = matches!(one, "MPL-2.0" | "Unicode-3.0") && !linked.contains_key(&name);
            PERMISSIVE.contains(&one) || build_only
        };
        let choices = |text: &str| {
            let text = text.replace(['(', ')'], "").replace('/', " OR ");
            text.split(" OR ").any(|one| fits(one.trim()))
        };
        assert!(licence.split(" AND ").all(choices), "{name}: {licence}");
    }
}

/// Everything that is not our own comes from crates.io, with a checksum; nothing from a repository
/// or a directory.
#[test]
fn sources_are_known() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let Ok(text) = fs::read_to_string(root.join(lock)) else {
            continue;
        };
        for package in text.split("[[package]]").skip(1) {
            let field = |name: &str| {
                package
                    .lines()
                    .find_map(|line| line.strip_prefix(&format!("{name} = ")))
            };
            if field("name").is_some_and(is_ours) {
                continue;
            }
            let source = field("source").expect("not a part of this repository");
            assert_eq!(
                source, "\"registry+https://github.com/rust-lang/crates.io-index\"",
                "{package}"
            );
            assert!(field("checksum").is_some(), "{package}");
        }
    }
}

/// What deny.toml says of RUSTSEC-2026-0009: of all crates only two use `time`.
#[test]
fn dates_are_read_by_the_crates_of_cookies() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--workspace", "--invert", "time", "--edges", "no-proc-macro"])
        .args([
            "--depth",
            "1",
            "--prefix",
            "none",
            "--locked",
            "--offline",
            "--format",
            "{p}",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let names: BTreeSet<_> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, BTreeSet::from(["cookie", "cookie_store", "time"]));
}
