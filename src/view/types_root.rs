//! The messages of pmdaroot as C sees them in `pcp/pmdaroot.h`. The library itself works on bytes.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int};
use std::mem::offset_of;

use pmda_core::root;

/// What every message begins with.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct __pmdaRootPDUHdr {
    /// `PDUROOT_*`.
    pub r#type: c_int,
    /// Length of the message in bytes, header included.
    pub length: c_int,
    /// 0 or a negative code.
    pub status: c_int,
    /// `ROOT_PDU_VERSION`.
    pub version: c_int,
}

/// The server introduces itself.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct __pmdaRootPDUInfo {
    /// The header.
    pub hdr: __pmdaRootPDUHdr,
    /// `PDUROOT_FLAG_*` bits.
    pub features: c_int,
    /// 0.
    pub zeroed: c_int,
}

/// A question or an answer about a container.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct __pmdaRootPDUContainer {
    /// The header.
    pub hdr: __pmdaRootPDUHdr,
    /// The process.
    pub pid: c_int,
    /// Bytes of the name.
    pub namelen: c_int,
    /// The name, without a NUL.
    pub name: [c_char; root::TEXT_ROOM],
}

/// A request to start an agent, or the answer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct __pmdaRootPDUStart {
    /// The header.
    pub hdr: __pmdaRootPDUHdr,
    /// The process.
    pub pid: c_int,
    /// The descriptor to read from.
    pub infd: c_int,
    /// The descriptor to write to.
    pub outfd: c_int,
    /// Socket or pipe.
    pub ipctype: c_int,
    /// Bytes of the name.
    pub namelen: c_int,
    /// Bytes of the arguments.
    pub argslen: c_int,
    /// The name of the agent, without a NUL.
    pub name: [c_char; root::AGENT_ROOM],
    /// The command line, without a NUL.
    pub args: [c_char; root::TEXT_ROOM],
}

/// A question or an answer about the end of an agent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct __pmdaRootPDUStop {
    /// The header.
    pub hdr: __pmdaRootPDUHdr,
    /// The process.
    pub pid: c_int,
    /// How it ended, as `waitpid` gives it.
    pub code: c_int,
    /// Terminate it, don't wait for it.
    pub force: c_int,
    /// 0.
    pub zeroed: c_int,
}

// ROOT-2, ROOT-5: the sizes in memory, and that the codec agrees with the structures about what is
// where.
const _: () = {
    assert!(size_of::<__pmdaRootPDUHdr>() == 16 && size_of::<__pmdaRootPDUInfo>() == root::INFO_SIZE);
    assert!(size_of::<__pmdaRootPDUContainer>() == 4120 && size_of::<__pmdaRootPDUStart>() == 4200);
    assert!(size_of::<__pmdaRootPDUStop>() == root::STOP_SIZE);
    assert!(offset_of!(__pmdaRootPDUContainer, name) == root::CONTAINER_SIZE);
    assert!(offset_of!(__pmdaRootPDUStart, args) == root::START_SIZE);
    assert!(offset_of!(__pmdaRootPDUStart, infd) == root::START_DESCRIPTORS[0]);
    assert!(offset_of!(__pmdaRootPDUStart, outfd) == root::START_DESCRIPTORS[1]);
};
