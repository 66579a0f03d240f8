//! The operating system: time, errno, stdio and descriptors, and the system calls that may wait.
//! The lock of the library and the sockets have files of their own, libpcp has a folder.

#![allow(unsafe_code)]

pub(crate) mod libpcp;
pub mod lock;
pub(crate) mod refusal;
pub(crate) mod root_socket;
pub(crate) mod socket;

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr::NonNull;

use crate::sys::lock::Token;
use pmda_core::error::Result;
use pmda_core::index::Seed;

/// The slice of a C array, which is given as pointer and count. It is empty when the pointer is
/// NULL or the count is not positive.
///
/// # Safety
/// `first` is NULL or valid for reads of `count` elements that stay unchanged for `'a`.
pub(crate) unsafe fn slice<'a, T>(first: *const T, count: c_int) -> &'a [T] {
    match usize::try_from(count) {
        // SAFETY: not NULL, and a positive count: `count` elements that stay unchanged for `'a`, as
        // the caller promises.
        Ok(count) if count > 0 && !first.is_null() => unsafe { std::slice::from_raw_parts(first, count) },
        _ => &[],
    }
}

/// [`slice()`], mutable.
///
/// # Safety
/// `first` is NULL or valid for reads and writes of `count` elements that nobody else uses during
/// `'a`.
pub(crate) unsafe fn slice_mut<'a, T>(first: *mut T, count: c_int) -> &'a mut [T] {
    match usize::try_from(count) {
        // SAFETY: not NULL, and a positive count: `count` elements that nobody else uses during
        // `'a`, as the caller promises.
        Ok(count) if count > 0 && !first.is_null() => unsafe { std::slice::from_raw_parts_mut(first, count) },
        _ => &mut [],
    }
}

// System calls that are safe to call with any arguments: they take plain numbers, or a reference to
// the variable for their result.
unsafe extern "C" {
    safe fn shutdown(fd: c_int, how: c_int) -> c_int;
    safe fn close(fd: c_int) -> c_int;
    safe fn fchmod(fd: c_int, mode: libc::mode_t) -> c_int;
    safe fn geteuid() -> libc::uid_t;
    safe fn isspace(character: c_int) -> c_int;
    safe fn isprint(character: c_int) -> c_int;
    /// Ends the process. Handlers of `atexit` are the agent's and may call the library: so this is
    /// called outside of any step.
    pub(crate) safe fn exit(status: c_int) -> !;
    /// Also stores the time, if wanted.
    #[cfg(target_pointer_width = "64")]
    safe fn time(seconds: Option<&mut libc::time_t>) -> libc::time_t;
}

/// A byte as it is printed in the agent's locale: white space as a space, others that cannot be
/// printed as a dot.
pub(crate) fn printed(byte: u8) -> u8 {
    // As a C program passes its `char`, which has a sign on some architectures: glibc's tables begin
    // at -128.
    let character = c_int::from(byte as c_char);
    if isspace(character) != 0 {
        b' '
    } else if isprint(character) != 0 {
        byte
    } else {
        b'.'
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    // `time()` may have 32 bits only there.
    #[cfg(target_pointer_width = "32")]
    return std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs() as i64);
    #[cfg(target_pointer_width = "64")]
    time(None)
}

/// Does work that leaves errno as it was if it succeeds (CACHE-71): callers read errno after
/// successful calls, too.
///
/// # Errors
/// Those of `work`.
pub(crate) fn keeping_errno<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // SAFETY: errno is this thread's own, at an address that stays while the thread runs.
    let (errno, before) = unsafe {
        let errno = libc::__errno_location();
        (errno, errno.read())
    };
    let result = work();
    if result.is_ok() {
        // SAFETY: as above.
        unsafe { errno.write(before) };
    }
    result
}

/// A stream of stdio as a parameter of an exported function. The caller promises that it is open
/// until the call returns.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct CFile(NonNull<libc::FILE>);

impl CFile {
    /// Writes text. It goes through the stream's buffer, so it is in order with the caller's own
    /// output.
    pub(crate) fn write(self, token: &mut Token, text: &[u8]) {
        if !text.is_empty() {
            // SAFETY: the stream is open: a `CFile` comes as an argument alone, and its caller
            // promises that. The bytes are those of a slice.
            token.apart(|| unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), self.0.as_ptr()) });
        }
    }
}

unsafe extern "C" {
    /// The streams of C's standard library, which programs may move or close.
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
}

/// The descriptors of stdin and stdout, wherever the agent has moved them; -1 for a closed one.
pub(crate) fn standard_streams() -> (c_int, c_int) {
    // SAFETY: the variables hold NULL, if the program has stored it there, or a stream: stdio's own
    // live as long as the process, also when they are closed, and then `fileno` returns -1.
    unsafe {
        let number = |stream: *mut libc::FILE| if stream.is_null() { -1 } else { libc::fileno(stream) };
        (number(stdin), number(stdout))
    }
}

/// Has the loader call [`seed`] when the library is loaded. The first use of a hash table would be
/// too late: it may be in a signal handler, or at a time without memory or descriptors.
// SAFETY: the loader calls each function in this section once. It passes arguments, which a
// function without parameters ignores.
#[used]
#[unsafe(link_section = ".init_array")]
static SEED: extern "C" fn() = seed;

/// Installs a random seed for the hash tables. Without random bytes the first use makes one.
extern "C" fn seed() {
    let mut words = [0u64; 2];
    let bytes = size_of_val(&words);
    // SAFETY: the kernel writes `bytes` bytes at most, which is the size of `words`. Any bytes are
    // values of them.
    let got = unsafe { libc::getrandom((&raw mut words).cast::<c_void>(), bytes, libc::GRND_NONBLOCK) };
    if got == bytes as isize {
        Seed::new(words[0], words[1]).install();
    }
}

// The files that an agent's descriptors lead to. They are never closed here (CONN-9).

/// The identity of the file that a descriptor leads to. It tells a pipe or socket from another one
/// that got the same descriptor after a close; a duplicate of a descriptor has the same identity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamId {
    device: libc::dev_t,
    inode: libc::ino64_t,
}

impl StreamId {
    /// The file that a descriptor leads to; `None` if the descriptor is not open.
    pub(crate) fn of(fd: RawFd) -> Option<StreamId> {
        let mut status = MaybeUninit::<libc::stat64>::uninit();
        // SAFETY: there is room for the structure, which is filled in when the call succeeds.
        let status = unsafe { (libc::fstat64(fd, status.as_mut_ptr()) == 0).then(|| status.assume_init()) }?;
        Some(StreamId {
            device: status.st_dev,
            inode: status.st_ino,
        })
    }
}

/// Returns whether a descriptor is a socket or a pipe without a name: data that wait in it are lost
/// when it is closed, and another socket or pipe has another [`StreamId`]. A FIFO or a file may be
/// opened again.
pub(crate) fn is_nameless(fd: RawFd) -> bool {
    // From linux/magic.h.
    const PIPEFS_MAGIC: i128 = 0x5049_5045;
    const SOCKFS_MAGIC: i128 = 0x534F_434B;
    let mut system = MaybeUninit::<libc::statfs64>::uninit();
    // SAFETY: there is room for the structure, which is filled in when the call succeeds.
    let system = unsafe { (libc::fstatfs64(fd, system.as_mut_ptr()) == 0).then(|| system.assume_init()) };
    system.is_some_and(|system| matches!(system.f_type.into(), PIPEFS_MAGIC | SOCKFS_MAGIC))
}

pub(crate) mod blocking {
    //! The system calls that may wait. They are called between steps alone (`src/boundary.rs`).
    //!
    //! A thread that is cancelled unwinds from the system call in which it waits. The crate `libc`
    //! declares these functions as `extern "C"`, which never unwind: a frame that calls one such
    //! function ends the process then, if it has landing pads. So they are declared here as
    //! `extern "C-unwind"`.

    use std::ffi::{c_int, c_short, c_void};
    use std::os::fd::RawFd;

    use libc::{msghdr, nfds_t, pollfd, sockaddr, socklen_t};

    unsafe extern "C-unwind" {
        pub(crate) fn read(fd: RawFd, buffer: *mut c_void, size: usize) -> isize;
        pub(crate) fn write(fd: RawFd, bytes: *const c_void, size: usize) -> isize;
        pub(in crate::sys) fn recv(fd: RawFd, buffer: *mut c_void, size: usize, flags: c_int) -> isize;
        pub(in crate::sys) fn recvmsg(fd: RawFd, message: *mut msghdr, flags: c_int) -> isize;
        pub(in crate::sys) fn send(fd: RawFd, message: *const c_void, size: usize, flags: c_int) -> isize;
        pub(in crate::sys) fn sendmsg(fd: RawFd, message: *const msghdr, flags: c_int) -> isize;
        pub(in crate::sys) fn connect(fd: RawFd, address: *const sockaddr, size: socklen_t) -> c_int;
        pub(in crate::sys) fn accept(fd: RawFd, address: *mut sockaddr, size: *mut socklen_t) -> c_int;
        pub(in crate::sys) fn accept4(fd: RawFd, address: *mut sockaddr, size: *mut socklen_t, flags: c_int) -> c_int;
        fn poll(entries: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int;
    }

    /// Waits until a descriptor is ready. An interruption ends the wait early. For a negative
    /// descriptor `poll` would wait for ever, so this returns at once: the next read or write
    /// reports the error.
    pub(crate) fn ready(fd: RawFd, events: c_short) {
        if fd < 0 {
            return;
        }
        let mut entry = pollfd { fd, events, revents: 0 };
        // SAFETY: one entry, valid for reads and writes during the call.
        unsafe { poll(&raw mut entry, 1, -1) };
    }
}
