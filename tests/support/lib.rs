//! Helpers of the tests and benchmarks: the two libraries, the list of C programs, how to compile
//! and run one, and a private PCP. The program of this crate (`cli.rs`) runs the same under tools
//! that watch memory.

pub mod compare;
pub mod differential;
pub mod example;
pub mod installation;
pub mod memory;
pub mod pcp;
pub mod program;
pub mod run;
pub mod scripts;
pub mod tour;

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs, thread};

/// The root of the repository.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("tests/support lies in the repository")
}

/// The Rust files of a folder of the repository: the path below it, and the text.
pub fn rust_files(folder: &str) -> Vec<(String, String)> {
    fn collect(folder: &Path, base: &Path, list: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).expect("sources") {
            let path = entry.expect("sources").path();
            if path.is_dir() {
                collect(&path, base, list);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                let name = path.strip_prefix(base).expect("below it").to_string_lossy();
                list.push((name.into_owned(), text));
            }
        }
    }
    let mut list = Vec::new();
    let base = root().join(folder);
    collect(&base, &base, &mut list);
    list
}

/// Returns whether this process may become another user.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Says that the test cannot run here, or a part of it, and why. The test returns then, and libtest
/// counts it as passed; `check.sh` takes it for skipped by this line, which goes past libtest's
/// capture of output.
pub fn skipped(reason: &str) {
    let thread = thread::current();
    let _ = writeln!(io::stderr(), "skipped: {}: {reason}", thread.name().unwrap_or("?"));
}

/// Which of the two libraries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    /// The installed C library, the oracle.
    C,
    /// Ours as users install it: optimised as one by `packaging/build.sh`; with
    /// `TEST_LIBRARY=debug` that of [`Library::Debug`].
    Ours,
    /// Ours as cargo has built it with the tests: with the hook that provokes panics.
    Debug,
}

impl Library {
    /// The shared library's file.
    pub fn file(self) -> PathBuf {
        if self == Library::C {
            let file = pkg_config("libdir").join("libpcp_pmda.so.3");
            return file.canonicalize().expect("libpcp-pmda3 is installed");
        }
        let file = self.built().join("libpcp_pmda.so");
        file.canonicalize()
            .expect("it was built: a program must not fall back to the C library")
    }

    /// Where the build has put the files of ours, the static library with them.
    pub fn built(self) -> PathBuf {
        match self.chosen() {
            Library::Ours => made().to_owned(),
            // `cargo test` builds the library but leaves it here; only `cargo build` links it one
            // directory up.
            _ => profile_dir().join("deps"),
        }
    }

    /// A directory for `LD_LIBRARY_PATH` that holds this library under the names that programs ask
    /// for.
    pub fn directory(self) -> PathBuf {
        static MADE: [OnceLock<PathBuf>; 3] = [const { OnceLock::new() }; 3];
        let chosen = self.chosen();
        MADE[chosen as usize]
            .get_or_init(|| {
                let directory = profile_dir().join("test-lib").join(format!("{chosen:?}"));
                fs::create_dir_all(&directory).expect("target is writable");
                for name in ["libpcp_pmda.so.3", "libpcp_pmda.so"] {
                    relink(&self.file(), &directory.join(name));
                }
                directory
            })
            .clone()
    }

    fn chosen(self) -> Library {
        if self == Library::Ours && is_quick() {
            Library::Debug
        } else {
            self
        }
    }
}

/// Returns whether programs run on the library that cargo has built with the tests
/// (`TEST_LIBRARY=debug`): after an edit it is there in seconds, for `make try`, and for each change
/// of cargo-mutants.
#[must_use]
pub fn is_quick() -> bool {
    env::var_os("TEST_LIBRARY").is_some_and(|value| value == "debug")
}

/// The directory of the libraries as `make` builds them. They are built now, once in a process,
/// unless `make check` has done that already and says where they are (`TEST_BUILT`).
fn made() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        if let Some(directory) = env::var_os("TEST_BUILT") {
            return directory.into();
        }
        let mut target = target_dir();
        if env::var_os("CARGO_BUILD_TARGET").is_some() {
            target.pop();
        }
        let status = Command::new(root().join("packaging/build.sh"))
            .arg("--quiet")
            .env("CARGO_TARGET_DIR", target)
            .status()
            .expect("bash is there");
        assert!(status.success(), "packaging/build.sh failed");
        let directory = fs::read_to_string(root().join("target/built")).expect("packaging/build.sh has written it");
        directory.trim_end().into()
    })
}

/// Makes `link` point to `file` in one step: other test programs may be looking at it.
pub fn relink(file: &Path, link: &Path) {
    if fs::read_link(link).is_ok_and(|target| target == file) {
        return;
    }
    let fresh = link.with_extension(format!("{}", std::process::id()));
    std::os::unix::fs::symlink(file, &fresh).expect("target is writable");
    fs::rename(&fresh, link).expect("target is writable");
}

/// `target/debug` or `target/release`: where cargo has put this program.
pub fn profile_dir() -> PathBuf {
    let program = env::current_exe().expect("a program knows its own file");
    let directory = program
        .parent()
        .expect("target/PROFILE/deps/TEST or target/PROFILE/PROGRAM");
    let above = directory.ends_with("deps").then(|| directory.parent()).flatten();
    above.unwrap_or(directory).to_owned()
}

/// The target directory, which the profiles share.
pub fn target_dir() -> PathBuf {
    profile_dir().parent().expect("target/PROFILE").to_owned()
}

/// A directory variable of the installed `libpcp_pmda.pc`.
pub fn pkg_config(variable: &str) -> PathBuf {
    PathBuf::from(ask_pkg_config(&format!("--variable={variable}")))
}

/// The version of the installed PCP, for which the library is built.
pub fn release() -> [u32; 3] {
    static RELEASE: OnceLock<[u32; 3]> = OnceLock::new();
    *RELEASE.get_or_init(|| {
        let version = ask_pkg_config("--modversion");
        let mut numbers = version.split('.').map(|number| number.parse().expect("a version"));
        [(); 3].map(|()| numbers.next().unwrap_or_default())
    })
}

fn ask_pkg_config(question: &str) -> String {
    let output = Command::new("pkg-config")
        .args([question, "libpcp_pmda"])
        .output()
        .expect("pkg-config is installed");
    assert!(output.status.success(), "libpcp-pmda3-dev is not installed: make setup");
    String::from_utf8(output.stdout).expect("a text").trim().to_owned()
}

/// The C compiler of the programs that the tests compile and start: `TEST_CC`, else `cc`; with the
/// macros that our pkg-config file defines: on 32-bit machines they make times as long as in
/// libpcp.
pub fn compiler() -> Command {
    let mut command = Command::new(env::var_os("TEST_CC").unwrap_or_else(|| "cc".into()));
    let package = fs::read_to_string(profile_dir().join("libpcp_pmda.pc")).expect("the build has written it");
    let flags = package.lines().find_map(|line| line.strip_prefix("Cflags:"));
    command.args(
        flags
            .unwrap_or_default()
            .split_whitespace()
            .filter(|flag| flag.starts_with("-D")),
    );
    command
}

/// The functions that only PCP 6.0 and later have under this name, each with its older name, which
/// later releases have as well; nothing if such a PCP is installed.
#[must_use]
pub fn renamed_since() -> &'static [(&'static str, &'static str)] {
    const RENAMED: [(&str, &str); 2] = [
        ("pmdaEventAddHighResParam", "pmdaEventHighResAddParam"),
        ("pmdaEventGetHighResAddr", "pmdaEventHighResGetAddr"),
    ];
    if release() < [6, 0, 0] { &RENAMED } else { &[] }
}

/// Compiles one C file of `tests/` against the installed headers, linked with libpcp_pmda and
/// libpcp.
pub fn compile_c(source: &Path, program: &Path, extra: &[&str]) {
    let output = compiler()
        .args([
            "-g",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-std=gnu11",
            "-D_GNU_SOURCE",
        ])
        .args(["-Wno-deprecated-declarations"])
        .args(renamed_since().iter().map(|(name, older)| format!("-D{name}={older}")))
        .arg("-I")
        .arg(root().join("tests/c"))
        .arg("-o")
        .arg(program)
        .arg(source)
        .args(extra)
        .args(["-lpcp_pmda", "-lpcp", "-lpthread", "-ldl"])
        .output()
        .expect("cc is installed");
    assert!(
        output.status.success(),
        "{} does not compile:\n{}",
        source.display(),
        String::from_utf8_lossy(&output.stderr)
    );
}
