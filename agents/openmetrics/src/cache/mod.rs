//! Names with numbers that stay: sources, metrics of a source, instances of a metric.
//!
//! Each table is a file in `$PCP_VAR_DIR/config/pmda`, named after the domain and a serial as those
//! of instance domains are. The files are the ones that PCP's agent reads and writes, so that a
//! host may run either one.

mod disk;
mod names;
mod pickle;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use disk::{Stamp, extend, overwrite, replace};
use hashbrown::HashTable;
use names::Names;
use pmda_core::dir_entry::DirEntry;
use pmda_core::log::Counted;
use rustix::io::Errno;

use crate::folders::{Folders, beside};
use crate::headroom;

/// The largest file, in bytes: no larger one is written or read.
const LARGEST: usize = 256 << 20;

/// A smaller file is written as a whole, in bytes; to a larger one names are added.
const SMALL: u64 = 16 << 10;

/// The files of a domain.
#[derive(Clone, Debug)]
pub struct Files {
    directory: Rc<Path>,
    folders: Folders,
    domain: u32,
    hasher: RandomState,
    /// [`LARGEST`], but in tests.
    largest: usize,
}

impl Files {
    /// The files of a domain below `$PCP_VAR_DIR`.
    #[must_use]
    pub fn new(variable: &Path, domain: u32) -> Files {
        Files {
            directory: variable.join("config/pmda").into(),
            folders: Folders::default(),
            domain,
            hasher: RandomState::new(),
            largest: LARGEST,
        }
    }

    /// The folders that are open for a batch.
    #[must_use]
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    fn path(&self, serial: u32) -> PathBuf {
        self.directory.join(format!("{}.{serial}.py", self.domain))
    }
}

/// The reason why a new name gets no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// No number is left.
    Numbers,
    /// The file would be larger than [`LARGEST`], or is: without its names no number is new.
    File,
    /// The system had no memory or descriptor to read the file: without its names no number is new.
    Memory,
}

impl Full {
    /// The reason in words, where there may be `limit` numbers.
    #[must_use]
    pub fn reason(self, limit: u32) -> String {
        match self {
            Full::Numbers => format!("Too many ({limit}) different names"),
            Full::File => format!("their file would have more than {LARGEST} bytes"),
            Full::Memory => "the system has no memory or descriptors for them".to_owned(),
        }
    }
}

/// The numbers that are not on the disk.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Unsaved {
    /// How many.
    pub count: u32,
    /// The first file that could not be written, and why.
    pub first: Option<String>,
}

impl Unsaved {
    /// Adds those of another file.
    pub fn add(&mut self, other: Unsaved) {
        self.count = self.count.saturating_add(other.count);
        if self.first.is_none() {
            self.first = other.first;
        }
    }

    /// Logs the first file and the reason, unless they are the same as before: a full disk has one line of
    /// a source, however many files it has.
    pub fn log_unless(&self, before: &Unsaved) {
        if let Some(first) = self.first.as_ref().filter(|_| self.first != before.first) {
            log::error!("cannot save {first}");
        }
    }

    /// The words for the status, if there are any.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let numbers = Counted(self.count as usize, "number is", "numbers are");
        let first = self.first.as_deref().unwrap_or_default();
        (self.count > 0).then(|| format!("{numbers} not saved, and may be another name's after a restart ({first})"))
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
    /// The length of the file, were it written as a whole, in bytes, or a little more.
    size: usize,
    /// The length of the names that were forgotten since the file was written as a whole, in bytes.
    forgotten: usize,
    /// The file has what could be neither read nor moved: it is not written to.
    is_kept_out: bool,
    /// The reason why the file was not read: its names keep their numbers, and no other name gets
    /// one.
    unread: Option<Full>,
    /// The number of names that the file has.
    saved: u32,
    /// The reason why the file could not be written the last time, or was not.
    fault: Option<Box<str>>,
    /// The file as this process has written it, if it is not small.
    written: Option<Box<Written>>,
}

/// The content of a file.
#[derive(Debug)]
struct Written {
    stamp: Stamp,
    count: u32,
    has_prefix: bool,
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
            size: pickle::FRAME,
            forgotten: 0,
            is_kept_out: false,
            unread: None,
            saved: 0,
            fault: None,
            written: None,
        };
        let path = table.path();
        // Neither a FIFO nor a device is read, and root follows no link of others.
        match files.folders.content(&path, files.largest) {
            Ok(file) if !has_memory_for(&file) => table.leave_unread(Full::Memory),
            Ok(file) => match pickle::read(&file) {
                Ok(names) => {
                    table.fill(names);
                    table.saved = table.count();
                }
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
            Err(error) if Errno::from_io_error(&error) == Some(Errno::FBIG) => {
                log::error!(
                    "{} has more than {} bytes: its numbers are not read, and no new ones are given",
                    path.display(),
                    files.largest
                );
                table.leave_unread(Full::File);
            }
            Err(error) if is_of_the_moment(&error) => table.leave_unread(Full::Memory),
            Err(error) => table.keep_aside(&path, &error.to_string(), 0),
        }
        table
    }

    fn path(&self) -> PathBuf {
        self.files.path(self.serial)
    }

    /// Takes note that the file is not read: it stays as it is, and no name gets a number.
    pub(crate) fn leave_unread(&mut self, why: Full) {
        (self.is_kept_out, self.unread) = (true, Some(why));
    }

    /// Returns whether another attempt may read the file: for this one there was no memory.
    #[must_use]
    pub fn is_to_be_read_again(&self) -> bool {
        self.unread == Some(Full::Memory)
    }

    /// Takes the names of a file.
    fn fill(&mut self, names: pickle::Names) {
        self.has_prefix = names.has_prefix;
        let remembered = || names.list.iter().flatten();
        self.names
            .reserve(remembered().count(), remembered().map(String::len).sum());
        for name in names.list {
            let Some(name) = name else {
                self.names.skip();
                self.size += pickle::FORGOTTEN_SIZE;
                continue;
            };
            // If the file has a name twice, the first number counts.
            let is_repeated = self.find(&name).is_some();
            self.add(&name, !is_repeated);
        }
    }

    /// Keeps what cannot be read, whatever it is and for whatever reason, under another name. If
    /// that is not possible it stays, and this table is not saved. So many names are known anyway.
    fn keep_aside(&mut self, path: &Path, problem: &str, rescued: usize) {
        let kept = DirEntry::at(path).and_then(|entry| entry.keep_aside("unreadable"));
        let outcome = match &kept {
            Ok(name) => format!("the file is kept as {}", name.as_ref().display()),
            Err(error) => format!("the file stays, and they are not saved: {error}"),
        };
        if let Err(error) = &kept {
            self.is_kept_out = true;
            self.fault = Some(format!("it cannot be read or moved: {error}").into());
        }
        let extent = match rescued {
            0 => format!("has no numbers that can be read ({problem}): new ones are given"),
            1 => format!("is not whole ({problem}): its first name keeps its number"),
            _ => format!("is not whole ({problem}): its first {rescued} names keep their numbers"),
        };
        log::error!("{} {extent}; {outcome}", path.display());
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
        let number = self.names.push(name);
        self.size += pickle::size(name);
        if is_found {
            let (names, hasher) = (&self.names, &self.files.hasher);
            let hash_of = |number: &u32| hasher.hash_one(names.get(*number).unwrap_or_default());
            self.numbers.insert_unique(hasher.hash_one(name), number, hash_of);
        }
        number
    }

    /// Returns whether a name has a number.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The number of a name, which gets one if it has none.
    ///
    /// # Errors
    /// The reason why it gets none.
    pub fn number(&mut self, name: &str) -> Result<u32, Full> {
        if let Some(number) = self.find(name) {
            return Ok(number);
        }
        if let Some(why) = self.unread {
            return Err(why);
        }
        if self.size + pickle::size(name) > self.files.largest {
            return Err(Full::File);
        }
        if self.names.next() >= self.limit {
            return Err(Full::Numbers);
        }
        self.is_changed = true;
        Ok(self.add(name, true))
    }

    /// Forgets the names of numbers: who has one of them later gets another number. The file is
    /// written when most of it is forgotten.
    pub fn forget(&mut self, mut is_forgotten: impl FnMut(u32) -> bool) {
        let before = self.names.bytes();
        if !self.names.forget(&mut is_forgotten) {
            return;
        }
        self.forgotten += before - self.names.bytes();
        let kept = self.names.iter().map(|(_, name)| pickle::size(name));
        let (kept, count) = kept.fold((0, 0), |(sum, count), size| (sum + size, count + 1));
        self.size = pickle::FRAME + kept + pickle::FORGOTTEN_SIZE * (self.count() as usize - count);
        let (names, hasher) = (&self.names, &self.files.hasher);
        let hash_of = |number: &u32| hasher.hash_one(names.get(*number).unwrap_or_default());
        self.numbers.retain(|number| names.get(*number).is_some());
        self.numbers.shrink_to_fit(hash_of);
        if self.forgotten > self.names.bytes() + SMALL as usize {
            self.is_changed = true;
            self.written = None;
        }
    }

    /// Returns whether the file has the name of a number.
    #[must_use]
    pub fn has_saved(&self, number: u32) -> bool {
        number < self.saved
    }

    /// The names whose numbers the file does not have, and could not be written with.
    #[must_use]
    pub fn unsaved(&self) -> Unsaved {
        let count = self.fault.as_ref().map_or(0, |_| self.count() - self.saved);
        let why = |fault: &str| format!("{}: {fault}", self.path().display());
        Unsaved {
            count,
            first: self.fault.as_deref().map(why),
        }
    }

    /// The names with their numbers.
    pub fn names(&self) -> impl Iterator<Item = (u32, &str)> {
        self.names.iter()
    }

    /// The number that the next new name gets.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.names.next()
    }

    /// The name of a number, unless it is forgotten.
    #[must_use]
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number)
    }

    /// The names from this number on, as the file has them.
    fn from(&self, first: u32) -> impl Iterator<Item = &str> {
        let numbers = first..self.count();
        numbers.map(|number| self.names.get(number).unwrap_or(pickle::FORGOTTEN))
    }

    /// Returns whether the names of instances begin with their numbers.
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
        let new = pickle::more(written.count, self.from(written.count), self.has_prefix);
        // The file still has the names that were forgotten; a file that is written as a whole does
        // not.
        if written.stamp.length as usize + new.len() > self.files.largest {
            return None;
        }
        let folder = self.files.folders.folder_of(path).ok()?;
        extend(&beside(&folder, path).ok()?, &written.stamp, &new)
    }

    /// Writes the file as a whole: a new one in its place, or else over it.
    fn write(&self, path: &Path) -> std::io::Result<Stamp> {
        let folder = self.files.folders.folder_of(path)?;
        let (entry, new) = (beside(&folder, path)?, beside(&folder, &path.with_extension("new"))?);
        let replaced = replace(&entry, &new, |file| pickle::write(file, self.from(0), self.has_prefix));
        // The disk has no room for a second file, or the folder is not to be written to. The first
        // reason is the one that counts.
        replaced.or_else(|why| {
            if !headroom::has(self.size) {
                return Err(why);
            }
            let mut content = Vec::new();
            pickle::write(&mut content, self.from(0), self.has_prefix)?;
            overwrite(&entry, &content).map_err(|_| why)
        })
    }

    /// Writes the file if something is new. [`Table::unsaved`] has the reason if that is not possible.
    pub fn save(&mut self) {
        if !self.is_changed || self.is_kept_out {
            return;
        }
        // No more are to be expected: documents bring the same ones again.
        self.names.shrink_to_fit();
        let path = self.path();
        let saved = match self.add_to(&path) {
            Some(stamp) => Ok(stamp),
            None => {
                self.forgotten = 0;
                self.write(&path)
            }
        };
        self.written = None;
        match saved {
            Ok(stamp) => {
                self.is_changed = false;
                self.fault = None;
                self.saved = self.count();
                self.written = (stamp.length >= SMALL).then(|| {
                    Box::new(Written {
                        stamp,
                        count: self.count(),
                        has_prefix: self.has_prefix,
                    })
                });
            }
            Err(error) => self.fault = Some(error.to_string().into()),
        }
    }
}

/// Returns whether there is memory to read the names of a file. Of a small one the headroom has
/// enough.
fn has_memory_for(file: &[u8]) -> bool {
    let size = file.len().saturating_mul(pickle::MEMORY);
    size < headroom::HEADROOM / 4 || headroom::has(size)
}

/// Returns whether an error of the system says nothing about the file.
fn is_of_the_moment(error: &std::io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOMEM | Errno::MFILE | Errno::NFILE)
    )
}

#[cfg(test)]
mod tests;
