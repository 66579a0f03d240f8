//! Settings from pcp.conf and the environment, and what libpcp keeps for the process.

use std::ffi::CStr;

use crate::sys::libpcp::bindings as pcp;
use crate::sys::libpcp::cancel;
/// Has SIGPIPE ignored from now on, unless the process has a handler of its own. libpcp does it
/// once (ROOT-10).
pub(crate) use crate::sys::libpcp::safe_externs::__pmIgnoreSignalPIPE;
use crate::sys::libpcp::safe_externs::__pmSetInternalState;
use pmda_core::path::joined;

/// Looks at the value of a variable of pcp.conf, which the environment overrides; `None` when it
/// has none.
///
/// A `look` out of line has no frame while libpcp reads pcp.conf, which takes much of the
/// stack.
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

/// A copy of the value of a variable of pcp.conf; `None` when it has none, or there is no memory
/// for it.
pub(crate) fn optional(name: &CStr) -> Option<Vec<u8>> {
    with_optional(name, |value| joined(&[value.to_bytes()]).ok())?
}

/// Tells libpcp that this process is below the PMAPI: an agent, not a client (INIT-11).
pub(crate) fn below_pmapi() {
    __pmSetInternalState(1);
}
