//! The system calls that may wait, for calls between steps alone.
//!
//! A thread that is cancelled unwinds from where it waits. `libc` declares these functions as ones
//! that never unwind, and a frame with landing pads ends the process then; so they are declared
//! here as what they are.

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

/// Waits until a descriptor is ready, or an interruption. A negative one would be waited for
/// without end: the next read or write reports it.
pub(crate) fn ready(fd: RawFd, events: c_short) {
    if fd < 0 {
        return;
    }
    let mut entry = pollfd { fd, events, revents: 0 };
    // SAFETY: one entry, valid for reads and writes during the call.
    unsafe { poll(&raw mut entry, 1, -1) };
}
