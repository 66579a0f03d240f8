//! The driver of machines: the only place where control is handed to C's own functions.

use super::guard::guard;
use super::ret::{CReturn, Inside, Outcome};
use crate::agent::{Machine, Step};

/// Runs a machine to its end: its steps under the panic guard, and between them, by `call`, the calls
/// into C that it asks for, outside of any guard.
///
/// While C runs, no frame of this library on the stack has anything to drop, to unlock or to catch. So
/// however C leaves the call, by returning, `longjmp`, an exception, `pthread_exit` or
/// `pthread_cancel`, it passes through the library.
#[inline(always)]
pub(super) fn drive<M: Machine, B>(begin: B, call: impl Fn(M::Call) -> M::Answer) -> <M::Done as CReturn>::C
where
    M::Done: CReturn,
    B: FnOnce() -> Result<M, M::Done>,
{
    const {
        assert!(!std::mem::needs_drop::<M>() && !std::mem::needs_drop::<B>());
        assert!(!std::mem::needs_drop::<M::Call>() && !std::mem::needs_drop::<M::Answer>());
        assert!(!std::mem::needs_drop::<M::Done>());
    }
    let mut machine = match guard(|| Inside(begin())) {
        Outcome::Value(Ok(machine)) => machine,
        Outcome::Value(Err(done)) => return done.into_c(),
        Outcome::Failed => return M::Done::failed(),
        Outcome::Busy => return M::Done::busy(),
    };
    let mut step = guard(|| Inside(machine.start()));
    loop {
        match step {
            Outcome::Value(Step::Call(wanted)) => {
                let answer = call(wanted);
                step = guard(|| Inside(machine.answer(answer)));
            }
            Outcome::Value(Step::Done(done)) => return done.into_c(),
            Outcome::Failed => return M::Done::failed(),
            Outcome::Busy => return M::Done::busy(),
        }
    }
}
