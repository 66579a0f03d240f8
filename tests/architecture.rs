//! The rules of docs/ARCHITECTURE.md for the sources: the files that may have unsafe code, and the
//! modules that may use each other.

use std::collections::BTreeSet;
use std::fs;

use pcp_pmda_sources::imports::{self, Arrows};
use pcp_pmda_test::{root, rust_files};
use regex::{Captures, Regex};

/// Returns whether a file may have unsafe code: those about C's structures, the operating system
/// and libpcp, and the exported functions of a module.
fn touches_c(path: &str) -> bool {
    path.starts_with("view/") || path.starts_with("sys/") || path.ends_with("/exports.rs")
}

/// The sources of the library without their comments.
fn sources() -> Vec<(String, String)> {
    let mut list = rust_files("src");
    for (_, text) in &mut list {
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        *text = code.collect::<Vec<_>>().join("\n");
    }
    list
}

/// Only files that touch C have unsafe code: elsewhere the word `unsafe` does not occur, neither as
/// code nor as a lint that is allowed.
#[test]
fn unsafe_code_is_in_its_rooms() {
    let word = Regex::new(r"(?-u:\b)unsafe(?:_code)?(?-u:\b)").expect("valid");
    let spoken: Vec<_> = sources()
        .into_iter()
        .filter(|(path, code)| !touches_c(path) && word.is_match(code))
        .map(|(path, _)| path)
        .collect();
    assert!(spoken.is_empty(), "unsafe is spoken of in {spoken:?}");
}

/// The crate for agents in Rust has unsafe blocks in front of the hosts of shared objects alone.
#[test]
fn agents_in_rust_are_safe() {
    let block = Regex::new(r"(?-u:\b)unsafe(?: extern [^{]*)?\s*\{").expect("valid");
    for (path, code) in rust_files("pmda") {
        let code: String = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        let found = block.find_iter(&code).count();
        assert!(
            found == 0 || path.starts_with("src/dso/") || path.starts_with("src/memory/"),
            "{path}"
        );
    }
}

/// The modules of the C library, from the top to the bottom: what is in one line may use what is in
/// a later one.
const LIBRARY: &[&[&str]] = &[
    &["open"],
    &["mainloop", "methods", "labels", "help"],
    &["fetch"],
    &["instances", "queues", "dynamic"],
    &["cache", "events", "tree", "root"],
    &["state"],
    &["agent"],
    &["boundary", "view"],
    &["sys"],
];

/// The modules of pmda-core.
const CORE: &[&[&str]] = &[
    &["queue"],
    &[
        "cache",
        "dynamic",
        "fetch",
        "help",
        "instances",
        "namespace",
        "table_index",
        "wire",
    ],
    &["events", "save"],
    &[
        "dir_entry",
        "handles",
        "ident",
        "index",
        "labels",
        "leak",
        "profile",
        "root",
    ],
    &["path"],
    &["constants", "error", "log"],
    &["testing"],
];

/// The modules of the crate for agents in Rust. A file that is not named here may be anywhere
/// outside of a circle.
const AGENTS: &[&[&str]] = &[
    &["run", "testing"],
    &["daemon", "dso"],
    &["session"],
    &["metrics"],
    &["indom", "labels", "value"],
    &["memory"],
];

/// The modules of the derive macros.
const DERIVE: &[&[&str]] = &[
    &["emit"],
    &["input"],
    &["metric"],
    &["error", "literal", "template", "tokens"],
];

/// The sources of a crate: the paths below its `src`, and the texts.
fn crate_texts(name: &str) -> Vec<(String, String)> {
    rust_files(name)
        .into_iter()
        .filter(|(path, _)| !path.starts_with("bin/"))
        .collect()
}

/// The arrows that do not lead from a line of the list to a later one.
fn arrows_up(arrows: &Arrows, lines: &[&[&str]]) -> Vec<String> {
    let line = |module: &str| lines.iter().position(|modules| modules.contains(&module));
    let mut up = Vec::new();
    for (file, uses) in arrows {
        for other in uses {
            let (module, below) = (imports::module(file), imports::module(other));
            if let (true, Some(from), Some(to)) = (module != below, line(module), line(below)) {
                if to <= from {
                    up.push(format!("{file} -> {other}"));
                }
            }
        }
    }
    up
}

/// No file uses another one that uses it, however many are between them; nor does a module.
fn assert_untied(folder: &str, lines: &[&[&str]]) {
    let mut arrows = imports::arrows(&crate_texts(folder));
    let circles = imports::circles(&arrows);
    assert!(circles.is_empty(), "{folder}: files in a circle: {circles:#?}");
    // The root of a crate publishes what is in its modules.
    arrows.remove("lib.rs");
    let circles = imports::circles(&imports::modules(&arrows));
    assert!(circles.is_empty(), "{folder}: modules in a circle: {circles:#?}");
    let up = arrows_up(&arrows, lines);
    assert!(up.is_empty(), "{folder}: arrows up: {up:#?}");
}

/// Every module has its line, so that a new one gets a place, too.
fn assert_listed(folder: &str, lines: &[&[&str]]) {
    let listed: BTreeSet<&str> = lines.concat().into_iter().chain(["lib"]).collect();
    let sources = crate_texts(folder);
    let modules: BTreeSet<&str> = sources.iter().map(|(path, _)| imports::module(path)).collect();
    assert_eq!(modules, listed, "{folder}");
}

#[test]
fn no_arrow_of_the_library_leads_up() {
    assert_listed("src", LIBRARY);
    assert_untied("src", LIBRARY);
}

#[test]
fn no_arrow_of_core_leads_up() {
    assert_listed("core/src", CORE);
    assert_untied("core/src", CORE);
}

#[test]
fn no_arrow_of_the_agents_crate_leads_up() {
    assert_untied("pmda/src", AGENTS);
}

/// A file names the module of what it uses: the list in `lib.rs` is for agents, and so is the prelude.
#[test]
fn the_agents_crate_does_not_use_its_own_list() {
    let nested = Regex::new(r"([a-z_]+)::\{[^{}]*\}").expect("a pattern");
    let by_list = Regex::new(r"(?:^|[^$])crate::(?:\{(?:[^;{}]*,)?\s*)?[A-Z]\w*").expect("a pattern");
    for (path, text) in crate_texts("pmda/src") {
        if ["lib.rs", "prelude.rs"].contains(&&*path) {
            continue;
        }
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        let code = code.collect::<Vec<_>>().join("\n");
        let flat = nested.replace_all(&code, |found: &Captures<'_>| match &found[1] {
            "crate" => found[0].to_owned(),
            _ => String::new(),
        });
        let found = by_list.find(&flat).map(|found| found.as_str().to_owned());
        assert_eq!(found, None, "{path}");
    }
}

#[test]
fn no_arrow_of_the_derive_macros_leads_up() {
    assert_listed("pmda/derive/src", DERIVE);
    assert_untied("pmda/derive/src", DERIVE);
}

#[test]
fn the_agent_openmetrics_is_untied() {
    assert_untied("agents/openmetrics/src", &[]);
}

/// Each file of `tests`, and each folder with a `main.rs`, has its `[[test]]` in `tests/Cargo.toml`:
/// cargo runs no other.
#[test]
fn every_test_file_is_run() {
    let folder = root().join("tests");
    let entries = fs::read_dir(&folder).expect("part of the sources").flatten();
    let path = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        match entry.path().join("main.rs").exists() {
            true => Some(format!("{name}/main.rs")),
            false => Some(name).filter(|name| name.ends_with(".rs")),
        }
    };
    let files: BTreeSet<String> = entries.filter_map(path).collect();
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("part of the sources");
    let listed = manifest.lines().filter_map(|line| line.strip_prefix("path = \""));
    let listed: BTreeSet<String> = listed.map(|path| path.trim_end_matches('"').to_owned()).collect();
    assert_eq!(files, listed, "add a [[test]] to tests/Cargo.toml, or remove one");
}

/// Exported functions are at the top of their family: only other exported functions call them.
#[test]
fn exports_are_known_to_exports() {
    let arrows = imports::arrows(&crate_texts("src"));
    let is_export = |file: &&String| file.ends_with("/exports.rs");
    for (file, uses) in arrows.iter().filter(|(file, _)| !is_export(file)) {
        let known: Vec<_> = uses.iter().filter(is_export).collect();
        assert!(known.is_empty(), "{file} uses {known:?}");
    }
}

/// An arrow that is put in is seen, in each of its forms.
#[test]
fn an_arrow_up_is_seen() {
    let library = crate_texts("src");
    for line in [
        "use crate::cache;",
        "use crate::{state, cache};",
        "fn f() { crate::cache::exists(indom) }",
    ] {
        let mut library = library.clone();
        let (_, text) = library
            .iter_mut()
            .find(|(path, _)| path == "view/table.rs")
            .expect("a file");
        text.insert_str(0, &format!("{line}\n"));
        let arrows = imports::arrows(&library);
        assert!(!imports::circles(&arrows).is_empty(), "{line}");
        assert!(!arrows_up(&arrows, LIBRARY).is_empty(), "{line}");
    }
}

/// The functions of a file that other files can call, that return a `Result`, and whose comment has
/// no `# Errors`. (clippy's `missing_errors_doc` asks for those only that other crates can call.)
fn without_errors(text: &str) -> Vec<(usize, String)> {
    let function = Regex::new(r"^ *pub(\([a-z]+\))? (const )?(unsafe )?fn ").expect("a pattern");
    let fallible = Regex::new(r"^\) -> ([a-z]+::)*Result[ <]").expect("a pattern");
    let lines: Vec<&str> = text.lines().collect();
    let is_bare = |at: &usize| {
        let end = |line: &&&str| line.trim_end().ends_with(['{', ';', '}']);
        let length = lines[*at..].iter().take_while(|line| !end(line)).count() + 1;
        let signature = lines[*at..].iter().take(length).copied().collect::<Vec<_>>().join(" ");
        // Behind the parameters: their own types may name functions that are fallible.
        let mut depth = 0;
        let mut ends = signature.char_indices().filter(|(_, character)| {
            depth += i32::from(*character == '(') - i32::from(*character == ')');
            *character == ')' && depth == 0
        });
        let is_fallible = ends.any(|(end, _)| fallible.is_match(&signature[end..]));
        let above = lines[..*at].iter().rev();
        let mut comment = above.take_while(|line| line.trim_start().starts_with(['/', '#']));
        is_fallible && !comment.any(|line| line.contains("# Errors"))
    };
    let found = (0..lines.len())
        .filter(|at| function.is_match(lines[*at]))
        .filter(is_bare);
    found.map(|at| (at + 1, lines[at].trim().to_owned())).collect()
}

#[test]
fn errors_are_told() {
    let bare = "    pub(super) fn one(\n        more: usize,\n    ) -> io::Result<()> {\n";
    assert_eq!(without_errors(bare).len(), 1);
    assert!(without_errors(&format!("/// # Errors\n/// Some.\n#[cold]\n{bare}")).is_empty());
    assert!(without_errors("pub fn sure() -> usize {\n").is_empty());
    assert!(without_errors("pub fn each(&self, call: impl Fn(&str) -> Result<()>) -> &Self {\n").is_empty());
    let mut report = Vec::new();
    for folder in ["core/src", "src", "pmda/src", "pmda/derive/src"] {
        for (path, text) in rust_files(folder) {
            let found = without_errors(&text).into_iter();
            report.extend(found.map(|(line, text)| format!("{folder}/{path}:{line}: {text}")));
        }
    }
    assert!(report.is_empty(), "fallible, and no # Errors: {report:#?}");
}

/// Lanes that no night runs: what only lists or prepares, and what takes hours.
const BY_HAND: [&str; 10] = [
    "help",
    "setup",
    "syscalls",
    "fuzz",
    "fuzz-corpus",
    "mutants",
    "agents",
    "dist",
    "library",
    "pcp-tree",
];

/// A lane is run by the workflow of the night, or stands in [`BY_HAND`].
#[test]
fn each_lane_runs_at_night() {
    let text = |path: &str| fs::read_to_string(root().join(path)).expect("part of the sources");
    let workflow = text(".github/workflows/nightly.yml");
    let target = Regex::new(r"(?m)^([a-z0-9-]+):[^#\n]*## ").expect("valid");
    for folder in ["tests", "packaging"] {
        for found in target.captures_iter(&text(&format!("{folder}/Makefile"))) {
            let name = &found[1];
            let run = Regex::new(&format!(r"make -C {folder}(?: [\w=.-]+)*? {name}(?:[\s,]|$)")).expect("valid");
            assert!(
                BY_HAND.contains(&name) || run.is_match(&workflow),
                "nightly.yml does not run make -C {folder} {name}"
            );
        }
    }
}

/// Each attribute of `#[metric(…)]` stands in the message about unknown ones, in the table of its documentation,
/// and among the cases of its test; and the code that the macros write takes each field of the parsed metric.
#[test]
fn an_attribute_of_metric_stands_everywhere() {
    let text = |path: &str| fs::read_to_string(root().join(path)).expect("part of the sources");
    let (parser, guide) = (text("pmda/derive/src/metric.rs"), text("pmda/derive/src/lib.rs"));
    let cases = text("tests/agents_in_rust/derived.rs");
    let arm = Regex::new(r#"(?m)^ +\(((?:"[a-z]+"(?: \| )?)+), "#).expect("valid");
    let names: BTreeSet<String> = arm
        .captures_iter(&parser)
        .flat_map(|arm| arm[1].split(" | ").map(str::to_owned).collect::<Vec<_>>())
        .map(|name| name.trim_matches('"').to_owned())
        .collect();
    assert!(names.len() >= 6, "{names:?}");
    let message: String = parser.lines().filter(|line| line.contains("\"expected `")).collect();
    for name in names {
        assert!(
            message.contains(&format!("`{name}")),
            "metric.rs: the message lacks {name}"
        );
        let is_row = |line: &str| line.starts_with("/// | ") && line.contains(&format!("`{name}"));
        assert!(guide.lines().any(is_row), "lib.rs: the table lacks {name}");
        assert!(cases.contains(&name), "derived.rs has no case with {name}");
    }
    let emitter = text("pmda/derive/src/emit.rs");
    let (_, fields) = parser.split_once("pub struct Metric {").expect("a structure");
    let (fields, _) = fields.split_once("\n}").expect("its end");
    let field = Regex::new("(?m)^    pub ([a-z_]+):").expect("valid");
    for field in field.captures_iter(fields) {
        let is_read = emitter.contains(&format!(".{}", &field[1]));
        assert!(is_read, "emit.rs does not read {}", &field[1]);
    }
}
