//! Settings from pcp.conf and the environment, and what libpcp keeps for the process.

use std::ffi::CStr;

use crate::sys::libpcp::bindings as pcp;
use crate::sys::libpcp::cancel;
use crate::sys::libpcp::safe_externs::{__pmIgnoreSignalPIPE, __pmSetInternalState};
use pmda_core::log;

/// The value of a variable of pcp.conf, which the environment overrides; `None` when it has none,
/// or there is no memory for it.
pub(crate) fn optional(name: &CStr) -> Option<Vec<u8>> {
    // SAFETY: the name is a C string. libpcp returns NULL or a C string that lives as long as the
    // process; it is copied below, before anybody can change the environment.
    let value = cancel::disabled(|| unsafe {
        pcp::pmGetOptionalConfig(name.as_ptr())
            .as_ref()
            .map(|value| CStr::from_ptr(value))
    })?;
    copied(value)
}

/// Out of line: its frame is not there while libpcp reads pcp.conf, which takes much of the stack.
#[inline(never)]
fn copied(value: &CStr) -> Option<Vec<u8>> {
    log::line(&[log::Part::Raw(value.to_bytes())])
}

/// Tells libpcp that this process is below the PMAPI: an agent, not a client (INIT-11).
pub(crate) fn below_pmapi() {
    __pmSetInternalState(1);
}

/// Has SIGPIPE ignored from now on, unless the process has a handler of its own. libpcp does it
/// once (ROOT-10).
pub(crate) fn ignore_sigpipe() {
    __pmIgnoreSignalPIPE();
}
