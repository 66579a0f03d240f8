//! The messages between agents, pmcd and pmdaroot, the server for what needs privileges.
//!
//! ```text
//! header     type | length | status | version                            16 bytes
//! info       header | features | 0                                       24 bytes
//! container  header | pid | length of name | name                        24 bytes and the name
//! start      header | pid | infd | outfd | ipctype |
//!            length of name | length of arguments | name[64] |           104 bytes
//!            arguments                                                   and the arguments
//! stop       header | pid | code | force | 0                             32 bytes
//! ```
//!
//! All numbers have 32 bits in native byte order; strings have no NUL (ROOT-1 … ROOT-6). Here are
//! pure functions from and to bytes.

mod decode;
mod encode;

pub use decode::{Container, Info, Start, Stop};
pub use encode::{container, info, start_reply, start_request, stop};

/// The version that is sent; receivers accept it and all before it (ROOT-4).
pub const VERSION: i32 = 2;

/// Types of messages (ROOT-3).
pub mod kind {
    /// The server introduces itself.
    pub const INFO: i32 = 0x9000;
    /// Asks for the host name of a container.
    pub const HOSTNAME_REQ: i32 = 0x9001;
    /// The host name of a container.
    pub const HOSTNAME: i32 = 0x9002;
    /// Asks for the first process of a container.
    pub const PROCESSID_REQ: i32 = 0x9003;
    /// The first process of a container.
    pub const PROCESSID: i32 = 0x9004;
    /// Asks for the control group of a container.
    pub const CGROUPNAME_REQ: i32 = 0x9005;
    /// The control group of a container.
    pub const CGROUPNAME: i32 = 0x9006;
    /// Asks for an agent to be started.
    pub const START_REQ: i32 = 0x9007;
    /// An agent was started.
    pub const START: i32 = 0x9008;
    /// Asks about the end of an agent.
    pub const STOP_REQ: i32 = 0x9009;
    /// The end of an agent.
    pub const STOP: i32 = 0x900a;
}

/// Bytes of an information message.
pub const INFO_SIZE: usize = 24;
/// Bytes of a container message without its name.
pub const CONTAINER_SIZE: usize = 24;
/// Bytes of a start message without its arguments.
pub const START_SIZE: usize = 104;
/// Bytes of a stop message.
pub const STOP_SIZE: usize = 32;
/// Room for the name of an agent in a start message: it has this many bytes whatever the name is.
pub const AGENT_ROOM: usize = 64;
/// Room for the name of a container or the arguments of an agent in the C structures.
pub const TEXT_ROOM: usize = 4096;

/// Where the numbers of the messages stand.
mod at {
    pub(super) const KIND: usize = 0;
    pub(super) const LENGTH: usize = 4;
    pub(super) const STATUS: usize = 8;
    pub(super) const VERSION: usize = 12;
    pub(super) const PID: usize = 16;
    /// Information.
    pub(super) const FEATURES: usize = 16;
    /// Container.
    pub(super) const CONTAINER_NAMELEN: usize = 20;
    /// Start.
    pub(super) const INFD: usize = 20;
    pub(super) const OUTFD: usize = 24;
    pub(super) const IPCTYPE: usize = 28;
    pub(super) const NAMELEN: usize = 32;
    pub(super) const ARGSLEN: usize = 36;
    pub(super) const NAME: usize = 40;
    /// Stop.
    pub(super) const CODE: usize = 20;
    pub(super) const FORCE: usize = 24;
}

/// Where a start message has its two descriptors: the receiver stores those that it got there
/// (ROOT-25).
pub const START_DESCRIPTORS: [usize; 2] = [at::INFD, at::OUTFD];

/// The number at an offset, `None` beyond the end.
fn number(message: &[u8], offset: usize) -> Option<i32> {
    let bytes = message.get(offset..offset + 4)?;
    bytes.try_into().ok().map(i32::from_ne_bytes)
}
