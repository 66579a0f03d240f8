//! Extended attributes of files, among which are access control lists and labels.

use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr;

/// Whether two files have the same attributes. What cannot be told counts as a difference.
pub(crate) fn same(one: &File, other: &File) -> bool {
    let (Some(names), Some(others)) = (list(one), list(other)) else {
        return false;
    };
    // Each name ends with a NUL.
    let all = || names.split_inclusive(|byte| *byte == 0);
    all().count() == others.split_inclusive(|byte| *byte == 0).count()
        && all().all(|name| {
            CStr::from_bytes_with_nul(name).is_ok_and(|name| {
                let found = value(one, name);
                found.is_some() && found == value(other, name)
            })
        })
}

/// The names of a file's attributes; none where the file system has no such thing.
fn list(file: &File) -> Option<Vec<u8>> {
    // SAFETY: the descriptor is open; the bytes are those of a buffer of that length, or NULL with length 0.
    let read = |buffer: *mut c_char, length| unsafe { libc::flistxattr(file.as_raw_fd(), buffer, length) };
    match measured(|buffer, length| read(buffer.cast(), length)) {
        Err(libc::ENOTSUP | libc::ENOSYS) => Some(Vec::new()),
        result => result.ok(),
    }
}

/// The value of an attribute, `None` if it cannot be read.
fn value(file: &File, name: &CStr) -> Option<Vec<u8>> {
    let read = |buffer: *mut u8, length| {
        // SAFETY: the descriptor is open and the name a C string; the bytes are as in `list`.
        unsafe { libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), buffer.cast(), length) }
    };
    measured(read).ok()
}

/// Calls a function that says how long its answer is when it gets no room, and then once more with room for that.
///
/// # Errors
/// `errno`.
fn measured(read: impl Fn(*mut u8, usize) -> isize) -> Result<Vec<u8>, c_int> {
    let checked = |length: isize| {
        usize::try_from(length).map_err(|_| std::io::Error::last_os_error().raw_os_error().unwrap_or_default())
    };
    let mut answer = Vec::new();
    let room = checked(read(ptr::null_mut(), 0))?;
    if room > 0 {
        answer.try_reserve_exact(room).map_err(|_| libc::ENOMEM)?;
        answer.resize(room, 0);
        let length = checked(read(answer.as_mut_ptr(), room))?;
        answer.truncate(length);
    }
    Ok(answer)
}
