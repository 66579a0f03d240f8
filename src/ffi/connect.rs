//! `pmdaConnect`: opens the way to pmcd and shakes hands (CONN-1 to CONN-7).

use std::ffi::{CStr, c_char, c_int};
use std::fmt;

use super::channel::{self, Channel};
use super::guard::guard;
use super::types::{pmdaExt, pmdaInterface};
use super::{arg, mainloop, session, socket, spoken};
use crate::error::Error;
use crate::libpcp::ipc;
use crate::libpcp::log::{self, Debug};
use crate::libpcp::version::SINCE_6_0_5;
use crate::log::{Bytes, Level};
use crate::setup;
use crate::wire::receive::Reach;
use crate::wire::{Kind, decode};

/// `PMDA_EXT_SETUPDONE`.
const SETUP_DONE: u32 = 1 << 2;
/// `PMDA_EXT_CONNECTED`.
const CONNECTED: u32 = 1 << 3;
/// The type of the credential that tells the protocol version.
const VERSION: u8 = 1;
/// The status after a handshake that failed.
const NO_HANDSHAKE: c_int = -1;

/// Opens the connection to pmcd that `e_io` names, and exchanges versions.
///
/// # Returns
/// Nothing; `status` in the dispatch table is negative on failure. A socket that cannot be opened ends the process.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaConnect(dispatch: *mut pmdaInterface) {
    guard(|| {
        if !dispatch.is_null() {
            // SAFETY: not NULL, hence set up as the contract above says.
            unsafe { connect(dispatch) };
        }
    });
}

/// The body of `pmdaConnect`.
///
/// # Safety
/// `dispatch` is valid, and its extension NULL or valid.
unsafe fn connect(dispatch: *mut pmdaInterface) {
    // SAFETY: valid by the contract above; every field is read and written at its time.
    unsafe {
        if !check(dispatch) {
            (*dispatch).status = Error::GENERIC.code();
            return;
        }
        let ext = (*dispatch).ext;
        open(ext);
        match handshake(ext, (*dispatch).comm.flags() as u16) {
            Ok(version) => {
                (*dispatch).comm = (*dispatch).comm.with_pmapi(u32::from(version));
                (*ext).e_flags |= CONNECTED;
            }
            Err((step, error)) => {
                let (name, reason) = (name(ext), log::errstr(error));
                log::notify!(Level::Crit, "__pmdaSetupPDU: PMDA {name} {step} creds: {reason}");
                (*dispatch).status = NO_HANDSHAKE;
            }
        }
    }
}

/// Whether the agent may connect; says why not (CONN-1).
///
/// # Safety
/// As [`connect`].
unsafe fn check(dispatch: *const pmdaInterface) -> bool {
    // SAFETY: valid by the contract above.
    let (interface, domain, flags) = unsafe {
        let flags = (*dispatch).ext.as_ref().map_or(0, |ext| ext.e_flags);
        ((*dispatch).comm.interface(), (*dispatch).domain, flags)
    };
    if flags & SETUP_DONE == 0 {
        log::notify!(Level::Crit, "pmdaConnect: need to call pmdaDaemon() or pmdaDSO() first");
        false
    } else if flags & CONNECTED != 0 {
        log::notify!(Level::Crit, "pmdaConnect: called more than once");
        false
    } else if !setup::supported(interface) {
        log::notify!(
            Level::Crit,
            "pmdaConnect: PMDA interface version {interface} not supported (domain={domain})"
        );
        false
    } else {
        true
    }
}

/// The agent's name for messages.
///
/// # Safety
/// `ext` is valid, its name NULL or a C string.
unsafe fn name<'t>(ext: *const pmdaExt) -> Bytes<'t> {
    // SAFETY: as the contract above says. The name is printed at once.
    Bytes(unsafe { arg::bytes((*ext).e_name) }.unwrap_or_default())
}

/// Ends the process: an agent without a way to pmcd is of no use, and its users expect this (CONN-2 to CONN-4).
fn give_up(text: fmt::Arguments<'_>) -> ! {
    log::notify!(Level::Crit, "{text}");
    // SAFETY: the handlers of exit are the agent's own.
    unsafe { libc::exit(1) }
}

/// Opens the descriptors.
///
/// # Safety
/// As [`name`]; the socket name is NULL or a C string.
unsafe fn open(ext: *mut pmdaExt) {
    // SAFETY: as the contract above says.
    unsafe {
        let (how, (input, output)) = match (*ext).e_io {
            0 | 3 => ("opened pipe to pmcd", standard_streams()),
            1 => ("opened inet connection", both(open_inet(ext, libc::AF_INET))),
            2 => ("Opened unix connection", both(open_unix((*ext).e_sockname))),
            4 => ("opened ipv6 connection", both(open_inet(ext, libc::AF_INET6))),
            other => give_up(format_args!("pmdaConnect: PMDA {}: Illegal iotype: {other}", name(ext))),
        };
        (*ext).e_infd = input;
        (*ext).e_outfd = output;
        if log::debug(Debug::Libpmda) {
            log::debug_line!(
                "pmdaConnect: PMDA {}: {how}, infd = {input}, outfd = {output}",
                name(ext)
            );
        }
    }
}

unsafe extern "C" {
    /// The streams of C's standard library; programs move them to other descriptors, and close them.
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
}

/// The descriptors that pmcd has given to the agent: those of the standard streams, wherever the agent has moved them. -1
/// for a stream that was closed.
fn standard_streams() -> (c_int, c_int) {
    // SAFETY: both streams live as long as the process; a closed one has no descriptor, and none of them is NULL unless a
    // program has stored it there.
    unsafe {
        let number = |stream: *mut libc::FILE| if stream.is_null() { -1 } else { libc::fileno(stream) };
        (number(stdin), number(stdout))
    }
}

fn both(fd: c_int) -> (c_int, c_int) {
    (fd, fd)
}

/// # Safety
/// As [`open`].
unsafe fn open_inet(ext: *const pmdaExt, family: c_int) -> c_int {
    // SAFETY: as the contract above says.
    let (service, mut port) = unsafe {
        let service = (*ext).e_sockname;
        ((!service.is_null()).then(|| CStr::from_ptr(service)), (*ext).e_port)
    };
    let text = Bytes(service.map_or(b"", CStr::to_bytes));
    if let Some(service) = service {
        port = socket::service_port(service).unwrap_or_else(|why| {
            give_up(format_args!(
                "__pmdaOpenSocket: getservbyname({text}): {}",
                log::os_text(why)
            ))
        });
    }
    socket::accept_inet(port as u16, family)
        .unwrap_or_else(|failure| failure.inet(text, port, family, |text| give_up(text)))
}

/// # Safety
/// `path` is NULL or a C string.
unsafe fn open_unix(path: *const c_char) -> c_int {
    let path = if path.is_null() {
        c""
    } else {
        // SAFETY: not NULL, hence a C string by the contract above.
        unsafe { CStr::from_ptr(path) }
    };
    socket::accept_unix(path).unwrap_or_else(|failure| failure.unix(Bytes(path.to_bytes()), |text| give_up(text)))
}

/// Sends our credentials and takes pmcd's; gives the protocol version, 0 when there is none (CONN-6).
///
/// # Safety
/// As [`name`].
unsafe fn handshake(ext: *const pmdaExt, flags: u16) -> Result<u8, (&'static str, Error)> {
    // SAFETY: as the contract above says.
    let (input, output, session) = unsafe { (Channel((*ext).e_infd), Channel((*ext).e_outfd), session::of(ext)) };
    let mut buffer = session.take_reply();
    let sent = buffer
        .credentials(std::process::id() as i32, flags)
        .and_then(|()| output.send(buffer.bytes()));
    session.give_reply(buffer);
    sent.map_err(|error| ("send", error))?;
    let pdu = match session.receive(input, Reach::Exact) {
        Ok(pdu) if pdu.header.kind == Kind::CREDS => pdu,
        Ok(pdu) => {
            // SAFETY: the contract is passed on.
            unsafe { say_exchange_failure(ext, pdu.header.kind) };
            return Ok(0);
        }
        // Nothing can be read: for the C library that is the end of the stream, and the agent runs on.
        Err(failure) if failure.code() == Error::EOF => {
            mainloop::say_failure(input, failure);
            // SAFETY: the contract is passed on.
            unsafe { say_exchange_failure(ext, Kind(0)) };
            return Ok(0);
        }
        Err(failure) => {
            mainloop::say_failure(input, failure);
            return Err(("getting", failure.code()));
        }
    };
    spoken::credentials(pdu.bytes());
    let credentials = decode::credentials(pdu.bytes());
    let credentials = credentials.map_err(|error| ("decode", error))?;
    if SINCE_6_0_5 && credentials.len() == 0 {
        return Err(("decode", Error::IPC));
    }
    let mut version = None;
    for (kind, value) in credentials {
        if kind == VERSION {
            version = Some(value);
        } else {
            // SAFETY: as the contract above says.
            let name = unsafe { name(ext) };
            log::notify!(Level::Warning, "__pmdaSetupPDU: PMDA {name}: unexpected creds PDU");
        }
    }
    if let Some(version) = version {
        ipc::set_version(input.0, c_int::from(version));
        ipc::set_version(output.0, c_int::from(version));
    }
    session.recycle(pdu);
    Ok(version.unwrap_or(0))
}

/// The peer did something else than shake hands: the agent runs on (CONN-6, WIRE-77).
///
/// # Safety
/// As [`name`].
unsafe fn say_exchange_failure(ext: *const pmdaExt, got: Kind) {
    // SAFETY: as the contract above says.
    let name = unsafe { name(ext) };
    log::notify!(
        Level::Crit,
        "__pmdaSetupPDU: PMDA {name}: version exchange failure, got PDU type {got} expecting PDU_CREDS)"
    );
    channel::show_recent();
}
