//! What agents and pmcd ask pmdaroot for: the `pmdaRoot…` functions.

use std::ffi::{c_char, c_int, c_void};
use std::fmt::Display;
use std::os::fd::{AsRawFd, IntoRawFd};

use super::arg;
use super::guard::guard;
use super::mark::outside;
use super::memory::Block;
use super::root_pdu::{
    __pmdaDecodeRootPDUContainer, __pmdaDecodeRootPDUStart, __pmdaDecodeRootPDUStop, __pmdaRecvRootPDUContainer,
    __pmdaRecvRootPDUStart, __pmdaRecvRootPDUStop, __pmdaSendRootPDUContainer, __pmdaSendRootPDUStartReq,
    __pmdaSendRootPDUStop, receive_info,
};
use super::root_socket::{self as socket, Refused};
use super::types_root::{__pmdaRootPDUContainer, __pmdaRootPDUStart, __pmdaRootPDUStop};
use crate::error::{Error, Result};
use crate::libpcp::log::Debug;
use crate::libpcp::{config, log};
use crate::log::Level;
use crate::log::Part::{Raw, Show};
use crate::root::kind;

/// Connects to pmdaroot and waits for its introduction (ROOT-30 to ROOT-33). `path` NULL means the usual place.
///
/// # Returns
/// A descriptor; -1 when nobody answers, without a log line, since agents try this at start-up;
/// `PM_ERR_GENERIC` when PCP does not say where the usual place is; another negative code.
///
/// # Safety
/// `path` is NULL or a terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaRootConnect(path: *const c_char) -> c_int {
    guard(|| {
        // SAFETY: the caller's contract.
        match unsafe { arg::bytes(path) } {
            Some(path) => connect(path),
            None => {
                let path = config::optional(c"PCP_VAR_DIR").ok_or(Error::GENERIC)?;
                let path = crate::log::line(&[Raw(&path), Raw(b"/pmcd/root.socket")]).ok_or(Error::NOMEM)?;
                connect(&path)
            }
        }
    })
}

fn connect(path: &[u8]) -> Result<c_int> {
    let debug = log::debug(Debug::Libpmda);
    let say = |level, before: &[u8], after: &dyn Display| {
        log::notify_parts(level, &[Raw(b"pmdaRootConnect: "), Raw(before), Raw(path), Show(after)]);
    };
    let reason = |error: Error| log::os_text(-error.code());
    let server = socket::connect(path).map_err(|refused| match refused {
        Refused::Socket(error) => {
            let why = reason(error);
            say(Level::Err, b"cannot create socket ", &format_args!(": {why}"));
            error
        }
        Refused::Connect(error) => {
            if debug {
                let why = reason(error);
                say(Level::Info, b"cannot connect to ", &format_args!(": {why}"));
            }
            Error::os(1)
        }
    })?;
    let info = receive_info(server.as_raw_fd()).inspect_err(|error| {
        let why = reason(*error);
        say(Level::Err, b"cannot verify ", &format_args!(" server: {why}"));
    })?;
    let fd = server.into_raw_fd();
    if debug {
        let (version, features) = (info.version, info.features);
        say(
            Level::Info,
            b"",
            &format_args!(" server fd={fd} version={version} features=0x{features:x}"),
        );
    }
    Ok(fd)
}

/// Ends the conversation with pmdaroot; the descriptor stays open (ROOT-34).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaRootShutdown(fd: c_int) {
    guard(|| {
        if fd >= 0 {
            // SAFETY: no memory is involved.
            unsafe { libc::shutdown(fd, libc::SHUT_RDWR) };
        }
    });
}

/// An answer about a container: the structure of `pcp/pmdaroot.h`, and the bytes of it that arrived.
struct Answer {
    message: Block<__pmdaRootPDUContainer>,
    length: c_int,
}

/// Asks about a container (ROOT-35). Without a name the length is a process id, and no name is sent (ROOT-36, R-3).
///
/// # Safety
/// `name` is NULL or readable for `length` bytes or up to a NUL.
unsafe fn ask(fd: c_int, (request, reply): (c_int, c_int), name: *const c_char, length: c_int) -> Result<Answer> {
    if fd < 0 {
        return Err(Error::os(libc::ENOTCONN));
    }
    let (pid, length) = if name.is_null() { (length, 0) } else { (0, length) };
    let message = Block::<__pmdaRootPDUContainer>::zeroed(1)?;
    let buffer = message.as_ptr().cast::<c_void>();
    // SAFETY: the caller's contract for the name; the buffer is ours and has this size.
    let length = unsafe {
        Error::check(outside(|| {
            __pmdaSendRootPDUContainer(fd, request, pid, name, length, 0)
        }))?;
        Error::check(outside(|| {
            __pmdaRecvRootPDUContainer(fd, reply, buffer, size_of::<__pmdaRootPDUContainer>() as c_int)
        }))?
    };
    Ok(Answer { message, length })
}

impl Answer {
    /// # Safety
    /// As `__pmdaDecodeRootPDUContainer` has it for its outputs.
    unsafe fn decode(&self, pid: *mut c_int, name: *mut c_char, size: c_int) -> Result<c_int> {
        let buffer = self.message.as_ptr().cast::<c_void>();
        // SAFETY: so many bytes of the buffer were received; the caller's contract for the rest.
        Error::check(outside(|| unsafe {
            __pmdaDecodeRootPDUContainer(buffer, self.length, pid, name, size)
        }))
    }
}

/// Asks for a text about a container (ROOT-35).
///
/// # Safety
/// As `pmdaRootContainerHostName`.
unsafe fn ask_text(
    fd: c_int,
    kinds: (c_int, c_int),
    name: *const c_char,
    namelen: c_int,
    buffer: *mut c_char,
    buflen: c_int,
) -> Result<c_int> {
    // SAFETY: the contract is the same.
    unsafe { ask(fd, kinds, name, namelen)?.decode(std::ptr::null_mut(), buffer, buflen) }
}

/// Asks for the host name of a container (ROOT-35).
///
/// # Returns
/// Its length; a NUL is added in `buffer`, which may be NULL if only the length is wanted. `-ENOTCONN` without a
/// connection, `-E2BIG` when the buffer is too small, what the server says, -1 when sending fails.
///
/// # Safety
/// `name` is NULL or readable for `namelen` bytes or up to a NUL; `buffer` is NULL or writable for `buflen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaRootContainerHostName(
    fd: c_int,
    name: *const c_char,
    namelen: c_int,
    buffer: *mut c_char,
    buflen: c_int,
) -> c_int {
    let kinds = (kind::HOSTNAME_REQ, kind::HOSTNAME);
    // SAFETY: the contract is the same.
    guard(|| unsafe { ask_text(fd, kinds, name, namelen, buffer, buflen) })
}

/// Asks for the first process of a container (ROOT-35).
///
/// # Returns
/// Its process id as the server sent it, or a negative code as `pmdaRootContainerHostName`.
///
/// # Safety
/// `name` is NULL or readable for `namelen` bytes or up to a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaRootContainerProcessID(fd: c_int, name: *const c_char, namelen: c_int) -> c_int {
    guard(|| {
        let mut pid = 0;
        // SAFETY: the caller's contract; the number is ours.
        unsafe {
            let kinds = (kind::PROCESSID_REQ, kind::PROCESSID);
            ask(fd, kinds, name, namelen)?.decode(&raw mut pid, std::ptr::null_mut(), 0)?;
        }
        Ok(pid)
    })
}

/// Asks for the control group of a container (ROOT-35).
///
/// # Returns
/// As `pmdaRootContainerHostName`.
///
/// # Safety
/// As `pmdaRootContainerHostName`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaRootContainerCGroupName(
    fd: c_int,
    name: *const c_char,
    namelen: c_int,
    buffer: *mut c_char,
    buflen: c_int,
) -> c_int {
    let kinds = (kind::CGROUPNAME_REQ, kind::CGROUPNAME);
    // SAFETY: the contract is the same.
    guard(|| unsafe { ask_text(fd, kinds, name, namelen, buffer, buflen) })
}

/// Has an agent started (ROOT-37). `args` is its command line.
///
/// # Returns
/// 0 with process and descriptors stored, -1 for descriptors that the server did not pass on; else a negative code.
/// A descriptor that nobody wants is closed.
///
/// # Safety
/// `name` and `args` are each NULL or readable for their lengths or up to a NUL; the other pointers are each NULL or
/// valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaRootProcessStart(
    fd: c_int,
    ipctype: c_int,
    name: *const c_char,
    namelen: c_int,
    args: *const c_char,
    argslen: c_int,
    pid: *mut c_int,
    infd: *mut c_int,
    outfd: *mut c_int,
) -> c_int {
    guard(|| {
        let message = Block::<__pmdaRootPDUStart>::zeroed(1)?;
        let buffer = message.as_ptr().cast::<c_void>();
        let (mut process, mut descriptors) = (0, [-1; 2]);
        // SAFETY: the caller's contract for the texts; the buffer and the numbers are ours.
        unsafe {
            Error::check(outside(|| {
                __pmdaSendRootPDUStartReq(fd, ipctype, name, namelen, args, argslen)
            }))?;
            let size = size_of::<__pmdaRootPDUStart>() as c_int;
            let length = outside(|| __pmdaRecvRootPDUStart(fd, buffer, size));
            let length = Error::check(length)?;
            let [from, to] = &mut descriptors;
            let none = std::ptr::null_mut();
            let ipc = std::ptr::null_mut();
            let text = std::ptr::null_mut();
            Error::check(outside(|| {
                __pmdaDecodeRootPDUStart(buffer, length, &raw mut process, from, to, ipc, text, 0, none, 0)
            }))
            .inspect_err(|_| {
                close((*message.as_ptr()).infd);
                close((*message.as_ptr()).outfd);
            })?;
        }
        // SAFETY: the caller's contract.
        unsafe { arg::store(pid, process) };
        for (out, descriptor) in [infd, outfd].into_iter().zip(descriptors) {
            if out.is_null() {
                close(descriptor);
            }
            // SAFETY: the caller's contract.
            unsafe { arg::store(out, descriptor) };
        }
        Ok(())
    })
}

/// Closes a descriptor that came with a message and that nobody else knows.
fn close(descriptor: c_int) {
    if descriptor >= 0 {
        // SAFETY: the descriptor is owned here and not used again.
        unsafe { libc::close(descriptor) };
    }
}

/// Asks about the end of an agent and takes the answer apart: process and code.
fn end(fd: c_int, pid: c_int, force: c_int) -> Result<(c_int, c_int)> {
    let message = Block::<__pmdaRootPDUStop>::zeroed(1)?;
    let buffer = message.as_ptr().cast::<c_void>();
    let (mut process, mut code) = (0, 0);
    // SAFETY: the buffer and the numbers are ours, and the buffer has this size.
    unsafe {
        Error::check(outside(|| __pmdaSendRootPDUStop(fd, kind::STOP_REQ, pid, 0, force, 0)))?;
        let size = size_of::<__pmdaRootPDUStop>() as c_int;
        let length = Error::check(outside(|| __pmdaRecvRootPDUStop(fd, kind::STOP, buffer, size)))?;
        let none = std::ptr::null_mut();
        Error::check(outside(|| {
            __pmdaDecodeRootPDUStop(buffer, length, &raw mut process, &raw mut code, none)
        }))?;
    }
    Ok((process, code))
}

/// Asks whether an agent has ended (ROOT-38).
///
/// # Returns
/// The process that has ended with its status as `waitpid` gives it in `status`; 0 when none has, or a negative
/// number.
///
/// # Safety
/// `status` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaRootProcessWait(fd: c_int, pid: c_int, status: *mut c_int) -> c_int {
    guard(|| {
        let (process, code) = end(fd, pid, 0)?;
        // SAFETY: the caller's contract.
        unsafe { arg::store(status, code) };
        Ok(process)
    })
}

/// Has an agent terminated (ROOT-39).
///
/// # Returns
/// 0, or a negative code.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaRootProcessTerminate(fd: c_int, pid: c_int) -> c_int {
    guard(|| end(fd, pid, 1).map(|_| ()))
}
