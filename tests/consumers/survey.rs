//! A client's view of an agent, as a map from question to answer, and the comparison of such maps
//! of the C library and of ours: that of `pcp-pmda-rust compare`, with stores.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use pcp_pmda_rust_compare::client::Client;
use pcp_pmda_rust_compare::difference::Comparison;
pub use pcp_pmda_rust_compare::survey::Answers;
use pcp_pmda_rust_compare::survey::{self, Extent, Survey};
use pcp_pmda_test::pcp::Pmcd;
use pcp_pmda_test::{compile_c, profile_dir, root};

/// The number of rounds in which a difference must show before it counts; a difference of values
/// alone needs more, as in the comparison.
const ATTEMPTS: usize = 5;

/// The survey of a local context, which only libpcp has; compiled once.
pub fn local() -> PathBuf {
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
    let extent = Extent {
        fetches: 1,
        stores: true,
    };
    let asked = || {
        let mut client = Client::connect(&pmcd.socket())?;
        let metrics = survey::metrics(&mut client)?;
        let mut answers = Answers::new();
        for (domain, metrics) in metrics {
            let survey = survey::take(&mut Client::connect(&pmcd.socket())?, &metrics, extent)?;
            // Of several agents each has domain labels and clusters.
            let of_agent = |(question, answer): (String, String)| {
                let is_shared = question.starts_with("domain ") || question.starts_with("cluster ");
                let name = if is_shared {
                    format!("{question} of {domain}")
                } else {
                    question
                };
                (name, answer)
            };
            answers.extend(survey.answers.into_iter().map(of_agent));
        }
        Ok(answers)
    };
    asked().map_err(|error: pmda_core::error::Error| format!("the survey ended with {error}:\n{}", pmcd.log()))
}

/// Reads the lines of the survey client; a question that is asked twice gets a number.
pub fn parse(text: &str) -> Answers {
    let mut answers = Answers::new();
    let mut counts = BTreeMap::<&str, usize>::new();
    for line in text.lines() {
        let (question, answer) = line.split_once('\t').unwrap_or((line, ""));
        let count = counts.entry(question).or_default();
        *count += 1;
        answers.insert(format!("{question} #{count}"), answer.to_owned());
    }
    answers
}

/// The lines of a text as answers to their numbers, which begin anew with each command of dbpmda:
/// an instance more, as sockets come and go, moves no answer to another command.
pub fn lines(what: &str, text: &str) -> Answers {
    let (mut answers, mut command, mut number) = (Answers::new(), 0, 0);
    for line in text.lines() {
        number += 1;
        if line.starts_with("dbpmda> ") {
            (command, number) = (command + 1, 1);
        }
        answers.insert(format!("{what} command {command} line {number}"), line.to_owned());
    }
    answers
}

/// Compares surveys taken by `c` and `ours`: in the order C, ours, C, and again while there are
/// differences.
pub fn compare(
    mut c: impl FnMut() -> Result<Answers, String>,
    mut ours: impl FnMut() -> Result<Answers, String>,
) -> Result<usize, String> {
    let survey = |answers| Survey {
        answers,
        ..Survey::default()
    };
    let mut comparison = Comparison::default();
    comparison.add_c(survey(c()?));
    let mut rounds = 0;
    while rounds < ATTEMPTS || comparison.is_open(rounds) {
        comparison.add_ours(survey(ours()?));
        comparison.add_c(survey(c()?));
        rounds += 1;
        if comparison.differences().is_some_and(BTreeMap::is_empty) {
            return Ok(comparison.ours().map_or(0, |ours| ours.answers.len()));
        }
    }
    let differences = comparison.differences().cloned().unwrap_or_default();
    let shown = differences.iter().take(12).map(|(question, found)| {
        let (c, ours) = (found.c.as_deref(), found.ours.as_deref());
        let shown = |answer: Option<&str>| answer.unwrap_or("(no answer)").to_owned();
        format!(
            "  {question}\n    C library: {}\n    ours:      {}\n",
            shown(c),
            shown(ours)
        )
    });
    let shown: String = shown.collect();
    Err(format!(
        "{} answers differ, the first of them:\n{shown}",
        differences.len()
    ))
}
