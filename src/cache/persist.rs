//! Saving a cache to its file, and loading it.

use std::ffi::OsString;
use std::fmt::Pointer;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::entry::State;
use super::file::{self, Header, Record};
use super::lookup::Match;
use super::report::{Growing, Part};
use super::stream::{Lines, Sink, count_lines};
use super::text::Draft;
use super::{Cache, Report, disk};
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
    pub fn below(variable: &Path) -> Place {
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
    fn path(&self, place: &Place) -> Result<PathBuf> {
        let mut path = Growing::default();
        path.push(place.0.as_os_str().as_bytes());
        path.show(format_args!("/{}", self.indom));
        Ok(OsString::from_vec(path.whole().ok_or(Error::NOMEM)?).into())
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
        if !self.is_due(when) {
            return Ok(0);
        }
        let path = self.path(place)?;
        self.order.places(&self.slab);
        let durable = self.instances_dirty;
        let mut written = (0, 0);
        disk::write(&path, durable, &mut |file| {
            written = self.write(file, now)?;
            Ok(())
        })?;
        if durable && !std::mem::replace(&mut self.swept, true) {
            disk::sweep(&path);
        }
        self.slab.for_each(|entry| {
            if entry.is_live() && entry.stamp == 0 {
                entry.stamp = now;
            }
        });
        self.oldest = self.oldest.min(now);
        self.instances_dirty = false;
        self.stamps_dirty = false;
        let (count, skipped) = written;
        if skipped > 0 {
            let parts = [
                Part::Raw(b"pmdaCacheOp: "),
                Part::Raw(path.as_os_str().as_bytes()),
                Part::Raw(b": "),
                Part::Show(&skipped),
                Part::Raw(b" instances without a name of one line are not saved"),
            ];
            report.notify(Level::Warning, &parts);
        }
        let label = match when {
            Write::Save => "DIRTY_INSTANCE",
            Write::Sync => "DIRTY_INSTANCEDIRTY_STAMP",
            Write::Always => "",
        };
        self.trace_after(format_args!("cache_save hstate={{{label}}}"), report);
        Ok(count)
    }

    /// Writes the bytes of the file; gives the number of instances in it, and of those that a file cannot hold
    /// (CACHE-74, DEF-9). All entries are in order.
    fn write(&self, file: &mut File, now: i64) -> io::Result<(usize, usize)> {
        let (mut count, mut skipped) = (0, 0);
        let mut sink = Sink::new(file)?;
        let (mode, maximum) = (self.mode, self.maximum);
        sink.header(Header { mode, maximum })?;
        for place in self.order.ready().unwrap_or_default() {
            let entry = self.slab.get(place.slot);
            if !entry.is_live() {
                continue;
            }
            if !file::is_savable(&entry.name) {
                skipped += 1;
                continue;
            }
            let stamp = if entry.stamp == 0 { now } else { entry.stamp };
            sink.record(entry.id, stamp, self.keys.get(place.slot), entry.name())?;
            count += 1;
        }
        sink.flush()?;
        Ok((count, skipped))
    }

    /// Reads the file; returns the number of records in it (CACHE-90).
    ///
    /// # Errors
    /// `-errno` when it cannot be opened; `PM_ERR_GENERIC` for a bad header, which changes nothing, or a bad record,
    /// which ends the load: what came before it is loaded (CACHE-94). `-ENOMEM` ends it in the same way.
    pub fn load(&mut self, place: &Place, report: &mut Report) -> Result<usize> {
        let path = self.path(place)?;
        let file = File::open(&path)?;
        self.expected = count_lines(&file).saturating_sub(self.names.len());
        let result = self.load_lines(Lines::new(file), path.as_os_str().as_bytes(), report);
        self.expected = 0;
        result
    }

    fn load_lines(&mut self, mut lines: Lines<File>, path: &[u8], report: &mut Report) -> Result<usize> {
        let first = match lines.next() {
            Ok(Some(first)) => first,
            Err(error) if error.raw_os_error() == Some(12) => return Err(Error::NOMEM),
            Ok(None) | Err(_) => {
                let parts = [
                    Part::Raw(b"pmdaCacheOp: "),
                    Part::Raw(path),
                    Part::Raw(b": empty file?"),
                ];
                report.notify(Level::Err, &parts);
                return Ok(0);
            }
        };
        let Some(header) = file::header(first) else {
            let parts = [
                Part::Raw(b"pmdaCacheOp: "),
                Part::Raw(path),
                Part::Raw(b": illegal cache header record: "),
                Part::Raw(first),
            ];
            report.notify(Level::Err, &parts);
            return Err(Error::GENERIC);
        };
        self.mode = header.mode;
        self.maximum = header.maximum;
        let mut count = 0;
        let mut too_big = false;
        let mut key = Vec::new();
        while let Some(line) = lines.next()? {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let Some(record) = file::record(line) else {
                let parts = [
                    Part::Raw(b"pmdaCacheOp: "),
                    Part::Raw(path),
                    Part::Raw(b": illegal record: "),
                    Part::Raw(line),
                ];
                report.notify(Level::Err, &parts);
                return Err(Error::GENERIC);
            };
            count += 1;
            self.expected = self.expected.saturating_sub(1);
            if record.id <= self.maximum {
                record.decode_key(&mut key)?;
                self.take(&record, &key, path, report)?;
            } else if !std::mem::replace(&mut too_big, true) {
                let parts = [
                    Part::Raw(b"pmdaCacheOp: "),
                    Part::Raw(path),
                    Part::Raw(b": instance "),
                    Part::Show(&record.id),
                    Part::Raw(b" (\""),
                    Part::Raw(record.name),
                    Part::Raw(b"\") and all others above the limit of "),
                    Part::Show(&self.maximum),
                    Part::Raw(b" ignored"),
                ];
                report.notify(Level::Warning, &parts);
            }
        }
        self.trace_after(format_args!("PMDA_CACHE_LOAD"), report);
        Ok(count)
    }

    /// The dump that follows a transfer when debugging is on.
    fn trace_after(&mut self, what: std::fmt::Arguments<'_>, report: &mut Report) {
        report.trace(&[Part::Raw(b"After "), Part::Show(&what), Part::Raw(b"\n")]);
        if report.debug {
            let dump = self.dump(false);
            report.journal.trace(dump);
        }
    }

    /// Adds what a record says, unless it contradicts what is known (CACHE-93).
    fn take(&mut self, record: &Record<'_>, key: &[u8], path: &[u8], report: &mut Report) -> Result<()> {
        let short = self.short(record.name);
        let known = self.find_id(record.id);
        let named = self.find_short(record.name, short);
        let slot = match (known, named) {
            (Some(slot), Some(Match::Good(same))) if slot == same => {
                let key = Draft::new(key)?;
                self.reserve_key(&key)?;
                self.set_key(slot, key);
                slot
            }
            (None, None) => self.insert(record.id, record.name, short, key, State::Inactive)?,
            (Some(slot), _) => {
                self.conflict(record, slot, true, path, report);
                return Ok(());
            }
            (None, Some(found)) => {
                self.conflict(record, found.slot(), false, path, report);
                return Ok(());
            }
        };
        self.slab.get_mut(slot).stamp = record.stamp;
        if record.stamp != 0 {
            self.oldest = self.oldest.min(record.stamp);
        }
        Ok(())
    }

    /// Reports a record that is ignored.
    fn conflict(&self, record: &Record<'_>, slot: u32, same_id: bool, path: &[u8], report: &mut Report) {
        let entry = self.slab.get(slot);
        let (indom, old, new) = (Part::Show(&self.indom), Part::Show(&entry.id), Part::Show(&record.id));
        let (old_name, new_name) = (Part::Raw(entry.name()), Part::Raw(record.name));
        if same_id {
            report.trace(&[
                Part::Raw(b"pmdaCache: store: indom "),
                indom,
                Part::Raw(b": instance "),
                old,
                Part::Raw(b"  in cache, name \""),
                old_name,
                Part::Raw(b"\" does not match new entry \""),
                new_name,
                Part::Raw(b"\"\n"),
            ]);
        } else {
            report.trace(&[
                Part::Raw(b"pmdaCacheStoreKey: indom "),
                indom,
                Part::Raw(b": instance \""),
                old_name,
                Part::Raw(b"\" in cache, id "),
                old,
                Part::Raw(b" does not match new entry "),
                new,
                Part::Raw(b"\n"),
            ]);
        }
        let parts = [
            Part::Raw(b"pmdaCacheOp: "),
            Part::Raw(path),
            Part::Raw(b": loading instance "),
            new,
            Part::Raw(b" (\""),
            new_name,
            Part::Raw(b"\") ignored, already in cache as "),
            old,
            Part::Raw(b" (\""),
            old_name,
            Part::Raw(b"\")"),
        ];
        report.notify(Level::Warning, &parts);
    }
}
