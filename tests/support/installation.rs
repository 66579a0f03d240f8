//! A private installation of the library, made by the Makefile as a user's would be.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use super::run::{Outcome, bounded};
use super::{Library, profile_dir, relink, root};

/// Longer than any compiler run takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The directory from which the Makefile installs.
fn built() -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let directory = profile_dir().join("test-install/built");
        fs::create_dir_all(&directory).expect("target is writable");
        let built = Library::Ours.built();
        // The build script leaves the pkg-config file where `cargo build` puts libraries.
        for file in [
            built.join("libpcp_pmda.so"),
            built.join("libpcp_pmda.a"),
            profile_dir().join("libpcp_pmda.pc"),
        ] {
            assert!(file.exists(), "{} is missing", file.display());
            relink(&file, &directory.join(file.file_name().expect("a name")));
        }
        let compare = compare_program();
        relink(&compare, &directory.join("pcp-pmda-rust-compare"));
        directory
    })
    .clone()
}

/// The program behind `pcp-pmda-rust compare`, built: cargo builds no other member's programs for a
/// test. As part of the workspace: cargo has what it depends on with that one's features.
pub fn compare_program() -> PathBuf {
    const NAME: &str = "pcp-pmda-rust-compare";
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cargo = plain(env!("CARGO"));
        cargo.current_dir(root());
        cargo.args(["build", "--quiet", "--offline", "--locked"]);
        cargo.args(["--workspace", "--bin", NAME]);
        if profile_dir().ends_with("release") {
            cargo.arg("--release");
        }
        expect_success(cargo, "cargo build");
    });
    profile_dir().join(NAME)
}

/// Runs `make TARGET` of the repository with these variables; panics when it fails.
pub fn make(target: &str, variables: &[String]) {
    let mut command = plain("make");
    command
        .args(["--silent", "--no-print-directory", "-C"])
        .arg(root())
        .arg(target)
        .arg(format!("BUILT={}", built().display()))
        .args(variables);
    expect_success(command, &format!("make {target} {}", variables.join(" ")));
}

/// A program that knows nothing of the `make` that may have started these tests.
pub fn plain(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .env("LC_ALL", "C");
    command
}

/// Runs a command to its end; panics with its output when it fails.
pub fn expect_success(command: Command, what: &str) -> Outcome {
    let outcome = bounded(command, LIMIT);
    assert!(
        outcome.end == "exit 0",
        "{what}: {}\n{}{}",
        outcome.end,
        String::from_utf8_lossy(&outcome.stdout),
        String::from_utf8_lossy(&outcome.stderr)
    );
    outcome
}

/// An installation below a directory of its own: 90 MB, gone at the end of a test that passes.
pub struct Installation {
    /// The value of PREFIX.
    pub prefix: PathBuf,
}

impl Installation {
    /// Installs afresh; `name` is unique among the tests of a test program.
    pub fn new(name: &str) -> Installation {
        let prefix = profile_dir().join("test-install").join(name);
        let _ = fs::remove_dir_all(&prefix);
        let variables = [
            format!("PREFIX={}", prefix.display()),
            format!("SYSCONFDIR={}/etc", prefix.display()),
        ];
        make("install", &variables);
        Installation { prefix }
    }

    /// The folder of the libraries.
    pub fn libraries(&self) -> PathBuf {
        self.prefix.join("lib/pcp-pmda-rust")
    }

    /// A program that finds this installation by pkg-config, and its library at run time, before
    /// any other.
    pub fn command(&self, program: &str) -> Command {
        let mut command = plain(program);
        command
            .env("PKG_CONFIG_PATH", self.libraries().join("pkgconfig"))
            .env("LD_LIBRARY_PATH", self.libraries());
        command
    }

    /// The answer of pkg-config as words.
    pub fn pkg_config(&self, args: &[&str]) -> Vec<String> {
        let mut command = self.command("pkg-config");
        command.args(args).arg("libpcp_pmda");
        let outcome = expect_success(command, "pkg-config");
        let text = String::from_utf8(outcome.stdout).expect("text");
        text.split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        if !thread::panicking() {
            let _ = fs::remove_dir_all(&self.prefix);
        }
    }
}

/// The files and links below a directory, relative to it, sorted.
pub fn files_below(directory: &Path) -> Vec<String> {
    let mut found = all_below(directory);
    found.retain(|name| !is_directory(&directory.join(name)));
    found
}

/// Everything below a directory, its directories among it, relative to it, sorted.
pub fn all_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            found.push(path.strip_prefix(directory).expect("below").display().to_string());
            if is_directory(&path) {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A link to a directory is none.
fn is_directory(path: &Path) -> bool {
    let kind = fs::symlink_metadata(path).expect("a file of the installation");
    kind.is_dir()
}
