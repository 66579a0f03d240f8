//! `pcp-pmda-rust compare`, and what `pcp-pmda-rust status` and `which` know of processes: see the
//! manual page.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, ExitCode};

use lexopt::prelude::*;
use pcp_pmda_rust_compare::compare::{Settings, compare};
use pcp_pmda_rust_compare::inquiry::{self, PATIENCE};
use pcp_pmda_rust_compare::report::{self, End};
use pcp_pmda_rust_compare::{folder, processes, supervisor};

const USAGE: &str = "\
Usage: pcp-pmda-rust compare [AGENT...] [--fetches N] [--json]

Runs the agents of this host on the C library and on this one, in a pmcd of its own
beside the running one, and compares what a client sees. See pcp-pmda-rust(1).

Exit status: 0 if each agent is equal, 1 if an agent is different, 2 if an agent could
not be compared. An agent that runs without metrics counts only if it was named.";

/// The command line.
struct Options {
    settings: Settings,
    json: bool,
    role: Role,
}

/// The role of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Starts the one that compares, and waits for its end.
    Supervise,
    /// Compares.
    Compare,
    /// Prints which library processes have loaded: the interface of `pcp-pmda-rust`.
    Inquire,
    /// Reads it for that one.
    Read,
    /// Says whether PCP's user can read the library, and why not.
    Readable,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == processes::KEEPER) {
        let Err(error) = supervisor::keep(arguments);
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let options = match options(lexopt::Parser::from_env()) {
        Ok(Some(options)) => options,
        Ok(None) => return ExitCode::from(u8::from(!is_written(USAGE))),
        Err(error) => {
            eprintln!("pcp-pmda-rust compare: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let outcome = match options.role {
        Role::Compare => {
            let progress = Progress::new();
            let outcome =
                supervisor::guard().and_then(|guard| compare(&options.settings, &guard, &|what| progress.show(what)));
            progress.clear();
            outcome
        }
        Role::Supervise => match supervisor::run(std::env::args_os()) {
            Ok(status) => return ExitCode::from(status),
            Err(reason) => Err(reason),
        },
        Role::Inquire => return inquire(&options.settings),
        Role::Readable => {
            let readable = folder::readable(&options.settings.ours);
            if let Err(reason) = &readable {
                eprintln!("{reason}");
            }
            return ExitCode::from(u8::from(readable.is_err()));
        }
        Role::Read => {
            let Settings { ours, agents, .. } = &options.settings;
            let prefix = agents.first().map(String::as_str).unwrap_or_default();
            let answered = inquiry::answer(ours, prefix, io::stdin().lock(), io::stdout().lock());
            return ExitCode::from(u8::from(answered.is_err()));
        }
    };
    let (text, end) = match outcome {
        Ok(report) => {
            let end = report::end(&report, !options.settings.agents.is_empty());
            if options.json {
                (format!("{:#}", report::json(&report, end)), end)
            } else {
                (report::lines(&report) + &report::last_line(&report, end), end)
            }
        }
        Err(reason) if options.json => (format!("{:#}", report::failure(&reason)), End::NotCompared),
        Err(reason) => (report::not_compared(&reason), End::NotCompared),
    };
    let end = if is_written(&text) { end } else { End::NotCompared };
    ExitCode::from(end as u8)
}

/// Writes a line for each library that processes have loaded, with tabs between its fields; the
/// manual page of `pcp-pmda-rust` shows what becomes of them. Without subjects it looks into all
/// processes.
fn inquire(settings: &Settings) -> ExitCode {
    let all = settings.agents.is_empty().then(inquiry::all_processes);
    let reader = || {
        let mut command = Command::new("/proc/self/exe");
        command.arg(inquiry::READER).arg("--library").arg(&settings.ours);
        // Among all processes those of PCP matter that may not be looked into; of one that was named
        // it is said in any case.
        command.args(all.is_some().then_some("pm"));
        command
    };
    let answers = inquiry::ask(all.as_ref().unwrap_or(&settings.agents), &reader, PATIENCE);
    let answers = match answers {
        Ok(answers) => answers,
        Err(error) => {
            eprintln!("pcp-pmda-rust: {error}");
            return ExitCode::FAILURE;
        }
    };
    let lines: String = answers.lines.iter().map(|line| line.clone() + "\n").collect();
    let is_written = lines.is_empty() || is_written(lines.trim_end_matches('\n'));
    for missing in &answers.missing {
        eprintln!("pcp-pmda-rust: {missing}");
    }
    ExitCode::from(u8::from(!answers.missing.is_empty() || !is_written))
}

fn options(mut parser: lexopt::Parser) -> Result<Option<Options>, lexopt::Error> {
    let (mut ours, mut c) = (OsString::new(), OsString::new());
    let mut options = Options {
        settings: Settings {
            ours: "".into(),
            c: "".into(),
            agents: Vec::new(),
            fetches: 3,
        },
        json: false,
        role: Role::Supervise,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("library") => ours = parser.value()?,
            Long("c-library") => c = parser.value()?,
            Long("fetches") => {
                let fetches = parser.value()?;
                options.settings.fetches = fetches.parse()?;
                if options.settings.fetches == 0 {
                    return Err("--fetches takes a number from 1".into());
                }
            }
            Long(name) if name == supervisor::BELOW.trim_start_matches('-') => options.role = Role::Compare,
            Long("loaded") => options.role = Role::Inquire,
            Long(name) if name == inquiry::READER.trim_start_matches('-') => options.role = Role::Read,
            Long("readable") => options.role = Role::Readable,
            Long("json") => options.json = true,
            Long("help") | Short('h') => return Ok(None),
            Value(name) => options.settings.agents.push(name.string()?),
            other => return Err(other.unexpected()),
        }
    }
    let compares = matches!(options.role, Role::Supervise | Role::Compare);
    if ours.is_empty() || (c.is_empty() && compares) {
        return Err("--library and --c-library are needed, which pcp-pmda-rust adds".into());
    }
    options.settings.ours = ours.into();
    options.settings.c = c.into();
    Ok(Some(options))
}

/// Writes to the standard output, and says if that fails, as on a full disk or when the reader has
/// ended.
fn is_written(text: &str) -> bool {
    let written = writeln!(io::stdout(), "{text}").and_then(|()| io::stdout().flush());
    if let Err(error) = &written {
        let _ = writeln!(
            io::stderr(),
            "pcp-pmda-rust: the result is not whole, since the standard output cannot be written: {error}: \
             write it to a file with room, and read that"
        );
    }
    written.is_ok()
}

/// A line that says what happens, on a terminal only.
struct Progress {
    is_shown: bool,
}

impl Progress {
    fn new() -> Progress {
        let is_dumb = std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        Progress {
            is_shown: io::stderr().is_terminal() && !is_dumb,
        }
    }

    fn show(&self, what: &str) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K{what}");
        }
    }

    fn clear(&self) {
        self.show("");
    }
}
