use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

use rustix::fs::mknodat;

use super::*;
use crate::testing;

fn at(path: &Path) -> DirEntry {
    DirEntry::at(path).expect("a directory of ours")
}

/// Only regular files are opened; a missing one is made if the flags say so (DEF-17).
#[test]
fn regular_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let errno = |outcome: io::Result<File>| outcome.map(drop).map_err(|error| error.raw_os_error());
    mknodat(CWD, path("pipe"), FileType::Fifo, Mode::RWXU, 0).expect("ours");
    fs::create_dir(path("folder")).expect("ours");
    for flags in [OFlags::RDONLY, OFlags::WRONLY, OFlags::WRONLY | OFlags::CREATE] {
        assert_eq!(errno(at(&path("pipe")).file(flags, 0o600)), Err(Some(22)));
        assert_eq!(errno(at(&path("folder")).file(flags, 0o600)), Err(Some(21)));
    }
    assert_eq!(errno(at(&path("new")).file(OFlags::WRONLY, 0o600)), Err(Some(2)));
    assert_eq!(
        errno(at(&path("new")).file(OFlags::WRONLY | OFlags::CREATE, 0o600)),
        Ok(())
    );
    assert_eq!(
        fs::metadata(path("new")).expect("made").permissions().mode() & 0o777,
        0o600
    );
    let mut file = at(&path("new")).overwrite(0o600).expect("ours");
    file.write_all(b"longer").expect("ours");
    let mut file = at(&path("new")).overwrite(0o600).expect("ours");
    file.write_all(b"text").expect("ours");
    assert_eq!(fs::read(path("new")).expect("ours"), b"text");
}

/// A file is read whole, up to the limit and not beyond; what says that it is empty, as files
/// of /proc do, is read, too.
#[test]
fn contents() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    for size in [0, 1, 4095, 4096, 100_000] {
        let text: Vec<u8> = (0..size).map(|number: u32| number as u8).collect();
        fs::write(&path, &text).expect("ours");
        let size = text.len();
        for limit in [size, size + 1, 1 << 20] {
            assert_eq!(at(&path).content(limit).expect("it fits"), text);
        }
        if let Some(less) = size.checked_sub(1) {
            let refused = at(&path).content(less).expect_err("it is too large");
            assert_eq!(refused.raw_os_error(), Some(27));
        }
    }
    let about = at(Path::new("/proc/version")).content(1 << 20).expect("ours");
    assert_eq!(about, fs::read("/proc/version").expect("the same"));
    assert!(about.len() > 10);
}

/// A file that is replaced is a new one, and a directory stays.
#[test]
fn replaced() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    for content in [&b"one"[..], b"two"] {
        let old = fs::metadata(&path).ok();
        let kept = old.as_ref().map(|_| File::open(&path).expect("ours"));
        at(&path)
            .replace(0o600)
            .expect("ours")
            .write_all(content)
            .expect("ours");
        assert_eq!(fs::read(&path).expect("ours"), content);
        assert_eq!(kept.map(|file| file.metadata().expect("open").nlink()), old.map(|_| 0));
    }
    fs::create_dir(path.with_extension("folder")).expect("ours");
    let refused = at(&path.with_extension("folder"))
        .replace(0o600)
        .expect_err("a directory");
    assert_eq!(refused.raw_os_error(), Some(21));
}

/// A path may end with slashes, and go over links and long names; too long a name, and one with
/// a NUL, are refused.
#[test]
fn ways() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let long = "d".repeat(NAME_MAX);
    fs::create_dir(path(&long)).expect("ours");
    fs::write(path(&long).join("file"), b"text").expect("ours");
    symlink(".", path("link")).expect("ours");
    for way in [
        format!("{long}/file"),
        format!("link/{long}/file"),
        format!("link//link/./{long}///file"),
    ] {
        let found = DirEntry::target_at(&path(&way)).expect("there");
        assert_eq!(
            (found.name().bytes(), found.content(9).expect("a file")),
            (&b"file"[..], b"text".to_vec())
        );
    }
    for way in ["link/", "link///", "link/link/"] {
        assert_eq!(at(&path(way)).name().bytes(), b"link");
    }
    let errno = |way: &str| {
        let path = FilePath::try_from(&*path(way))?;
        DirEntry::target_status(&path).map(|(_, status)| status.is_some())
    };
    let errno = |way: &str| errno(way).map_err(|error| error.raw_os_error());
    assert_eq!((errno("link"), errno("link/none")), (Ok(true), Ok(false)));
    for way in [
        format!("{long}d"),
        format!("link/{long}d"),
        format!("link/{long}d/file"),
    ] {
        assert_eq!(errno(&way), Err(Some(36)));
    }
    assert_eq!((errno("a\0b"), errno("link/none/file")), (Err(Some(22)), Err(Some(2))));
    assert_eq!(errno(&format!("{long}/file/x")), Err(Some(20)));
}

/// Root follows a link of its own in a directory that everybody may write to if the directory has
/// the sticky bit (DEF-18).
#[test]
fn guarded_links() {
    if !testing::is_root() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    symlink("/", directory.path().join("link")).expect("ours");
    for (mode, is_followed) in [
        (0o755, true),
        (0o777, false),
        (0o1777, true),
        (0o775, false),
        (0o1775, true),
    ] {
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(mode)).expect("root");
        let found = DirEntry::target_at(&directory.path().join("link/none"));
        assert_eq!(found.is_ok(), is_followed, "{mode:o}");
    }
}

/// A file that is kept aside gets a free name, and replaces no other file (DEF-20).
#[test]
fn kept_aside() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    assert_eq!(
        at(&path("a"))
            .keep_aside("old")
            .expect_err("nothing there")
            .raw_os_error(),
        Some(2)
    );
    for number in 1..=9 {
        fs::write(path("a"), number.to_string()).expect("ours");
        let kept = at(&path("a")).keep_aside("old").expect("a name is left");
        let expected = if number == 1 {
            "a.old".to_owned()
        } else {
            format!("a.old{number}")
        };
        assert_eq!(kept.bytes(), expected.as_bytes());
        assert_eq!(fs::read_to_string(path(&expected)).expect("kept"), number.to_string());
        assert!(!path("a").exists());
    }
    fs::write(path("a"), "").expect("ours");
    assert_eq!(
        at(&path("a"))
            .keep_aside("old")
            .expect_err("none is left")
            .raw_os_error(),
        Some(17)
    );
    assert!(path("a").exists());
}

/// A name is safe if only root can have made it (DEF-18).
#[test]
fn exposed() {
    if !testing::is_root() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("folder");
    fs::create_dir(&path).expect("ours");
    let is_exposed = |mode, owner| {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("root");
        chown(&path, Some(owner), None).expect("root");
        at(&path.join("name")).is_exposed().expect("ours")
    };
    assert!(!is_exposed(0o755, 0));
    assert!(is_exposed(0o775, 0) && is_exposed(0o757, 0) && is_exposed(0o1777, 0) && is_exposed(0o755, 65534));
}
