//! What unit tests share.

use std::io::{self, Write};
use std::thread;

/// Returns whether root runs the tests. Unless it does, says that the test cannot run, as
/// `pmda_core::testing::skipped`.
pub(crate) fn is_root() -> bool {
    let is_root = nix::unistd::geteuid().is_root();
    if !is_root {
        let thread = thread::current();
        let name = thread.name().unwrap_or("?");
        let _ = writeln!(io::stderr(), "skipped: {name}: only root can do what it is about");
    }
    is_root
}
