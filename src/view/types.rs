//! The public structures of the library, and the messages of pmdaroot, laid out as C sees them.
//!
//! Objects of these types belong to C: agents and pmcd rewrite their fields at any time, so nothing
//! here is cached, and a field is read afresh at each use (`docs/ARCHITECTURE.md`).
//!
//! The headers are written from what stands here, and `tests/layout.rs` compares its layout with
//! that of the installed ones. libpcp's own structures are bindgen's.

#![allow(non_camel_case_types, non_snake_case)]

pub use crate::sys::libpcp::bindings::{
    pmAtomValue, pmDesc, pmEventArray, pmHighResEventArray, pmID, pmInDom, pmInDomProfile, pmInResult, pmLabel,
    pmLabelSet, pmLongOptions, pmProfile, pmResult, pmValue, pmValueBlock, pmValueSet, time_t, timespec, timeval,
};

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::offset_of;

use pmda_core::root;

/// A part of a time, which has 32 or 64 bits in C.
pub(crate) fn wide(part: impl Into<i64>) -> i64 {
    part.into()
}

/// A result of a fetch as it crosses this interface: the time stamp is a `struct timeval`. PCP 6
/// names it `pmResult`; PCP 7 has another `pmResult` and names this one `pmdaResult`. The layout is
/// the same (FETCH-1).
#[cfg(not(pcp7))]
pub type pmdaResult = pmResult;
/// A result of a fetch as it crosses this interface: libpcp of PCP 7 has it as the second version
/// of its structure (FETCH-1).
#[cfg(pcp7)]
pub type pmdaResult = crate::sys::libpcp::bindings::pmResult_v2;

/// A name-space tree, libpcp's own structure (TREE-1).
pub type pmdaNameSpace = crate::sys::libpcp::bindings::__pmnsTree;

/// One instance of a classic instance domain.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct pmdaInstid {
    /// Internal instance identifier.
    pub i_inst: c_int,
    /// External instance name.
    pub i_name: *mut c_char,
}

/// A classic instance domain: a table that the agent owns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct pmdaIndom {
    /// The identifier; `pmdaInit` stamps the agent's domain into it.
    pub it_indom: pmInDom,
    /// Number of instances.
    pub it_numinst: c_int,
    /// The instances.
    pub it_set: *mut pmdaInstid,
}

/// One metric of an agent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct pmdaMetric {
    /// The agent's own.
    pub m_user: *mut c_void,
    /// The description.
    pub m_desc: pmDesc,
}

/// Gives one value to `pmdaFetch`.
pub type pmdaFetchCallBack = Option<unsafe extern "C-unwind" fn(*mut pmdaMetric, c_uint, *mut pmAtomValue) -> c_int>;
/// Cleans up a result after it was sent.
pub type pmdaResultCallBack = Option<unsafe extern "C-unwind" fn(*mut pmdaResult)>;
/// Runs when a PDU has arrived.
pub type pmdaCheckCallBack = Option<unsafe extern "C-unwind" fn() -> c_int>;
/// Runs when a PDU has been served.
pub type pmdaDoneCallBack = Option<unsafe extern "C-unwind" fn()>;
/// Runs when a client context ends.
pub type pmdaEndContextCallBack = Option<unsafe extern "C-unwind" fn(c_int)>;
/// Gives the labels of one instance.
pub type pmdaLabelCallBack = Option<unsafe extern "C-unwind" fn(pmInDom, c_uint, *mut *mut pmLabelSet) -> c_int>;

/// The kind of connection between an agent and pmcd: `pmdaIoType`, an enumeration in C. Agents
/// store it as a number.
pub type pmdaIoType = c_uint;

/// The record of an agent beside its dispatch table (INIT-2). Its fields are the live state:
/// agents read and write them directly.
#[repr(C)]
pub struct pmdaExt {
    /// `PMDA_EXT_*` bits.
    pub e_flags: c_uint,
    /// Private to this library.
    pub e_ext: *mut c_void,
    /// Socket or service name.
    pub e_sockname: *mut c_char,
    /// Name of the agent.
    pub e_name: *const c_char,
    /// Path of the log file.
    pub e_logfile: *const c_char,
    /// Path of the help database.
    pub e_helptext: *const c_char,
    /// 0 is good.
    pub e_status: c_int,
    /// Descriptor from pmcd.
    pub e_infd: c_int,
    /// Descriptor to pmcd.
    pub e_outfd: c_int,
    /// Port number.
    pub e_port: c_int,
    /// 0 while a singular value is due, else -1 (INST-4).
    pub e_singular: c_int,
    /// Position in an instance domain, -1 at its end (INST-4).
    pub e_ordinal: c_int,
    /// 1 when the item field of a metric is its index in the table.
    pub e_direct: c_int,
    /// The agent's domain.
    pub e_domain: c_int,
    /// Number of metrics.
    pub e_nmetrics: c_int,
    /// Number of classic instance domains.
    pub e_nindoms: c_int,
    /// Handle of the help database, negative for none.
    pub e_help: c_int,
    /// The profile received last.
    pub e_prof: *mut pmProfile,
    /// The agent's connection to pmcd.
    pub e_io: pmdaIoType,
    /// The classic instance domains.
    pub e_indoms: *mut pmdaIndom,
    /// The instance domain being walked.
    pub e_idp: *mut pmdaIndom,
    /// The metrics.
    pub e_metrics: *mut pmdaMetric,
    /// Cleans up after a fetch.
    pub e_resultCallBack: pmdaResultCallBack,
    /// Gives the values.
    pub e_fetchCallBack: pmdaFetchCallBack,
    /// Runs when a PDU has arrived.
    pub e_checkCallBack: pmdaCheckCallBack,
    /// Runs when a PDU has been served.
    pub e_doneCallBack: pmdaDoneCallBack,
    /// The client context of the request.
    pub e_context: c_int,
    /// Runs when a client context ends.
    pub e_endCallBack: pmdaEndContextCallBack,
    /// Gives the labels of one instance.
    pub e_labelCallBack: pmdaLabelCallBack,
}

/// `pmdaInterface.comm`, three bit-fields of one word in C: on machines of either order they are in
/// memory as these fields are.
#[repr(C, align(4))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comm {
    /// The interface version of the agent.
    pub interface: u8,
    /// The PMAPI version.
    pub pmapi: u8,
    /// The optional features that the agent asks for.
    pub flags: u16,
}

/// Sees each option before the library does; a result other than 0 means that the agent has handled
/// it.
pub type pmdaOptionOverride = Option<unsafe extern "C-unwind" fn(c_int, *mut pmdaOptions) -> c_int>;

/// Brings a tree of dynamic names up to date; a result other than 0 means that metrics have changed
/// (DYN-5).
pub type pmdaUpdatePMNS = Option<unsafe extern "C-unwind" fn(*mut pmdaExt, *mut *mut pmdaNameSpace) -> c_int>;
/// Gives the help text of a dynamic metric.
pub type pmdaUpdateText = Option<unsafe extern "C-unwind" fn(*mut pmdaExt, pmID, c_int, *mut *mut c_char) -> c_int>;
/// Fills in the second metric, a copy of the first one with the given number (DYN-21).
pub type pmdaUpdateMetric = Option<unsafe extern "C-unwind" fn(*mut pmdaMetric, *mut pmdaMetric, c_int)>;
/// Tells how many metrics are to be copied, and how many copies of each (DYN-20).
pub type pmdaCountMetrics = Option<unsafe extern "C-unwind" fn(*mut c_int, *mut c_int)>;

/// Makes records of an event: array, data, size, time, cookie.
pub type pmdaEventDecodeCallBack =
    Option<unsafe extern "C-unwind" fn(c_int, *mut c_void, usize, *mut timeval, *mut c_void) -> c_int>;
/// Non-zero drops an event for a client: filter, data, size.
pub type pmdaEventApplyFilterCallBack = Option<unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, usize) -> c_int>;
/// Frees a filter.
pub type pmdaEventReleaseFilterCallBack = Option<unsafe extern "C-unwind" fn(*mut c_void)>;

/// Options of an agent's command line (INIT-3). The fields up to `__last_nonopt` are libpcp's
/// `pmOptions`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct pmdaOptions {
    /// 0: set by the library.
    pub version: c_int,
    /// `PM_OPTFLAG_*` bits.
    pub flags: c_int,
    /// Letters.
    pub short_options: *const c_char,
    /// Words.
    pub long_options: *mut pmLongOptions,
    /// For the usage message.
    pub short_usage: *const c_char,
    /// Asked before the built-in handling.
    pub r#override: pmdaOptionOverride,
    /// The long option that was found.
    pub index: c_int,
    /// Index of the next argument.
    pub optind: c_int,
    /// True if errors are printed.
    pub opterr: c_int,
    /// The character that caused an error.
    pub optopt: c_int,
    /// The argument of the option.
    pub optarg: *mut c_char,
    /// Internal to getopt.
    pub __initialized: c_int,
    /// Internal to getopt.
    pub __nextchar: *mut c_char,
    /// Internal to getopt.
    pub __ordering: c_int,
    /// Internal to getopt.
    pub __posixly_correct: c_int,
    /// Internal to getopt.
    pub __first_nonopt: c_int,
    /// Internal to getopt.
    pub __last_nonopt: c_int,
    /// Number of errors.
    pub errors: c_int,
    /// The argument of `-U`.
    pub username: *mut c_char,
}

/// The header of every message.
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
    pub name: [c_char; root::TEXT_SIZE],
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
    pub name: [c_char; root::AGENT_NAME_SIZE],
    /// The command line, without a NUL.
    pub args: [c_char; root::TEXT_SIZE],
}

/// A question or an answer about the end of an agent.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct __pmdaRootPDUStop {
    /// The header.
    pub hdr: __pmdaRootPDUHdr,
    /// The process.
    pub pid: c_int,
    /// The exit status, as `waitpid` gives it.
    pub code: c_int,
    /// Terminate it, don't wait for it.
    pub force: c_int,
    /// 0.
    pub zeroed: c_int,
}

// The sizes of the messages in memory, and the codec's offsets, which are those of the structures
// (ROOT-2, ROOT-5).
const _: () = {
    assert!(size_of::<__pmdaRootPDUHdr>() == 16 && size_of::<__pmdaRootPDUInfo>() == root::INFO_SIZE);
    assert!(size_of::<__pmdaRootPDUContainer>() == 4120 && size_of::<__pmdaRootPDUStart>() == 4200);
    assert!(size_of::<__pmdaRootPDUStop>() == root::STOP_SIZE);
    assert!(offset_of!(__pmdaRootPDUContainer, name) == root::CONTAINER_SIZE);
    assert!(offset_of!(__pmdaRootPDUStart, args) == root::START_SIZE);
    assert!(offset_of!(__pmdaRootPDUStart, infd) == root::START_DESCRIPTORS[0]);
    assert!(offset_of!(__pmdaRootPDUStart, outfd) == root::START_DESCRIPTORS[1]);
};
