//! Agents that are linked with the shared or the static library, with and without optimisation over
//! all files (`-flto`), and beside another static library in Rust: they start, and give their value.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pcp_pmda_test::run::{bounded, command, private};
use pcp_pmda_test::{Library, is_quick, profile_dir, root};

/// What the linker needs beside the static library, as `pkg-config --static` says.
const STATIC: [&str; 6] = ["-lpcp", "-lgcc_eh", "-lutil", "-lrt", "-lm", "-ldl"];

fn succeeds(command: &mut Command) {
    let output = command.output().expect("it is installed");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{text}");
}

/// The static library in Rust, as cargo's own compiler makes it.
fn other_library(directory: &Path) -> PathBuf {
    let file = directory.join("libother.a");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut rustc = Command::new(compiler);
    rustc.args(["--edition", "2024", "--crate-type", "staticlib", "-O", "-o"]);
    succeeds(rustc.arg(&file).arg(root().join("tests/linked/other.rs")));
    file
}

#[test]
fn agents_start() {
    // What cargo builds is not yet what users link (packaging/static.sh).
    if is_quick() {
        return;
    }
    let directory = profile_dir().join("test-linked");
    fs::create_dir_all(directory.join("var/config")).expect("target is writable");
    let other = other_library(&directory);
    let archive = Library::Ours.built().join("libpcp_pmda.a");
    for (number, (optimised, is_static)) in [(false, false), (true, false), (false, true), (true, true)]
        .into_iter()
        .enumerate()
    {
        let program = directory.join(format!("agent{number}"));
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-D_GNU_SOURCE", "-I"])
            .arg(root().join("tests/c"));
        cc.args(if optimised { &["-flto", "-O2"][..] } else { &[] });
        cc.arg("-o")
            .arg(&program)
            .arg(root().join("tests/linked/agent.c"))
            .arg(&other);
        if is_static {
            cc.arg(&archive);
        } else {
            cc.arg(Library::Ours.file());
        }
        succeeds(cc.args(STATIC));
        let mut agent = command(&program);
        private(&mut agent, &Library::Ours.directory(), &directory);
        let outcome = bounded(agent, Duration::from_secs(60));
        let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let log = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!(outcome.end, "exit 0", "{said}{log}");
        assert_eq!(
            said, "status 0, fetch 0, value 42, other 3 -1\n",
            "lto: {optimised}, static: {is_static}, {log}"
        );
    }
}
