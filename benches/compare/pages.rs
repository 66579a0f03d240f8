//! README's first table, made of what the other commands have written: `docs/performance.csv` and
//! the tables of `docs/PERFORMANCE.md`.

use std::fs;

use pcp_pmda_test::root;

use crate::report::{grouped, number, replace};

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

/// Rows that an agent meets often, and the largest: scenario, size, what the page calls it, and why
/// it is slower.
const REASONS: [(&str, &str, &str, &str); 15] = [
    (
        "queue, one event for n clients",
        "2",
        "an event of a queue, one a fetch, two clients",
        "The lock, the panic guard, and lookups of queue, client and array",
    ),
    (
        "queue, 100 events for n clients",
        "100",
        "an event of a queue, 100 a fetch, 100 clients",
        "The lock for each step, record and parameter",
    ),
    (
        "fetch of n metrics, direct",
        "1",
        "a fetch of one metric",
        "The agent's record and the result are found under the lock",
    ),
    (
        "fetch of n metrics, direct",
        "10",
        "a fetch of ten metrics, a value",
        "The same, divided by ten",
    ),
    (
        "fetch, direct, string",
        "10",
        "a fetched string, of ten",
        "One call more for each value",
    ),
    (
        "pmdaInstance by id",
        "10",
        "`pmdaInstance` by id, ten instances",
        "The lock, the panic guard, and whether the domain has a cache",
    ),
    (
        "lookup by short name",
        "5",
        "lookup by short name, five instances",
        "The hash and its index, where C compares five texts; from ten on faster",
    ),
    (
        "lookup by key",
        "1",
        "lookup by key, one instance",
        "The hash of the key; from five on faster",
    ),
    (
        "store new names",
        "1",
        "a first name of a cache",
        "The domain and its indexes are made; from 30 on faster",
    ),
    (
        "store new keys",
        "10",
        "a new name with a key, of ten",
        "The same, and two hashes of the key",
    ),
    (
        "save",
        "1",
        "save of a cache of one instance",
        "A new file with owner and mode of the old one is renamed: a crash leaves one of both",
    ),
    (
        "load, plain",
        "10",
        "load of a cache of ten, an instance",
        "A check before it is opened: a FIFO does not block, only regular files are read",
    ),
    (
        "pmdaText, miss",
        "5",
        "a help text that is not there, of five",
        "The hash and its index, where C compares five numbers; from 30 on faster",
    ),
    (
        "purge that culls half",
        "1",
        "a purge of a cache of one instance",
        "The oldest time stamp is noted, so that most purges look at no instance; from 100 on faster",
    ),
    (
        "pmdaTreeChildren",
        "1",
        "`pmdaTreeChildren` of one metric",
        "Two blocks more from malloc: the path and the levels of the walk",
    ),
];

/// Writes the tables into README.md and docs/PERFORMANCE.md.
pub fn write() {
    replace(&root().join("README.md"), "table", &table());
    replace(&root().join("docs/PERFORMANCE.md"), "reasons", &reasons());
}

/// The numbers of a row of the CSV, if it was measured: those of the columns behind scenario and
/// size, with nothing where a column is empty.
fn numbers(csv: &str, scenario: &str, size: &str) -> Option<Vec<Option<f64>>> {
    let start = format!("\"{scenario}\",{size},");
    let row = csv.lines().find_map(|line| line.strip_prefix(&start))?;
    Some(row.split(',').map(|word| word.parse().ok()).collect())
}

/// The reasons of those rows that are slower.
fn reasons() -> String {
    let csv = fs::read_to_string(root().join("docs/performance.csv")).expect("part of the repository");
    let mut text = "| what | ns | instructions | why |\n|---|---:|---:|---|\n".to_owned();
    for (scenario, size, what, why) in REASONS {
        let Some([Some(c), Some(ours), Some(ratio), _, _, c_counted, ours_counted]) =
            numbers(&csv, scenario, size).and_then(|row| row.first_chunk::<7>().copied())
        else {
            continue;
        };
        if ratio > 1.0 {
            let counted = c_counted.zip(ours_counted);
            let counted = counted.map(|(c, ours)| format!("{} / {}", number(c), number(ours)));
            let (times, counted) = (format!("{} / {}", number(c), number(ours)), counted.unwrap_or_default());
            text += &format!("| {what} | {times} | {counted} | {why} |\n");
        }
    }
    text
}

fn table() -> String {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("part of the repository");
    let (csv, page) = (read("docs/performance.csv"), read("docs/PERFORMANCE.md"));
    let mut text = "| | PCP's C library 6.0.3 | this library |\n|---|---|---|\n".to_owned();
    for (scenario, size, name) in ROWS {
        // A row that was not measured yet is left out.
        let Some([Some(c), Some(ours)]) = numbers(&csv, scenario, size).and_then(|row| row.first_chunk::<2>().copied())
        else {
            continue;
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
    let size = |at: usize| cells[at].parse().map(grouped).expect("a number");
    format!(
        "| memory of pmcd and its default agents after {} fetches: RSS (PSS) | {} ({}) KiB | {} ({}) KiB |\n",
        size(2),
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
    format!("{} ns", number(ns))
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

/// The pages have the numbers of the files that they are made of.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn the_tables_are_current() {
    for (page, table) in [("README.md", table()), ("docs/PERFORMANCE.md", reasons())] {
        let text = fs::read_to_string(root().join(page)).expect("part of the repository");
        assert!(
            text.contains(&table),
            "{page} lacks this table of the last run:\n{table}"
        );
    }
}
