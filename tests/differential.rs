//! Runs each C program of `tests/c` on the installed C library and on ours and compares everything
//! that can be seen: exit status, stdout, stderr and the files left behind.
//!
//! - `tests/c/NAME.c`: both runs must be equal, and get to their end.
//! - `tests/c/fixed/NAME.c` with `NAME.expected`: a defect of the C library that ours does not
//!   have. Ours must show exactly the expected picture; the C library must not (else the test tests
//!   nothing). Where PCP 6.0.5 or 6.3.1 changed a diagnostic there is a second picture,
//!   `NAME.since-6.3.1.expected`. A line `c-library: not run, REASON` in the C file skips the run
//!   on the C library; with `c-library: fixed in PCP 7` the C library must show the expected
//!   picture from that release on, with `c-library: right on ARCH, REASON` on that architecture.
//!
//! A line `differs on ARCH: REASON` leaves a program out on an architecture (as Rust calls it)
//! where the C library has a defect of its own, `differs with PCP N: REASON` in a generation that
//! ours does not follow, or in which the C library has a defect, `differs with
//! -Bsymbolic-functions: REASON` where the C library was linked so, and `not below an emulator:
//! REASON` one that cannot run there; they are counted as ignored.
//!
//! A line `args: A B C` in the C file gives the program arguments, `cc: …` more arguments for the
//! compiler, and `dso: NAME` has tests/c/dso/NAME.c compiled beside the program, which finds it by
//! its own path with `.so` behind.

use libtest_mimic::{Arguments, Completion, Trial};
use pcp_pmda_test::differential::check;
use pcp_pmda_test::program::Program;

fn main() {
    let programs = ["c", "c/fixed"].into_iter().flat_map(Program::all);
    let trials = programs.map(|program| {
        Trial::ignorable_test(program.short_name().to_owned(), move || match program.obstacle() {
            Some(reason) => Ok(Completion::ignored_with(reason)),
            None => Ok(check(&program).map(|()| Completion::Completed)?),
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}
