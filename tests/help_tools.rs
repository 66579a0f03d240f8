//! PCP's own help tools: `newhelp` writes a database (HELP-8), and `chkhelp` reads it through the
//! library, with the table of `__pmdaHelpTab` in its hands (HELP-42). It must say the same on the C
//! library and on ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pcp_pmda_test::{Library, compare, profile_dir, run};

const LIMIT: Duration = Duration::from_secs(30);

const NAMES: &str = "root {\n    t\n}\nt {\n    a 250:0:0\n    b 250:0:1\n    c 250:1:0\n}\n";

const SOURCE: &str = "\
# all kinds of entries, out of order
@ t.c third metric
help for c
line two

@ 250.0 indom zero oneline
Long text for indom zero.

@ t.a first metric
@ t.b
only long text
@ 250.0.77 numeric pmid
numeric help
@ 250.7 indom seven
";

/// A program of the package `pcp`, as `make setup` has unpacked it.
fn tool(name: &str) -> Command {
    let home = profile_dir().parent().expect("target/PROFILE").join("pcp");
    assert!(home.join("stamp").exists(), "PCP is not set up: make setup");
    let mut command = Command::new(home.join("root/usr/lib/pcp/bin").join(name));
    command
        .env("PCP_CONF", home.join("pcp.conf"))
        .env("TZ", "UTC")
        .env("LC_ALL", "C");
    command
}

/// An empty directory with a name space and the source of a help database in it.
fn directory(test: &str) -> PathBuf {
    let directory = profile_dir().join("test-help").join(test);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).expect("target is writable");
    fs::write(directory.join("names"), NAMES).expect("target is writable");
    fs::write(directory.join("t"), SOURCE).expect("target is writable");
    directory
}

fn newhelp(directory: &Path) {
    let mut command = tool("newhelp");
    command.args(["-n", "names", "-o", "t", "t"]).current_dir(directory);
    let outcome = run::bounded(command, LIMIT);
    assert_eq!(outcome.end, "exit 0", "{outcome:?}");
}

/// Runs `chkhelp` on both libraries and returns what both have said.
fn chkhelp(directory: &Path, args: &[&str]) -> String {
    let said = |library: Library| {
        let mut command = tool("chkhelp");
        command.args(["-n", "names"]).args(args).current_dir(directory);
        command.env("LD_LIBRARY_PATH", library.directory());
        compare::picture(&run::bounded(command, LIMIT), directory)
    };
    let (oracle, ours) = (said(Library::C), said(Library::Ours));
    if let Some(text) = compare::difference(("C library", &oracle), ("ours", &ours)) {
        panic!("chkhelp {args:?}: {text}");
    }
    ours
}

/// chkhelp shows all that newhelp has written: the whole table, texts of metrics and instance
/// domains, by name and by kind (HELP-2, HELP-5, HELP-41, HELP-42).
#[test]
fn chkhelp_reads_what_newhelp_writes() {
    let directory = directory("good");
    newhelp(&directory);
    let all = chkhelp(&directory, &["-H", "-O", "-i", "-p", "t"]);
    for text in [
        "third metric",
        "help for c\nline two",
        "only long text",
        "numeric pmid",
        "indom seven",
    ] {
        assert!(all.contains(text), "{text:?} is missing in {all}");
    }
    for args in [
        &["t"][..],
        &["-O", "t"],
        &["-H", "t"],
        &["-i", "-O", "t"],
        &["-O", "t", "t.a", "t.c"],
        &["-v", "2", "t"],
    ] {
        chkhelp(&directory, args);
    }
}

/// chkhelp reads a database without entries (HELP-6).
#[test]
fn chkhelp_on_nothing() {
    let directory = directory("nothing");
    fs::write(directory.join("t"), "# nothing\n").expect("target is writable");
    newhelp(&directory);
    assert_eq!(fs::read(directory.join("t.dir")).expect("newhelp").len(), 12);
    chkhelp(&directory, &["-H", "-O", "-i", "-p", "t"]);
}

/// A file that is no help database gives another error than a file that cannot be read (HELP-21).
#[test]
fn chkhelp_on_what_is_no_database() {
    let directory = directory("wrong");
    let missing = chkhelp(&directory, &["-O", "-p", "t"]);
    fs::write(directory.join("t.dir"), [0; 4096]).expect("target is writable");
    fs::write(directory.join("t.pag"), [0; 4096]).expect("target is writable");
    let zeros = chkhelp(&directory, &["-O", "-p", "t"]);
    assert!(missing.contains("No such file"), "{missing}");
    assert!(
        !zeros.contains("No such file") && zeros.contains("end: exit 1"),
        "{zeros}"
    );
}
