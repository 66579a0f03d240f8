//! The system calls of the C programs below strace, on both libraries: those that ours makes and
//! the C library does not, each with the first program that makes it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pcp_pmda_test::differential::file;
use pcp_pmda_test::program::{Course, Program};
use pcp_pmda_test::{Library, run};

use super::{build_library, fresh, said};

/// strace makes a program many times slower.
const LIMIT: Duration = Duration::from_secs(300);

/// Names of system calls, each with the first program that has made it.
type Calls = BTreeMap<String, String>;

/// Traces the programs of tests/c and tests/c/fixed that the C library comes through, and prints the
/// calls that ours alone makes.
///
/// # Errors
/// strace is missing, or has no report of a program, which ran too long.
pub fn run() -> Result<(), String> {
    said("strace", &["--version"]).map_err(|reason| format!("{reason}: install strace"))?;
    build_library()?;
    let (mut theirs, mut ours) = (Calls::new(), Calls::new());
    let mut ran = 0;
    // What a program itself calls is told from what ours calls by the run on the C library.
    let suits = |program: &Program| program.suits_the_c_library() && program.obstacle().is_none();
    for program in ["c", "c/fixed"].into_iter().flat_map(Program::all).filter(suits) {
        program.compile(&file(&program));
        trace(&program, Library::C, &mut theirs)?;
        trace(&program, Library::Ours, &mut ours)?;
        ran += 1;
    }
    ours.retain(|call, _| !theirs.contains_key(call));
    println!("{ran} programs; system calls that the C library does not make:");
    for (call, program) in ours {
        println!("{call} (first in {program})");
    }
    Ok(())
}

/// Adds what a program calls on a library, in all its processes.
fn trace(program: &Program, library: Library, calls: &mut Calls) -> Result<(), String> {
    let compiled = file(program);
    let directory = compiled.with_extension(format!("{library:?}.strace"));
    fresh(&directory.join("var/config"))?;
    let report = compiled.with_extension("strace");
    let _ = fs::remove_file(&report);
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-c", "-U", "name", "-o"])
        .args([&report, &compiled]);
    strace.args(program.arguments(Course::Check));
    run::private(&mut strace, &library.directory(), &directory);
    let outcome = run::bounded(strace, LIMIT);
    let names =
        names(&report).map_err(|reason| format!("{} on {library:?}: {}: {reason}", program.name, outcome.end))?;
    for name in names {
        calls.entry(name).or_insert_with(|| program.name.clone());
    }
    let _ = fs::remove_file(&report);
    fs::remove_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))
}

/// The names between the two lines of strace's table.
fn names(report: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(report).map_err(|error| format!("no report of strace: {error}"))?;
    let mut lines = text.lines();
    let is_rule = |line: &&str| line.starts_with("---");
    lines.find(is_rule).ok_or("the report of strace has no table")?;
    Ok(lines.take_while(|line| !is_rule(line)).map(str::to_owned).collect())
}
