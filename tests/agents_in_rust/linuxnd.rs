//! The example `linuxnd`, disks and interfaces, beside PCP's agent linux: the same machine, the same
//! requests, the same answers.

use std::fs;
use std::path::Path;

use pcp_pmda_test::{Library, pcp, release};
use regex::Regex;

use crate::agents::{environment_on, example, text};
use crate::beside::differences;

/// Metrics whose values differ. In C an unknown speed of -1 is a large number, `type` and `virtual` are 0
/// for each interface; the example shows what sysfs says.
const DIFFERENT: [&str; 4] = ["speed", "baudrate", "type", "virtual"];

/// Metrics that PCP's agent has since 6.0.
const SINCE_6_0: [&str; 2] = ["inflight", "virtual"];

#[test]
fn linuxnd() -> Result<(), String> {
    let (environment, names) = environment_on(Library::C, "linuxnd", &[]);
    let folder = environment.directory.join("written");
    let written = environment.run(example("linuxnd"), &["--write", &folder.display().to_string()]);
    assert_eq!(text(&written), "[exit 0]\n");
    let is_there = |line: &&str| {
        release() >= [6, 0, 0]
            || !line
                .split_whitespace()
                .next()
                .is_some_and(|name| SINCE_6_0.contains(&name))
    };
    let part = |name: &str| {
        let names = fs::read_to_string(folder.join(name)).expect("written");
        names.lines().filter(is_there).collect::<Vec<_>>().join("\n") + "\n"
    };
    let all = format!(
        "#define LINUXND 60\nroot {{\n    disk\n    network\n}}\n{}{}",
        part("pmns.disk"),
        part("pmns.network")
    );
    fs::write(&names, all).expect("target is writable");
    // Values that change meanwhile.
    let counters =
        Regex::new(r"(?m)^(disk\.dev\.inflight .*\n.*\n.*\n|    Semantics: counter .*\n)((?:    inst .*\n)+)")
            .expect("a pattern");
    let number = Regex::new(r"value \d+").expect("a pattern");
    let answers = |program: &Path| -> Result<String, String> {
        let line = format!("linux 60 pipe binary {} -l linux.log -d 60\n", program.display());
        let pmcd = environment.pmcd(&line, &names)?;
        let mut all = text(&pmcd.tool("pminfo", &["-dmf", "disk", "network"]));
        all += &text(&pmcd.tool("pminfo", &["-l", "disk.dev.read", "network.interface.mtu"]));
        let masked = |found: &regex::Captures<'_>| format!("{}{}", &found[1], number.replace_all(&found[2], "value N"));
        let all = counters.replace_all(&all, masked);
        let all = all.replace("\"agent\":\"linuxnd\"", "\"agent\":\"linux\"");
        let is_different = |block: &str| {
            let name = block.split_whitespace().next().unwrap_or("");
            DIFFERENT
                .iter()
                .any(|metric| name == format!("network.interface.{metric}"))
        };
        let blocks = all.split("\n\n").map(|block| match is_different(block) {
            true => block.lines().take(3).collect::<Vec<_>>().join("\n"),
            false => block.to_owned(),
        });
        Ok(blocks.collect::<Vec<_>>().join("\n\n"))
    };
    let c = answers(&pcp::agent("linux").join("pmdalinux"))?;
    let rust = answers(&example("linuxnd"))?;
    assert!(c.contains("or \"lo\"] value N"), "{c}");
    let none: [&str; 0] = [];
    assert_eq!(differences(&c, &rust), none, "{c}\n{rust}");
    Ok(())
}
