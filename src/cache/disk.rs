//! Replacing a file so that a crash or a full disk leaves the old one or the new one (DEF-1).

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::report::Growing;
use super::room;

/// A temporary file that was not written to for so long has no writer any more.
const ABANDONED: Duration = Duration::from_secs(600);

/// Compares the attributes of two files, access control lists among them: the system's interface for that is C's.
pub type Same = fn(&File, &File) -> bool;

/// Gives the file the content.
///
/// An existing file keeps mode, owner and attributes, and is written in place where it cannot be replaced: when it has
/// several names, is no regular file, is mounted, belongs to somebody whom we cannot give a file to, has attributes that
/// a new one has not, or its directory is not ours to write to (CACHE-75).
///
/// Nothing is flushed to the disk: agents save in the middle of fetches. After a crash of the process the old or the new
/// file is there; after one of the system it is what the file system makes of it.
///
/// # Errors
/// What the system says; the old file is as it was, unless it had to be written in place.
pub(super) fn write(path: &Path, content: &[u8], same: Same) -> io::Result<()> {
    let old = match path.symlink_metadata() {
        Ok(old) if old.is_symlink() => {
            // What a symbolic link leads to is replaced, not the link; one that leads nowhere is left to open().
            let Ok(target) = resolved(path) else {
                return in_place(path, content);
            };
            let old = fs::metadata(&target)?;
            return replace(&target, Some(&old), content, same);
        }
        Ok(old) => Some(old),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    replace(path, old.as_ref(), content, same)
}

/// Where a symbolic link leads to in the end.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    // The standard library's function may not run out of memory, so there must be plenty.
    room(&mut Vec::<u8>::new(), 64 * 1024).map_err(|_| io::Error::from_raw_os_error(12))?;
    fs::canonicalize(path)
}

/// [`write`] for a file that is no symbolic link.
fn replace(target: &Path, old: Option<&Metadata>, content: &[u8], same: Same) -> io::Result<()> {
    let mut known = None;
    if let Some(old) = old {
        if !old.is_file() || old.nlink() > 1 {
            return in_place(target, content);
        }
        known = Some((OpenOptions::new().write(true).open(target)?, old));
    }
    let (temporary, mut file) = match create_beside(target, old.is_some()) {
        Ok(made) => made,
        // Only where the directory is closed to us: on a full disk this would lose the old file.
        Err(error) if is_refusal(&error) => return in_place(target, content),
        Err(error) => return Err(error),
    };
    let replaceable = known.is_none_or(|(known, old)| take_after(&file, &known, old, same));
    let result = match replaceable.then(|| file.write_all(content)) {
        Some(Ok(())) => fs::rename(&temporary, target).map(|()| true),
        Some(Err(error)) => Err(error),
        None => Ok(false),
    };
    if matches!(result, Ok(true)) {
        return Ok(());
    }
    let _ = fs::remove_file(&temporary);
    match result {
        // What is mounted cannot be replaced, nor can another's file in a directory with the sticky bit.
        Err(error) if !is_refusal(&error) => Err(error),
        _ => in_place(target, content),
    }
}

/// Whether the system does not let us replace a file, which may be writable all the same.
fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::ResourceBusy
            | ErrorKind::CrossesDevices
            | ErrorKind::Unsupported
    )
}

/// The name of a temporary file beside this one: what they all begin with, and `rest`.
fn temporary(target: &Path, rest: std::fmt::Arguments<'_>) -> io::Result<PathBuf> {
    let mut name = Growing::default();
    if let Some(directory) = target.parent() {
        name.push(directory.as_os_str().as_bytes());
        name.push(b"/");
    }
    name.push(b".");
    name.push(target.file_name().unwrap_or_default().as_bytes());
    name.show(format_args!(".tmp-{rest}"));
    let name = name.whole().ok_or_else(|| io::Error::from_raw_os_error(12))?;
    Ok(OsString::from_vec(name).into())
}

/// A new file in the same directory. Until it has its owner, the successor of an old file is for us alone.
fn create_beside(target: &Path, old: bool) -> io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    // O_EXCL never follows a link that somebody has put there.
    options
        .write(true)
        .create_new(true)
        .mode(if old { 0o600 } else { 0o666 });
    // In a container an agent may have the same process id each time: the clock tells its runs apart.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut last = io::Error::from(ErrorKind::AlreadyExists);
    for attempt in 0..16 {
        let number = now.as_nanos() + attempt;
        let temporary = temporary(target, format_args!("{}-{number}", std::process::id()))?;
        match options.open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Removes what agents that were killed while they wrote this file have left behind.
pub(super) fn sweep(path: &Path) {
    // The standard library's directory functions may not run out of memory, so there must be plenty.
    if room(&mut Vec::<u8>::new(), 256 * 1024).is_err() {
        return;
    }
    let real = fs::canonicalize(path);
    let target = real.as_deref().unwrap_or(path);
    let Ok(prefix) = temporary(target, format_args!("")) else {
        return;
    };
    let prefix = prefix.file_name().unwrap_or_default();
    let entries = target.parent().and_then(|directory| fs::read_dir(directory).ok());
    for entry in entries.into_iter().flatten().flatten() {
        if !entry.file_name().as_bytes().starts_with(prefix.as_bytes()) {
            continue;
        }
        let modified = entry.metadata().and_then(|found| found.modified());
        let age = modified.ok().and_then(|modified| modified.elapsed().ok());
        if age.is_some_and(|age| age > ABANDONED) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Gives the new file what the old one has apart from its content; `false` when that cannot be.
fn take_after(new: &File, known: &File, old: &Metadata, same: Same) -> bool {
    let Ok(found) = new.metadata() else { return false };
    let is_owned = (old.uid(), old.gid()) == (found.uid(), found.gid());
    if !is_owned && fchown(new, Some(old.uid()), Some(old.gid())).is_err() {
        return false;
    }
    // After the owner: changing that may clear bits of the mode.
    let mode = Permissions::from_mode(old.mode() & 0o7777);
    new.set_permissions(mode).is_ok() && same(known, new)
}

/// Writes over the file itself.
fn in_place(target: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o666)
        .open(target)?;
    file.write_all(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(path: &Path, content: &[u8]) -> io::Result<()> {
        super::write(path, content, |_, _| true)
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("a directory").flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// DEF-1, CACHE-75: mode kept, links followed, several names kept, nothing left behind.
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
        fs::hard_link(&file, directory.path().join("other")).expect("a second name");
        write(&file, b"four").expect("in place");
        assert_eq!(fs::read(directory.path().join("other")).expect("there"), b"four");
        assert_eq!(names(directory.path()), ["1.2", "link", "other"]);
        fs::remove_file(directory.path().join("other")).expect("ours");
        let before = fs::metadata(&file).expect("there").ino();
        super::write(&file, b"five", |_, _| false).expect("a file with other attributes");
        assert_eq!(fs::read(&file).expect("there"), b"five");
        assert_eq!(fs::metadata(&file).expect("there").ino(), before);
        assert_eq!(names(directory.path()), ["1.2", "link"]);
    }

    /// DEF-1: what a killed agent has left is removed in time, and what others may be writing is not.
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
        ] {
            let made = File::create(directory.path().join(name)).expect("ours");
            if let Some(time) = time {
                made.set_modified(time).expect("ours");
            }
        }
        write(&file, b"one").expect("new");
        sweep(&file);
        assert_eq!(
            names(directory.path()),
            [".1.2.tmp-8-8", ".1.23.tmp-7-7", "1.2", "1.2.tmp-7-7"]
        );
    }

    /// CACHE-71, DEF-1: what cannot be written is an error.
    #[test]
    fn errors() {
        let directory = tempfile::tempdir().expect("a directory");
        let errno = |path: &Path| write(path, b"x").expect_err("must fail").raw_os_error();
        assert_eq!(errno(&directory.path().join("no/file")), Some(2));
        assert_eq!(errno(directory.path()), Some(21));
        let full = directory.path().join("full");
        symlink("/dev/full", &full).expect("a link");
        assert_eq!(errno(&full), Some(28));
        assert_eq!(names(directory.path()), ["full"]);
    }
}
