//! Names with numbers that stay: sources, metrics of a source, instances of a metric.
//!
//! Each table is a file in `$PCP_VAR_DIR/config/pmda`, named after the domain and a serial as those
//! of instance domains are. The files are the ones that PCP's agent reads and writes, so that a
//! host may run either one.

mod pickle;

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The files of a domain.
#[derive(Clone, Debug)]
pub struct Files {
    directory: PathBuf,
    domain: u32,
}

impl Files {
    /// Those of a domain below `$PCP_VAR_DIR`.
    #[must_use]
    pub fn new(variable: &Path, domain: u32) -> Files {
        Files {
            directory: variable.join("config/pmda"),
            domain,
        }
    }

    fn path(&self, serial: u32) -> PathBuf {
        self.directory.join(format!("{}.{serial}.py", self.domain))
    }
}

/// Names, numbered from 0 in the order in which they came.
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    names: Vec<Rc<str>>,
    numbers: HashMap<Rc<str>, u32>,
    /// The most names.
    limit: u32,
    has_prefix: bool,
    is_changed: bool,
    /// Why the file could not be written the last time.
    unsaved: Option<ErrorKind>,
}

impl Table {
    /// The table with a serial, as its file has it.
    #[must_use]
    pub fn load(files: &Files, serial: u32, limit: u32) -> Table {
        let path = files.path(serial);
        let mut table = Table {
            names: Vec::new(),
            numbers: HashMap::new(),
            limit,
            has_prefix: false,
            is_changed: false,
            unsaved: None,
            path,
        };
        match fs::read(&table.path) {
            Ok(file) => table.fill(&file),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => log::error!("cannot read {}: {error}", table.path.display()),
        }
        table
    }

    /// Takes the names of a file. One that cannot be read stays, under another name.
    fn fill(&mut self, file: &[u8]) {
        match pickle::read(file) {
            Ok(names) => {
                self.has_prefix = names.has_prefix;
                for name in names.list {
                    let name: Rc<str> = name.into();
                    let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
                    self.numbers.entry(Rc::clone(&name)).or_insert(number);
                    self.names.push(name);
                }
            }
            Err(problem) => {
                let aside = self.path.with_extension("unreadable");
                let kept =
                    fs::rename(&self.path, &aside).map_or_else(|error| error.to_string(), |()| "kept".to_owned());
                log::error!(
                    "{} has no numbers that can be read ({problem}): new ones are given; the file is {} ({kept})",
                    self.path.display(),
                    aside.display()
                );
            }
        }
    }

    /// The number of a name, which gets one if it has none. `None` when there are too many.
    pub fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let number = u32::try_from(self.names.len())
            .ok()
            .filter(|number| *number < self.limit)?;
        let name: Rc<str> = name.into();
        self.names.push(Rc::clone(&name));
        self.numbers.insert(name, number);
        self.is_changed = true;
        Some(number)
    }

    /// The names, by their numbers.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// How many names there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::try_from(self.names.len()).unwrap_or(u32::MAX)
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
        let name = self.names.get(number as usize)?;
        Some(if self.has_prefix {
            format!("{number} {name}")
        } else {
            name.to_string()
        })
    }

    /// Writes the file if something is new. What goes wrong again is logged once.
    pub fn save(&mut self) {
        if !self.is_changed {
            return;
        }
        let file = pickle::write(self.names(), self.has_prefix);
        match replace(&self.path, &file) {
            Ok(()) => {
                self.is_changed = false;
                self.unsaved = None;
            }
            Err(error) => {
                if self.unsaved != Some(error.kind()) {
                    log::error!("cannot save {}: {error}", self.path.display());
                }
                self.unsaved = Some(error.kind());
            }
        }
    }
}

/// Puts a file in the place of another, which is there whole at any time.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Made by nobody else: whoever may write to the folder cannot lead it elsewhere.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&new)?;
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
