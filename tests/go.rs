//! An agent in Go (`tests/go`), on both libraries: a callback in Go that waits for another
//! goroutine, and goroutines on threads of their own. Where Go is not installed this says so and
//! tests nothing; a lane of CI has it.

use std::process::Command;
use std::time::Duration;

use pcp_pmda_test::run::bounded;
use pcp_pmda_test::{Library, profile_dir, root, skipped};

const ANSWER: &str = "fetch 0 has 8001 values, their sum is 159121\nfetch 1 has 8001 values, their sum is 159122\n\
                      fetch 2 has 8001 values, their sum is 159123\nactive: 8000 single calls: 3\n";

#[test]
fn callbacks_and_goroutines() {
    if Command::new("go").arg("version").output().is_err() {
        skipped("Go is not installed: apt-get install golang-go");
        return;
    }
    let program = profile_dir().join("agent-in-go");
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .current_dir(root().join("tests/go"))
        .env("GOCACHE", profile_dir().join("go-cache"))
        .env("GOFLAGS", "-mod=mod -buildvcs=false")
        .env("GOPROXY", "off")
        .env("CGO_LDFLAGS", format!("-L{}", Library::C.directory().display()))
        .output()
        .expect("go starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for library in [Library::C, Library::Ours] {
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", library.directory());
        let outcome = bounded(command, Duration::from_secs(120));
        let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let errors = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!(
            (outcome.end.as_str(), said.as_str()),
            ("exit 0", ANSWER),
            "{library:?}: {errors}"
        );
    }
}
