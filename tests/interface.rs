//! The public interface of the crate `pmda`, with the full path of each type: `pmda/interface.txt` has all
//! of it. A change of the interface changes that file, so nobody changes it by accident.

use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs};

use pcp_pmda_test::{root, skipped};
use regex::Regex;

/// Runs cargo, and returns what the program prints.
fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root());
    let Output { status, stdout, stderr } = command.output().expect("cargo is there");
    assert!(
        status.success(),
        "cargo {arguments:?}: {}",
        String::from_utf8_lossy(&stderr)
    );
    String::from_utf8(stdout).expect("a text")
}

/// The whole interface, an item a line, as the crate public-api reads it from rustdoc's JSON. A stable
/// rustdoc writes that only if `RUSTC_BOOTSTRAP` is set.
fn interface() -> String {
    const TARGET: &str = "target/interface";
    let json = format!("{TARGET}/doc/pmda.json");
    let options = ["--quiet", "--locked", "--target-dir", TARGET];
    let rustdoc = [
        "--package",
        "pmda",
        "--lib",
        "--",
        "-Z",
        "unstable-options",
        "--output-format",
        "json",
    ];
    cargo(
        &[&["rustdoc"], &options[..], &rustdoc].concat(),
        &[("RUSTC_BOOTSTRAP", "1")],
    );
    let program = ["--manifest-path", "tests/interface/Cargo.toml", "--", &json];
    let items = cargo(&[&["run"], &options[..], &program].concat(), &[]);
    // The prelude repeats items of the crate: its lines are their names.
    let in_prelude = Regex::new(r"pmda::prelude::([A-Za-z0-9_]+)").expect("a pattern");
    let (mut lines, mut prelude) = (Vec::new(), Vec::new());
    // Backwards, as what a type has follows it again where it is in the crate's root.
    for line in items.lines().rev() {
        let (known, line) = match in_prelude.captures(line) {
            Some(found) => (&mut prelude, format!("pub use pmda::prelude::{}", &found[1])),
            None => (&mut lines, line.to_owned()),
        };
        if !known.contains(&line) {
            known.push(line);
        }
    }
    let lines: Vec<String> = lines.into_iter().rev().chain(prelude.into_iter().rev()).collect();
    format!("{}\n{}\n", version(), lines.join("\n"))
}

/// The version of the compiler: public-api reads the JSON of few, and paths of std differ between them.
fn version() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("a compiler");
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    output.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

fn written_down() -> String {
    fs::read_to_string(root().join("pmda/interface.txt")).unwrap_or_default()
}

/// The file is what the sources say. Another compiler than that of the file's first line does not
/// compare it. With `INTERFACE=write` in the environment it is written anew: look at the difference,
/// and say in CHANGELOG.md what it means for agents.
#[test]
fn the_interface_is_the_one_that_is_written_down() {
    let is_to_be_written = env::var_os("INTERFACE").is_some_and(|what| what == "write");
    let known = written_down();
    if !is_to_be_written && known.lines().next() != Some(&version()) {
        let other = known.lines().next().unwrap_or("nobody");
        skipped(&format!(
            "pmda/interface.txt was written by {other}, and is compared with that alone"
        ));
        return;
    }
    let now = interface();
    if is_to_be_written {
        fs::write(root().join("pmda/interface.txt"), &now).expect("the sources can be written");
        return;
    }
    let only_in = |one: &str, other: &str, sign: char| -> Vec<String> {
        let other: Vec<&str> = other.lines().collect();
        let lines = one.lines().filter(|line| !other.contains(line));
        lines.map(|line| format!("{sign} {line}")).collect()
    };
    let differs = [only_in(&known, &now, '-'), only_in(&now, &known, '+')].concat();
    assert!(
        now == known,
        "the interface of the crate pmda has changed; INTERFACE=write cargo test --test interface takes it over\n{}",
        differs.join("\n")
    );
}

/// Types of other crates than Rust's are in the harness alone, and are those that the guide names.
#[test]
fn types_of_other_crates() {
    const CRATES: [&str; 4] = ["alloc", "core", "pmda", "std"];
    // Functions of their implementations begin with them.
    const PRIMITIVES: [&str; 13] = [
        "bool", "f32", "f64", "i8", "i16", "i32", "i64", "str", "u8", "u16", "u32", "u64", "usize",
    ];
    let root_of_path = Regex::new(r"(?:^|[^A-Za-z0-9_:>])([a-z_][a-z0-9_]*)::").expect("a pattern");
    let known = written_down();
    let others: Vec<&str> = known
        .lines()
        .filter(|line| {
            let line = match line.contains("pmda::testing::") {
                true => line
                    .replace("pmda_core::ident::InDom", "")
                    .replace("pmda_core::ident::MetricId", ""),
                false => (*line).to_owned(),
            };
            let mut roots = root_of_path.captures_iter(&line);
            roots.any(|found| !CRATES.contains(&&found[1]) && !PRIMITIVES.contains(&&found[1]))
        })
        .collect();
    assert_eq!(others, [""; 0]);
}

/// All tests of the crate and its examples.
fn tests() -> String {
    fn collect(folder: &Path, is_test: bool, text: &mut String) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_test = is_test || path.file_stem().is_some_and(|name| name == "tests");
            if path.is_dir() {
                collect(&path, is_test, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&path).expect("a source");
                let own = source.split_once("#[cfg(test)]").map_or("", |(_, tests)| tests);
                text.push_str(if is_test { &source } else { own });
            }
        }
    }
    let root = root();
    let mut text = String::new();
    for (folder, is_test) in [
        ("pmda/tests", true),
        ("pmda/examples", true),
        ("pmda/src", false),
        ("tests/agents_in_rust", true),
    ] {
        collect(&root.join(folder), is_test, &mut text);
    }
    text
}

/// Each item that the guide names in place of a function of C, or of its argument, exists, and a
/// test uses it.
#[test]
fn the_guide_names_what_is_there_and_tested() {
    let root = root();
    let read = |file: &str| fs::read_to_string(root.join(file)).expect("part of the sources");
    let (guide, interface, tests) = (read("docs/RUST-AGENTS.md"), written_down(), tests());
    let (_, tables) = guide
        .split_once("## Each function of C, Perl and Python")
        .expect("a heading");
    let (tables, _) = tables.split_once("## Metrics at run time").expect("a heading");
    let name = Regex::new(r"`([A-Z][A-Za-z0-9]+)::([A-Za-z0-9_]+)").expect("a pattern");
    let (mut seen, mut wrong) = (0, Vec::new());
    for found in name.captures_iter(tables) {
        let (of, name) = (&found[1], &found[2]);
        if !Regex::new(&format!(r"pmda::([a-z]+::)*{of}(<[^>]*>)?::{name}(?-u:\b)"))
            .expect("a pattern")
            .is_match(&interface)
        {
            wrong.push(format!("no {of} has {name}"));
        }
        if !Regex::new(&format!(r"(\.|::|fn |const ){name}(?-u:\b)"))
            .expect("a pattern")
            .is_match(&tests)
        {
            wrong.push(format!("{of}::{name} is in no test"));
        }
        seen += 1;
    }
    assert!(wrong.is_empty() && seen > 80, "{seen} names: {wrong:#?}");
}
