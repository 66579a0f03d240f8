//! Files of numbers on the disk: replaced, added to, or written over.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use pmda_core::dir_entry::DirEntry;
use pmda_core::save::write_over;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::pickle;

/// The kernel copies what is written page by page: within one, a process that is killed has written
/// all or nothing.
pub(super) const PAGE: u64 = 4096;

/// A file, when it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    file: (u64, u64),
    pub length: u64,
    modified: (i64, i64),
}

impl Stamp {
    pub fn of(file: &File) -> std::io::Result<Stamp> {
        let metadata = file.metadata()?;
        Ok(Stamp {
            file: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }
}

/// Replaces the last [`pickle::END`] bytes of a file with a new end. If the process is killed
/// meanwhile, the file is as it was, except for bytes after its end, which nobody reads. `None` if
/// it is not the file that was written, or if its end cannot be replaced.
pub(super) fn extend<D: AsFd>(entry: &DirEntry<D>, stamp: &Stamp, end: &[u8]) -> Option<Stamp> {
    let file = entry.file(OFlags::WRONLY, 0).ok()?;
    let at = stamp.length.checked_sub(pickle::END as u64)?;
    let is_in_a_page = at / PAGE == (stamp.length - 1) / PAGE;
    if !is_in_a_page || Stamp::of(&file).ok()? != *stamp {
        return None;
    }
    let (first, rest) = end.split_at_checked(pickle::END)?;
    if file.write_all_at(rest, stamp.length).is_err() {
        // It is as it was, and can be written over.
        let _ = file.set_len(stamp.length);
        return None;
    }
    file.write_all_at(first, at).ok()?;
    Stamp::of(&file).ok()
}

/// Puts a file with new content in the place of another: at any time a reader finds the old or the
/// new file whole.
pub(super) fn replace<D: AsFd>(
    entry: &DirEntry<D>,
    new: &DirEntry<D>,
    write: impl FnOnce(&mut File) -> std::io::Result<()>,
) -> std::io::Result<Stamp> {
    // `replace` removes the file that a killed agent has left, and makes a new one itself, so
    // nobody who may write to the folder can lead the agent to another file.
    let mut file = new.replace(0o644)?;
    let written = write(&mut file);
    let replaced = written.and_then(|()| new.rename(entry)).inspect_err(|_| {
        let _ = new.unlink();
    });
    replaced.and_then(|()| Stamp::of(&file))
}

/// Writes over a file, for which room is there or is reserved first: the file is as it was if there is none.
/// It is not made where there is none: it would be empty.
pub(super) fn overwrite<D: AsFd>(entry: &DirEntry<D>, content: &[u8]) -> std::io::Result<Stamp> {
    let file = entry.file(OFlags::WRONLY, 0)?;
    // Another user may have given this name to any file.
    if file.metadata()?.nlink() > 1 && entry.is_exposed()? {
        return Err(Errno::ACCESS.into());
    }
    write_over(&file, content)?;
    Stamp::of(&file)
}
