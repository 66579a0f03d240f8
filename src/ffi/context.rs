//! The client context: `pmdaGetContext` and `__pmdaSetContext`.

use std::ffi::c_int;

use super::guard::inner;
use pmda_core::context;

/// Returns the client context that the current request belongs to, -1 before the first one
/// (MAIN-25).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaGetContext() -> c_int {
    inner(context::current)
}

/// Sets what `pmdaGetContext` returns.
#[unsafe(no_mangle)]
pub extern "C" fn __pmdaSetContext(context: c_int) {
    inner(|| context::set_current(context));
}
