//! README's first table, made of what the other commands have written: `docs/performance.csv` and
//! the tables of `docs/PERFORMANCE.md`.

use std::fs;

use pcp_pmda_test::root;

use crate::report::{grouped, number, replace};

/// Row of the CSV: scenario, size, and what README calls it.
const ROW: (&str, &str, &str) = (
    "fetch, ten selected, cache",
    "10000",
    "fetch ten of the 10,000 instances of a cache: time of one value",
);
/// What is no number of a run.
const OTHERS: &str =
    "| a damaged help database | the agent, or pmcd, may crash | that text is missing, and a log line says so |\n";
/// The agents whose memory is shown.
const AGENTS: &str = "pmcd's default agents, all metrics";

/// Writes the table into README.md.
pub fn write() {
    replace(&root().join("README.md"), "table", &table());
}

/// The numbers of a row of the CSV, if it was measured: those of the columns behind scenario and
/// size, with nothing where a column is empty.
fn numbers(csv: &str, scenario: &str, size: &str) -> Option<Vec<Option<f64>>> {
    let start = format!("\"{scenario}\",{size},");
    let row = csv.lines().find_map(|line| line.strip_prefix(&start))?;
    Some(row.split(',').map(|word| word.parse().ok()).collect())
}

fn table() -> String {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("part of the repository");
    let (csv, page) = (read("docs/performance.csv"), read("docs/PERFORMANCE.md"));
    let mut text = "| | PCP's C library 6.0.3 | this library |\n|---|---|---|\n".to_owned();
    let (scenario, size, name) = ROW;
    // A row that was not measured yet is left out.
    if let Some([Some(c), Some(ours)]) = numbers(&csv, scenario, size).and_then(|row| row.first_chunk::<2>().copied()) {
        text += &format!("| {name} | {} | {}: {} |\n", time(c), time(ours), factor(ours / c));
    }
    text + &memory(&page) + OTHERS
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

/// README has the numbers of the files that its table is made of.
#[test]
#[ignore = "at a release: make -C packaging release-check"]
fn the_table_is_current() {
    let text = fs::read_to_string(root().join("README.md")).expect("part of the repository");
    let table = table();
    assert!(
        text.contains(&table),
        "README.md lacks this table of the last run:\n{table}"
    );
}
