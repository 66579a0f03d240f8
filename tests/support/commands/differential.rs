//! C programs on both libraries, without a test harness: what somebody runs after each edit.

use std::fs;
use std::process::Command;
use std::time::Instant;

use pcp_pmda_test::compare;
use pcp_pmda_test::differential::{Difference, Fault, check, file};
use pcp_pmda_test::program::Program;

use super::build_library;

/// Runs the programs of tests/c whose names contain one of these texts, and shows the lines that
/// differ side by side.
pub fn run(texts: &[String]) -> Result<(), String> {
    build_library()?;
    let wanted = |program: &Program| texts.iter().any(|text| program.name.contains(text));
    let programs = ["c", "c/fixed"].into_iter().flat_map(Program::all).filter(wanted);
    let (mut ran, mut failed) = (0, 0);
    for program in programs {
        if let Some(reason) = program.obstacle() {
            println!("{}: left out: {reason}", program.name);
            continue;
        }
        let start = Instant::now();
        let outcome = check(&program);
        let seconds = start.elapsed().as_secs_f32();
        ran += 1;
        match outcome {
            Ok(()) => println!("{}: as it should be ({seconds:.1} s)", program.name),
            Err(fault) => {
                failed += 1;
                println!("{}: FAILED ({seconds:.1} s)", program.name);
                show(&program, &fault)?;
            }
        }
    }
    match (ran, failed) {
        (0, _) => Err(format!("no program of tests/c has a name like {}", texts.join(", "))),
        (_, 0) => Ok(()),
        _ => Err(format!("{failed} of {ran} failed")),
    }
}

/// Lines that are shown of a difference.
const LINES: usize = 10;

/// Shows what is wrong: how each run ended, the first lines that differ, and the command that shows
/// all; two pictures are kept beside the compiled program.
fn show(program: &Program, fault: &Fault) -> Result<(), String> {
    let Fault::Different(difference) = fault else {
        println!("  {fault}");
        return Ok(());
    };
    let Difference { left, right } = &**difference;
    println!("  left: {}, {}", left.0, compare::end(&left.1));
    println!("  right: {}, {}", right.0, compare::end(&right.1));
    let pictures =
        [left, right].map(|(name, _)| file(program).with_extension(format!("{}.picture", name.replace(' ', "-"))));
    for (picture, (_, text)) in pictures.iter().zip([left, right]) {
        fs::write(picture, text).map_err(|error| format!("{}: {error}", picture.display()))?;
    }
    let mut diff = Command::new("diff");
    diff.args(["--side-by-side", "--suppress-common-lines", "--expand-tabs"]);
    let width = std::env::var("COLUMNS").unwrap_or_else(|_| "160".to_owned());
    diff.args(["--width", &width]).args(&pictures);
    let output = diff.output().map_err(|error| format!("diff: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // The lines above have the ends.
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("end: ")).collect();
    lines.iter().take(LINES).for_each(|line| println!("{line}"));
    let more = match lines.len().saturating_sub(LINES) {
        0 => "All of both".to_owned(),
        1 => "1 more line differs".to_owned(),
        more => format!("{more} more lines differ"),
    };
    println!("  {more}: diff -y {} {}", pictures[0].display(), pictures[1].display());
    Ok(())
}
