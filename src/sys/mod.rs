//! What the operating system gives: locks that outlive forks, the mark of threads that are inside
//! of the library, streams, and listening sockets.

#![allow(unsafe_code)]

pub(crate) mod channel;
pub(crate) mod diagnostics;
mod forks;
pub(crate) mod leads;
pub(crate) mod left_behind;
pub(crate) mod libpcp;
pub(crate) mod lock;
pub(crate) mod mark;
mod numbers;
pub(crate) mod process;
mod readers;
pub(crate) mod root_socket;
pub(crate) mod seed;
pub(crate) mod shared;
pub(crate) mod socket;
pub(crate) mod threads;
pub(crate) mod traced;
pub(crate) mod waits;
mod word;
