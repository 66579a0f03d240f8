//! Numbers of metrics that come and go, which survive a restart.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pmda_core::ident::InDom;

use super::ITEMS;
use crate::indom::Indom;
use crate::{Error, Result};

/// The numbers by serial of their file.
#[derive(Default)]
pub(super) struct Numbers {
    files: Option<(u32, PathBuf)>,
    caches: BTreeMap<u32, Indom<()>>,
}

impl Numbers {
    /// Says where the files are, and of which domain.
    pub(super) fn bind(&mut self, domain: u32, variable: PathBuf) {
        self.files = Some((domain, variable));
    }

    /// The serials in use.
    pub(super) fn serials(&self) -> impl Iterator<Item = u32> {
        self.caches.keys().copied()
    }

    /// The number of a metric, which has it from now on.
    pub(super) fn number(&mut self, serial: u32, name: &str) -> Result<u32> {
        let files = &self.files;
        let cache = self.caches.entry(serial).or_insert_with(|| {
            let mut cache = Indom::persistent().with_limit(ITEMS - 1);
            if let Some((domain, variable)) = files {
                cache.bind(InDom::new(*domain, serial), Some(variable));
            }
            cache
        });
        let item = cache.keep(name).or_else(|_| {
            // The numbers of those that have gone are given to others only when there are no more.
            cache.forget_inactive();
            cache.keep(name)
        });
        u32::try_from(item?).map_err(|_| Error::GENERIC)
    }

    /// The metric with this name has gone: it gets its number back when it comes again.
    pub(super) fn release(&mut self, serial: u32, name: &str) {
        if let Some(cache) = self.caches.get_mut(&serial) {
            cache.drop_name(name);
        }
    }

    /// Writes the files whose numbers have changed.
    pub(super) fn save(&mut self) {
        self.caches.values_mut().for_each(Indom::save);
    }
}
