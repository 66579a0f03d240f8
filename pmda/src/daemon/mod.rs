//! The daemon: connects with pmcd and serves its requests, one after the other.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{self, ExitCode};

use log::LevelFilter;
use nix::unistd::geteuid;
use pmda_core::constants::CVERSION;
use pmda_core::wire::encode::Reply;
use pmda_core::wire::receive::Receiver;
use pmda_core::wire::{Kind, decode};
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use crate::agent::Agent;
use crate::env::Env;
use crate::logger;
use crate::logger::{describe, reason};
use crate::options::Settings;
use crate::session::{COMM_FLAGS, Session};

mod connect;
mod not_ready;
mod stream;
mod termination;
mod user;

use not_ready::NotReady;
use stream::{Stream, next};
use termination::Termination;

/// Runs the agent until pmcd ends the connection, or SIGTERM comes.
pub(crate) fn serve<A: Agent>(program: &str, settings: &Settings) -> ExitCode {
    let signals = Signals::new([SIGTERM]);
    let file = settings
        .log
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.log", A::NAME)));
    logger::open(program, &file);
    logger::start(program, settings.debug.unwrap_or(LevelFilter::Info));
    let signals = signals.map_err(|error| reason(&error));
    let termination = signals.and_then(Termination::on);
    let code = match termination.and_then(|termination| run::<A>(settings, &termination)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(end) => {
            log::error!("{end}");
            ExitCode::FAILURE
        }
    };
    logger::close();
    code
}

fn run<A: Agent>(settings: &Settings, termination: &Termination) -> Result<(), String> {
    let connection = settings.connection.clone().unwrap_or_default();
    let mut stream = connect::connect(&connection)?;
    let mut receiver = Receiver::new();
    shake_hands(&mut stream, &mut receiver)?;
    let domain = settings.domain.unwrap_or(A::DOMAIN);
    let env = Env::installed(A::NAME, domain, false).with_options(settings.own.clone(), settings.arguments.clone());
    // Before the agent starts. The C library changes the user of all threads.
    let by_default = A::user(&env).filter(|_| geteuid().is_root());
    user::become_user(settings.user.as_deref().or(by_default.as_deref()), A::STAYS_ROOT)?;
    let not_ready =
        NotReady::start(stream, receiver, settings.not_ready || A::NOT_READY).map_err(|error| reason(&error))?;
    if !termination.may_start() {
        return Ok(());
    }
    let started = Session::<A>::start(&env);
    let (stream, receiver, waiting) = not_ready.end(started.is_ok());
    // If the agent keeps no share of the reactor, nothing can wake it, and the loop just reads.
    drop(env);
    let mut session = started.map_err(|error| format!("cannot start: {}", describe(&error)))?;
    let outcome = requests(&mut session, stream, receiver, waiting, termination);
    // After SIGTERM another thread ends the process of an agent that takes too long.
    let limit = (!termination.is_asked()).then_some(termination::PATIENCE);
    if !session.end_within(limit) {
        termination::end_late();
    }
    outcome
}

/// Serves the requests that have waited, then those that come, until pmcd closes the connection or
/// SIGTERM comes.
fn requests<A: Agent>(
    session: &mut Session<A>,
    mut stream: Stream,
    mut receiver: Receiver,
    waiting: Vec<Vec<u8>>,
    termination: &Termination,
) -> Result<(), String> {
    for pdu in waiting {
        stream.output.send(session.request(&pdu))?;
    }
    loop {
        if receiver.is_ahead() {
            session.look();
        } else {
            session.wait([stream.input.as_fd(), termination.as_fd()]);
        }
        if termination.is_asked() {
            return Ok(());
        }
        match next(&mut stream.input, &mut receiver)? {
            None => return Ok(()),
            Some(pdu) => {
                stream.output.send(session.request(pdu.bytes()))?;
                receiver.recycle(pdu);
            }
        }
    }
}

/// Sends our credentials, then reads pmcd's (CONN-6).
fn shake_hands(stream: &mut Stream, receiver: &mut Receiver) -> Result<(), String> {
    let mut credentials = Reply::new();
    let process = i32::try_from(process::id()).unwrap_or(0);
    let made = credentials.credentials(process, COMM_FLAGS);
    made.map_err(|error| describe(&error.into()))?;
    stream.output.send(credentials.bytes())?;
    let Some(pdu) = next(&mut stream.input, receiver)? else {
        return Err("pmcd has ended the connection before its credentials".to_owned());
    };
    let kind = pdu.header.kind;
    if kind != Kind::PDU_CREDS {
        return Err(format!(
            "version exchange failure, got PDU type {kind} expecting PDU_CREDS"
        ));
    }
    let mut credentials = decode::credentials(pdu.bytes()).map_err(|error| describe(&error.into()))?;
    if !credentials.any(|(kind, _)| kind == CVERSION) {
        log::warn!("pmcd has not told its version");
    }
    drop(credentials);
    receiver.recycle(pdu);
    Ok(())
}
