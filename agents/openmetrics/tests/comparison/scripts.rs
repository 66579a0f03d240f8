//! Sources that are scripts: slow ones, and what they start and leave behind.

use std::fs;

use crate::between;
use crate::differences;
use crate::host::{Host, Which};
use crate::questions::Answers;

/// How long what a script leaves behind would go on: a number that no other test has.
const LEFTOVER: &str = "4.0625";

const SCRIPTS: [(&str, &str); 5] = [
    ("kill.sh", "sleep 30 & child=$!\nkill $child\nwait $child\necho code $?"),
    (
        "coproc.sh",
        "(while :; do sleep 0.1; done) >/dev/null 2>&1 & child=$!\necho 'a 1'\nkill $child",
    ),
    ("slow.sh", "sleep 3\necho 'slow 1'"),
    ("leftover.sh", "sleep 4.0625 &\necho 'a 1'"),
    ("quiet.sh", "exec 2>&-\necho 'a 1'"),
];

/// Processes with this word among their arguments.
fn running(word: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("there is one").flatten();
    let commands = processes.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    commands
        .filter(|command| command.split('\0').any(|argument| argument == word))
        .count()
}

/// When a script ends, its children are ended; a slow script has values; output of an earlier fetch
/// does not get into the next one (OM-21, OM-90).
#[test]
fn scripts() {
    let scene = |which| {
        let host = Host::new("scripts", which);
        for (name, commands) in SCRIPTS {
            host.add_script(name, commands);
        }
        let mut answers = Answers::new();
        let pmcd = host.pmcd();
        for round in 0..2 {
            for metric in ["kill.code", "coproc.a", "slow.slow", "leftover.a", "quiet.a"] {
                // Ours is ready before the slow one has answered (OM-2).
                let has_value = |answer: &str| answer.contains("    value ");
                let answer = pmcd.tool_until("pminfo", &["-f", &format!("openmetrics.{metric}")], has_value);
                let answer = answer.unwrap_or_else(|answer| panic!("{which:?}: {answer}"));
                answers.insert((metric.to_owned(), round.to_string()), answer);
            }
        }
        if which == Which::Ours {
            assert_eq!(running(LEFTOVER), 0);
        }
        answers
    };
    let [theirs, ours] = [Which::Python, Which::Ours].map(scene);
    differences::judge_equal(&between(&theirs, &ours));
}
