//! What agents and pmcd ask pmdaroot for: the `pmdaRoot…` functions.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsRawFd, IntoRawFd};

use super::arg;
use super::guard::guard;
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
use crate::root::kind;

/// Connects to pmdaroot and waits for its introduction (ROOT-30 … ROOT-33). `path` NULL means the usual place.
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
                let mut path = config::optional(c"PCP_VAR_DIR").ok_or(Error::GENERIC)?;
                path.extend_from_slice(b"/pmcd/root.socket");
                connect(&path)
            }
        }
    })
}

fn connect(path: &[u8]) -> Result<c_int> {
    let debug = log::debug(Debug::Libpmda);
    let say = |level, before: &str, after: &str| {
        log::notify(
            level,
            &[b"pmdaRootConnect: ", before.as_bytes(), path, after.as_bytes()].concat(),
        );
    };
    let server = socket::connect(path).map_err(|refused| match refused {
        Refused::Socket(error) => {
            say(Level::Err, "cannot create socket ", &reason(error));
            error
        }
        Refused::Connect(error) => {
            if debug {
                say(Level::Info, "cannot connect to ", &reason(error));
            }
            Error::os(1)
        }
    })?;
    let info = receive_info(server.as_raw_fd())
        .inspect_err(|error| say(Level::Err, "cannot verify ", &format!(" server{}", reason(*error))))?;
    let fd = server.into_raw_fd();
    if debug {
        let text = format!(
            " server fd={fd} version={} features=0x{:x}",
            info.version, info.features
        );
        say(Level::Info, "", &text);
    }
    Ok(fd)
}

/// What the operating system calls an error, as the end of a log line.
fn reason(error: Error) -> String {
    format!(": {}", log::os_text(-error.code()))
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
    message: Box<__pmdaRootPDUContainer>,
    length: c_int,
}

/// A buffer for a message.
fn blank<T: Copy>() -> Box<T> {
    const { assert!(!std::mem::needs_drop::<T>()) };
    // SAFETY: the message types, which are all that this is used for, consist of numbers only.
    Box::new(unsafe { std::mem::zeroed::<T>() })
}

/// Asks about a container (ROOT-35). Without a name the length is a process id, and no name is sent (ROOT-36, R-3).
///
/// # Safety
/// `name` is NULL or readable for `length` bytes or up to a NUL.
unsafe fn ask(fd: c_int, request: c_int, reply: c_int, name: *const c_char, length: c_int) -> Result<Answer> {
    if fd < 0 {
        return Err(Error::os(libc::ENOTCONN));
    }
    let (pid, length) = if name.is_null() { (length, 0) } else { (0, length) };
    let mut message = blank::<__pmdaRootPDUContainer>();
    let buffer = (&raw mut *message).cast::<c_void>();
    // SAFETY: the caller's contract for the name; the buffer is ours and has this size.
    let length = unsafe {
        Error::check(__pmdaSendRootPDUContainer(fd, request, pid, name, length, 0))?;
        Error::check(__pmdaRecvRootPDUContainer(
            fd,
            reply,
            buffer,
            size_of::<__pmdaRootPDUContainer>() as c_int,
        ))?
    };
    Ok(Answer { message, length })
}

impl Answer {
    /// # Safety
    /// As `__pmdaDecodeRootPDUContainer` has it for its outputs.
    unsafe fn decode(&mut self, pid: *mut c_int, name: *mut c_char, size: c_int) -> Result<c_int> {
        let buffer = (&raw mut *self.message).cast::<c_void>();
        // SAFETY: so many bytes of the buffer were received; the caller's contract for the rest.
        Error::check(unsafe { __pmdaDecodeRootPDUContainer(buffer, self.length, pid, name, size) })
    }
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
    guard(|| {
        // SAFETY: the caller's contract.
        unsafe {
            ask(fd, kind::HOSTNAME_REQ, kind::HOSTNAME, name, namelen)?.decode(std::ptr::null_mut(), buffer, buflen)
        }
    })
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
            ask(fd, kind::PROCESSID_REQ, kind::PROCESSID, name, namelen)?.decode(
                &raw mut pid,
                std::ptr::null_mut(),
                0,
            )?;
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
    guard(|| {
        // SAFETY: the caller's contract.
        unsafe {
            ask(fd, kind::CGROUPNAME_REQ, kind::CGROUPNAME, name, namelen)?.decode(std::ptr::null_mut(), buffer, buflen)
        }
    })
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
        let mut message = blank::<__pmdaRootPDUStart>();
        let buffer = (&raw mut *message).cast::<c_void>();
        let (mut process, mut descriptors) = (0, [-1; 2]);
        // SAFETY: the caller's contract for the texts; the buffer and the numbers are ours.
        unsafe {
            Error::check(__pmdaSendRootPDUStartReq(fd, ipctype, name, namelen, args, argslen))?;
            let length = __pmdaRecvRootPDUStart(fd, buffer, size_of::<__pmdaRootPDUStart>() as c_int);
            let length = Error::check(length)?;
            let [from, to] = &mut descriptors;
            let none = std::ptr::null_mut();
            let ipc = std::ptr::null_mut();
            let text = std::ptr::null_mut();
            Error::check(__pmdaDecodeRootPDUStart(
                buffer,
                length,
                &raw mut process,
                from,
                to,
                ipc,
                text,
                0,
                none,
                0,
            ))
            .inspect_err(|_| {
                close(message.infd);
                close(message.outfd);
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
    let mut message = blank::<__pmdaRootPDUStop>();
    let buffer = (&raw mut *message).cast::<c_void>();
    let (mut process, mut code) = (0, 0);
    // SAFETY: the buffer and the numbers are ours, and the buffer has this size.
    unsafe {
        Error::check(__pmdaSendRootPDUStop(fd, kind::STOP_REQ, pid, 0, force, 0))?;
        let size = size_of::<__pmdaRootPDUStop>() as c_int;
        let length = Error::check(__pmdaRecvRootPDUStop(fd, kind::STOP, buffer, size))?;
        let none = std::ptr::null_mut();
        Error::check(__pmdaDecodeRootPDUStop(
            buffer,
            length,
            &raw mut process,
            &raw mut code,
            none,
        ))?;
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
