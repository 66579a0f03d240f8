//! A C program on the C library and on ours, and what both show: how it ended, its output, and the
//! files that it left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::program::{Course, Program};
use super::{Library, compare, profile_dir, release, run};

/// No program of the suite needs longer, even on a busy machine that does not emulate another.
const LIMIT: Duration = Duration::from_secs(60);

/// Two pictures that are not as they should be.
#[derive(Debug)]
pub struct Difference {
    /// The name and the picture on the left: the C library's, or what is expected.
    pub left: (&'static str, String),
    /// The name and the picture on the right.
    pub right: (&'static str, String),
}

/// The fault of a program.
#[derive(Debug)]
pub enum Fault {
    /// The pictures differ.
    Different(Box<Difference>),
    /// The reason why the comparison would prove nothing, or could not be made.
    Void(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Different(difference) => {
                let Difference { left, right } = &**difference;
                let text = compare::difference((left.0, &left.1), (right.0, &right.1));
                f.write_str(&text.unwrap_or_default())
            }
            Fault::Void(reason) => f.write_str(reason),
        }
    }
}

/// Compares what a program of tests/c or tests/c/fixed shows with what it should show.
///
/// # Errors
/// The pictures differ, or the comparison proves nothing.
pub fn check(program: &Program) -> Result<(), Fault> {
    if program.name.starts_with("c/fixed/") {
        fixed(program)
    } else {
        same(program)
    }
}

/// The C library and ours do the same.
fn same(program: &Program) -> Result<(), Fault> {
    let picture = build(program);
    let (oracle, ours) = (picture(Library::C), picture(Library::Ours));
    if !oracle.starts_with("end: exit 0\n") {
        let end = oracle.lines().next().unwrap_or_default();
        return Err(Fault::Void(format!(
            "the program gives up on the C library ({end}): nothing after that point was compared"
        )));
    }
    equal(("C library", oracle.clone()), ("ours", ours))?;
    if program.is_for_debug() {
        return equal(("C library", oracle), ("ours, debug build", picture(Library::Debug)));
    }
    Ok(())
}

/// Ours does what it should, and the C library does not.
fn fixed(program: &Program) -> Result<(), Fault> {
    let picture = build(program);
    let file = expectation(&program.source);
    let expected = fs::read_to_string(&file).map_err(|error| Fault::Void(format!("{}: {error}", file.display())))?;
    equal(("expected", expected.clone()), ("ours", picture(Library::Ours)))?;
    if !program.suits_the_c_library() {
        return Ok(());
    }
    let theirs = picture(Library::C);
    if program.is_right_in_the_c_library(release() >= [7, 0, 0]) {
        return equal(("expected", expected), ("C library", theirs));
    }
    if theirs == expected {
        return Err(Fault::Void(
            "the C library passes as well: move the program to tests/c".to_owned(),
        ));
    }
    Ok(())
}

fn equal(left: (&'static str, String), right: (&'static str, String)) -> Result<(), Fault> {
    if left.1 == right.1 {
        return Ok(());
    }
    Err(Fault::Different(Box::new(Difference { left, right })))
}

/// The expected picture; two releases of PCP changed diagnostics.
fn expectation(source: &Path) -> PathBuf {
    let changes = [([6, 3, 1], "since-6.3.1.expected"), ([6, 0, 5], "since-6.0.5.expected")];
    let happened = changes.into_iter().filter(|(since, _)| release() >= *since);
    let mut files = happened.map(|(_, ending)| source.with_extension(ending));
    files
        .find(|file| file.exists())
        .unwrap_or_else(|| source.with_extension("expected"))
}

/// Compiles a program; the answer runs it on a library and describes all that it did.
fn build(program: &Program) -> impl Fn(Library) -> String {
    let file = file(program);
    program.compile(&file);
    move |library| {
        let directory = file.with_extension(format!("{library:?}.run"));
        let arguments = program.arguments(Course::Check);
        let outcome = run::run(&file, &arguments, library, &directory, run::patience(LIMIT));
        compare::picture(&outcome, &directory)
    }
}

/// The compiled program; what a run on a library leaves behind is in `FILE.C.run` and
/// `FILE.Ours.run`.
#[must_use]
pub fn file(program: &Program) -> PathBuf {
    profile_dir().join("test-c").join(program.short_name())
}
