//! What the operating system gives: the lock of the library, the guard against calls on top of
//! calls, streams, and listening sockets.

#![allow(unsafe_code)]

pub(crate) mod channel;
pub(crate) mod diagnostics;
pub(crate) mod libpcp;
pub(crate) mod lock;
pub(crate) mod process;
pub(crate) mod reentrancy;
pub(crate) mod root_socket;
mod safe_externs;
pub(crate) mod seed;
pub(crate) mod socket;
pub(crate) mod threads;
pub(crate) mod waits;
