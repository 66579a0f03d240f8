//! Turns measurements into a CSV and into Markdown.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Row;
use pcp_pmda_test::root;

/// What people read first: what agents do most, at sizes that they have, and three sizes that are
/// large.
pub const PAGE: [(&str, u64); 15] = [
    ("lookup by id, hit", 30),
    ("lookup by full name", 30),
    ("lookup by key", 1_000),
    ("refresh: INACTIVE, store all", 30),
    ("store new names", 100_000),
    ("walk", 30),
    ("fetch of n metrics, direct", 10),
    ("fetch, unsorted table", 10),
    ("fetch, instance table", 10),
    ("fetch, cache with lookup", 30),
    ("fetch, ten selected, cache", 10_000),
    ("pmdaInstance by id", 10),
    ("instance labels, three each", 30),
    ("queue, one event for n clients", 2),
    ("daemon, n values, agent time", 10),
];

/// How many scenarios are shown in which this library is slower.
const WORST: usize = 8;

/// The names of the columns of the CSV.
const COLUMNS: &str = "scenario,n,C library ns,this library ns,ratio,least ratio,largest ratio,\
    C library instructions,this library instructions,ratio of instructions,C library peak KiB,this library peak KiB,why it is more\n";

/// From which ratio on a row of the CSV gives the reason.
const NOTABLE: f64 = 1.05;

/// Why scenarios cost more than with the C library, by the beginning of their names; the first that
/// fits counts.
const REASONS: &[(&str, &str)] = &[
    (
        "bytes per instance",
        "a block of entries, and two indexes, are made for the first instance",
    ),
    (
        "fetch",
        "the agent's record and the result are found under the lock; a callback may fetch again, or leave by longjmp",
    ),
    (
        "load",
        "each folder of the path is opened by itself: root follows nobody else's link, and a FIFO does not block",
    ),
    (
        "lookup by full name",
        "the hash and its index, where C compares a few texts",
    ),
    ("lookup by id beside", "two atomic exchanges for the lock"),
    ("lookup by key", "the hash of the key; from five on faster"),
    ("pmdaInit", "the agent's record and the index of its metrics are made"),
    (
        "pmdaInstance by id",
        "the lock, the panic guard, and whether the domain has a cache",
    ),
    (
        "pmdaText, miss",
        "a search by halves after a look at the entry of the last lookup",
    ),
    ("pmdaText", "the lock and the panic guard"),
    (
        "pmdaTreeChildren",
        "two blocks more from malloc: the path and the levels of the walk",
    ),
    ("pmdaTreeInsert", "the list of a group is walked as in C, with checks"),
    (
        "pmdaTreeName",
        "the path is put together twice: its size, then its text",
    ),
    (
        "process",
        "Rust's code for backtraces makes the file larger: more pages are mapped",
    ),
    (
        "purge",
        "the oldest time stamp is noted, so that most purges look at no instance",
    ),
    (
        "queue",
        "the lock and the panic guard for each step, record and parameter",
    ),
    (
        "save",
        "a new file with owner and mode of the old one is renamed: a crash leaves one of both",
    ),
    (
        "store",
        "the domain and its indexes are made; the hashes of name and key",
    ),
    ("SIZE", "the lock and the panic guard"),
    (
        "walk",
        "the lock and the panic guard for each step; inactive instances are in the list",
    ),
];

fn reason(name: &str) -> &'static str {
    let found = REASONS.iter().find(|(start, _)| name.starts_with(start));
    found.map_or("", |(_, reason)| reason)
}

/// Median, smallest and largest of some numbers, if there are any.
fn spread(numbers: impl Iterator<Item = f64>) -> Option<[f64; 3]> {
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    let (&first, &last) = (numbers.first()?, numbers.last()?);
    let (lower, upper) = (numbers[(numbers.len() - 1) / 2], numbers[numbers.len() / 2]);
    Some([(lower + upper) / 2.0, first, last])
}

impl Row {
    /// The median cost on the C library and on ours.
    pub fn costs(&self) -> [Option<f64>; 2] {
        [&self.c, &self.ours].map(|samples| Some(spread(samples.iter().map(|sample| sample.cost))?[0]))
    }

    /// The ratio of the pairs: median, smallest and largest.
    fn ratio(&self) -> Option<[f64; 3]> {
        let pairs = self.c.iter().zip(&self.ours);
        spread(pairs.map(|(c, ours)| ours.cost / c.cost)).filter(|[median, ..]| median.is_finite())
    }

    fn ratio_of_instructions(&self) -> Option<f64> {
        self.instructions.map(|[c, ours]| ours / c)
    }
}

/// All rows.
pub fn csv(rows: &[Row]) -> String {
    COLUMNS.to_owned() + &rows.iter().map(line).collect::<String>()
}

/// One row of the CSV. What was not measured is left empty.
pub fn line(row: &Row) -> String {
    let [c, ours] = row.costs();
    let ratios = row.ratio().map_or([None; 3], |ratios| ratios.map(Some));
    let [their_count, our_count] = row.instructions.map_or([None; 2], |counts| counts.map(Some));
    let costs = [c, ours, their_count, our_count].map(|cost| cost.map(|cost| format!("{cost:.1}")));
    let [c, ours, their_count, our_count] = costs.map(Option::unwrap_or_default);
    let ratios = ratios.map(shown);
    let peaks = [&row.c, &row.ours].map(|samples| samples.last().map(|sample| sample.peak.to_string()));
    let is_notable = [row.ratio().map(|[median, ..]| median), row.ratio_of_instructions()]
        .iter()
        .flatten()
        .any(|ratio| *ratio > NOTABLE);
    let reason = if is_notable { reason(row.name) } else { "" };
    let reason = if reason.is_empty() {
        String::new()
    } else {
        format!("\"{reason}\"")
    };
    format!(
        "\"{}\",{},{c},{ours},{},{their_count},{our_count},{},{},{reason}\n",
        row.name,
        row.size,
        ratios.join(","),
        shown(row.ratio_of_instructions()),
        peaks.map(Option::unwrap_or_default).join(","),
    )
}

fn shown(ratio: Option<f64>) -> String {
    ratio.map(|ratio| format!("{ratio:.3}")).unwrap_or_default()
}

/// The rows that people read, with the facts that one needs to repeat them.
pub fn page(rows: &[Row], libraries: &[PathBuf; 2]) -> String {
    let chosen = PAGE.map(|(name, size)| rows.iter().find(|row| row.name == name && row.size == size));
    format!("{}\n\n{}", facts(libraries), table(chosen.into_iter().flatten()))
}

/// The scenarios that take longest in comparison to the C library, each at the size where it is
/// worst.
pub fn slower(rows: &[Row]) -> String {
    let time = |row: &Row| row.ratio().map_or(0.0, |[median, ..]| median);
    let mut slow: Vec<_> = rows.iter().filter(|row| time(row) > 1.0).collect();
    slow.sort_by(|one, other| time(other).total_cmp(&time(one)));
    let of_all = rows.iter().filter(|row| row.ratio().is_some()).count();
    let above = slow.len();
    let mut seen = HashSet::new();
    slow.retain(|row| seen.insert(row.name));
    format!(
        "{above} of {of_all} rows are above 1.00. The worst {WORST} scenarios, each at its worst size:\n\n{}",
        reasons(slow.into_iter().take(WORST))
    )
}

/// Rows in which this library is slower, with the reason.
fn reasons<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let mut text =
        "| row | n | C library, ns | this library, ns | ratio | why |\n|---|---:|---:|---:|---:|---|\n".to_owned();
    for row in rows {
        let [c, ours] = row.costs().map(|cost| cost.map(number).unwrap_or_default());
        let [median, ..] = row.ratio().unwrap_or_default();
        let (name, size) = (row.name, grouped(row.size));
        let _ = writeln!(
            text,
            "| {name} | {size} | {c} | {ours} | {median:.2} | {} |",
            reason(name)
        );
    }
    text
}

fn table<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let mut text =
        "| row | n | C library, ns | this library, ns | ratio (of ten pairs: least … largest) | of instructions |\n\
                    |---|---:|---:|---:|---:|---:|\n"
            .to_owned();
    for row in rows {
        let [c, ours] = row.costs().map(|cost| cost.map(number).unwrap_or_default());
        let [median, least, most] = row.ratio().unwrap_or_default();
        let counted = row.ratio_of_instructions();
        let counted = counted.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let (name, size) = (row.name, grouped(row.size));
        let _ = writeln!(
            text,
            "| {name} | {size} | {c} | {ours} | {median:.2} ({least:.2} … {most:.2}) | {counted} |"
        );
    }
    text
}

/// When, where and with what was measured, with the sizes of both libraries.
fn facts(libraries: &[PathBuf; 2]) -> String {
    let [c, ours] = libraries.each_ref().map(|directory| {
        let file = fs::metadata(directory.join("libpcp_pmda.so.3"));
        file.map(|file| file.len() / 1024).unwrap_or_default()
    });
    format!("{} (stripped {c} KiB, ours {ours} KiB).", measured())
}

/// When, where and with what was measured.
pub fn measured() -> String {
    let said = |program: &str, args: &[&str]| {
        let output = Command::new(program)
            .args(args)
            .output()
            .map(|output| output.stdout)
            .unwrap_or_default();
        String::from_utf8_lossy(&output).trim().to_owned()
    };
    format!(
        "Measured on {} ({}, {}), commit {}, {}, C library {}",
        said("date", &["+%Y-%m-%d"]),
        processor(),
        said("uname", &["-sm"]),
        said(
            "git",
            &["-C", &root().display().to_string(), "rev-parse", "--short", "HEAD"]
        ),
        said("rustc", &["--version"]).split(" (").next().unwrap_or_default(),
        said("pkg-config", &["--modversion", "libpcp_pmda"]),
    )
}

/// The processor's name and how many of them there are.
fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let names = text.lines().filter(|line| line.starts_with("model name"));
    let names: Vec<_> = names.filter_map(|line| Some(line.split_once(": ")?.1)).collect();
    format!("{} × {}", names.len(), names.first().copied().unwrap_or("processor"))
}

/// Replaces one section of the document, between its two marks.
pub fn replace(file: &Path, section: &str, text: &str) {
    let (begin, end) = (format!("<!-- {section}: begin -->"), format!("<!-- {section}: end -->"));
    let document = fs::read_to_string(file).expect("docs/PERFORMANCE.md is part of the repository");
    let (before, rest) = document
        .split_once(&begin)
        .expect("the document has a mark for the section");
    let (_, after) = rest.split_once(&end).expect("the section ends");
    fs::write(file, format!("{before}{begin}\n{text}{end}{after}")).expect("the document is writable");
}

/// One place behind the point, or none for large ones.
pub fn number(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.1}")
    } else {
        grouped(value.round() as u64)
    }
}

/// Digits in groups of three.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
