//! What is linked into the library is what docs/DEPENDENCIES.md lists, each with its licence and its reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

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

/// Crate and licence of all that cargo links on this platform.
fn linked(root: &Path) -> BTreeMap<String, String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--edges", "normal", "--prefix", "none", "--locked", "--offline"])
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
    crates.filter(|(name, _)| name != env!("CARGO_PKG_NAME")).collect()
}

#[test]
fn every_dependency_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/DEPENDENCIES.md")).expect("docs/DEPENDENCIES.md");
    assert_eq!(listed(&text), linked(root));
}
