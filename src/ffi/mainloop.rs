//! The main loop: `pmdaMain`, `__pmdaMainPDU`, `__pmdaInFd` and `pmdaSendError`.

use std::ffi::c_int;
use std::ptr;

use super::channel::Channel;
use super::dispatch::{self, Agent};
use super::guard::guard;
use super::mark::outside;
use super::types::pmdaInterface;
use super::{session, stock};
use crate::abi::dispatch::Dispatch;
use crate::agent::record;
use crate::error::{Error, Result};
use crate::libpcp::log::{self, Debug};
use crate::libpcp::version::{PMAPI, SINCE_6_0_5};
use crate::log::Level;
use crate::setup;
use crate::wire::Kind;
use crate::wire::receive::{Failure, Reach};

/// What a loop that cannot start returns (MAIN-3).
const NO_START: c_int = -1;

/// Serves PDUs until the stream ends or cannot be read any more (MAIN-1).
///
/// # Safety
/// As [`__pmdaMainPDU`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaMain(dispatch: *mut pmdaInterface) {
    guard(|| {
        // SAFETY: the contract is passed on. The loop owns the stream until it ends, so it may read ahead.
        unsafe {
            if stock::is_interposed(__pmdaMainPDU as *const ()) {
                while outside(|| __pmdaMainPDU(dispatch)) >= 0 {}
            } else {
                while serve_one(dispatch, Reach::Ahead).is_ok_and(|status| status >= 0) {}
            }
        }
    });
}

/// Reads one PDU and serves it, and touches no byte beyond it.
///
/// # Returns
/// 0 for a PDU that was served, whatever came of it; `PM_ERR_EOF` at the end of the stream; another negative number
/// when the stream cannot be read, or the agent was not set up (MAIN-2, MAIN-3).
///
/// # Safety
/// `dispatch` is NULL or a dispatch table with a valid extension, whose methods follow their contracts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaMainPDU(dispatch: *mut pmdaInterface) -> c_int {
    guard(|| {
        // SAFETY: the contract is passed on.
        unsafe { serve_one(dispatch, Reach::Exact) }
    })
}

/// The descriptor that PDUs arrive on, for agents that wait on several.
///
/// # Returns
/// The descriptor; -1 for an interface version that does not exist.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table with a valid extension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaInFd(dispatch: *mut pmdaInterface) -> c_int {
    guard(|| {
        if dispatch.is_null() {
            return -1;
        }
        // SAFETY: not NULL, hence valid by the contract above.
        unsafe {
            if !is_supported(dispatch) || (*dispatch).ext.is_null() {
                return -1;
            }
            let ext = (*dispatch).ext;
            session::of(ext).watch();
            (*ext).e_infd
        }
    })
}

/// Sends a status to pmcd that is no reply, or instead of one (CONN-10). The outcome is ignored.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table with a valid extension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaSendError(dispatch: *mut pmdaInterface, error: c_int) {
    guard(|| {
        if dispatch.is_null() {
            return;
        }
        // SAFETY: not NULL, hence valid by the contract above, as far as its interface version goes (INIT-1).
        unsafe {
            let ext = (*dispatch).ext;
            if ext.is_null() {
                return;
            }
            let _ = dispatch::send_error(session::of(ext), Channel((*ext).e_outfd), error);
        }
    });
}

/// Whether the interface version exists; says so if not.
///
/// # Safety
/// `dispatch` is valid.
unsafe fn is_supported(dispatch: *const pmdaInterface) -> bool {
    // SAFETY: valid by the contract above.
    let interface = unsafe { (*dispatch).comm.interface() };
    if !setup::supported(interface) {
        log::notify!(Level::Crit, "PMDA interface version {interface} not supported");
    }
    setup::supported(interface)
}

/// The body of the loop (MAIN-4).
///
/// # Safety
/// As [`__pmdaMainPDU`].
unsafe fn serve_one(dispatch: *mut pmdaInterface, reach: Reach) -> Result<c_int> {
    // SAFETY: the contract is passed on.
    let Some(agent) = (unsafe { enter(dispatch) }) else {
        return Ok(NO_START);
    };
    // SAFETY: `enter` has found both structures valid.
    let (channel, callbacks) = unsafe {
        let ext = agent.ext;
        let callbacks = (*ext).e_checkCallBack.is_some() || (*ext).e_doneCallBack.is_some();
        (Channel((*ext).e_infd), callbacks)
    };
    // An agent with such callbacks, or one that has asked for the descriptor, may wait until there is more to read: what was
    // read ahead would never come.
    let reach = if callbacks || agent.session.is_watched() {
        Reach::Exact
    } else {
        reach
    };
    let pdu = agent
        .session
        .receive(channel, reach)
        .map_err(|failure| end(channel, failure))?;
    let (kind, from) = (pdu.header.kind, pdu.header.from);
    say_kind(kind);
    // SAFETY: the structures stay valid while callbacks run, which may change every field, so each is read at its time.
    unsafe {
        if let Some(dispatch) = Dispatch::new(agent.dispatch) {
            record::refresh(dispatch);
        }
        if agent.interface() >= dispatch::WITH_CONTEXT {
            (*agent.ext).e_context = from;
        }
        let verdict = (*agent.ext)
            .e_checkCallBack
            .map_or(0, |callback| outside(|| callback()));
        if verdict < 0 {
            agent.refuse(kind, verdict);
        } else {
            agent.serve(&pdu);
            if let Some(callback) = (*agent.ext).e_doneCallBack {
                outside(|| callback());
            }
        }
    }
    agent.session.recycle(pdu);
    Ok(0)
}

/// The agent behind a dispatch table, if it may be served. The checks are made until they have been passed once
/// (MAIN-3).
///
/// # Safety
/// As [`__pmdaMainPDU`].
unsafe fn enter(dispatch: *mut pmdaInterface) -> Option<Agent> {
    // SAFETY: NULL or valid by the contract above. The table may be shorter than ours (INIT-1), so no reference is
    // made to it.
    unsafe {
        let ext = if dispatch.is_null() {
            ptr::null_mut()
        } else {
            (*dispatch).ext
        };
        if ext.is_null() {
            log::notify(Level::Err, b"PMDA Initialisation Failed");
            return None;
        }
        let status = (*dispatch).status;
        let session = session::of(ext);
        if !session.has_begun() {
            if status != 0 {
                log::notify(Level::Err, b"PMDA Initialisation Failed");
                return None;
            }
            if !is_supported(dispatch) {
                return None;
            }
            (*dispatch).comm = (*dispatch).comm.with_pmapi(PMAPI);
            session.begin();
        }
        Some(Agent { dispatch, ext, session })
    }
}

/// Shows what has come; 0 stands for the end of the stream.
fn say_kind(kind: Kind) {
    if log::debug(Debug::Pdu) && log::debug(Debug::Desperate) {
        log::trace!("__pmdaMainPDU: got PDU type {kind} from pmcd\n");
    }
}

/// Says why there are no more PDUs (MAIN-2, MAIN-32).
fn end(channel: Channel, failure: Failure) -> Error {
    say_failure(channel, failure);
    say_kind(match failure.code() {
        Error::EOF => Kind(0),
        error => Kind(error.code()),
    });
    if failure.code() != Error::EOF {
        log::notify!(Level::Err, "IPC Error: {}", log::errstr(failure.code()));
    }
    failure.code()
}

/// Logs the details of a failed read; later releases than 6.0.3 do so only under -Dpdu (WIRE-60).
pub(crate) fn say_failure(channel: Channel, failure: Failure) {
    if SINCE_6_0_5 && !log::debug(Debug::Pdu) {
        return;
    }
    failure.lines(channel.0, log::errstr, |line| log::notify!(Level::Err, "{line}"));
}
