//! The daemon: connects with pmcd and serves its requests, one after the other.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{self, ExitCode};
use std::thread;

use log::LevelFilter;
use nix::sys::signal::{SigSet, Signal};
use pmda_core::wire::encode::Reply;
use pmda_core::wire::receive::{Failure, Pdu, ReadMode, Receiver, Source};
use pmda_core::wire::{HEADER, Kind};

use crate::options::Settings;
use crate::session::{COMM_FLAGS, Session};
use crate::{Agent, Env, Error, logger};

mod connect;
mod gate;
mod user;

use gate::Gate;

/// The type of a credential that holds the version of the protocol, and the version.
const CREDENTIAL_VERSION: u8 = 1;

/// Both directions of the connection with pmcd.
pub(crate) struct Stream {
    input: Input,
    output: File,
}

/// Where requests come from.
pub(crate) struct Input(File);

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Source for Input {}

/// Runs the agent until pmcd ends the connection.
pub(crate) fn serve<A: Agent>(program: &str, settings: &Settings) -> ExitCode {
    let file = settings
        .log
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.log", A::NAME)));
    logger::open(program, &file);
    logger::start(program, settings.debug.unwrap_or(LevelFilter::Info));
    let code = match run::<A>(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(end) => {
            log::error!("{end}");
            ExitCode::FAILURE
        }
    };
    logger::close();
    code
}

fn run<A: Agent>(settings: &Settings) -> Result<(), String> {
    let connection = settings.connection.clone().unwrap_or_default();
    let mut stream = connect::connect(&connection)?;
    let mut receiver = Receiver::new();
    shake_hands(&mut stream, &mut receiver)?;
    // Before there are threads: each has user and groups of its own for the kernel.
    user::become_user(settings.user.as_deref())?;
    end_on_sigterm()?;
    let domain = settings.domain.unwrap_or(A::DOMAIN);
    let env = Env::installed(A::NAME, domain, false).with_options(settings.own.clone(), settings.arguments.clone());
    let gate = Gate::close(stream, receiver, settings.not_ready).map_err(|error| reason(&error))?;
    let started = Session::<A>::start(&env);
    let (stream, receiver, waiting) = gate.open(started.is_ok());
    let session = started.map_err(|error| format!("cannot start: {}", describe(error)))?;
    requests(session, stream, receiver, waiting)
}

/// Serves what has waited and then what comes, until the end.
fn requests<A: Agent>(
    mut session: Session<A>,
    mut stream: Stream,
    mut receiver: Receiver,
    waiting: Vec<Vec<u8>>,
) -> Result<(), String> {
    for pdu in waiting {
        send(&mut stream.output, session.request(&pdu))?;
    }
    loop {
        match next(&mut stream.input, &mut receiver)? {
            None => return Ok(()),
            Some(pdu) => {
                send(&mut stream.output, session.request(pdu.bytes()))?;
                receiver.recycle(pdu);
            }
        }
    }
}

/// The next request; `None` when pmcd has closed the connection.
fn next(input: &mut Input, receiver: &mut Receiver) -> Result<Option<Pdu>, String> {
    match receiver.next(input, ReadMode::Ahead) {
        Ok(pdu) => Ok(Some(pdu)),
        Err(Failure::End) => Ok(None),
        Err(failure) => Err(format!("cannot read from pmcd: {failure:?}")),
    }
}

fn send(output: &mut File, reply: &[u8]) -> Result<(), String> {
    if reply.is_empty() {
        return Ok(());
    }
    output
        .write_all(reply)
        .map_err(|error| format!("cannot write to pmcd: {}", reason(&error)))
}

/// CONN-6: the agent's credentials first, then those of pmcd.
fn shake_hands(stream: &mut Stream, receiver: &mut Receiver) -> Result<(), String> {
    let mut credentials = Reply::new();
    let process = i32::try_from(process::id()).unwrap_or(0);
    let made = credentials.credentials(process, COMM_FLAGS);
    made.map_err(describe)?;
    send(&mut stream.output, credentials.bytes())?;
    let Some(pdu) = next(&mut stream.input, receiver)? else {
        return Err("pmcd has ended the connection before its credentials".to_owned());
    };
    let kind = pdu.header.kind;
    if kind != Kind::PDU_CREDS {
        return Err(format!(
            "version exchange failure, got PDU type {kind} expecting PDU_CREDS"
        ));
    }
    // Behind their number, credentials of four bytes each, of which the first says what it is.
    let mut each = pdu.bytes().get(HEADER + 4..).unwrap_or_default().chunks_exact(4);
    if !each.any(|credential| credential.first() == Some(&CREDENTIAL_VERSION)) {
        log::warn!("pmcd has not told its version");
    }
    receiver.recycle(pdu);
    Ok(())
}

/// Waits for SIGTERM on a thread of its own, so that the log gets its footer whatever the agent is
/// doing. All threads that are started later block the signal, too.
fn end_on_sigterm() -> Result<(), String> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.thread_block().map_err(|errno| errno.desc().to_owned())?;
    let wait = move || {
        while signals.wait().is_err() {}
        log::info!("ended by SIGTERM");
        logger::close();
        process::exit(0);
    };
    let thread = thread::Builder::new().name("sigterm".to_owned()).spawn(wait);
    thread.map(drop).map_err(|error| reason(&error))
}

/// An error in words, as PCP's tools print it.
fn describe(error: Error) -> String {
    match error.code() {
        errno @ -999..0 => nix::errno::Errno::from_raw(-errno).desc().to_owned(),
        _ => error.to_string(),
    }
}

/// Why a system call has failed, without the number that Rust adds.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(errno) => nix::errno::Errno::from_raw(errno).desc().to_owned(),
        None => error.to_string(),
    }
}
