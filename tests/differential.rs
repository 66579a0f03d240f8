//! Runs each C program of `tests/c` on the installed C library and on ours and compares everything that can be
//! seen: exit status, stdout, stderr and the files left behind.
//!
//! - `tests/c/NAME.c`: both runs must be equal.
//! - `tests/c/fixed/NAME.c` with `NAME.expected`: a defect of the C library that ours does not have. Ours must show
//!   exactly the expected picture; the C library must not (else the test tests nothing). Where PCP 6.0.5
//!   changed the words of a diagnostic there is a second picture, `NAME.since-6.0.5.expected`. A line
//!   `c-library: not run, REASON` in the C file skips the run on the C library.
//!
//! A line `args: A B C` in the C file gives the program arguments, `cc: …` more arguments for the compiler.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use support::{Library, compare, compile_c, profile_dir, root, run};

/// No program of the suite needs longer, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

fn main() {
    let mut trials = Vec::new();
    for (folder, check) in [
        ("tests/c", same as fn(&Path) -> Result<(), Failed>),
        ("tests/c/fixed", fixed),
    ] {
        for source in sources(&root().join(folder)) {
            let name = source
                .strip_prefix(root().join("tests/c"))
                .expect("below")
                .with_extension("")
                .display()
                .to_string();
            trials.push(Trial::test(name, move || check(&source)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut found: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|kind| kind == "c"))
        .collect();
    found.sort();
    found
}

/// The C library and ours do the same.
fn same(source: &Path) -> Result<(), Failed> {
    let program = Program::build(source);
    let oracle = program.picture(Library::C);
    let ours = program.picture(Library::Ours);
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
fn fixed(source: &Path) -> Result<(), Failed> {
    let program = Program::build(source);
    let expected = fs::read_to_string(expectation(source))?;
    let ours = program.picture(Library::Ours);
    if let Some(text) = compare::difference(("expected", &expected), ("ours", &ours)) {
        return Err(text.into());
    }
    if program.text.contains("c-library: not run,") {
        return Ok(());
    }
    if program.picture(Library::C) == expected {
        return Err("the C library passes as well: move the program to tests/c".into());
    }
    Ok(())
}

struct Program {
    text: String,
    file: PathBuf,
}

impl Program {
    fn build(source: &Path) -> Program {
        let text = fs::read_to_string(source).expect("a source file");
        let name = source.strip_prefix(root().join("tests/c")).expect("below tests/c");
        let file = profile_dir().join("test-c").join(name).with_extension("");
        fs::create_dir_all(file.parent().expect("a directory")).expect("target is writable");
        let program = Program { text, file };
        let extra = program.setting("cc:");
        compile_c(
            source,
            &program.file,
            &extra.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        program
    }

    fn setting(&self, key: &str) -> Vec<String> {
        let line = self
            .text
            .lines()
            .find_map(|line| line.trim_start_matches([' ', '*', '/']).strip_prefix(key));
        line.unwrap_or_default()
            .trim_end_matches("*/")
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }

    fn picture(&self, library: Library) -> String {
        let directory = self.file.with_extension(format!("{library:?}.run"));
        let args = self.setting("args:");
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        let outcome = run::run(&self.file, &args, library, &directory, LIMIT);
        compare::picture(&outcome, &directory)
    }
}
