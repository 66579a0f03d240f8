//! PCP's own test programs and test agents (Debian's package pcp-testsuite, which `make setup`
//! unpacks), on both libraries.
//!
//! The shell scripts around them, which want a system of their own, are never run: programs and
//! agents are started from here, in private directories.

#[path = "../consumers/survey.rs"]
#[allow(dead_code, reason = "the agents of the package use more of it")]
mod survey;

mod agents;
mod programs;

use std::path::PathBuf;
use std::time::Duration;

/// The time that a program may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A file of the unpacked package.
fn testsuite(path: &str) -> PathBuf {
    let file = pcp_pmda_test::pcp::home().join("testsuite").join(path);
    assert!(file.exists(), "{} is missing: make setup", file.display());
    file
}
