//! Settings from pcp.conf and the environment, and libpcp's settings of the process.

use std::ffi::CStr;

use crate::sys::libpcp::bindings as pcp;
use crate::sys::libpcp::cancel;
/// Has SIGPIPE ignored, unless the process has a handler; libpcp does it once (ROOT-10).
pub(crate) use crate::sys::libpcp::safe_externs::__pmIgnoreSignalPIPE;
use crate::sys::libpcp::safe_externs::__pmSetInternalState;
use pmda_core::path::joined;

/// Calls `look` with the value of a variable of pcp.conf or the environment, if it has one.
///
/// A `look` out of line has no frame while libpcp reads pcp.conf, which takes much stack.
pub(crate) fn with_optional<R>(name: &CStr, look: impl FnOnce(&CStr) -> R) -> Option<R> {
    // SAFETY: the name is a C string. libpcp returns NULL or a C string of the environment or of
    // its own, which stays until somebody changes the environment: `look` is done before.
    let value = cancel::disabled(|| unsafe {
        pcp::pmGetOptionalConfig(name.as_ptr())
            .as_ref()
            .map(|value| CStr::from_ptr(value))
    })?;
    Some(look(value))
}

/// A copy of the value of a variable of pcp.conf, if it has one and there is memory.
pub(crate) fn optional(name: &CStr) -> Option<Vec<u8>> {
    with_optional(name, |value| joined(&[value.to_bytes()]).ok())?
}

/// Tells libpcp that this process is an agent, not a client (INIT-11).
pub(crate) fn below_pmapi() {
    __pmSetInternalState(1);
}
