//! A private PCP in which agents are installed and removed by their own scripts, `Install` and
//! `Remove`, which PCP's `pmdaproc.sh` does the work of.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::pcp::{Environment, home, installed};
use super::run::{Outcome, bounded};
use super::{Library, skipped};

/// Name spaces of one's own: the scripts find pmcd and the agent by name, so that all of it runs
/// among processes of its own.
const OWN: [&str; 5] = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];

/// Starts the private pmcd.
const PMCD: &str = r#"set -e
(cd "$PCP_LOG_DIR/pmcd" && exec pmcd -f -n "$PCP_VAR_DIR/pmns/root" -c "$PCP_PMCDCONF_PATH" -l pmcd.log \
    -i 127.0.0.1 -s "$PMCD_SOCKET" -U root) &
pmcd_wait -t 20
"#;

/// The output in place of a restart of pmcd: the scripts restart a pmcd only if none runs.
pub const RESTARTED: &str = "pmcd was to be restarted";

/// A PCP with a name space that the scripts may change, a pmcd that has no agent but its own, and
/// an empty `$PCP_PMDAS_DIR`, which is `pmdas` in its directory. `name` is that of its directories.
pub fn environment(name: &str) -> Environment {
    let mut environment = Environment::with(name, Library::C.directory());
    let directory = environment.directory.clone();
    let names = directory.join("var/pmns");
    fs::remove_file(&names).expect("a link");
    fs::create_dir(&names).expect("target is writable");
    for entry in fs::read_dir(installed("var/lib/pcp/pmns"))
        .expect("make setup")
        .flatten()
    {
        fs::copy(entry.path(), names.join(entry.file_name())).expect("target is writable");
    }
    fs::copy(names.join("root_pmcd"), names.join("root")).expect("target is writable");
    fs::create_dir_all(directory.join("pmdas")).expect("target is writable");
    let pmcd = installed("var/lib/pcp/pmdas/pmcd/pmda_pmcd.so");
    environment.configure(&format!("pmcd 2 dso pmcd_init {}\n", pmcd.display()));
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let socket = environment.socket("pmcd").display().to_string();
    let at = |name: &str| directory.join(name).display().to_string();
    environment.variables.extend([
        ("PCP_DIR", home().join("root").display().to_string()),
        ("PCP_PMDAS_DIR", at("pmdas")),
        ("PCP_RC_DIR", at("rc")),
        ("PCP_SYSTEMDUNIT_DIR", String::new()),
        ("PMCD_PORT", free.expect("loopback").port().to_string()),
        ("PMCD_HOST", format!("unix:{socket}")),
    ]);
    let rc = directory.join("rc/pmcd");
    fs::create_dir(directory.join("rc")).expect("target is writable");
    fs::write(&rc, format!("#! /bin/sh\necho \"{RESTARTED}\"\nexit 1\n")).expect("target is writable");
    fs::set_permissions(&rc, fs::Permissions::from_mode(0o755)).expect("our own file");
    environment
}

/// Runs a script of bash in it, with its pmcd. `prepare` may change the command. `None`, and a
/// line, for an ordinary user.
pub fn run(
    environment: &Environment,
    script: &str,
    limit: Duration,
    prepare: impl FnOnce(&mut Command),
) -> Option<Outcome> {
    let may = Command::new("unshare")
        .args(OWN)
        .arg("true")
        .stderr(Stdio::null())
        .status();
    if !may.is_ok_and(|status| status.success()) {
        skipped("Install ends programs by name, and processes of one's own need root");
        return None;
    }
    let mut command = environment.command(Path::new("unshare"));
    command.args(OWN).args(["bash", "-c", &format!("{PMCD}{script}")]);
    prepare(&mut command);
    Some(bounded(command, limit))
}
