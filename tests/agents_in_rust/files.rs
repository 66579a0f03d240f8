//! The files of `--write`, and the lines of `--check`.

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
        let said = text(&environment.run(daemon(name), &["--check"]));
        let said: Vec<&str> = said.lines().collect();
        let is_all_well =
            |line: &str| line.starts_with(&format!("{name}: ")) && line.ends_with(" metrics, nothing is wrong");
        assert!(
            said.len() == 2 && is_all_well(said[0]) && said[1] == "[exit 0]",
            "{name}: {said:?}"
        );
    }
}

/// What cannot be written is said, and no part of a new file stays; each old one is as it was, a
/// script that its owner has changed, too.
#[test]
fn a_full_disk() {
    let (environment, _) = environment("a_full_disk", &[]);
    let program = daemon("simple").display().to_string();
    let said = |script: &str, folder: &str| text(&environment.run("sh", &["-c", script, &program, folder]));
    for option in ["--check", "--version"] {
        let full = said(&format!("\"$0\" {option} >/dev/full"), "");
        assert_eq!(
            full, "cannot write to stdout: No space left on device\n[exit 1]\n",
            "{option}"
        );
    }
    assert_eq!(said("\"$0\" --help 2>/dev/full", ""), "[exit 1]\n");
    // No file may have a byte.
    let folder = environment.directory.join("written").display().to_string();
    let full = said("trap '' XFSZ; ulimit -f 0; exec \"$0\" --write \"$1\"", &folder);
    assert_eq!(full, format!("cannot write to {folder}: File too large\n[exit 1]\n"));
    let sums = || said("cd \"$1\" && ls -A && md5sum ./* 2>&1", &folder);
    assert!(sums().starts_with("md5sum: './*': No such file"), "{}", sums());
    assert_eq!(
        said("\"$0\" --write \"$1\" && echo mine >\"$1/Install\"", &folder),
        "[exit 0]\n"
    );
    let before = sums();
    let full = said("trap '' XFSZ; ulimit -f 0; exec \"$0\" --write \"$1\" -d 254", &folder);
    assert_eq!(full, format!("cannot write to {folder}: File too large\n[exit 1]\n"));
    assert_eq!(sums(), before);
}

/// A domain that another agent has, by `pmcd.conf` or by the table of all domains: with it
/// `./Install` takes that agent out of pmcd.
#[test]
fn a_domain_of_another_agent() {
    let (environment, _) = environment("a_domain_of_another_agent", &[]);
    let configuration = environment.directory.join("others.conf");
    fs::write(&configuration, "Simple 253 pipe\nmine\t253\tpipe\tbinary\t/a\n").expect("ours");
    let var = environment.directory.join("others");
    fs::create_dir_all(var.join("pmns")).expect("ours");
    fs::write(var.join("pmns/stdpmid"), "#define SIMPLE 253\n#define THEIRS 253\n").expect("ours");
    let run = |arguments: &[&str]| {
        let mut command = environment.command(daemon("simple"));
        command.args(arguments);
        command
            .env("PCP_PMCDCONF_PATH", &configuration)
            .env("PCP_VAR_DIR", &var);
        text(&bounded(command, Duration::from_secs(60)))
    };
    let expected = |other: &str, path: &std::path::Path| {
        format!(
            "simple: warning: domain 253 is that of the agent {other} in {}: ./Install would take its place\n",
            path.display()
        )
    };
    let warnings = expected("mine", &configuration) + &expected("THEIRS", &var.join("pmns/stdpmid"));
    assert_eq!(run(&["--check"]), format!("{warnings}[exit 0]\n"));
    let folder = environment.directory.join("written").display().to_string();
    assert_eq!(run(&["--write", &folder]), format!("{warnings}[exit 0]\n"));
    assert_eq!(run(&["-d", "254", "--write", &folder]), "[exit 0]\n");
    // A script that its owner has changed is not lost.
    let install = format!("{folder}/Install");
    fs::write(&install, "mine").expect("ours");
    let kept = "Install was changed: the old one is Install.old now\n";
    assert_eq!(run(&["-d", "254", "--write", &folder]), format!("{kept}[exit 0]\n"));
    assert_eq!(fs::read_to_string(install + ".old").expect("kept"), "mine");
}

/// Whoever starts an agent by hand reads what starts it, and no file is left; what it is made with
/// is for bug reports.
#[test]
fn an_agent_started_by_hand() {
    let (environment, _) = environment("an_agent_started_by_hand", &[]);
    let folder = environment.directory.join("by_hand");
    fs::create_dir_all(&folder).expect("ours");
    let mut script = environment.command("script");
    let program = daemon("simple");
    script
        .args([
            "--quiet",
            "--return",
            "--command",
            &program.display().to_string(),
            "/dev/null",
        ])
        .current_dir(&folder)
        .stdin(std::process::Stdio::null());
    let outcome = bounded(script, Duration::from_secs(60));
    let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(outcome.end, "exit 1", "{said}");
    assert!(
        said.contains("pmdasimple: pmcd starts this program; see pmdasimple --help"),
        "{said}"
    );
    assert_eq!(fs::read_dir(&folder).expect("ours").count(), 0);
    let version = text(&environment.run(program, &["--version"]));
    assert_eq!(
        version,
        format!(
            "pmdasimple: an agent with the crate pmda {}\n[exit 0]\n",
            env!("CARGO_PKG_VERSION")
        )
    );
}
