//! Where cache files are, when they are written, and saving: under the cache's lock a save only
//! collects what the file will say ([`Snapshot`]). It is written without the lock, and what changes
//! meanwhile is saved by the next one.

use std::fmt::Pointer;
use std::io;

use rustix::fs::{Mode, mkdir};

use super::disk;
use super::entry::Text;
use super::file::{Header, is_savable};
use super::stream::{LONGEST_LINE, Sink};
use super::{Cache, Report, room};
use crate::error::{Error, Result};
use crate::ident::InDom;
use crate::log::{Bytes, Level};
use crate::path::FilePath;

/// When a cache is written (CACHE-70).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// When the set of instances changed.
    Save,
    /// When anything changed.
    Sync,
    /// In any case.
    Always,
}

/// No path is longer for the system, which says `ENAMETOOLONG`.
const LONGEST: usize = 4096;
const NAMETOOLONG: i32 = 36;

/// Where the files of the caches are (CACHE-72). It owns no memory: the library keeps it in a
/// variable, and what that pointed to would be lost when an agent is unloaded. It is filled in
/// place, as agents' threads may have little stack.
#[derive(Debug)]
pub struct Directory {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Directory {
    /// One that is not known yet.
    #[must_use]
    pub const fn unknown() -> Directory {
        Directory {
            bytes: [0; LONGEST],
            length: 0,
        }
    }

    /// The path of the directory of all cache files below PCP's variable directory; its last
    /// component is made if it is missing (CACHE-73).
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn below(variable: &[u8]) -> Result<FilePath> {
        let path = FilePath::new(&[variable], format_args!("/config/pmda"))?;
        // A failure shows when a file is opened.
        let _ = mkdir(path.c_str(), Mode::from_raw_mode(0o755));
        Ok(path)
    }

    /// Takes note of the path, unless there is one already.
    ///
    /// # Errors
    /// `-ENAMETOOLONG` for a path that no file could be opened by.
    pub fn set(&mut self, path: &FilePath) -> Result<()> {
        if !self.is_known() {
            let path = path.bytes();
            let room = self.bytes.get_mut(..path.len()).ok_or(Error::os(NAMETOOLONG))?;
            room.copy_from_slice(path);
            self.length = path.len();
        }
        Ok(())
    }

    /// Whether the path was set.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.length > 0
    }

    /// The file of a domain's cache.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn file(&self, indom: InDom) -> Result<FilePath> {
        file(self.bytes.get(..self.length).unwrap_or_default(), indom)
    }
}

/// The file of a domain's cache in a directory.
fn file(directory: &[u8], indom: InDom) -> Result<FilePath> {
    FilePath::new(&[directory], format_args!("/{indom}"))
}

/// Who writes the file of a cache: process and thread, so that a forked child does not wait for a
/// thread that it does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Writer {
    /// The process.
    pub process: i32,
    /// The thread.
    pub thread: i32,
}

impl Writer {
    /// There is no such process.
    pub(super) const NOBODY: Writer = Writer { process: 0, thread: 0 };
}

/// A record of the file that is not loaded, as its id is above the limit. It stays in the file.
#[derive(Debug)]
pub(super) struct OverLimitRecord {
    pub(super) id: u32,
    pub(super) stamp: i64,
    pub(super) key: Text,
    pub(super) name: Text,
}

/// What a cache file is to say, collected at one moment.
#[derive(Debug)]
pub struct Snapshot {
    path: FilePath,
    text: Vec<u8>,
    /// Instances in the text.
    written: usize,
    /// Instances that a file cannot hold.
    skipped: usize,
    /// Slots whose time stamps were 0, and are `now`.
    stamped: Vec<u32>,
    now: i64,
    /// The marks of what had changed: instances, stamps.
    dirty: (bool, bool),
    when: Write,
    sweeps: bool,
}

impl Snapshot {
    /// Writes the file. This is the part that waits for the disk.
    ///
    /// # Errors
    /// What the system says; the old file is as it was, unless it had to be written in place.
    pub fn write(&self) -> io::Result<()> {
        disk::write(&self.path, &self.text)?;
        if self.sweeps {
            disk::sweep(&self.path);
        }
        Ok(())
    }
}

/// What a caller that wants to save does next.
#[derive(Debug)]
pub enum SaveState {
    /// Nothing is to be written (CACHE-70).
    Done,
    /// Another thread writes this file: the caller comes again, or [`Cache::abandon`]s that one if
    /// it is no more.
    Wait(Writer),
    /// Write this, then give it to [`Cache::saved`].
    Write(Snapshot),
}

impl<T: Copy + Pointer> Cache<T> {
    /// The file of this cache in a directory with this path.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn path(&self, directory: &FilePath) -> Result<FilePath> {
        file(directory.bytes(), self.indom)
    }

    /// Whether the file is to be written (CACHE-70).
    #[must_use]
    pub fn is_due(&self, when: Write) -> bool {
        match when {
            Write::Save => self.instances_dirty,
            Write::Sync => self.instances_dirty || self.stamps_dirty,
            Write::Always => true,
        }
    }

    /// Collects what the file at `path` is to say if it is due (CACHE-70). `now` is in seconds.
    /// From here on the cache counts as saved, so that all that changes before [`Cache::saved`] is
    /// known to be newer.
    ///
    /// # Errors
    /// `-ENOMEM`; nothing has changed.
    pub fn begin_save(&mut self, when: Write, path: FilePath, now: i64, me: Writer) -> Result<SaveState> {
        if !self.is_due(when) {
            return Ok(SaveState::Done);
        }
        // Who is writing already and asks again has left a save without coming back from it.
        let other = self.writer;
        if other != Writer::NOBODY && other.process == me.process && other != me {
            return Ok(SaveState::Wait(other));
        }
        let mut snapshot = Snapshot {
            path,
            text: Vec::new(),
            written: 0,
            skipped: 0,
            stamped: Vec::new(),
            now,
            dirty: (self.instances_dirty, self.stamps_dirty),
            when,
            sweeps: self.instances_dirty && !self.swept,
        };
        self.collect(&mut snapshot)?;
        for slot in &snapshot.stamped {
            self.slab.get_mut(*slot).stamp = now;
        }
        self.oldest = self.oldest.min(now);
        self.instances_dirty = false;
        self.stamps_dirty = false;
        self.swept |= snapshot.sweeps;
        self.writer = me;
        Ok(SaveState::Write(snapshot))
    }

    /// Forgets a writer that is no more.
    pub fn abandon(&mut self, writer: Writer) {
        if self.writer == writer {
            self.writer = Writer::NOBODY;
        }
    }

    /// Ends a save: `result` is what [`Snapshot::write`] has said. Returns the number of instances
    /// written (CACHE-71).
    ///
    /// # Errors
    /// `-errno` of what failed; then the marks of what had changed are back (DEF-1).
    pub fn saved(
        &mut self,
        snapshot: &Snapshot,
        result: io::Result<()>,
        me: Writer,
        report: &mut Report,
    ) -> Result<usize> {
        self.abandon(me);
        if let Err(error) = result {
            self.instances_dirty |= snapshot.dirty.0;
            self.stamps_dirty |= snapshot.dirty.1;
            for slot in &snapshot.stamped {
                let entry = self.slab.get_mut(*slot);
                if entry.is_live() && entry.stamp == snapshot.now {
                    entry.stamp = 0;
                }
            }
            return Err(error.into());
        }
        let path = snapshot.path.bytes();
        if snapshot.skipped > 0 {
            report.notify(
                Level::Warning,
                format_args!(
                    "pmdaCacheOp: {}: {} instances without a name of one line are not saved",
                    Bytes(path),
                    snapshot.skipped
                ),
            );
        }
        self.drop_replaced(path, report);
        let label = match snapshot.when {
            Write::Save => "DIRTY_INSTANCE",
            Write::Sync => "DIRTY_INSTANCEDIRTY_STAMP",
            Write::Always => "",
        };
        self.trace_after(format_args!("cache_save hstate={{{label}}}"), report);
        Ok(snapshot.written)
    }

    /// Collects the bytes of the file (CACHE-74, DEF-9).
    fn collect(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        let mut sink = Sink::new();
        let (mode, maximum) = (self.mode, self.maximum);
        sink.header(Header { mode, maximum })?;
        for place in self.order.places(&self.slab) {
            let entry = self.slab.get(place.slot);
            if !entry.is_live() {
                continue;
            }
            if entry.stamp == 0 {
                room(&mut snapshot.stamped, 1)?;
                snapshot.stamped.push(place.slot);
            }
            let key = self.keys.get(place.slot);
            let is_short = 64 + 2 * key.len() + entry.name().len() <= LONGEST_LINE;
            if !is_short || !is_savable(&entry.name) {
                snapshot.skipped += 1;
                continue;
            }
            let stamp = if entry.stamp == 0 { snapshot.now } else { entry.stamp };
            sink.record(entry.id, stamp, key, entry.name())?;
            snapshot.written += 1;
        }
        for other in self.over_limit.iter().filter(|other| !self.is_replaced(other)) {
            sink.record(other.id, other.stamp, other.key.bytes(), other.name.bytes())?;
        }
        snapshot.text = sink.into_text();
        Ok(())
    }

    /// Whether an instance of the cache has the name or the id of one above the limit, which then
    /// is not kept.
    fn is_replaced(&self, other: &OverLimitRecord) -> bool {
        let name = other.name.bytes();
        self.find_id(other.id).is_some() || self.find_short(name, self.short(name)).is_some()
    }

    /// Forgets the records above the limit that instances of the cache have replaced, not without a
    /// word.
    fn drop_replaced(&mut self, path: &[u8], report: &mut Report) {
        let before = self.over_limit.len();
        let mut over_limit = std::mem::take(&mut self.over_limit);
        over_limit.retain(|other| !self.is_replaced(other));
        self.over_limit = over_limit;
        let dropped = before - self.over_limit.len();
        if dropped > 0 {
            report.notify(
                Level::Warning,
                format_args!(
                    "pmdaCacheOp: {}: {dropped} instances above the limit are no longer saved, others have their names",
                    Bytes(path)
                ),
            );
        }
    }

    /// The dump that follows a transfer when debugging is on.
    pub(super) fn trace_after(&mut self, what: std::fmt::Arguments<'_>, report: &mut Report) {
        report.trace(format_args!("After {what}\n"));
        if report.debug {
            let dump = self.dump(false);
            report.journal.trace(Bytes(&dump));
        }
    }
}
