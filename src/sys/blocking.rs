//! The system calls that may wait. They are called between steps alone (`src/boundary.rs`).
//!
//! A thread that is cancelled unwinds from the system call in which it waits. The crate `libc`
//! declares these functions as `extern "C"`, which never unwind: a frame that calls one such
//! function ends the process then, if it has landing pads. So they are declared here as `extern
//! "C-unwind"`.

use std::ffi::{c_int, c_short, c_void};
use std::os::fd::RawFd;

use libc::{msghdr, nfds_t, pollfd, sockaddr, socklen_t};

unsafe extern "C-unwind" {
    pub(crate) fn read(fd: RawFd, buffer: *mut c_void, size: usize) -> isize;
    pub(crate) fn write(fd: RawFd, bytes: *const c_void, size: usize) -> isize;
    pub(super) fn recv(fd: RawFd, buffer: *mut c_void, size: usize, flags: c_int) -> isize;
    pub(super) fn recvmsg(fd: RawFd, message: *mut msghdr, flags: c_int) -> isize;
    pub(super) fn send(fd: RawFd, message: *const c_void, size: usize, flags: c_int) -> isize;
    pub(super) fn sendmsg(fd: RawFd, message: *const msghdr, flags: c_int) -> isize;
    pub(super) fn connect(fd: RawFd, address: *const sockaddr, size: socklen_t) -> c_int;
    pub(super) fn accept4(fd: RawFd, address: *mut sockaddr, size: *mut socklen_t, flags: c_int) -> c_int;
    fn poll(entries: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int;
}

/// Waits until a descriptor is ready. An interruption ends the wait early. For a negative
/// descriptor `poll` would wait for ever, so this returns at once: the next read or write reports
/// the error.
pub(crate) fn ready(fd: RawFd, events: c_short) {
    if fd < 0 {
        return;
    }
    let mut entry = pollfd { fd, events, revents: 0 };
    // SAFETY: one entry, valid for reads and writes during the call.
    unsafe { poll(&raw mut entry, 1, -1) };
}
