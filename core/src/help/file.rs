//! Reads the two files of a help database into memory (HELP-20, HELP-33).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::{Database, RECORD, entry_count, size_of_index};
use crate::dir_entry::DirEntry;
use crate::error::{Error, Result};
use crate::log::Journal;
use crate::path::FilePath;

impl Database {
    /// Reads NAME.dir and NAME.pag; `name` has no suffix. The files are closed again.
    ///
    /// # Errors
    /// The error of opening or reading, `-ENOMEM`, and the errors of [`Database::new`]. Those of
    /// NAME.dir come first (HELP-20).
    pub fn open(name: &[u8], journal: &mut Journal) -> Result<Database> {
        let index = read_index(name)?;
        let pages = read_pages(name)?;
        Database::new(index, pages, name, journal)
    }
}

/// Opens one of the files.
fn open(name: &[u8], suffix: &[u8]) -> io::Result<File> {
    let path = FilePath::new(&[name, suffix], format_args!(""))
        .map_err(|error| io::Error::from_raw_os_error(-error.code()))?;
    DirEntry::target(&path)?.read()
}

/// The error of opening, or the one for a directory.
fn not_a_file(error: io::Error, directory: Error) -> Error {
    match error.kind() {
        io::ErrorKind::IsADirectory => directory,
        _ => error.into(),
    }
}

/// Reads the header and as many entries as it announces.
fn read_index(name: &[u8]) -> Result<Box<[u8]>> {
    let file = open(name, b".dir").map_err(|error| not_a_file(error, Error::EINVAL))?;
    let about = file.metadata()?;
    if about.len() < RECORD as u64 {
        return Err(Error::EINVAL);
    }
    let mut header = [0; RECORD];
    fill(&file, &mut header)?;
    let size = size_of_index(entry_count(&header)?)?;
    if about.len() < size as u64 {
        return Err(Error::EINVAL);
    }
    read(&file, size, size)
}

/// Reads the page file, as long as it is now, with a NUL behind it.
fn read_pages(name: &[u8]) -> Result<Box<[u8]>> {
    // The C library maps the file: this is the error of mapping a directory.
    let file = open(name, b".pag").map_err(|error| not_a_file(error, Error::ENODEV))?;
    match i32::try_from(file.metadata()?.len()) {
        Ok(size @ 1..) => read(&file, size as usize, size as usize + 1),
        _ => Err(Error::EINVAL),
    }
}

/// Reads the first `size` bytes of a file; behind them come zeros up to `total` bytes. A file with
/// a hole is refused: newhelp leaves none, and it would take memory that the file does not take on
/// the disk (HELP-34).
fn read(file: &File, size: usize, total: usize) -> Result<Box<[u8]>> {
    match rustix::fs::seek(file, SeekFrom::Hole(0)) {
        Ok(hole) if hole < size as u64 => return Err(Error::EINVAL),
        Ok(_) => {}
        // The file has become shorter.
        Err(Errno::NXIO) => return Err(Error::EINVAL),
        Err(error) => return Err(io::Error::from(error).into()),
    }
    let mut image = Vec::new();
    // The size comes from a file, so it may be too large.
    image.try_reserve_exact(total).map_err(|_| Error::ENOMEM)?;
    image.resize(total, 0);
    fill(file, &mut image[..size])?;
    Ok(image.into_boxed_slice())
}

/// Fills `out` from the beginning of a file; `-EINVAL` if the file has become shorter (HELP-33).
fn fill(file: &File, out: &mut [u8]) -> Result<()> {
    file.read_exact_at(out, 0).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::EINVAL,
        _ => error.into(),
    })
}
