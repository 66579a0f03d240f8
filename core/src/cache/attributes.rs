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

#[cfg(test)]
mod tests {
    use rustix::fs::{XattrFlags, fsetxattr};

    use super::*;

    /// CACHE-75: files are the same when both have the same names with the same values.
    #[test]
    fn compared() {
        let [one, other] = [(), ()].map(|()| tempfile::tempfile().expect("a file"));
        let set = |file: &File, name: &str, value: &[u8]| fsetxattr(file, name, value, XattrFlags::empty());
        assert!(same(&one, &other));
        match set(&one, "user.pcp", b"some") {
            // A file system without attributes.
            Err(Errno::NOTSUP) => return,
            result => result.expect("ours"),
        }
        assert!(!same(&one, &other) && !same(&other, &one));
        for (value, is_same) in [("some", true), ("more", false), ("", false), ("some more", false)] {
            set(&other, "user.pcp", value.as_bytes()).expect("ours");
            assert_eq!(
                (same(&one, &other), same(&other, &one)),
                (is_same, is_same),
                "{value:?}"
            );
        }
        set(&other, "user.pcp", b"some").expect("ours");
        for (file, is_same) in [(&one, false), (&other, true)] {
            set(file, "user.empty", b"").expect("ours");
            assert_eq!((same(&one, &other), same(&other, &one)), (is_same, is_same));
        }
        set(&one, "user.one", b"").expect("ours");
        set(&other, "user.two", b"").expect("ours");
        assert!(!same(&one, &other));
    }
}
