//! Differences between the releases of PCP, decided by the headers of the build.

use crate::sys::libpcp::bindings::PMAPI_VERSION;

/// A result whose time stamp is a `struct timeval`.
#[cfg(not(pcp7))]
use crate::sys::libpcp::bindings::pmResult as ValuesAndTime;
#[cfg(pcp7)]
use crate::sys::libpcp::bindings::pmResult_v2 as ValuesAndTime;

#[allow(clashing_extern_declarations)] // bindgen knows no "C-unwind"
unsafe extern "C-unwind" {
    /// Frees the values of a result with a `struct timeval`; the default result callback
    /// (FETCH-72), declared as callbacks are.
    #[cfg_attr(not(pcp7), link_name = "__pmFreeResultValues")]
    #[cfg_attr(pcp7, link_name = "__pmFreeResultValues_v2")]
    pub(crate) fn free_result_values(result: *mut ValuesAndTime);
}

/// The value of `comm.pmapi_version`: 2 with PCP 6, 4 with PCP 7 (INIT-10).
pub(crate) const PMAPI: u8 = PMAPI_VERSION as u8;

/// PCP 6.0.5 revised the diagnostics: values of unknown instances are always reported; a reply that
/// could not be sent is a warning; failed reads are reported under `-Dpdu` only; a line of debug
/// output begins with the time; and an event that leaves its queue for another one is reported as
/// dropped and as removed.
pub(crate) const SINCE_6_0_5: bool = cfg!(since_6_0_5);

/// PCP 7.1.1 moved the report of changes in a result, which shows on big-endian machines
/// (FETCH-60).
pub(crate) const SINCE_7_1_1: bool = cfg!(since_7_1_1);

/// PCP 7.2 has stricter rules for the names of labels (LABEL-32).
pub(crate) const SINCE_7_2: bool = cfg!(since_7_2);
