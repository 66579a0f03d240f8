//! Runs each C program of `tests/c` on the installed C library and on ours and compares everything
//! that can be seen: exit status, stdout, stderr and the files left behind.
//!
//! - `tests/c/NAME.c`: both runs must be equal, and get to their end.
//! - `tests/c/fixed/NAME.c` with `NAME.expected`: a defect of the C library that ours does not
//!   have. Ours must show exactly the expected picture; the C library must not (else the test tests
//!   nothing). Where PCP 6.0.5 changed the words of a diagnostic there is a second picture,
//!   `NAME.since-6.0.5.expected`. A line `c-library: not run, REASON` in the C file skips the run
//!   on the C library; with `c-library: fixed in PCP 7` the C library must show the expected
//!   picture from that release on, with `c-library: right on ARCH, REASON` on that architecture.
//!
//! A line `differs on ARCH: REASON` leaves a program out on an architecture (as Rust calls it)
//! where the C library has a defect of its own, `differs with PCP 7: REASON` where ours does not
//! follow that generation, and `not below an emulator: REASON` one that cannot run there; they are
//! counted as ignored.
//!
//! A line `args: A B C` in the C file gives the program arguments, `cc: …` more arguments for the
//! compiler, and `dso: NAME` has tests/c/dso/NAME.c compiled beside the program, which finds it by
//! its own path with `.so` behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use pcp_pmda_test::program::{Course, Program};
use pcp_pmda_test::{Library, compare, profile_dir, run};

/// No program of the suite needs longer, even on a busy machine that does not emulate another.
const LIMIT: Duration = Duration::from_secs(60);

fn main() {
    let trials = [("c", same as fn(&Program) -> Result<(), Failed>), ("c/fixed", fixed)]
        .into_iter()
        .flat_map(|(folder, check)| {
            let trial = move |program: Program| {
                let impossible = run::is_emulated() && program.text.contains("not below an emulator:");
                let left_out = program.differs_here(cfg!(pcp7)) || impossible;
                Trial::test(short(&program).to_owned(), move || check(&program)).with_ignored_flag(left_out)
            };
            Program::all(folder).into_iter().map(trial)
        });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

/// The name of a program below tests/c.
fn short(program: &Program) -> &str {
    program.name.trim_start_matches("c/")
}

/// The C library and ours do the same.
fn same(program: &Program) -> Result<(), Failed> {
    let picture = build(program);
    let (oracle, ours) = (picture(Library::C), picture(Library::Ours));
    if !oracle.starts_with("end: exit") {
        return Err("the program does not end by itself: what comes behind was never compared".into());
    }
    compare::difference(("C library", &oracle), ("ours", &ours)).map_or(Ok(()), |text| Err(text.into()))
}

/// The expected picture; PCP 6.0.5 changed the words of some diagnostics.
fn expectation(source: &Path) -> PathBuf {
    let since = source.with_extension("since-6.0.5.expected");
    if cfg!(since_6_0_5) && since.exists() {
        return since;
    }
    source.with_extension("expected")
}

/// Ours does what it should, and the C library does not.
fn fixed(program: &Program) -> Result<(), Failed> {
    let picture = build(program);
    let expected = fs::read_to_string(expectation(&program.source))?;
    let ours = picture(Library::Ours);
    if let Some(text) = compare::difference(("expected", &expected), ("ours", &ours)) {
        return Err(text.into());
    }
    if !program.suits_the_c_library() {
        return Ok(());
    }
    let theirs = picture(Library::C);
    if program.is_right_in_the_c_library(cfg!(pcp7)) {
        let difference = compare::difference(("expected", &expected), ("C library", &theirs));
        return difference.map_or(Ok(()), |text| Err(text.into()));
    }
    if theirs == expected {
        return Err("the C library passes as well: move the program to tests/c".into());
    }
    Ok(())
}

/// Compiles a program; the answer runs it on a library and describes all that it did.
fn build(program: &Program) -> impl Fn(Library) -> String {
    let file = profile_dir().join("test-c").join(short(program));
    program.compile(&file);
    move |library| {
        let directory = file.with_extension(format!("{library:?}.run"));
        let arguments = program.arguments(Course::Check);
        let outcome = run::run(&file, &arguments, library, &directory, run::patience(LIMIT));
        compare::picture(&outcome, &directory)
    }
}
