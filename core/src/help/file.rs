//! Reads the two files of a help database into memory (HELP-20, HELP-33).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{OFlags, SeekFrom};
use rustix::io::Errno;

use super::{Database, RECORD, entry_count, size_of_index};
use crate::error::{Error, Result};
use crate::log::Journal;
use crate::path::FilePath;

impl Database {
    /// Reads NAME.dir and NAME.pag; `name` is without suffixes.
    ///
    /// # Errors
    /// `-errno` of opening or reading, `-ENOMEM`, and those of [`Database::new`]; first of NAME.dir
    /// (HELP-20).
    pub fn open(name: &[u8], journal: &mut Journal) -> Result<Database> {
        let index = read_index(name)?;
        let pages = read_pages(name)?;
        Database::new(index, pages, name, journal)
    }
}

fn open(name: &[u8], suffix: &[u8]) -> Result<File> {
    let path = FilePath::new(&[name, suffix], format_args!(""))?;
    // A FIFO is not waited for.
    Ok(path.open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, 0)?)
}

/// The header and its number of entries.
fn read_index(name: &[u8]) -> Result<Box<[u8]>> {
    let file = open(name, b".dir")?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() < RECORD as u64 {
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

/// The page file and a NUL.
fn read_pages(name: &[u8]) -> Result<Box<[u8]>> {
    let file = open(name, b".pag")?;
    let about = file.metadata()?;
    // As mapping a directory does.
    if about.is_dir() {
        return Err(Error::ENODEV);
    }
    match i32::try_from(about.len()) {
        Ok(size @ 1..) if about.is_file() => read(&file, size as usize, size as usize + 1),
        _ => Err(Error::EINVAL),
    }
}

/// The first `size` bytes of a file, and zeros up to `room` bytes. A hole, which newhelp does not
/// leave, would be memory beyond the file's (HELP-34).
fn read(file: &File, size: usize, room: usize) -> Result<Box<[u8]>> {
    match rustix::fs::seek(file, SeekFrom::Hole(0)) {
        Ok(hole) if hole < size as u64 => return Err(Error::EINVAL),
        Ok(_) => {}
        Err(Errno::NXIO) => return Err(Error::EINVAL),
        Err(error) => return Err(io::Error::from(error).into()),
    }
    let mut image = Vec::new();
    // The size comes from a file.
    image.try_reserve_exact(room).map_err(|_| Error::ENOMEM)?;
    image.resize(room, 0);
    fill(file, &mut image[..size])?;
    Ok(image.into_boxed_slice())
}

/// Fills `room`; fails if the file has become shorter (HELP-33).
fn fill(file: &File, room: &mut [u8]) -> Result<()> {
    file.read_exact_at(room, 0).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::EINVAL,
        _ => error.into(),
    })
}
