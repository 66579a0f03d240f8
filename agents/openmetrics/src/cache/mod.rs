//! Names with numbers that stay: sources, metrics of a source, instances of a metric.
//!
//! Each table is a file in `$PCP_VAR_DIR/config/pmda`, named after the domain and a serial as those
//! of instance domains are. The files are the ones that PCP's agent reads and writes, so that a
//! host may run either one.

mod pickle;

use std::collections::hash_map::RandomState;
use std::fs::{self, OpenOptions};
use std::hash::BuildHasher;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hashbrown::HashTable;

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
            unsaved: None,
        };
        let path = table.path();
        match fs::read(&path) {
            Ok(file) => table.fill(&file, &path),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => log::error!("cannot read {}: {error}", path.display()),
        }
        table
    }

    fn path(&self) -> PathBuf {
        self.files.path(self.serial)
    }

    /// Takes the names of a file. One that cannot be read stays, under another name.
    fn fill(&mut self, file: &[u8], path: &Path) {
        match pickle::read(file) {
            Ok(names) => {
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
            Err(problem) => {
                let aside = path.with_extension("unreadable");
                let kept = fs::rename(path, &aside).map_or_else(|error| error.to_string(), |()| "kept".to_owned());
                log::error!(
                    "{} has no numbers that can be read ({problem}): new ones are given; the file is {} ({kept})",
                    path.display(),
                    aside.display()
                );
            }
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

    /// Writes the file if something is new. What goes wrong again is logged once.
    pub fn save(&mut self) {
        if !self.is_changed {
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
    let new = path.with_extension("new");
    // Made by nobody else: whoever may write to the folder cannot lead it elsewhere.
    let create = || OpenOptions::new().write(true).create_new(true).mode(0o644).open(&new);
    let mut file = match create() {
        // Left by an agent that was killed.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(&new)?;
            create()?
        }
        other => other?,
    };
    let written = file.write_all(content);
    written.and_then(|()| fs::rename(&new, path)).inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_file_that_cannot_be_read_is_kept() {
        let (_directory, files) = files();
        let path = files.path(7);
        fs::write(&path, "what").expect("written");
        let mut table = Table::load(&files, 7, 10);
        assert_eq!(table.number("a"), Some(0));
        table.save();
        assert_eq!(fs::read(path.with_extension("unreadable")).expect("kept"), b"what");
        assert_eq!(fs::read(&path).expect("written"), b"(lp0\nVa\np1\na.I00\n.");
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
