//! Functions of libpcp that are safe to call with any arguments: they take plain numbers, nothing,
//! or a reference to the place of their result.

use std::ffi::{c_char, c_int};

use crate::sys::libpcp::bindings::__pmnsTree;

unsafe extern "C" {
    pub(super) safe fn __pmSetInternalState(state: c_int);
    pub(crate) safe fn __pmIgnoreSignalPIPE() -> c_int;
    pub(super) safe fn __pmSetVersionIPC(fd: c_int, version: c_int) -> c_int;
    pub(super) safe fn __pmSetSocketIPC(fd: c_int) -> c_int;
    pub(super) safe fn __pmSocketIPC(fd: c_int) -> c_int;
    pub(super) safe fn __pmResetIPC(fd: c_int);
    pub(super) safe fn pmGetProgname() -> *mut c_char;
    pub(super) safe fn __pmNewPMNS(tree: &mut *mut __pmnsTree) -> c_int;
}
