//! What unit tests share.

use std::io::{self, Write};
use std::thread;

/// Says that the test cannot run here, and why. The test returns then, and libtest counts it as
/// passed; `tests/support/check.sh` takes it for skipped by this line, which goes past libtest's
/// capture of output.
pub fn skipped(reason: &str) {
    let thread = thread::current();
    let _ = writeln!(io::stderr(), "skipped: {}: {reason}", thread.name().unwrap_or("?"));
}

/// [`skipped`] unless root runs the tests. Returns whether root does.
pub fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skipped("only root can do what it is about");
    }
    is_root
}
