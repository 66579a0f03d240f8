//! However a function of the agent is left, it passes through the library as through the C library:
//! `tests/cpp/leaving.cpp` leaves each callback, method and hook that an agent can hand over in
//! five ways; `tests/cpp/waiting.cpp` cancels threads that wait in the main loop, for a connection
//! or for pmdaroot, and lets an exception reach the main of its agent; `tests/cpp/pending.cpp`
//! cancels threads before the library writes lines and files for them.
//!
//! Not with `TEST_LIBRARY=debug`: in a debug build the frames below a callback have landing pads,
//! which an exception must not meet in a library with an unwinder of its own (docs/ARCHITECTURE.md).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pcp_pmda_test::{Library, compare, profile_dir, root, run};

/// The number of functions that are left.
const SCENES: usize = 31;
/// The number of calls of cancelled threads.
const PENDING: usize = 32;

/// An agent's callbacks may leave in each way: by return, `longjmp`, an exception, the end of the
/// thread (MAIN-53, MAIN-54).
#[test]
fn every_way_out() {
    let output = on_both("leaving");
    let ends = [
        ("return", "returned, returned"),
        ("longjmp", "jumped, jumped"),
        ("exception", "caught, caught"),
        ("pthread_exit", "exited, exited"),
        ("pthread_cancel", "cancelled, cancelled"),
    ];
    let left = |line: &&str| {
        ends.iter()
            .any(|(way, end)| line.ends_with(&format!(", {way}: {end}; then returned; desc returned")))
    };
    assert_eq!(output.lines().filter(left).count(), SCENES * ends.len(), "{output}");
    assert_eq!(output.lines().count(), SCENES * ends.len(), "{output}");
}

/// A function that waits is cancelled, and the next call works (MAIN-53, MAIN-54, ROOT-11).
#[test]
fn cancelled_waits() {
    let output = on_both("waiting");
    let expected = [
        "pmdaroot's introduction, pthread_cancel: cancelled, cancelled; then -22",
        "pmdaroot's answer, pthread_cancel: cancelled, cancelled; then -1",
        "a started agent, pthread_cancel: cancelled, cancelled; then -1",
        "a connection, pthread_cancel: cancelled, cancelled",
        "credentials, pthread_cancel: cancelled, cancelled",
        "waiting, pthread_cancel: cancelled cancelled cancelled then returned",
        "writing, pthread_cancel: cancelled then returned",
        "sending, pthread_cancel: cancelled then returned",
        "main, exception: no values today",
    ];
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
}

/// A thread that is cancelled while the library writes lines and files ends, as with the C library,
/// and the other threads go on (MAIN-57). With the C library they do not always go on: libpcp's log
/// may stay locked for good.
#[test]
fn pending_cancellation() {
    let program = compiled("pending");
    let (c, ours) = (
        output_of(&program, &["once"], &Library::C.directory()),
        output_of(&program, &[], &Library::Ours.directory()),
    );
    for (output, end) in [(c, ": cancelled"), (ours, ": cancelled, returned; then returned")] {
        assert_eq!(
            output.lines().filter(|line| line.ends_with(end)).count(),
            PENDING,
            "{output}"
        );
        assert_eq!(output.lines().count(), PENDING, "{output}");
    }
}

/// The output of a program, which is the same on both libraries.
fn on_both(name: &str) -> String {
    let program = compiled(name);
    let (c, ours) = (
        output_of(&program, &[], &Library::C.directory()),
        output_of(&program, &[], &Library::Ours.directory()),
    );
    if let Some(text) = compare::difference(("C library", &c), ("ours", &ours)) {
        panic!("{text}");
    }
    c
}

/// The program of `tests/cpp` with this name.
fn compiled(name: &str) -> PathBuf {
    let program = profile_dir().join("test-cpp").join(name);
    fs::create_dir_all(program.parent().expect("a directory")).expect("target is writable");
    let output = Command::new("g++")
        .args(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-std=gnu++17", "-o"])
        .arg(&program)
        .arg(root().join(format!("tests/cpp/{name}.cpp")))
        .args(["-lpcp_pmda", "-lpcp", "-lpthread"])
        .output()
        .expect("g++ is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn output_of(program: &Path, arguments: &[&str], library: &Path) -> String {
    let directory = profile_dir()
        .join("test-run")
        .join(program.file_name().expect("a name"));
    fs::create_dir_all(directory.join("var/config")).expect("target is writable");
    let mut command = run::command(program);
    run::private(&mut command, library, &directory);
    command.args(arguments);
    let outcome = run::bounded(command, Duration::from_secs(300));
    assert_eq!(outcome.end, "exit 0", "{}", outcome.excerpt(&directory));
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}
