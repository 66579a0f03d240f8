//! Saves a cache, and says where its file is and when it is written. Under the lock a save only
//! collects the text of the file ([`Snapshot`]). The file is written without the lock, and what
//! changes meanwhile is saved by the next save.

use std::cell::OnceCell;
use std::fmt::Pointer;
use std::io;

use super::Cache;
use super::entry::reserve;
use super::file::{Decimal, FileHeader, LONGEST_LINE, OverLimitRecord, is_savable, write_header, write_record};
use crate::dir_entry::DirEntry;
use crate::error::Result;
use crate::ident::InDom;
use crate::log::{Counted, Level, PathBytes, Whole};
use crate::path::FilePath;
use crate::save;

/// The condition for writing a cache (CACHE-70).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// The set of instances has changed.
    Save,
    /// Anything has changed.
    Sync,
    /// Also if nothing has changed.
    Always,
}

/// Returns the path of the directory of all cache files, below PCP's variable directory. Its last
/// component is made if it is missing (CACHE-72, CACHE-73), and the temporary files that killed
/// agents have left in it are removed. A process needs to call this once only: it reads the whole
/// directory.
///
/// # Errors
/// `-ENOMEM`.
pub fn directory_below(variable: &[u8]) -> Result<FilePath> {
    let path = FilePath::new(&[variable], format_args!("/config/pmda"))?;
    // If this fails, opening the file fails and is reported.
    let _ = DirEntry::of(&path).and_then(|entry| entry.make_directory(0o755));
    save::sweep(&path);
    Ok(path)
}

/// The path of a domain's cache file.
///
/// # Errors
/// `-ENOMEM`.
pub fn file_path(directory: &FilePath, indom: InDom) -> Result<FilePath> {
    FilePath::new(&[directory.bytes()], format_args!("/{indom}"))
}

/// The content of a cache file, collected at one moment.
#[derive(Debug)]
pub struct Snapshot {
    path: FilePath,
    text: Vec<u8>,
    /// Number of instances in the text.
    written: usize,
    /// Number of instances that a file cannot hold: their names are empty, too long, or have a
    /// newline.
    skipped: usize,
    /// Slots of entries with the stamp 0: it becomes `now`.
    stamped: Vec<u32>,
    /// The time of the save, in seconds since the epoch.
    now: i64,
    /// The marks of the cache when the save began: whether instances and whether stamps had
    /// changed.
    dirty: (bool, bool),
    when: Write,
    /// The number of saves that had ended when this one began.
    saves: u32,
    /// True if the old file has numbers that were not loaded: it is kept under another name.
    keeps: bool,
    /// That name.
    kept: OnceCell<FilePath>,
}

impl Snapshot {
    /// Writes the file. This call waits for the disk: no lock is held during it.
    ///
    /// # Errors
    /// The system's error; `EEXIST` if the old file is to be kept and cannot be. The old file is
    /// unchanged, but for the limits of [`save::write_over`].
    pub fn write(&self) -> io::Result<()> {
        if self.keeps {
            save::write_and_keep(&self.path, &self.text, &self.kept)
        } else {
            save::write(&self.path, &self.text)
        }
    }
}

impl<T: Copy + Pointer> Cache<T> {
    /// The path of this cache's file.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub fn path(&self, directory: &FilePath) -> Result<FilePath> {
        file_path(directory, self.indom)
    }

    /// Returns whether the file is to be written (CACHE-70).
    #[must_use]
    pub fn is_due(&self, when: Write) -> bool {
        match when {
            Write::Save => self.instances_dirty,
            Write::Sync => self.instances_dirty || self.stamps_dirty,
            Write::Always => true,
        }
    }

    /// Begins a save: collects the text of the file at `path`; `None` if it is not due (CACHE-70).
    /// `now` is in seconds since the epoch.
    ///
    /// From here on the cache counts as saved, so that whatever changes before [`Cache::saved`] is
    /// known to be newer than the file.
    ///
    /// # Errors
    /// `-ENOMEM`; nothing has changed.
    pub fn begin_save(&mut self, when: Write, path: FilePath, now: i64) -> Result<Option<Snapshot>> {
        if !self.is_due(when) {
            return Ok(None);
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
            saves: self.saves,
            keeps: self.unread,
            kept: OnceCell::new(),
        };
        self.collect(&mut snapshot)?;
        for slot in &snapshot.stamped {
            self.slab.get_mut(*slot).stamp = now;
        }
        self.oldest = self.oldest.min(now);
        self.instances_dirty = false;
        self.stamps_dirty = false;
        Ok(Some(snapshot))
    }

    /// Ends a save: `result` is that of [`Snapshot::write`]. Returns the number of instances
    /// written (CACHE-71). Returns `None` when another save has ended meanwhile: which of the two
    /// texts is in the file is not known, so the caller saves again.
    ///
    /// # Errors
    /// The error of writing. The marks that [`Cache::begin_save`] has cleared are set again, and
    /// the stamps are 0 again (DEF-1).
    pub fn saved(&mut self, snapshot: &Snapshot, result: io::Result<()>) -> Result<Option<usize>> {
        if let Some(kept) = snapshot.kept.get() {
            self.journal.notify(
                Level::Warning,
                format_args!(
                    "pmdaCacheOp: {}: not loaded before, kept as {}",
                    PathBytes(snapshot.path.bytes()),
                    PathBytes(kept.bytes())
                ),
            );
        }
        // The file that exists now was written by this cache.
        self.unread &= result.is_err() && snapshot.kept.get().is_none();
        let is_alone = self.saves == snapshot.saves;
        self.saves = self.saves.wrapping_add(1);
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
        if !is_alone {
            self.instances_dirty = true;
            return Ok(None);
        }
        let path = snapshot.path.bytes();
        if snapshot.skipped > 0 {
            self.journal.notify(
                Level::Warning,
                format_args!(
                    "pmdaCacheOp: {}: {} not saved",
                    PathBytes(path),
                    Counted(
                        snapshot.skipped,
                        "instance without a name of one line is",
                        "instances without a name of one line are"
                    )
                ),
            );
        }
        self.drop_replaced(path);
        let label = match snapshot.when {
            Write::Save => "DIRTY_INSTANCE",
            Write::Sync => "DIRTY_INSTANCEDIRTY_STAMP",
            Write::Always => "",
        };
        self.trace_after(format_args!("cache_save hstate={{{label}}}"));
        Ok(Some(snapshot.written))
    }

    /// Writes the text of the file into the snapshot (CACHE-74, DEF-9).
    fn collect(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        let (mode, maximum) = (self.mode, self.maximum);
        write_header(&mut snapshot.text, FileHeader { mode, maximum })?;
        // The stamp of the last line with its digits: most instances have the same one.
        let mut stamp = Decimal::new(snapshot.now);
        for listed in self.order.iter() {
            let entry = self.slab.get(listed.slot);
            if !entry.is_live() {
                continue;
            }
            if entry.stamp == 0 {
                reserve(&mut snapshot.stamped, 1)?;
                snapshot.stamped.push(listed.slot);
            }
            let key = self.keys.get(listed.slot);
            let fits_line = 64 + 2 * key.len() + entry.name().len() <= LONGEST_LINE;
            if !fits_line || !is_savable(entry.name()) {
                snapshot.skipped += 1;
                continue;
            }
            let written = if entry.stamp == 0 { snapshot.now } else { entry.stamp };
            if stamp.value != written {
                stamp = Decimal::new(written);
            }
            write_record(&mut snapshot.text, entry.id, &stamp, key, entry.name())?;
            snapshot.written += 1;
        }
        for other in self.over_limit.iter().filter(|other| !self.is_replaced(other)) {
            let stamp = Decimal::new(other.stamp);
            write_record(
                &mut snapshot.text,
                other.id,
                &stamp,
                other.key.bytes(),
                other.name.bytes(),
            )?;
        }
        Ok(())
    }

    /// Returns whether an instance of the cache has the name or the id of a record above the limit,
    /// which then is no longer kept.
    fn is_replaced(&self, other: &OverLimitRecord) -> bool {
        let name = other.name.bytes();
        self.find_id(other.id).is_some() || self.find_short_name(name, self.short_name(name)).is_some()
    }

    /// Forgets the records above the limit whose names or ids instances have taken, and reports
    /// them.
    fn drop_replaced(&mut self, path: &[u8]) {
        let before = self.over_limit.len();
        let mut over_limit = std::mem::take(&mut self.over_limit);
        over_limit.retain(|other| !self.is_replaced(other));
        self.over_limit = over_limit;
        let dropped = before - self.over_limit.len();
        if dropped > 0 {
            self.journal.notify(
                Level::Warning,
                format_args!(
                    "pmdaCacheOp: {}: {}",
                    PathBytes(path),
                    Counted(
                        dropped,
                        "instance above the limit is no longer saved, another one has its name",
                        "instances above the limit are no longer saved, others have their names"
                    )
                ),
            );
        }
    }

    /// Adds a dump to the debug output after a load or a save, if debugging is on.
    pub(super) fn trace_after(&mut self, what: std::fmt::Arguments<'_>) {
        if self.debug {
            let dump = self.dump(false);
            self.journal.trace(format_args!("After {what}\n"));
            self.journal.trace(Whole(&dump));
        }
    }
}
