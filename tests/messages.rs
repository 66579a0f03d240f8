//! `tests/messages.tsv`: every string of the C library's read-only data, and what shows that ours
//! says the same.
//!
//! A string of the installed C library that has no row fails here, a row that no supported release
//! has, a program that is not there, and a program that does not provoke its line on the C library.
//! That ours writes the same lines is what `tests/differential.rs` compares.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use object::{Object, ObjectSection};
use pcp_pmda_test::program::{Course, Program};
use pcp_pmda_test::run::Outcome;
use pcp_pmda_test::{Library, compare, compile_c, profile_dir, release, root, run};
use regex::Regex;

/// The releases whose strings the table has.
const GENERATIONS: [&str; 6] = ["5.3", "6.0", "6.2", "6.3", "7.1", "7.2"];

/// No program needs longer, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The debug options of the programs that the table names as `debug/NAME`.
const DEBUG: &str = "libpmda,indom,labels,attr,desperate";

/// Programs of the table that run under other options: most of the lines are libpcp's own.
const DEBUGGED: [(&str, &str); 5] = [
    ("debug/connect_handshake", "context"),
    ("debug/label_cache", "libpmda,indom,labels"),
    ("debug/loop_debug", "indom,labels,attr,context,pmns,desperate"),
    ("debug/loop_refused", "libpmda,indom,attr,context,pmns"),
    ("debug/loop_requests", "libpmda,indom,attr,context,pmns"),
];

/// The debug options under which every program of tests/c says the same on both libraries. Under
/// `context`, `pmns` and `pdu` libpcp says what it does itself; with `desperate`, `labels` shows
/// how it reads each text.
const COMPARED: [&[&str]; 2] = [
    &["libpmda", "indom", "labels", "attr"],
    &["libpmda", "indom", "attr", "desperate"],
];

/// Programs that are not compared under an option, or under none at all, and why.
const NOT_COMPARED: &[(&str, Option<&str>, &str)] = &[
    (
        "cache_purge",
        Some("indom"),
        "shows thousands of culled instances, which ours frees before the C library does",
    ),
    (
        "fetch_block",
        None,
        "shows each allocation of a fetch, and lines are put together in others",
    ),
    ("label_merge", Some("desperate"), "sets -Dlabels itself"),
    ("label_request", Some("desperate"), "sets -Dlabels itself"),
    ("log_buffered", Some("desperate"), "sets -Dlabels itself"),
    ("loop_debug", Some("desperate"), "sets -Dpdu itself"),
    (
        "loop_large",
        None,
        "shows 200,000 instances again and again: 86 MB of a few lines",
    ),
    ("loop_lost", Some("desperate"), "sets -Dpdu itself"),
    (
        "loop_empty",
        Some("libpmda"),
        "since 6.0.5 the C library shows a metric or a name where there is none, or dies of that (WIRE-72)",
    ),
    (
        "queue_basic",
        Some("libpmda"),
        "shows what lies behind an event without bytes",
    ),
];

fn options(program: &str) -> &'static str {
    let row = DEBUGGED.iter().find(|(name, _)| *name == program);
    row.map_or(DEBUG, |(_, options)| options)
}

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
    match release() {
        [5, ..] => "5.3",
        [6, 0, 0..5] => "6.0",
        [6, 0..3, _] => "6.2",
        [6, ..] => "6.3",
        [7, 0..2, _] => "7.1",
        _ => "7.2",
    }
}

/// The C file of a program.
fn source(program: &str) -> PathBuf {
    let name = program.strip_prefix("debug/").unwrap_or(program);
    root().join("tests/c").join(name).with_extension("c")
}

/// Returns whether the row names a program.
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

/// The pattern of lines with this format.
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
            "p" => r"(?:0x[0-9a-f]+|\(nil\)|P)",
            _ => ".",
        };
        end = whole.end();
    }
    Regex::new(&(text + &regex::escape(&format[end..]))).expect("a pattern")
}

/// The programs of the table, compiled once, and what they do.
struct Stage {
    preload: PathBuf,
    directory: PathBuf,
}

impl Stage {
    fn new(name: &str) -> Stage {
        let directory = profile_dir().join("test-messages").join(name);
        fs::create_dir_all(&directory).expect("target is writable");
        let preload = directory.join("debug.so");
        compile_c(&root().join("tests/support/debug.c"), &preload, &["-shared", "-fPIC"]);
        Stage { preload, directory }
    }

    /// Runs a program of the table on these libraries, and gives what it did and where.
    fn run<const N: usize>(&self, program: &str, libraries: [Library; N]) -> [(Outcome, PathBuf); N] {
        let name = program.strip_prefix("debug/");
        let source = Program::new(&format!("c/{}", name.unwrap_or(program))).expect("a program of tests/c");
        let binary = self.compile(&source, program);
        self.start(&source, &binary, name.map(|_| options(program)), libraries)
    }

    /// Compiles a program under a name.
    fn compile(&self, program: &Program, name: &str) -> PathBuf {
        let binary = self.directory.join(name.replace('/', "-"));
        program.compile(&binary);
        binary
    }

    /// Runs a compiled program, under debug options if there are any.
    fn start<const N: usize>(
        &self,
        program: &Program,
        binary: &Path,
        options: Option<&str>,
        libraries: [Library; N],
    ) -> [(Outcome, PathBuf); N] {
        let debug = options.map(|options| (&*self.preload, options));
        let arguments = program.arguments(Course::Check);
        libraries.map(|library| {
            let directory = binary.with_extension(format!("{library:?}.run"));
            let outcome = run::run_debugging(binary, &arguments, library, &directory, LIMIT, debug);
            (outcome, directory)
        })
    }

    /// The output of a program on the C library.
    fn output(&self, program: &str) -> String {
        let [(outcome, directory)] = self.run(program, [Library::C]);
        let mut bytes = [outcome.stdout, outcome.stderr].concat();
        for entry in fs::read_dir(&directory).expect("its directory").flatten() {
            bytes.extend(fs::read(entry.path()).unwrap_or_default());
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The rows of the installed release that name a program.
fn shown() -> impl Iterator<Item = Row> {
    let installed = |row: &Row| has_program(row) && row.generations.iter().any(|name| name == generation());
    rows().into_iter().filter(installed)
}

#[test]
fn programs_provoke_their_lines() {
    let stage = Stage::new("provoke");
    let mut outputs: BTreeMap<String, String> = BTreeMap::new();
    let mut silent = Vec::new();
    for row in shown() {
        let program = &row.shown_by;
        let shown = outputs.entry(program.clone()).or_insert_with(|| stage.output(program));
        if !pattern(&row.text).is_match(shown) {
            silent.push((row.shown_by, row.text));
        }
    }
    assert!(
        silent.is_empty(),
        "not said by the program that should provoke it: {silent:#?}"
    );
}

/// The options of a lane under which a program is compared; None if it is not.
fn lane(program: &str, options: &[&str]) -> Option<String> {
    let exceptions = NOT_COMPARED.iter().filter(|(name, ..)| *name == program);
    let mut left: Vec<&str> = options.to_vec();
    for (_, option, _) in exceptions {
        let option = (*option)?;
        left.retain(|other| *other != option);
    }
    Some(left.join(","))
}

/// Since 6.0.5 libpcp's decoder tells why it refuses a result that is to be shown. It is not handed
/// one that ours has refused, as 6.0.3's writes beyond its block for some.
fn without_reasons(picture: &str) -> String {
    static REASONS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(Received PDU_RESULT )(?:\s*(?:__pmDecode\w+: PM_ERR_\w+|botch): .*\n)+\s*(\?\?\?)")
            .expect("a valid pattern")
    });
    REASONS.replace_all(picture, "$1$2").into_owned()
}

/// The picture without the lines about arguments that are NULL, which the C library does not write
/// (MAIN-59).
fn without_refusals(picture: &str) -> String {
    static REFUSALS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?m)^.*pmda\w+: argument \S+ must not be NULL\n").expect("a valid pattern"));
    REFUSALS.replace_all(picture, "").into_owned()
}

/// The picture without what libpcp writes itself about instances, attributes and label sets that
/// are sent or received: ours has a codec of its own, and shows them under `-Dpdu` only (WIRE-78).
fn without_libpcp(picture: &str) -> String {
    static LIBPCP: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?mx) ^pmInResult\ dump\ from\ .*\n (\ \ \[\d+\].*\n)*
            | __pmDecodeAttr\ \[len=.*\n
            | ^__pmSendLabel\(ident=.*\n ((\[\d+\]\ )?pmLabelSet.*\n | \ .*\n)*",
        )
        .expect("a valid pattern")
    });
    LIBPCP.replace_all(picture, "").into_owned()
}

/// The programs of `tests/differential.rs` say the same with debug options.
#[test]
fn programs_say_the_same_under_debug_options() {
    let stage = Stage::new("compare");
    let programs = Program::all("c").into_iter();
    let programs: Vec<_> = programs.filter(|one| one.obstacle().is_none()).collect();
    let next = AtomicUsize::new(0);
    let compare = |program: &Program| {
        let name = program.name.trim_start_matches("c/");
        let binary = stage.compile(program, name);
        let lanes = COMPARED.iter().filter_map(|options| lane(name, options));
        let difference = |options: String| {
            let pictures = stage.start(program, &binary, Some(&options), [Library::C, Library::Ours]);
            let [oracle, ours] = pictures
                .map(|(outcome, directory)| compare::picture(&outcome, &directory))
                .map(|picture| without_libpcp(&without_refusals(&without_reasons(&picture))));
            let difference = compare::difference(("C library", &oracle), ("ours", &ours))?;
            Some(format!("{name} under -D{options}: {difference}"))
        };
        lanes.filter_map(difference).collect::<Vec<_>>()
    };
    let work = || {
        let mine = || programs.get(next.fetch_add(1, Ordering::Relaxed));
        std::iter::from_fn(mine).flat_map(compare).collect::<Vec<_>>()
    };
    let differences = thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        let results = workers.into_iter().map(|worker| worker.join().expect("no panic"));
        results.flatten().collect::<Vec<_>>()
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Each program that is not compared exists.
#[test]
fn exceptions_are_programs() {
    for (program, ..) in NOT_COMPARED {
        assert!(source(program).exists(), "no program {program}");
    }
}

/// Why `loop_empty` is not compared under -Dlibpmda.
#[test]
fn empty_stores_are_shown_with_a_metric() {
    let stage = Stage::new("empty");
    let program = Program::new("c/loop_empty").expect("a program of tests/c");
    let binary = stage.compile(&program, "loop_empty");
    let pictures = stage.start(&program, &binary, Some("libpmda"), [Library::C, Library::Ours]);
    let [oracle, ours] = pictures.map(|(outcome, directory)| compare::picture(&outcome, &directory));
    let metric = oracle.contains("Received PDU_RESULT npmids 0, [0] ") || oracle.contains("agent: signal");
    assert_eq!(metric, release() >= [6, 0, 5], "{oracle}");
    assert!(!ours.contains("npmids 0,") && !ours.contains("agent: signal"), "{ours}");
}
