//! Extended attributes of files, among which are access control lists and labels.

use std::ffi::CStr;
use std::fs::File;

use rustix::fs::{fgetxattr, fgetxattr_query, flistxattr, flistxattr_query};
use rustix::io::{Errno, Result};

/// Whether two files have the same attributes. What cannot be told counts as a difference.
pub(super) fn same(one: &File, other: &File) -> bool {
    let (Ok(names), Ok(others)) = (list(one), list(other)) else {
        return false;
    };
    // Each name ends with a NUL.
    let all = || names.split_inclusive(|byte| *byte == 0);
    all().count() == others.split_inclusive(|byte| *byte == 0).count()
        && all().all(|name| {
            CStr::from_bytes_with_nul(name).is_ok_and(|name| {
                let found = value(one, name);
                found.is_ok() && found == value(other, name)
            })
        })
}

/// The names of a file's attributes; none where the file system has no such thing.
fn list(file: &File) -> Result<Vec<u8>> {
    match flistxattr_query(file) {
        Ok(length) => filled(length, |room| flistxattr(file, room)),
        Err(Errno::NOTSUP | Errno::NOSYS) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The value of an attribute.
fn value(file: &File, name: &CStr) -> Result<Vec<u8>> {
    filled(fgetxattr_query(file, name)?, |room| fgetxattr(file, name, room))
}

/// So much memory, and what `fill` has put into it.
fn filled(length: usize, fill: impl Fn(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
    let mut answer = Vec::new();
    if length > 0 {
        answer.try_reserve_exact(length).map_err(|_| Errno::NOMEM)?;
        answer.resize(length, 0);
        let used = fill(&mut answer)?;
        answer.truncate(used);
    }
    Ok(answer)
}
