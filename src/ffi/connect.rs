//! `pmdaConnect`.

use super::drive::drive;
use crate::abi::dispatch::Dispatch;
use crate::agent::setup::connect::{Call, Connect};
use crate::os::{process, socket, waits};

/// Opens the connection to pmcd that `e_io` names, and exchanges versions.
///
/// # Returns
/// Nothing; `status` in the dispatch table is negative on failure. A socket that cannot be opened
/// ends the process.
///
/// # Safety
/// `dispatch` is NULL or a dispatch table that `pmdaDaemon` has set up.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaConnect(dispatch: Option<Dispatch>) {
    drive(
        || dispatch.and_then(Connect::new).ok_or(()),
        |call| match call {
            Call::Accept(listener) => (call, socket::accept(listener)),
            Call::Wait(fd) => {
                waits::to_read(fd);
                (call, Ok(fd))
            }
            Call::Exit => process::exit(1),
        },
    );
}
