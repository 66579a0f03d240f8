//! The messages of pmdaroot: `__pmdaSendRootPDU…`, `__pmdaRecvRootPDU…` and `__pmdaDecodeRootPDU…`.
//!
//! All `Send` functions return the number of bytes sent, or -1 with errno set when the socket fails; all `Recv`
//! functions the number of bytes received, or a negative code (ROOT-10, ROOT-11).

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::IntoRawFd;

use super::arg;
use super::guard::guard;
use super::root_socket as socket;
use crate::error::{Error, Result};
use crate::root::{self, Container, Info, Start, Stop};

const E2BIG: Error = Error::os(libc::E2BIG);

/// The text that a caller gives with a length: it ends there or at a NUL.
///
/// # Safety
/// `text` is NULL or readable for `length` bytes or up to a NUL.
pub(super) unsafe fn text<'a>(text: *const c_char, length: c_int) -> Result<&'a [u8]> {
    let Ok(length @ 1..) = usize::try_from(length) else {
        return Ok(&[]);
    };
    if text.is_null() {
        return Err(Error::INVAL);
    }
    // SAFETY: strnlen stops at `length` and at a NUL, so it stays within what the contract names readable.
    Ok(unsafe { std::slice::from_raw_parts(text.cast::<u8>(), libc::strnlen(text, length)) })
}

/// Stores a text and a NUL in a caller's buffer.
///
/// # Safety
/// `buffer` is writable for `size` bytes.
unsafe fn store_text(buffer: *mut c_char, size: c_int, text: &[u8]) -> Result<()> {
    match usize::try_from(size) {
        Ok(size) if size > text.len() => {}
        _ => return Err(E2BIG),
    }
    // SAFETY: the buffer has room for the text and the NUL; a message and the caller's buffer for the name in it do
    // not overlap, or `copy` takes care of it.
    unsafe {
        std::ptr::copy(text.as_ptr().cast::<c_char>(), buffer, text.len());
        buffer.add(text.len()).write(0);
    }
    Ok(())
}

/// What [`socket::receive`] gave, as the number that C gets.
fn count(message: &[u8]) -> c_int {
    c_int::try_from(message.len()).unwrap_or(c_int::MAX)
}

/// The message in a caller's buffer.
///
/// # Safety
/// `buffer` is NULL or readable for `length` bytes.
unsafe fn message<'a>(buffer: *const c_void, length: c_int) -> &'a [u8] {
    // SAFETY: the caller's contract.
    unsafe { arg::slice(buffer.cast::<u8>(), length) }
}

/// Sends the introduction of a server (ROOT-20).
#[unsafe(no_mangle)]
pub extern "C" fn __pmdaSendRootPDUInfo(fd: c_int, features: c_int, status: c_int) -> c_int {
    guard(|| socket::send(fd, &root::info(features, status)?))
}

/// Receives the introduction of a server (ROOT-12).
///
/// # Safety
/// `version` and `features` are each NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaRecvRootPDUInfo(fd: c_int, version: *mut c_int, features: *mut c_int) -> c_int {
    guard(|| {
        let info = receive_info(fd)?;
        // SAFETY: the caller's contract.
        unsafe {
            arg::store(version, info.version);
            arg::store(features, info.features);
        }
        Ok(root::INFO_SIZE as c_int)
    })
}

/// Receives and checks the introduction of a server.
pub(super) fn receive_info(fd: c_int) -> Result<Info> {
    let mut buffer = [0_u8; root::INFO_SIZE];
    // SAFETY: the buffer is ours and has this size.
    let message = unsafe { socket::receive(fd, buffer.as_mut_ptr().cast(), root::INFO_SIZE as c_int) }?;
    Info::receive(message)
}

/// Sends a question or an answer about a container (ROOT-21): exactly `namelen` bytes of name.
///
/// # Safety
/// `name` is NULL or readable for `namelen` bytes or up to a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaSendRootPDUContainer(
    fd: c_int,
    r#type: c_int,
    pid: c_int,
    name: *const c_char,
    namelen: c_int,
    status: c_int,
) -> c_int {
    guard(|| {
        root::container(r#type, pid, &[], namelen, status)?;
        // SAFETY: the caller's contract.
        let name = unsafe { text(name, namelen) }?;
        socket::send(fd, &root::container(r#type, pid, name, namelen, status)?)
    })
}

/// Receives a message about a container into `buf` (ROOT-12, R-2).
///
/// # Safety
/// `buf` is NULL or writable for `buflen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaRecvRootPDUContainer(
    fd: c_int,
    r#type: c_int,
    buf: *mut c_void,
    buflen: c_int,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's contract.
        let message = unsafe { socket::receive(fd, buf, buflen) }?;
        Container::receive(message, r#type)?;
        Ok(count(message))
    })
}

/// Takes a message about a container apart (ROOT-22, R-5).
///
/// # Returns
/// The length of the name, to which a NUL is added in the buffer; `-EINVAL` when the message is too short for it,
/// `-E2BIG` when the buffer is.
///
/// # Safety
/// `buf` is NULL or readable for `blen` bytes; `pid` is NULL or valid for one write; `name` is NULL or writable for
/// `namelen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaDecodeRootPDUContainer(
    buf: *mut c_void,
    blen: c_int,
    pid: *mut c_int,
    name: *mut c_char,
    namelen: c_int,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's contract.
        let found = Container::decode(unsafe { message(buf, blen) })?;
        // SAFETY: the caller's contract.
        unsafe { arg::store(pid, found.pid) };
        // An empty name is no error for a buffer of no size; else it becomes an empty string.
        let stored = !found.name.is_empty() || namelen > 0;
        if stored && !name.is_null() {
            // SAFETY: the caller's contract.
            unsafe { store_text(name, namelen, found.name) }?;
        }
        Ok(count(found.name))
    })
}

/// Asks for an agent to be started (ROOT-23).
///
/// # Safety
/// `name` and `args` are each NULL or readable for their lengths or up to a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaSendRootPDUStartReq(
    fd: c_int,
    ipctype: c_int,
    name: *const c_char,
    namelen: c_int,
    args: *const c_char,
    argslen: c_int,
) -> c_int {
    guard(|| {
        root::start_request(ipctype, (&[], namelen), (&[], argslen))?;
        // SAFETY: the caller's contract.
        let (name, args) = unsafe { (text(name, namelen)?, text(args, argslen)?) };
        socket::send(fd, &root::start_request(ipctype, (name, namelen), (args, argslen))?)
    })
}

/// Receives a request to start an agent into `buf` (ROOT-12, R-1).
///
/// # Safety
/// `buf` is NULL or writable for `buflen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaRecvRootPDUStartReq(fd: c_int, buf: *mut c_void, buflen: c_int) -> c_int {
    guard(|| {
        // SAFETY: the caller's contract.
        let message = unsafe { socket::receive(fd, buf, buflen) }?;
        Start::receive_request(message)?;
        Ok(count(message))
    })
}

/// Tells that an agent was started, and passes its descriptors on; the caller still owns them (ROOT-24).
///
/// # Safety
/// `name` is NULL or readable for `namelen` bytes or up to a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaSendRootPDUStart(
    fd: c_int,
    pid: c_int,
    infd: c_int,
    outfd: c_int,
    name: *const c_char,
    namelen: c_int,
    status: c_int,
) -> c_int {
    guard(|| {
        root::start_reply(pid, &[], namelen, status)?;
        // SAFETY: the caller's contract.
        let name = unsafe { text(name, namelen) }?;
        socket::send_with(fd, &root::start_reply(pid, name, namelen, status)?, [infd, outfd])
    })
}

/// Receives the answer to a request to start an agent into `buf`, with the descriptors that came along, or -1, in
/// its fields `infd` and `outfd` (ROOT-25, R-6, R-7). They are the caller's, and closed on exec.
///
/// # Safety
/// `buf` is NULL or writable for `buflen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaRecvRootPDUStart(fd: c_int, buf: *mut c_void, buflen: c_int) -> c_int {
    guard(|| {
        // SAFETY: the caller's contract.
        let (message, descriptors) = unsafe { socket::receive_with(fd, buf, buflen) }?;
        Start::receive_reply(message)?;
        let numbers = descriptors.map_or([-1, -1], |pair| pair.map(IntoRawFd::into_raw_fd));
        for (offset, number) in root::START_DESCRIPTORS.into_iter().zip(numbers) {
            message[offset..offset + 4].copy_from_slice(&number.to_ne_bytes());
        }
        Ok(count(message))
    })
}

/// Takes a request to start an agent, or the answer, apart (ROOT-26, R-4).
///
/// # Returns
/// 0; `-EINVAL` when the message is too short for what is wanted or a length in it is impossible, `-E2BIG` when a
/// buffer is too small: then nothing is stored.
///
/// # Safety
/// `buf` is NULL or readable for `blen` bytes; each other pointer is NULL or valid for one write, those of texts for
/// as many bytes as their sizes say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaDecodeRootPDUStart(
    buf: *mut c_void,
    blen: c_int,
    pid: *mut c_int,
    infd: *mut c_int,
    outfd: *mut c_int,
    ipctype: *mut c_int,
    name: *mut c_char,
    namesz: c_int,
    args: *mut c_char,
    argssz: c_int,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's contract.
        let found = Start::decode(unsafe { message(buf, blen) })?;
        let texts = [(name, namesz, found.name), (args, argssz, found.arguments)];
        let wanted = texts
            .into_iter()
            .filter(|(buffer, size, _)| !buffer.is_null() && *size != 0);
        // Everything is checked before anything is stored.
        for (_, size, text) in wanted.clone() {
            let length = text.ok_or(Error::INVAL)?.len();
            if usize::try_from(size).map_or(true, |size| size <= length) {
                return Err(E2BIG);
            }
        }
        for (buffer, size, text) in wanted {
            // SAFETY: the caller's contract.
            unsafe { store_text(buffer, size, text.unwrap_or_default()) }?;
        }
        // SAFETY: the caller's contract.
        unsafe {
            arg::store(pid, found.pid);
            arg::store(infd, found.infd);
            arg::store(outfd, found.outfd);
            arg::store(ipctype, found.ipc);
        }
        Ok(())
    })
}

/// Sends a question or an answer about the end of an agent (ROOT-27).
#[unsafe(no_mangle)]
pub extern "C" fn __pmdaSendRootPDUStop(
    fd: c_int,
    r#type: c_int,
    pid: c_int,
    code: c_int,
    force: c_int,
    status: c_int,
) -> c_int {
    guard(|| socket::send(fd, &root::stop(r#type, pid, code, force, status)?))
}

/// Receives a message about the end of an agent into `buf` (ROOT-12).
///
/// # Safety
/// `buf` is NULL or writable for `buflen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaRecvRootPDUStop(fd: c_int, r#type: c_int, buf: *mut c_void, buflen: c_int) -> c_int {
    guard(|| {
        // SAFETY: the caller's contract.
        let message = unsafe { socket::receive(fd, buf, buflen) }?;
        Stop::receive(message, r#type)?;
        Ok(count(message))
    })
}

/// Takes a message about the end of an agent apart (ROOT-27). `len` is ignored, as it always was: the buffer holds a
/// whole message, which has one size.
///
/// # Returns
/// 0, or `-EINVAL` without a message.
///
/// # Safety
/// `buf` is NULL or points to a whole message; each other pointer is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaDecodeRootPDUStop(
    buf: *mut c_void,
    _len: c_int,
    pid: *mut c_int,
    code: *mut c_int,
    force: *mut c_int,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's contract.
        let found = Stop::decode(unsafe { message(buf, root::STOP_SIZE as c_int) })?;
        // SAFETY: the caller's contract.
        unsafe {
            arg::store(pid, found.pid);
            arg::store(code, found.code);
            arg::store(force, found.force);
        }
        Ok(())
    })
}
