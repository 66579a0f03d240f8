//! The comparison of surveys.
//!
//! Many answers move: times, counters, load. So the C library is asked before and after ours. An
//! answer in which the C library always agrees with itself must be ours too; one that moves must
//! have the same shape, that is: the same text when numbers are left aside. A counter of the host
//! must lie between what the C library saw before and after. An answer that merely moved slowly gets
//! further chances: a difference must show in each, be the same one, and be none that the C library
//! shows between its own runs.
//!
//! Where a metric's number has moved on one instance (which processor a process is on, say), another
//! instance may have any number that the C library gave for the metric: some processes change theirs
//! in step with the runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex_lite::Regex;

use crate::survey::{Answers, Seen};

/// A question that is answered differently.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The answer of the C library; `None` when it has none.
    pub c: Option<String>,
    /// The answer of ours.
    pub ours: Option<String>,
}

impl Difference {
    /// Whether the difference of a later round is this one. An answer of ours that moves, too, is
    /// none, unless it is always of another kind than that of the C library.
    fn lasts_in(&self, later: &Difference) -> bool {
        let kind = |answer: &Option<String>| answer.as_deref().map(shape);
        let ours = kind(&later.ours);
        self == later || (kind(&self.ours) == ours && ours != kind(&later.c))
    }
}

/// The differences, by question.
pub type Differences = BTreeMap<String, Difference>;

/// The runs of the C library, each followed by one of ours but the last.
#[derive(Default, Debug)]
pub struct Comparison {
    c: Vec<Seen>,
    ours: Option<Seen>,
    lasting: Option<Differences>,
}

impl Comparison {
    /// Takes note of a run of the C library. After one of ours it ends a round.
    pub fn add_c(&mut self, seen: Seen) {
        self.c.push(seen);
        let Some(ours) = &self.ours else { return };
        if self.c.len() < 2 {
            return;
        }
        let mut found = differences(&self.c, ours);
        if let Some(lasting) = &self.lasting {
            found.retain(|question, now| lasting.get(question).is_some_and(|before| before.lasts_in(now)));
        }
        self.lasting = Some(found);
    }

    /// Takes note of a run of ours.
    pub fn add_ours(&mut self, seen: Seen) {
        self.ours = Some(seen);
    }

    /// The differences that have shown in each round.
    #[must_use]
    pub fn differences(&self) -> Option<&Differences> {
        self.lasting.as_ref()
    }

    /// What ours has seen in its last run.
    #[must_use]
    pub fn ours(&self) -> Option<&Seen> {
        self.ours.as_ref()
    }

    /// How many answers the C library has given differently itself: the host's own changes.
    #[must_use]
    pub fn moving(&self) -> usize {
        let asked: BTreeSet<&String> = self.c.iter().flat_map(|seen| seen.answers.keys()).collect();
        let first = |question: &String| self.c.first().and_then(|seen| seen.answers.get(question));
        let moves = |question: &&String| self.c.iter().any(|seen| seen.answers.get(*question) != first(question));
        asked.into_iter().filter(moves).count()
    }
}

/// The questions that ours answers differently from each run of the C library.
fn differences(truth: &[Seen], ours: &Seen) -> Differences {
    let maps: Vec<&Answers> = truth.iter().map(|seen| &seen.answers).collect();
    let mut found = of_answers(&maps, &ours.answers);
    if let [.., before, after] = truth {
        found.extend(of_counters(before, ours, after));
    }
    found
}

fn of_answers(truth: &[&Answers], ours: &Answers) -> Differences {
    let mut found = Differences::new();
    let mut note = |question: &String, c: Option<&str>, mine: Option<&str>| {
        let difference = Difference {
            c: c.map(str::to_owned),
            ours: mine.map(str::to_owned),
        };
        found.insert(question.clone(), difference);
    };
    let asked: BTreeSet<&String> = truth.iter().flat_map(|answers| answers.keys()).collect();
    // Questions that come and go on the C library (processes, for instance), with their numbers
    // left aside.
    let passing: BTreeSet<String> = asked
        .iter()
        .filter(|question| !truth.iter().all(|answers| answers.contains_key(**question)))
        .map(|question| shape(question))
        .collect();
    let choices = choices(truth);
    for question in asked.into_iter().filter(|question| !shows_the_library(question)) {
        let answers: Vec<&str> = truth
            .iter()
            .filter_map(|c| c.get(question))
            .map(String::as_str)
            .collect();
        // An answer that is gone in one run has moved as well.
        let moves = answers.len() < truth.len() || answers.iter().any(|answer| *answer != answers[0]);
        match ours.get(question).map(String::as_str) {
            None if passing.contains(&shape(question)) => {}
            None => note(question, Some(answers[0]), None),
            Some(mine) if answers.contains(&mine) => {}
            Some(mine) if is_choice(&choices, question, mine) => {}
            Some(mine) => {
                let like = answers.iter().any(|answer| shape(answer) == shape(mine));
                if !(like && (moves || measures_itself(question))) {
                    note(question, Some(answers[0]), Some(mine));
                }
            }
        }
    }
    for (question, mine) in ours.iter().filter(|(question, _)| !shows_the_library(question)) {
        if !truth.iter().any(|answers| answers.contains_key(question)) && !passing.contains(&shape(question)) {
            note(question, None, Some(mine));
        }
    }
    found
}

/// The numbers that the C library has given for each metric on which one has moved, however it was
/// asked for.
type Choices<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn choices<'a>(truth: &[&'a Answers]) -> Choices<'a> {
    let mut found = Choices::new();
    let (mut first, mut moving) = (BTreeMap::new(), BTreeSet::new());
    for (question, answer) in truth.iter().copied().flatten() {
        let Some(value) = value_asked(question).filter(|_| !answer.contains('"')) else {
            continue;
        };
        found.entry(value.0).or_default().insert(answer.as_str());
        if *first.entry(value).or_insert(answer) != answer {
            moving.insert(value.0);
        }
    }
    found.retain(|metric, _| moving.contains(metric));
    found
}

fn is_choice(choices: &Choices<'_>, question: &str, answer: &str) -> bool {
    let numbers = value_asked(question).and_then(|(metric, _)| choices.get(metric));
    numbers.is_some_and(|numbers| numbers.contains(answer))
}

/// The metric and the instance whose value is asked for.
fn value_asked(question: &str) -> Option<(&str, &str)> {
    let (metric, rest) = question.split_once(" fetch ")?;
    let (_, instance) = rest.split_once(" value of ")?;
    Some((metric, instance))
}

/// The counters of the host (those that have gone on between the two runs of the C library) that
/// ours shows lower than before, or higher than after.
fn of_counters(before: &Seen, ours: &Seen, after: &Seen) -> Differences {
    let mut found = Differences::new();
    for (counter, (first, last)) in &ours.counters {
        let (Some(before), Some(after)) = (before.counters.get(counter), after.counters.get(counter)) else {
            continue;
        };
        let goes_on = before.0 <= before.1 && before.1 <= after.0;
        if goes_on && (*first < before.1 || *last > after.0) && !measures_itself(&format!("{counter} fetch ")) {
            let difference = Difference {
                c: Some("rises from run to run".to_owned()),
                ours: Some(if *first < before.1 { "went back" } else { "went ahead" }.to_owned()),
            };
            found.insert(format!("{counter} as a counter"), difference);
        }
    }
    found
}

/// Whether a metric measures the agents' own processes, of which the library is a part: the memory
/// and the processor time that they take, how much of their files another process shares with them,
/// how many files, inodes and directory entries the machine has open, and how many processes it has
/// and runs at the moment.
fn measures_itself(question: &str) -> bool {
    static VALUES: LazyLock<Regex> = LazyLock::new(|| {
        let own = [
            r"(pmcd|sample)\.datasize",
            r"pmcd\.cputime\.[a-z_]+",
            r"simple\.time\.[a-z]+",
            r"(hot)?proc\.smaps\.[a-z_]+",
            r"vfs\.[a-z.]+",
            r"kernel\.all\.(nprocs|runnable|running|blocked)",
            r"proc\.(nprocs|runq\.[a-z]+)",
        ];
        Regex::new(&format!("^({}) (fetch|of|pminfo) ", own.join("|"))).expect("a valid pattern")
    });
    VALUES.is_match(question)
}

/// Whether an answer names the library: what the agents' own processes have mapped, a line for each
/// part of each file.
fn shows_the_library(question: &str) -> bool {
    ["proc.memory.maps ", "hotproc.memory.maps "].iter().any(|metric| {
        let rest = question.strip_prefix(metric).unwrap_or_default();
        ["fetch ", "of ", "pminfo "].iter().any(|asked| rest.starts_with(asked))
    })
}

/// A text with its numbers and the contents of its quotes left aside.
fn shape(text: &str) -> String {
    static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""([^"\\]|\\.)*""#).expect("a valid pattern"));
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[-+]?[0-9][0-9a-fA-FxX.]*(e[-+]?[0-9]+)?|\b(inf|nan|NaN)\b").expect("a valid pattern")
    });
    NUMBER.replace_all(&QUOTED.replace_all(text, "TEXT"), "N").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(answers: &[(&str, &str)], counters: &[(&str, i128)]) -> Seen {
        Seen {
            answers: answers
                .iter()
                .map(|(question, answer)| ((*question).into(), (*answer).into()))
                .collect(),
            counters: counters
                .iter()
                .map(|(name, value)| ((*name).into(), (*value, *value)))
                .collect(),
            ..Seen::default()
        }
    }

    fn round(before: Seen, ours: Seen, after: Seen) -> Vec<String> {
        let mut comparison = Comparison::default();
        comparison.add_c(before);
        comparison.add_ours(ours);
        comparison.add_c(after);
        comparison.differences().expect("a round").keys().cloned().collect()
    }

    #[test]
    fn what_stands_must_be_the_same() {
        let c = || seen(&[("a", "1"), ("b", "\"x\"")], &[]);
        assert!(round(c(), c(), c()).is_empty());
        assert_eq!(round(c(), seen(&[("a", "2"), ("b", "\"x\"")], &[]), c()), ["a"]);
        assert_eq!(round(c(), seen(&[("a", "1")], &[]), c()), ["b"]);
        assert_eq!(
            round(c(), seen(&[("a", "1"), ("b", "\"x\""), ("c", "")], &[]), c()),
            ["c"]
        );
    }

    /// What moves on the C library has the same shape on ours; what comes and goes there may do so.
    #[test]
    fn what_moves_has_a_shape() {
        let c = |value: &str| seen(&[("load", value)], &[]);
        assert!(round(c("float 1.5"), c("float 7"), c("float 2")).is_empty());
        assert_eq!(round(c("float 1.5"), c("error"), c("float 2")), ["load"]);
        let gone = seen(&[("process 12", "1")], &[]);
        assert!(round(gone.clone(), seen(&[("process 13", "1")], &[]), seen(&[], &[])).is_empty());
        assert!(round(gone, seen(&[("process 12", "2")], &[]), seen(&[], &[])).is_empty());
    }

    /// One instance on which the C library's answer moves, between two fetches say, is enough for a
    /// metric of numbers, as far as they are the C library's; texts have to move themselves.
    #[test]
    fn numbers_that_the_host_chooses() {
        let seen = |value: &str, other: &str, text: &str| {
            seen(
                &[
                    ("processor fetch 1 value of 36", value),
                    ("processor fetch 1 value of 37", "format 0 0"),
                    ("processor fetch 2 value of 37", "format 0 1"),
                    ("threads fetch 1 value of 36", other),
                    ("name fetch 1 value of 36", text),
                    ("name fetch 1 value of 37", "format 1 \"a\""),
                    ("name fetch 2 value of 37", "format 1 \"b\""),
                ],
                &[],
            )
        };
        let c = || seen("format 0 1", "format 0 1", "format 1 \"c\"");
        let ours = seen("format 0 0", "format 0 2", "format 1 \"a\"");
        let differ = ["name fetch 1 value of 36", "threads fetch 1 value of 36"];
        assert_eq!(round(c(), ours, c()), differ);
        for wrong in ["format 0 7", "error"] {
            let ours = seen(wrong, "format 0 1", "format 1 \"c\"");
            assert_eq!(round(c(), ours, c()), ["processor fetch 1 value of 36"]);
        }
    }

    #[test]
    fn counters_lie_between() {
        let c = |value| seen(&[], &[("reads", value)]);
        assert!(round(c(5), c(6), c(7)).is_empty());
        assert_eq!(round(c(5), c(4), c(7)), ["reads as a counter"]);
        assert_eq!(round(c(5), c(9), c(7)), ["reads as a counter"]);
        // It starts again with each pmcd.
        assert!(round(c(9), c(3), c(8)).is_empty());
        // So does the time that a pmcd has taken, even if the second takes as much as the first.
        let own = |value| seen(&[], &[("pmcd.cputime.total of -1", value)]);
        assert!(round(own(10), own(30), own(20)).is_empty());
    }

    /// A difference must show again, with the same answer.
    #[test]
    fn a_difference_lasts() {
        let mut comparison = Comparison::default();
        let c = || seen(&[("a", "1")], &[]);
        comparison.add_c(c());
        for (answer, differences) in [("2", 1), ("3", 0)] {
            comparison.add_ours(seen(&[("a", answer)], &[]));
            comparison.add_c(c());
            assert_eq!(comparison.differences().map(BTreeMap::len), Some(differences));
        }
        let mut comparison = Comparison::default();
        comparison.add_c(seen(&[("load", "float 1")], &[]));
        for answer in ["string \"x\"", "string \"y\""] {
            comparison.add_ours(seen(&[("load", answer)], &[]));
            comparison.add_c(seen(&[("load", "float 2")], &[]));
            assert_eq!(comparison.differences().map(BTreeMap::len), Some(1), "{answer}");
        }
    }

    /// A process that has mapped the C library as well shares it with the agents of its runs alone.
    #[test]
    fn what_is_shared_depends_on_the_library() {
        let private = |kib: &'static str| seen(&[("proc.smaps.private_clean fetch 1 value of 7", kib)], &[]);
        assert!(round(private("U64 0"), private("U64 12"), private("U64 0")).is_empty());
        assert_eq!(round(private("U64 0"), private("error"), private("U64 0")).len(), 1);
    }

    /// What is mapped is the library itself; its description is compared.
    #[test]
    fn maps_name_the_library() {
        let line = |text: &'static str| seen(&[("proc.memory.maps pminfo line 604 #1", text)], &[]);
        let help = |text: &'static str| seen(&[("proc.memory.maps help #1", text)], &[]);
        let c = [line("r-xp /lib/libc.so.6"), line("r-xp /lib/libc.so.6")];
        assert!(differences(&c, &line("r-xp /lib/libnss.so")).is_empty());
        assert_eq!(differences(&[help("maps"), help("maps")], &help("cut")).len(), 1);
    }
}
