//! The files that name sources: `*.url` and executables in a folder and those below it.
//!
//! A folder is read again when its time has changed. The times of files are read only where asked
//! for (`with_files`), as there are many: a file may have become executable.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pmda_core::dir_entry::DirEntry;

use crate::exposition::Shortened;
use crate::limits;

/// The bit of a file's mode by which its owner may execute it (`S_IXUSR`).
pub const EXECUTABLE: u32 = 0o100;

/// A folder that has changed so shortly before it was read may change once more without another
/// time: the kernel's clock for files ticks every few milliseconds.
const TICK: Duration = Duration::from_millis(50);

/// The kind of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A file with an address and what belongs to it.
    Url,
    /// A program that writes a document to its stdout.
    Script,
}

/// A file that names a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFile {
    /// The file.
    pub path: PathBuf,
    /// The name of the source: the path below the folder, dots for slashes, without its last
    /// suffix.
    pub name: String,
    /// The kind of the source.
    pub kind: Kind,
}

/// The time of a file's last change, of its content or its mode, since 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Changed(Duration);

impl Changed {
    /// The time of a file's last change.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Changed {
        let seconds = u64::try_from(metadata.ctime()).unwrap_or(0);
        let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or(0);
        Changed(Duration::new(seconds, nanoseconds))
    }

    /// Returns whether it is so long ago that another change would have another time.
    #[must_use]
    pub fn is_settled(self) -> bool {
        self.0 + TICK < now()
    }

    /// The time of a file's last change, if the file exists.
    #[must_use]
    pub fn if_there(path: &Path) -> Option<Changed> {
        fs::metadata(path).ok().map(|metadata| Changed::of(&metadata))
    }

    fn at(path: &Path) -> Changed {
        fs::metadata(path).map_or_else(|_| Changed::default(), |metadata| Changed::of(&metadata))
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The folder with the sources, and what was found in it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    is_sorted: bool,
    folders: HashMap<PathBuf, Changed>,
    files: HashMap<PathBuf, Changed>,
    /// The time at which it was read.
    read_at: Duration,
    was_read: bool,
    /// Folders that cannot be read now, each of which the log has named.
    unreadable: HashSet<PathBuf>,
    /// Files that begin as scripts do, and that their owner may not execute.
    idle_scripts: Vec<PathBuf>,
}

impl Folder {
    /// A folder. The files of a sorted folder are in the order of their paths, which gives sources
    /// the same numbers on each host.
    #[must_use]
    pub fn new(path: &Path, is_sorted: bool) -> Folder {
        Folder {
            // Without what would be doubled in the names of files below it.
            path: path.components().collect(),
            is_sorted,
            folders: HashMap::new(),
            files: HashMap::new(),
            read_at: Duration::ZERO,
            was_read: false,
            unreadable: HashSet::new(),
            idle_scripts: Vec::new(),
        }
    }

    /// Names the files that begin as scripts do, and are no sources, as their owner may not execute
    /// them; `None` without any.
    #[must_use]
    pub fn idle_scripts_in_words(&self) -> Option<String> {
        let (first, others) = self.idle_scripts.split_first()?;
        let path = Shortened(&first.to_string_lossy()).to_string();
        let others = match others.len() {
            0 => String::new(),
            1 => ", and 1 more".to_owned(),
            more => format!(", and {more} more"),
        };
        Some(format!(
            "no source, as its owner may not execute it (chmod u+x {path}): {path}{others}"
        ))
    }

    /// The sources, if a folder has changed since the last call, or a file if `with_files`.
    pub fn changed(&mut self, with_files: bool, root: &str) -> Option<Vec<SourceFile>> {
        if self.was_read && !self.has_changed(with_files) {
            return None;
        }
        let before = (std::mem::take(&mut self.folders), std::mem::take(&mut self.files));
        self.read_at = now();
        self.idle_scripts.clear();
        let start = Instant::now();
        let mut files = Vec::new();
        let path = self.path.clone();
        self.read(&path, 0, &mut files);
        let (unreadable, folders) = (&mut self.unreadable, &self.folders);
        unreadable.retain(|folder| folders.contains_key(folder));
        // A folder that had just changed is read twice, in case that it changes once more.
        let is_news = !self.was_read || (&before.0, &before.1) != (&self.folders, &self.files);
        self.was_read = true;
        if self.is_sorted {
            files.sort_unstable();
        }
        if is_news {
            log::info!(
                "Config change detected, traversed {} config entries in {:.4}s, rescanning ...",
                files.len(),
                start.elapsed().as_secs_f64()
            );
        }
        Some(files.into_iter().filter_map(|file| self.source(file, root)).collect())
    }

    fn has_changed(&self, with_files: bool) -> bool {
        let is_same = |(path, changed): (&PathBuf, &Changed)| Changed::at(path) == *changed;
        let is_sure = |changed: &Changed| changed.0 + TICK < self.read_at;
        let still = self.folders.values().all(is_sure) && self.folders.iter().all(is_same);
        !still || (with_files && !self.files.iter().all(is_same))
    }

    /// Reads a folder and those below it. A link to a folder is not followed.
    fn read(&mut self, folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
        self.folders.insert(folder.to_owned(), Changed::at(folder));
        let entries = match fs::read_dir(folder) {
            Ok(entries) => {
                self.unreadable.remove(folder);
                entries
            }
            Err(error) => {
                if self.unreadable.insert(folder.to_owned()) {
                    log::error!(
                        "cannot read {}: {error}; sources below it are ignored",
                        folder.display()
                    );
                }
                return;
            }
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                if depth < limits::DEPTH {
                    self.read(&path, depth + 1, files);
                } else {
                    log::warn!("folder {} is too deep: sources below it are ignored", path.display());
                }
            } else if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                self.files.insert(path.clone(), Changed::at(&path));
                files.push(path);
            }
        }
    }

    /// The source that a file names. `None`, and a line in the log, if it names none.
    fn source(&mut self, path: PathBuf, root: &str) -> Option<SourceFile> {
        let metadata = fs::metadata(&path).ok().filter(Metadata::is_file)?;
        let kind = if metadata.mode() & EXECUTABLE != 0 {
            Kind::Script
        } else if path.extension().is_some_and(|suffix| suffix == "url") {
            Kind::Url
        } else {
            log::debug!(
                "ignored config file '{}', doesn't end in '.url' and not executable.",
                path.display()
            );
            if is_script(&path) {
                self.idle_scripts.push(path);
            }
            return None;
        };
        let relative = path.with_extension("");
        let relative = relative.strip_prefix(&self.path).ok()?;
        let name = relative.to_str().map(|name| name.replace('/', "."));
        let name = name.filter(|name| is_name(name));
        let Some(name) = name else {
            log::error!(
                "Warning: ignored config file '{}', unsuitable for PCP namespace",
                path.display()
            );
            return None;
        };
        if name == "control" {
            log::error!(
                "Warning: ignored config file '{}', '{root}.control' is a reserved PMNS subtree for PMDA statistics",
                path.display()
            );
            return None;
        }
        Some(SourceFile { path, name, kind })
    }
}

/// Returns whether a file begins as scripts do.
fn is_script(path: &Path) -> bool {
    let mut begin = [0; 2];
    let file = DirEntry::target_at(path).and_then(|entry| entry.read());
    file.is_ok_and(|mut file| file.read_exact(&mut begin).is_ok()) && begin == *b"#!"
}

/// Returns true if a name can be part of the names of metrics: parts between dots, each a letter
/// and then letters, digits and underscores.
fn is_name(name: &str) -> bool {
    name.split('.').all(|part| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn names(files: &[SourceFile]) -> Vec<(&str, Kind)> {
        files.iter().map(|file| (file.name.as_str(), file.kind)).collect()
    }

    #[test]
    fn files_that_name_sources() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let script = |name: &str| {
            fs::write(at(name), "#! /bin/sh\n").expect("written");
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).expect("its own");
        };
        fs::create_dir_all(at("group/.hidden")).expect("made");
        for name in [
            "b.url",
            "a.b.url",
            "README",
            ".c.url",
            "control.url",
            "1st.url",
            "a-b.url",
            "group/.hidden/d.url",
        ] {
            fs::write(at(name), "file:///x\n").expect("written");
        }
        script("group/loadavg.sh");
        script("group/plain");
        fs::write(at("idle.sh"), "#! /bin/sh\n").expect("written");
        nix::unistd::mkfifo(&at("pipe.sh"), nix::sys::stat::Mode::S_IRWXU).expect("made");
        symlink("/nowhere", at("broken.url")).expect("made");
        symlink("b.url", at("link.url")).expect("made");
        symlink("group", at("again")).expect("made");
        let mut folder = Folder::new(&directory.path().join("."), true);
        let files = folder.changed(false, "openmetrics").expect("it is read the first time");
        let words = folder.idle_scripts_in_words().expect("one is there");
        assert!(
            words.starts_with("no source, as its owner may not execute it (chmod u+x /"),
            "{words}"
        );
        assert!(words.ends_with("/idle.sh"), "{words}");
        let expected = [
            ("a.b", Kind::Url),
            ("b", Kind::Url),
            ("group.loadavg", Kind::Script),
            ("group.plain", Kind::Script),
            ("link", Kind::Url),
        ];
        assert_eq!(names(&files), expected);
    }

    #[test]
    fn folders_are_read_again_when_they_have_changed() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = |name: &str| directory.path().join(name);
        let settle = || std::thread::sleep(TICK * 2);
        fs::create_dir(at("below")).expect("made");
        let mut folder = Folder::new(directory.path(), true);
        settle();
        assert_eq!(folder.changed(false, "openmetrics"), Some(Vec::new()));
        assert_eq!(folder.changed(true, "openmetrics"), None);
        fs::write(at("below/x.url"), "file:///x\n").expect("written");
        assert_eq!(
            names(&folder.changed(false, "openmetrics").expect("changed")),
            [("below.x", Kind::Url)]
        );
        settle();
        assert!(
            folder.changed(false, "openmetrics").is_some(),
            "it was read in the tick in which it had changed"
        );
        assert_eq!(folder.changed(false, "openmetrics"), None);
        // The folder's time is the same.
        fs::set_permissions(at("below/x.url"), fs::Permissions::from_mode(0o755)).expect("its own");
        assert_eq!(folder.changed(false, "openmetrics"), None);
        assert_eq!(
            names(&folder.changed(true, "openmetrics").expect("changed")),
            [("below.x", Kind::Script)]
        );
        fs::remove_dir_all(at("below")).expect("its own");
        assert_eq!(folder.changed(false, "openmetrics"), Some(Vec::new()));
    }

    #[test]
    fn a_folder_that_is_not_there_comes() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut folder = Folder::new(&directory.path().join("config.d"), true);
        assert_eq!(folder.changed(false, "openmetrics"), Some(Vec::new()));
        assert_eq!(folder.changed(true, "openmetrics"), None);
        fs::create_dir(directory.path().join("config.d")).expect("made");
        assert_eq!(folder.changed(false, "openmetrics"), Some(Vec::new()));
    }

    /// A folder as deep as there may be is searched, and what lies deeper is not.
    #[test]
    fn depth_is_bounded() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut below = directory.path().to_owned();
        let mut name = String::new();
        for _ in 0..limits::DEPTH {
            below.push("d");
            name.push_str("d.");
        }
        fs::create_dir_all(below.join("d")).expect("made");
        for path in [below.join("last.url"), below.join("d/beyond.url")] {
            fs::write(path, "file:///x\n").expect("written");
        }
        let mut folder = Folder::new(directory.path(), true);
        let files = folder.changed(false, "openmetrics").expect("it is read the first time");
        assert_eq!(names(&files), [(&*(name + "last"), Kind::Url)]);
    }

    /// A folder that cannot be read is named once, at the top or below, and again when it could be read
    /// meanwhile.
    #[test]
    fn folders_that_cannot_be_read() {
        let directory = tempfile::tempdir().expect("a directory");
        let top = directory.path().join("config.d");
        let mut folder = Folder::new(&top, true);
        let mut read = |is_there: bool| {
            if is_there {
                fs::create_dir(&top).expect("made");
            } else {
                drop(fs::remove_dir(&top));
            }
            assert_eq!(folder.changed(false, "openmetrics"), Some(Vec::new()));
            folder.unreadable.len()
        };
        assert_eq!([false, true, false, true].map(&mut read), [1, 0, 1, 0]);
        let missing = directory.path().join("missing");
        folder.read(&missing, 1, &mut Vec::new());
        assert!(folder.unreadable.contains(&missing));
        fs::write(top.join("x.url"), "").expect("written");
        folder.changed(false, "openmetrics").expect("it has changed");
        assert!(folder.unreadable.is_empty(), "it is none of the folders any more");
    }

    #[test]
    fn times_of_changes() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(Changed::if_there(&directory.path().join("missing")), None);
        let changed = Changed::if_there(directory.path()).expect("it is there");
        assert_eq!(changed, Changed::at(directory.path()));
        let age = now().checked_sub(changed.0).expect("a time of this clock");
        assert!(age < Duration::from_secs(60), "{age:?}");
        for (time, is_settled) in [
            (now() + TICK * 100, false),
            (now() - TICK * 2, true),
            (Duration::ZERO, true),
        ] {
            assert_eq!(Changed(time).is_settled(), is_settled, "{time:?}");
        }
        // Unless the machine hangs for a tick between the two.
        assert!((0..100).any(|_| !Changed(now()).is_settled()));
    }
}
