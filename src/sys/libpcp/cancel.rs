//! Threads that are cancelled while the library writes a line or a file.
//!
//! A thread with a pending `pthread_cancel` ends inside of the next system call that may wait:
//! unwinding begins there, and would meet frames of ours that have something to drop. libpcp's own
//! frames have nothing, but its locks stay locked: a thread that is cancelled in the middle of
//! `pmNotifyErr` leaves a process behind that can log nothing any more. So whatever may come to
//! such a system call inside of a step runs with the cancelability disabled. The thread ends a
//! little later, where it waits between steps or in the agent.
//!
//! It stands here, and not with the other calls into the system, since libpcp's functions are most
//! of what needs it.

use std::ffi::c_int;

/// `PTHREAD_CANCEL_DISABLE` of every C library for Linux.
const DISABLED: c_int = 1;

unsafe extern "C" {
    /// Also returns the old state.
    safe fn pthread_setcancelstate(state: c_int, before: Option<&mut c_int>) -> c_int;
}

/// Restores the state, also after a panic.
struct Restore(c_int);

impl Drop for Restore {
    fn drop(&mut self) {
        pthread_setcancelstate(self.0, None);
    }
}

/// Works without being cancelled; not for the agent's callbacks.
pub(crate) fn disabled<R>(work: impl FnOnce() -> R) -> R {
    let mut before = DISABLED;
    pthread_setcancelstate(DISABLED, Some(&mut before));
    let _restore = Restore(before);
    work()
}
