//! The C programs of tests/c and tests/hostile and PCP's agents simple, sample and mmv on a library
//! with AddressSanitizer: no report. Leaks are memcheck's business: what programs of C lose has its
//! list of reasons there.
//!
//! The last line is "N programs and N agents, N failed, N left to memcheck"; reports are in
//! target/asan.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pcp_pmda_test::program::{Course, Program};
use pcp_pmda_test::tour::{Form, TOURS, Tool, Tour};
use pcp_pmda_test::{root, run, target_dir};

use super::{fresh, has_files, sanitized};

const LIMIT: Duration = Duration::from_secs(300);

/// Runs these programs and agents (`agent/NAME`), or all of them.
pub fn run(names: &[String]) -> Result<(), String> {
    // The runtime is linked into the library: its own start is first in each process.
    let library = sanitized("asan", "-Zsanitizer=address")?;
    let chosen = names.iter().filter(|name| !name.starts_with("agent/"));
    let chosen: Result<Vec<_>, _> = chosen.map(|name| Program::new(name)).collect();
    let programs = if names.is_empty() {
        Program::of_course(Course::Asan)
    } else {
        chosen?
    };
    let (mut ran, mut failed, mut left) = (0, 0, 0);
    for program in &programs {
        // The sanitizer cannot live with a limit of its own memory, or with another malloc.
        let is_unfit = |word| program.text.contains(word);
        if program.name.starts_with("c/") && ["RLIMIT_AS", "__libc_malloc"].into_iter().any(is_unfit) {
            left += 1;
            continue;
        }
        ran += 1;
        if let Err(reason) = one(program, &library) {
            failed += 1;
            println!("{}: FAILED ({reason})", program.name);
        }
    }
    let (agents, broken) = agents(&library, names);
    failed += broken;
    println!("{ran} programs and {agents} agents, {failed} failed, {left} left to memcheck");
    if failed == 0 {
        Ok(())
    } else {
        Err("asan: see target/asan".to_owned())
    }
}

/// Runs one program; its directory stays if it fails.
fn one(program: &Program, library: &Path) -> Result<(), String> {
    let directory = target_dir().join("asan").join(&program.name);
    // Its last report too.
    fresh(&directory)?;
    fresh(&directory.join("var/config"))?;
    let file = directory.join("program");
    let status = Command::new("cc")
        .args([
            "-g",
            "-O1",
            "-w",
            "-fsanitize=address",
            "-std=gnu11",
            "-D_GNU_SOURCE",
            "-I",
        ])
        .arg(root().join("tests/c"))
        .arg("-o")
        .arg(&file)
        .arg(&program.source)
        .args(program.setting("cc"))
        .arg("-L")
        .arg(library)
        .args(["-lpcp_pmda", "-lpcp", "-lpthread", "-ldl"])
        .status();
    if !status.is_ok_and(|status| status.success()) {
        return Err("does not compile".to_owned());
    }
    // The sanitizer keeps freed memory for a while; the program that measures memory has it freed
    // at once.
    let keep = if program.name == "hostile/leaks" {
        ":quarantine_size_mb=0:thread_local_quarantine_size_kb=0"
    } else {
        ""
    };
    let report = directory.join("report").display().to_string();
    let options = format!("detect_leaks=0:log_path={report}:abort_on_error=0:handle_segv=1{keep}");
    let mut command = Command::new(&file);
    command.args(program.arguments(Course::Asan));
    run::private(&mut command, library, &directory);
    command.env("HOSTILE_TOOL", "asan").env("ASAN_OPTIONS", options);
    let outcome = run::bounded(command, LIMIT);
    let output = [outcome.stdout, outcome.stderr].concat();
    fs::write(directory.join("output"), output).map_err(|error| error.to_string())?;
    let wrong = outcome.end.starts_with("killed") || program.name.starts_with("hostile/") && outcome.end != "exit 0";
    if wrong || has_files(&directory, "report") {
        return Err(outcome.end);
    }
    fs::remove_dir_all(&directory).map_err(|error| error.to_string())
}

/// PCP's agents, those that are wanted: how many, and how many failed.
fn agents(library: &Path, names: &[String]) -> (u32, u32) {
    let wanted = |tour: &Tour| names.is_empty() || names.contains(&format!("agent/{}", tour.name));
    let (mut ran, mut failed) = (0, 0);
    for tour in TOURS.into_iter().filter(wanted) {
        for form in [Form::Dso, Form::Daemon] {
            ran += 1;
            if let Err(reason) = tour.run(form, Tool::Asan(library)) {
                failed += 1;
                println!("agent/{} {form:?}: FAILED ({reason})", tour.name);
            }
        }
    }
    (ran, failed)
}
