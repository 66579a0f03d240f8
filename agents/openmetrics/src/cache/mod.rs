//! Names with numbers that stay: sources, metrics of a source, instances of a metric.
//!
//! Each table is a file in `$PCP_VAR_DIR/config/pmda`, named after the domain and a serial as those
//! of instance domains are. The files are the ones that PCP's agent reads and writes, so that a
//! host may run either one.

mod pickle;

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hashbrown::HashTable;
use pmda_core::dir_entry::DirEntry;
use rustix::fs::OFlags;

/// The largest file that is read, in bytes.
const LARGEST: usize = 256 << 20;

/// A smaller file is written as a whole, in bytes; to a larger one names are added.
const SMALL: u64 = 16 << 10;

/// The kernel copies what is written page by page: within one, a process that is killed has written
/// all or nothing.
const PAGE: u64 = 4096;

/// The files of a domain.
#[derive(Clone, Debug)]
pub struct Files {
    directory: Rc<Path>,
    domain: u32,
    hasher: RandomState,
}

impl Files {
    /// Those of a domain below `$PCP_VAR_DIR`.
    #[must_use]
    pub fn new(variable: &Path, domain: u32) -> Files {
        Files {
            directory: variable.join("config/pmda").into(),
            domain,
            hasher: RandomState::new(),
        }
    }

    fn path(&self, serial: u32) -> PathBuf {
        self.directory.join(format!("{}.{serial}.py", self.domain))
    }
}

/// Names, numbered from 0 in the order in which they came.
///
/// There is a table for each metric, so it is small: the names are one text, and what finds them
/// has their numbers only.
#[derive(Debug)]
pub struct Table {
    files: Files,
    serial: u32,
    names: Names,
    /// The numbers by the hash of the names.
    numbers: HashTable<u32>,
    /// The most names.
    limit: u32,
    has_prefix: bool,
    is_changed: bool,
    /// The file has what could be neither read nor moved: it is not written to.
    is_kept_out: bool,
    /// Why the file could not be written the last time.
    unsaved: Option<ErrorKind>,
    /// The file as this process has written it, if it is not small.
    written: Option<Box<Written>>,
}

/// A file, when it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    file: (u64, u64),
    length: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(file: &File) -> std::io::Result<Stamp> {
        let found = file.metadata()?;
        Ok(Stamp {
            file: (found.dev(), found.ino()),
            length: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        })
    }
}

/// What a file has.
#[derive(Debug)]
struct Written {
    stamp: Stamp,
    count: u32,
    has_prefix: bool,
}

/// Names, one behind the other.
#[derive(Debug, Default)]
struct Names {
    text: String,
    /// Where each one ends.
    ends: Vec<usize>,
}

impl Names {
    fn get(&self, number: u32) -> Option<&str> {
        let number = number as usize;
        let begin = match number.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.text.get(begin..*self.ends.get(number)?)
    }

    fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    fn len(&self) -> u32 {
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }
}

impl Table {
    /// The table with a serial, as its file has it.
    #[must_use]
    pub fn load(files: &Files, serial: u32, limit: u32) -> Table {
        let mut table = Table {
            files: files.clone(),
            serial,
            names: Names::default(),
            numbers: HashTable::new(),
            limit,
            has_prefix: false,
            is_changed: false,
            is_kept_out: false,
            unsaved: None,
            written: None,
        };
        let path = table.path();
        // Neither a FIFO nor a device is read, and root follows no link of others.
        match DirEntry::target_at(&path).and_then(|entry| entry.content(LARGEST)) {
            Ok(file) => match pickle::read(&file) {
                Ok(names) => table.fill(names),
                Err(problem) => {
                    let rescued = pickle::rescue(&file);
                    let count = rescued.as_ref().map_or(0, |names| names.list.len());
                    table.keep_aside(&path, &problem, count);
                    if let Some(names) = rescued {
                        table.fill(names);
                        table.is_changed = true;
                    }
                }
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => table.keep_aside(&path, &error.to_string(), 0),
        }
        table
    }

    fn path(&self) -> PathBuf {
        self.files.path(self.serial)
    }

    /// Takes the names of a file.
    fn fill(&mut self, names: pickle::Names) {
        self.has_prefix = names.has_prefix;
        self.names.ends.reserve_exact(names.list.len());
        self.names
            .text
            .reserve_exact(names.list.iter().map(|name| name.len()).sum());
        for name in names.list {
            // Of a name that is there twice the first number counts.
            let is_known = self.find(&name).is_some();
            self.add(&name, !is_known);
        }
    }

    /// Keeps what cannot be read, whatever it is and for whatever reason, under another name. If
    /// that is not possible it stays, and this table is not saved. So many names are known anyway.
    fn keep_aside(&mut self, path: &Path, problem: &str, rescued: usize) {
        let kept = DirEntry::at(path).and_then(|entry| entry.keep_aside("unreadable"));
        let outcome = match &kept {
            Ok(entry) => format!("the file is kept as {}", entry.name().as_ref().display()),
            Err(error) => format!("the file stays, and they are not saved: {error}"),
        };
        self.is_kept_out = kept.is_err();
        let path = path.display();
        if rescued > 0 {
            log::error!("{path} is not whole ({problem}): its first {rescued} names keep their numbers; {outcome}");
        } else {
            log::error!("{path} has no numbers that can be read ({problem}): new ones are given; {outcome}");
        }
    }

    fn hash(&self, name: &str) -> u64 {
        self.files.hasher.hash_one(name)
    }

    fn find(&self, name: &str) -> Option<u32> {
        let is_same = |number: &u32| self.names.get(*number) == Some(name);
        self.numbers.find(self.hash(name), is_same).copied()
    }

    /// Adds a name under the next number, by which it is found or not.
    fn add(&mut self, name: &str, is_found: bool) -> u32 {
        let number = self.names.len();
        self.names.push(name);
        if is_found {
            let (names, hasher) = (&self.names, &self.files.hasher);
            let hash_of = |number: &u32| hasher.hash_one(names.get(*number).unwrap_or_default());
            self.numbers.insert_unique(hasher.hash_one(name), number, hash_of);
        }
        number
    }

    /// The number of a name, which gets one if it has none. `None` when there are too many.
    pub fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.find(name) {
            return Some(number);
        }
        if self.names.len() >= self.limit {
            return None;
        }
        self.is_changed = true;
        Some(self.add(name, true))
    }

    /// The names, by their numbers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        (0..self.names.len()).filter_map(|number| self.names.get(number))
    }

    /// How many names there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.names.len()
    }

    /// Whether the names of instances begin with their numbers.
    #[must_use]
    pub fn has_prefix(&self) -> bool {
        self.has_prefix
    }

    /// The names of instances begin with their numbers from now on.
    pub fn set_prefix(&mut self) {
        self.is_changed |= !self.has_prefix;
        self.has_prefix = true;
    }

    /// An instance as clients see it.
    #[must_use]
    pub fn shown(&self, number: u32) -> Option<String> {
        let name = self.names.get(number)?;
        Some(if self.has_prefix {
            format!("{number} {name}")
        } else {
            name.to_owned()
        })
    }

    /// Adds names to the file. `None` if it is to be written as a whole: a small one is, and the
    /// first time, as the file may be another process's.
    fn add_to(&self, path: &Path) -> Option<Stamp> {
        let written = self.written.as_ref()?;
        if written.has_prefix != self.has_prefix {
            return None;
        }
        let new = (written.count..self.count()).filter_map(|number| self.names.get(number));
        extend(path, &written.stamp, &pickle::more(written.count, new, self.has_prefix))
    }

    /// Writes the file if something is new. What goes wrong again is logged once.
    pub fn save(&mut self) {
        if !self.is_changed || self.is_kept_out {
            return;
        }
        // No more are to be expected: documents bring the same ones again.
        self.names.text.shrink_to_fit();
        self.names.ends.shrink_to_fit();
        let path = self.path();
        let saved = match self.add_to(&path) {
            Some(stamp) => Ok(stamp),
            None => replace(&path, &pickle::write(self.names(), self.has_prefix)),
        };
        self.written = None;
        match saved {
            Ok(stamp) => {
                self.is_changed = false;
                self.unsaved = None;
                self.written = (stamp.length >= SMALL).then(|| {
                    Box::new(Written {
                        stamp,
                        count: self.count(),
                        has_prefix: self.has_prefix,
                    })
                });
            }
            Err(error) => {
                if self.unsaved != Some(error.kind()) {
                    log::error!("cannot save {}: {error}", path.display());
                }
                self.unsaved = Some(error.kind());
            }
        }
    }
}

/// Gives a file another end, in the place of its last [`pickle::END`] bytes. A process that is
/// killed leaves it as it was, but for bytes behind its end that nobody reads. `None` if it is not
/// the file that was written, or if that is not possible.
fn extend(path: &Path, stamp: &Stamp, end: &[u8]) -> Option<Stamp> {
    let file = DirEntry::at(path).ok()?.file(OFlags::WRONLY, 0).ok()?;
    let at = stamp.length.checked_sub(pickle::END as u64)?;
    let is_in_a_page = at / PAGE == (stamp.length - 1) / PAGE;
    if !is_in_a_page || Stamp::of(&file).ok()? != *stamp {
        return None;
    }
    let (first, rest) = end.split_at_checked(pickle::END)?;
    file.write_all_at(rest, stamp.length).ok()?;
    file.write_all_at(first, at).ok()?;
    Stamp::of(&file).ok()
}

/// Puts a file in the place of another, which is there whole at any time.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<Stamp> {
    let (entry, new) = (DirEntry::at(path)?, DirEntry::at(&path.with_extension("new"))?);
    // What an agent that was killed has left is removed. The file is made by nobody else: whoever
    // may write to the folder cannot lead it elsewhere.
    let mut file = new.replace(0o644)?;
    let written = file.write_all(content);
    let replaced = written.and_then(|()| new.rename(&entry)).inspect_err(|_| {
        let _ = new.unlink();
    });
    replaced.and_then(|()| Stamp::of(&file))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    fn files() -> (tempfile::TempDir, Files) {
        let directory = tempfile::tempdir().expect("a directory");
        let files = Files::new(directory.path(), 144);
        fs::create_dir_all(&files.directory).expect("made");
        (directory, files)
    }

    #[test]
    fn numbers_stay() {
        let (_directory, files) = files();
        let mut table = Table::load(&files, 5, 3);
        assert_eq!(
            [table.number("a"), table.number("b"), table.number("a")],
            [Some(0), Some(1), Some(0)]
        );
        assert_eq!(table.shown(1).as_deref(), Some("b"));
        table.set_prefix();
        table.save();
        let mut again = Table::load(&files, 5, 3);
        assert_eq!((again.number("b"), again.shown(1).as_deref()), (Some(1), Some("1 b")));
        assert_eq!(
            (again.number("c"), again.number("d"), again.count()),
            (Some(2), None, 3)
        );
        assert_eq!(again.names().collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    /// PCP's agent has written files with one name twice; what an agent that was killed has left is
    /// in nobody's way.
    #[test]
    fn names_that_are_there_twice() {
        let (_directory, files) = files();
        let path = files.path(6);
        fs::write(&path, "(lp0\nVa\np1\naVb\np2\naVa\np3\na.I00\n.").expect("written");
        fs::write(path.with_extension("new"), "half").expect("written");
        let mut table = Table::load(&files, 6, 10);
        assert_eq!(
            (table.number("a"), table.number("b"), table.number("c")),
            (Some(0), Some(1), Some(3))
        );
        assert_eq!(table.shown(2).as_deref(), Some("a"));
        table.save();
        assert_eq!(
            Table::load(&files, 6, 10).names().collect::<Vec<_>>(),
            ["a", "b", "a", "c"]
        );
        assert!(!path.with_extension("new").exists());
    }

    /// OM-72: nothing that cannot be read is replaced, again and again.
    #[test]
    fn a_file_that_cannot_be_read_is_kept() {
        let (_directory, files) = files();
        let path = files.path(7);
        let aside = |suffix: &str| files.directory.join(format!("144.7.py.{suffix}"));
        for (content, suffix) in [("what", "unreadable"), ("again", "unreadable2")] {
            fs::write(&path, content).expect("written");
            let mut table = Table::load(&files, 7, 10);
            assert_eq!(table.number("a"), Some(0));
            table.save();
            assert_eq!(fs::read_to_string(aside(suffix)).expect("kept"), content);
            assert_eq!(fs::read(&path).expect("written"), b"(lp0\nVa\np1\na.I00\n.");
        }
        for number in 3..=9 {
            fs::write(aside(&format!("unreadable{number}")), "").expect("written");
        }
        fs::write(&path, "no name is left").expect("written");
        let mut table = Table::load(&files, 7, 10);
        assert_eq!(table.number("a"), Some(0));
        table.save();
        assert_eq!(fs::read_to_string(&path).expect("there"), "no name is left");
    }

    /// What this thread has written, in bytes.
    fn written() -> u64 {
        let io = fs::read_to_string("/proc/thread-self/io").expect("Linux counts");
        let count = io.lines().find_map(|line| line.strip_prefix("wchar: "));
        count.and_then(|count| count.parse().ok()).expect("a number")
    }

    fn series(number: u32) -> String {
        format!("0123456789 0123456789 0123456789 \u{e9}\u{20ac} {number}")
    }

    /// OM-72: names that keep coming cost what is new, and the file is whole after each save.
    #[test]
    fn a_file_grows_by_what_is_new() {
        let (_directory, files) = files();
        let path = files.path(9);
        let mut table = Table::load(&files, 9, 50_000);
        let begin = written();
        for save in 1..=400 {
            for number in (save - 1) * 100..save * 100 {
                assert_eq!(table.number(&series(number)), Some(number));
            }
            table.save();
            if save % 13 == 0 || save == 400 {
                let whole = pickle::write(table.names(), false);
                assert!(fs::read(&path).expect("there") == whole, "after {save} saves");
            }
        }
        let written = written() - begin;
        let length = fs::metadata(&path).expect("there").len();
        assert!(written < 4 * length, "{written} bytes for a file of {length}");
        table.set_prefix();
        table.save();
        let again = Table::load(&files, 9, 50_000);
        assert_eq!((again.count(), again.has_prefix()), (40_000, true));
        assert!(again.names().zip(0..).all(|(name, number)| name == series(number)));
    }

    /// A file of more than [`SMALL`] bytes, and how many names it has.
    fn large(files: &Files, serial: u32) -> (Table, u32) {
        let mut table = Table::load(files, serial, 50_000);
        let count = u32::try_from(SMALL / 40).expect("few");
        for number in 0..count {
            table.number(&series(number));
        }
        table.save();
        assert!(table.written.is_some());
        (table, count)
    }

    /// What another process has written is not taken for this one's.
    #[test]
    fn a_file_that_has_changed_meanwhile() {
        let (_directory, files) = files();
        let (mut table, count) = large(&files, 10);
        let path = files.path(10);
        for other in ["(lp0\nVa\np1\na.I00\n.".to_owned(), "x".repeat(SMALL as usize)] {
            fs::write(&path, other).expect("ours");
            let name = series(table.count());
            table.number(&name);
            table.save();
            assert!(fs::read(&path).expect("there") == pickle::write(table.names(), false));
        }
        fs::remove_file(&path).expect("ours");
        table.number("last");
        table.save();
        assert_eq!(Table::load(&files, 10, 50_000).count(), count + 3);
    }

    /// A process that is killed while names are added loses no other name, nor does a host whose
    /// power is lost.
    #[test]
    fn a_file_that_was_being_extended() {
        let (_directory, files) = files();
        let (mut table, count) = large(&files, 11);
        let path = files.path(11);
        let before = fs::read(&path).expect("there");
        let new = pickle::more(count, ["new", "newer"], false);
        let killed = [&before, &new[pickle::END..]].concat();
        fs::write(&path, killed).expect("ours");
        let mut again = Table::load(&files, 11, 50_000);
        assert_eq!((again.count(), again.number("other")), (count, Some(count)));
        again.save();
        assert!(fs::read(&path).expect("there") == pickle::write(again.names(), false));

        table.number("new");
        table.number("newer");
        let after = pickle::write(table.names(), false);
        for length in before.len() - pickle::END..after.len() - pickle::END {
            fs::write(&path, &after[..length]).expect("ours");
            let mut again = Table::load(&files, 11, 50_000);
            assert!((count..=count + 2).contains(&again.count()), "{length}");
            assert!(again.names().zip(table.names()).all(|(name, known)| name == known));
            again.save();
            assert_eq!(Table::load(&files, 11, 50_000).count(), again.count());
            let aside = path.with_extension("py.unreadable");
            fs::remove_file(aside).expect("kept");
        }
    }

    /// OM-72: a FIFO is not waited for, and a device not read to its end.
    #[test]
    fn what_is_no_file() {
        let (_directory, files) = files();
        let path = files.path(8);
        let saved = || {
            let mut table = Table::load(&files, 8, 10);
            assert_eq!(table.number("a"), Some(0));
            table.save();
            assert_eq!(Table::load(&files, 8, 10).count(), 1);
            fs::remove_file(&path).expect("written");
        };
        mkfifo(&path, Mode::S_IRWXU).expect("ours");
        saved();
        symlink("/dev/zero", &path).expect("ours");
        saved();
        fs::create_dir(&path).expect("ours");
        saved();
        File::create(&path).expect("ours").set_len(1 << 40).expect("a hole");
        saved();
        let kept = fs::read_dir(&files.directory).expect("ours").count();
        assert_eq!(kept, 4);
    }

    #[test]
    fn nothing_is_written_where_nothing_is_new() {
        let (_directory, files) = files();
        let mut table = Table::load(&files, 1, 10);
        table.save();
        assert!(!files.path(1).exists());
        table.number("a");
        table.save();
        fs::remove_file(files.path(1)).expect("its own");
        table.number("a");
        table.save();
        assert!(!files.path(1).exists());
    }
}
