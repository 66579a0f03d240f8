//! Replaces the content of a file so that a full disk leaves the old content or the new one, never
//! half of either (DEF-1). The new file has the old one's owner, mode and extended attributes (access
//! control lists and labels among them).
//!
//! The content is written to a temporary file in the same directory, which is then renamed; so a
//! process that is killed leaves one of both as well. A file that cannot be replaced in this way is
//! written in place, its new end first ([`write_over`]).
//!
//! [`write()`] is for any file of a product: the caches use it, and an agent that keeps a file of its
//! own calls
//!
//! ```
//! # fn kept(path: &std::path::Path, content: &[u8]) -> std::io::Result<()> {
//! pmda_core::save::write(&path.try_into()?, content)
//! # }
//! ```
//!
//! and has the old content or the new one afterwards. `Ok` is the new one. With an error the old one
//! stays, and the next call tries again. An agent that adds to a file, or holds it open, uses
//! [`write_over`] alone.

use std::cell::OnceCell;
use std::ffi::CStr;
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileExt, PermissionsExt, fchown};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, OFlags, RawDir, Stat, fgetxattr, flistxattr, fstat, statat, unlinkat};
use rustix::io::{Errno, Result};

use crate::dir_entry::{DirEntry, PATH_MAX, Status};
use crate::error::Error;
use crate::path::FilePath;

/// Age from which a temporary file counts as abandoned: its writer was killed. A save takes
/// seconds.
const ABANDONED: Duration = Duration::from_secs(600);

/// Replaces the content of the file at `path`, or makes a new file. A symbolic link stays, and the
/// file that it leads to is replaced.
///
/// An existing file keeps mode, owner and attributes. It is written in place where it cannot be
/// replaced (CACHE-75): when it has several names, is no regular file, is mounted, belongs to a
/// user to whom we cannot give a file, or has attributes that cannot be copied; when we may not
/// write to its directory, or a sandbox refuses to rename; and when the disk has no room for a
/// second file.
///
/// Nothing is flushed to the disk, since agents save in the middle of fetches. After a crash of the
/// process the old or the new file exists, unless it was being written in place; after a crash of
/// the system it depends on the file system.
///
/// # Errors
/// The system's error. The old content is unchanged, but for the limits of [`write_over`].
pub fn write(path: &FilePath, content: &[u8]) -> io::Result<()> {
    replace(path, content, None)
}

/// Replaces a file as [`write()`] does. The old file gets another name, which is stored in `kept`.
///
/// # Errors
/// As [`write()`]; `EEXIST` where the file would have to be written in place.
pub fn write_and_keep(path: &FilePath, content: &[u8], kept: &OnceCell<FilePath>) -> io::Result<()> {
    replace(path, content, Some(kept))
}

/// Makes a file anew, with this content and mode. What had the name goes, of a link the link: so
/// nobody who may write to the directory can lead a write of root's elsewhere. `make_room` runs when
/// the new file is complete, and may give the old one another name.
///
/// # Errors
/// That of `make_room`, or the system's: what had the name is still there, unless `make_room` has
/// moved it.
pub fn write_anew(
    entry: &DirEntry,
    mode: u32,
    content: &[u8],
    make_room: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let (temporary, mut file) = create_beside(entry, true)?;
    let made = file.write_all(content);
    let made = made.and_then(|()| file.set_permissions(Permissions::from_mode(mode)));
    let made = made.and_then(|()| make_room()).and_then(|()| temporary.rename(entry));
    made.inspect_err(|_| {
        let _ = temporary.unlink();
    })
}

/// The body of [`write()`] and [`write_and_keep`].
fn replace(path: &FilePath, content: &[u8], kept: Option<&OnceCell<FilePath>>) -> io::Result<()> {
    let (target, old) = DirEntry::target_status(path)?;
    let is_replaceable = match &old {
        None => true,
        Some(old) => is_replaceable(&target, old)?,
    };
    let why = if is_replaceable {
        match beside(&target, old.as_ref(), content, kept) {
            Ok(true) => return Ok(()),
            Ok(false) => None,
            Err(error) => Some(error),
        }
    } else {
        None
    };
    // A refusal does not say whether the file may be written in place.
    let why = why.filter(|why| !is_refusal(why));
    match why {
        // A new file has no room of its own that could be written over. And on a disk that fails,
        // an old file that can still be read is left alone.
        Some(why) if old.is_none() || kept.is_some() || Errno::from_io_error(&why) == Some(Errno::IO) => Err(why),
        None if kept.is_some() => Err(Errno::EXIST.into()),
        why => in_place(&target, content, old.is_none()).map_err(|error| why.unwrap_or(error)),
    }
}

/// Writes a temporary file, and renames it. Returns `false`, and leaves all as it was, if the new
/// file cannot have what the old one has.
///
/// # Errors
/// The system's error; all is as it was, unless the old file has got another name already.
fn beside(
    target: &DirEntry,
    old: Option<&Status>,
    content: &[u8],
    kept: Option<&OnceCell<FilePath>>,
) -> io::Result<bool> {
    let replaced = match old {
        None => None,
        Some(old) => Some(target.file_of(old, OFlags::WRONLY, 0)?),
    };
    let (temporary, mut file) = create_beside(target, replaced.is_some())?;
    let to_keep = kept.filter(|_| replaced.is_some());
    let is_alike = replaced.is_none_or(|(replaced, status)| take_after(&file, &replaced, &status));
    let result = match is_alike.then(|| file.write_all(content)) {
        Some(Ok(())) => keep(target, to_keep).and_then(|()| temporary.rename(target).map(|()| true)),
        Some(Err(error)) => Err(error),
        None => Ok(false),
    };
    if !matches!(result, Ok(true)) {
        // Before anything is written in place: that may need the room.
        drop(file);
        let _ = temporary.unlink();
    }
    result
}

/// Returns whether a file can be replaced: a regular file whose names all show the new content
/// afterwards, unless another user may have made one of the names.
fn is_replaceable(target: &DirEntry, old: &Status) -> io::Result<bool> {
    let is_file = old.file_type() == FileType::RegularFile;
    Ok(is_file && (!old.has_several_names || target.is_exposed()?))
}

/// Memory of [`PATH_MAX`] bytes for names: not on the stack, of which agents' threads may have
/// little.
fn name_buffer() -> io::Result<Vec<u8>> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(PATH_MAX).map_err(|_| Error::ENOMEM)?;
    Ok(buffer)
}

/// Gives the old file another name, if it is to be kept.
fn keep(target: &DirEntry, kept: Option<&OnceCell<FilePath>>) -> io::Result<()> {
    if let Some(kept) = kept {
        // `kept` is empty: a snapshot is written once.
        let _ = kept.set(target.keep_aside("unread")?);
    }
    Ok(())
}

/// Returns whether an error means that the system does not let us replace a file: by its rules, or
/// since a sandbox refuses the system call. Writing to the file may be allowed all the same. By the
/// number: which `ErrorKind` it becomes depends on Rust's version.
fn is_refusal(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::ACCESS
                | Errno::PERM
                | Errno::ROFS
                | Errno::BUSY
                | Errno::XDEV
                | Errno::OPNOTSUPP
                | Errno::NOSYS
                | Errno::INVAL
        )
    )
}

/// Returns whether a name is that of a temporary file, as [`create_beside`] makes them.
fn is_temporary(name: &[u8]) -> bool {
    let is_number = |byte: &u8| matches!(byte, b'.' | b'0'..=b'9');
    let rest = name.iter().skip_while(|byte| is_number(byte));
    name.starts_with(b".") && rest.take(4).eq(b"tmp-")
}

/// Makes a temporary file in the same directory, with its entry. Where it is to replace an old
/// file, only we may read it until it has the old one's owner and mode.
fn create_beside(target: &DirEntry, old: bool) -> io::Result<(DirEntry<BorrowedFd<'_>>, File)> {
    // O_EXCL never follows a link that somebody has put in place of the file.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let mode = if old { 0o600 } else { 0o666 };
    // The time is part of the name: in a container an agent may have the same process id each time.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut last = io::Error::from(ErrorKind::AlreadyExists);
    for attempt in 0..16 {
        let number = now.as_nanos() + attempt;
        let name = FilePath::new(
            &[b".", target.name().bytes()],
            format_args!(".tmp-{}-{number}", std::process::id()),
        );
        let temporary = target.beside(name?);
        match temporary.open(flags, mode) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Removes the temporary files that killed agents have left in a directory. A file that cannot be
/// removed stays; nothing is reported.
pub(crate) fn sweep(directory: &FilePath) {
    let opened = DirEntry::target(directory).and_then(|it| it.open(OFlags::RDONLY | OFlags::DIRECTORY, 0));
    let Ok(directory) = opened else {
        return;
    };
    let Ok(mut buffer) = name_buffer() else { return };
    let mut entries = RawDir::new(&directory, buffer.spare_capacity_mut());
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name();
        if !is_temporary(name.to_bytes()) {
            continue;
        }
        let stat = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let age = stat.ok().and_then(|stat| age(&stat));
        if age.is_some_and(|age| age > ABANDONED) {
            let _ = unlinkat(&directory, name, AtFlags::empty());
        }
    }
}

/// The time since a file was last written to; `None` if that is in the future.
fn age(file: &Stat) -> Option<Duration> {
    let modified = Duration::from_secs(u64::try_from(file.st_mtime).ok()?);
    SystemTime::now().duration_since(UNIX_EPOCH).ok()?.checked_sub(modified)
}

/// Gives the new file the owner and the mode of the old one, and returns whether both have the same
/// attributes then. `false` means that the old file cannot be replaced.
fn take_after(new: &File, replaced: &File, old: &Status) -> bool {
    let Ok(stat) = fstat(new) else {
        return false;
    };
    let is_owned = (old.user, old.group) == (stat.st_uid, stat.st_gid);
    if !is_owned && fchown(new, Some(old.user), Some(old.group)).is_err() {
        return false;
    }
    // After the owner: changing that may clear bits of the mode.
    let mode = Permissions::from_mode(old.mode & 0o7777);
    new.set_permissions(mode).is_ok() && same_attributes(replaced, new)
}

/// Writes over the file itself, unless another user may have put it here by one more name. A new
/// file that cannot be written is removed.
fn in_place(target: &DirEntry, content: &[u8], is_new: bool) -> io::Result<()> {
    let file = target.file(OFlags::WRONLY | OFlags::CREATE, 0o666)?;
    if fstat(&file)?.st_nlink > 1 && target.is_exposed()? {
        return Err(Errno::ACCESS.into());
    }
    let written = write_over(&file, content);
    if written.is_err() && is_new {
        let _ = target.unlink();
    }
    written
}

/// Replaces the content of an open file in place: first what lies beyond the old end, which alone
/// needs room on the disk, or the last byte, which alone may be beyond a limit of the size; then the
/// rest. So the old content stays on a full disk, beyond a quota and beyond such a limit.
///
/// It does not stay, whole, where the process is killed in between, where the disk itself fails, and
/// on a full file system that writes each block to a new place (btrfs, ZFS).
///
/// # Errors
/// The system's error.
pub fn write_over(file: &File, content: &[u8]) -> io::Result<()> {
    let old = u64::try_from(fstat(file)?.st_size).unwrap_or(0);
    if old > content.len() as u64 {
        // Changes nothing, and fails where the last step would: in a sandbox that refuses it.
        file.set_len(old)?;
    }
    let most = content.len().saturating_sub(1);
    let split = usize::try_from(old).map_or(most, |old| old.min(most));
    let (start, end) = content.split_at(split);
    if let Err(error) = file.write_all_at(end, split as u64) {
        let _ = file.set_len(old);
        return Err(error);
    }
    file.write_all_at(start, 0)?;
    if old > content.len() as u64 {
        file.set_len(content.len() as u64)?;
    }
    Ok(())
}

/// Returns whether two files have the same extended attributes with the same values. An attribute
/// that cannot be read counts as a difference.
fn same_attributes(one: &File, other: &File) -> bool {
    let (Ok(names), Ok(others)) = (list(one), list(other)) else {
        return false;
    };
    // Each name ends with a NUL.
    let all = || names.split_inclusive(|byte| *byte == 0);
    all().count() == others.split_inclusive(|byte| *byte == 0).count()
        && all().all(|name| {
            CStr::from_bytes_with_nul(name).is_ok_and(|name| {
                let content = value(one, name);
                content.is_ok() && content == value(other, name)
            })
        })
}

/// The names of a file's attributes, each with a NUL; empty if the file system has no attributes.
fn list(file: &File) -> Result<Vec<u8>> {
    match filled(|buffer| flistxattr(file, buffer)) {
        Err(Errno::NOTSUP | Errno::NOSYS) => Ok(Vec::new()),
        result => result,
    }
}

/// The value of an attribute.
fn value(file: &File, name: &CStr) -> Result<Vec<u8>> {
    filled(|buffer| fgetxattr(file, name, buffer))
}

/// The bytes that `fill` writes into a buffer: a small one, which is enough for almost all attributes,
/// or one for the longest value or list that Linux has, 64 KiB (`XATTR_SIZE_MAX`, `XATTR_LIST_MAX`).
fn filled(fill: impl Fn(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
    let mut answer = Vec::new();
    for length in [512, 1 << 16] {
        answer
            .try_reserve_exact(length - answer.len())
            .map_err(|_| Errno::NOMEM)?;
        answer.resize(length, 0);
        match fill(&mut answer) {
            Err(Errno::RANGE) => {}
            result => {
                answer.truncate(result?);
                return Ok(answer);
            }
        }
    }
    Err(Errno::RANGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::CacheFile;
    use crate::testing;
    use rustix::fs::{CWD, MemfdFlags, Mode, SealFlags, XattrFlags, fcntl_add_seals, fsetxattr, memfd_create, mknodat};
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::fs::{chown, symlink};
    use std::path::Path;

    fn file_path(path: &Path) -> FilePath {
        path.try_into().expect("a path without a NUL")
    }

    fn write(path: &Path, content: &[u8]) -> io::Result<()> {
        super::write(&file_path(path), content)
    }

    /// Gives a file an attribute that a new file does not have. Returns false on a file system
    /// without attributes, where the test is skipped.
    fn mark(path: &Path) -> bool {
        let file = File::open(path).expect("ours");
        match fsetxattr(&file, "user.pcp", b"some", XattrFlags::empty()) {
            Err(Errno::NOTSUP) => {
                testing::skipped("the file system has no attributes");
                false
            }
            result => result.map(|()| true).expect("ours"),
        }
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("a directory").flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The mode is kept, links are followed, several names are kept, and no temporary file stays
    /// (DEF-1, CACHE-75).
    #[test]
    fn replaces() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("1.2");
        write(&file, b"one").expect("new");
        fs::set_permissions(&file, Permissions::from_mode(0o640)).expect("ours");
        let before = fs::metadata(&file).expect("there").ino();
        write(&file, b"two").expect("replaced");
        let after = fs::metadata(&file).expect("there");
        assert_ne!(before, after.ino());
        assert_eq!(after.mode() & 0o7777, 0o640);
        symlink(&file, directory.path().join("link")).expect("a link");
        write(&directory.path().join("link"), b"three").expect("through the link");
        assert_eq!(fs::read(&file).expect("there"), b"three");
        let (chained, before) = (
            directory.path().join("chained"),
            fs::metadata(&file).expect("there").ino(),
        );
        symlink("link", &chained).expect("a link to a link");
        write(&chained, b"three").expect("through both");
        assert_ne!(before, fs::metadata(&file).expect("there").ino());
        assert_eq!(fs::read(&file).expect("there"), b"three");
        fs::remove_file(chained).expect("ours");
        fs::hard_link(&file, directory.path().join("other")).expect("a second name");
        write(&file, b"four").expect("in place");
        assert_eq!(fs::read(directory.path().join("other")).expect("there"), b"four");
        assert_eq!(names(directory.path()), ["1.2", "link", "other"]);
        fs::remove_file(directory.path().join("other")).expect("ours");
    }

    /// A file with attributes that a new one would not have is written in place (DEF-1, CACHE-75).
    #[test]
    fn other_attributes() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("1.2");
        write(&file, b"one").expect("new");
        let before = fs::metadata(&file).expect("there").ino();
        if !mark(&file) {
            return;
        }
        write(&file, b"two").expect("a file with other attributes");
        assert_eq!(fs::read(&file).expect("there"), b"two");
        assert_eq!(fs::metadata(&file).expect("there").ino(), before);
        assert_eq!(names(directory.path()), ["1.2"]);
    }

    /// A file that another process replaces while it is looked at has no name any more. It is
    /// replaced as well: writing in place would show readers half of it.
    #[test]
    fn replaced_meanwhile() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("1.2");
        let target = DirEntry::at(&path).expect("ours");
        let replaceable = |file: &File| {
            let status = Status::of(&fstat(file).expect("open"));
            is_replaceable(&target, &status).expect("a file of ours")
        };
        let file = File::create(&path).expect("ours");
        assert!(replaceable(&file));
        fs::remove_file(&path).expect("ours");
        assert!(replaceable(&file));
    }

    /// Only the files that killed agents have left are removed, not a file that an agent may be
    /// writing (DEF-1).
    #[test]
    fn sweeps() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("1.2");
        let old = SystemTime::now() - 2 * ABANDONED;
        for (name, time) in [
            (".1.2.tmp-7-7", Some(old)),
            (".1.2.tmp-8-8", None),
            (".1.23.tmp-7-7", Some(old)),
            ("1.2.tmp-7-7", Some(old)),
            (".x.tmp-7-7", Some(old)),
            (".1.tm", Some(old)),
        ] {
            let made = File::create(directory.path().join(name)).expect("ours");
            if let Some(time) = time {
                made.set_modified(time).expect("ours");
            }
        }
        write(&file, b"one").expect("new");
        sweep(&file_path(directory.path()));
        let left = [".1.2.tmp-8-8", ".1.tm", ".x.tmp-7-7", "1.2", "1.2.tmp-7-7"];
        assert_eq!(names(directory.path()), left);
    }

    /// A process of root follows no link that another user may have made, neither in place of the
    /// file nor on the way to it. So it neither writes nor reads another file (DEF-18).
    #[test]
    fn links_of_others() {
        if !testing::is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("safe")).expect("ours");
        fs::create_dir(path("theirs")).expect("ours");
        chown(path("theirs"), Some(65534), Some(65534)).expect("root");
        fs::write(path("safe/victim"), b"2 0 7\n").expect("ours");
        symlink(path("safe/victim"), path("theirs/1.2")).expect("a link");
        symlink("../safe", path("theirs/way")).expect("a link");
        symlink(path("safe/new"), path("theirs/nowhere")).expect("a link");
        for name in ["theirs/1.2", "theirs/way/victim", "theirs/nowhere"] {
            let denied = |result: io::Result<()>| result.expect_err(name).raw_os_error() == Some(13);
            assert!(denied(write(&path(name), b"x")), "{name}");
            assert!(denied(CacheFile::open(file_path(&path(name))).map(drop)), "{name}");
        }
        // A hard link is replaced, and never written to.
        fs::hard_link(path("safe/victim"), path("theirs/hard")).expect("ours");
        write(&path("theirs/hard"), b"x").expect("replaced");
        assert_eq!(fs::read(path("theirs/hard")).expect("ours"), b"x");
        fs::hard_link(path("safe/victim"), path("theirs/other")).expect("ours");
        let entry = DirEntry::at(&path("theirs/other")).expect("there");
        assert_eq!(
            in_place(&entry, b"x", false).expect_err("refused").raw_os_error(),
            Some(13)
        );
        for name in ["theirs/hard", "theirs/other"] {
            fs::remove_file(path(name)).expect("ours");
        }
        fs::write(path("safe/.1.tmp-1-1"), b"").expect("ours");
        File::open(path("safe/.1.tmp-1-1"))
            .expect("ours")
            .set_modified(UNIX_EPOCH)
            .expect("ours");
        sweep(&file_path(&path("theirs/way")));
        assert_eq!(names(&path("safe")), [".1.tmp-1-1", "victim"]);
        assert_eq!(fs::read(path("safe/victim")).expect("ours"), b"2 0 7\n");
        // A link where nobody else can put one, or that the sticky bit guards, is root's own.
        for mode in [0o755, 0o1777] {
            fs::set_permissions(path("safe"), Permissions::from_mode(mode)).expect("ours");
            let _ = fs::remove_file(path("safe/link"));
            symlink("victim", path("safe/link")).expect("a link");
            write(&path("safe/link"), b"2 0 8\n").expect("our own link");
            CacheFile::open(file_path(&path("safe/link"))).expect("our own link");
        }
        std::os::unix::fs::lchown(path("safe/link"), Some(65534), None).expect("root");
        assert!(write(&path("safe/link"), b"x").is_err());
        assert_eq!(fs::read(path("safe/victim")).expect("ours"), b"2 0 8\n");
    }

    /// The old file's owner is kept (CACHE-75).
    #[test]
    fn owners() {
        if !testing::is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("1.2");
        for (user, group) in [(65534, 65533), (0, 0), (7, 0)] {
            fs::write(&file, b"old").expect("ours");
            chown(&file, Some(user), Some(group)).expect("root");
            let before = fs::metadata(&file).expect("there").ino();
            write(&file, b"new").expect("replaced");
            let after = fs::metadata(&file).expect("there");
            assert_eq!((after.uid(), after.gid(), after.ino() == before), (user, group, false));
        }
    }

    /// A file in a directory of others is written in place if it has one name only (DEF-18).
    #[test]
    fn directory_of_others() {
        if !testing::is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("1.2");
        fs::write(&file, b"old").expect("ours");
        chown(directory.path(), Some(65534), None).expect("root");
        let before = fs::metadata(&file).expect("there").ino();
        if !mark(&file) {
            return;
        }
        write(&file, b"in place").expect("it has one name");
        assert_eq!(fs::metadata(&file).expect("there").ino(), before);
        assert_eq!(fs::read(&file).expect("there"), b"in place");
    }

    /// The errors by which the system says that a file may not be replaced: for a new file they do
    /// not end a save (DEF-1).
    #[test]
    fn refusals() {
        let refused = |errno: Errno| is_refusal(&io::Error::from(errno));
        for errno in [
            Errno::ACCESS,
            Errno::PERM,
            Errno::ROFS,
            Errno::BUSY,
            Errno::XDEV,
            Errno::OPNOTSUPP,
            Errno::NOSYS,
            Errno::INVAL,
        ] {
            assert!(refused(errno), "{errno:?}");
        }
        for errno in [
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::IO,
            Errno::NOENT,
            Errno::NOMEM,
            Errno::MFILE,
        ] {
            assert!(!refused(errno), "{errno:?}");
        }
    }

    /// A file that is written in place has the new content and its length, whichever is longer; and
    /// the old one where it may not grow (DEF-1). A seal of memory stands for a full disk.
    #[test]
    fn written_over() {
        let lengths = [0, 1, 2, 5000, 20_000];
        for (old, new) in lengths
            .iter()
            .flat_map(|old| lengths.map(|new| (vec![b'o'; *old], vec![b'n'; new])))
        {
            let file: File = memfd_create(c"file", MemfdFlags::ALLOW_SEALING).expect("memory").into();
            file.write_all_at(&old, 0).expect("memory");
            fcntl_add_seals(&file, SealFlags::GROW).expect("allowed");
            let content = |length: usize| {
                let mut content = vec![0; length + 1];
                let length = file.read_at(&mut content, 0).expect("memory");
                content.truncate(length);
                content
            };
            if new.len() > old.len() {
                assert!(write_over(&file, &new).is_err());
                assert_eq!(content(new.len()), old, "{} of {}", new.len(), old.len());
            } else {
                write_over(&file, &new).expect("no longer than before");
                assert_eq!(content(old.len()), new, "{} of {}", new.len(), old.len());
            }
            let file = tempfile::tempfile().expect("a file");
            file.write_all_at(&old, 0).expect("a disk");
            write_over(&file, &new).expect("a disk");
            let mut content = vec![0; old.len().max(new.len()) + 1];
            assert_eq!(file.read_at(&mut content, 0).expect("a disk"), new.len());
            assert_eq!(&content[..new.len()], new);
        }
    }

    /// A file that cannot be written is an error (CACHE-71, DEF-1).
    #[test]
    fn errors() {
        let directory = tempfile::tempdir().expect("a directory");
        let errno = |path: &Path| write(path, b"x").expect_err("must fail").raw_os_error();
        assert_eq!(errno(&directory.path().join("no/file")), Some(2));
        assert_eq!(errno(directory.path()), Some(21));
        // Anything but a file is neither opened nor replaced (DEF-17): a FIFO would wait for a
        // reader.
        let pipe = directory.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("ours");
        assert_eq!(errno(&pipe), Some(22));
        let full = directory.path().join("full");
        symlink("/dev/full", &full).expect("a link");
        assert_eq!(errno(&full), Some(22));
        assert_eq!(names(directory.path()), ["full", "pipe"]);
        // The temporary file's name would be too long: a new file is an error, an old one is written
        // in place.
        let long = directory.path().join("1".repeat(250));
        assert_eq!(errno(&long), Some(36));
        fs::write(&long, b"old").expect("ours");
        write(&long, b"new").expect("in place");
        assert_eq!(fs::read(&long).expect("there"), b"new");
    }

    /// Files have the same attributes when both have the same names with the same values
    /// (CACHE-75).
    #[test]
    fn compared() {
        let [one, other] = [(), ()].map(|()| tempfile::tempfile().expect("a file"));
        let set = |file: &File, name: &str, value: &[u8]| fsetxattr(file, name, value, XattrFlags::empty());
        assert!(same_attributes(&one, &other));
        match set(&one, "user.pcp", b"some") {
            // A file system without attributes.
            Err(Errno::NOTSUP) => return,
            result => result.expect("ours"),
        }
        assert!(!same_attributes(&one, &other) && !same_attributes(&other, &one));
        for (value, is_same) in [("some", true), ("more", false), ("", false), ("some more", false)] {
            set(&other, "user.pcp", value.as_bytes()).expect("ours");
            assert_eq!(
                (same_attributes(&one, &other), same_attributes(&other, &one)),
                (is_same, is_same),
                "{value:?}"
            );
        }
        // Longer than the first buffer.
        let long = [b'x'; 1000];
        for (length, is_same) in [(1000, true), (999, false)] {
            set(&one, "user.pcp", &long).expect("ours");
            set(&other, "user.pcp", &long[..length]).expect("ours");
            assert_eq!(same_attributes(&one, &other), is_same, "{length}");
        }
        set(&one, "user.pcp", b"some").expect("ours");
        set(&other, "user.pcp", b"some").expect("ours");
        for (file, is_same) in [(&one, false), (&other, true)] {
            set(file, "user.empty", b"").expect("ours");
            assert_eq!(
                (same_attributes(&one, &other), same_attributes(&other, &one)),
                (is_same, is_same)
            );
        }
        set(&one, "user.one", b"").expect("ours");
        set(&other, "user.two", b"").expect("ours");
        assert!(!same_attributes(&one, &other));
    }
}
