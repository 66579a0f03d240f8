//! How agents talk to pmcd.

use std::ffi::c_uint;

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
