//! `pcp-pmda-rust compare`: see its manual page.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use lexopt::prelude::*;
use pcp_pmda_rust_compare::compare::{Settings, compare};
use pcp_pmda_rust_compare::report::{self, End};
use pcp_pmda_rust_compare::supervisor;

const USAGE: &str = "\
Usage: pcp-pmda-rust compare [AGENT...] [--fetches N] [--json]

Runs the agents of this host on the C library and on this one, in a pmcd of its own
beside the running one, and compares what a client sees. See pcp-pmda-rust(1).";

/// The command line.
struct Options {
    settings: Settings,
    json: bool,
    /// This is the lower one of two processes.
    is_below: bool,
}

fn main() -> ExitCode {
    let options = match options(lexopt::Parser::from_env()) {
        Ok(Some(options)) => options,
        Ok(None) => {
            say(USAGE);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("pcp-pmda-rust compare: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let outcome = if options.is_below {
        let progress = Progress::new();
        let outcome =
            supervisor::guard().and_then(|guard| compare(&options.settings, &guard, &|what| progress.show(what)));
        progress.clear();
        outcome
    } else {
        match supervisor::run(std::env::args_os()) {
            Ok(status) => return ExitCode::from(status),
            Err(reason) => Err(reason),
        }
    };
    let end = match outcome {
        Ok(report) => {
            let whole = !options.settings.agents.is_empty() || !nix::unistd::geteuid().is_root();
            let end = report::end(&report, whole);
            if options.json {
                say(&format!("{:#}", report::json(&report, end)));
            } else {
                say(&(report::lines(&report) + &report::last_line(&report, end)));
            }
            end
        }
        Err(reason) => {
            if options.json {
                say(&format!("{:#}", report::failure(&reason)));
            } else {
                say(&report::not_compared(&reason));
            }
            End::NotCompared
        }
    };
    ExitCode::from(end as u8)
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
        is_below: false,
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
            Long(name) if name == supervisor::BELOW.trim_start_matches('-') => options.is_below = true,
            Long("json") => options.json = true,
            Long("help") | Short('h') => return Ok(None),
            Value(name) => options.settings.agents.push(name.string()?),
            other => return Err(other.unexpected()),
        }
    }
    if ours.is_empty() || c.is_empty() {
        return Err("--library and --c-library are needed, which pcp-pmda-rust adds".into());
    }
    options.settings.ours = ours.into();
    options.settings.c = c.into();
    Ok(Some(options))
}

/// Writes to the standard output. Who does not read it to its end does not want it.
fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
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
