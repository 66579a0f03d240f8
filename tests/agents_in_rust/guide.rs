//! docs/RUST-AGENTS.md as it is written: from an empty folder to `pminfo`, and back.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pcp_pmda_test::pcp::{Environment, home, installed};
use pcp_pmda_test::run::bounded;
use pcp_pmda_test::{Library, root};

use crate::agents::text;

/// Starts the private pmcd and leads PCP's programs there. Install and Remove find pmcd and the
/// agent by name, so all of it runs among processes of its own.
const BEFORE: &str = r#"set -e
(cd "$PCP_LOG_DIR/pmcd" && exec pmcd -f -n "$PCP_VAR_DIR/pmns/root" -c "$PCP_PMCDCONF_PATH" -l pmcd.log \
    -i 127.0.0.1 -s "$PMCD_SOCKET" -U root) &
pmcd_wait -t 20
"#;

/// The guide's text up to the next heading of the same rank.
fn section(heading: &str) -> String {
    let guide = fs::read_to_string(root().join("docs/RUST-AGENTS.md")).expect("part of the sources");
    let (_, rest) = guide.split_once(&format!("\n## {heading}\n")).expect("a heading");
    rest.split("\n## ").next().unwrap_or(rest).to_owned()
}

/// The blocks of a text, each with the word behind its fence.
fn blocks(text: &str) -> Vec<(String, String)> {
    let each = text.split("```").skip(1).step_by(2);
    each.filter_map(|block| block.split_once('\n'))
        .map(|(word, block)| (word.to_owned(), block.to_owned()))
        .collect()
}

/// The agent that the guide begins with.
fn agent() -> String {
    let blocks = blocks(&section("From an empty folder to `pminfo`"));
    let agent = blocks.into_iter().find(|(word, _)| word == "rust");
    agent.expect("an agent").1
}

/// The shell's blocks in one script, with the agent written where the guide says.
fn script() -> String {
    let mut script = String::from(BEFORE);
    for (word, block) in blocks(&section("From an empty folder to `pminfo`")) {
        match word.as_str() {
            "sh" => script += &block,
            "rust" => script += &format!("cat >src/main.rs <<'END'\n{block}END\n"),
            _ => {}
        }
    }
    let test = blocks(&section("A test without PCP"));
    let test = test.first().expect("a test").1.clone();
    // Then its test, and what is left after Remove.
    script += &format!(
        "pminfo -f traffic || echo removed\ncd ~/traffic\ncat >>src/main.rs <<'END'\n{test}END\ncargo test --quiet\n"
    );
    script
}

/// PCP's own name space, which Install changes, and a configuration of pmcd for it.
fn private(environment: &mut Environment) {
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
    // Install restarts pmcd only if it finds none.
    let rc = directory.join("rc/pmcd");
    fs::create_dir(directory.join("rc")).expect("target is writable");
    fs::write(&rc, "#! /bin/sh\necho \"pmcd was to be restarted\"\nexit 1\n").expect("target is writable");
    fs::set_permissions(&rc, fs::Permissions::from_mode(0o755)).expect("our own file");
}

/// Where cargo is, with what it has downloaded.
fn cargo_home() -> OsString {
    let home = || Some(Path::new(&std::env::var_os("HOME")?).join(".cargo").into_os_string());
    std::env::var_os("CARGO_HOME").or_else(home).expect("a home")
}

#[test]
fn from_an_empty_folder_to_pminfo() {
    let mut environment = Environment::with("agents_in_rust/guide", Library::C.directory());
    private(&mut environment);
    let home = tempfile::tempdir().expect("a directory");
    let own = ["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
    if !Command::new("unshare")
        .args(own)
        .arg("true")
        .status()
        .is_ok_and(|status| status.success())
    {
        eprintln!("skipped: Install ends programs by name, and processes of one's own need root");
        return;
    }
    let mut command = environment.command("unshare");
    command
        .args(own)
        .args(["bash", "-c", &script()])
        .current_dir(root())
        .env("CARGO_HOME", cargo_home())
        .env("CARGO_NET_OFFLINE", "true")
        .env_remove("CARGO_TARGET_DIR")
        .env("HOME", home.path());
    if let Some(toolchains) = std::env::var_os("RUSTUP_HOME") {
        command.env("RUSTUP_HOME", toolchains);
    }
    let answer = text(&bounded(command, Duration::from_secs(400)));
    for line in [
        "Check traffic metrics have appeared ... 2 metrics and ",
        "traffic.received\n    inst [0 or \"lo\"] value ",
        "Check traffic metrics have gone away ... OK",
        "test result: ok. 1 passed",
        "[exit 0]",
    ] {
        assert!(answer.contains(line), "{line}\n{answer}");
    }
    assert!(!answer.contains("pmcd was to be restarted"), "{answer}");
    let log = environment.directory.join("log/pmcd/traffic.log");
    assert!(log.exists(), "{}", log.display());
}

/// The same agent stands where people look first.
#[test]
fn the_same_agent_everywhere() {
    let block = format!("```rust\n{}```\n", agent());
    for file in ["README.md", "pmda/README.md"] {
        let text = fs::read_to_string(root().join(file)).expect("part of the sources");
        assert!(text.contains(&block), "{file} has another agent");
    }
}
