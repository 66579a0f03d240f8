//! The fuzz targets without a fuzzer: the corpus (with every input that has ever failed) and
//! mutations of it, the same ones in each run.

#![allow(
    unsafe_code,
    reason = "the targets are C callers of the library; a test turns stderr away"
)]

#[path = "../fuzz/replay.rs"]
mod replay;
#[path = "../fuzz/targets.rs"]
mod targets;

use std::fs::{self, File};
use std::os::fd::{AsRawFd, FromRawFd};
use std::panic;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use pcp_pmda_test::{Library, compile_c, profile_dir, root, run};

/// Sends what the library logs to /dev/null, thousands of lines about bad input, until it is
/// dropped.
struct Quiet(File);

impl Quiet {
    fn new() -> Quiet {
        let null = File::options().write(true).open("/dev/null").expect("/dev/null");
        // SAFETY: no memory is touched; the new descriptor belongs to nobody else.
        let before = unsafe { File::from_raw_fd(libc::dup(2)) };
        // SAFETY: no memory is touched.
        unsafe { libc::dup2(null.as_raw_fd(), 2) };
        Quiet(before)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // SAFETY: no memory is touched.
        unsafe { libc::dup2(self.0.as_raw_fd(), 2) };
    }
}

/// Counts the panics of this thread: the library's guard would turn them into error codes.
fn count_panics() -> &'static AtomicU32 {
    static PANICS: AtomicU32 = AtomicU32::new(0);
    let (before, here) = (panic::take_hook(), thread::current().id());
    panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(u32::from(thread::current().id() == here), Ordering::Relaxed);
        before(info);
    }));
    &PANICS
}

#[test]
fn corpus_and_mutations() {
    let panics = count_panics();
    let quiet = Quiet::new();
    for (name, target) in targets::TARGETS {
        let inputs = replay::corpus(root(), name);
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for input in &inputs {
            target(input);
        }
        for input in replay::mutated(&inputs) {
            target(&input);
        }
        assert_eq!(
            panics.load(Ordering::Relaxed),
            0,
            "{name}: a panic inside of the library"
        );
    }
    drop(quiet);
}

/// The corpus of `cache_operations` and mutations of it, as far as the C library is well defined:
/// both libraries agree.
#[test]
fn cache_operations_as_in_the_c_library() {
    let directory = profile_dir().join("test-fuzz");
    fs::create_dir_all(&directory).expect("target is writable");
    let mut inputs = replay::corpus(root(), "cache_operations");
    let mutated: Vec<_> = replay::mutated(&inputs).collect();
    inputs.extend(mutated);
    let length = |input: &Vec<u8>| u16::try_from(input.len()).expect("a short input").to_be_bytes();
    let all: Vec<u8> = inputs
        .iter()
        .flat_map(|input| [&length(input)[..], input].concat())
        .collect();
    let (file, program) = (
        directory.join("cache_operations.input"),
        directory.join("cache_operations"),
    );
    fs::write(&file, all).expect("target is writable");
    compile_c(&root().join("fuzz/cache_operations.c"), &program, &[]);
    let output = [Library::C, Library::Ours].map(|library| {
        let place = directory.join(format!("{library:?}"));
        let file = file.to_str().expect("a path in UTF-8");
        run::run(&program, &[file], library, &place, Duration::from_secs(120))
    });
    assert_eq!([&output[0].end, &output[1].end], ["exit 0"; 2]);
    let lines = output
        .each_ref()
        .map(|outcome| outcome.stdout.split(|byte| *byte == b'\n'));
    let [theirs, ours] = lines;
    for (number, (theirs, ours)) in theirs.zip(ours).enumerate() {
        assert_eq!(
            theirs.escape_ascii().to_string(),
            ours.escape_ascii().to_string(),
            "line {number}"
        );
    }
    assert!(output[0].stdout == output[1].stdout, "the outputs differ");
    assert!(output[0].stdout.len() > inputs.len(), "there is output");
}
