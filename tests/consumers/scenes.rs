//! Events in an agent's life: agents are killed, hang, are not ready, change their names; clients
//! load many of them into one process; a program is measured while it runs. Each scene is played on
//! both libraries, and must read the same.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use libtest_mimic::{Completion, Trial};

use crate::agents;
use crate::systems;
use pcp_pmda_test::pcp::{self, Environment, Pmcd, text};
use pcp_pmda_test::program::Program;
use pcp_pmda_test::run::bounded;
use pcp_pmda_test::{Library, compare, compile_c, profile_dir, release, root};

type Scene = fn(&Environment) -> Result<String, String>;

/// One trial for each scene.
pub fn trials() -> Vec<Trial> {
    let scenes: [(&str, Scene); 9] = [
        ("killed_agent_is_restarted", killed),
        ("hanging_agent_times_out", hanging),
        ("agent_that_is_not_ready", not_ready),
        ("stores_reach_agents", stores),
        ("changes_reach_clients", changes),
        ("instrumented_program", instrumented),
        ("help_files_of_all_agents", help_files),
        ("pminfo_in_a_local_context", local_pminfo),
        ("agent_with_the_c_library_inside", library_inside),
    ];
    let trial = |(name, scene): (&'static str, Scene)| {
        Trial::test(format!("scenes::{name}"), move || {
            let play = |library| scene(&Environment::new(&format!("scenes-{name}"), library));
            let (c, ours) = (steady(&play(Library::C)?), steady(&play(Library::Ours)?));
            compare::difference(("C library", &c), ("ours", &ours)).map_or(Ok(()), |text| Err(text.into()))
        })
    };
    let whole = Trial::test("scenes::whole_system", || systems::whole_system().map_err(Into::into));
    let local = Trial::ignorable_test("scenes::local_context", || {
        if release() < [6, 0, 0] {
            let reason = "PCP 5.3's client of so many DSOs ends by signal 11 on the C library";
            return Ok(Completion::ignored_with(reason));
        }
        systems::local_context()?;
        Ok(Completion::Completed)
    });
    [whole, local]
        .into_iter()
        .chain(scenes.into_iter().map(trial))
        .collect()
}

/// A text without the times and process ids of log lines.
fn steady(told: &str) -> String {
    let stamp = regex::Regex::new(r"\[[A-Z][^\]]* [0-9:.]+\] ([^ (]+)\([0-9]+\)").expect("a valid pattern");
    stamp.replace_all(told, "[TIME] $1(PID)").into_owned()
}

/// A C program of this directory, compiled.
fn program(name: &str, extra: &[&str]) -> PathBuf {
    let program = profile_dir().join(format!("test-{name}"));
    compile_c(&root().join(format!("tests/consumers/{name}.c")), &program, extra);
    program
}

/// pmcd with the sample agent as a daemon.
fn sample<'a>(environment: &'a Environment, args: &[&str]) -> Result<Pmcd<'a>, String> {
    let directory = pcp::agent("sample");
    let line = format!(
        "sample 29 pipe binary {} -d 29\n",
        directory.join("pmdasample").display()
    );
    environment.pmcd_with(&line, &directory.join("root"), args)
}

fn killed(environment: &Environment) -> Result<String, String> {
    let pmcd = sample(environment, &[])?;
    let mut told = text(&pmcd.tool("pminfo", &["-f", "sample.long.ten"]));
    let first = pmcd.agent_pid("sample").ok_or("pmcd lists no process of the agent")?;
    pcp::kill(first, libc::SIGKILL);
    told += &pmcd.tool_until("pminfo", &["-f", "sample.long.ten"], |answer| !answer.contains("value"))?;
    // pmcd restarts lost agents when it is told to look at its configuration again.
    pmcd.signal(libc::SIGHUP);
    told += &pmcd.tool_until("pminfo", &["-f", "sample.long.ten"], |answer| answer.contains("value"))?;
    let second = pmcd
        .agent_pid("sample")
        .ok_or("pmcd lists no process of the restarted agent")?;
    let _ = writeln!(told, "another process: {}", first != second);
    Ok(told)
}

fn hanging(environment: &Environment) -> Result<String, String> {
    let pmcd = sample(environment, &["-t", "1"])?;
    let agent = pmcd.agent_pid("sample").ok_or("pmcd lists no process of the agent")?;
    pcp::kill(agent, libc::SIGSTOP);
    let mut told = text(&pmcd.tool("pminfo", &["-f", "sample.long.ten"]));
    pcp::kill(agent, libc::SIGKILL);
    pmcd.signal(libc::SIGHUP);
    told += &pmcd.tool_until("pminfo", &["-f", "sample.long.ten"], |answer| answer.contains("value"))?;
    Ok(told)
}

fn not_ready(environment: &Environment) -> Result<String, String> {
    let pmcd = sample(environment, &[])?;
    // The agent says that it is not ready, for a second, and then that it is.
    let mut told = text(&pmcd.tool("pmstore", &["sample.not_ready_msec", "700"]));
    told += &text(&pmcd.tool("pminfo", &["-f", "sample.long.ten"]));
    told += &pmcd.tool_until("pminfo", &["-f", "sample.long.ten"], |answer| answer.contains("value"))?;
    Ok(told)
}

/// `pmstore` into a daemon and into pmcd's own DSO: what they take, what they refuse, and what is
/// read back.
fn stores(environment: &Environment) -> Result<String, String> {
    let mut configuration = agents::line("sample", agents::Form::Daemon, environment);
    configuration += &agents::line("pmcd", agents::Form::Dso, environment);
    let names = environment.directory.join("names");
    systems::merge(environment, &names, &["pmcd"])?;
    let pmcd = environment.pmcd(&configuration, &names)?;
    let mut told = String::new();
    for (metric, value) in [
        ("sample.long.write_me", "-17"),
        ("sample.ulong.write_me", "4000000000"),
        ("sample.longlong.write_me", "-5000000000"),
        ("sample.ulonglong.write_me", "5000000000"),
        ("sample.float.write_me", "0.5"),
        ("sample.double.write_me", "-1e100"),
        ("sample.string.write_me", "some words"),
        ("sample.aggregate.write_me", "word"),
        ("sample.write_me", "3"),
        ("sample.write_me", "a word"),
        ("sample.long.ten", "11"),
        ("sample.no_such_metric", "1"),
        ("pmcd.control.timeout", "17"),
        ("pmcd.control.timeout", "-1"),
        ("pmcd.numagents", "1"),
    ] {
        let _ = writeln!(told, "pmstore {metric} {value}:");
        told += &text(&pmcd.tool("pmstore", &["-f", metric, value]));
        told += &text(&pmcd.tool("pminfo", &["-f", metric]));
    }
    // One instance of several.
    told += &text(&pmcd.tool("pmstore", &["-i", "bin-300", "sample.bin", "1"]));
    told += &text(&pmcd.tool("pmstore", &["-i", "no such", "sample.bin", "1"]));
    for expected in [
        "value -17\n",
        "value \"some words\"\n",
        "value 17\n",
        "value -5000000000\n",
    ] {
        if !told.contains(expected) {
            return Err(format!("no store was read back as {expected}:\n{told}"));
        }
    }
    Ok(told)
}

fn changes(environment: &Environment) -> Result<String, String> {
    let names = environment.directory.join("names");
    fs::write(&names, "root { changing }\nchanging { how 497:0:0 count 497:0:1 }\n").expect("target is writable");
    let line = format!("changing 497 pipe binary {}\n", program("changing", &[]).display());
    let pmcd = environment.pmcd(&line, &names)?;
    let mut command = pmcd.client(program("watching", &[]));
    command.arg(pmcd.host());
    let told = text(&bounded(command, Duration::from_secs(60)));
    if !(told.contains("names 1 labels 0") && told.contains("names 0 labels 1") && told.contains("names 1 labels 1")) {
        return Err(format!("not every change was announced:\n{told}"));
    }
    Ok(told)
}

fn instrumented(environment: &Environment) -> Result<String, String> {
    let directory = pcp::agent("mmv");
    let names = environment.directory.join("names");
    fs::write(&names, "root { mmv 70:*:* }\n").expect("target is writable");
    let (dso, daemon) = (directory.join("pmda_mmv.so"), directory.join("pmdammv"));
    // PCP 7 has the daemon only.
    let line = if dso.exists() {
        format!("mmv 70 dso mmv_init {}\n", dso.display())
    } else {
        format!("mmv 70 pipe binary {} -d 70\n", daemon.display())
    };
    let pmcd = environment.pmcd(&line, &names)?;
    let mut command = pmcd.client(program("instrumented", &["-lpcp_mmv"]));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut ready = String::new();
    let read = BufReader::new(child.stdout.take().expect("piped")).read_line(&mut ready);
    let told = read.map_err(|error| error.to_string()).and_then(|_| {
        let mut told = pmcd.tool_until("pminfo", &["-dtT", "mmv.instrumented"], |answer| {
            answer.contains("Rounds")
        })?;
        told += &text(&pmcd.tool("pminfo", &["-f", "mmv.instrumented.level", "mmv.instrumented.state"]));
        let mut last = 0;
        for _ in 0..20 {
            let now = text(&pmcd.tool("pminfo", &["-f", "mmv.instrumented.counter"]));
            let value = now.split_whitespace().skip_while(|word| *word != "value").nth(1);
            let value = value
                .and_then(|word| word.parse::<u64>().ok())
                .ok_or_else(|| format!("no value: {now}"))?;
            if value < last {
                return Err(format!("the counter went back from {last} to {value}"));
            }
            last = value;
        }
        let _ = writeln!(told, "counted: {}", last > 0);
        Ok(told)
    });
    drop(child.stdin.take());
    let end = child.wait().map_err(|error| error.to_string())?;
    let mut told = told?;
    told += &pmcd.tool_until("pminfo", &["mmv.instrumented"], |answer| !answer.contains("counter"))?;
    let _ = writeln!(told, "the program ended with {end}");
    Ok(told)
}

fn help_files(environment: &Environment) -> Result<String, String> {
    let mut told = String::new();
    let mut files = 0;
    let mut directories: Vec<_> = fs::read_dir(pcp::installed("var/lib/pcp/pmdas"))
        .expect("make setup")
        .flatten()
        .collect();
    directories.sort_by_key(fs::DirEntry::file_name);
    for directory in directories {
        let path = directory.path();
        if !path.join("help.pag").exists() || !path.join("root").exists() {
            continue;
        }
        files += 1;
        let chkhelp = pcp::installed("usr/lib/pcp/bin/chkhelp");
        for options in [["-e", "-H"], ["-e", "-i"]] {
            let mut command = environment.command(&chkhelp);
            command
                .args(options)
                .arg("-n")
                .arg(path.join("root"))
                .arg(path.join("help"));
            let _ = writeln!(
                told,
                "{} {}:",
                Path::new(&directory.file_name()).display(),
                options.join(" ")
            );
            told += &text(&bounded(command, Duration::from_secs(30)));
        }
    }
    if files < 20 {
        return Err(format!("only {files} help files were found"));
    }
    Ok(told)
}

/// An agent that was linked with the archive of the C library, in pmcd, in a local context and in
/// dbpmda. pmcd moves the tables of its agents when it gets more of them.
fn library_inside(environment: &Environment) -> Result<String, String> {
    let agent = environment.directory.join("pmda_static.so");
    Program::new("c/dso/static_agent")?.compile(&agent);
    let names = environment.directory.join("names");
    let written = fs::write(&names, "root {\n    static\n}\nstatic {\n    colour 77:0:0\n}\n");
    written.map_err(|error| error.to_string())?;

    let sample = pcp::agent("sample");
    let mut lines = format!("static 77 dso static_init {}\n", agent.display());
    lines += &format!(
        "sample 29 dso sample_init {}\n",
        sample.join("pmda_sample.so").display()
    );
    for (name, domain) in [
        ("pipeone", 101),
        ("pipetwo", 102),
        ("pipethree", 103),
        ("pipefour", 104),
        ("pipefive", 105),
    ] {
        lines += &format!(
            "{name} {domain} pipe binary {} -d {domain}\n",
            sample.join("pmdasample").display()
        );
    }
    let pmcd = environment.pmcd_with(&lines, &names, &[])?;
    let mut told = String::new();
    for _ in 0..2 {
        told += &text(&pmcd.tool("pminfo", &["-f", "-d", "-l", "-I", "static"]));
        pmcd.signal(libc::SIGHUP);
    }
    drop(pmcd);

    let names = names.display().to_string();
    let add = format!("add,77,{},static_init", agent.display());
    let args = ["-L", "-K", "clear", "-K", &add, "-n", &names, "-fd", "static"];
    told += &text(&environment.run(pcp::installed("usr/bin/pminfo"), &args));
    if told.matches("value 45").count() != 3 {
        return Err(format!("not all values came:\n{told}"));
    }
    Ok(told)
}

fn local_pminfo(environment: &Environment) -> Result<String, String> {
    let root = pcp::agent("sample").join("root");
    let add = format!(
        "add,29,{},sample_init",
        pcp::agent("sample").join("pmda_sample.so").display()
    );
    let mut told = String::new();
    for name in ["sample.long", "sample.bin", "sample.string", "sample.aggregate"] {
        let args = [
            "-L",
            "-K",
            "clear",
            "-K",
            &add,
            "-n",
            &root.display().to_string(),
            "-dfmtTl",
            name,
        ];
        told += &text(&environment.run(pcp::installed("usr/bin/pminfo"), &args));
    }
    if !told.contains("sample.long.hundred") || !told.contains("value 100\n") {
        return Err(format!("the sample agent was not loaded:\n{told}"));
    }
    Ok(told)
}
