//! A save or a load of a cache takes no more of a thread's stack than with the C library: agents'
//! threads may have little. `tests/hostile/stack.c` measures it; not with `TEST_LIBRARY=debug`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use pcp_pmda_test::program::Program;
use pcp_pmda_test::{Library, profile_dir, run};

const PAGE: usize = 4096;

/// Saves and loads need little stack (CACHE-70, CACHE-90).
#[test]
fn saves_and_loads() {
    let file = profile_dir().join("test-hostile/stack");
    Program::new("hostile/stack").expect("a source file").compile(&file);
    let [c, ours] = [Library::C, Library::Ours].map(|library| measured(&file, library));
    println!("C library: {c:?}, ours: {ours:?}");
    assert_eq!(c.len(), 4);
    for (call, bytes) in &c {
        // In a first call most is the dynamic linker's, which looks up names below other frames of
        // ours than of the C library: there the pages count, in which a stack is given.
        let limit = if call.ends_with("first") {
            bytes.next_multiple_of(PAGE)
        } else {
            *bytes
        };
        assert!(ours[call] <= limit, "{call}: {} bytes, C library {bytes}", ours[call]);
    }
}

/// Bytes of stack by call.
fn measured(file: &Path, library: Library) -> BTreeMap<String, usize> {
    let directory = profile_dir()
        .join("test-run/hostile/stack")
        .join(format!("{library:?}"));
    let outcome = run::run(file, &[], library, &directory, Duration::from_secs(60));
    assert_eq!(outcome.end, "exit 0", "{}", String::from_utf8_lossy(&outcome.stderr));
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let line = |line: &str| {
        let (call, bytes) = line.rsplit_once(' ')?;
        Some((call.to_owned(), bytes.parse().ok()?))
    };
    text.lines()
        .map(|text| line(text).unwrap_or_else(|| panic!("{text}")))
        .collect()
}
