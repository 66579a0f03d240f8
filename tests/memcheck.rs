//! Below valgrind, some agents and programs on both libraries: ours loses no block more, and
//! valgrind says nothing of ours that it does not say of the C library. `make -C tests memcheck`
//! runs all of them.

use std::collections::BTreeSet;
use std::fs;

use pcp_pmda_test::memory::{self, Counts, Dso, Opener};
use pcp_pmda_test::program::Program;
use pcp_pmda_test::{Library, profile_dir};

/// The first of these agents that the package has as a DSO.
fn agent(names: &[&str], opener: Opener) {
    let all = Dso::all();
    let agent = names
        .iter()
        .find_map(|name| all.iter().find(|agent| agent.name == *name));
    let (c, ours) = agent
        .expect("an agent of the package")
        .both(opener)
        .expect("starts on the C library");
    assert!(
        ours.as_ref().is_some_and(|ours| ours.within(&c)),
        "C library: {c:?}, ours: {ours:?}"
    );
}

/// Which of the lost blocks are only possibly lost is a matter of chance, how many are not.
#[test]
fn no_block_more() {
    let counts = |definite, possible, errors| Counts {
        definite,
        possible,
        errors,
        remarks: BTreeSet::new(),
    };
    let c = counts(10, 2, 1);
    for fine in [counts(10, 2, 1), counts(7, 5, 0), counts(0, 0, 0)] {
        assert!(fine.within(&c), "{fine:?}");
    }
    for more in [counts(11, 0, 0), counts(10, 3, 0), counts(7, 6, 0), counts(0, 0, 2)] {
        assert!(!more.within(&c), "{more:?}");
    }
}

/// A warning that the C library does not cause is one too many.
#[test]
fn no_remark_more() {
    let directory = profile_dir().join("test-memcheck/remarks");
    fs::create_dir_all(&directory).expect("target is writable");
    let counts = |warnings: &[&str]| {
        let mut report = String::from("==7== Memcheck\n==7== Command: ./program\n==7== Parent PID: 6\n==7== \n");
        report.extend(warnings.iter().flat_map(|warning| ["--7-- ", warning, "\n"]));
        report += "==7== \n==7== HEAP SUMMARY:\n==7==     in use at exit: 1 bytes in 1 blocks\n";
        report += "==7== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n";
        fs::write(directory.join("report.7"), report).expect("target is writable");
        Counts::so_far(&directory).expect("a whole report")
    };
    let (none, call, other) = (
        counts(&[]),
        counts(&["WARNING: unhandled amd64-linux syscall: 437"]),
        counts(&["WARNING: unhandled amd64-linux syscall: 434"]),
    );
    assert!(none.remarks.is_empty(), "{none:?}");
    assert!(none.within(&call) && !call.within(&other));
    assert!(!call.within(&none), "{call:?}");
}

#[test]
fn sample_in_dbpmda() {
    agent(&["sample"], Opener::Dbpmda);
}

#[test]
fn sample_in_a_local_context() {
    agent(&["sample"], Opener::Pminfo);
}

/// Since PCP 7 Debian has linux in a package of its own.
#[test]
fn agent_of_the_system_in_dbpmda() {
    agent(&["linux", "sockets"], Opener::Dbpmda);
}

/// Runs programs of tests/c: on ours they lose no block more, and valgrind has no report that it
/// does not have for the C library. A program that says that it loses nothing runs on ours alone.
fn programs(names: &[&str]) {
    for name in names {
        let program = Program::new(&format!("c/{name}")).expect("a program of tests/c");
        let directory = profile_dir().join("test-memcheck").join(name);
        let file = directory.join("program");
        program.compile(&file);
        let run = |library| memory::program(&program, &file, library, &directory.join(format!("{library:?}")));
        if program.loses_nothing() {
            let (outcome, ours) = run(Library::Ours);
            let ours = ours.expect("a report of valgrind");
            assert!(ours.are_clean(), "{name}: {}: {ours:?}", outcome.end);
            continue;
        }
        let ((c_outcome, c), (outcome, ours)) = (run(Library::C), run(Library::Ours));
        assert_eq!(c_outcome.end, outcome.end, "{name}");
        let (c, ours) = c.zip(ours).expect("reports of valgrind");
        assert!(ours.within(&c), "{name}: C library: {c:?}, ours: {ours:?}");
    }
}

// Every family whose functions make system calls: valgrind says so if it does not know one. The
// valgrind of Debian 12 is the oldest that agents meet.

/// Loads, saves, snapshots and a file that is kept under another name: the calls of
/// `core/src/dir_entry.rs`.
#[test]
fn files_of_caches() {
    programs(&["cache_files", "fixed/cache_unread"]);
}

#[test]
fn files_of_help_texts_and_names() {
    programs(&["help_open", "help_lookup", "init_help", "tree_root"]);
}

#[test]
fn sockets_and_pipes() {
    programs(&["connect_sockets", "connect_handshake", "root_client", "root_refused"]);
}

// Families whose functions make much memory: a block that is forgotten is seen here. `make try M=1
// C=fetch` does the same for all programs of a family.

#[test]
fn fetches() {
    programs(&["fetch_lookup", "fetch_duplicates", "fixed/fetch_values"]);
}

#[test]
fn instances_and_labels() {
    programs(&["instance_table", "label_request", "label_merge"]);
}

#[test]
fn queues() {
    programs(&["queue_basic"]);
}

#[test]
fn trees_and_dynamic_metrics() {
    programs(&["tree_life", "dynamic_table"]);
}

#[test]
fn logs_and_options() {
    programs(&["log_buffered", "setup_log_paths", "options_builtin", "setup_unloaded"]);
}

#[test]
fn loops() {
    programs(&["loop_start", "loop_lost", "loop_fifo", "event_array"]);
}
