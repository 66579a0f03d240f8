//! The report: lines for people, or JSON.

use std::fmt::Write;
use std::time::Duration;

use pmda_core::log::Counted;
use serde_json::{Value, json};

use crate::compare::{Outcome, Report, Usages, Verdict};
use crate::processes::Usage;
use crate::value::plain;

/// The number of differences of an agent that are shown.
const SHOWN: usize = 20;

/// The end of a comparison, as exit code and word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Each agent is equal, or has no metrics.
    Equal = 0,
    /// An agent is different.
    Different = 1,
    /// An agent could not be compared, an agent that was named has no metrics, or no agent has any.
    NotCompared = 2,
}

impl End {
    fn word(self) -> &'static str {
        match self {
            End::Equal => "equal",
            End::Different => "different",
            End::NotCompared => "could not compare",
        }
    }
}

/// The end of a comparison; `named` if the user has named the agents.
#[must_use]
pub fn end(report: &Report, named: bool) -> End {
    let counts = Counts::of(report);
    if counts.different > 0 {
        End::Different
    } else if counts.not_compared > 0 || counts.equal == 0 || (named && counts.without_metrics > 0) {
        End::NotCompared
    } else {
        End::Equal
    }
}

/// The number of agents with each verdict.
#[derive(Default)]
struct Counts {
    equal: usize,
    different: usize,
    not_compared: usize,
    without_metrics: usize,
}

impl Counts {
    fn of(report: &Report) -> Counts {
        let mut counts = Counts::default();
        for outcome in &report.agents {
            *match outcome.verdict {
                Verdict::Equal => &mut counts.equal,
                Verdict::Different(_) | Verdict::Lost(_) => &mut counts.different,
                Verdict::NotCompared(_) => &mut counts.not_compared,
                Verdict::NoMetrics => &mut counts.without_metrics,
            } += 1;
        }
        counts
    }
}

fn counted_agents(number: usize) -> Counted {
    Counted(number, "agent", "agents")
}

fn counted_answers(number: usize) -> Counted {
    Counted(number, "answer", "answers")
}

/// The last line.
#[must_use]
pub fn last_line(report: &Report, end: End) -> String {
    let counts = Counts::of(report);
    let sum = |part: fn(&Outcome) -> usize| report.agents.iter().map(part).sum::<usize>();
    let (metrics, answers) = (
        sum(|outcome| outcome.survey.metrics),
        sum(|outcome| outcome.survey.answers.len()),
    );
    let mut line = match end {
        End::Different => {
            let all = counts.equal + counts.different;
            format!("different: {} of {}", counts.different, counted_agents(all))
        }
        End::Equal => format!("equal: {}", counted_agents(counts.equal)),
        End::NotCompared => format!(
            "could not compare {} of {}; equal: {}",
            counts.not_compared + counts.without_metrics,
            counted_agents(report.agents.len()),
            counted_agents(counts.equal)
        ),
    };
    let metrics = Counted(metrics, "metric", "metrics");
    let _ = write!(line, ", {metrics}, {}", counted_answers(answers));
    let mut add = |what: &str, is: fn(&Verdict) -> bool| {
        let agents = report.agents.iter().filter(|outcome| is(&outcome.verdict));
        let names: Vec<_> = agents.map(|outcome| plain(&outcome.agent.name)).collect();
        if !names.is_empty() {
            let _ = write!(line, "; {what}: {}", names.join(", "));
        }
    };
    add("not compared", |verdict| matches!(verdict, Verdict::NotCompared(_)));
    add("without metrics", |verdict| matches!(verdict, Verdict::NoMetrics));
    line
}

/// The lines for people, without the last one.
#[must_use]
pub fn lines(report: &Report) -> String {
    let mut text = format!(
        "{:<16} {:>8} {:>10} {:>8} {:>9}  result\n",
        "agent", "metrics", "instances", "labels", "answers"
    );
    for outcome in &report.agents {
        let survey = &outcome.survey;
        let _ = writeln!(
            text,
            "{:<16} {:>8} {:>10} {:>8} {:>9}  {}",
            plain(&outcome.agent.name),
            survey.metrics,
            survey.instances,
            survey.labels,
            survey.answers.len(),
            plain(&result(outcome))
        );
    }
    for outcome in &report.agents {
        if let Verdict::Different(differences) = &outcome.verdict {
            let _ = writeln!(
                text,
                "\n{}: {}",
                plain(&outcome.agent.name),
                Counted(differences.len(), "answer differs", "answers differ")
            );
            for (question, difference) in differences.iter().take(SHOWN) {
                let shown = |answer: &Option<String>| answer.as_deref().map_or_else(|| "(no answer)".to_owned(), plain);
                let (question, c, ours) = (plain(question), shown(&difference.c), shown(&difference.ours));
                let _ = writeln!(text, "  {question}\n    C library:    {c}\n    this library: {ours}");
            }
            if differences.len() > SHOWN {
                let _ = writeln!(text, "  and {} more", differences.len() - SHOWN);
            }
        }
    }
    let _ = writeln!(
        text,
        "\n{:<16} {:>29} {:>27}\n{:<16} {:>15} {:>13} {:>15} {:>11}",
        "", "processor time, ms", "resident memory, KiB", "", "C library", "this", "C library", "this"
    );
    add_usages(&mut text, "pmcd", &report.pmcd);
    for outcome in &report.agents {
        add_usages(&mut text, &plain(&outcome.agent.name), &outcome.usages);
    }
    text.push('\n');
    text
}

fn result(outcome: &Outcome) -> String {
    match &outcome.verdict {
        Verdict::Equal if outcome.moving > 0 => {
            format!("equal; the host changed {} itself", counted_answers(outcome.moving))
        }
        Verdict::Equal => "equal".to_owned(),
        Verdict::Different(differences) => format!("DIFFERENT: {}", counted_answers(differences.len())),
        Verdict::Lost(reason) => format!("DIFFERENT: on this library {reason}"),
        Verdict::NotCompared(reason) => format!("not compared: {reason}"),
        Verdict::NoMetrics => "no metrics: it runs, but the name space has none of its".to_owned(),
    }
}

/// The mean of some runs.
fn mean(usages: &[Usage]) -> Option<Usage> {
    let runs = u32::try_from(usages.len()).ok().filter(|runs| *runs > 0)?;
    let processor: Duration = usages.iter().map(|usage| usage.processor).sum();
    let resident: u64 = usages.iter().map(|usage| usage.resident).sum();
    Some(Usage {
        processor: processor / runs,
        resident: resident / u64::from(runs),
    })
}

/// The processor times of the runs: the least and the most, such as "31.4-33.0".
fn times(usages: &[Usage]) -> String {
    let times = || usages.iter().map(|usage| format!("{:.1}", milliseconds(*usage)));
    let by_time = |usage: &&Usage| usage.processor;
    let (least, most) = (usages.iter().min_by_key(by_time), usages.iter().max_by_key(by_time));
    match (least, most) {
        (Some(least), Some(most)) if times().any(|time| Some(time) != times().next()) => {
            format!("{:.1}-{:.1}", milliseconds(*least), milliseconds(*most))
        }
        _ => times().next().unwrap_or_default(),
    }
}

fn add_usages(text: &mut String, name: &str, usages: &Usages) {
    if let (Some(c), Some(ours)) = (mean(&usages.c), mean(&usages.ours)) {
        let (c_times, our_times) = (times(&usages.c), times(&usages.ours));
        let _ = writeln!(
            text,
            "{name:<16} {c_times:>15} {our_times:>13} {:>15} {:>11}",
            c.resident, ours.resident
        );
    }
}

fn milliseconds(usage: Usage) -> f64 {
    usage.processor.as_secs_f64() * 1000.0
}

/// The line for people of a comparison that failed.
#[must_use]
pub fn not_compared(reason: &str) -> String {
    format!("could not compare: {}", plain(reason))
}

/// All of it as JSON.
#[must_use]
pub fn json(report: &Report, end: End) -> Value {
    let agents: Vec<Value> = report.agents.iter().map(agent).collect();
    json!({
        "result": end.word(),
        "agents": agents,
        "pmcd": usages(&report.pmcd),
    })
}

/// A comparison that failed as JSON.
#[must_use]
pub fn failure(reason: &str) -> Value {
    json!({ "result": End::NotCompared.word(), "reason": reason })
}

fn agent(outcome: &Outcome) -> Value {
    let (result, reason, differences) = match &outcome.verdict {
        Verdict::Equal => ("equal", None, None),
        Verdict::Different(differences) => ("different", None, Some(differences)),
        Verdict::Lost(reason) => ("different", Some(reason), None),
        Verdict::NotCompared(reason) => ("not compared", Some(reason), None),
        Verdict::NoMetrics => ("no metrics", None, None),
    };
    let differences = differences.into_iter().flatten();
    let differences: Vec<Value> = differences
        .map(|(question, answers)| json!({ "question": question, "c": answers.c, "this": answers.ours }))
        .collect();
    json!({
        "name": outcome.agent.name,
        "domain": outcome.agent.domain,
        "result": result,
        "reason": reason,
        "metrics": outcome.survey.metrics,
        "instances": outcome.survey.instances,
        "labels": outcome.survey.labels,
        "answers": outcome.survey.answers.len(),
        "changed_by_the_host": outcome.moving,
        "differences": differences,
        "usage": usages(&outcome.usages),
    })
}

fn usages(usages: &Usages) -> Value {
    let one = |usages: &[Usage]| {
        let runs: Vec<f64> = usages.iter().copied().map(milliseconds).collect();
        mean(usages).map(|mean| {
            json!({
                "processor_ms": milliseconds(mean),
                "processor_ms_of_runs": runs,
                "resident_kib": mean.resident,
            })
        })
    };
    json!({ "c": one(&usages.c), "this": one(&usages.ours) })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::host::{Agent, Channel};
    use crate::survey::Survey;

    /// A time has the spread of the runs, and short ones are shown as well.
    #[test]
    fn times_have_their_spread() {
        let runs = |times: &[u64]| -> Vec<Usage> {
            let usage = |time: &u64| Usage {
                processor: Duration::from_micros(*time),
                resident: 6000,
            };
            times.iter().map(usage).collect()
        };
        for (microseconds, shown) in [
            (&[5_000][..], "5.0"),
            (&[5_040, 4_960], "5.0"),
            (&[5_900, 5_000], "5.0-5.9"),
            (&[47_000, 61_100, 50_000], "47.0-61.1"),
        ] {
            assert_eq!(times(&runs(microseconds)), shown);
        }
        let mut text = String::new();
        let usages = Usages {
            c: runs(&[5_000, 5_900]),
            ours: runs(&[47_000]),
        };
        add_usages(&mut text, "xfs", &usages);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words, ["xfs", "5.0-5.9", "47.0", "6000", "6000"]);
    }

    /// Each value of an agent is in the lines and in the JSON, and the documents name what they explain. A new field
    /// is missing in the patterns here, which then do not compile, and gets a row.
    #[test]
    fn each_value_is_shown() {
        let usage = Usage {
            processor: Duration::from_millis(1_234),
            resident: 5_678,
        };
        let survey = Survey {
            metrics: 31,
            instances: 32,
            labels: 33,
            answers: (0..34).map(|number| (number.to_string(), String::new())).collect(),
            counters: BTreeMap::new(),
        };
        let (
            Usage {
                processor: _,
                resident: _,
            },
            Survey {
                metrics: _,
                instances: _,
                labels: _,
                answers: _,
                counters: _,
            },
        ) = (&usage, &survey);
        let used = || Usages {
            c: vec![usage],
            ours: vec![usage],
        };
        let agent = Agent {
            name: "xfs".to_owned(),
            domain: 11,
            channel: Channel::Dso,
            line: String::new(),
        };
        let outcome = Outcome {
            agent,
            verdict: Verdict::Equal,
            survey,
            moving: 35,
            usages: used(),
        };
        let report = Report {
            agents: vec![outcome],
            pmcd: used(),
        };
        let (lines, json) = (lines(&report), json(&report, End::Equal));
        let documents = ["docs/OPERATING.md", "docs/man/pcp-pmda-rust.1"].map(|name| {
            let text = fs::read_to_string(format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))).expect("a document");
            let about = text.lines().skip_while(|line| !line.contains("compare"));
            (name, about.collect::<Vec<_>>().join(" "))
        });
        for (value, place, word) in [
            ("31", "metrics", "metrics"),
            ("32", "instances", ""),
            ("33", "labels", ""),
            ("34", "answers", "answers"),
            ("35", "changed_by_the_host", ""),
            ("1234.0", "usage/c/processor_ms", "time"),
            ("5678", "usage/this/resident_kib", "memory"),
        ] {
            assert!(lines.contains(value), "the lines lack {place}: {lines}");
            let of_agent = json.pointer(&format!("/agents/0/{place}")).map(Value::to_string);
            assert_eq!(of_agent.as_deref(), Some(value), "the JSON has no {place}: {json}");
            for (name, about) in &documents {
                assert!(about.contains(word), "{name} does not name {word}");
            }
        }
    }
}
