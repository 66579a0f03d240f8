//! Turns measurements into Markdown.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Row, Sample};
use pcp_pmda_test::root;

/// Median, smallest and largest of some numbers.
fn spread(numbers: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    (numbers[numbers.len() / 2], numbers[0], numbers[numbers.len() - 1])
}

/// One line of the table.
pub fn line(row: &Row) -> String {
    let (c, ..) = spread(row.pairs.iter().map(|(c, _)| c.cost));
    let (ours, ..) = spread(row.pairs.iter().map(|(_, ours)| ours.cost));
    let (ratio, least, most) = spread(row.pairs.iter().map(|(c, ours)| ours.cost / c.cost));
    let (theirs, mine) = row.pairs.last().expect("at least one pair");
    format!(
        "| {} | {} | {} | {} | {ratio:.2} ({least:.2} … {most:.2}) | {} / {} |",
        row.name,
        grouped(row.size),
        number(c),
        number(ours),
        grouped(theirs.peak),
        grouped(mine.peak),
    )
}

/// The table of a comparison, with the facts that one needs to repeat it.
pub fn table(rows: &[Row], instructions: bool, libraries: &[PathBuf; 2]) -> String {
    let unit = if instructions {
        "instructions in all"
    } else {
        "ns an operation"
    };
    let mut text = format!("{}\n\n", facts(libraries));
    text += &format!(
        "| scenario | n | C library, {unit} | ours, {unit} | ours / C: median (min … max) | peak KiB, C / ours |\n"
    );
    text += "|---|---:|---:|---:|---:|---:|\n";
    for row in rows {
        text += &line(row);
        text.push('\n');
    }
    text
}

/// The table of growth: ours alone.
pub fn growth(rows: &[(&'static str, Vec<(u64, Sample)>)], libraries: &[PathBuf; 2]) -> String {
    let mut text = format!(
        "{}\n\n| ns an operation, n = | 1,000 | 10,000 | 100,000 | 1,000,000 |\n",
        facts(libraries)
    );
    text += "|---|---:|---:|---:|---:|\n";
    for (name, samples) in rows {
        let cells: Vec<_> = samples.iter().map(|(_, sample)| number(sample.cost)).collect();
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    text
}

/// When, where and with what was measured.
pub fn facts(libraries: &[PathBuf; 2]) -> String {
    let said = |program: &str, args: &[&str]| {
        let output = Command::new(program)
            .args(args)
            .output()
            .map(|output| output.stdout)
            .unwrap_or_default();
        String::from_utf8_lossy(&output).trim().to_owned()
    };
    let [c, ours] = libraries.each_ref().map(|directory| {
        let file = fs::metadata(directory.join("libpcp_pmda.so.3"));
        file.map(|file| file.len() / 1024).unwrap_or_default()
    });
    format!(
        "Measured on {} ({}), commit {}, C library {} (stripped {c} KiB, ours {ours} KiB).",
        said("date", &["+%Y-%m-%d"]),
        said("uname", &["-sm"]),
        said(
            "git",
            &["-C", &root().display().to_string(), "rev-parse", "--short", "HEAD"]
        ),
        said("pkg-config", &["--modversion", "libpcp_pmda"]),
    )
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

fn number(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.1}")
    } else {
        grouped(value.round() as u64)
    }
}

/// Digits in groups of three.
fn grouped(value: u64) -> String {
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
