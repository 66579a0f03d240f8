//! README's first table, made of what the other commands have written: `docs/performance.csv` and
//! the tables of `docs/PERFORMANCE.md`.

use std::fs;

use pcp_pmda_test::root;

use crate::report::{grouped, replace};

/// Rows of the CSV: scenario, size, and what README calls it.
const ROWS: [(&str, &str, &str); 5] = [
    ("lookup by key", "1000", "one lookup by key among 1,000 instances"),
    (
        "fetch, ten selected, cache",
        "10000",
        "one of ten values, fetched from 10,000 instances in a cache",
    ),
    ("fetch, cache with lookup", "30", "one value of 30 instances in a cache"),
    (
        "queue, one event for n clients",
        "2",
        "one event, read from a queue by two clients",
    ),
    (
        "two threads look up, one domain",
        "10",
        "two threads that do nothing but look up one of ten instances (C: with a mutex)",
    ),
];
/// What is no number of a run.
const OTHERS: &str = "| a damaged help database | the agent, or pmcd, may crash | that text is missing, and a log line says so |\n\
    | eight threads at once, though not in `pmdaFetch` of one agent | not allowed | a minute, 16 million calls, no wrong result |\n";
/// The agents whose memory is shown.
const AGENTS: &str = "pmcd's default agents, all metrics";

/// Writes the table into README.md.
pub fn write() {
    replace(&root().join("README.md"), "table", &table());
}

fn table() -> String {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("part of the repository");
    let (csv, page) = (read("docs/performance.csv"), read("docs/PERFORMANCE.md"));
    let mut text = "| | PCP's C library 6.0.3 | this library |\n|---|---|---|\n".to_owned();
    for (scenario, size, name) in ROWS {
        let start = format!("\"{scenario}\",{size},");
        // A row that was not measured yet is left out.
        let Some(row) = csv.lines().find_map(|line| line.strip_prefix(&start)) else {
            continue;
        };
        let numbers: Vec<f64> = row
            .split(',')
            .take(2)
            .map(|word| word.parse().expect("a number"))
            .collect();
        let [c, ours] = numbers[..] else {
            panic!("{row}: two numbers");
        };
        text += &format!("| {name} | {} | {}: {} |\n", time(c), time(ours), factor(ours / c));
    }
    text + &memory(&page) + &file(&page) + OTHERS
}

/// Resident memory, and in brackets with each page divided among the processes that have it.
fn memory(page: &str) -> String {
    let row = page
        .lines()
        .find(|line| line.starts_with(&format!("| {AGENTS} |")) && line.matches('|').count() == 9);
    let Some(row) = row else {
        return String::new();
    };
    let cells: Vec<_> = row.split('|').map(str::trim).collect();
    let size = |at: usize| cells[at].parse().map(grouped).expect("a number of KiB");
    format!(
        "| memory of pmcd and its default agents after an hour: RSS (PSS) | {} ({}) KiB | {} ({}) KiB |\n",
        size(4),
        size(5),
        size(7),
        size(8)
    )
}

/// The files' sizes, and what ours was compiled with, from the line above the tables.
fn file(page: &str) -> String {
    let facts = page
        .lines()
        .find(|line| line.starts_with("Measured on "))
        .expect("the facts of a run");
    let between = |before: &str, after: &str| {
        let rest = facts.split_once(before).map(|(_, rest)| rest);
        rest.and_then(|rest| Some(rest.split_once(after)?.0))
            .unwrap_or_default()
    };
    let compiler = between("rustc ", ",");
    let compiler = if compiler.is_empty() {
        String::new()
    } else {
        format!(" (rustc {compiler})")
    };
    format!(
        "| the library's file | {} KiB | {} KiB{compiler} |\n",
        between("(stripped ", " KiB"),
        between("ours ", " KiB")
    )
}

fn time(ns: f64) -> String {
    if ns < 100.0 {
        format!("{ns:.1} ns")
    } else {
        format!("{} ns", grouped(ns.round() as u64))
    }
}

fn factor(ratio: f64) -> String {
    let (times, word) = if ratio < 1.0 {
        (1.0 / ratio, "faster")
    } else {
        (ratio, "slower")
    };
    if times >= 100.0 {
        format!("{:.0}0 times {word}", times / 10.0)
    } else if times >= 10.0 {
        format!("{times:.0} times {word}")
    } else if times >= 1.1 {
        format!("{times:.1} times {word}")
    } else {
        format!("{times:.2} times {word}")
    }
}

/// README has the numbers of the tables that it leads to.
#[test]
fn the_table_is_current() {
    let text = fs::read_to_string(root().join("README.md")).expect("part of the repository");
    let table = table();
    assert!(
        text.contains(&table),
        "README.md lacks this table of the last run:\n{table}"
    );
}
