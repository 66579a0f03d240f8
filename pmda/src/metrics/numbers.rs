//! Numbers of metrics that come and go, kept over restarts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use pmda_core::ident::InDom;

use super::metric::ITEMS;
use crate::error::{Error, Result};
use crate::indom::Indom;

/// The numbers by serial of their file.
#[derive(Default)]
pub(super) struct Numbers {
    files: Option<(u32, PathBuf)>,
    caches: BTreeMap<u32, Indom<()>>,
    /// Serials of files that may have to be written.
    changed: BTreeSet<u32>,
}

impl Numbers {
    /// Sets the directory of the files, and the domain.
    pub(super) fn bind(&mut self, domain: u32, variable: PathBuf) {
        self.files = Some((domain, variable));
    }

    /// Returns whether a file has this serial.
    pub(super) fn has(&self, serial: u32) -> bool {
        self.caches.contains_key(&serial)
    }

    /// The list of a serial, from its file when it is first used. It is saved with the next
    /// [`Numbers::save`].
    fn cache(&mut self, serial: u32) -> &mut Indom<()> {
        let files = &self.files;
        self.changed.insert(serial);
        self.caches.entry(serial).or_insert_with(|| {
            let mut cache = Indom::persistent().with_limit(ITEMS - 1);
            if let Some((domain, variable)) = files {
                cache.bind(InDom::new(*domain, serial), Some(variable), None);
            }
            cache
        })
    }

    /// The number of a metric. If it has none, it gets one.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` or that of the list, when all numbers are in use.
    pub(super) fn number(&mut self, serial: u32, name: &str) -> Result<u32> {
        let cache = self.cache(serial);
        let item = cache.keep(name).or_else(|_| {
            // Numbers of removed metrics are given to others only when no other number is left.
            cache.forget_inactive();
            cache.keep(name)
        });
        u32::try_from(item?).map_err(|_| Error::GENERIC)
    }

    /// Gives a metric this number.
    ///
    /// # Errors
    /// `-EEXIST` if another metric has it.
    pub(super) fn number_at(&mut self, serial: u32, name: &str, item: u32) -> Result<()> {
        let item = i32::try_from(item).map_err(|_| Error::TOOBIG)?;
        Ok(self.cache(serial).keep_at(item, name)?)
    }

    /// Releases the number of a removed metric: it gets it back when it comes again.
    pub(super) fn release(&mut self, serial: u32, name: &str) {
        if let Some(cache) = self.caches.get_mut(&serial) {
            cache.drop_name(name);
        }
    }

    /// Writes the files whose numbers have changed.
    pub(super) fn save(&mut self) {
        while let Some(serial) = self.changed.pop_first() {
            if let Some(cache) = self.caches.get_mut(&serial) {
                cache.save_and_log();
            }
        }
    }
}
