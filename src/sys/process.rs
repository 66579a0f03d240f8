//! The time, the standard streams, and the seed of this process's hash tables.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use crate::sys::libpcp::cancel;
use crate::sys::safe_externs;
use pmda_core::error::Result;
use pmda_core::index::Seed;

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    // The C library's time() may have 32 bits only.
    #[cfg(target_pointer_width = "32")]
    return std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs() as i64);
    #[cfg(target_pointer_width = "64")]
    safe_externs::time(None)
}

/// Does work that keeps errno if it succeeds (CACHE-71): callers look at errno after successful
/// calls, too.
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

/// A stream of stdio, a parameter that is open until the call returns.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct CFile(NonNull<libc::FILE>);

impl CFile {
    /// Writes text, in order with the caller's.
    pub(crate) fn write(self, text: &[u8]) {
        if !text.is_empty() {
            // SAFETY: the stream is open, as the caller of the exported function has promised, and
            // the bytes are those of a slice.
            cancel::disabled(|| unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), self.0.as_ptr()) });
        }
    }
}

unsafe extern "C" {
    /// The streams of C's standard library, which programs may move or close.
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
}

/// The descriptors of the standard streams, wherever the agent has moved them; -1 for a closed one.
pub(crate) fn standard_streams() -> (c_int, c_int) {
    // SAFETY: both streams live as long as the process; a closed one has no descriptor, and none of
    // them is NULL unless a program has stored it there.
    unsafe {
        let number = |stream: *mut libc::FILE| if stream.is_null() { -1 } else { libc::fileno(stream) };
        (number(stdin), number(stdout))
    }
}

/// Ends the process. The handlers of exit are the agent's: they run outside of any guard.
pub(crate) fn exit(status: c_int) -> ! {
    safe_externs::exit(status)
}

/// Runs when the library is loaded: later there may be no memory or descriptor, or a signal handler
/// runs.
// SAFETY: the loader calls what stands in this section once, with arguments that a function without
// any may ignore.
#[used]
#[unsafe(link_section = ".init_array")]
static SEED: extern "C" fn() = seed;

extern "C" fn seed() {
    let mut words = [0u64; 2];
    let bytes = size_of_val(&words);
    // SAFETY: the kernel writes at most `bytes` bytes, the size of the words, for which any
    // bytes are valid.
    let got = unsafe { libc::getrandom((&raw mut words).cast::<c_void>(), bytes, libc::GRND_NONBLOCK) };
    if got == bytes as isize {
        Seed::new(words[0], words[1]).install();
    }
}
