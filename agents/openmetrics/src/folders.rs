//! Folders that are open for a batch of files, such as those of a start or of a request.
//!
//! The way to a folder is walked component by component, since root follows no link that another user may
//! have made (`DirEntry`). A start opens thousands of files in few folders, so it walks once for each folder.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use pmda_core::dir_entry::DirEntry;
use pmda_core::path::FilePath;
use rustix::io::Errno;

/// The most folders that are open at a time.
const MOST: usize = 16;

/// Folders that are open. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Folders {
    open: Rc<RefCell<Vec<Folder>>>,
}

/// A folder, by one of its entries.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    entry: Rc<DirEntry>,
}

impl Folders {
    /// Closes all folders at the end of a batch: the next one sees what has become of their paths.
    pub fn close(&self) {
        self.open.borrow_mut().clear();
    }

    /// An entry of the folder in which a file is; [`beside`] gives that of the file.
    ///
    /// # Errors
    /// What the system says; `EACCES` for a link that is not to be followed.
    pub fn folder_of(&self, path: &Path) -> io::Result<Rc<DirEntry>> {
        let folder = path.parent().unwrap_or(path);
        let mut open = self.open.borrow_mut();
        if let Some(known) = open.iter().find(|known| known.path == folder) {
            return Ok(Rc::clone(&known.entry));
        }
        let entry = Rc::new(DirEntry::at(path)?);
        if open.len() >= MOST {
            open.clear();
        }
        open.push(Folder {
            path: folder.to_owned(),
            entry: Rc::clone(&entry),
        });
        Ok(entry)
    }

    /// Reads a regular file of at most `limit` bytes, or the one that a link leads to.
    ///
    /// # Errors
    /// As [`DirEntry::content`].
    pub fn content(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let folder = self.folder_of(path)?;
        let content = beside(&folder, path)?.content(limit);
        if content.as_ref().is_err_and(is_no_file) {
            return DirEntry::target_at(path)?.content(limit);
        }
        content
    }

    /// Opens a regular file for reading, or the one that a link leads to.
    ///
    /// # Errors
    /// As [`DirEntry::read`].
    pub fn read(&self, path: &Path) -> io::Result<File> {
        let folder = self.folder_of(path)?;
        let file = beside(&folder, path)?.read();
        if file.as_ref().is_err_and(is_no_file) {
            return DirEntry::target_at(path)?.read();
        }
        file
    }
}

/// Returns whether a name is not that of a regular file. If it is a link, the way that it leads is walked.
fn is_no_file(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::INVAL)
}

/// The entry of a file in its folder, of which `entry` is another one.
///
/// # Errors
/// `ENAMETOOLONG`, `ENOMEM`.
pub fn beside<'e>(entry: &'e DirEntry, path: &Path) -> io::Result<DirEntry<BorrowedFd<'e>>> {
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(entry.beside(FilePath::try_from(Path::new(name))?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder stays the one that was opened until the end of the batch, and links are followed.
    #[test]
    fn a_batch() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("one")).expect("made");
        fs::write(at("one/x"), "first").expect("written");
        symlink("x", at("one/link")).expect("made");
        let folders = Folders::default();
        let read = |name: &str| folders.content(&at(name), 10).ok();
        assert_eq!(
            (read("one/x"), read("one/link")),
            (Some(b"first".into()), Some(b"first".into()))
        );
        fs::rename(at("one"), at("away")).expect("ours");
        assert_eq!(
            (read("one/x"), read("away/x")),
            (Some(b"first".into()), Some(b"first".into()))
        );
        folders.close();
        assert_eq!((read("one/x"), read("one/y"), read("away/y")), (None, None, None));
        for number in 0..2 * MOST {
            let name = format!("f{number}");
            fs::create_dir(at(&name)).expect("made");
            fs::write(at(&name).join("x"), &name).expect("written");
            assert_eq!(read(&format!("{name}/x")), Some(name.into_bytes()));
        }
        assert!(folders.open.borrow().len() <= MOST);
    }
}
