//! A shared object in a host that has no memory for its answers.

use std::time::Duration;

use pcp_pmda_test::run::bounded;
use pcp_pmda_test::{compile_c, root};

use crate::agents::{environment, object, text};

/// An answer is long because of the number of instances, names and labels, or the length of a text.
/// When memory for these is refused, a request fails with `-ENOMEM` or does without it, no answer
/// lacks a part, and the next request works. Smaller allocations end the process, as everywhere in
/// Rust: they are a matter of the standard library and of the agent.
#[test]
fn no_memory_for_answers() {
    let (environment, _) = environment("no_memory_for_answers", &["ticking"]);
    let tests = root().join("tests");
    let (host, preload) = (
        environment.directory.join("host"),
        environment.directory.join("fail_malloc.so"),
    );
    compile_c(&tests.join("agents_in_rust/memory.c"), &host, &[]);
    compile_c(&tests.join("hostile/fail_malloc.c"), &preload, &["-shared", "-fPIC"]);
    let mut command = environment.command(&host);
    command.env("LD_PRELOAD", &preload).arg(object("ticking")).arg("512");
    let answer = text(&bounded(command, Duration::from_secs(300)));
    assert!(answer.ends_with("[exit 0]\n"), "{answer}");
    // The requests that have such an allocation.
    for request in ["fetch", "instances", "text", "labels", "store", "profile", "attribute"] {
        let line = answer.lines().find(|line| line.starts_with(&format!("{request}: ")));
        assert!(line.is_some_and(|line| !line.contains(": 0 allocations")), "{answer}");
    }
}
