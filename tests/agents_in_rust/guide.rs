//! docs/RUST-AGENTS.md as it is written: from an empty folder to `pminfo`, and back.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use pcp_pmda_test::{root, scripts};
use regex::Regex;

use crate::agents::{as_author, text};
use crate::derived;

/// The guide's text up to the next heading of the same rank.
fn section(heading: &str) -> String {
    let guide = fs::read_to_string(root().join("docs/RUST-AGENTS.md")).expect("part of the sources");
    let (_, rest) = guide.split_once(&format!("\n## {heading}\n")).expect("a heading");
    rest.split("\n## ").next().unwrap_or(rest).to_owned()
}

/// The blocks of a text, each with the word behind its fence.
fn blocks(text: &str) -> Vec<(String, String)> {
    let each = text.split("```").skip(1).step_by(2);
    each.filter_map(|block| block.split_once('\n'))
        .map(|(word, block)| (word.to_owned(), block.to_owned()))
        .collect()
}

/// The agent that the guide begins with.
fn agent() -> String {
    let blocks = blocks(&section("From an empty folder to `pminfo`"));
    let agent = blocks.into_iter().find(|(word, _)| word == "rust");
    agent.expect("an agent").1
}

/// The shell's blocks in one script, with the agent written where the guide says.
fn script() -> String {
    let mut script = String::new();
    for (word, block) in blocks(&section("From an empty folder to `pminfo`")) {
        match word.as_str() {
            "sh" => script += &block,
            "rust" => script += &format!("cat >src/main.rs <<'END'\n{block}END\n"),
            _ => {}
        }
    }
    let test = blocks(&section("A test without PCP"));
    let test = test.first().expect("a test").1.clone();
    // Then its test, and what is left after Remove.
    script += &format!(
        "pminfo -f traffic || echo removed\ncd ~/traffic\ncat >>src/main.rs <<'END'\n{test}END\ncargo test --quiet\n"
    );
    script
}

#[test]
fn from_an_empty_folder_to_pminfo() {
    let environment = scripts::environment("agents_in_rust/guide");
    let home = tempfile::tempdir().expect("a directory");
    let prepare = |command: &mut Command| {
        as_author(command);
        command.current_dir(root()).env("HOME", home.path());
    };
    let Some(answer) = scripts::run(&environment, &script(), Duration::from_secs(1000), prepare) else {
        return;
    };
    let answer = text(&answer);
    for line in [
        "Check traffic metrics have appeared ... 2 metrics and ",
        "traffic.received\n    inst [0 or \"lo\"] value ",
        "Check traffic metrics have gone away ... OK",
        "test result: ok. 1 passed",
        "[exit 0]",
    ] {
        assert!(answer.contains(line), "{line}\n{answer}");
    }
    assert!(!answer.contains(scripts::RESTARTED), "{answer}");
    let log = environment.directory.join("log/pmcd/traffic.log");
    assert!(log.exists(), "{}", log.display());
}

/// What the guide's pieces of agents leave out: their structures.
const LEFT_OUT: &str = "
    struct Sources { sources: Indom<Source>, metrics: BTreeMap<String, Metric> }
    struct Source { calls: u64 }
    struct Metric {
        is_new: bool,
        cluster: u32,
        kind: Type,
        semantics: Semantics,
        unit: Unit,
        help: String,
        rows: Indom<Value>,
    }
    struct Value(f64);
    impl Value {
        fn atom(&self) -> Atom<'_> {
            self.0.into()
        }
    }
";

/// The agents of which the guide shows a piece compile.
#[test]
fn pieces_of_agents_compile() {
    let piece = |heading: &str| {
        let pieces = blocks(&section(heading)).into_iter().filter(|(word, _)| word == "rust");
        pieces.map(|(_, piece)| piece).collect::<String>()
    };
    let [dynamic, waking] = ["Metrics at run time", "What wakes an agent"].map(piece);
    assert!(!dynamic.is_empty() && !waking.is_empty());
    let uses = "use pmda::prelude::*;\nuse std::collections::BTreeMap;\n";
    let source = format!(
        "#![allow(dead_code, unused_imports)]\nmod dynamic {{\n{uses}{dynamic}{LEFT_OUT}}}\nmod waking {{\n{uses}{waking}}}\n"
    );
    assert_eq!(derived::compile("pieces", "pmda", &source), "");
}

/// The page of the published crate, which is read without the guide, has the same agent.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn the_same_agent_on_the_page_of_the_crate() {
    let block = format!("```rust\n{}```\n", agent());
    let page = fs::read_to_string(root().join("pmda/README.md")).expect("part of the sources");
    assert!(page.contains(&block), "pmda/README.md has another agent");
}

/// The names that a program prints, one a line.
fn names(mut command: Command) -> Vec<String> {
    let output = command.output().expect("installed");
    let printed = String::from_utf8(output.stdout).expect("names");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    printed.lines().map(str::to_owned).collect()
}

/// The functions of the C headers.
fn of_c() -> Vec<String> {
    let function = Regex::new(r"(?-u:\b)((?:__)?pmda[A-Z][A-Za-z]*) *\(").expect("a pattern");
    let comment = Regex::new(r"(?s)/\*.*?\*/").expect("a pattern");
    let text = ["pmda.h", "pmdaroot.h"].map(|file| {
        let text = fs::read_to_string(root().join("include/pcp").join(file)).expect("part of the sources");
        comment.replace_all(&text, "").into_owned()
    });
    let found = function
        .captures_iter(&text.concat())
        .map(|found| found[1].to_owned())
        .collect::<Vec<_>>();
    assert!(found.len() > 120, "{}", found.len());
    found
}

/// The functions and methods of PCP::PMDA: what its manual page names, and what the module exports
/// beside constants.
fn of_perl() -> Vec<String> {
    let mut perldoc = Command::new("sh");
    perldoc.args([
        "-c",
        r#"module=$(perl -e 'for (@INC) { -e "$_/PCP/PMDA.pm" and print("$_/PCP/PMDA.pm"), last }')
        sed -nE 's/^( *|=item )(\$pmda =|) *(\$pmda|PCP::PMDA)->([a-z_0-9]+).*/\4/p; s/^=item (pmda_[a-z_]+).*/\1/p' "$module""#,
    ]);
    let found = names(perldoc);
    assert!(found.len() > 30, "{found:?}");
    found
}

/// The methods of `pcp.pmda`'s classes that an agent calls.
fn of_python() -> Vec<String> {
    let mut python = Command::new("/usr/bin/python3");
    python.args([
        "-c",
        "import ast, importlib.util as util\n\
         tree = ast.parse(open(util.find_spec('pcp.pmda').origin).read())\n\
         for one in ast.walk(tree):\n    \
             if isinstance(one, ast.FunctionDef) and not one.name.startswith('_'): print(one.name)",
    ]);
    let found = names(python);
    assert!(found.len() > 50, "{found:?}");
    found
}

/// Names of `pmda.h` in the guide's tables that are types.
const TYPES: [&str; 2] = ["pmdaInstid", "pmdaMetric"];

/// The guide says of each function of C, Perl and Python what stands for it in Rust, and names no
/// other function of C.
#[test]
fn no_function_is_missing() {
    let section = section("Each function of C, Perl and Python");
    let rows = section.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let named: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let theirs = [of_c(), of_perl(), of_python()].concat();
    let missing: Vec<_> = theirs.iter().filter(|name| !named.contains(name.as_str())).collect();
    let is_of_c = |name: &&&str| {
        let rest = name.strip_prefix("__pmda").or(name.strip_prefix("pmda"));
        rest.is_some_and(|rest| rest.starts_with(char::is_uppercase)) && !TYPES.contains(name)
    };
    let unknown: Vec<_> = named
        .iter()
        .filter(is_of_c)
        .filter(|name| !theirs.iter().any(|theirs| theirs == *name))
        .collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "missing {missing:?}, unknown {unknown:?}"
    );
}
