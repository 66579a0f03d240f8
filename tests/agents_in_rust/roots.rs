//! An agent with several names at the top: its files, and its scripts under a pmcd.

use std::fs;
use std::time::Duration;

use pcp_pmda_test::run::bounded;
use pcp_pmda_test::scripts;

use crate::agents::{example, text};

/// `Install` adds all roots, pmcd serves declared names and those that the agent answers for, and
/// `Remove` takes all of them away.
#[test]
fn several_roots() {
    let environment = scripts::environment("agents_in_rust/roots");
    let folder = environment.directory.join("pmdas/machine");
    let at = folder.display().to_string();
    let program = || example("roots");
    let none = "[exit 0]\n";
    let checked = text(&environment.run(program(), &["--check"]));
    assert!(
        checked.ends_with(&format!(" metrics, nothing is wrong\n{none}")),
        "{checked}"
    );
    assert_eq!(text(&environment.run(program(), &["--write", &at])), none);
    for (file, names) in [
        ("pmns", "machine {\n    uptime\tMACHINE:0:0\n    swap\tMACHINE:*:*\n}\n"),
        ("pmns.loadavg", "loadavg {\n    minute\tMACHINE:0:1\n}\n"),
        ("pmns.meminfo", "meminfo\tMACHINE:*:*\n"),
    ] {
        let written = fs::read_to_string(folder.join(file)).expect("written");
        assert_eq!(written, names, "{file}");
    }
    for script in ["Install", "Remove"] {
        let mut check = environment.command("shellcheck");
        check.args(["--shell=sh", "--exclude=SC1091"]).arg(folder.join(script));
        assert_eq!(text(&bounded(check, Duration::from_secs(60))), none, "{script}");
    }
    fs::copy(program(), folder.join("pmdamachine")).expect("target is writable");
    let script = r#"cd "$PCP_PMDAS_DIR/machine"
before=$(ls "$PCP_VAR_DIR/pmns")
./Install
pminfo -m machine loadavg meminfo.MemTotal
pminfo -f machine.uptime loadavg meminfo.MemTotal machine.swap.SwapTotal
./Remove
for root in machine loadavg meminfo; do pminfo $root || echo "no $root"; done
[ "$before" = "$(ls "$PCP_VAR_DIR/pmns")" ] && echo "the same files"
"#;
    let Some(answer) = scripts::run(&environment, script, Duration::from_secs(200), |_| ()) else {
        return;
    };
    let answer = text(&answer);
    for line in [
        "Check machine metrics have appeared ... ",
        "Check loadavg metrics have appeared ... 1 metrics and 1 values",
        "Check meminfo metrics have appeared ... ",
        "machine.uptime PMID: 410.0.0\n",
        "machine.swap.SwapTotal PMID: 410.1.",
        "loadavg.minute PMID: 410.0.1\n",
        "meminfo.MemTotal PMID: 410.1.",
        "loadavg.minute\n    value ",
        "meminfo.MemTotal\n    value ",
        "machine.swap.SwapTotal\n    value ",
        "Check machine metrics have gone away ... OK",
        "Check loadavg metrics have gone away ... OK",
        "Check meminfo metrics have gone away ... OK",
        "no machine\n",
        "no loadavg\n",
        "no meminfo\n",
        "the same files\n",
        "[exit 0]",
    ] {
        assert!(answer.contains(line), "{line}\n{answer}");
    }
    for bad in ["failed", "PMNS is bad", "Arrgh", scripts::RESTARTED] {
        assert!(!answer.contains(bad), "{bad}\n{answer}");
    }
}
