//! What a client sees of an agent, as a map from question to answer, and the comparison of such
//! maps.
//!
//! Many answers move: times, counters, load. So the C library is asked before and after ours. An
//! answer in which the C library always agrees with itself must be ours too; one that moves must
//! have the same shape, that is: the same text when numbers are left aside. An answer that merely
//! moved slowly gets further chances: a difference must show in each, be the same one, and be none
//! that the C library shows between its own runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use regex::Regex;

use pcp_pmda_test::pcp::Pmcd;
use pcp_pmda_test::run::bounded;
use pcp_pmda_test::{compile_c, profile_dir, root};

/// The answers of one survey, by question.
pub type Answers = BTreeMap<String, String>;

/// How often a difference must show before it counts.
const ATTEMPTS: usize = 5;

/// The survey client, compiled once.
pub fn client() -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let program = profile_dir().join("test-survey");
        compile_c(&root().join("tests/consumers/survey.c"), &program, &[]);
        program
    })
    .clone()
}

/// Asks `pmcd` everything about its metrics; stores each value back.
pub fn of(pmcd: &Pmcd<'_>) -> Result<Answers, String> {
    let mut command = pmcd.client(client());
    command.arg("-s").arg(pmcd.host());
    let outcome = bounded(command, Duration::from_secs(45));
    if outcome.end != "exit 0" {
        let errors = String::from_utf8_lossy(&outcome.stderr).into_owned();
        return Err(format!(
            "the survey ended with {}: {errors}\n{}",
            outcome.end,
            pmcd.log()
        ));
    }
    Ok(parse(&String::from_utf8_lossy(&outcome.stdout)))
}

/// Reads the lines of the survey client; a question that is asked twice gets a number.
pub fn parse(text: &str) -> Answers {
    let mut answers = Answers::new();
    let mut seen = BTreeMap::<&str, usize>::new();
    for line in text.lines() {
        let (question, answer) = line.split_once('\t').unwrap_or((line, ""));
        let count = seen.entry(question).or_default();
        *count += 1;
        answers.insert(format!("{question} #{count}"), answer.to_owned());
    }
    answers
}

/// The lines of a text as answers to their numbers.
pub fn lines(what: &str, text: &str) -> Answers {
    let numbered = text.lines().enumerate();
    numbered
        .map(|(number, line)| (format!("{what} line {number}"), line.to_owned()))
        .collect()
}

/// Compares surveys taken by `c` and `ours`: in the order C, ours, C, and again while there are
/// differences.
pub fn compare(
    mut c: impl FnMut() -> Result<Answers, String>,
    mut ours: impl FnMut() -> Result<Answers, String>,
) -> Result<usize, String> {
    let mut truth = vec![c()?];
    let mut lasting: Option<BTreeMap<String, String>> = None;
    for _ in 0..ATTEMPTS {
        let mine = ours()?;
        truth.push(c()?);
        let mut found = differences(&truth, &mine);
        if let Some(lasting) = &lasting {
            // The text holds our answer: one that moved on ours, too, is no lasting difference.
            found.retain(|question, text| lasting.get(question) == Some(text));
        }
        if found.is_empty() {
            return Ok(mine.len());
        }
        lasting = Some(found);
    }
    let lasting = lasting.unwrap_or_default();
    let shown: String = lasting.values().take(12).map(|text| format!("{text}\n")).collect();
    Err(format!("{} answers differ, the first of them:\n{shown}", lasting.len()))
}

/// The questions that ours answers differently from each run of the C library.
fn differences(truth: &[Answers], ours: &Answers) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut note = |question: &String, c: &str, mine: &str| {
        found.insert(
            question.clone(),
            format!("  {question}\n    C library: {c}\n    ours:      {mine}"),
        );
    };
    let asked: BTreeSet<&String> = truth.iter().flat_map(BTreeMap::keys).collect();
    // Questions that come and go on the C library (processes, for instance), with their numbers
    // left aside.
    let passing: BTreeSet<String> = asked
        .iter()
        .filter(|question| !truth.iter().all(|answers| answers.contains_key(**question)))
        .map(|question| shape(question))
        .collect();
    for question in asked {
        let answers: Vec<&str> = truth
            .iter()
            .filter_map(|c| c.get(question))
            .map(String::as_str)
            .collect();
        let moves = answers.iter().any(|answer| *answer != answers[0]);
        match ours.get(question).map(String::as_str) {
            None if passing.contains(&shape(question)) => {}
            None => note(question, answers[0], "(no answer)"),
            Some(mine) if answers.contains(&mine) => {}
            Some(mine) => {
                let like = answers.iter().any(|answer| shape(answer) == shape(mine));
                if !(like && (moves || measures_itself(question))) {
                    note(question, answers[0], mine);
                }
            }
        }
    }
    for (question, mine) in ours {
        if !truth.iter().any(|answers| answers.contains_key(question)) && !passing.contains(&shape(question)) {
            note(question, "(no answer)", mine);
        }
    }
    found
}

/// Whether a metric measures the agents' own processes, of which the library is a part: the memory
/// that they have, how many files, inodes and directory entries the machine has open, and how many
/// processes it has and runs at the moment.
fn measures_itself(question: &str) -> bool {
    static VALUES: LazyLock<Regex> = LazyLock::new(|| {
        let own = r"(pmcd|sample)\.datasize|vfs\.[a-z.]+|kernel\.all\.(nprocs|runnable|running|blocked)|proc\.(nprocs|runq\.[a-z]+)";
        Regex::new(&format!("^({own}) (fetch|pminfo) ")).expect("a valid pattern")
    });
    VALUES.is_match(question)
}

/// A text with its numbers and the contents of its quotes left aside.
fn shape(text: &str) -> String {
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""([^"\\]|\\.)*""#).expect("a valid pattern"));
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[-+]?[0-9][0-9a-fA-FxX.]*(e[-+]?[0-9]+)?|(?-u:\b)(inf|nan)(?-u:\b)").expect("a valid pattern")
    });
    NUMBER.replace_all(&QUOTED.replace_all(text, "TEXT"), "N").into_owned()
}
