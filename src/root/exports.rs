//! Requests to pmdaroot: `pmdaRootConnect`, `pmdaRootShutdown`, what is asked about containers and
//! processes, and the messages of its protocol.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::RawFd;

use crate::boundary::{Guarded, NoDropCell, guard, guarded, returned, try_guarded};
use crate::root as client;
use crate::root::{Connecting, Expected, RootAnswer};
use crate::sys::refusal::Refusable;
use crate::sys::root_socket::{self, NONE};
use crate::view::arg::{CText, In, Needed, Out};
use crate::view::buffer::{CBuffer, CBytes, CField};
use pmda_core::error::{Error, Result};
use pmda_core::root::{self, ContainerPdu, StartPdu, StopPdu, kind};

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
pub unsafe extern "C-unwind" fn pmdaRootConnect(path: Option<CText<'_>>) -> c_int {
    let connect = || {
        let mut connecting = try_guarded(|token| Connecting::new(token, path))?;
        let outcome = connect(&mut connecting);
        guarded(|token| connecting.end(token))?;
        outcome
    };
    returned(connect())
}

/// Ends the conversation with pmdaroot; the descriptor stays open (ROOT-34).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaRootShutdown(fd: c_int) {
    guard(|_| root_socket::shut_down(fd));
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
    ask(fd, RootAnswer::Text(kind::HOSTNAME, buffer), || {
        client::about(fd, kind::HOSTNAME_REQ, name)
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
pub unsafe extern "C-unwind" fn pmdaRootContainerProcessID(fd: c_int, name: *const c_char, namelen: c_int) -> c_int {
    // SAFETY: the caller gives NULL or a name of that length, which is copied before this returns.
    let name = unsafe { CField::new(name, namelen) };
    ask(fd, RootAnswer::Process, || client::about(fd, kind::PROCESSID_REQ, name))
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
    ask(fd, RootAnswer::Text(kind::CGROUPNAME, buffer), || {
        client::about(fd, kind::CGROUPNAME_REQ, name)
    })
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
    pid: Out<'_, c_int>,
    infd: Out<'_, c_int>,
    outfd: Out<'_, c_int>,
) -> c_int {
    // SAFETY: the caller gives NULL or texts of these lengths, which are copied before this
    // returns.
    let (name, args) = unsafe { (CField::new(name, namelen), CField::new(args, argslen)) };
    let purpose = RootAnswer::Started(pid, [infd, outfd]);
    ask(fd, purpose, || client::start_request(ipctype, name, args))
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
pub unsafe extern "C-unwind" fn pmdaRootProcessWait(fd: c_int, pid: c_int, status: Out<'_, c_int>) -> c_int {
    ask(fd, RootAnswer::Ended(status), || {
        root::stop(kind::STOP_REQ, pid, 0, 0, 0)
    })
}

/// Has an agent terminated (ROOT-39).
///
/// # Returns
/// 0, or a negative code.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pmdaRootProcessTerminate(fd: c_int, pid: c_int) -> c_int {
    ask(fd, RootAnswer::Terminated, || root::stop(kind::STOP_REQ, pid, 0, 1, 0))
}

/// Sends a message, with two descriptors, or with none if one of them is negative (ROOT-24).
///
/// # Errors
/// Those of `message`, of the send, and of [`guarded`].
fn send(fd: c_int, descriptors: [RawFd; 2], message: impl FnOnce() -> Result<Vec<u8>>) -> Guarded<c_int> {
    let mut sent = NoDropCell::none();
    let (start, size) = try_guarded(|_| {
        root_socket::prepare();
        let message = message()?;
        let bytes = (message.as_ptr(), message.len());
        sent.set(message);
        Ok(bytes)
    })?;
    // SAFETY: `sent` keeps the message until the next step.
    let outcome = unsafe { root_socket::send(fd, start, size, descriptors) };
    try_guarded(|_| {
        drop(sent.take());
        outcome.map(client::number)
    })
}

/// Receives a message into a buffer of C.
fn receive(fd: c_int, expected: Expected, buffer: CBuffer<'_>) -> c_int {
    let receive = || {
        let (start, size) = try_guarded(|_| buffer.raw_parts())?;
        // SAFETY: the buffer of C is writable for `size` bytes, by the contract of `CBuffer::new`.
        let received = unsafe { root_socket::receive(fd, start, size, expected.with_descriptors()) };
        try_guarded(|token| expected.finish(token, buffer, received))
    };
    returned(receive())
}

/// Receives an answer, or the introduction of a server.
///
/// # Errors
/// Those of the receive, of the answer, and of [`guarded`].
fn answer(fd: c_int, purpose: RootAnswer<'_>) -> Guarded<c_int> {
    let mut reply = NoDropCell::none();
    let (start, size) = try_guarded(|_| {
        let mut message = client::answer_buffer(purpose.size())?;
        let bytes = (message.as_mut_ptr(), message.len());
        reply.set(message);
        Ok(bytes)
    })?;
    // SAFETY: `reply` keeps the buffer until the next step.
    let received = unsafe { root_socket::receive(fd, start, size, purpose.expected().with_descriptors()) };
    try_guarded(|token| purpose.finish(token, &reply.take().unwrap_or_default(), received))
}

/// Sends a request, and receives its answer.
fn ask(fd: c_int, purpose: RootAnswer<'_>, request: impl FnOnce() -> Result<Vec<u8>>) -> c_int {
    returned(send(fd, NONE, request).and_then(|_| answer(fd, purpose)))
}

/// Connects, and waits for the introduction of the server. Returns the descriptor.
///
/// # Errors
/// Those of [`Connecting`], and of [`guarded`].
fn connect(connecting: &mut Connecting) -> Guarded<c_int> {
    let (fd, address) = try_guarded(|token| connecting.open(token))?;
    let connected = root_socket::connect(fd, &address);
    try_guarded(|token| connecting.connected(token, connected))?;
    let (mut version, mut features) = (0, 0);
    let introduction = RootAnswer::Introduced(Out::to(&mut version), Out::to(&mut features));
    let received = answer(fd, introduction);
    try_guarded(|token| connecting.introduced(token, received, version, features))
}

/// Sends the introduction of a server (ROOT-20).
///
/// # Returns
/// The number of bytes sent, or -1 with errno set.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __pmdaSendRootPDUInfo(fd: c_int, features: c_int, status: c_int) -> c_int {
    returned(send(fd, NONE, || root::info(features, status)))
}

/// Receives the introduction of a server (ROOT-12).
///
/// # Returns
/// The number of bytes received; the status of the message if that is not 0; a negative code for
/// another or a damaged message, with both places untouched.
///
/// # Safety
/// `version` and `features` are each NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pmdaRecvRootPDUInfo(
    fd: c_int,
    version: Out<'_, c_int>,
    features: Out<'_, c_int>,
) -> c_int {
    returned(answer(fd, RootAnswer::Introduced(version, features)))
}

/// Sends a request or an answer about a container (ROOT-21): exactly `namelen` bytes of name.
///
/// # Returns
/// The number of bytes sent; -1 with errno set when sending fails; `-EINVAL` or
/// `-E2BIG` for an impossible length.
///
/// # Safety
/// `name` is NULL or readable for `namelen` bytes or up to a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pmdaSendRootPDUContainer(
    fd: c_int,
    r#type: c_int,
    pid: c_int,
    name: *const c_char,
    namelen: c_int,
    status: c_int,
) -> c_int {
    // SAFETY: the caller gives NULL or a name of that length, which is copied before this returns.
    let name = unsafe { CField::new(name, namelen) };
    returned(send(fd, NONE, || {
        root::container(r#type, pid, name.length(), || name.bytes(), status)
    }))
}

/// Receives a message about a container into `buf` (ROOT-12, R-2).
///
/// # Returns
/// As `__pmdaRecvRootPDUInfo`; `-EINVAL` without a buffer.
///
/// # Safety
/// `buf` is NULL or writable for `buflen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pmdaRecvRootPDUContainer(
    fd: c_int,
    r#type: c_int,
    buf: *mut c_void,
    buflen: c_int,
) -> c_int {
    // SAFETY: the caller gives NULL or a buffer of that size, for the time of the call.
    let buffer = unsafe { CBuffer::new(buf, buflen) };
    receive(fd, Expected::Container(r#type), buffer)
}

/// Decodes a message about a container (ROOT-22, R-5).
///
/// # Returns
/// The length of the name, to which a NUL is added in the buffer; `-EINVAL` when the message is too
/// short for it, `-E2BIG` when the buffer is.
///
/// # Safety
/// `buf` is NULL or readable for `blen` bytes; `pid` is NULL or valid for one write; `name` is NULL
/// or writable for `namelen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaDecodeRootPDUContainer(
    buf: *mut c_void,
    blen: c_int,
    pid: Out<'_, c_int>,
    name: *mut c_char,
    namelen: c_int,
) -> c_int {
    // SAFETY: the caller gives NULL or a message of that length, and a buffer of that size, for the
    // time of the call. Nothing of C runs meanwhile.
    let (message, name) = unsafe { (CBytes::new(buf, blen), CBuffer::new(name, namelen)) };
    guard(|_| {
        let pdu = ContainerPdu::decode(message.bytes())?;
        pid.set(pdu.pid);
        client::store_name(pdu.name, name)
    })
}

/// Asks for an agent to be started (ROOT-23).
///
/// # Returns
/// As `__pmdaSendRootPDUContainer`.
///
/// # Safety
/// `name` and `args` are each NULL or readable for their lengths or up to a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pmdaSendRootPDUStartReq(
    fd: c_int,
    ipctype: c_int,
    name: *const c_char,
    namelen: c_int,
    args: *const c_char,
    argslen: c_int,
) -> c_int {
    // SAFETY: the caller gives NULL or a text of that length for each, which are copied before this
    // returns.
    let (name, args) = unsafe { (CField::new(name, namelen), CField::new(args, argslen)) };
    returned(send(fd, NONE, || client::start_request(ipctype, name, args)))
}

/// Receives a request to start an agent into `buf` (ROOT-12, R-1).
///
/// # Returns
/// As `__pmdaRecvRootPDUContainer`.
///
/// # Safety
/// `buf` is NULL or writable for `buflen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pmdaRecvRootPDUStartReq(fd: c_int, buf: *mut c_void, buflen: c_int) -> c_int {
    // SAFETY: the caller gives NULL or a buffer of that size, for the time of the call.
    let buffer = unsafe { CBuffer::new(buf, buflen) };
    receive(fd, Expected::StartRequest, buffer)
}

/// Tells that an agent was started, and passes its descriptors on; the caller still owns them
/// (ROOT-24).
///
/// # Returns
/// As `__pmdaSendRootPDUContainer`.
///
/// # Safety
/// `name` is NULL or readable for `namelen` bytes or up to a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pmdaSendRootPDUStart(
    fd: c_int,
    pid: c_int,
    infd: c_int,
    outfd: c_int,
    name: *const c_char,
    namelen: c_int,
    status: c_int,
) -> c_int {
    // SAFETY: the caller gives NULL or a name of that length, which is copied before this returns.
    let name = unsafe { CField::new(name, namelen) };
    returned(send(fd, [infd, outfd], || {
        root::start_reply(pid, name.length(), || name.bytes(), status)
    }))
}

/// Receives the answer to a request to start an agent into `buf`, with the descriptors that came
/// along, or -1, in its fields `infd` and `outfd` (ROOT-25, R-6, R-7). They are the caller's, and
/// closed on exec.
///
/// # Returns
/// As `__pmdaRecvRootPDUContainer`.
///
/// # Safety
/// `buf` is NULL or writable for `buflen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pmdaRecvRootPDUStart(fd: c_int, buf: *mut c_void, buflen: c_int) -> c_int {
    // SAFETY: the caller gives NULL or a buffer of that size, for the time of the call.
    let buffer = unsafe { CBuffer::new(buf, buflen) };
    receive(fd, Expected::Start, buffer)
}

/// Decodes a request to start an agent, or the answer (ROOT-26, R-4).
///
/// # Returns
/// 0; `-EINVAL` when the message is too short for what is wanted or a length in it is impossible,
/// `-E2BIG` when a buffer is too small: then nothing is stored.
///
/// # Safety
/// `buf` is NULL or readable for `blen` bytes; each other pointer is NULL or valid for one write,
/// those of texts for as many bytes as their sizes say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaDecodeRootPDUStart(
    buf: *mut c_void,
    blen: c_int,
    pid: Out<'_, c_int>,
    infd: Out<'_, c_int>,
    outfd: Out<'_, c_int>,
    ipctype: Out<'_, c_int>,
    name: *mut c_char,
    namesz: c_int,
    args: *mut c_char,
    argssz: c_int,
) -> c_int {
    // SAFETY: the caller gives NULL or a message of that length, and buffers of these sizes, for
    // the time of the call. Nothing of C runs meanwhile.
    let (message, name, args) = unsafe {
        let (name, args) = (CBuffer::new(name, namesz), CBuffer::new(args, argssz));
        (CBytes::new(buf, blen), name, args)
    };
    guard(|_| {
        let pdu = StartPdu::decode(message.bytes())?;
        let texts = [(name, pdu.name), (args, pdu.arguments)];
        let wanted = texts
            .into_iter()
            .filter(|(buffer, _)| !buffer.is_null() && buffer.size() != 0);
        // Everything is checked before anything is stored.
        for (buffer, text) in wanted.clone() {
            let length = text.ok_or(Error::EINVAL)?.len();
            if usize::try_from(buffer.size()).map_or(true, |size| size <= length) {
                return Err(Error::os(libc::E2BIG));
            }
        }
        for (buffer, text) in wanted {
            buffer.write_text(text.unwrap_or_default())?;
        }
        let values = [pdu.pid, pdu.infd, pdu.outfd, pdu.ipc];
        for (out, value) in [pid, infd, outfd, ipctype].into_iter().zip(values) {
            out.set(value);
        }
        Ok(())
    })
}

/// Sends a request or an answer about the end of an agent (ROOT-27).
///
/// # Returns
/// As `__pmdaSendRootPDUInfo`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __pmdaSendRootPDUStop(
    fd: c_int,
    r#type: c_int,
    pid: c_int,
    code: c_int,
    force: c_int,
    status: c_int,
) -> c_int {
    returned(send(fd, NONE, || root::stop(r#type, pid, code, force, status)))
}

/// Receives a message about the end of an agent into `buf` (ROOT-12).
///
/// # Returns
/// As `__pmdaRecvRootPDUContainer`.
///
/// # Safety
/// `buf` is NULL or writable for `buflen` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __pmdaRecvRootPDUStop(
    fd: c_int,
    r#type: c_int,
    buf: *mut c_void,
    buflen: c_int,
) -> c_int {
    // SAFETY: the caller gives NULL or a buffer of that size, for the time of the call.
    let buffer = unsafe { CBuffer::new(buf, buflen) };
    receive(fd, Expected::Stop(r#type), buffer)
}

/// A whole message about the end of an agent.
type StopBytes = [u8; root::STOP_SIZE];

/// Takes a message about the end of an agent apart (ROOT-27). `len` is ignored, as it always was:
/// the buffer holds a whole message, which has one size.
///
/// # Returns
/// 0, or `-EINVAL` without a message.
///
/// # Safety
/// `buf` is NULL or points to a whole message; each other pointer is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaDecodeRootPDUStop(
    buf: In<'_, StopBytes>,
    _len: c_int,
    pid: Out<'_, c_int>,
    code: Out<'_, c_int>,
    force: Out<'_, c_int>,
) -> c_int {
    guard(|_| -> Refusable<()> {
        let pdu = StopPdu::decode(&buf.get().needed(&"buf")?)?;
        for (out, value) in [pid, code, force].into_iter().zip([pdu.pid, pdu.code, pdu.force]) {
            out.set(value);
        }
        Ok(())
    })
}
