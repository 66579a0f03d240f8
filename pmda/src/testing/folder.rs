//! The folder of an agent under test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Result;
use crate::fs::at;

/// A folder; it is removed with this if it was made for it.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    is_own: bool,
}

impl Folder {
    /// A new folder, which is removed with this.
    ///
    /// # Errors
    /// That of the system, with the path.
    pub(super) fn own() -> Result<Folder> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("pmda-harness-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // A folder that an earlier process with the same number has left is not taken over.
        let _ = fs::remove_dir_all(&path);
        at(&path, fs::create_dir(&path))?;
        Folder::with(path, true)
    }

    /// A folder that stays.
    ///
    /// # Errors
    /// That of the system, with the path.
    pub(super) fn of(path: &Path) -> Result<Folder> {
        Folder::with(path.to_owned(), false)
    }

    fn with(path: PathBuf, is_own: bool) -> Result<Folder> {
        let caches = path.join("config/pmda");
        at(&caches, fs::create_dir_all(&caches))?;
        Ok(Folder { path, is_own })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_own {
            // Files that cannot be removed stay.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
