//! Many agents at once: those of a whole system under pmcd, and DSOs in one client.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::agents;
use crate::survey;
use pcp_pmda_test::pcp::{self, Environment, text};
use pcp_pmda_test::run::bounded;
use pcp_pmda_test::{Library, release};

/// The agents that pmcd.conf of a Debian system has, and some more, at once: all that `pminfo
/// -dfmtTlx` shows of them. The survey of such a system is that of `tests/compare`.
pub fn whole_system() -> Result<(), String> {
    let picture = |library| {
        let environment = Environment::new("scenes-whole_system", library);
        let daemons = ["root", "proc", "xfs", "linux", "mmv", "jbd2", "kvm", "sample"];
        let daemon = |name: &&str| agents::line(name, agents::Form::Daemon, &environment);
        let mut configuration: String = daemons.iter().map(daemon).collect();
        configuration += &agents::line("pmcd", agents::Form::Dso, &environment);
        let standard = ["root", "pmcd", "proc", "xfs", "linux", "mmv", "jbd2", "kvm"];
        let names = environment.directory.join("names");
        merge(&environment, &names, &standard)?;
        let pmcd = environment.pmcd_with(&configuration, &names, &["-q", "30", "-t", "10"])?;
        let outcome = pmcd.tool("pminfo", &["-dfmtTlx"]);
        if outcome.end != "exit 0" && outcome.end != "exit 1" {
            return Err(format!("pminfo of everything: {}", text(&outcome)));
        }
        let answers = shown(&String::from_utf8_lossy(&outcome.stdout));
        if answers.len() < 5000 {
            return Err(format!("pminfo shows {} lines only:\n{}", answers.len(), pmcd.log()));
        }
        Ok(answers)
    };
    survey::compare(|| picture(Library::C), || picture(Library::Ours)).map(drop)
}

/// The lines of `pminfo`, each as the answer to a question: those of an instance under its name,
/// the others under their number below the metric.
fn shown(told: &str) -> survey::Answers {
    let (mut lines, mut metric, mut number) = (String::new(), "", 0);
    for line in told.lines() {
        if let Some((name, _)) = line.split_once(" PMID: ") {
            (metric, number) = (name, 0);
        }
        match line.split_once("] ") {
            Some((instance, value)) if instance.starts_with("    inst [") => {
                let _ = writeln!(lines, "{metric} pminfo {}]\t{value}", instance.trim());
            }
            _ => {
                number += 1;
                let _ = writeln!(lines, "{metric} pminfo line {number}\t{line}");
            }
        }
    }
    survey::parse(&lines)
}

/// One name space of the standard parts and that of the sample agent.
pub fn merge(environment: &Environment, names: &Path, parts: &[&str]) -> Result<(), String> {
    let mut command = environment.command(pcp::installed("usr/lib/pcp/bin/pmnsmerge"));
    command.current_dir(pcp::installed("var/lib/pcp/pmns"));
    command.arg("-f").arg(pcp::agent("sample").join("root"));
    for part in parts {
        let file = environment.directory.join(format!("root_{part}"));
        let source = pcp::installed("usr/lib/pcp/pmns").join(format!("root_{part}"));
        // In Debian's package of PCP 7.2 some of these links lead nowhere.
        if release() >= [7, 0, 0] && !source.exists() {
            continue;
        }
        fs::write(
            &file,
            format!("#include <stdpmid>\n#include \"{}\"\n", source.display()),
        )
        .expect("writable");
        command.arg(file);
    }
    command.arg(names);
    let outcome = bounded(command, Duration::from_secs(30));
    if outcome.end == "exit 0" {
        Ok(())
    } else {
        Err(format!("pmnsmerge: {}", text(&outcome)))
    }
}

/// Many DSOs in one client process.
pub fn local_context() -> Result<(), String> {
    let picture = |library| {
        let environment = Environment::new("scenes-local_context", library);
        let names = environment.directory.join("names");
        // PCP 7 has fewer agents in this form.
        let mut agents = vec!["linux", "proc", "xfs", "jbd2"];
        agents.retain(|name| pcp::agent(name).join(format!("pmda_{name}.so")).exists());
        merge(&environment, &names, &agents)?;
        agents.push("sample");
        // A local context loads the DSOs that pmcd.conf names.
        let line = |name: &&str| agents::line(name, agents::Form::Dso, &environment);
        let configuration: String = agents.iter().map(line).collect();
        fs::write(environment.directory.join("pmcd.conf"), configuration).expect("target is writable");
        let mut command = environment.command(survey::local());
        command.arg(&names);
        let outcome = bounded(command, Duration::from_secs(60));
        if outcome.end != "exit 0" {
            return Err(format!("the survey ended: {}", text(&outcome)));
        }
        Ok(survey::parse(&String::from_utf8_lossy(&outcome.stdout)))
    };
    survey::compare(|| picture(Library::C), || picture(Library::Ours)).map(drop)
}
