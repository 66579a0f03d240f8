//! A name in an open directory, found without following links that other users may have made.
//!
//! Agents run as root, and many directories that they write to belong to PCP's user. A user who may
//! write to such a directory can put a symbolic link into it that leads root to any file of the
//! system. So a process of root follows a link only if root alone can have made it: in a directory
//! that belongs to root and that others cannot write to, or, where the sticky bit guards names, a
//! link that belongs to root. Any other link is refused with `EACCES`. A descriptor holds the
//! directory or file that was found, so nobody can exchange it afterwards.
//!
//! Other users follow all links, as the system does.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fstat, openat, readlinkat_raw, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};

use crate::error::Error;
use crate::path::{FilePath, joined};

/// Number of symbolic links that Linux follows on one path.
const LINKS: usize = 40;

/// The longest name in a directory, in bytes.
const NAME_MAX: usize = 255;

/// The longest path, in bytes.
pub(crate) const PATH_MAX: usize = 4096;

/// The mode bit of a directory in which only owners remove and rename names.
const STICKY: u32 = 0o1000;

/// The part of a file's status that the way to the file and its replacement need: a sixth of
/// [`Stat`], since a save has several of them on a stack that may be small.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Type and permissions, `st_mode`.
    pub mode: u32,
    /// True if it has several names (`st_nlink`). A file that another process has replaced
    /// meanwhile has none.
    pub has_several_names: bool,
    /// The owner, `st_uid`.
    pub user: u32,
    /// The owning group, `st_gid`.
    pub group: u32,
}

impl Status {
    pub(crate) fn of(stat: &Stat) -> Status {
        Status {
            mode: stat.st_mode,
            has_several_names: stat.st_nlink > 1,
            user: stat.st_uid,
            group: stat.st_gid,
        }
    }

    /// Returns the type of the file.
    #[must_use]
    pub fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }
}

/// A name in an open directory, whether or not something has that name.
#[derive(Debug)]
pub struct DirEntry<D = OwnedFd> {
    directory: D,
    name: FilePath,
}

impl DirEntry {
    /// The entry that a path names. If a link has that name, it is the link itself.
    ///
    /// # Errors
    /// `EACCES` for a link that is not to be followed; what the system says of directories.
    pub fn of(path: &FilePath) -> io::Result<DirEntry> {
        Ok(walk(path, false)?.0)
    }

    /// The entry that a path of Rust's names, as [`DirEntry::of`].
    ///
    /// # Errors
    /// As [`DirEntry::of`].
    pub fn at(path: &Path) -> io::Result<DirEntry> {
        DirEntry::of(&FilePath::try_from(path)?)
    }

    /// The entry that a path of Rust's leads to, as [`DirEntry::target`].
    ///
    /// # Errors
    /// As [`DirEntry::of`].
    pub fn target_at(path: &Path) -> io::Result<DirEntry> {
        DirEntry::target(&FilePath::try_from(path)?)
    }

    /// The entry that a path leads to, after all symbolic links.
    ///
    /// # Errors
    /// As [`DirEntry::of`].
    pub fn target(path: &FilePath) -> io::Result<DirEntry> {
        Ok(walk(path, true)?.0)
    }

    /// [`DirEntry::target`] with its status; `None` if nothing has the name. Who needs both saves a
    /// system call.
    ///
    /// # Errors
    /// As [`DirEntry::of`].
    pub fn target_status(path: &FilePath) -> io::Result<(DirEntry, Option<Status>)> {
        walk(path, true)
    }
}

impl<D: AsFd> DirEntry<D> {
    /// The name in the directory.
    #[must_use]
    pub fn name(&self) -> &FilePath {
        &self.name
    }

    /// The entry of another name in the same directory.
    #[must_use]
    pub fn beside(&self, name: FilePath) -> DirEntry<BorrowedFd<'_>> {
        let directory = self.directory.as_fd();
        DirEntry { directory, name }
    }

    /// Opens the file, close-on-exec: programs that this process starts do not get it. A link is
    /// refused (`ELOOP`).
    ///
    /// # Errors
    /// What the system says.
    pub fn open(&self, flags: OFlags, mode: u32) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(mode);
        let open = || openat(&self.directory, self.name.c_str(), flags, mode);
        Ok(retry_on_intr(open)?.into())
    }

    /// Opens a regular file, or makes it if the flags say so. Anything else is not opened: a FIFO
    /// would wait for its other end for ever, a device has no end, and opening a device may have
    /// effects.
    ///
    /// # Errors
    /// `EISDIR` for a directory, `EINVAL` for anything else that is no regular file; the system's
    /// error.
    pub fn file(&self, flags: OFlags, mode: u32) -> io::Result<File> {
        match self.stat() {
            Ok(stat) => Ok(self.file_of(&Status::of(&stat), flags, mode)?.0),
            Err(error) if error.kind() == io::ErrorKind::NotFound && flags.contains(OFlags::CREATE) => {
                Ok(self.regular(flags, mode)?.0)
            }
            Err(error) => Err(error),
        }
    }

    /// [`DirEntry::file`] of a name with this status; returns that of the file as well.
    ///
    /// # Errors
    /// As [`DirEntry::file`].
    pub fn file_of(&self, status: &Status, flags: OFlags, mode: u32) -> io::Result<(File, Status)> {
        check_regular(status)?;
        self.regular(flags, mode)
    }

    /// Opens what is known to be a regular file, or to be none yet. Another file may have this name
    /// by now: opening a FIFO must not wait, and a terminal must not become the controlling one of
    /// this process.
    fn regular(&self, flags: OFlags, mode: u32) -> io::Result<(File, Status)> {
        let file = self.open(flags | OFlags::NONBLOCK | OFlags::NOCTTY, mode)?;
        let status = Status::of(&fstat(&file)?);
        check_regular(&status)?;
        Ok((file, status))
    }

    /// Opens a regular file for reading, as [`DirEntry::file`].
    ///
    /// # Errors
    /// As [`DirEntry::file`].
    pub fn read(&self) -> io::Result<File> {
        self.file(OFlags::RDONLY, 0)
    }

    /// Reads a regular file of at most `limit` bytes, whatever its length is said to be.
    ///
    /// # Errors
    /// As [`DirEntry::file`]; `EFBIG` if the file is longer, `ENOMEM`.
    pub fn content(&self, limit: usize) -> io::Result<Vec<u8>> {
        let mut file = self.read()?;
        let mut content = Vec::new();
        let expected = usize::try_from(fstat(&file)?.st_size).unwrap_or(0).min(limit);
        // One byte more, so that the end of the file is seen without more memory.
        let reserve = |content: &mut Vec<u8>, count: usize| content.try_reserve(count).map_err(|_| Error::ENOMEM);
        reserve(&mut content, expected + 1)?;
        loop {
            if content.len() == content.capacity() {
                reserve(&mut content, 1)?;
            }
            let count = retry_on_intr(|| rustix::io::read(&mut file, spare_capacity(&mut content)))?;
            if content.len() > limit {
                return Err(Errno::FBIG.into());
            }
            if count == 0 {
                return Ok(content);
            }
        }
    }

    /// Opens a regular file and empties it, or makes a new one, as [`DirEntry::file`].
    ///
    /// # Errors
    /// As [`DirEntry::file`].
    pub fn overwrite(&self, mode: u32) -> io::Result<File> {
        let file = self.file(OFlags::WRONLY | OFlags::CREATE, mode)?;
        // Not when it was opened: only now it is known to be a regular file.
        file.set_len(0)?;
        Ok(file)
    }

    /// Gives what has the name another one, `NAME.SUFFIX`, or `NAME.SUFFIX2` to `NAME.SUFFIX9` if
    /// that is taken: nothing is ever replaced. Returns the new name.
    ///
    /// # Errors
    /// `ENOENT` if nothing has the name, `EEXIST` if all are taken, `ENOMEM`; what the system says.
    pub fn keep_aside(&self, suffix: &str) -> io::Result<FilePath> {
        self.stat()?;
        for number in 1..=9 {
            let parts: &[&[u8]] = &[self.name.bytes()];
            let name = match number {
                1 => FilePath::new(parts, format_args!(".{suffix}")),
                _ => FilePath::new(parts, format_args!(".{suffix}{number}")),
            };
            let aside = self.beside(name?);
            let (from, to) = (self.name.c_str(), aside.name.c_str());
            match renameat_with(&self.directory, from, aside.directory, to, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(aside.name),
                Err(Errno::EXIST) => {}
                // The file system has no such renaming, or a sandbox refuses it.
                Err(Errno::ACCESS | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => match aside.stat()
                {
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        self.rename(&aside)?;
                        return Ok(aside.name);
                    }
                    Err(error) => return Err(error),
                },
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Returns whether a process of root has to expect that another user has put this name here: as
    /// a symbolic link, or as one more name of any file.
    ///
    /// # Errors
    /// What the system says.
    pub fn is_exposed(&self) -> io::Result<bool> {
        if !is_root() {
            return Ok(false);
        }
        let holder = fstat(&self.directory)?;
        Ok(holder.st_uid != 0 || holder.st_mode & 0o022 != 0)
    }

    /// A descriptor that stands for the file alone (`O_PATH`): its owner can be changed, and
    /// nothing can be read or written.
    ///
    /// # Errors
    /// What the system says.
    pub fn hold(&self) -> io::Result<File> {
        self.open(OFlags::PATH, 0)
    }

    /// Removes what has the name, and makes a new file. Processes that have the old file open keep
    /// it.
    ///
    /// # Errors
    /// What the system says.
    pub fn replace(&self, mode: u32) -> io::Result<File> {
        match self.unlink() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.open(OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode),
        }
    }

    /// The status of what has the name (`stat`); of a link, its own.
    ///
    /// # Errors
    /// What the system says.
    pub fn stat(&self) -> io::Result<Stat> {
        let stat = statat(&self.directory, self.name.c_str(), AtFlags::SYMLINK_NOFOLLOW);
        Ok(stat?)
    }

    /// Removes the name.
    ///
    /// # Errors
    /// What the system says.
    pub fn unlink(&self) -> io::Result<()> {
        Ok(unlinkat(&self.directory, self.name.c_str(), AtFlags::empty())?)
    }

    /// Renames the file. What had the new name is replaced.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename<E: AsFd>(&self, to: &DirEntry<E>) -> io::Result<()> {
        let (from, name) = (&self.directory, self.name.c_str());
        Ok(renameat(from, name, &to.directory, to.name.c_str())?)
    }

    /// Makes a directory, unless the name exists.
    ///
    /// # Errors
    /// What the system says.
    pub fn make_directory(&self, mode: u32) -> io::Result<()> {
        let mode = Mode::from_raw_mode(mode);
        match rustix::fs::mkdirat(&self.directory, self.name.c_str(), mode) {
            Err(Errno::EXIST) => Ok(()),
            result => Ok(result?),
        }
    }
}

/// `EISDIR` or `EINVAL` for what is no regular file.
fn check_regular(status: &Status) -> io::Result<()> {
    match status.file_type() {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Errno::ISDIR.into()),
        _ => Err(Errno::INVAL.into()),
    }
}

/// The end of a walk: the entry and, if it was asked for, the status of the file that has the name.
type WalkEnd = (DirEntry, Option<Status>);

/// Goes along a path and follows the links that may be followed.
fn walk(path: &FilePath, follow_last: bool) -> io::Result<WalkEnd> {
    let (mut directory, mut rest) = (start(path.bytes())?, joined(&[path.bytes()])?);
    let mut buffer = Vec::new();
    for _ in 0..=LINKS {
        match go(directory, &rest, follow_last, &mut buffer)? {
            Step::End(end) => return Ok(end),
            Step::Link(at, leads_to) => {
                rest = leads_to;
                directory = if rest.starts_with(b"/") { start(&rest)? } else { at };
            }
        }
    }
    Err(Errno::LOOP.into())
}

/// A step of [`go`].
enum Step {
    End(WalkEnd),
    /// A link: its directory, and the path from that directory on, which is the link's target
    /// followed by the rest of the path.
    Link(OwnedFd, Vec<u8>),
}

/// Goes on, component by component, to the end of the path or to the first link.
fn go(mut directory: OwnedFd, path: &[u8], follow_last: bool, buffer: &mut Vec<u8>) -> io::Result<Step> {
    let mut rest = path;
    loop {
        let skipped = rest.iter().take_while(|byte| **byte == b'/').count();
        rest = &rest[skipped..];
        let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
        let (component, after) = rest.split_at(end);
        let is_last = after.iter().all(|byte| *byte == b'/');
        if !is_last {
            // A longer one makes rustix allocate, which ends the process without memory.
            if component.len() > NAME_MAX {
                return Err(Errno::NAMETOOLONG.into());
            }
            let open = || openat(&directory, component, DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
            match retry_on_intr(open) {
                Ok(next) => {
                    (directory, rest) = (next, after);
                    continue;
                }
                // A link, or no directory: which error a link gives depends on the system.
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let name = FilePath::new(&[component], format_args!(""))?;
        let entry = DirEntry { directory, name };
        if is_last && !follow_last {
            return Ok(Step::End((entry, None)));
        }
        let status = match entry.stat() {
            Ok(stat) => Some(Status::of(&stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if status.is_some_and(|status| status.file_type() == FileType::Symlink) {
            let leads_to = link(entry.directory.as_fd(), &entry.name, buffer)?;
            let rest = joined(&[leads_to, after])?;
            return Ok(Step::Link(entry.directory, rest));
        }
        return if is_last {
            Ok(Step::End((entry, status)))
        } else {
            Err(Errno::NOTDIR.into())
        };
    }
}

/// The flags to open a directory on the way: `O_PATH` needs no permission to read it.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The directory where a path begins.
fn start(path: &[u8]) -> io::Result<OwnedFd> {
    let directory = if path.starts_with(b"/") { c"/" } else { c"." };
    Ok(retry_on_intr(|| openat(CWD, directory, DIRECTORY, Mode::empty()))?)
}

/// The target of a link.
///
/// # Errors
/// `EACCES` for a link that is not to be followed.
fn link<'r>(directory: BorrowedFd<'_>, name: &FilePath, buffer: &'r mut Vec<u8>) -> io::Result<&'r [u8]> {
    buffer.clear();
    buffer.try_reserve_exact(PATH_MAX).map_err(|_| Error::ENOMEM)?;
    let (leads_to, _) = readlinkat_raw(directory, name.c_str(), buffer.spare_capacity_mut())?;
    if is_trusted(directory, name)? {
        Ok(leads_to)
    } else {
        Err(Errno::ACCESS.into())
    }
}

/// Returns whether this process runs as root. It counts as root where a sandbox refuses the question:
/// the answer is an error number with its sign then.
fn is_root() -> bool {
    const LARGEST_ERROR: u32 = 4095;
    let user = rustix::process::geteuid().as_raw();
    user == 0 || user > u32::MAX - LARGEST_ERROR
}

/// Returns whether this process may follow a link: always, unless it runs as root.
fn is_trusted(directory: BorrowedFd<'_>, name: &FilePath) -> io::Result<bool> {
    if !is_root() {
        return Ok(true);
    }
    let holder = fstat(directory)?;
    if holder.st_uid != 0 {
        return Ok(false);
    }
    if holder.st_mode & 0o022 == 0 {
        return Ok(true);
    }
    let link = statat(directory, name.c_str(), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(holder.st_mode & STICKY != 0 && link.st_uid == 0)
}

#[cfg(test)]
mod tests;
