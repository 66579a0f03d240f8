//! The driver of machines: the only place where control is handed to C's own functions.

pub(crate) mod guard;
pub(crate) mod machine;
pub(crate) mod ret;

use crate::drive::guard::{Outcome, step};
use crate::drive::machine::{Machine, Step};
use crate::drive::ret::CReturn;

/// Runs a machine to its end: its steps under the panic guard, and between them, by `call`, the
/// calls into C that it asks for, outside of any guard.
///
/// While C runs, no frame of this library on the stack has anything to drop, to unlock or to catch.
/// So however C leaves the call, by returning, `longjmp`, an exception, `pthread_exit` or
/// `pthread_cancel`, it passes through the library.
#[inline(always)]
pub(crate) fn drive<M: Machine, B>(begin: B, call: impl Fn(M::Call) -> M::Answer) -> <M::Done as CReturn>::C
where
    M::Done: CReturn,
    B: FnOnce() -> Result<M, M::Done>,
{
    drive_reading(begin, |_, wanted| call(wanted))
}

/// [`drive`] for calls that are read from the machine in part: what a step gives stays in registers
/// when it is small.
#[inline(always)]
pub(crate) fn drive_reading<M: Machine, B>(
    begin: B,
    call: impl Fn(&mut M, M::Call) -> M::Answer,
) -> <M::Done as CReturn>::C
where
    M::Done: CReturn,
    B: FnOnce() -> Result<M, M::Done>,
{
    const {
        assert!(!std::mem::needs_drop::<M>() && !std::mem::needs_drop::<B>());
        assert!(!std::mem::needs_drop::<M::Call>() && !std::mem::needs_drop::<M::Answer>());
        assert!(!std::mem::needs_drop::<M::Done>());
    }
    let mut place = None;
    let begin = || match begin() {
        Ok(machine) => place.insert(machine).start(),
        Err(done) => Step::Done(done),
    };
    let first = step(begin, outcome_of);
    match (first, &mut place) {
        (Outcome::Call(wanted), Some(machine)) => ended(go_on(machine, wanted, call)),
        (end, _) => ended(end),
    }
}

/// Runs a machine that is a part of another one, inside of a call that the other one has asked for.
#[inline(always)]
pub(crate) fn run<M: Machine>(machine: &mut M, call: impl Fn(&mut M, M::Call) -> M::Answer) -> <M::Done as CReturn>::C
where
    M::Done: CReturn,
{
    match step(|| machine.start(), outcome_of) {
        Outcome::Call(wanted) => ended(go_on(machine, wanted, call)),
        end => ended(end),
    }
}

/// Makes a call, and all that follow.
#[inline(always)]
fn go_on<M: Machine>(
    machine: &mut M,
    mut wanted: M::Call,
    call: impl Fn(&mut M, M::Call) -> M::Answer,
) -> Outcome<M::Call, M::Done> {
    loop {
        let answer = call(machine, wanted);
        match step(|| machine.resume(answer), outcome_of) {
            Outcome::Call(next) => wanted = next,
            end => return end,
        }
    }
}

/// What became of a step that did not panic.
#[inline(always)]
fn outcome_of<C, D>(step: Step<C, D>) -> Outcome<C, D> {
    match step {
        Step::Call(wanted) => Outcome::Call(wanted),
        Step::Done(done) => Outcome::Done(done),
    }
}

/// What C gets in the end.
#[inline(always)]
fn ended<C, D: CReturn>(end: Outcome<C, D>) -> D::C {
    match end {
        Outcome::Done(done) => done.into_c(),
        Outcome::Busy => D::busy(),
        Outcome::Failed | Outcome::Call(_) => D::failed(),
    }
}
