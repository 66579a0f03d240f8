//! Persistent instance domains: their file, and the messages of each domain's cache.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use pmda_core::cache::{Cache, CacheFile, Write, directory_below};
use pmda_core::constants::PMDA_CACHE_ADD;
use pmda_core::error::Result;
use pmda_core::ident::InDom;
use pmda_core::index::Seed;
use pmda_core::log::{Level, Message};
use pmda_core::path::FilePath;

use super::{File, Indom, Slot};
use crate::logger::describe;

impl<T> Indom<T> {
    /// Tells the domain its number, the directory of files, and what it sets when it has to be
    /// saved. A persistent domain gets its numbers from its file, also for instances that the agent
    /// has set while it started.
    pub(crate) fn bind(&mut self, indom: InDom, variable: Option<&Path>, due: Option<&Arc<AtomicBool>>) {
        self.number = Some(indom);
        if self.file.is_some() && due.is_some() {
            self.due = due.cloned();
        }
        if !matches!(self.file, Some(File::Wanted)) {
            return;
        }
        let Some(variable) = variable else { return };
        match directory_below(variable.as_os_str().as_bytes()) {
            Ok(directory) => {
                self.file = Some(File::At(indom, directory));
                self.renumber();
                self.save_and_log();
            }
            Err(error) => log::warn!(
                "instance domain {indom}: {}: {}",
                variable.display(),
                describe(&error.into())
            ),
        }
    }

    /// Returns whether the domain has been told its number.
    pub(crate) fn is_bound(&self) -> bool {
        self.number.is_some()
    }

    /// Numbers all instances again, after those in the file. Numbers that the agent has chosen
    /// stay, whatever the file says.
    pub(super) fn renumber(&mut self) {
        let (indom, directory) = match &self.file {
            Some(File::At(indom, directory)) => (*indom, Some(directory)),
            _ => (InDom::NULL, None),
        };
        let mut cache = Cache::new(indom, Seed::process());
        if self.whole_names && cache.use_strings().is_err() {
            log::error!("instance domain {indom}: no memory");
        }
        if let Some(limit) = self.limit.and_then(|limit| i32::try_from(limit).ok()) {
            // The cache is empty, so this cannot fail.
            let _ = cache.resize(limit);
        }
        if let Some(directory) = directory {
            load(&mut cache, directory);
        }
        let old = std::mem::replace(&mut self.cache, cache);
        for (inst, slot) in std::mem::take(&mut self.order) {
            let Ok(hit) = old.lookup(inst) else { continue };
            let stored = if self.own_numbers {
                self.store_at(inst, hit.name(), slot).map(|()| inst)
            } else {
                self.cache.store(PMDA_CACHE_ADD, Some(hit.name()), Some(Slot(slot)))
            };
            match stored {
                Ok(inst) => self.order.push((inst, slot)),
                Err(_) => self.vacate(slot),
            }
        }
        self.order.sort_unstable();
        say(&mut self.cache);
    }

    /// Writes the file of a persistent domain, if its instances have changed since it was written.
    /// This is for an agent that gives numbers away other than by a request: see
    /// [`Indom::persistent`].
    ///
    /// # Errors
    /// Those of the system; the file is as it was, and the next save tries again.
    pub fn save(&mut self) -> crate::error::Result<()> {
        match &self.file {
            Some(File::At(..)) if self.cache.is_due(Write::Save) => Ok(self.write()?),
            _ => Ok(()),
        }
    }

    /// Takes note that the domain may have changed.
    pub(super) fn note_change(&mut self) {
        match &self.due {
            Some(due) if self.cache.is_due(Write::Save) => due.store(true, Ordering::Relaxed),
            Some(_) => {}
            None => self.save_and_log(),
        }
    }

    fn write(&mut self) -> Result<()> {
        let Some(File::At(_, directory)) = &self.file else {
            return Ok(());
        };
        let now = SystemTime::now();
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let path = self.cache.path(directory);
        match path.and_then(|path| self.cache.begin_save(Write::Save, path, now as i64)) {
            Ok(Some(snapshot)) => self.cache.saved(&snapshot, snapshot.write()).map(|_| ()),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Saves a persistent domain if its instances have changed.
    pub(crate) fn save_and_log(&mut self) {
        let Some(File::At(_, directory)) = &self.file else {
            return;
        };
        if !self.cache.is_due(Write::Save) {
            return;
        }
        let directory = String::from_utf8_lossy(directory.bytes()).into_owned();
        let saved = self.write();
        // An error that repeats is logged once.
        if saved.err() != self.unsaved {
            self.unsaved = saved.err();
            if let Err(error) = saved {
                log::warn!(
                    "an instance domain is not saved in {directory}: {}",
                    describe(&error.into())
                );
            }
        }
        say(&mut self.cache);
    }
}

/// Reads the file of a domain, if the file exists.
fn load(cache: &mut Cache<Slot>, directory: &FilePath) {
    let loaded = cache.path(directory).and_then(|path| match CacheFile::open(path) {
        Ok(mut file) => loop {
            file.read();
            if cache.load(&mut file)?.is_some() {
                break Ok(());
            }
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    });
    if let Err(error) = loaded {
        cache.load_failed(error);
        log::warn!(
            "the file of an instance domain is not loaded to its end: {}",
            describe(&error.into())
        );
    }
}

/// Logs the messages that the cache has collected.
pub(super) fn say(cache: &mut Cache<Slot>) {
    for message in cache.journal.messages.drain(..) {
        if let Message::Notify(level, text) = message {
            let level = match level {
                Level::Crit | Level::Err => log::Level::Error,
                Level::Warning => log::Level::Warn,
                Level::Info => log::Level::Info,
                Level::Debug => log::Level::Debug,
            };
            log::log!(level, "{}", String::from_utf8_lossy(&text));
        }
    }
}
