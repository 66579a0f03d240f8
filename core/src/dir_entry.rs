//! A name in an open directory, found without following links that other users may have put there.
//!
//! Agents run as root, and many directories that they write to belong to PCP's user. Whoever may
//! write to such a directory can put a symbolic link there, which leads root to any file of the
//! system. So a process of root follows a link only where root alone can have put it: in a
//! directory that belongs to root and that others cannot write to, or, where the sticky bit guards
//! names, a link that belongs to root. Another link is refused with `EACCES`. A descriptor holds
//! what was found, so that it cannot be exchanged afterwards.
//!
//! Other users follow all links, as the system does.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, openat, readlinkat_raw, renameat, statat, unlinkat};
use rustix::io::Errno;

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

/// A name in an open directory, whether or not something has that name.
#[derive(Debug)]
pub struct DirEntry {
    directory: OwnedFd,
    name: FilePath,
}

impl DirEntry {
    /// The entry that a path names. If a link has that name, it is the link itself.
    ///
    /// # Errors
    /// `EACCES` for a link that is not to be followed; what the system says of directories.
    pub fn of(path: &FilePath) -> io::Result<DirEntry> {
        walk(path, false)
    }

    /// The entry that a path of Rust's names, as [`DirEntry::of`].
    ///
    /// # Errors
    /// As [`DirEntry::of`].
    pub fn at(path: &Path) -> io::Result<DirEntry> {
        DirEntry::of(&FilePath::try_from(path).map_err(io_error)?)
    }

    /// The entry that a path of Rust's leads to, as [`DirEntry::target`].
    ///
    /// # Errors
    /// As [`DirEntry::of`].
    pub fn behind(path: &Path) -> io::Result<DirEntry> {
        DirEntry::target(&FilePath::try_from(path).map_err(io_error)?)
    }

    /// The entry that a path leads to, behind all links.
    ///
    /// # Errors
    /// As [`DirEntry::of`].
    pub fn target(path: &FilePath) -> io::Result<DirEntry> {
        walk(path, true)
    }

    /// The name in the directory.
    #[must_use]
    pub fn name(&self) -> &FilePath {
        &self.name
    }

    /// The entry of another name in the same directory.
    ///
    /// # Errors
    /// What the system says.
    pub fn beside(&self, name: FilePath) -> io::Result<DirEntry> {
        let directory = rustix::io::fcntl_dupfd_cloexec(&self.directory, 0)?;
        Ok(DirEntry { directory, name })
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
        Ok(rustix::io::retry_on_intr(open)?.into())
    }

    /// Opens the file for reading. It neither waits for a writer nor makes a terminal the
    /// controlling one of this process.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&self) -> io::Result<File> {
        self.open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, 0)
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
        let found = statat(&self.directory, self.name.c_str(), AtFlags::SYMLINK_NOFOLLOW);
        Ok(found?)
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
    pub fn rename(&self, to: &DirEntry) -> io::Result<()> {
        let (from, name) = (&self.directory, self.name.c_str());
        Ok(renameat(from, name, &to.directory, to.name.c_str())?)
    }

    /// Makes a directory, unless something is there.
    ///
    /// # Errors
    /// What the system says.
    pub fn make_directory(&self, mode: u32) -> io::Result<()> {
        let mode = Mode::from_raw_mode(mode);
        match rustix::fs::mkdirat(&self.directory, self.name.c_str(), mode) {
            Err(Errno::EXIST) => Ok(()),
            made => Ok(made?),
        }
    }
}

/// Goes along a path, component by component, and follows the links that may be followed.
fn walk(path: &FilePath, follow_last: bool) -> io::Result<DirEntry> {
    let mut rest = copy(path.bytes())?;
    let mut directory = start(&rest)?;
    let mut room = Vec::new();
    for _ in 0..=LINKS {
        let (next, name, found) = go(directory, &rest, follow_last, &mut room)?;
        match found {
            None => return Ok(DirEntry { directory: next, name }),
            Some(link) => {
                rest = link;
                directory = if rest.starts_with(b"/") { start(&rest)? } else { next };
            }
        }
    }
    Err(Errno::LOOP.into())
}

/// Goes on to the end of the path or to the first link: returns the directory and the name there
/// and, for a link, the path from that directory on: the link's target with the rest of the path
/// behind it.
fn go(
    mut directory: OwnedFd,
    path: &[u8],
    follow_last: bool,
    room: &mut Vec<u8>,
) -> io::Result<(OwnedFd, FilePath, Option<Vec<u8>>)> {
    let mut rest = path;
    loop {
        let skipped = rest.iter().take_while(|byte| **byte == b'/').count();
        rest = &rest[skipped..];
        let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
        let (component, behind) = rest.split_at(end);
        let is_last = behind.iter().all(|byte| *byte == b'/');
        if !is_last {
            // A longer one makes rustix allocate, which ends the process without memory.
            if component.len() > NAME_MAX {
                return Err(Errno::NAMETOOLONG.into());
            }
            match openat(&directory, component, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(next) => {
                    (directory, rest) = (next, behind);
                    continue;
                }
                // A link, or no directory: which error a link gives depends on the system.
                Err(Errno::NOTDIR | Errno::LOOP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let name = FilePath::new(&[component], format_args!("")).map_err(io_error)?;
        if is_last && !follow_last {
            return Ok((directory, name, None));
        }
        return match link(directory.as_fd(), &name, room)? {
            Some(leads_to) => {
                let rest = joined(&[leads_to, behind]).map_err(io_error)?;
                Ok((directory, name, Some(rest)))
            }
            None if is_last => Ok((directory, name, None)),
            None => Err(Errno::NOTDIR.into()),
        };
    }
}

/// The flags to open a directory on the way: `O_PATH` needs no permission to read it.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The directory where a path begins.
fn start(path: &[u8]) -> io::Result<OwnedFd> {
    let directory = if path.starts_with(b"/") { c"/" } else { c"." };
    Ok(openat(CWD, directory, DIRECTORY, Mode::empty())?)
}

/// The target of a link; `None` if the name is no link, or nothing has it.
///
/// # Errors
/// `EACCES` for a link that is not to be followed.
fn link<'r>(directory: BorrowedFd<'_>, name: &FilePath, room: &'r mut Vec<u8>) -> io::Result<Option<&'r [u8]>> {
    room.clear();
    room.try_reserve_exact(PATH_MAX).map_err(|_| io_error(Error::ENOMEM))?;
    match readlinkat_raw(directory, name.c_str(), room.spare_capacity_mut()) {
        Ok((leads_to, _)) if is_trusted(directory, name)? => Ok(Some(leads_to)),
        Ok(_) => Err(Errno::ACCESS.into()),
        Err(Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether this process may follow a link: always, unless it runs as root.
fn is_trusted(directory: BorrowedFd<'_>, name: &FilePath) -> io::Result<bool> {
    if !rustix::process::geteuid().is_root() {
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

fn copy(bytes: &[u8]) -> io::Result<Vec<u8>> {
    joined(&[bytes]).map_err(io_error)
}

fn io_error(error: Error) -> io::Error {
    io::Error::from_raw_os_error(-error.code())
}
