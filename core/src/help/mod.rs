//! The help database: one-line and long texts of metrics and instance domains, as `newhelp` writes
//! them.
//!
//! `NAME.dir` is an index of 12-byte records, `NAME.pag` holds the texts (HELP-1 to HELP-5). Both
//! are read into memory once ([`mod@file`]), checked, and never looked at again: running `newhelp`
//! while an agent is up changes nothing under it (HELP-33, H-6). Lookups go through a hash index,
//! whatever the order of the entries.

mod file;

use std::cell::Cell;
use std::fmt::Display;

use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};
use crate::index::Map;
use crate::log::{Bytes, Journal, Level};

/// First word of the header, in the byte order of the machine.
const MAGIC: u32 = 0x5063_5068;
/// Upper half of the second word: the characters "12", an index file of version 2.
const VERSION: u32 = 0x3132;
/// Bytes of a record, header or entry.
const RECORD: usize = 12;
/// Marks the key of an instance domain (HELP-3).
const INDOM_FLAG: u32 = 0x8000_0000;
/// In the place of an offset: there is no such text.
const NO_TEXT: u32 = u32::MAX;

/// Which of the two texts of an entry (HELP-27).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One line.
    OneLine,
    /// The whole explanation.
    Long,
}

/// What a text is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A metric: the entry nearest to the front counts (HELP-25).
    Metric(MetricId),
    /// An instance domain: the entry nearest to the end counts (HELP-26).
    InDom(InDom),
}

impl Entry {
    #[inline(always)]
    fn key(self) -> u32 {
        match self {
            Entry::Metric(metric) => metric.0,
            Entry::InDom(indom) => indom.0 | INDOM_FLAG,
        }
    }
}

/// The texts of one entry, as offsets into the page file.
#[derive(Clone, Copy, Debug)]
struct Texts {
    one_line: u32,
    long: u32,
}

/// What a key leads to. Duplicates are legal (HELP-7): metrics give the entry nearest to the front,
/// instance domains the one nearest to the end (HELP-25, HELP-26).
#[derive(Clone, Copy, Debug)]
struct Hit {
    first: Texts,
    last: Texts,
}

/// An open help database. Its memory does not move while it is open (HELP-29).
#[derive(Debug)]
pub struct Database {
    index: Box<[u8]>,
    /// The page file and one NUL byte more, which ends a last text without one (HELP-32).
    pages: Box<[u8]>,
    hits: Map<Hit>,
    /// Which of them was asked for last: mostly it is asked for again, for its other text, or the
    /// one behind it.
    recent: Cell<usize>,
}

impl Database {
    /// Makes a database of the two images.
    ///
    /// `index` is NAME.dir up to the last entry that its header announces. `pages` is NAME.pag with
    /// one NUL byte added. An entry that points outside the pages loses that text, and the first
    /// such entry is named in the journal under the name of the file, `name` (HELP-31).
    ///
    /// # Errors
    /// `-EINVAL` when `index` is no index of version 2 or not as long as it says, or the pages are
    /// empty or larger than 2^31-1 bytes (HELP-30); `-ENOMEM`.
    pub fn new(index: Box<[u8]>, pages: Box<[u8]>, name: &[u8], journal: &mut Journal) -> Result<Database> {
        let size = page_size(&pages)?;
        Database::of(index, Pages::whole(pages, size)?, name, journal)
    }

    /// [`Database::new`] of a page file that may have holes.
    fn of(index: Box<[u8]>, pages: Pages, name: &[u8], journal: &mut Journal) -> Result<Database> {
        let count = entry_count(&index)?;
        if index.len() != size_of_index(count)? {
            return Err(Error::INVAL);
        }
        let mut hits = Map::new();
        hits.reserve(count)?;
        let mut bad = None;
        for (number, entry) in (1..).zip(index[RECORD..].chunks_exact(RECORD)) {
            let [key, one_line, long] = words(entry);
            let place = |offset: u32| pages.place(offset).unwrap_or(NO_TEXT);
            let texts = Texts {
                one_line: place(one_line),
                long: place(long),
            };
            if bad.is_none() && (texts.one_line == NO_TEXT || texts.long == NO_TEXT) {
                bad = Some((number, key));
            }
            let hit = || Hit {
                first: texts,
                last: texts,
            };
            hits.get_or_insert_with(key, hit)?.last = texts;
        }
        if let Some((number, key)) = bad {
            report_entry(name, number, key, journal);
        }
        Ok(Database {
            index,
            pages: pages.image.into_boxed_slice(),
            hits,
            recent: Cell::new(0),
        })
    }

    /// The text of an entry, up to the end of the pages: the text ends at the first NUL byte, which
    /// is always there. `None` when there is no such entry or text.
    #[must_use]
    #[inline(always)]
    pub fn text_of(&self, entry: Entry, kind: Kind) -> Option<&[u8]> {
        let key = entry.key();
        let near = self.hits.get_at(key, self.recent.get());
        let (place, hit) = near.or_else(|| self.hits.get_anywhere(key))?;
        self.recent.set(place);
        let texts = match entry {
            Entry::Metric(_) => hit.first,
            Entry::InDom(_) => hit.last,
        };
        let offset = match kind {
            Kind::OneLine => texts.one_line,
            Kind::Long => texts.long,
        };
        if offset == NO_TEXT {
            return None;
        }
        self.pages.get(offset as usize..)
    }

    /// The image of NAME.dir, header and all the entries that the header announces (HELP-41).
    #[must_use]
    pub fn index(&self) -> &[u8] {
        &self.index
    }

    /// The number of entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.index.len() / RECORD - 1
    }

    /// The image of NAME.pag without the NUL byte that was added: offsets count from its start
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

/// The number of entries that the header of an index announces.
fn entry_count(index: &[u8]) -> Result<usize> {
    let header = index.get(..RECORD).ok_or(Error::INVAL)?;
    let [magic, version, count] = words(header);
    if magic != MAGIC || version >> 16 != VERSION {
        return Err(Error::INVAL);
    }
    let count = i32::try_from(count).map_err(|_| Error::INVAL)?;
    usize::try_from(count).map_err(|_| Error::INVAL)
}

/// The bytes of an index of `count` entries.
fn size_of_index(count: usize) -> Result<usize> {
    count
        .checked_add(1)
        .and_then(|records| records.checked_mul(RECORD))
        .ok_or(Error::INVAL)
}

/// The size of the page file, whose image has one byte more (HELP-30).
fn page_size(image: &[u8]) -> Result<u32> {
    let size = image.len().checked_sub(1).ok_or(Error::INVAL)?;
    match i32::try_from(size) {
        Ok(size @ 1..) => Ok(size.unsigned_abs()),
        _ => Err(Error::INVAL),
    }
}

/// Reports an entry that points outside of the text.
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
            Bytes(name)
        ),
    );
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn record(words: [u32; 3]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// An index with these entries that announces `count`.
    pub(crate) fn index(count: u32, entries: &[[u32; 3]]) -> Vec<u8> {
        let mut image = record([MAGIC, VERSION << 16, count]);
        image.extend(entries.iter().flat_map(|entry| record(*entry)));
        image
    }

    fn database(index: Vec<u8>, pages: &[u8]) -> (Result<Database>, Journal) {
        let mut journal = Journal::new();
        let pages = [pages, b"\0"].concat().into_boxed_slice();
        (
            Database::new(index.into_boxed_slice(), pages, b"t", &mut journal),
            journal,
        )
    }

    fn open(index: Vec<u8>, pages: &[u8]) -> Database {
        database(index, pages).0.expect("a good database")
    }

    fn until_nul(text: Option<&[u8]>) -> Option<&[u8]> {
        text.and_then(|text| text.split(|byte| *byte == 0).next())
    }

    const METRIC: u32 = 9 << 22;
    const INDOM: u32 = METRIC | INDOM_FLAG;
    const PAGES: &[u8] = b"one\0two\0three";

    /// HELP-3, HELP-7, HELP-25, HELP-26, H-7: metrics from the front, instance domains from the
    /// back.
    #[test]
    fn duplicates() {
        let base = open(
            index(4, &[[METRIC, 0, 4], [METRIC, 8, 8], [INDOM, 0, 4], [INDOM, 4, 8]]),
            PAGES,
        );
        assert_eq!(
            until_nul(base.text_of(Entry::Metric(MetricId(METRIC)), Kind::OneLine)),
            Some(&b"one"[..])
        );
        assert_eq!(
            until_nul(base.text_of(Entry::Metric(MetricId(METRIC)), Kind::Long)),
            Some(&b"two"[..])
        );
        assert_eq!(
            until_nul(base.text_of(Entry::Metric(MetricId(INDOM)), Kind::OneLine)),
            Some(&b"one"[..])
        );
        assert_eq!(
            until_nul(base.text_of(Entry::InDom(InDom(METRIC)), Kind::OneLine)),
            Some(&b"two"[..])
        );
        assert_eq!(
            until_nul(base.text_of(Entry::InDom(InDom(INDOM)), Kind::Long)),
            Some(&b"three"[..])
        );
        assert_eq!(base.text_of(Entry::Metric(MetricId(METRIC + 1)), Kind::Long), None);
        assert_eq!(base.text_of(Entry::InDom(InDom(METRIC + 1)), Kind::Long), None);
    }

    /// HELP-32: the end of the pages ends the last text; every text is terminated.
    #[test]
    fn last_text_without_nul() {
        let base = open(index(1, &[[METRIC, 8, 12]]), PAGES);
        assert_eq!(
            base.text_of(Entry::Metric(MetricId(METRIC)), Kind::OneLine),
            Some(&b"three\0"[..])
        );
        assert_eq!(
            base.text_of(Entry::Metric(MetricId(METRIC)), Kind::Long),
            Some(&b"e\0"[..])
        );
        assert_eq!(base.pages(), PAGES);
    }

    /// HELP-30, H-4: sizes are checked with room to spare; 0x15555555 entries wrap 32 bits.
    #[test]
    fn sizes() {
        let entry = [METRIC, 0, 4];
        for count in [2, 0x1555_5555, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
            assert_eq!(
                database(index(count, &[entry]), PAGES).0.err(),
                Some(Error::INVAL),
                "{count}"
            );
        }
        for cut in 0..12 {
            assert_eq!(
                database(index(0, &[])[..cut].to_vec(), PAGES).0.err(),
                Some(Error::INVAL)
            );
        }
        assert_eq!(database(index(1, &[entry]), b"").0.err(), Some(Error::INVAL));
        assert!(database(index(0, &[]), PAGES).0.is_ok());
    }

    /// HELP-2: magic and version.
    #[test]
    fn header() {
        for (place, good) in [(0, false), (3, false), (4, true), (6, false), (7, false)] {
            let mut image = index(0, &[]);
            let at = if cfg!(target_endian = "little") {
                place
            } else {
                place / 4 * 4 + 3 - place % 4
            };
            image[at] ^= 1;
            assert_eq!(database(image, PAGES).0.is_ok(), good, "byte {place}");
        }
    }

    /// HELP-31: a bad offset costs that text only, and is reported once.
    #[test]
    fn offsets_outside() {
        let far = u32::try_from(PAGES.len()).unwrap();
        let (base, mut journal) = database(
            index(3, &[[METRIC, 0, 4], [METRIC + 1, far, 4], [INDOM, 4, u32::MAX]]),
            PAGES,
        );
        let base = base.unwrap();
        assert_eq!(
            until_nul(base.text_of(Entry::Metric(MetricId(METRIC)), Kind::OneLine)),
            Some(&b"one"[..])
        );
        assert_eq!(base.text_of(Entry::Metric(MetricId(METRIC + 1)), Kind::OneLine), None);
        assert_eq!(
            until_nul(base.text_of(Entry::Metric(MetricId(METRIC + 1)), Kind::Long)),
            Some(&b"two"[..])
        );
        assert_eq!(base.text_of(Entry::InDom(InDom(METRIC)), Kind::Long), None);
        let said: Vec<_> = journal.drain().collect();
        let expected = b"pmdaOpenHelp: t.dir: entry 2 (metric 9.0.1) points outside the help text";
        assert_eq!(said, [crate::log::Message::Notify(Level::Warning, expected.to_vec())]);
    }
}

/// A part of the file that holds something.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Where it begins in the file.
    start: u32,
    /// Where it begins in the image.
    place: u32,
    /// Its length in bytes; a NUL follows in the image.
    length: u32,
}

/// The page file: what there is between its holes. Each part ends with a NUL, as the hole behind it
/// begins with one.
#[derive(Debug)]
struct Pages {
    image: Vec<u8>,
    /// In ascending order.
    extents: Vec<Extent>,
    /// The length of the file.
    size: u32,
}

impl Pages {
    /// A file of this size that is one hole.
    fn empty(size: u32) -> Pages {
        Pages {
            image: Vec::new(),
            extents: Vec::new(),
            size,
        }
    }

    /// A file of this size without holes, and a NUL behind it.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn whole(image: Box<[u8]>, size: u32) -> Result<Pages> {
        let mut pages = Pages::empty(size);
        pages.extents.try_reserve(1).map_err(|_| Error::NOMEM)?;
        pages.extents.push(Extent {
            start: 0,
            place: 0,
            length: size,
        });
        pages.image = image.into_vec();
        Ok(pages)
    }

    /// Adds a part behind the others: gives the room for it.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn add(&mut self, start: u32, length: usize) -> Result<&mut [u8]> {
        let place = self.image.len();
        self.image.try_reserve_exact(length + 1).map_err(|_| Error::NOMEM)?;
        self.extents.try_reserve(1).map_err(|_| Error::NOMEM)?;
        self.image.resize(place + length + 1, 0);
        let as_word = |size| u32::try_from(size).map_err(|_| Error::INVAL);
        self.extents.push(Extent {
            start,
            place: as_word(place)?,
            length: as_word(length)?,
        });
        Ok(&mut self.image[place..place + length])
    }

    /// Where the text at this place of the file is in the image; `None` outside of the file.
    fn place(&self, offset: u32) -> Option<u32> {
        if offset >= self.size {
            return None;
        }
        let behind = self.extents.partition_point(|extent| extent.start <= offset);
        let extent = self.extents.get(behind.checked_sub(1)?)?;
        // In a hole: the NUL in front of it.
        Some(extent.place + (offset - extent.start).min(extent.length))
    }
}
