//! Below valgrind, some agents and programs on both libraries: ours loses no block more. `make
//! memcheck` runs all of them.

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
        ours.is_some_and(|ours| ours.within(&c)),
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
    };
    let c = counts(10, 2, 1);
    for fine in [counts(10, 2, 1), counts(7, 5, 0), counts(0, 0, 0)] {
        assert!(fine.within(&c), "{fine:?}");
    }
    for more in [counts(11, 0, 0), counts(10, 3, 0), counts(7, 6, 0), counts(0, 0, 2)] {
        assert!(!more.within(&c), "{more:?}");
    }
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

#[test]
fn programs() {
    for name in [
        "c/cache_files",
        "c/event_array",
        "c/help_lookup",
        "c/loop_lost",
        "c/loop_start",
        "c/setup_unloaded",
    ] {
        let program = Program::new(name).expect("a program of tests/c");
        let directory = profile_dir().join("test-memcheck").join(name);
        let file = directory.join("program");
        program.compile(&file);
        let run = |library| memory::program(&program, &file, library, &directory.join(format!("{library:?}")));
        let ((c_outcome, c), (outcome, ours)) = (run(Library::C), run(Library::Ours));
        assert_eq!(c_outcome.end, outcome.end, "{name}");
        let (c, ours) = c.zip(ours).expect("reports of valgrind");
        assert!(ours.within(&c), "{name}: C library: {c:?}, ours: {ours:?}");
    }
}
