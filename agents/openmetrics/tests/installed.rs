//! This agent beside PCP's in Python on one host, as docs/OPENMETRICS.md says: `--write`,
//! `Install`, a switch there and back, `Remove`.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use pcp_pmda_test::pcp::{self, text};
use pcp_pmda_test::scripts;

/// What a person types, with what is asked in between. `Remove` without an answer to its questions
/// takes the defaults.
const SCRIPT: &str = r#"
numbers() {
    pminfo -m openmetrics.page | sort
    pmprobe -I openmetrics.page | sort
}
agent() { sed -n 's/^openmetrics[[:space:]]*//p' "$PCP_PMCDCONF_PATH"; }
ready() { for _ in $(seq 100); do pminfo -f openmetrics.page.load | grep -q 'value 0.5' && return; sleep 0.1; done; }
part() { echo "== $1"; }

part write
"$PROGRAM" --write "$PCP_VAR_DIR/rust/pmdas/openmetrics"
ls "$PCP_VAR_DIR/rust/pmdas/openmetrics"
cp "$PROGRAM" "$PCP_VAR_DIR/rust/pmdas/openmetrics"

part ours
cd "$PCP_VAR_DIR/rust/pmdas/openmetrics" && ./Install </dev/null
part 'ours, line'; agent
ready
part 'ours, numbers'; numbers
part 'ours, values'; pminfo -dfmtT openmetrics.page openmetrics.control.status openmetrics.control.calls
part 'ours, processes'; pgrep -ax 'pmdaopenmetrics|python3' || true

part python
cd "$PCP_PMDAS_DIR/openmetrics" && ./Install </dev/null
part 'python, line'; agent
ready
part 'python, numbers'; numbers

part again
cd "$PCP_VAR_DIR/rust/pmdas/openmetrics" && ./Install </dev/null
part 'again, line'; agent
ready
part 'again, numbers'; numbers

part removed
./Remove </dev/null
part 'removed, line'; agent
part 'removed, names'; pminfo openmetrics 2>&1 || true
# One that has ended may wait for pmcd to look at it.
part 'removed, processes'; pgrep -ax 'pmdaopenmetrics|python3' | grep -v '<defunct>' || true
part 'removed, files'; ls
"#;

/// The line that `Install` gives to pmcd starts the agent, with the sources, names and numbers of
/// the other agent; `Remove` leaves no process of it (OM-1, OM-2, OM-70).
#[test]
fn a_host_switches_by_install() {
    let environment = scripts::environment("openmetrics-installed");
    let at = |name: &str| environment.directory.join(name);
    // PCP's agent, in a folder that its Install may write to.
    let python = at("pmdas/openmetrics");
    fs::create_dir_all(python.join("config.d")).expect("target is writable");
    for file in ["Install", "Remove", "pmdaopenmetrics.python"] {
        fs::copy(pcp::agent("openmetrics").join(file), python.join(file)).expect("target is writable");
    }
    let page = at("page.txt");
    fs::write(&page, "requests{code=\"200\"} 7\nrequests{code=\"404\"} 1\nload 0.5\n").expect("target is writable");
    fs::write(python.join("config.d/page.url"), format!("file://{}\n", page.display())).expect("target is writable");
    let prepare = |command: &mut std::process::Command| {
        command.env("PROGRAM", env!("CARGO_BIN_EXE_pmdaopenmetrics"));
    };
    let Some(outcome) = scripts::run(&environment, SCRIPT, Duration::from_secs(120), prepare) else {
        return;
    };
    let answer = text(&outcome);
    assert!(
        answer.ends_with("[exit 0]\n") && !answer.contains(scripts::RESTARTED),
        "{answer}"
    );
    let parts: HashMap<&str, &str> = answer.split("== ").filter_map(|part| part.split_once('\n')).collect();
    let part = |name: &str| *parts.get(name).unwrap_or_else(|| panic!("no {name}: {answer}"));

    assert_eq!(part("write"), "Install\nRemove\ndomain.h\nhelp\npmns\nroot\n");
    for name in ["ours", "python", "again"] {
        assert!(
            part(name).contains("Check openmetrics metrics have appeared ... "),
            "{name}: {answer}"
        );
    }
    assert!(part("python, line").contains("pmdaopenmetrics.python"), "{answer}");
    assert_eq!(part("again, line"), part("ours, line"));
    let line: Vec<&str> = part("ours, line").split_whitespace().collect();
    let program = at("var/rust/pmdas/openmetrics/pmdaopenmetrics").display().to_string();
    assert_eq!(line, ["144", "pipe", "binary", "notready", &program, "-d", "144"]);

    assert!(
        part("ours, numbers").contains("openmetrics.page.load PMID: 144.1."),
        "{answer}"
    );
    assert!(part("ours, numbers").contains("1 code:404"), "{answer}");
    for name in ["python, numbers", "again, numbers"] {
        assert_eq!(part(name), part("ours, numbers"), "{name}: {answer}");
    }
    assert!(
        part("ours, values").contains("inst [1 or \"page\"] value \"success\""),
        "{answer}"
    );
    let processes = part("ours, processes");
    assert!(
        processes.contains(&program) && processes.lines().count() == 1,
        "{answer}"
    );

    assert!(
        part("removed").contains("Check openmetrics metrics have gone away ... OK"),
        "{answer}"
    );
    assert_eq!(part("removed, line"), "");
    assert!(
        part("removed, names").starts_with("Error: openmetrics: Unknown metric name"),
        "{answer}"
    );
    // newhelp makes two of them; the package's prerm knows their names.
    let files = "Install\nRemove\ndomain.h\nhelp\nhelp.dir\nhelp.pag\npmdaopenmetrics\npmns\nroot\n";
    assert!(part("removed, files").starts_with(files), "{answer}");
    assert_eq!(part("removed, processes"), "", "{answer}");
    assert!(!answer.contains("newhelp:"), "{answer}");
}
