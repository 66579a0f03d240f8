//! Reads the two files of a help database into memory (HELP-20, HELP-33).

use std::fs::File;
use std::io::{self, Read};

use rustix::fs::{OFlags, SeekFrom};
use rustix::io::Errno;

use super::Pages;
use super::{Database, RECORD, entry_count, size_of_index};
use crate::error::{Error, Result};
use crate::log::Journal;
use crate::path::FilePath;

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
        Database::of(index, pages, name, journal)
    }
}

fn open(name: &[u8], suffix: &[u8]) -> Result<File> {
    let path = FilePath::new(&[name, suffix], format_args!(""))?;
    // A FIFO is not waited for.
    Ok(path.open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, 0)?)
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
    // newhelp leaves no hole, in which all entries would be the same.
    if about.len() < size as u64 || next(&file, SeekFrom::Hole(0))?.is_some_and(|hole| hole < size as u64) {
        return Err(Error::INVAL);
    }
    rustix::fs::seek(&file, SeekFrom::Start(RECORD as u64)).map_err(io::Error::from)?;
    let mut image = zeroed(size)?;
    let (start, entries) = image.split_at_mut(RECORD);
    start.copy_from_slice(&header);
    fill(&mut file, entries)?;
    Ok(image.into_boxed_slice())
}

/// The page file, as large as it is now: what there is of it between its holes.
fn read_pages(name: &[u8]) -> Result<Pages> {
    let mut file = open(name, b".pag")?;
    let about = file.metadata()?;
    // What mapping a directory gives.
    if about.is_dir() {
        return Err(Error::ENODEV);
    }
    let size = match i32::try_from(about.len()) {
        Ok(size @ 1..) if about.is_file() => size.unsigned_abs(),
        _ => return Err(Error::INVAL),
    };
    let mut pages = Pages::empty(size);
    let mut end = 0;
    while let Some(start) = next(&file, SeekFrom::Data(end))?.filter(|start| *start < u64::from(size)) {
        end = next(&file, SeekFrom::Hole(start))?.map_or(u64::from(size), |hole| hole.min(u64::from(size)));
        rustix::fs::seek(&file, SeekFrom::Start(start)).map_err(io::Error::from)?;
        fill(&mut file, pages.add(start as u32, (end - start) as usize)?)?;
    }
    Ok(pages)
}

/// Where the next data or hole of a file begins; `None` when there is none.
fn next(file: &File, from: SeekFrom) -> Result<Option<u64>> {
    match rustix::fs::seek(file, from) {
        Ok(at) => Ok(Some(at)),
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(io::Error::from(error).into()),
    }
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
    use std::os::unix::fs::{FileExt, symlink};
    use std::path::Path;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

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

    /// HELP-34: a hole costs nothing, a text in one is empty, and those around it are what they
    /// are.
    #[test]
    fn holes() {
        const HOLE: u64 = 1 << 30;
        let directory = tempfile::tempdir().unwrap();
        let (dir, pag) = (directory.path().join("t.dir"), directory.path().join("t.pag"));
        let file = File::create(&pag).unwrap();
        file.write_all_at(b"a\0b", 0).unwrap();
        file.write_all_at(b"c\0d", HOLE + 1).unwrap();
        for entries in [1, 3] {
            fs::write(
                &dir,
                index(
                    entries,
                    &[[1, 0, 2], [2, 1 << 20, 1 << 30], [3, (1 << 30) + 1, (1 << 30) + 3]],
                ),
            )
            .unwrap();
            let base = open(directory.path()).unwrap();
            let text = |metric, kind| {
                let text = base.text_of(Entry::Metric(MetricId(metric)), kind)?;
                text.split(|byte| *byte == 0).next()
            };
            assert_eq!(
                (text(1, Kind::OneLine), text(1, Kind::Long)),
                (Some(&b"a"[..]), Some(&b"b"[..]))
            );
            if entries == 3 {
                assert_eq!(
                    (text(2, Kind::OneLine), text(2, Kind::Long)),
                    (Some(&b""[..]), Some(&b""[..]))
                );
                assert_eq!(
                    (text(3, Kind::OneLine), text(3, Kind::Long)),
                    (Some(&b"c"[..]), Some(&b"d"[..]))
                );
            }
            assert!(base.pages().len() < 1 << 20);
        }
        // An index with one is none.
        let file = File::options().write(true).open(&dir).unwrap();
        file.write_all_at(&index(100_000_000, &[]), 0).unwrap();
        file.set_len(12 * 100_000_001).unwrap();
        assert_eq!(open(directory.path()).err(), Some(Error::INVAL));
    }

    /// HELP-34: what is no regular file is refused at once. A FIFO without a writer is not waited
    /// for.
    #[test]
    fn no_regular_files() {
        let directory = tempfile::tempdir().unwrap();
        let (dir, pag) = (directory.path().join("t.dir"), directory.path().join("t.pag"));
        let fifo = |path| mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        fifo(&dir);
        assert_eq!(open(directory.path()).err(), Some(Error::INVAL));
        fs::remove_file(&dir).unwrap();
        fs::write(&dir, index(1, &[[1, 0, 0]])).unwrap();
        fifo(&pag);
        assert_eq!(open(directory.path()).err(), Some(Error::INVAL));
        fs::remove_file(&pag).unwrap();
        symlink("/dev/zero", &pag).unwrap();
        assert_eq!(open(directory.path()).err(), Some(Error::INVAL));
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
