//! Work that is interrupted by calls into C, and its driver: the only place where control is handed
//! to C's own functions.
//!
//! What calls functions of an agent, or waits, is a [`Machine`]: each step returns the call to
//! make, and the machine is resumed with the answer. The driver makes the calls. During a call,
//! only the driver's frame is on the stack; it holds no lock, borrow or destructor. So a callback
//! may call the library again, and may leave with longjmp, `pthread_exit` or a cancellation.

pub(crate) mod guard;

use std::mem::ManuallyDrop;

use crate::drive::guard::{CReturn, Outcome, step};

/// What a machine wants next.
pub(crate) enum Step<C, D> {
    /// A call into C; the machine goes on when it gets the answer.
    Call(C),
    /// Nothing: this is the outcome.
    Done(D),
}

/// Work that is interrupted by calls into C.
///
/// Neither a machine nor its calls and answers have anything to drop: the driver checks that at
/// compile time. What they own is in a [`NoDropCell`].
pub(crate) trait Machine {
    /// A call into C that the machine asks for.
    type Call;
    /// What comes back from it.
    type Answer;
    /// The outcome.
    type Done;

    /// The first step.
    fn start(&mut self) -> Step<Self::Call, Self::Done>;

    /// The next step, after the call that the last one has asked for.
    fn resume(&mut self, answer: Self::Answer) -> Step<Self::Call, Self::Done>;
}

/// Something that a machine owns across a call into C. It leaks when the call does not return: no
/// code of the library runs then that could free it.
pub(crate) struct NoDropCell<T>(ManuallyDrop<Option<T>>);

impl<T> NoDropCell<T> {
    /// With a value.
    pub(crate) const fn new(value: T) -> NoDropCell<T> {
        NoDropCell(ManuallyDrop::new(Some(value)))
    }

    /// Empty.
    pub(crate) const fn none() -> NoDropCell<T> {
        NoDropCell(ManuallyDrop::new(None))
    }

    /// Puts a value in, and drops the one before.
    pub(crate) fn set(&mut self, value: T) {
        *self.0 = Some(value);
    }

    /// A shared reference to the value, if it was not taken.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// The value, if it was not taken.
    pub(crate) fn get(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }

    /// Takes the value out: from now on it is dropped like any other.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}

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
