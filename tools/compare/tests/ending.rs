//! The end of the processes below the comparison. A program of its own: it ends all of its children.

use std::fs;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use pcp_pmda_rust_compare::folder::Folder;
use pcp_pmda_rust_compare::processes::{Guard, KEEPER, has_ended};

/// A program whose first argument is that of a keeper (to make(1) it is `--keep-going`), and that
/// starts the next child when one ends, is not spared until it has no more to start.
#[test]
fn what_only_looks_like_a_keeper() {
    const CHILDREN: usize = 3000;
    let folder = tempfile::tempdir().expect("a folder");
    let targets: Vec<String> = (0..CHILDREN).map(|number| format!("t{number}")).collect();
    let targets = targets.join(" ");
    let makefile = format!("all: {targets}\n{targets}:\n\t@echo >>started; exec sleep 1000\n");
    fs::write(folder.path().join("Makefile"), makefile).expect("written");
    let (above, upper) = UnixStream::pair().expect("sockets");
    // Its end would end this program, too.
    std::mem::forget(upper);
    let private = Folder::made(folder.path().join("private"));
    let guard = Guard::new(private, above).expect("a guard");
    let mut make = Command::new("make");
    make.arg(KEEPER).current_dir(folder.path()).stderr(Stdio::null());
    let make = make.spawn().expect("make is installed").id() as i32;
    let started = || fs::read(folder.path().join("started")).unwrap_or_default().len();
    while started() == 0 {
        std::thread::yield_now();
    }
    guard.end_processes();
    assert!(has_ended(make));
    assert!(started() < CHILDREN, "make has started all of its children");
}
