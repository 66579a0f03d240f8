//! Help databases, made of images and of files.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, chown, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::testing;

fn record(words: [u32; 3]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// An index of these entries that announces `count`.
fn index(count: u32, entries: &[[u32; 3]]) -> Vec<u8> {
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

/// Entries are found whatever their order in the file, and of several the same one counts (HELP-7,
/// HELP-25, HELP-26).
#[test]
fn any_order() {
    const ENTRIES: u32 = 200;
    let item = |number: u32| number * 7 % 50;
    let entry = |number, flag| [METRIC | item(number) | flag, number, number];
    let entries: Vec<_> = (0..ENTRIES)
        .flat_map(|number| [entry(number, 0), entry(number, INDOM_FLAG)])
        .collect();
    let pages = [b'x'; ENTRIES as usize];
    let base = open(index(2 * ENTRIES, &entries), &pages);
    assert_eq!(base.entries(), 2 * ENTRIES as usize);
    // With the NUL that was added.
    let offset = |text: &[u8]| pages.len() + 1 - text.len();
    let found = |key| base.text_of(key, HelpKind::Long).map(offset);
    for wanted in (0..50).chain((0..50).rev()) {
        let mut numbers = (0..ENTRIES).filter(|number| item(*number) == wanted);
        let (first, last) = (numbers.next().unwrap(), numbers.next_back().unwrap());
        let number = METRIC | wanted;
        assert_eq!(found(HelpKey::Metric(MetricId(number))), Some(first as usize));
        assert_eq!(found(HelpKey::InDom(InDom(number))), Some(last as usize));
    }
    assert_eq!(found(HelpKey::Metric(MetricId(METRIC | 50))), None);
    assert_eq!(found(HelpKey::Metric(MetricId(0))), None);
}

/// Of several entries, the first counts for a metric and the last for an instance domain (HELP-3,
/// HELP-7, HELP-25, HELP-26, H-7).
#[test]
fn duplicates() {
    let base = open(
        index(4, &[[METRIC, 0, 4], [METRIC, 8, 8], [INDOM, 0, 4], [INDOM, 4, 8]]),
        PAGES,
    );
    assert_eq!(
        until_nul(base.text_of(HelpKey::Metric(MetricId(METRIC)), HelpKind::OneLine)),
        Some(&b"one"[..])
    );
    assert_eq!(
        until_nul(base.text_of(HelpKey::Metric(MetricId(METRIC)), HelpKind::Long)),
        Some(&b"two"[..])
    );
    assert_eq!(
        until_nul(base.text_of(HelpKey::Metric(MetricId(INDOM)), HelpKind::OneLine)),
        Some(&b"one"[..])
    );
    assert_eq!(
        until_nul(base.text_of(HelpKey::InDom(InDom(METRIC)), HelpKind::OneLine)),
        Some(&b"two"[..])
    );
    for (kind, text) in [(HelpKind::OneLine, &b"two"[..]), (HelpKind::Long, b"three")] {
        let entry = HelpKey::InDom(InDom(INDOM));
        assert_eq!(until_nul(base.text_of(entry, kind)), Some(text));
    }
    assert_eq!(
        base.text_of(HelpKey::Metric(MetricId(METRIC + 1)), HelpKind::Long),
        None
    );
    assert_eq!(base.text_of(HelpKey::InDom(InDom(METRIC + 1)), HelpKind::Long), None);
}

/// The end of the pages ends the last text, so every text has a NUL (HELP-32).
#[test]
fn last_text_without_nul() {
    let base = open(index(1, &[[METRIC, 8, 12]]), PAGES);
    assert_eq!(
        base.text_of(HelpKey::Metric(MetricId(METRIC)), HelpKind::OneLine),
        Some(&b"three\0"[..])
    );
    assert_eq!(
        base.text_of(HelpKey::Metric(MetricId(METRIC)), HelpKind::Long),
        Some(&b"e\0"[..])
    );
    assert_eq!(base.pages(), PAGES);
}

/// Sizes are checked without overflow: 0x15555555 entries wrap 32 bits (HELP-30, H-4).
#[test]
fn sizes() {
    let entry = [METRIC, 0, 4];
    for count in [2, 0x1555_5555, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
        assert_eq!(
            database(index(count, &[entry]), PAGES).0.err(),
            Some(Error::EINVAL),
            "{count}"
        );
    }
    for cut in 0..12 {
        assert_eq!(
            database(index(0, &[])[..cut].to_vec(), PAGES).0.err(),
            Some(Error::EINVAL)
        );
    }
    assert_eq!(database(index(1, &[entry]), b"").0.err(), Some(Error::EINVAL));
    assert!(database(index(0, &[]), PAGES).0.is_ok());
}

/// Magic and version are checked (HELP-2).
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

/// A bad offset costs that text only, and is reported once (HELP-31).
#[test]
fn offsets_outside() {
    let far = u32::try_from(PAGES.len()).unwrap();
    let (base, journal) = database(
        index(3, &[[METRIC, 0, 4], [METRIC + 1, far, 4], [INDOM, 4, u32::MAX]]),
        PAGES,
    );
    let base = base.unwrap();
    assert_eq!(
        until_nul(base.text_of(HelpKey::Metric(MetricId(METRIC)), HelpKind::OneLine)),
        Some(&b"one"[..])
    );
    assert_eq!(
        base.text_of(HelpKey::Metric(MetricId(METRIC + 1)), HelpKind::OneLine),
        None
    );
    assert_eq!(
        until_nul(base.text_of(HelpKey::Metric(MetricId(METRIC + 1)), HelpKind::Long)),
        Some(&b"two"[..])
    );
    assert_eq!(base.text_of(HelpKey::InDom(InDom(METRIC)), HelpKind::Long), None);
    let said = journal.messages;
    let line = |entry: &str| {
        let text = format!("pmdaOpenHelp: t.dir: entry {entry} points outside the help text");
        [crate::log::Message::Notify(Level::Warning, text.into_bytes())]
    };
    assert_eq!(said, line("2 (metric 9.0.1)"));
    let (_, journal) = database(index(1, &[[INDOM + 5, 4, far]]), PAGES);
    assert_eq!(journal.messages, line("1 (instance domain 9.5)"));
}

fn open_in(directory: &Path) -> Result<Database> {
    let name = directory.join("t");
    Database::open(name.as_os_str().as_bytes(), &mut Journal::new())
}

/// The index is checked before the pages are looked for (HELP-20, HELP-30).
#[test]
fn order_of_checks() {
    let directory = tempfile::tempdir().unwrap();
    let (dir, pag) = (directory.path().join("t.dir"), directory.path().join("t.pag"));
    assert_eq!(open_in(directory.path()).err(), Some(Error::os(libc::ENOENT)));
    fs::write(&dir, index(2, &[[1, 0, 0]])).unwrap();
    assert_eq!(open_in(directory.path()).err(), Some(Error::EINVAL));
    fs::write(&dir, index(1, &[[1, 0, 0]])).unwrap();
    assert_eq!(open_in(directory.path()).err(), Some(Error::os(libc::ENOENT)));
    fs::write(&pag, b"").unwrap();
    assert_eq!(open_in(directory.path()).err(), Some(Error::EINVAL));
    fs::write(&pag, b"text").unwrap();
    assert!(open_in(directory.path()).is_ok());
    // Without entries as well.
    fs::write(&dir, index(0, &[])).unwrap();
    assert!(open_in(directory.path()).is_ok());
    // Directories, and a name that no file can have.
    for (path, error) in [(&pag, Error::ENODEV), (&dir, Error::EINVAL)] {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        assert_eq!(open_in(directory.path()).err(), Some(error));
    }
    assert_eq!(Database::open(b"a\0b", &mut Journal::new()).err(), Some(Error::EINVAL));
}

/// A file that has become shorter since it was looked at is no database (HELP-33).
#[test]
fn shorter_files() {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(b"12345", 0).unwrap();
    let filled = |size: usize| {
        let mut out = vec![0; size];
        fill(&file, &mut out).map(|()| out)
    };
    assert_eq!((filled(4), filled(6)), (Ok(b"1234".to_vec()), Err(Error::EINVAL)));
}

/// A file with a hole in the part that is read is refused (HELP-34).
#[test]
fn holes() {
    let directory = tempfile::tempdir().unwrap();
    let (dir, pag) = (directory.path().join("t.dir"), directory.path().join("t.pag"));
    fs::write(&dir, index(1, &[[1, 0, 2]])).unwrap();
    fs::write(&pag, b"a\0b").unwrap();
    assert!(open_in(directory.path()).is_ok());
    let file = File::options().write(true).open(&pag).unwrap();
    file.set_len(1 << 30).unwrap();
    assert_eq!(open_in(directory.path()).err(), Some(Error::EINVAL));
    fs::write(&pag, b"a\0b").unwrap();
    let file = File::options().write(true).open(&dir).unwrap();
    file.set_len(12 * 100_000_001).unwrap();
    assert!(open_in(directory.path()).is_ok());
    file.write_all_at(&index(100_000_000, &[]), 0).unwrap();
    assert_eq!(open_in(directory.path()).err(), Some(Error::EINVAL));
}

/// A file that is not regular is refused at once: a FIFO without a writer is not waited for
/// (HELP-34).
#[test]
fn no_regular_files() {
    let directory = tempfile::tempdir().unwrap();
    let (dir, pag) = (directory.path().join("t.dir"), directory.path().join("t.pag"));
    let fifo = |path| mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    fifo(&dir);
    assert_eq!(open_in(directory.path()).err(), Some(Error::EINVAL));
    fs::remove_file(&dir).unwrap();
    fs::write(&dir, index(1, &[[1, 0, 0]])).unwrap();
    fifo(&pag);
    assert_eq!(open_in(directory.path()).err(), Some(Error::EINVAL));
    fs::remove_file(&pag).unwrap();
    symlink("/dev/zero", &pag).unwrap();
    assert_eq!(open_in(directory.path()).err(), Some(Error::EINVAL));
}

/// Root follows no link that another user may have made (DEF-18).
#[test]
fn links_of_others() {
    if !testing::is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for folder in ["ours", "theirs"] {
        fs::create_dir(at(folder)).unwrap();
    }
    fs::write(at("ours/t.dir"), index(1, &[[1, 0, 0]])).unwrap();
    fs::write(at("ours/t.pag"), b"text").unwrap();
    for name in ["t.dir", "t.pag"] {
        symlink(at("ours").join(name), at("theirs").join(name)).unwrap();
    }
    assert!(open_in(&at("theirs")).is_ok());
    chown(at("theirs"), Some(65534), Some(65534)).unwrap();
    assert_eq!(open_in(&at("theirs")).err(), Some(Error::os(libc::EACCES)));
}

/// Later changes of the files have no effect, and entries beyond the announced ones are ignored
/// (HELP-33, H-6).
#[test]
fn read_once() {
    let directory = tempfile::tempdir().unwrap();
    let (dir, pag) = (directory.path().join("t.dir"), directory.path().join("t.pag"));
    fs::write(&dir, index(1, &[[1, 0, 5], [2, 0, 0]])).unwrap();
    fs::write(&pag, b"text\0more").unwrap();
    let base = open_in(directory.path()).unwrap();
    fs::write(&pag, b"").unwrap();
    assert_eq!(
        base.text_of(HelpKey::Metric(MetricId(1)), HelpKind::Long),
        Some(&b"more\0"[..])
    );
    assert_eq!(base.text_of(HelpKey::Metric(MetricId(2)), HelpKind::Long), None);
    assert_eq!((base.index().len(), base.pages().len()), (24, 9));
}
