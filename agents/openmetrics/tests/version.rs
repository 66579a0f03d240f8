//! `pmdaopenmetrics --version`: a process of its own, as it ends before there is an agent.

use std::process::Command;

#[test]
fn the_version_is_shown() {
    let shown = Command::new(env!("CARGO_BIN_EXE_pmdaopenmetrics"))
        .arg("--version")
        .output()
        .expect("it runs");
    assert!(shown.status.success() && shown.stderr.is_empty(), "{shown:?}");
    let expected = format!("pmdaopenmetrics version {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8_lossy(&shown.stdout), expected);
}
