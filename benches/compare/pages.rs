//! README's first table, made of what the other commands have written: `docs/performance.csv` and
//! the tables of `docs/PERFORMANCE.md`.

use std::fs;

use pcp_pmda_test::root;

use crate::report::{grouped, number, replace};

/// Row of the CSV: scenario, size, and what README calls it.
const ROW: (&str, &str, &str) = (
    "fetch, ten selected, cache",
    "10000",
    "an agent with a large domain, which no default agent has: ten of 10,000 instances, time of one value",
);
/// What is no number of a run.
const OTHERS: &str =
    "| a damaged help database | the agent, or pmcd, may crash | that text is missing, and a log line says so |\n";
/// The agents whose time and memory are shown.
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
    let mut text = format!("| | PCP's C library 6.0.3 | this library |\n|---|---|---|\n{OTHERS}");
    text += &processor_time(&page).unwrap_or_default();
    text += &memory(&page).unwrap_or_default();
    let (scenario, size, name) = ROW;
    // A row that was not measured yet is left out.
    if let Some([Some(c), Some(ours)]) = numbers(&csv, scenario, size).and_then(|row| row.first_chunk::<2>().copied()) {
        text += &format!("| {name} | {} | {} |\n", time(c), time(ours));
    }
    text
}

/// The cells of the row of [`AGENTS`] in the table with so many columns.
fn cells(page: &str, columns: usize) -> Option<Vec<&str>> {
    let start = format!("| {AGENTS} |");
    let row = page
        .lines()
        .find(|line| line.starts_with(&start) && line.matches('|').count() == columns + 1)?;
    Some(row.split('|').map(str::trim).collect())
}

/// Processor time of the agents, as a part of what it is with the C library.
fn processor_time(page: &str) -> Option<String> {
    let cells = cells(page, 6)?;
    Some(format!(
        "| pmcd's default agents, a fetch of all metrics: processor time of the agents | 1 | {} |\n",
        cells[5]
    ))
}

/// Resident memory, and in brackets with each page divided among the processes that have it.
fn memory(page: &str) -> Option<String> {
    let cells = cells(page, 8)?;
    let size = |at: usize| cells[at].parse().map(grouped).expect("a number");
    Some(format!(
        "| memory of pmcd and these agents after {} fetches: RSS (PSS) | {} ({}) KiB | {} ({}) KiB |\n",
        size(2),
        size(4),
        size(5),
        size(7),
        size(8)
    ))
}

fn time(ns: f64) -> String {
    format!("{} ns", number(ns))
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
