//! The tools around the tests: `cargo run -p pcp-pmda-test -- COMMAND`. The Makefile has a target
//! for each.

mod commands;

use std::env;
use std::process::ExitCode;

const USAGE: &str = "usage: pcp-pmda-test COMMAND

  asan [PROGRAM...]      the C programs and some of PCP's agents on a library with AddressSanitizer
  differential NAME...   the C programs of tests/c with such names, on both libraries
  memcheck [NAME...]     the C programs with such names and PCP's agents below valgrind, on both libraries
  races [MILLISECONDS]   eight threads on a library with ThreadSanitizer
  syscalls               the system calls of the C programs that ours makes and the C library does not

A PROGRAM is a name below tests, such as c/cache_files, or agent/NAME. asan and races need the nightly toolchain.";

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let outcome = match command.as_str() {
        "asan" => commands::asan::run(rest),
        "differential" if !rest.is_empty() => commands::differential::run(rest),
        "memcheck" => commands::memcheck::run(rest),
        "races" => commands::races::run(rest),
        "syscalls" if rest.is_empty() => commands::syscalls::run(),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
