//! What agents and pmcd ask pmdaroot for: the `pmdaRoot…` functions.

use std::ffi::{c_char, c_int};

use super::guard::guard;
use super::root_pdu::converse;
use crate::abi::arg::{CText, Out};
use crate::abi::buffer::{CBuffer, CField};
use crate::os::root_socket;
use crate::pmdaroot::{self as client, Connecting, Purpose, Question};
use pmda_core::root::kind;

/// Connects to pmdaroot and waits for its introduction (ROOT-30 to ROOT-33). `path` NULL means the
/// usual place.
///
/// # Returns
/// A descriptor; -1 when nobody answers, without a log line, since agents try this at start-up
/// `PM_ERR_GENERIC` when PCP does not say where the usual place is; another negative code.
///
/// # Safety
/// `path` is NULL or a terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaRootConnect(path: Option<CText>) -> c_int {
    converse(|| Connecting::new(path))
}

/// Ends the conversation with pmdaroot; the descriptor stays open (ROOT-34).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaRootShutdown(fd: c_int) {
    guard(|| root_socket::shut_down(fd));
}

/// Asks for the host name of a container (ROOT-35).
///
/// # Returns
/// Its length; a NUL is added in `buffer`, which may be NULL if only the length is wanted.
/// `-ENOTCONN` without a connection, `-E2BIG` when the buffer is too small, what the server says,
/// -1 when sending fails.
///
/// # Safety
/// `name` is NULL or readable for `namelen` bytes or up to a NUL; `buffer` is NULL or writable for
/// `buflen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaRootContainerHostName(
    fd: c_int,
    name: *const c_char,
    namelen: c_int,
    buffer: *mut c_char,
    buflen: c_int,
) -> c_int {
    // SAFETY: the caller gives NULL or a name of that length, and NULL or a buffer of that size,
    // for the time of the call.
    let (name, buffer) = unsafe { (CField::new(name, namelen), CBuffer::new(buffer, buflen)) };
    converse(|| Question::about(fd, kind::HOSTNAME_REQ, name, Purpose::Text(kind::HOSTNAME, buffer)))
}

/// Asks for the first process of a container (ROOT-35).
///
/// # Returns
/// Its process id as the server sent it, or a negative code as `pmdaRootContainerHostName`.
///
/// # Safety
/// `name` is NULL or readable for `namelen` bytes or up to a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaRootContainerProcessID(fd: c_int, name: *const c_char, namelen: c_int) -> c_int {
    // SAFETY: the caller gives NULL or a name of that length, which is copied before this returns.
    let name = unsafe { CField::new(name, namelen) };
    converse(|| Question::about(fd, kind::PROCESSID_REQ, name, Purpose::Process))
}

/// Asks for the control group of a container (ROOT-35).
///
/// # Returns
/// As `pmdaRootContainerHostName`.
///
/// # Safety
/// As `pmdaRootContainerHostName`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaRootContainerCGroupName(
    fd: c_int,
    name: *const c_char,
    namelen: c_int,
    buffer: *mut c_char,
    buflen: c_int,
) -> c_int {
    // SAFETY: the caller gives NULL or a name of that length, and NULL or a buffer of that size,
    // for the time of the call.
    let (name, buffer) = unsafe { (CField::new(name, namelen), CBuffer::new(buffer, buflen)) };
    converse(|| Question::about(fd, kind::CGROUPNAME_REQ, name, Purpose::Text(kind::CGROUPNAME, buffer)))
}

/// Has an agent started (ROOT-37). `args` is its command line.
///
/// # Returns
/// 0 with process and descriptors stored, -1 for descriptors that the server did not pass on; else
/// a negative code. A descriptor that nobody wants is closed.
///
/// # Safety
/// `name` and `args` are each NULL or readable for their lengths or up to a NUL; the other pointers
/// are each NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaRootProcessStart(
    fd: c_int,
    ipctype: c_int,
    name: *const c_char,
    namelen: c_int,
    args: *const c_char,
    argslen: c_int,
    pid: Out<c_int>,
    infd: Out<c_int>,
    outfd: Out<c_int>,
) -> c_int {
    // SAFETY: the caller gives NULL or texts of these lengths, which are copied before this
    // returns.
    let (name, args) = unsafe { (CField::new(name, namelen), CField::new(args, argslen)) };
    converse(|| {
        let request = client::start_request(ipctype, name, args)?;
        Ok(Question::new(fd, request, Purpose::Started(pid, [infd, outfd])))
    })
}

/// Asks whether an agent has ended (ROOT-38).
///
/// # Returns
/// The process that has ended with its status as `waitpid` gives it in `status`; 0 when none has,
/// or a negative number.
///
/// # Safety
/// `status` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaRootProcessWait(fd: c_int, pid: c_int, status: Out<c_int>) -> c_int {
    converse(|| Question::end(fd, pid, false, Purpose::Ended(status)))
}

/// Has an agent terminated (ROOT-39).
///
/// # Returns
/// 0, or a negative code.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pmdaRootProcessTerminate(fd: c_int, pid: c_int) -> c_int {
    converse(|| Question::end(fd, pid, true, Purpose::Terminated))
}
