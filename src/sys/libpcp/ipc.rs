//! libpcp's table of descriptors, as agents call its PDU functions (CONN-8). It grows up to the
//! number that it is told, and does not return for a negative one: it is told of open descriptors
//! only.

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

fn is_open(fd: c_int) -> bool {
    // SAFETY: asks for the flags of a descriptor, which is an error when it is not open.
    unsafe { libc::fcntl(fd, libc::F_GETFD) != -1 }
}

pub(crate) fn forget(fd: c_int) {
    cancel::disabled(|| __pmResetIPC(fd));
}

/// Returns whether a descriptor is an inet socket for libpcp, perhaps told by the agent.
pub(crate) fn is_socket(fd: c_int) -> bool {
    cancel::disabled(|| __pmSocketIPC(fd)) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

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
