//! What the version of an agent's interface brings, and how agents talk to pmcd.

use std::ffi::c_uint;

use crate::setup;

/// The interface version of an agent (INIT-1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Interface(pub(crate) u32);

impl Interface {
    /// Whether the version exists.
    pub(crate) const fn is_supported(self) -> bool {
        setup::supported(self.0)
    }

    /// Whether agents have names of their own; then unknown metrics are not reported (FETCH-23).
    pub(crate) const fn has_names(self) -> bool {
        self.0 >= 4
    }

    /// Whether agents are told of client contexts (MAIN-25).
    pub(crate) const fn has_contexts(self) -> bool {
        self.0 >= 5
    }

    /// Whether agents are told of the attributes of clients.
    pub(crate) const fn has_attributes(self) -> bool {
        self.0 >= 6
    }

    /// Whether agents give labels (LABEL-13).
    pub(crate) const fn has_labels(self) -> bool {
        self.0 >= 7
    }
}

/// How an agent talks to pmcd: `pmdaIoType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    /// stdin and stdout.
    Pipe,
    /// A port.
    Inet,
    /// A socket in the file system.
    Unix,
    /// Not chosen yet.
    Unknown,
    /// A port, over IPv6.
    Ipv6,
}

impl Transport {
    /// The number in C; `None` for a number that stands for nothing.
    pub(crate) const fn new(number: c_uint) -> Option<Transport> {
        match number {
            0 => Some(Transport::Pipe),
            1 => Some(Transport::Inet),
            2 => Some(Transport::Unix),
            3 => Some(Transport::Unknown),
            4 => Some(Transport::Ipv6),
            _ => None,
        }
    }

    /// The number in C.
    pub(crate) const fn number(self) -> c_uint {
        self as c_uint
    }

    /// The option that chooses it.
    pub(crate) const fn letter(self) -> char {
        match self {
            Transport::Pipe => 'p',
            Transport::Inet => 'i',
            Transport::Unix => 'u',
            Transport::Unknown => '?',
            Transport::Ipv6 => '6',
        }
    }
}
