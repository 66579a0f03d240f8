//! Paths and files of the system, without calls that may end the process. The functions of std
//! allocate for a path that is longer than 383 bytes, and end the process when they cannot.

use std::ffi::{CStr, OsStr};
use std::fmt;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::{Error, Result};

/// Returns the parts, joined to one text.
///
/// # Errors
/// `-ENOMEM`.
pub fn joined(parts: &[&[u8]]) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    let len = parts.iter().map(|part| part.len()).sum();
    all.try_reserve_exact(len).map_err(|_| Error::ENOMEM)?;
    for part in parts {
        all.extend_from_slice(part);
    }
    Ok(all)
}

/// A path with the NUL that the system wants at its end.
#[derive(Debug)]
pub struct FilePath(Box<[u8]>);

impl FilePath {
    /// The path of all parts, followed by `end`, which has at most 80 bytes.
    ///
    /// # Errors
    /// `-ENOMEM`; `-EINVAL` for a NUL in it.
    pub fn new(parts: &[&[u8]], end: fmt::Arguments<'_>) -> Result<FilePath> {
        let mut buffer = [0; 80];
        let mut free = &mut buffer[..];
        free.write_fmt(end).map_err(|_| Error::EINVAL)?;
        let used = 80 - free.len();
        let path = joined(&[&joined(parts)?, &buffer[..used], b"\0"])?;
        CStr::from_bytes_with_nul(&path).map_err(|_| Error::EINVAL)?;
        // The capacity is exact, so this moves nothing.
        Ok(FilePath(path.into_boxed_slice()))
    }

    /// The path as the system wants it.
    #[must_use]
    pub fn c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }

    /// The path without the NUL.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.c_str().to_bytes()
    }

    /// The directory with the slash at its end, empty if the path names none, and the last
    /// component.
    #[must_use]
    pub fn split(&self) -> (&[u8], &[u8]) {
        let path = self.bytes();
        path.split_at(path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1))
    }
}

impl AsRef<Path> for FilePath {
    fn as_ref(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.bytes()))
    }
}

impl TryFrom<&Path> for FilePath {
    type Error = Error;

    fn try_from(path: &Path) -> Result<FilePath> {
        FilePath::new(&[path.as_os_str().as_bytes()], format_args!(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last component begins after the last slash, and a NUL is refused (CACHE-72).
    #[test]
    fn parts() {
        let path = |path: &[u8]| FilePath::new(&[path], format_args!("7"));
        for (text, directory, name) in [
            ("", "", "7"),
            ("/", "/", "7"),
            ("a/b", "a/", "b7"),
            ("//a/", "//a/", "7"),
        ] {
            let path = path(text.as_bytes()).expect("memory");
            assert_eq!(path.split(), (directory.as_bytes(), name.as_bytes()));
            assert_eq!(path.bytes(), [text.as_bytes(), b"7"].concat());
        }
        assert_eq!(path(b"a\0b").unwrap_err(), Error::EINVAL);
    }
}
