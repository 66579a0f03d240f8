//! Names with numbers that stay: sources, metrics of a source, instances of a metric.
//!
//! Each table is a file in `$PCP_VAR_DIR/config/pmda`, named after the domain and a serial as those
//! of instance domains are. The files are the ones that PCP's agent reads and writes, so that a
//! host may run either one.

mod pickle;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hashbrown::HashTable;
use pmda_core::dir_entry::DirEntry;

/// The largest file that is read, in bytes.
const LARGEST: usize = 256 << 20;

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
        };
        let path = table.path();
        // Neither a FIFO nor a device is read, and root follows no link of others.
        match DirEntry::target_at(&path).and_then(|entry| entry.content(LARGEST)) {
            Ok(file) => match pickle::read(&file) {
                Ok(names) => table.fill(names),
                Err(problem) => table.keep_aside(&path, &problem),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => table.keep_aside(&path, &error.to_string()),
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
    /// that is not possible it stays, and this table is not saved.
    fn keep_aside(&mut self, path: &Path, problem: &str) {
        let kept = DirEntry::at(path).and_then(|entry| entry.keep_aside("unreadable"));
        let outcome = match &kept {
            Ok(entry) => format!("the file is kept as {}", entry.name().as_ref().display()),
            Err(error) => format!("the file stays, and they are not saved: {error}"),
        };
        self.is_kept_out = kept.is_err();
        log::error!(
            "{} has no numbers that can be read ({problem}): new ones are given; {outcome}",
            path.display()
        );
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

    /// Writes the file if something is new. What goes wrong again is logged once.
    pub fn save(&mut self) {
        if !self.is_changed || self.is_kept_out {
            return;
        }
        // No more are to be expected: documents bring the same ones again.
        self.names.text.shrink_to_fit();
        self.names.ends.shrink_to_fit();
        let file = pickle::write(self.names(), self.has_prefix);
        let path = self.path();
        match replace(&path, &file) {
            Ok(()) => {
                self.is_changed = false;
                self.unsaved = None;
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

/// Puts a file in the place of another, which is there whole at any time.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let (entry, new) = (DirEntry::at(path)?, DirEntry::at(&path.with_extension("new"))?);
    // What an agent that was killed has left is removed. The file is made by nobody else: whoever
    // may write to the folder cannot lead it elsewhere.
    let mut file = new.replace(0o644)?;
    let written = file.write_all(content);
    written.and_then(|()| new.rename(&entry)).inspect_err(|_| {
        let _ = new.unlink();
    })
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
        fs::File::create(&path).expect("ours").set_len(1 << 40).expect("a hole");
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
