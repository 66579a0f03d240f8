//! System calls that are safe to call with any arguments: they take plain numbers, or a reference
//! to the place of their result.

use std::ffi::c_int;

unsafe extern "C" {
    pub(super) safe fn shutdown(fd: c_int, how: c_int) -> c_int;
    pub(super) safe fn close(fd: c_int) -> c_int;
    pub(super) safe fn fchmod(fd: c_int, mode: libc::mode_t) -> c_int;
    pub(super) safe fn geteuid() -> libc::uid_t;
    pub(super) safe fn exit(status: c_int) -> !;
    /// Also stores the time, if wanted.
    #[cfg(target_pointer_width = "64")]
    pub(super) safe fn time(place: Option<&mut libc::time_t>) -> libc::time_t;
}
