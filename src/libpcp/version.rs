//! What differs between the generations of PCP, decided by the headers that the library is built with.

use super::bindings::PMAPI_VERSION;

/// Frees the values of a result whose time stamp is a `struct timeval`; the default result callback (FETCH-72).
#[cfg(not(pcp7))]
pub(crate) use super::bindings::__pmFreeResultValues as free_result_values;
#[cfg(pcp7)]
pub(crate) use super::bindings::__pmFreeResultValues_v2 as free_result_values;

/// What `comm.pmapi_version` is set to: 2 with PCP 6, 4 with PCP 7 (INIT-10).
pub(crate) const PMAPI: u32 = PMAPI_VERSION;

/// Whether the library is built for PCP 7: diagnostics follow that generation.
pub(crate) const PCP7: bool = cfg!(pcp7);
