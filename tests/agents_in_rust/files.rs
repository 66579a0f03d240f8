//! What `--write` makes, and what `--check` says.

use std::fs;
use std::time::Duration;

use pcp_pmda_test::pcp;
use pcp_pmda_test::run::bounded;

use crate::agents::{daemon, environment, text};

/// PCP's own tools read the files.
#[test]
fn written_files() {
    let (environment, names) = environment("written_files", &["simple"]);
    let folder = environment.directory.join("pmdas/simple");
    let listed = environment.run(
        pcp::installed("usr/bin/pminfo"),
        &["-m", "-n", &names.display().to_string()],
    );
    let listed = text(&listed);
    let own: Vec<&str> = listed.lines().filter(|line| line.starts_with("simple.")).collect();
    assert_eq!(
        own,
        [
            "simple.numfetch PMID: 253.0.0",
            "simple.color PMID: 253.0.1",
            "simple.time.user PMID: 253.1.2",
            "simple.time.sys PMID: 253.1.3",
            "simple.now PMID: 253.2.4",
        ]
    );
    assert_eq!(crate::beside::compile_help(&environment, &folder), "[exit 0]\n");
    assert!(folder.join("help.pag").exists());
    let install = fs::read_to_string(folder.join("Install")).expect("written");
    assert!(
        install.contains("iam=simple\n") && install.contains("pmdaInstall\n"),
        "{install}"
    );
    // The scripts run in tests/agents_in_rust/guide.rs; any shell has to be able to read them. What
    // they include is PCP's.
    for script in ["Install", "Remove"] {
        let mut check = environment.command("shellcheck");
        check.args(["--shell=sh", "--exclude=SC1091"]).arg(folder.join(script));
        assert_eq!(text(&bounded(check, Duration::from_secs(60))), "[exit 0]\n", "{script}");
    }
}

#[test]
fn examples_have_nothing_wrong() {
    let (environment, _) = environment("examples_have_nothing_wrong", &[]);
    for name in ["load", "mounts", "simple", "ticking"] {
        assert_eq!(
            text(&environment.run(daemon(name), &["--check"])),
            "[exit 0]\n",
            "{name}"
        );
    }
}
