//! Threads that are cancelled while the library writes a line or a file.
//!
//! A thread with a pending `pthread_cancel` ends inside of the next system call that may wait.
//! Unwinding begins there, and would meet frames of ours that have something to drop, and that hold
//! the lock. libpcp's frames have nothing to drop, but its locks stay locked: after a thread was
//! cancelled in the middle of `pmNotifyErr`, no thread of the process can log any more. So each
//! function that may reach such a system call inside of a step runs with the cancelability of the
//! thread disabled: by `Token::apart`, or directly where nothing is waited for. The thread ends a
//! little later, where it waits between steps or in the agent.
//!
//! This is a file of `sys/libpcp`, as nearly all of these functions are libpcp's.

use std::ffi::c_int;

/// `PTHREAD_CANCEL_DISABLE` of every C library for Linux.
const DISABLED: c_int = 1;

unsafe extern "C" {
    /// Also returns the old state.
    safe fn pthread_setcancelstate(state: c_int, before: Option<&mut c_int>) -> c_int;
}

/// The cancelability to restore on drop, so also after a panic.
struct Restore(c_int);

impl Drop for Restore {
    fn drop(&mut self) {
        pthread_setcancelstate(self.0, None);
    }
}

/// Does `work` with the thread's cancelability disabled. `work` calls nothing of the agent: an
/// agent's callbacks may be cancelled.
pub(crate) fn disabled<R>(work: impl FnOnce() -> R) -> R {
    let mut before = DISABLED;
    pthread_setcancelstate(DISABLED, Some(&mut before));
    let _restore = Restore(before);
    work()
}
