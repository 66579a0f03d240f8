//! PCP's agent in Python and ours, side by side: the same documents, the same questions, the same
//! answers, but for the deliberate differences of DIFFERENCES.md.
//!
//! Each agent runs under a pmcd of its own, with private directories; documents are files. The
//! questions are those that tools ask: `pminfo -dfmtTlI`, `pmprobe`, `pmval`, `pmstore`, dbpmda.

mod differences;
mod exporters;
mod host;
mod lines;
mod network;
mod questions;
mod scenes;
mod scripts;
mod server;
mod signals;

use std::collections::{BTreeMap, BTreeSet};

use differences::Differences;
use host::{Host, Which, documents};
use pmda_openmetrics::control::METRICS;
use questions::Answers;

/// All answers of an agent, in two rounds: with the first documents and with those that follow.
fn answers(which: Which) -> Answers {
    let host = Host::with_documents("comparison", which);
    let mut answers = Answers::new();
    {
        let pmcd = host.pmcd();
        for source in documents() {
            questions::about_source(&pmcd, &host, &source, "first", &mut answers);
        }
        questions::about_control(&pmcd, &host, &mut answers);
        host.change_documents();
        for source in documents().iter().filter(|source| source.then().is_some()) {
            questions::about_source(&pmcd, &host, source, "then", &mut answers);
        }
    }
    for (name, text) in host.tables() {
        answers.insert((host.source_of_table(&name), format!("table {name}")), text);
    }
    questions::by_dbpmda(&host, &mut answers);
    answers
}

#[test]
fn both_agents_answer_alike() {
    let theirs = answers(Which::Python);
    let ours = answers(Which::Ours);
    assert!(theirs.len() > 500, "only {} questions", theirs.len());
    println!("{} questions about {} documents", theirs.len(), documents().len());
    differences::judge(&between(&theirs, &ours));
}

/// What the two agents answer differently.
fn between(theirs: &Answers, ours: &Answers) -> Differences {
    let questions: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
    let differ = questions
        .into_iter()
        .filter(|question| theirs.get(*question) != ours.get(*question));
    let found = differ.map(|question| {
        let lines = lines_that_differ(theirs.get(question), ours.get(question));
        (question.clone(), lines)
    });
    found.collect()
}

/// The lines of one answer that the other has not; `-` Python's, `+` ours.
fn lines_that_differ(theirs: Option<&String>, ours: Option<&String>) -> String {
    let lines = |answer: Option<&String>| -> Vec<String> {
        let text = answer.map_or("(nothing)", |text| if text.is_empty() { "(yes)" } else { text });
        text.lines().map(str::to_owned).collect()
    };
    let (theirs, ours) = (lines(theirs), lines(ours));
    let only = |mark: &str, these: &[String], those: &[String]| -> String {
        let missing = these.iter().filter(|line| !those.contains(line));
        missing.map(|line| format!("  {mark} {line}\n")).collect()
    };
    only("-", &theirs, &ours) + &only("+", &ours, &theirs)
}

/// A host that changes from one agent to the other and back: numbers and names of all metrics and
/// instances stay, also of those that come up with the one or the other (OM-70 to OM-73).
#[test]
fn a_host_switches_there_and_back() {
    let host = Host::new("switching", Which::Python);
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for (step, which) in [Which::Python, Which::Ours, Which::Python, Which::Ours]
        .into_iter()
        .enumerate()
    {
        let host = host.with(which);
        host.add_document(&format!("step{step}"), &format!("a{{x=\"{step}\"}} 1\nb{step} 2\n"));
        let all: String = (0..=step)
            .rev()
            .map(|step| format!("seen{step}{{s=\"{step}\"}} {step}\n"))
            .collect();
        host.add_document("growing", &all);
        let pmcd = host.pmcd();
        let mut numbers = questions::numbers(&pmcd);
        // Only ours has them (OM-80).
        let is_own = |name: &str| {
            let metric = name
                .strip_prefix("openmetrics.control.")
                .and_then(|name| name.split('[').next());
            METRICS.iter().any(|own| !own.is_of_pcp && metric == Some(own.name))
        };
        numbers.retain(|name, _| !is_own(name));
        assert!(numbers.len() > known.len(), "{which:?}: {numbers:#?}");
        for (what, number) in &known {
            assert_eq!(numbers.get(what), Some(number), "{which:?} in step {step}: {what}");
        }
        known = numbers;
    }
}

/// What the comparison shows of the specification for both agents at once: OM-1, OM-3, OM-10,
/// OM-11, OM-12 (sources in folders, with any name), OM-18, OM-21 (filters, scripts), OM-42, OM-43
/// (types, values), OM-50, OM-51, OM-53, OM-57, OM-58 (numbers, names), OM-62, OM-63, OM-64, OM-65,
/// OM-66, OM-67, OM-68 (instances, labels), OM-71, OM-72 (files), OM-80, OM-81, OM-82, OM-83, OM-85
/// (control metrics), OM-92 (sources that fail).
#[test]
fn the_documents_are_many() {
    assert!(documents().len() >= 30);
}
