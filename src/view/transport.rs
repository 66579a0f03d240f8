//! The connection of an agent with pmcd.

use std::ffi::c_uint;

/// The kind of connection between an agent and pmcd: `pmdaIoType`.
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
    /// The transport of a number; `None` for a number without one.
    pub(crate) fn new(number: c_uint) -> Option<Transport> {
        const ALL: [Transport; 5] = [
            Transport::Pipe,
            Transport::Inet,
            Transport::Unix,
            Transport::Unknown,
            Transport::Ipv6,
        ];
        ALL.get(number as usize).copied()
    }

    /// The number in C.
    pub(crate) const fn number(self) -> c_uint {
        self as c_uint
    }

    /// The letter of the option that chooses the transport.
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
