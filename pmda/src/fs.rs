//! Files, with errors that say which: as [`std::fs`], whose errors do not name the file.
//!
//! The prelude has this module as `fs`; in a file with `use std::fs` the name is that of std's.
//!
//! `?` hands such an error on to the client, and the log has a line with the path:
//!
//! ```
//! use pmda::prelude::*;
//!
//! fn load() -> Result<f64> {
//!     let text = pmda::fs::read_to_string("/no/such/file")?;
//!     Ok(text.trim().parse()?)
//! }
//! assert_eq!(load().unwrap_err().to_string(), "/no/such/file: No such file or directory (ENOENT)");
//! ```

use std::fs::{DirEntry, File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pmda_core::log::Bytes;

use crate::error::{Error, Result};

/// Adds the path to an error.
///
/// # Errors
/// That of the outcome, with the path.
pub(crate) fn at<T>(path: &Path, outcome: Result<T, impl Into<Error>>) -> Result<T> {
    outcome.map_err(|error| error.into().text(Bytes(path.as_os_str().as_bytes())))
}

/// Reads a file.
///
/// # Errors
/// That of the system, with the path.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<u8>> {
    at(path.as_ref(), std::fs::read(path.as_ref()))
}

/// Reads a file, which has to be UTF-8.
///
/// # Errors
/// That of the system, with the path; `PM_ERR_CONV` if it is not UTF-8.
pub fn read_to_string(path: impl AsRef<Path>) -> Result<String> {
    at(path.as_ref(), String::from_utf8(read(path.as_ref())?))
}

/// Writes a file: makes it, or takes the place of all that it held.
///
/// # Errors
/// That of the system, with the path.
pub fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> Result<()> {
    at(path.as_ref(), std::fs::write(path.as_ref(), contents))
}

/// Opens a file to be read.
///
/// # Errors
/// That of the system, with the path.
pub fn open(path: impl AsRef<Path>) -> Result<File> {
    at(path.as_ref(), File::open(path.as_ref()))
}

/// The entries of a directory.
///
/// # Errors
/// That of the system, with the path, for the directory and for each entry.
pub fn read_dir(path: impl AsRef<Path>) -> Result<impl Iterator<Item = Result<DirEntry>>> {
    let path = path.as_ref().to_owned();
    let entries = at(&path, std::fs::read_dir(&path))?;
    Ok(entries.map(move |entry| at(&path, entry)))
}

/// The system's data about a file; links are followed.
///
/// # Errors
/// That of the system, with the path.
pub fn metadata(path: impl AsRef<Path>) -> Result<Metadata> {
    at(path.as_ref(), std::fs::metadata(path.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;

    /// Each error has its path, and the code of the system.
    #[test]
    fn paths() {
        let missing = "/no/such/file";
        let errors = [
            read(missing).map(drop),
            read_to_string(missing).map(drop),
            write(missing, "text"),
            open(missing).map(drop),
            read_dir(missing).map(drop),
            metadata(missing).map(drop),
        ];
        for error in errors.map(|outcome| outcome.expect_err("no file")) {
            assert_eq!((error.code(), error.said()), (Code::ENOENT, Some(missing)));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("f");
        write(&file, [0xff]).expect("a file");
        let error = read_to_string(&file).expect_err("not UTF-8");
        assert_eq!(error, Error::CONV);
        assert!(error.to_string().contains("/f: invalid utf-8"), "{error}");
        let names = read_dir(folder.path())
            .expect("a folder")
            .map(|entry| Ok(entry?.file_name()));
        assert_eq!(names.collect::<Result<Vec<_>>>().expect("entries"), ["f"]);
    }
}
