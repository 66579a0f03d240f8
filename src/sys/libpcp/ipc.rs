//! libpcp's table of descriptors. It is kept up to date for agents that call libpcp's own PDU
//! functions on them (CONN-8).
//!
//! The table grows up to the largest descriptor that libpcp is told of, and for a negative one
//! libpcp does not return. So it is told of open descriptors only.

use std::ffi::c_int;

use crate::sys::libpcp::cancel;
use crate::sys::libpcp::safe_externs::{__pmResetIPC, __pmSetSocketIPC, __pmSetVersionIPC, __pmSocketIPC};

/// Tells libpcp the protocol version of the peer.
pub(crate) fn set_version(fd: c_int, version: c_int) {
    if is_open(fd) {
        cancel::disabled(|| __pmSetVersionIPC(fd, version));
    }
}

/// Tells libpcp that a descriptor is an inet socket.
pub(crate) fn set_socket(fd: c_int) {
    if is_open(fd) {
        cancel::disabled(|| __pmSetSocketIPC(fd));
    }
}

/// Returns whether a descriptor is open.
fn is_open(fd: c_int) -> bool {
    // SAFETY: reads the flags of a descriptor; -1 if it is not open. No memory is involved.
    unsafe { libc::fcntl(fd, libc::F_GETFD) != -1 }
}

/// Tells libpcp that a descriptor is closed now: another file may get its number.
pub(crate) fn forget(fd: c_int) {
    cancel::disabled(|| __pmResetIPC(fd));
}

/// Returns whether libpcp takes a descriptor for an inet socket. The agent may have told it so
/// itself.
pub(crate) fn is_socket(fd: c_int) -> bool {
    cancel::disabled(|| __pmSocketIPC(fd)) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each call with a number that is no descriptor returns (CONN-8).
    #[test]
    fn no_descriptors() {
        for fd in [-1, c_int::MIN, c_int::MAX, 100_000_000] {
            set_version(fd, 2);
            set_socket(fd);
            forget(fd);
            assert!(!is_socket(fd));
        }
    }
}
