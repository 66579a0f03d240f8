//! The libpcp_pmda that a process has loaded, and which one it is.
//!
//! Root looks into processes of all users, whose files are theirs to exchange. So no file is opened
//! by its name, which may be a FIFO by now, or a link to anything: the kernel hands out the very
//! file that a process has mapped (`/proc/PID/map_files`). Another user than root may not ask for
//! that, and opens what processes of their own have loaded. All that is read has a limit; that it
//! may take its time is the matter of [`crate::inquiry`].

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use pmda_core::dir_entry::DirEntry;

use crate::host;
use crate::processes;
use crate::value::plain;

/// The number of bytes that are read of a process's mappings: an agent has some thousand mappings.
const MAPS: u64 = 16 << 20;
/// The number of bytes of a file that are searched: the text is in the first megabyte of a release.
const SEARCHED: u64 = 16 << 20;
/// Libraries of one process that are looked at.
const LIBRARIES: usize = 4;
/// The number of bytes that are read of a command line, and the number of characters that are shown
/// of it.
const COMMAND_READ: u64 = 4096;
const COMMAND_SHOWN: usize = 60;
/// The number of bytes that are read of an environment.
const ENVIRONMENT: u64 = 1 << 20;
/// The name of the file.
const NAME: &str = "libpcp_pmda.so";
/// The text in which the library names the PCP that it was built for (`src/sys/libpcp/fit.rs`).
const IN_RUST: &[u8] = b"libpcp_pmda in Rust, built for PCP ";

/// A library in the list of a process's mappings.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mapped {
    /// Addresses, as `/proc/PID/map_files` names them.
    range: String,
    /// Its path when it was loaded, in the process's own mount name space.
    path: PathBuf,
}

impl Mapped {
    /// The library in a line of `/proc/PID/maps`, if it is one: addresses, permissions, offset,
    /// device, inode, path.
    fn from_line(line: &[u8]) -> Option<Mapped> {
        let path = Path::new(OsStr::from_bytes(&line[line.iter().position(|byte| *byte == b'/')?..]));
        let is_named = path.file_name()?.as_bytes().starts_with(NAME.as_bytes());
        let range = line.split(|byte| *byte == b' ').next()?;
        is_named.then(|| Mapped {
            range: String::from_utf8_lossy(range).into_owned(),
            path: path.to_owned(),
        })
    }

    /// The path without the word by which the kernel says that it names the file no more.
    fn named(&self) -> (&Path, bool) {
        let whole = self.path.as_os_str().as_bytes();
        let named = whole.strip_suffix(b" (deleted)");
        (Path::new(OsStr::from_bytes(named.unwrap_or(whole))), named.is_some())
    }
}

/// The libraries that a process has mapped, each once; none of a process that has ended.
///
/// # Errors
/// What the operating system says, as `EACCES` of another user's process.
fn mapped(pid: i32) -> io::Result<Vec<Mapped>> {
    let maps = match File::open(format!("/proc/{pid}/maps")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut libraries: Vec<Mapped> = Vec::new();
    let mut maps = BufReader::new(maps.take(MAPS));
    let mut line = Vec::new();
    // A process that ends meanwhile has an error, and no further lines.
    while libraries.len() < LIBRARIES && maps.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let next = Mapped::from_line(line.strip_suffix(b"\n").unwrap_or(&line));
        libraries.extend(next.filter(|next| !libraries.iter().any(|other| other.path == next.path)));
        line.clear();
    }
    Ok(libraries)
}

/// The paths of the libraries that a process has loaded.
#[must_use]
pub fn paths(pid: i32) -> Vec<PathBuf> {
    let mapped = mapped(pid).unwrap_or_default();
    mapped.into_iter().map(|library| library.path).collect()
}

/// Opens a regular file that a path of the kernel's leads to. What is none is not opened: a FIFO
/// would not end, and opening a device may do something.
fn regular(path: &Path) -> io::Result<File> {
    let open = |path: &Path, flags: OFlag| OpenOptions::new().read(true).custom_flags(flags.bits()).open(path);
    let file = open(path, OFlag::O_PATH)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let same = format!("/proc/self/fd/{}", file.as_raw_fd());
    open(Path::new(&same), OFlag::O_NONBLOCK | OFlag::O_NOCTTY)
}

/// The file of a library that a process has mapped.
fn file(pid: i32, mapped: &Mapped) -> io::Result<File> {
    match regular(Path::new(&format!("/proc/{pid}/map_files/{}", mapped.range))) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && processes::is_ours(pid) => {
            let root = PathBuf::from(format!("/proc/{pid}/root"));
            match mapped.named() {
                (path, false) => regular(&root.join(path.strip_prefix("/").unwrap_or(path))),
                (_, true) => Err(io::Error::from(io::ErrorKind::NotFound)),
            }
        }
        other => other,
    }
}

/// Returns whether the text of the library in Rust is in a file.
fn is_in_rust(file: File) -> io::Result<bool> {
    let mut bytes = Vec::new();
    file.take(SEARCHED).read_to_end(&mut bytes)?;
    let mut rest = bytes.as_slice();
    // It looks at many bytes at once, in a debug build too: a large file takes no second.
    while rest.skip_until(IN_RUST[0])? > 0 {
        if rest.starts_with(&IN_RUST[1..]) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Says which library processes have loaded, or a file is.
#[derive(Debug)]
pub struct Libraries {
    /// The directory of the library that this program belongs to.
    directory: PathBuf,
    /// The first letters of the names of programs that get a line although they may not be looked
    /// into.
    prefix: String,
    /// Files that were read before, by device and inode.
    are_in_rust: HashMap<(u64, u64), bool>,
}

impl Libraries {
    /// `library` is the one that this program belongs to. A process that may not be looked into gets
    /// a line if the name of its program starts with `prefix`.
    #[must_use]
    pub fn new(library: &Path, prefix: &str) -> Libraries {
        let library = fs::canonicalize(library).unwrap_or_else(|_| library.to_owned());
        Libraries {
            directory: library.parent().unwrap_or(&library).to_owned(),
            prefix: prefix.to_owned(),
            are_in_rust: HashMap::new(),
        }
    }

    /// The lines about a process, by its number, or about a file, by its path: process, library,
    /// path, name of the program, command, [`Scope`], with tabs between. A process that has loaded
    /// no libpcp_pmda has no line.
    pub fn lines(&mut self, subject: &str) -> String {
        let mut lines = String::new();
        let Ok(pid) = subject.parse::<i32>() else {
            let path = Path::new(subject);
            let file = DirEntry::target_at(path).and_then(|entry| entry.read());
            let library = self.library(path, file);
            let _ = writeln!(lines, "\t{library}\t{}\t\t\t", plain(subject));
            return lines;
        };
        let name = plain(text(pid, "comm", COMMAND_READ).trim_end_matches('\n'));
        let command: String = text(pid, "cmdline", COMMAND_READ).replace('\0', " ");
        let command = plain(&command.chars().take(COMMAND_SHOWN).collect::<String>());
        let command = command.trim_end();
        match mapped(pid) {
            Ok(mapped) => {
                for mapped in mapped {
                    let (path, is_replaced) = mapped.named();
                    let mut library = self.library(path, file(pid, &mapped));
                    if is_replaced {
                        library += ", a file that was replaced since";
                    }
                    let scope = Scope::of(pid, path).word();
                    let path = plain(&mapped.path.to_string_lossy());
                    let _ = writeln!(lines, "{pid}\t{library}\t{path}\t{name}\t{command}\t{scope}");
                }
            }
            Err(_) if name.starts_with(&self.prefix) => {
                let scope = Scope::of(pid, Path::new("")).word();
                let _ = writeln!(
                    lines,
                    "{pid}\tunknown: only root can see it\t\t{name}\t{command}\t{scope}"
                );
            }
            Err(_) => {}
        }
        lines
    }

    fn library(&mut self, path: &Path, file: io::Result<File>) -> String {
        let is_here = path.starts_with(&self.directory);
        match file.and_then(|file| self.is_in_rust(file)) {
            Ok(true) if is_here => "this library".to_owned(),
            Ok(true) => "a libpcp_pmda in Rust".to_owned(),
            Ok(false) => "the C library".to_owned(),
            Err(_) if is_here => "this library".to_owned(),
            Err(error) => format!("unknown: its file cannot be read: {}", plain(&error.to_string())),
        }
    }

    fn is_in_rust(&mut self, file: File) -> io::Result<bool> {
        let metadata = file.metadata()?;
        let key = (metadata.dev(), metadata.ino());
        if let Some(is_in_rust) = self.are_in_rust.get(&key) {
            return Ok(*is_in_rust);
        }
        let is_in_rust = is_in_rust(file)?;
        self.are_in_rust.insert(key, is_in_rust);
        Ok(is_in_rust)
    }
}

/// The start of a file of a process, as text.
fn text(pid: i32, name: &str, limit: u64) -> String {
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{pid}/{name}"));
    // A process that has ended has no text.
    let _ = file.and_then(|file| file.take(limit).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What decides which library a process loads when it is started again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scope {
    /// The default of this host: the process is pmcd, pmproxy or below one of them.
    Service,
    /// The default of a container, or of another root directory.
    Container,
    /// `LD_LIBRARY_PATH` of the process.
    Environment,
    /// Its user, who started it: a client that loads agents, for instance.
    Other,
}

impl Scope {
    fn of(pid: i32, library: &Path) -> Scope {
        let root = |pid: &str| fs::metadata(format!("/proc/{pid}/root")).map(|root| (root.dev(), root.ino()));
        // Another user's process has a root that only root sees.
        let is_elsewhere = root(&pid.to_string()).is_ok_and(|other| root("self").is_ok_and(|own| own != other));
        if is_elsewhere {
            return Scope::Container;
        }
        let environment = text(pid, "environ", ENVIRONMENT);
        let mut variables = environment.split('\0');
        let folders = variables.find_map(|variable| variable.strip_prefix("LD_LIBRARY_PATH="));
        let is_named = |folder: &str| {
            library.parent() == Some(Path::new(folder))
                || fs::canonicalize(Path::new(folder).join("libpcp_pmda.so.3")).is_ok_and(|file| file == library)
        };
        if folders.is_some_and(|folders| folders.split([':', ';']).any(is_named)) {
            return Scope::Environment;
        }
        if is_service(pid) { Scope::Service } else { Scope::Other }
    }

    /// The word for `pcp-pmda-rust`.
    fn word(self) -> &'static str {
        match self {
            Scope::Service => "service",
            Scope::Container => "container",
            Scope::Environment => "LD_LIBRARY_PATH",
            Scope::Other => "",
        }
    }
}

/// The programs that are services of PCP and load the library.
const SERVICES: [&str; 2] = ["pmcd", "pmproxy"];

/// Returns whether a process is one of [`SERVICES`], of root, PCP's user or this user, or is below
/// one.
#[must_use]
pub fn is_service(pid: i32) -> bool {
    let is_one = |pid: &i32| {
        let name = text(*pid, "comm", COMMAND_READ);
        SERVICES.contains(&name.trim_end())
            && processes::user(*pid).is_some_and(|user| {
                let pcp = host::pcp_user().map(|pcp| pcp.uid);
                user.is_root() || user == nix::unistd::Uid::effective() || Some(user) == pcp
            })
    };
    // The parents of a process are few; those that change meanwhile are not for ever.
    let mut parents = std::iter::successors(Some(pid), |pid| processes::parent(*pid)).take(64);
    parents.any(|pid| is_one(&pid))
}
