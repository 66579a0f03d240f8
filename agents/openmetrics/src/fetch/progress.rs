//! How far a request has come: read by those who wait for it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;

/// The most addresses of a host that a status names.
const NAMED: usize = 4;

/// What a request is waiting for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Awaits {
    /// The addresses of this host.
    Name(String),
    /// A connection with one of these addresses.
    Connection(Vec<SocketAddr>),
    /// An answer: of a server, a program, a disk.
    Answer,
}

impl Awaits {
    /// How far a request has come that waits for this.
    pub fn stage(&self) -> u8 {
        match self {
            Awaits::Name(_) => 0,
            Awaits::Connection(_) => 1,
            Awaits::Answer => 2,
        }
    }
}

impl fmt::Display for Awaits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Awaits::Name(host) => write!(out, "no address of {host}"),
            Awaits::Connection(addresses) => {
                out.write_str("no connection to ")?;
                for (number, address) in addresses.iter().take(NAMED).enumerate() {
                    write!(out, "{}{address}", if number == 0 { "" } else { ", " })?;
                }
                match addresses.len().saturating_sub(NAMED) {
                    0 => Ok(()),
                    more => write!(out, " and {more} more"),
                }
            }
            Awaits::Answer => out.write_str("no answer"),
        }
    }
}

/// The progress of a request.
#[derive(Debug)]
pub(super) struct Progress {
    is_silent: AtomicBool,
    awaits: Mutex<Awaits>,
}

impl Default for Progress {
    fn default() -> Progress {
        Progress {
            is_silent: AtomicBool::new(false),
            awaits: Mutex::new(Awaits::Answer),
        }
    }
}

impl Progress {
    /// Returns whether the request was sent on a kept connection, and the head of its reply is not
    /// there.
    pub fn is_silent(&self) -> bool {
        self.is_silent.load(Relaxed)
    }

    pub(super) fn set_silent(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Relaxed);
    }

    /// What it is waiting for.
    pub fn awaits(&self) -> Awaits {
        self.awaits.lock().clone()
    }

    /// Takes note of what it is waiting for now.
    pub(super) fn set(&self, awaits: Awaits) {
        *self.awaits.lock() = awaits;
    }

    /// Takes note that it tries one more address.
    pub(super) fn tries(&self, address: SocketAddr) {
        let mut awaits = self.awaits.lock();
        match &mut *awaits {
            Awaits::Connection(addresses) => addresses.push(address),
            other => *other = Awaits::Connection(vec![address]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words say what is missing, of many addresses the first ones.
    #[test]
    fn words() {
        let progress = Progress::default();
        let words = || progress.awaits().to_string();
        assert_eq!(words(), "no answer");
        progress.set(Awaits::Name("node.test".to_owned()));
        assert_eq!(words(), "no address of node.test");
        for port in 1..=6 {
            progress.tries(([127, 0, 0, 1], port).into());
        }
        assert_eq!(
            words(),
            "no connection to 127.0.0.1:1, 127.0.0.1:2, 127.0.0.1:3, 127.0.0.1:4 and 2 more"
        );
        progress.set(Awaits::Answer);
        assert_eq!(words(), "no answer");
    }
}
