//! What differs between the generations of PCP, decided by the headers that the library is built with.

use super::bindings::PMAPI_VERSION;

/// What `comm.pmapi_version` is set to: 2 with PCP 6, 4 with PCP 7 (INIT-10).
pub(crate) const PMAPI: u32 = PMAPI_VERSION;

/// Whether the library is built for PCP 7: diagnostics follow that generation.
pub(crate) const PCP7: bool = cfg!(pcp7);
