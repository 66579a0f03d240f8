//! The limit of open descriptors: each connection, program and file needs one.
//!
//! Most systems set the soft limit to 1024, for programs that use `select`, and a process may raise
//! it up to the hard one. The agent raises it, since a host with many sources has many connections.

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

use crate::limits;

/// Descriptors that are for files, programs and pmcd.
const OTHERS: u64 = 256;

/// The fewest connections that are tried.
const FEWEST: usize = 16;

/// The limit of this process.
#[derive(Debug)]
pub(super) struct Descriptors {
    /// As it was when the process started.
    before: Rlimit,
}

impl Descriptors {
    /// Raises the soft limit to the hard one.
    pub fn raise() -> Descriptors {
        let before = getrlimit(Resource::Nofile);
        let current = before.maximum;
        // If that is not allowed, there are fewer connections at a time.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..before });
        Descriptors { before }
    }

    /// Lets a program that has just begun have the limit as it was: some close all descriptors up
    /// to it, and `select` is wrong beyond 1024.
    pub fn give_back(&self, process: u32) {
        let process = i32::try_from(process).ok().and_then(Pid::from_raw);
        // The process may have ended, or belong to another user.
        let _ = process.map(|process| prlimit(Some(process), Resource::Nofile, self.before));
    }
}

/// The number of connections that there may be at a time.
pub(super) fn connections() -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = limits::CONNECTIONS;
    usize::try_from(limit.saturating_sub(OTHERS)).map_or(most, |limit| limit.clamp(FEWEST, most))
}
