//! The commands of this program, a module for each.

pub mod asan;
pub mod differential;
pub mod memcheck;
pub mod races;
pub mod syscalls;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pcp_pmda_test::{Library, is_quick, profile_dir, root, target_dir};

/// Builds the library that the programs are run on: for `TEST_LIBRARY=debug` as this program was
/// built. `cargo run` alone would leave an older one, and that would be judged.
fn build_library() -> Result<(), String> {
    if !is_quick() {
        Library::Ours.built();
        return Ok(());
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--lib"]).current_dir(root());
    if profile_dir().ends_with("release") {
        cargo.arg("--release");
    }
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err("the library does not build".to_owned()),
        Err(error) => Err(format!("cargo: {error}")),
    }
}

/// Builds the library with a sanitizer, which takes the nightly toolchain; the answer is a
/// directory with the library under the names that programs ask for.
fn sanitized(tool: &str, flags: &str) -> Result<PathBuf, String> {
    let nightly = Command::new("cargo").args(["+nightly", "--version"]).output();
    if !nightly.is_ok_and(|output| output.status.success()) {
        return Err(format!(
            "{tool}: the nightly toolchain is missing: rustup toolchain install nightly"
        ));
    }
    let triple = said("rustc", &["-vV"])?;
    let triple = triple.lines().find_map(|line| line.strip_prefix("host: "));
    let triple = triple.ok_or("rustc -vV names no host")?;
    let (build, library) = (
        target_dir().join(tool).join("build"),
        target_dir().join(tool).join("lib"),
    );
    let status = Command::new("cargo")
        .args([
            "+nightly",
            "rustc",
            "--quiet",
            "--lib",
            "--crate-type",
            "cdylib",
            "--target",
            triple,
            "--target-dir",
        ])
        .arg(&build)
        .env("RUSTFLAGS", flags)
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .current_dir(root())
        .status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(format!("{tool}: the library does not build"));
    }
    fs::create_dir_all(&library).map_err(|error| error.to_string())?;
    let file = build.join(triple).join("debug/libpcp_pmda.so");
    for name in ["libpcp_pmda.so", "libpcp_pmda.so.3"] {
        pcp_pmda_test::relink(&file, &library.join(name));
    }
    Ok(library)
}

/// The stdout of a command, which must succeed.
fn said(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A new, empty directory.
fn fresh(directory: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

/// Returns whether a directory has files whose names begin with this text.
fn has_files(directory: &Path, start: &str) -> bool {
    let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with(start))
}
