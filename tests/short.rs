//! The short calls of the finished library have no panic guard (`boundary::short`): so nothing in
//! them can panic. All that they call is the function that does the whole work under the guard, and
//! the C library's `strlen` and `memcpy`.

#![cfg(target_arch = "x86_64")]

use std::process::Command;

use pcp_pmda_test::root;
use regex::Regex;

/// The exported functions that begin with a short call.
const SHORT: [&str; 9] = [
    "pmdaCacheOp",
    "pmdaEventAddHighResParam",
    "pmdaEventAddHighResRecord",
    "pmdaEventAddParam",
    "pmdaEventAddRecord",
    "pmdaEventHighResAddParam",
    "pmdaGetHelp",
    "pmdaGetInDomHelp",
    "pmdaText",
];

/// The step of `pmdaEventQueueRecords` between two events, by the end of its symbol.
const STEP: &str = "10QueueFetch12resume_short";

/// Parts of them: adding a parameter that is a number or a text, and the search for a help text.
const PARTS: [&str; 3] = ["16number_parameter", "14text_parameter", "8Database10search_all"];

/// The three that add a parameter are one function.
const FUNCTIONS: usize = SHORT.len() - 2 + 1 + PARTS.len();

/// What they may go on with: the other way, or one of the parts above.
const OTHER_WAY: [&str; 9] = [
    "guard_out_of_line",
    "apart",
    "persist",
    "operate",
    "number_parameter",
    "text_parameter",
    "search_all",
    "other_parameter",
    "other_text",
];

#[test]
fn short_calls_cannot_panic() {
    // Fresh when `make check` has built it.
    let built = Command::new(root().join("packaging/build.sh")).status();
    assert!(built.expect("a script").success());
    let folder = std::fs::read_to_string(root().join("target/built")).expect("written by the script");
    let output = Command::new("objdump")
        .args(["-d", "--no-show-raw-insn"])
        .arg(format!("{}/libpcp_pmda.so", folder.trim()))
        .output()
        .expect("binutils are installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let head = Regex::new(r"^[0-9a-f]+ <(.*)>:$").expect("valid");
    let jump = Regex::new(r"\t(?:call|j[a-z]+) +[0-9a-f]+ <([^+>]+)").expect("valid");
    let indirect = Regex::new(r"\t(?:call|jmp) +\*").expect("valid");
    let is_short =
        |name: &str| SHORT.contains(&name) || name.contains(STEP) || PARTS.iter().any(|part| name.contains(part));
    // They read and copy texts, and cannot fail.
    let is_of_texts = |line: &str| line.contains("<strlen@") || line.contains("<memcpy@");
    let (mut seen, mut name) = (0, String::new());
    for line in text.lines() {
        if let Some(found) = head.captures(line) {
            name = found[1].to_owned();
            seen += usize::from(is_short(&name));
            continue;
        }
        if !is_short(&name) {
            continue;
        }
        assert!(!indirect.is_match(line) || is_of_texts(line), "{name}: {line}");
        if let Some(target) = jump.captures(line) {
            let target = &target[1];
            let is_other_way = OTHER_WAY
                .iter()
                .any(|way| target.contains(&format!("{}{way}", way.len())));
            assert!(target == name || is_other_way, "{name} calls {target}");
        }
    }
    assert_eq!(seen, FUNCTIONS, "functions that were found");
}
