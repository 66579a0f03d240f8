//! Saving a cache to its file, and loading it.

#![forbid(unsafe_code)]

use std::fmt::Pointer;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::entry::State;
use super::file::{self, Header, Record};
use super::lookup::Match;
use super::{Cache, Report, disk, join};
use crate::error::{Error, Result};
use crate::log::Level;

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

/// Where the files of the caches are (CACHE-72).
#[derive(Clone, Debug)]
pub struct Place(PathBuf);

impl Place {
    /// The directory of all cache files below PCP's variable directory; it is made if it is missing (CACHE-73).
    #[must_use]
    pub fn below(variable: &std::path::Path) -> Place {
        let place = Place(variable.join("config/pmda"));
        place.make();
        place
    }

    /// Makes the last component. A failure shows when a file is opened.
    fn make(&self) {
        use std::os::unix::fs::DirBuilderExt;
        let _ = std::fs::DirBuilder::new().mode(0o755).create(&self.0);
    }
}

impl<T: Copy + Pointer> Cache<T> {
    fn path(&self, place: &Place) -> PathBuf {
        place.0.join(self.indom.to_string())
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

    /// Writes the file if it is due; returns the number of instances written (CACHE-70, CACHE-71). `now` is in seconds.
    ///
    /// # Errors
    /// `-errno` of what failed; then the old file and the marks of what changed are still there (DEF-1).
    pub fn save(&mut self, when: Write, place: &Place, now: i64, report: &mut Report) -> Result<usize> {
        let path = self.path(place);
        if !self.is_due(when) {
            return Ok(0);
        }
        let (content, count, skipped) = self.content(now);
        disk::write(&path, &content, self.instances_dirty)?;
        for (_, entry) in self.slab.iter_mut() {
            if entry.is_live() && entry.stamp == 0 {
                entry.stamp = now;
            }
        }
        self.instances_dirty = false;
        self.stamps_dirty = false;
        if skipped > 0 {
            let end = format!(": {skipped} instances without a name of one line are not saved");
            let text = join(&[b"pmdaCacheOp: ", path.as_os_str().as_bytes(), end.as_bytes()]);
            report.journal.notify(Level::Warning, text);
        }
        if report.debug {
            let label = match when {
                Write::Save => "DIRTY_INSTANCE",
                Write::Sync => "DIRTY_INSTANCEDIRTY_STAMP",
                Write::Always => "",
            };
            report.journal.trace(format!("After cache_save hstate={{{label}}}\n"));
            let dump = self.dump(false);
            report.journal.trace(dump);
        }
        Ok(count)
    }

    /// The bytes of the file, the number of instances in it, and of those that a file cannot hold (CACHE-74, DEF-9).
    fn content(&mut self, now: i64) -> (Vec<u8>, usize, usize) {
        let (mut count, mut skipped) = (0, 0);
        let mut out = Vec::with_capacity(32 * (self.active + self.inactive) + 32);
        let (mode, maximum) = (self.mode, self.maximum);
        file::write_header(&mut out, Header { mode, maximum });
        for place in self.order.places(&self.slab) {
            let entry = self.slab.get(place.slot);
            if !entry.is_live() {
                continue;
            }
            if !file::is_savable(entry.name()) {
                skipped += 1;
                continue;
            }
            let stamp = if entry.stamp == 0 { now } else { entry.stamp };
            file::write_record(&mut out, entry.id, stamp, self.keys.get(entry.key), entry.name());
            count += 1;
        }
        (out, count, skipped)
    }

    /// Reads the file; returns the number of records in it (CACHE-90).
    ///
    /// # Errors
    /// `-errno` when it cannot be opened; `PM_ERR_GENERIC` for a bad header, which changes nothing, or a bad record,
    /// which ends the load: what came before it is loaded (CACHE-94).
    pub fn load(&mut self, place: &Place, report: &mut Report) -> Result<usize> {
        let path = self.path(place);
        let name = path.as_os_str().as_bytes();
        let mut content = Vec::new();
        let read = File::open(&path)?.read_to_end(&mut content);
        if read.is_err() || content.is_empty() {
            let text = join(&[b"pmdaCacheOp: ", name, b": empty file?"]);
            report.journal.notify(Level::Err, text);
            return Ok(0);
        }
        let (first, rest) = match content.iter().position(|byte| *byte == b'\n') {
            Some(end) => content.split_at(end + 1),
            None => (&content[..], &[][..]),
        };
        let Some(header) = file::header(first) else {
            let text = join(&[b"pmdaCacheOp: ", name, b": illegal cache header record: ", first]);
            report.journal.notify(Level::Err, text);
            return Err(Error::GENERIC);
        };
        self.mode = header.mode;
        self.maximum = header.maximum;
        let mut count = 0;
        let mut too_big = false;
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let Some(record) = file::record(line) else {
                let text = join(&[b"pmdaCacheOp: ", name, b": illegal record: ", line]);
                report.journal.notify(Level::Err, text);
                return Err(Error::GENERIC);
            };
            count += 1;
            if record.id <= self.maximum {
                self.take(&record, name, report);
            } else if !std::mem::replace(&mut too_big, true) {
                let start = format!(": instance {} (\"", record.id);
                let end = format!("\") and all others above the limit of {} ignored", self.maximum);
                let text = join(&[b"pmdaCacheOp: ", name, start.as_bytes(), record.name, end.as_bytes()]);
                report.journal.notify(Level::Warning, text);
            }
        }
        if report.debug {
            report.journal.trace("After PMDA_CACHE_LOAD\n");
            let dump = self.dump(false);
            report.journal.trace(dump);
        }
        Ok(count)
    }

    /// Adds what a record says, unless it contradicts what is known (CACHE-93).
    fn take(&mut self, record: &Record<'_>, path: &[u8], report: &mut Report) {
        let known = self.find_id(record.id);
        let named = self.find(record.name);
        let slot = match (known, named) {
            (Some(slot), Some(Match::Good(same))) if slot == same => slot,
            (None, None) => self.insert(record.id, record.name, State::Inactive),
            (Some(slot), _) => return self.conflict(record, slot, true, path, report),
            (None, Some(found)) => return self.conflict(record, found.slot(), false, path, report),
        };
        self.set_key(slot, &record.key);
        self.slab.get_mut(slot).stamp = record.stamp;
    }

    /// Reports a record that is ignored.
    fn conflict(&self, record: &Record<'_>, slot: u32, same_id: bool, path: &[u8], report: &mut Report) {
        let entry = self.slab.get(slot);
        let (indom, id, new) = (self.indom, entry.id, record.id);
        if report.debug && same_id {
            let start = format!("pmdaCache: store: indom {indom}: instance {id}  in cache, name \"");
            report.journal.trace(join(&[
                start.as_bytes(),
                entry.name(),
                b"\" does not match new entry \"",
                record.name,
                b"\"\n",
            ]));
        } else if report.debug {
            let start = format!("pmdaCacheStoreKey: indom {indom}: instance \"");
            let end = format!("\" in cache, id {id} does not match new entry {new}\n");
            report
                .journal
                .trace(join(&[start.as_bytes(), entry.name(), end.as_bytes()]));
        }
        let start = format!(": loading instance {new} (\"");
        let middle = format!("\") ignored, already in cache as {id} (\"");
        report.journal.notify(
            Level::Warning,
            join(&[
                b"pmdaCacheOp: ",
                path,
                start.as_bytes(),
                record.name,
                middle.as_bytes(),
                entry.name(),
                b"\")",
            ]),
        );
    }
}
