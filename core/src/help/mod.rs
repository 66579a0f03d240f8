//! The help database: one-line and long texts of metrics and instance domains, as `newhelp` writes
//! them.
//!
//! `NAME.dir` is an index of 12-byte records, `NAME.pag` holds the texts (HELP-1 to HELP-5). Both
//! are read into memory once, checked, and never looked at again, so a `newhelp`
//! that runs while an agent is up changes nothing for it (HELP-33, H-6). The entries are sorted by
//! key, whatever their order in the file.

use std::cell::Cell;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::dir_entry::DirEntry;
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};
use crate::log::{Journal, Level, PathBytes};
use crate::path::FilePath;

/// The first word of the header, in the byte order of the host.
const MAGIC: u32 = 0x5063_5068;
/// The upper half of the second word: the characters "12", for an index file of version 2.
const VERSION: u32 = 0x3132;
/// The size in bytes of a record: of the header, and of an entry.
const RECORD: usize = 12;
/// The bit that marks the key of an instance domain (HELP-3).
const INDOM_FLAG: u32 = 0x8000_0000;
/// The offset that stands for a missing text.
const NO_TEXT: u32 = u32::MAX;

/// One of the two texts of an entry (HELP-27).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HelpKind {
    /// One line.
    OneLine,
    /// The whole explanation.
    Long,
}

/// The subject of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HelpKey {
    /// A metric: of several entries the first counts (HELP-25).
    Metric(MetricId),
    /// An instance domain: of several entries the last counts (HELP-26).
    InDom(InDom),
}

impl HelpKey {
    /// The key in the index file.
    fn key(self) -> u32 {
        match self {
            HelpKey::Metric(metric) => metric.0,
            HelpKey::InDom(indom) => indom.0 | INDOM_FLAG,
        }
    }
}

/// The texts of one entry, as offsets in bytes into the page file.
#[derive(Clone, Copy, Debug)]
struct Texts {
    one_line: u32,
    long: u32,
}

/// The first and the last entry of a key: duplicates are legal (HELP-7), and metrics and instance
/// domains differ in which one counts (HELP-25, HELP-26).
#[derive(Clone, Copy, Debug)]
struct Hit {
    key: u32,
    /// The place of the first entry in the file.
    number: u32,
    first: Texts,
    last: Texts,
}

/// An open help database. Its memory does not move while it is open (HELP-29).
#[derive(Debug)]
pub struct Database {
    /// The image of NAME.dir.
    index: Box<[u8]>,
    /// The image of NAME.pag with one more NUL, which ends a text at the end of the file (HELP-32).
    pages: Box<[u8]>,
    /// Sorted by key.
    hits: Vec<Hit>,
    /// The place of the entry that was looked up last. Mostly the next lookup is for its other
    /// text.
    recent: Cell<usize>,
}

impl Database {
    /// Makes a database of the images of the two files: `index` is NAME.dir up to the last entry
    /// that its header announces, `pages` is NAME.pag with one NUL added.
    ///
    /// An entry that points outside of the pages loses that text. The first such entry is reported
    /// in the journal, under the name of the file, `name` (HELP-31).
    ///
    /// # Errors
    /// `-EINVAL` when `index` is no index of version 2 or not as long as it says, or the pages are
    /// empty or larger than 2^31-1 bytes (HELP-30); `-ENOMEM`.
    pub fn new(index: Box<[u8]>, pages: Box<[u8]>, name: &[u8], journal: &mut Journal) -> Result<Database> {
        let size = pages.len().checked_sub(1).ok_or(Error::EINVAL)?;
        let size = u32::try_from(size).map_err(|_| Error::EINVAL)?;
        if size == 0 || i32::try_from(size).is_err() {
            return Err(Error::EINVAL);
        }
        let count = entry_count(&index)?;
        if index.len() != size_of_index(count)? {
            return Err(Error::EINVAL);
        }
        let mut hits: Vec<Hit> = Vec::new();
        hits.try_reserve_exact(count).map_err(|_| Error::ENOMEM)?;
        let mut bad = None;
        for (number, entry) in (1..).zip(index[RECORD..].chunks_exact(RECORD)) {
            let [key, one_line, long] = words(entry);
            let offset_or_none = |offset: u32| if offset < size { offset } else { NO_TEXT };
            let texts = Texts {
                one_line: offset_or_none(one_line),
                long: offset_or_none(long),
            };
            if bad.is_none() && (texts.one_line == NO_TEXT || texts.long == NO_TEXT) {
                bad = Some((number, key));
            }
            // Room: as many as the index announces.
            hits.push(Hit {
                key,
                number,
                first: texts,
                last: texts,
            });
        }
        hits.sort_unstable_by_key(|hit| (hit.key, hit.number));
        hits.dedup_by(|later, hit| {
            let is_same = later.key == hit.key;
            if is_same {
                hit.last = later.last;
            }
            is_same
        });
        if let Some((number, key)) = bad {
            report_entry(name, number, key, journal);
        }
        Ok(Database {
            index,
            pages,
            hits,
            recent: Cell::new(0),
        })
    }

    /// Returns the text of an entry, and the bytes that follow it up to the end of the pages: the
    /// text ends at the first NUL, which always exists. `None` when there is no such entry or text.
    #[must_use]
    #[inline(always)]
    pub fn text_of(&self, entry: HelpKey, kind: HelpKind) -> Option<&[u8]> {
        match self.hits.get(self.recent.get()) {
            Some(hit) if hit.key == entry.key() => self.text_in(hit, entry, kind),
            _ => self.search_all(entry, kind),
        }
    }

    /// [`Database::text_of`] for any entry, which becomes the most recent one. It is a function of its
    /// own, so that a lookup of the recent one need not save registers for it.
    #[inline(never)]
    fn search_all(&self, entry: HelpKey, kind: HelpKind) -> Option<&[u8]> {
        let position = self.hits.binary_search_by_key(&entry.key(), |hit| hit.key).ok()?;
        self.recent.set(position);
        self.text_in(&self.hits[position], entry, kind)
    }

    /// One of the two texts of an entry.
    #[inline(always)]
    fn text_in(&self, hit: &Hit, entry: HelpKey, kind: HelpKind) -> Option<&[u8]> {
        let texts = match entry {
            HelpKey::Metric(_) => hit.first,
            HelpKey::InDom(_) => hit.last,
        };
        let offset = match kind {
            HelpKind::OneLine => texts.one_line,
            HelpKind::Long => texts.long,
        };
        if offset == NO_TEXT {
            return None;
        }
        self.pages.get(offset as usize..)
    }

    /// The image of NAME.dir: the header, and the entries that it announces (HELP-41).
    #[must_use]
    pub fn index(&self) -> &[u8] {
        &self.index
    }

    /// The number of entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.index.len() / RECORD - 1
    }

    /// The image of NAME.pag, without the NUL that was added: offsets count from its start
    /// (HELP-42).
    #[must_use]
    pub fn pages(&self) -> &[u8] {
        self.pages.split_last().map_or(&[], |(_, pages)| pages)
    }
}

/// The three words of a record.
fn words(record: &[u8]) -> [u32; 3] {
    let mut words = [0; 3];
    for (word, bytes) in words.iter_mut().zip(record.chunks_exact(4)) {
        *word = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    words
}

/// The number of entries that the header of an index announces; `-EINVAL` for another file.
fn entry_count(index: &[u8]) -> Result<usize> {
    let header = index.get(..RECORD).ok_or(Error::EINVAL)?;
    let [magic, version, count] = words(header);
    if magic != MAGIC || version >> 16 != VERSION {
        return Err(Error::EINVAL);
    }
    let count = i32::try_from(count).map_err(|_| Error::EINVAL)?;
    usize::try_from(count).map_err(|_| Error::EINVAL)
}

/// The size in bytes of an index of `count` entries.
fn size_of_index(count: usize) -> Result<usize> {
    count
        .checked_add(1)
        .and_then(|records| records.checked_mul(RECORD))
        .ok_or(Error::EINVAL)
}

/// Reports an entry that points outside of the texts.
fn report_entry(name: &[u8], number: u32, key: u32, journal: &mut Journal) {
    let (metric, indom) = (MetricId(key), InDom(key & !INDOM_FLAG));
    let (what, which): (_, &dyn Display) = if key & INDOM_FLAG == 0 {
        ("metric", &metric)
    } else {
        ("instance domain", &indom)
    };
    journal.notify(
        Level::Warning,
        format_args!(
            "pmdaOpenHelp: {}.dir: entry {number} ({what} {which}) points outside the help text",
            PathBytes(name)
        ),
    );
}

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
    let path = FilePath::new(&[name, suffix], format_args!(""))?;
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

/// Reads the page file, as long as it is now, and adds a NUL.
fn read_pages(name: &[u8]) -> Result<Box<[u8]>> {
    // The C library maps the file: this is the error of mapping a directory.
    let file = open(name, b".pag").map_err(|error| not_a_file(error, Error::ENODEV))?;
    match i32::try_from(file.metadata()?.len()) {
        Ok(size @ 1..) => read(&file, size as usize, size as usize + 1),
        _ => Err(Error::EINVAL),
    }
}

/// Reads the first `size` bytes of a file, and fills up with zeros to `total` bytes. A file with a
/// hole is refused: newhelp leaves none, and it would take memory that the file does not take on
/// the disk (HELP-34).
fn read(file: &File, size: usize, total: usize) -> Result<Box<[u8]>> {
    match rustix::fs::seek(file, SeekFrom::Hole(0)) {
        Ok(hole) if hole < size as u64 => return Err(Error::EINVAL),
        Ok(_) => {}
        // The file has become shorter.
        Err(Errno::NXIO) => return Err(Error::EINVAL),
        // The file system cannot tell, or a sandbox refuses to ask.
        Err(Errno::ACCESS | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => {}
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

#[cfg(test)]
mod tests;
