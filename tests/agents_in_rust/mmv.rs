//! The example `mmv`, which reads files in which programs keep values, beside PCP's agent, which maps
//! them: the same files, written by PCP's own library, the same requests, the same answers.

use std::path::Path;
use std::process::Command;

use pcp_pmda_test::{Library, compiler, pcp, root};

use crate::agents::{environment_on, example, text};
use crate::beside::differences;

/// The differences: lines of the agent in C, and of the one in Rust.
const DIFFERENCES: &[&str] = &[];

/// The metrics of the files: agents in Rust tell names in alphabetical order.
const METRICS: [&str; 10] = [
    "mmv.labelled.many",
    "mmv.labelled.one",
    "mmv.old.below.double",
    "mmv.old.below.float",
    "mmv.old.elapsed",
    "mmv.old.i32",
    "mmv.old.i64",
    "mmv.old.text",
    "mmv.old.u32",
    "mmv.old.u64",
];

#[test]
fn mmv() -> Result<(), String> {
    let (environment, _) = environment_on(Library::C, "mmv", &[]);
    let writer = environment.directory.join("writer");
    let mut cc: Command = compiler();
    cc.arg("-o")
        .arg(&writer)
        .arg(root().join("tests/agents_in_rust/mmv.c"))
        .args(["-lpcp_mmv", "-lpcp"]);
    assert!(cc.status().expect("cc is installed").success());
    let written = environment.run(&writer, &[]);
    assert_eq!(text(&written), "[exit 0]\n");
    let names = environment.directory.join("names");
    std::fs::write(&names, "root {\nmmv 70:*:*\n}\n").expect("target is writable");
    let answers = |program: &Path| -> Result<String, String> {
        let line = format!("mmv 70 pipe binary {} -l mmv.log -d 70\n", program.display());
        let pmcd = environment.pmcd(&line, &names)?;
        let mut all = String::new();
        let mut names: Vec<String> = text(&pmcd.tool("pminfo", &["mmv.old", "mmv.labelled"]))
            .lines()
            .map(str::to_owned)
            .collect();
        names.sort_unstable();
        all += &names.join("\n");
        for args in [&["-dfm"][..], &["-l"], &["-tT"], &["-I"]] {
            all += &text(&pmcd.tool("pminfo", &[args, &METRICS].concat()));
        }
        all += &text(&pmcd.tool("pmval", &["-s", "1", "-i", "inst1", "mmv.labelled.many"]));
        Ok(all)
    };
    let c = answers(&pcp::agent("mmv").join("pmdammv"))?;
    let rust = answers(&example("mmv"))?;
    assert!(
        c.contains("value \"fourteen\"") && c.contains("\"second\":\"yes\""),
        "{c}"
    );
    assert_eq!(differences(&c, &rust), DIFFERENCES, "{c}\n{rust}");
    Ok(())
}
