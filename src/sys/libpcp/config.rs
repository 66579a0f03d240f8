//! Settings from pcp.conf and the environment, and settings that libpcp keeps for the process.

use std::ffi::CStr;

use crate::sys::libpcp::bindings as pcp;
/// Makes the process ignore SIGPIPE from now on, unless it has a handler of its own. libpcp does
/// this once (ROOT-10).
pub(crate) use crate::sys::libpcp::safe_externs::__pmIgnoreSignalPIPE;
use crate::sys::libpcp::safe_externs::__pmSetInternalState;
use crate::sys::lock::Token;
use pmda_core::path::joined;

/// The value of a variable of pcp.conf, which the environment overrides; `None` if it has none.
fn value<'a>(name: &CStr) -> Option<&'a CStr> {
    // SAFETY: the name is a C string. libpcp returns NULL, or a C string in the environment or of
    // its own, which stays until the environment is changed. Code of ours does not change it, and
    // the callers below look at the value before the agent's code runs again.
    unsafe {
        let value = pcp::pmGetOptionalConfig(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value))
    }
}

/// Calls `look` with the value of a variable of pcp.conf, which the environment overrides; returns
/// `None` if it has no value.
///
/// libpcp takes much of the stack while it reads pcp.conf. If `look` is not inlined, its frame is
/// not on the stack then.
pub(crate) fn with_optional<R>(token: &mut Token, name: &CStr, look: impl FnOnce(&mut Token, &CStr) -> R) -> Option<R> {
    let value = token.apart(|| value(name))?;
    Some(look(token, value))
}

/// A copy of the value of a variable of pcp.conf; `None` if it has no value, or without memory. It
/// may have to be read from the file: callers do that apart from the lock.
pub(crate) fn optional(name: &CStr) -> Option<Vec<u8>> {
    joined(&[value(name)?.to_bytes()]).ok()
}

/// Tells libpcp that this process is below the PMAPI: an agent, not a client (INIT-11).
pub(crate) fn below_pmapi() {
    __pmSetInternalState(1);
}
