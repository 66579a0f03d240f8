//! `tests/messages.tsv`: every string of the C library's read-only data, and what shows that ours says the same.
//!
//! A string of the installed C library that has no row fails here, a row that no supported release has, a program that
//! is not there, and a program that does not provoke its line on the C library. That ours writes the same lines is
//! what `tests/differential.rs` compares.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use object::{Object, ObjectSection};
use pcp_pmda_test::{Library, compile_c, profile_dir, root, run};
use regex::Regex;

/// The releases whose strings the table has.
const GENERATIONS: [&str; 3] = ["6.0", "6.3", "7.2"];

struct Row {
    generations: Vec<String>,
    shown_by: String,
    text: String,
}

fn rows() -> Vec<Row> {
    let table = fs::read_to_string(root().join("tests/messages.tsv")).expect("the table");
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let parse = |line: &str| {
        let cells: Vec<_> = line.splitn(3, '\t').collect();
        let [generations, shown_by, text] = cells[..] else {
            panic!("not three cells: {line}")
        };
        Row {
            generations: generations.split(' ').map(str::to_owned).collect(),
            shown_by: shown_by.to_owned(),
            text: unescape(text),
        }
    };
    lines.map(parse).collect()
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                other => other.expect("something behind a backslash"),
            },
            other => other,
        });
    }
    plain
}

/// The strings of three characters and more in the read-only data of the installed C library.
fn strings() -> BTreeSet<String> {
    let bytes = fs::read(Library::C.file()).expect("the C library");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let section = file.section_by_name(".rodata").expect("read-only data");
    let data = section.data().expect("its bytes");
    let is_text = |piece: &&[u8]| {
        let text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | 0x1b);
        piece.len() >= 3 && piece.iter().all(text)
    };
    let pieces = data.split(|byte| *byte == 0).filter(is_text);
    pieces
        .map(|piece| String::from_utf8_lossy(piece).into_owned())
        .collect()
}

/// Which of the generations is installed.
fn generation() -> &'static str {
    if cfg!(since_7_2) {
        "7.2"
    } else if cfg!(since_6_0_5) {
        "6.3"
    } else {
        "6.0"
    }
}

/// The C file of a program.
fn source(program: &str) -> PathBuf {
    let name = program.strip_prefix("debug/").unwrap_or(program);
    root().join("tests/c").join(name).with_extension("c")
}

/// Whether the row names a program.
fn has_program(row: &Row) -> bool {
    !["part: ", "none: ", "open: "]
        .iter()
        .any(|kind| row.shown_by.starts_with(kind))
}

#[test]
fn every_string_has_a_row() {
    let rows = rows();
    let known: BTreeSet<_> = rows.iter().map(|row| &row.text).collect();
    assert_eq!(known.len(), rows.len(), "a string has two rows");
    let strings = strings();
    let missing: Vec<_> = strings.iter().filter(|text| !known.contains(text)).collect();
    assert!(
        missing.is_empty(),
        "strings of the C library without a row: {missing:#?}"
    );
    for row in &rows {
        let unknown = row
            .generations
            .iter()
            .find(|name| !GENERATIONS.contains(&name.as_str()));
        assert!(unknown.is_none() && !row.generations.is_empty(), "{:?}", row.text);
        if row.generations.iter().any(|name| name == generation()) {
            assert!(strings.contains(&row.text), "not in the C library: {:?}", row.text);
        }
        assert!(
            !has_program(row) || source(&row.shown_by).exists(),
            "no program {}",
            row.shown_by
        );
    }
}

/// What a line with this format looks like.
fn pattern(format: &str) -> Regex {
    let conversion = Regex::new(r"%[-0-9.]*(?:ll|l|z)?([sdxpuc])").expect("a pattern");
    let format = format.trim_matches('\n');
    let (mut text, mut end) = (String::new(), 0);
    for found in conversion.captures_iter(format) {
        let whole = found.get(0).expect("a match");
        text += &regex::escape(&format[end..whole.start()]);
        text += match &found[1] {
            "s" => r"[^\n]*",
            "d" => r" *-?\d+",
            "u" => r"\d+",
            "x" => r"[ 0-9a-f]+",
            "p" => r"(?:0x[0-9a-f]+|\(nil\))",
            _ => ".",
        };
        end = whole.end();
    }
    Regex::new(&(text + &regex::escape(&format[end..]))).expect("a pattern")
}

/// What a program shows on the C library.
fn output(program: &str, preload: &Path) -> String {
    let file = source(program);
    let text = fs::read_to_string(&file).expect("a source file");
    let setting = |key: &str| -> Vec<String> {
        let line = text
            .lines()
            .find_map(|line| line.trim_start_matches([' ', '*', '/']).strip_prefix(key));
        let words = line.unwrap_or_default().trim_end_matches("*/").split_whitespace();
        words.map(str::to_owned).collect()
    };
    let name = program.replace('/', "-");
    let binary = profile_dir().join("test-messages").join(&name);
    fs::create_dir_all(binary.parent().expect("a directory")).expect("target is writable");
    let (extra, args) = (setting("cc:"), setting("args:"));
    compile_c(&file, &binary, &extra.iter().map(String::as_str).collect::<Vec<_>>());
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let directory = binary.with_extension("run");
    let debug = program.starts_with("debug/").then_some(preload);
    let outcome = run::run_debugging(&binary, &args, Library::C, &directory, Duration::from_secs(60), debug);
    let mut bytes = [outcome.stdout, outcome.stderr].concat();
    for entry in fs::read_dir(&directory).expect("its directory").flatten() {
        bytes.extend(fs::read(entry.path()).unwrap_or_default());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn programs_provoke_their_lines() {
    let preload = profile_dir().join("test-messages/debug.so");
    fs::create_dir_all(preload.parent().expect("a directory")).expect("target is writable");
    compile_c(&root().join("tests/support/debug.c"), &preload, &["-shared", "-fPIC"]);
    let mut outputs: BTreeMap<String, String> = BTreeMap::new();
    let mut silent = Vec::new();
    for row in rows() {
        if !has_program(&row) || !row.generations.iter().any(|name| name == generation()) {
            continue;
        }
        let shown = outputs
            .entry(row.shown_by.clone())
            .or_insert_with(|| output(&row.shown_by, &preload));
        if !pattern(&row.text).is_match(shown) {
            silent.push((row.shown_by, row.text));
        }
    }
    assert!(
        silent.is_empty(),
        "not said by the program that should provoke it: {silent:#?}"
    );
}
