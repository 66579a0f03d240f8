//! The agent as a daemon.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    pmda_tasks::main()
}
