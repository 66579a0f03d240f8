//! The C programs of the tests and PCP's agents below valgrind, on both libraries: ours loses no
//! block more than the C library, has no memory error that the C library has not, and valgrind says
//! nothing else of it that it does not say of the C library.
//!
//! The table of counts is target/memcheck/counts; reports of programs are beside it.

use std::fmt::Write as _;
use std::fs;

use pcp_pmda_test::memory::{self, Counts, Dso, Opener};
use pcp_pmda_test::program::{Course, Program};
use pcp_pmda_test::tour::{Form, TOURS, Tool};
use pcp_pmda_test::{Library, release, target_dir};

use super::build_library;

/// Runs the programs whose names contain one of these texts, and the agents if there is one such as
/// `agent/NAME`; or all.
pub fn run(names: &[String]) -> Result<(), String> {
    build_library()?;
    let out = target_dir().join("memcheck");
    fs::create_dir_all(&out).map_err(|error| error.to_string())?;
    let wanted = |name: &str| names.is_empty() || names.iter().any(|text| name.contains(text));
    let mut table = String::from("what\tdefinitely lost (C, ours)\tpossibly lost (C, ours)\terrors (C, ours)\n");
    let (mut ran, mut failed) = (0, 0);
    let mut note = |what: &str, c: Option<&Counts>, ours: &Counts, good: bool| {
        let pair =
            |of: fn(&Counts) -> u32| format!("{}, {}", c.map_or("-".to_owned(), |c| of(c).to_string()), of(ours));
        let row = format!(
            "{what}\t{}\t{}\t{}{}",
            pair(|counts| counts.definite),
            pair(|counts| counts.possible),
            pair(|counts| counts.errors),
            if good { "" } else { "\tFAILED" }
        );
        println!("{row}");
        let known = c.map(|c| &c.remarks);
        for remark in ours
            .remarks
            .iter()
            .filter(|remark| known.is_none_or(|known| !known.contains(*remark)))
        {
            println!("{what}: valgrind says of ours alone: {remark}");
        }
        writeln!(table, "{row}").expect("a string");
        ran += 1;
        failed += u32::from(!good);
    };
    // Agents need PCP's files (`make setup`), C programs do not.
    let is_agent = names.is_empty() || names.iter().any(|text| text.starts_with("agent/"));
    let agents = if is_agent { Dso::all() } else { Vec::new() };
    for agent in agents
        .into_iter()
        .filter(|agent| wanted(&format!("agent/{}", agent.name)))
    {
        for opener in [Opener::Dbpmda, Opener::Pminfo] {
            let what = format!("agent/{} {opener:?}", agent.name);
            if let Some(reason) = agent.not_here(opener) {
                println!("{what}: left out: {reason}");
                continue;
            }
            match agent.both(opener) {
                None => println!("{what}: does not start here"),
                Some((c, None)) => note(&what, Some(&c), &Counts::default(), false),
                Some((c, Some(ours))) => note(&what, Some(&c), &ours, ours.within(&c)),
            }
        }
    }
    let tours = TOURS.into_iter().filter(|_| is_agent);
    for tour in tours.filter(|tour| wanted(&format!("agent/{}", tour.name))) {
        for form in [Form::Dso, Form::Daemon] {
            let what = format!("agent/{} {form:?}, all requests", tour.name);
            let run = |library| tour.run(form, Tool::Memcheck(library));
            match (run(Library::C), run(Library::Ours)) {
                (Ok(c), Ok(ours)) => note(&what, Some(&c), &ours, ours.within(&c)),
                (c, ours) => {
                    println!("{what}: C library: {c:?}, ours: {ours:?}");
                    note(&what, c.as_ref().ok(), &ours.unwrap_or_default(), false);
                }
            }
        }
    }
    for program in Program::of_course(Course::Memcheck)
        .into_iter()
        .filter(|program| wanted(&program.name))
    {
        let directory = out.join(&program.name);
        let file = directory.join("program");
        program.compile(&file);
        let (end, ours) = memory::program(&program, &file, Library::Ours, &directory.join("ours"));
        let Some(ours) = ours else {
            println!("{}: no report of valgrind: {}", program.name, end.end);
            note(&program.name, None, &Counts::default(), false);
            continue;
        };
        let hostile = program.name.starts_with("hostile/");
        // For these programs the C library is no measure.
        let alone = hostile || program.name.starts_with("c/fixed/");
        let c = program
            .suits_the_c_library()
            .then(|| memory::program(&program, &file, Library::C, &directory.join("C")));
        let measure = c
            .filter(|(outcome, _)| outcome.end == end.end)
            .and_then(|(_, counts)| counts);
        // At a defect the C library may stop earlier than ours, so valgrind has fewer reports about it.
        let whole = !alone || program.is_right_in_the_c_library(release() >= [7, 0, 0]);
        let good = match &measure {
            Some(c) if alone => {
                let remarks = if whole { &c.remarks } else { &ours.remarks }.clone();
                let errors = 0;
                ours.errors == 0
                    && ours.within(&Counts {
                        errors,
                        remarks,
                        ..c.clone()
                    })
            }
            Some(c) => ours.within(c),
            None => alone && ours.errors == 0 && !end.end.starts_with("killed") && (!hostile || end.end == "exit 0"),
        };
        let good = good && (ours.are_clean() || !program.loses_nothing());
        note(&program.name, measure.as_ref(), &ours, good);
        if good {
            let _ = fs::remove_dir_all(&directory);
        } else {
            println!(
                "{}: valgrind's reports: {}/*/report.*",
                program.name,
                directory.display()
            );
        }
    }
    fs::write(out.join("counts"), table).map_err(|error| error.to_string())?;
    println!("{ran} runs, {failed} failed");
    if failed == 0 {
        Ok(())
    } else {
        Err("memcheck: see target/memcheck and, for agents, test-pcp of the profile".to_owned())
    }
}
