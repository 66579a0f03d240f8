//! The comparison of surveys.
//!
//! Many answers move: times, counters, load. So the C library is asked before and after ours. An
//! answer in which the C library always agrees with itself must be ours too; one that moves must
//! have the same shape, that is: the same text when numbers are left aside. A counter of the host
//! must lie between what the C library saw before and after. An answer that merely moved slowly
//! gets further chances: a difference must show in each, be the same one, and be none that the C
//! library shows between its own runs.
//!
//! Values that differ may do so by chance: some processes are on the one processor in each run of
//! the C library, and on the other in each of ours. They get more rounds than other answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex_lite::Regex;

use crate::survey::{Answers, Survey};

/// In how many rounds a difference must show.
pub const ROUNDS: usize = 3;
/// The same where values alone differ.
const ROUNDS_OF_VALUES: usize = 8;

/// A question that is answered differently.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The answer of the C library; `None` when it has none.
    pub c: Option<String>,
    /// The answer of ours.
    pub ours: Option<String>,
}

impl Difference {
    /// Returns whether the difference of a later round is this one. An answer of ours that moves,
    /// too, is none, unless it is always of another kind than that of the C library.
    fn lasts_in(&self, later: &Difference) -> bool {
        let kind = |answer: &Option<String>| answer.as_deref().map(shape);
        let ours = kind(&later.ours);
        self == later || (kind(&self.ours) == ours && ours != kind(&later.c))
    }
}

/// The differences, by question.
pub type Differences = BTreeMap<String, Difference>;

/// The runs of the C library, each followed by runs of ours but the last.
#[derive(Default, Debug)]
pub struct Comparison {
    c: Vec<Survey>,
    ours: Option<Survey>,
    lasting: Option<Differences>,
}

impl Comparison {
    /// Takes note of a run of the C library. After one of ours it ends a round.
    pub fn add_c(&mut self, survey: Survey) {
        self.c.push(survey);
        let Some(ours) = &self.ours else { return };
        if self.c.len() < 2 {
            return;
        }
        let mut differences = differences(&self.c, ours);
        if let Some(lasting) = &self.lasting {
            differences.retain(|question, now| lasting.get(question).is_some_and(|before| before.lasts_in(now)));
        }
        self.lasting = Some(differences);
    }

    /// Takes note of a run of ours, in place of the one before: a difference must show in each.
    pub fn add_ours(&mut self, survey: Survey) {
        self.ours = Some(survey);
    }

    /// Returns whether the agent has answered in a run of the C library.
    #[must_use]
    pub fn has_run(&self) -> bool {
        !self.c.is_empty()
    }

    /// The differences that have shown in each round.
    #[must_use]
    pub fn differences(&self) -> Option<&Differences> {
        self.lasting.as_ref()
    }

    /// Returns whether another round can tell more, after this number of them.
    #[must_use]
    pub fn is_open(&self, rounds: usize) -> bool {
        let Some(lasting) = &self.lasting else {
            return rounds == 0;
        };
        let by_chance = lasting.keys().all(|question| question.contains(" value of "));
        !lasting.is_empty() && rounds < if by_chance { ROUNDS_OF_VALUES } else { ROUNDS }
    }

    /// The survey of the last run on ours.
    #[must_use]
    pub fn ours(&self) -> Option<&Survey> {
        self.ours.as_ref()
    }

    /// The number of answers that differ between runs of the C library: the host's own changes.
    #[must_use]
    pub fn moving(&self) -> usize {
        let asked: BTreeSet<&String> = self.c.iter().flat_map(|survey| survey.answers.keys()).collect();
        let first = |question: &String| self.c.first().and_then(|survey| survey.answers.get(question));
        let moves = |question: &&String| {
            self.c
                .iter()
                .any(|survey| survey.answers.get(*question) != first(question))
        };
        asked.into_iter().filter(moves).count()
    }
}

/// The questions that ours answers differently from each run of the C library.
fn differences(truth: &[Survey], ours: &Survey) -> Differences {
    let maps: Vec<&Answers> = truth.iter().map(|survey| &survey.answers).collect();
    let mut differences = of_answers(&maps, &ours.answers);
    if let [.., before, after] = truth {
        differences.extend(of_counters(before, ours, after));
    }
    differences
}

fn of_answers(truth: &[&Answers], ours: &Answers) -> Differences {
    let mut differences = Differences::new();
    let mut note = |question: &String, c: Option<&str>, mine: Option<&str>| {
        let difference = Difference {
            c: c.map(str::to_owned),
            ours: mine.map(str::to_owned),
        };
        differences.insert(question.clone(), difference);
    };
    let asked: BTreeSet<&String> = truth.iter().flat_map(|answers| answers.keys()).collect();
    // Questions that come and go on the C library (processes, for instance), with their numbers
    // left aside.
    let passing: BTreeSet<String> = asked
        .iter()
        .filter(|question| !truth.iter().all(|answers| answers.contains_key(**question)))
        .map(|question| shape(question))
        .collect();
    for question in asked.into_iter().filter(|question| !shows_the_library(question)) {
        let answers: Vec<&str> = truth
            .iter()
            .filter_map(|c| c.get(question))
            .map(String::as_str)
            .collect();
        // An answer that is missing in one run has moved as well.
        let moves = answers.len() < truth.len() || answers.iter().any(|answer| *answer != answers[0]);
        match ours.get(question).map(String::as_str) {
            None if passing.contains(&shape(question)) || is_worse_alone(question) => {}
            None => note(question, Some(answers[0]), None),
            Some(mine) if answers.iter().any(|answer| is_same(answer, mine)) => {}
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
    differences
}

/// The counters of the host that have grown between the two runs of the C library, and that ours
/// shows lower than the first run or higher than the second.
fn of_counters(before: &Survey, ours: &Survey, after: &Survey) -> Differences {
    let mut differences = Differences::new();
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
            differences.insert(format!("{counter} as a counter"), difference);
        }
    }
    differences
}

/// Returns whether a metric measures the agents' own processes, of which the library is a part: the
/// memory and the processor time that they take, how much of their files another process shares
/// with them, how many files, inodes and directory entries the machine has open, and how many
/// processes it has and runs at the moment.
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

/// Returns whether an answer names the library: what the agents' own processes have mapped, a line
/// for each part of each file.
fn shows_the_library(question: &str) -> bool {
    ["proc.memory.maps ", "hotproc.memory.maps "].iter().any(|metric| {
        let rest = question.strip_prefix(metric).unwrap_or_default();
        ["fetch ", "of ", "pminfo "].iter().any(|asked| rest.starts_with(asked))
    })
}

/// Returns whether an answer that only the C library gives is no fault of ours: a counter that goes
/// back with the C library. Agents without numbers show such counters: pmdalustrecomm, on a host
/// without Lustre, sends memory that it has never written.
fn is_worse_alone(question: &str) -> bool {
    question.ends_with(" goes back")
}

/// Returns whether two answers are the same. What a worker of the kernel does at the moment is left
/// aside: its name ends in it, as in `kworker/1:0-events`.
fn is_same(one: &str, other: &str) -> bool {
    static WORKER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"(kworker/[^-+"\s)]*)[-+][^"\s)]*"#).expect("a valid pattern"));
    let workers = |text| WORKER.replace_all(text, "$1").into_owned();
    one == other || (one.contains("kworker/") && workers(one) == workers(other))
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

    fn survey(answers: &[(&str, &str)], counters: &[(&str, i128)]) -> Survey {
        Survey {
            answers: answers
                .iter()
                .map(|(question, answer)| ((*question).into(), (*answer).into()))
                .collect(),
            counters: counters
                .iter()
                .map(|(name, value)| ((*name).into(), (*value, *value)))
                .collect(),
            ..Survey::default()
        }
    }

    fn round(before: Survey, ours: Survey, after: Survey) -> Vec<String> {
        let mut comparison = Comparison::default();
        comparison.add_c(before);
        comparison.add_ours(ours);
        comparison.add_c(after);
        comparison.differences().expect("a round").keys().cloned().collect()
    }

    #[test]
    fn what_stands_must_be_the_same() {
        let c = || survey(&[("a", "1"), ("b", "\"x\"")], &[]);
        assert!(round(c(), c(), c()).is_empty());
        assert_eq!(round(c(), survey(&[("a", "2"), ("b", "\"x\"")], &[]), c()), ["a"]);
        assert_eq!(round(c(), survey(&[("a", "1")], &[]), c()), ["b"]);
        assert_eq!(
            round(c(), survey(&[("a", "1"), ("b", "\"x\""), ("c", "")], &[]), c()),
            ["c"]
        );
    }

    /// An answer that moves on the C library has the same shape on ours; one that comes and goes on
    /// the C library may do so on ours.
    #[test]
    fn what_moves_has_a_shape() {
        let c = |value: &str| survey(&[("load", value)], &[]);
        assert!(round(c("float 1.5"), c("float 7"), c("float 2")).is_empty());
        assert_eq!(round(c("float 1.5"), c("error"), c("float 2")), ["load"]);
        let gone = survey(&[("process 12", "1")], &[]);
        assert!(round(gone.clone(), survey(&[("process 13", "1")], &[]), survey(&[], &[])).is_empty());
        assert!(round(gone, survey(&[("process 12", "2")], &[]), survey(&[], &[])).is_empty());
    }

    #[test]
    fn counters_lie_between() {
        let c = |value| survey(&[], &[("reads", value)]);
        assert!(round(c(5), c(6), c(7)).is_empty());
        assert_eq!(round(c(5), c(4), c(7)), ["reads as a counter"]);
        assert_eq!(round(c(5), c(9), c(7)), ["reads as a counter"]);
        // The counter starts again with each pmcd.
        assert!(round(c(9), c(3), c(8)).is_empty());
        // So does the time that a pmcd has taken, even if the second takes as much as the first.
        let own = |value| survey(&[], &[("pmcd.cputime.total of -1", value)]);
        assert!(round(own(10), own(30), own(20)).is_empty());
    }

    /// A counter that goes back is a fault of ours where it does not on the C library, and none the
    /// other way round.
    #[test]
    fn counters_that_go_back() {
        let back = || survey(&[("reads of 1 goes back", "yes")], &[]);
        let on = || survey(&[], &[]);
        assert_eq!(round(on(), back(), on()), ["reads of 1 goes back"]);
        assert!(round(back(), on(), back()).is_empty());
        assert!(round(back(), back(), back()).is_empty());
    }

    /// A worker of the kernel has other work at another time, and stays the same worker.
    #[test]
    fn workers_of_the_kernel() {
        let answer = |text: &str| survey(&[("proc.psinfo.cmd fetch all value of 7", text)], &[]);
        let events = || answer("string \"kworker/1:0-events\"");
        assert!(round(events(), answer("string \"kworker/1:0-mm_percpu_wq\""), events()).is_empty());
        assert!(round(events(), answer("string \"kworker/1:0\""), events()).is_empty());
        assert_eq!(
            round(events(), answer("string \"kworker/1:1-events\""), events()).len(),
            1
        );
        assert_eq!(round(events(), answer("string \"events\""), events()).len(), 1);
    }

    /// A difference must show again, with the same answer.
    #[test]
    fn a_difference_lasts() {
        let mut comparison = Comparison::default();
        let c = || survey(&[("a", "1")], &[]);
        comparison.add_c(c());
        for (answer, differences) in [("2", 1), ("3", 0)] {
            comparison.add_ours(survey(&[("a", answer)], &[]));
            comparison.add_c(c());
            assert_eq!(comparison.differences().map(BTreeMap::len), Some(differences));
        }
        let mut comparison = Comparison::default();
        comparison.add_c(survey(&[("load", "float 1")], &[]));
        for answer in ["string \"x\"", "string \"y\""] {
            comparison.add_ours(survey(&[("load", answer)], &[]));
            comparison.add_c(survey(&[("load", "float 2")], &[]));
            assert_eq!(comparison.differences().map(BTreeMap::len), Some(1), "{answer}");
        }
    }

    /// A process that has mapped the C library as well shares it with the agents of its runs alone.
    #[test]
    fn what_is_shared_depends_on_the_library() {
        let private = |kib: &'static str| survey(&[("proc.smaps.private_clean fetch 1 value of 7", kib)], &[]);
        assert!(round(private("U64 0"), private("U64 12"), private("U64 0")).is_empty());
        assert_eq!(round(private("U64 0"), private("error"), private("U64 0")).len(), 1);
    }

    /// Differences of values alone last longer.
    #[test]
    fn rounds() {
        let mut comparison = Comparison::default();
        let c = |text: &str| survey(&[("a fetch 1 value of 3", "1"), ("a help line", text)], &[]);
        assert!(comparison.is_open(0));
        comparison.add_c(c("x"));
        let mut rounds = |ours: &str, lasting: [bool; 3]| {
            comparison.add_ours(survey(&[("a fetch 1 value of 3", "2"), ("a help line", ours)], &[]));
            comparison.add_c(c("x"));
            assert_eq!([2, 3, 8].map(|rounds| comparison.is_open(rounds)), lasting);
        };
        rounds("y", [true, false, false]);
        rounds("x", [true, true, false]);
    }

    /// The mapped files name the library itself, so they are not compared; their description is.
    #[test]
    fn maps_name_the_library() {
        let line = |text: &'static str| survey(&[("proc.memory.maps pminfo line 604 #1", text)], &[]);
        let help = |text: &'static str| survey(&[("proc.memory.maps help #1", text)], &[]);
        let c = [line("r-xp /lib/libc.so.6"), line("r-xp /lib/libc.so.6")];
        assert!(differences(&c, &line("r-xp /lib/libnss.so")).is_empty());
        assert_eq!(differences(&[help("maps"), help("maps")], &help("cut")).len(), 1);
    }
}
