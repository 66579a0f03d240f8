//! The time, errno, stdio's streams, the end of the process, and the seed of its hash tables.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use crate::sys::lock::Token;
use crate::sys::safe_externs;
use pmda_core::error::Result;
use pmda_core::index::Seed;

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    // `time()` may have 32 bits only there.
    #[cfg(target_pointer_width = "32")]
    return std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs() as i64);
    #[cfg(target_pointer_width = "64")]
    safe_externs::time(None)
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

/// Ends the process. Handlers of `atexit` are the agent's and may call the library: so this is
/// called outside of any step.
pub(crate) fn exit(status: c_int) -> ! {
    safe_externs::exit(status)
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
