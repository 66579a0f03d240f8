//! Who the calling thread is, and what time it is.

use crate::cache::Writer;

/// The calling thread.
pub(crate) fn this_thread() -> Writer {
    // SAFETY: neither has arguments, nor can it fail.
    let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
    Writer { process, thread }
}

/// Whether a thread of this process is still there: one that was ended in the middle of a save does not come back.
pub(crate) fn is_there(writer: Writer) -> bool {
    // SAFETY: the system call looks for a thread and sends it nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, writer.process, writer.thread, 0) == 0 }
}

/// Seconds since 1970.
pub(crate) fn now() -> i64 {
    // Where the C library's time() may have 32 bits only, Rust knows the other one.
    #[cfg(target_pointer_width = "32")]
    return std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs() as i64);
    // SAFETY: time() accepts NULL.
    #[cfg(target_pointer_width = "64")]
    unsafe {
        libc::time(std::ptr::null_mut())
    }
}

/// A stream of stdio.
#[derive(Clone, Copy)]
pub(crate) struct Stream(*mut libc::FILE);

impl Stream {
    /// The stream behind a pointer.
    ///
    /// # Safety
    /// `stream` is NULL or open until the view was used for the last time.
    pub(crate) unsafe fn new(stream: *mut libc::FILE) -> Stream {
        Stream(stream)
    }

    /// Writes in order with what the caller wrote; nothing for NULL.
    pub(crate) fn write(self, text: &[u8]) {
        if !text.is_empty() && !self.0.is_null() {
            // SAFETY: an open stream by the contract of `new`, and the bytes of a slice.
            unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), self.0) };
        }
    }
}
