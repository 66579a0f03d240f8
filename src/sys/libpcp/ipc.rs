//! What libpcp remembers about descriptors: agents call its own PDU functions on them (CONN-8). It
//! refuses descriptors that do not exist.

use std::ffi::c_int;

use crate::sys::libpcp::cancel;
use crate::sys::libpcp::numbers::{__pmResetIPC, __pmSetSocketIPC, __pmSetVersionIPC, __pmSocketIPC, __pmVersionIPC};

/// Tells libpcp which protocol version the peer speaks. Nothing depends on the outcome.
pub(crate) fn set_version(fd: c_int, version: c_int) {
    cancel::disabled(|| __pmSetVersionIPC(fd, version));
}

/// Tells libpcp that a descriptor is an inet socket. Nothing depends on the outcome.
pub(crate) fn set_socket(fd: c_int) {
    cancel::disabled(|| __pmSetSocketIPC(fd));
}

/// Tells libpcp that a descriptor is closed now: another one may get its number.
pub(crate) fn forget(fd: c_int) {
    cancel::disabled(|| __pmResetIPC(fd));
}

/// Whether a descriptor is an inet socket as far as libpcp knows: the agent may have told it so
/// itself.
pub(crate) fn is_socket(fd: c_int) -> bool {
    cancel::disabled(|| __pmSocketIPC(fd)) > 0
}

/// The protocol version that a peer speaks as far as libpcp knows, which says itself under
/// -Dcontext when it does not.
pub(crate) fn version(fd: c_int) -> c_int {
    cancel::disabled(|| __pmVersionIPC(fd))
}
