//! Reads the two files of a help database into memory (HELP-20, HELP-33).

use std::fs::File;
use std::io::{self, Read};

use rustix::fs::OFlags;

use super::{Database, RECORD, entry_count, size_of_index};
use crate::error::{Error, Result};
use crate::log::{Journal, Part};
use crate::path::FilePath;

/// No such device, `-ENODEV`: what mapping a directory gives, hence the code for a directory in the
/// place of NAME.pag.
const NO_DEVICE: Error = Error::os(19);

impl Database {
    /// Opens NAME.dir and NAME.pag; the suffixes are appended to `name` as it is. The files are
    /// closed again.
    ///
    /// # Errors
    /// `-errno` of opening or reading, `-ENOMEM`, and what [`Database::new`] gives; NAME.dir is
    /// judged first (HELP-20).
    pub fn open(name: &[u8], journal: &mut Journal) -> Result<Database> {
        let index = read_index(name)?;
        let pages = read_pages(name)?;
        Database::new(index, pages, name, journal)
    }
}

fn open(name: &[u8], suffix: &[u8]) -> Result<File> {
    let path = FilePath::new(&[Part::Raw(name), Part::Raw(suffix)])?;
    Ok(path.open(OFlags::RDONLY, 0)?)
}

/// The header and as many entries as it announces.
fn read_index(name: &[u8]) -> Result<Box<[u8]>> {
    let mut file = open(name, b".dir")?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() < RECORD as u64 {
        return Err(Error::INVAL);
    }
    let mut header = [0; RECORD];
    fill(&mut file, &mut header)?;
    let size = size_of_index(entry_count(&header)?)?;
    if about.len() < size as u64 {
        return Err(Error::INVAL);
    }
    let mut image = zeroed(size)?;
    let (start, entries) = image.split_at_mut(RECORD);
    start.copy_from_slice(&header);
    fill(&mut file, entries)?;
    Ok(image.into_boxed_slice())
}

/// The page file, as large as it is now, and a NUL byte.
fn read_pages(name: &[u8]) -> Result<Box<[u8]>> {
    let mut file = open(name, b".pag")?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(NO_DEVICE);
    }
    let size = match i32::try_from(about.len()) {
        Ok(size @ 1..) => size.unsigned_abs() as usize,
        _ => return Err(Error::INVAL),
    };
    let mut image = zeroed(size + 1)?;
    fill(&mut file, &mut image[..size])?;
    Ok(image.into_boxed_slice())
}

/// Room for `size` bytes. The size comes from a file, so a lack of memory is an error and not the
/// end.
fn zeroed(size: usize) -> Result<Vec<u8>> {
    let mut room = Vec::new();
    room.try_reserve_exact(size).map_err(|_| Error::NOMEM)?;
    room.resize(size, 0);
    Ok(room)
}

/// Reads exactly as much as there is room for; a file that has become shorter meanwhile is no good
/// (HELP-33).
fn fill(file: &mut File, room: &mut [u8]) -> Result<()> {
    file.read_exact(room).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Error::INVAL,
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use super::super::tests::index;
    use super::super::{Entry, Kind};
    use super::*;
    use crate::ident::MetricId;

    fn open(directory: &Path) -> Result<Database> {
        let name = directory.join("t");
        Database::open(name.as_os_str().as_bytes(), &mut Journal::new())
    }

    /// HELP-20, HELP-30: the index is judged before the pages are looked for.
    #[test]
    fn order_of_checks() {
        let directory = tempfile::tempdir().unwrap();
        let (dir, pag) = (directory.path().join("t.dir"), directory.path().join("t.pag"));
        assert_eq!(open(directory.path()).err(), Some(Error::os(libc::ENOENT)));
        fs::write(&dir, index(2, &[[1, 0, 0]])).unwrap();
        assert_eq!(open(directory.path()).err(), Some(Error::INVAL));
        fs::write(&dir, index(1, &[[1, 0, 0]])).unwrap();
        assert_eq!(open(directory.path()).err(), Some(Error::os(libc::ENOENT)));
        fs::write(&pag, b"").unwrap();
        assert_eq!(open(directory.path()).err(), Some(Error::INVAL));
        fs::write(&pag, b"text").unwrap();
        assert!(open(directory.path()).is_ok());
    }

    /// HELP-33, H-6: what happens to the files later does not matter; entries beyond the announced
    /// ones are ignored.
    #[test]
    fn read_once() {
        let directory = tempfile::tempdir().unwrap();
        let (dir, pag) = (directory.path().join("t.dir"), directory.path().join("t.pag"));
        fs::write(&dir, index(1, &[[1, 0, 5], [2, 0, 0]])).unwrap();
        fs::write(&pag, b"text\0more").unwrap();
        let base = open(directory.path()).unwrap();
        fs::write(&pag, b"").unwrap();
        assert_eq!(
            base.text_of(Entry::Metric(MetricId(1)), Kind::Long),
            Some(&b"more\0"[..])
        );
        assert_eq!(base.text_of(Entry::Metric(MetricId(2)), Kind::Long), None);
        assert_eq!((base.index().len(), base.pages().len()), (24, 9));
    }
}
