//! The agent that a main loop serves, and whether it may.

use std::ffi::c_int;

use crate::record;
use crate::record::session::Session;
use crate::sys::channel::Channel;
use crate::sys::libpcp::log;
use crate::sys::libpcp::version::PMAPI;
use crate::view::dispatch::Dispatch;
use crate::view::ext::Ext;
use pmda_core::error::Result;
use pmda_core::log::Level;
use pmda_core::setup::Interface;

/// What a loop that cannot start returns (MAIN-3).
const NO_START: c_int = -1;

/// An agent whose PDU is being served.
#[derive(Clone, Copy)]
pub(super) struct Agent<'call> {
    pub(super) dispatch: Dispatch<'call>,
    pub(super) ext: Ext<'call>,
    pub(super) session: &'static Session,
}

impl Agent<'_> {
    /// The interface version at this moment.
    pub(super) fn interface(self) -> Interface {
        self.dispatch.interface()
    }

    /// The descriptor for replies at this moment.
    pub(super) fn out(self) -> Channel {
        Channel(self.ext.outfd())
    }
}

/// The agent behind a dispatch table, if it may be served. The checks are made until they have been
/// passed once (MAIN-3).
///
/// # Errors
/// What the loop returns without it.
pub(super) fn enter(dispatch: Option<Dispatch<'_>>) -> std::result::Result<Agent<'_>, Result<c_int>> {
    let Some((dispatch, ext)) = dispatch.and_then(|dispatch| Some((dispatch, dispatch.ext()?))) else {
        log::notify!(Level::Err, "PMDA Initialisation Failed");
        return Err(Ok(NO_START));
    };
    let session = record::session(ext).map_err(Err)?;
    if !session.has_begun() {
        if dispatch.status() != 0 {
            log::notify!(Level::Err, "PMDA Initialisation Failed");
            return Err(Ok(NO_START));
        }
        if !is_supported(dispatch) {
            return Err(Ok(NO_START));
        }
        dispatch.set_comm(dispatch.comm().with_pmapi(PMAPI));
        session.begin();
    }
    Ok(Agent { dispatch, ext, session })
}

/// Whether the interface version exists; says so if not.
pub(crate) fn is_supported(dispatch: Dispatch<'_>) -> bool {
    let interface = dispatch.interface();
    if !interface.is_supported() {
        log::notify!(Level::Crit, "PMDA interface version {} not supported", interface.0);
    }
    interface.is_supported()
}
