//! The list of functions by their version nodes: how many C programs of the tests name each, and
//! how many binaries of the Debian package pcp import it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol};
use pcp_pmda_test::root;

/// Prints the list.
pub fn run() -> Result<(), String> {
    let nodes = nodes(&read(&root().join("capi/exports.map"))?);
    let (programs, imports) = (named(&nodes)?, imported());
    let count = |counts: &BTreeMap<String, u32>, name: &str| counts.get(name).copied().unwrap_or(0);
    let mut lists: BTreeMap<(u32, u32), Vec<String>> = BTreeMap::new();
    for (name, node) in &nodes {
        let entry = format!("{name} {}/{}", count(&programs, name), count(&imports, name));
        lists.entry(number(node)).or_default().push(entry);
    }
    for ((major, minor), names) in &lists {
        println!("{major}.{minor}: {}", names.join(", "));
    }
    println!("{} functions", nodes.len());
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The version node of each function of the map.
fn nodes(map: &str) -> BTreeMap<String, String> {
    let (mut nodes, mut node) = (BTreeMap::new(), "");
    for line in map.lines() {
        if let Some(rest) = line.strip_prefix("PCP_PMDA_") {
            node = rest.split_whitespace().next().unwrap_or_default();
        } else if let Some(name) = line.trim().strip_suffix(';') {
            if name.trim_start_matches('_').starts_with("pmda") {
                nodes.insert(name.to_owned(), node.to_owned());
            }
        }
    }
    nodes
}

/// A node's number, as nodes are sorted: 3.2 before 3.12.
fn number(node: &str) -> (u32, u32) {
    let parse = |digits: &str| digits.parse().unwrap_or_default();
    node.split_once('.')
        .map_or((0, 0), |(major, minor)| (parse(major), parse(minor)))
}

/// The number of C files below tests/c and tests/hostile that name each function.
fn named(nodes: &BTreeMap<String, String>) -> Result<BTreeMap<String, u32>, String> {
    let mut counts = BTreeMap::new();
    for file in ["tests/c", "tests/hostile"]
        .iter()
        .flat_map(|folder| files(&root().join(folder)))
    {
        if file.extension().is_some_and(|kind| kind == "c" || kind == "h") {
            let text = read(&file)?;
            let words: BTreeSet<_> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
            for word in words.into_iter().filter(|word| nodes.contains_key(*word)) {
                *counts.entry(word.to_owned()).or_insert(0) += 1;
            }
        }
    }
    Ok(counts)
}

/// The number of binaries of the package that import each function.
fn imported() -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for file in files(&pcp_pmda_test::pcp::home().join("root")) {
        let Some(bytes) = fs::read(&file).ok().filter(|bytes| bytes.starts_with(b"\x7fELF")) else {
            continue;
        };
        let Ok(binary) = object::File::parse(&*bytes) else {
            continue;
        };
        let symbols = binary.dynamic_symbols().filter(ObjectSymbol::is_undefined);
        let names: BTreeSet<_> = symbols
            .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
            .collect();
        for name in names
            .into_iter()
            .filter(|name| name.trim_start_matches('_').starts_with("pmda"))
        {
            *counts.entry(name).or_insert(0) += 1;
        }
    }
    counts
}

/// All files below a folder; links are not followed.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}
