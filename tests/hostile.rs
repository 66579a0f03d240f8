//! No input from outside can crash the library: hostile calls, hostile PDUs, faults, threads.
//!
//! The work is done by C programs below tests/hostile, as C programs are what uses the library;
//! each runs a short time here and its full course by `make -C tests hostile` (`HOSTILE=full`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use pcp_pmda_test::program::{self, Course, Program};
use pcp_pmda_test::run::Outcome;
use pcp_pmda_test::{Library, profile_dir, root, run};

/// A program of tests/hostile, compiled for the test that runs: others may run the same one.
fn program(name: &str) -> PathBuf {
    let file = scene("test-hostile").join(name);
    let program = Program::new(&format!("hostile/{name}")).expect("a source file");
    program.compile(&file);
    file
}

/// The amount of a program's work: little in `make check`, much with `HOSTILE=full`.
fn amount(name: &str) -> &'static str {
    program::amount(name, Course::of_environment()).expect("a program with an amount")
}

/// A directory of the test that runs, which has its thread's name.
fn scene(kind: &str) -> PathBuf {
    let thread = thread::current();
    profile_dir().join(kind).join(thread.name().expect("a test"))
}

/// Runs a program of tests/hostile on our library, in a directory of its own.
fn hostile(name: &str, args: &[&str]) -> Outcome {
    let program = program(name);
    let directory = scene("test-run/hostile").join(name);
    run::run(&program, args, Library::Ours, &directory, Duration::from_secs(1800))
}

/// Panics with the first lines of what the program has said unless it ended well.
fn expect_success(outcome: &Outcome) -> String {
    assert_eq!(outcome.end, "exit 0", "{}", outcome.excerpt(&scene("test-output")));
    let stdout = String::from_utf8_lossy(&outcome.stdout).into_owned();
    println!("{}", stdout.lines().last().unwrap_or_default());
    stdout
}

/// Every exported function, called with NULL, negative and huge numbers, and lengths without
/// buffers, returns.
///
/// Among these calls are the ones on which the C library crashes (E-5, E-12, E-16, H-4, L-13, N-13,
/// ); NULL and handles of nothing are errors (CACHE-11, EVENT-13, QUEUE-4, MAIN-51).
#[test]
fn hostile_calls_return() {
    let outcome = hostile("calls", &[amount("calls")]);
    expect_success(&outcome);
    // Without an amount it names what it calls: exactly the functions that are exported.
    let called = expect_success(&hostile("calls", &[]));
    let called: BTreeSet<_> = called.lines().map(str::to_owned).collect();
    let map = fs::read_to_string(root().join("capi/exports.map")).expect("the map of exports");
    let names = map.lines().filter_map(|line| line.trim().strip_suffix(';'));
    let exported: BTreeSet<_> = names.filter(|name| name.contains("pmda")).map(str::to_owned).collect();
    assert_eq!(called, exported);
}

/// Mutated PDUs to live agents: each good request after them is served, and an agent whose
/// connection ends ends well.
///
/// A failed read ends the loop (WIRE-12), an absurd length takes no memory (WIRE-13), and a wrong one
/// loses the stream alone (WIRE-14); a body that cannot be decoded is an error of that PDU (WIRE-15,
/// WIRE-51, WIRE-70, WIRE-71, WIRE-76). Nothing ends the process (MAIN-51).
#[test]
fn mutated_pdus() {
    expect_success(&hostile("pdus", &[amount("pdus")]));
}

/// The debug output about mutated PDUs: libpcp's decoders get none of the PDUs that would crash
/// them (MAIN-30).
#[test]
fn mutated_pdus_shown() {
    let options = "pdu,labels,libpmda,context,attr,pmns,indom,profile,desperate";
    expect_success(&hostile("pdus", &[amount("pdus"), "1", "4", options]));
}

/// Single bytes, ends in the middle, interrupted system calls, a reader that is gone, full pipes
/// (WIRE-10, WIRE-21, WIRE-22, WIRE-23, MAIN-7).
#[test]
fn disturbed_streams() {
    expect_success(&hostile("streams", &[amount("streams")]));
}

/// Requests of every kind leave the memory of an agent flat.
#[test]
fn requests_leave_memory_flat() {
    expect_success(&hostile("leaks", &[amount("leaks")]));
}

/// SIGKILL while caches are saved, full disks, directories that cannot be written, planted links,
/// two agents of one domain: the file is whole, the old one or the new one (DEF-1, CACHE-71,
/// CACHE-75).
#[test]
fn saves_under_faults() {
    expect_success(&hostile("saves", &[amount("saves")]));
}

/// Eight threads in caches, queues, event arrays and help databases at the same time (H-8,
/// QUEUE-36).
#[test]
fn eight_threads() {
    expect_success(&hostile("threads", &[amount("threads")]));
}

/// A lookup does not wait for a save in another thread, and a thread that has locked a stream may
/// call while others write to it (CACHE-7, H-8).
#[test]
fn nobody_waits_for_disks_and_streams_of_others() {
    expect_success(&hostile("waits", &[amount("waits")]));
}

/// Callbacks that use every family of functions, that leave by `longjmp`, that fork (QUEUE-36,
/// CACHE-63, DEF-11, F-14, E-14).
#[test]
fn callbacks_that_come_back() {
    expect_success(&hostile("reenter", &[]));
}

/// A timer interrupts calls, and its handler calls the library, forks, and calls again: on top of
/// another call -EBUSY at once, anywhere else the usual answer; with one thread and with several.
#[test]
fn signals_on_top_of_calls() {
    expect_success(&hostile("interrupts", &[amount("interrupts"), "1"]));
    expect_success(&hostile("interrupts", &[amount("interrupts"), "4"]));
}

/// The child of a threaded process can use what no other thread was changing, also when it was
/// forked in a callback.
#[test]
fn children_of_threads() {
    expect_success(&hostile("forks", &[amount("forks")]));
}

/// A signal handler on top of a call, or of malloc, ends the process by `exit`.
#[test]
fn exit_on_top_of_calls() {
    expect_success(&hostile("exits", &[amount("exits")]));
}

/// Descriptors run out in calls that open files, and no program that an agent starts has any of the
/// library's (DEF-1, DEF-20, HELP-20, ROOT-31).
#[test]
fn descriptors_run_out() {
    expect_success(&hostile("descriptors", &[amount("descriptors")]));
}

/// Files whose system calls are interrupted by signals, or fail (CACHE-71, CACHE-90, HELP-20).
#[test]
fn files_fail() {
    println!("{}", expect_success(&hostile("file_faults", &[amount("file_faults")])));
}

/// The life of an agent under filters of seccomp: one that kills at each call that neither the C
/// library makes nor the list of docs/OPERATING.md has; and for each call of the list some that
/// refuse it, where nothing is lost but what needs the call.
#[test]
#[cfg(target_arch = "x86_64")]
fn sandboxes() {
    let (file, directory) = (program("sandbox"), scene("test-run/hostile").join("sandbox"));
    let run =
        |mode: &[&str], library| expect_success(&run::run(&file, mode, library, &directory, Duration::from_secs(600)));
    let listed: BTreeSet<_> = run(&["list"], Library::Ours).lines().map(str::to_owned).collect();
    let text = fs::read_to_string(root().join("docs/OPERATING.md")).expect("a document");
    let line = text
        .lines()
        .find(|line| line.starts_with("- **seccomp**"))
        .expect("a line about seccomp");
    let (list, _) = line.split_once('.').expect("a list that ends");
    let documented: BTreeSet<_> = list.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    assert_eq!(documented, listed);
    let theirs = run(&["trace"], Library::C);
    let mut allowed = vec!["kill"];
    allowed.extend(theirs.split_whitespace());
    run(&allowed, Library::Ours);
    run(&["refuse"], Library::Ours);
}

/// A DSO agent is opened and closed again and again (MAIN-41).
#[test]
fn dso_opened_and_closed() {
    let agent = program("agent_dso");
    let agent = agent.to_str().expect("a path in UTF-8");
    expect_success(&hostile("dso", &[amount("dso"), agent]));
}

/// Runs a program of tests/hostile that chooses which of its allocations fail.
fn without_memory(name: &str) {
    /// Built once: a test must not write the file while the programs of another one have it mapped.
    static PRELOAD: LazyLock<PathBuf> = LazyLock::new(|| program("fail_malloc"));
    let (program, preload) = (program(name), format!("LD_PRELOAD={}", PRELOAD.display()));
    let directory = profile_dir().join("test-run/hostile").join(name);
    let args = [preload.as_str(), program.to_str().expect("a path in UTF-8")];
    let limit = Duration::from_secs(120);
    let outcome = run::run(Path::new("/usr/bin/env"), &args, Library::Ours, &directory, limit);
    println!("{}", expect_success(&outcome));
}

/// Each allocation of a call in turn fails: an error code, and the next call works (FETCH-10,
/// FETCH-53, INST-70).
#[test]
fn memory_runs_out() {
    without_memory("memory");
}

/// A message of the log without memory: the line is written, and the process lives.
#[test]
fn memory_runs_out_in_the_log() {
    without_memory("log_memory");
}

/// Each allocation of a call on a cache in turn fails: `-ENOMEM` and an unchanged cache, or the
/// usual answer. Nothing else, and no end of the process (CACHE-21, CACHE-62, CACHE-71, CACHE-90).
#[test]
fn memory_runs_out_in_caches() {
    without_memory("cache_memory");
}

/// The same in event arrays and queues (EVENT-12, EVENT-24, QUEUE-10, E-17).
#[test]
fn memory_runs_out_in_queues() {
    without_memory("event_memory");
}

/// The same for agent setup, help and labels, and with all allocations failing from one on
/// (INIT-10, L-10, H-5).
#[test]
fn memory_runs_out_in_families() {
    without_memory("family_memory");
}

/// The same for trees, dynamic metrics and pmdaroot (TREE-21, DYN-20).
#[test]
fn memory_runs_out_in_trees() {
    without_memory("tree_memory");
}

/// The same in the main loop: requests of every kind, what is no request, lost connections, debug
/// output; and a request that is larger than the memory there is.
#[test]
fn memory_runs_out_in_the_loop() {
    without_memory("loop_memory");
}
