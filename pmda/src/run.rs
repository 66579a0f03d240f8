//! The program of an agent.

use std::io::{IsTerminal, Write, stderr, stdin};
use std::process::ExitCode;

use pmda_core::log::Bytes;

use crate::agent::Agent;
use crate::env::Env;
use crate::options::{self, Command, Settings};
use crate::{check, daemon, logger, write};

/// Runs an agent's program: as a daemon, or what `--help`, `--version`, `--write` or `--check` asks
/// for. On a terminal, where no pmcd is at the other end, it only says so.
#[must_use]
pub fn run<A: Agent>() -> ExitCode {
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let program = std::path::Path::new(&program).file_name().unwrap_or_default();
    let program = program.to_string_lossy();
    match options::parse(arguments, A::OPTIONS) {
        Ok(Command::Serve(settings)) if settings.is_piped() && stdin().is_terminal() => {
            logger::write(format_args!(
                "{program}: pmcd starts this program; see {program} --help\n"
            ));
            ExitCode::FAILURE
        }
        Ok(Command::Serve(settings)) => daemon::serve::<A>(&program, &settings),
        // PCP's agents end with 1 here, too.
        Ok(Command::Help) => usage::<A>(&program),
        Ok(Command::Version) => {
            let version = env!("CARGO_PKG_VERSION");
            let is_told = logger::print(&format!("{program}: an agent with the crate pmda {version}\n"));
            if is_told { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Ok(Command::Write(directory, settings)) => write::write::<A>(&directory, &env::<A>(settings)),
        Ok(Command::Check(settings)) => check::check::<A>(&env::<A>(settings)),
        Err(mistake) => {
            let mistake = mistake.to_string();
            logger::write(format_args!("{program}: {}\n", Bytes(mistake.as_bytes())));
            usage::<A>(&program)
        }
    }
}

/// The environment of an agent that only declares its metrics.
fn env<A: Agent>(settings: Settings) -> Env {
    let env = Env::installed(A::NAME, settings.domain.unwrap_or(A::DOMAIN), false);
    env.with_options(settings.own, settings.arguments)
}

fn usage<A: Agent>(program: &str) -> ExitCode {
    // An error has no other place where it could be told.
    let _ = stderr().write_all(options::usage(program, A::OPTIONS).as_bytes());
    ExitCode::FAILURE
}
