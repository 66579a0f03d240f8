//! The example `bash`, which shows what scripts do, beside PCP's agent: the same script, traced by
//! PCP's own functions for bash, the same requests, the same answers.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::time::Duration;
use std::{io, thread};

use pcp_pmda_test::pcp::Environment;
use pcp_pmda_test::{Library, pcp};
use regex::Regex;

use crate::agents::{environment_on, example, text};
use crate::beside::differences;

/// The differences. In C the lines about `pcp_trace` itself, which no client sees, are counted and wait as well, and a
/// client counts before it has read.
const DIFFERENCES: [&str; 6] = [
    "C:        inst [N or \"SCRIPT script one two\"] value 1",
    "Rust:     inst [N or \"SCRIPT script one two\"] value 0",
    "C:        inst [N or \"SCRIPT script one two\"] value 522",
    "Rust:     inst [N or \"SCRIPT script one two\"] value 316",
    "C:        inst [N or \"SCRIPT script one two\"] value 14",
    "Rust:     inst [N or \"SCRIPT script one two\"] value 9",
];

const SCRIPT: &str = r#"
. "$FUNCTIONS"
pcp_trace on $0 "$@"
greet() { : "to $1"; }
for name in one two; do
    greet $name
done
: last
"#;

/// Runs the script to its end. Returns its process, and its FIFO with what it has written.
fn traced(environment: &Environment) -> Result<(u32, File), String> {
    let said = |error: io::Error| error.to_string();
    let mut command = environment.command("bash");
    command
        .env("FUNCTIONS", pcp::installed("usr/share/pcp/lib/bashproc.sh"))
        .current_dir(&environment.directory)
        .args(["script", "one", "two"]);
    let mut child = command.spawn().map_err(said)?;
    let fifo = environment.directory.join("tmp/bash").join(child.id().to_string());
    let mut held = None;
    // A minute at most.
    for _ in 0..6000 {
        // The script waits until its FIFO has a reader: this one holds what is written.
        if held.is_none() && fifo.exists() {
            held = Some(OpenOptions::new().read(true).write(true).open(&fifo).map_err(said)?);
        }
        if let (Some(_), Some(_)) = (&held, child.try_wait().map_err(said)?) {
            return Ok((child.id(), held.take().expect("it is open")));
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().map_err(said)?;
    child.wait().map_err(said)?;
    Err("the script does not end".to_owned())
}

#[test]
fn bash() -> Result<(), String> {
    let (environment, _) = environment_on(Library::C, "bash", &[]);
    let names = environment.directory.join("names");
    let own = pcp::agent("bash");
    let all = format!(
        "#define BASH 112\nroot {{\nbash\n}}\n#include \"{}\"\n",
        own.join("pmns").display()
    );
    fs::write(&names, all).expect("target is writable");
    fs::create_dir_all(environment.directory.join("tmp/bash")).expect("target is writable");
    fs::write(environment.directory.join("script"), SCRIPT).expect("target is writable");
    let clock = Regex::new(r"\d\d:\d\d:\d\d\.\d{3}").expect("a pattern");
    let inst = Regex::new(r"inst \[\d+ or").expect("a pattern");
    let answers = |program: &Path| -> Result<String, String> {
        // Nothing is looked for but when a client asks.
        let line = format!(
            "bash 112 pipe binary {} -l bash.log -d 112 -s 3600\n",
            program.display()
        );
        let pmcd = environment.pmcd(&line, &names)?;
        let mut all = text(&pmcd.tool("pminfo", &["-f", "bash"]));
        let (pid, fifo) = traced(&environment)?;
        all += &text(&pmcd.tool("pminfo", &["-dmx", "bash"]));
        drop(fifo);
        let all = clock.replace_all(&all, "TIME");
        let all = inst.replace_all(&all, "inst [N or");
        let all = all.replace(&pid.to_string(), "SCRIPT");
        Ok(all.replace(&std::process::id().to_string(), "PARENT"))
    };
    let c = answers(&own.join("pmdabash"))?;
    let rust = answers(&example("bash"))?;
    assert!(c.contains("greet two"), "{c}");
    // PCP 7.2's agent cuts off the last letter of each text, and takes the command for a part of the
    // function's name, so that the lines about `pcp_trace` are shown as well.
    let cuts = c.contains("SCRIPT script one tw\"");
    let cut: Vec<&str> = include_str!("bash.7.2.txt").lines().collect();
    assert_eq!(
        differences(&c, &rust),
        if cuts { &cut } else { &DIFFERENCES[..] },
        "{c}\n{rust}"
    );
    Ok(())
}
