//! The socket to pmdaroot: one message a call, and descriptors that travel beside messages.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::{io, mem, ptr};

use super::mark::outside;
use crate::error::{Error, Result};
use crate::libpcp::version::SINCE_6_0_5;
use crate::libpcp::{config, log};
use crate::log::Level;
use crate::log::Part::Show;

/// What a failed send gives: plain -1, and errno says why (ROOT-10, R-9).
const FAILED: Error = Error::os(1);

/// The most descriptors that a message can carry on Linux (`SCM_MAX_FD`).
const MOST: usize = 253;

/// Room for a control message, aligned for its header.
#[repr(C, align(8))]
struct Control<const BYTES: usize>([u8; BYTES]);

/// Sends one message in one piece; a peer that has gone is an error, not a signal (ROOT-10, R-14).
///
/// # Errors
/// -1, and errno says why.
pub(crate) fn send(fd: c_int, message: &[u8]) -> Result<c_int> {
    config::ignore_sigpipe();
    // SAFETY: the message is readable for its length.
    let sent = unsafe { libc::send(fd, message.as_ptr().cast(), message.len(), libc::MSG_NOSIGNAL) };
    c_int::try_from(sent).ok().filter(|sent| *sent >= 0).ok_or(FAILED)
}

/// Sends one message with two descriptors beside it, with none if one of them is negative (ROOT-24).
///
/// # Errors
/// -1, and errno says why.
pub(crate) fn send_with(fd: c_int, message: &[u8], descriptors: [c_int; 2]) -> Result<c_int> {
    if descriptors.iter().any(|descriptor| *descriptor < 0) {
        return send(fd, message);
    }
    config::ignore_sigpipe();
    let bytes = size_of_val(&descriptors);
    let mut control = Control([0; 64]);
    let mut part = libc::iovec {
        iov_base: message.as_ptr().cast_mut().cast(),
        iov_len: message.len(),
    };
    let mut header = blank();
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    // SAFETY: pure arithmetic.
    header.msg_controllen = unsafe { libc::CMSG_SPACE(bytes as u32) } as _;
    // SAFETY: the control buffer has more room than CMSG_SPACE asks for (the assertion below), so there is a first
    // header in it, and its data has room for both descriptors; sendmsg only reads what the header names.
    let sent = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        (*first).cmsg_level = libc::SOL_SOCKET;
        (*first).cmsg_type = libc::SCM_RIGHTS;
        (*first).cmsg_len = libc::CMSG_LEN(bytes as u32) as _;
        ptr::copy_nonoverlapping(descriptors.as_ptr().cast::<u8>(), libc::CMSG_DATA(first), bytes);
        libc::sendmsg(fd, &raw const header, libc::MSG_NOSIGNAL)
    };
    c_int::try_from(sent).ok().filter(|sent| *sent >= 0).ok_or(FAILED)
}

// SAFETY: pure arithmetic.
const _: () = assert!(unsafe { libc::CMSG_SPACE(8) } <= 64 && unsafe { libc::CMSG_SPACE(4 * MOST as u32) } <= 1100);

/// A message header without anything.
fn blank() -> libc::msghdr {
    // SAFETY: all fields are numbers and pointers, for which zero is a value.
    unsafe { mem::zeroed() }
}

/// Receives what is there, up to `size` bytes, and gives the part of the buffer that was filled (ROOT-11, R-15).
///
/// # Errors
/// `-EINVAL` without a buffer, else the negated errno.
///
/// # Safety
/// `buffer` is NULL or writable for `size` bytes, and stays untouched by others for `'a`.
pub(crate) unsafe fn receive<'a>(fd: c_int, buffer: *mut c_void, size: c_int) -> Result<&'a mut [u8]> {
    let size = room(buffer, size)?;
    // SAFETY: the buffer is writable for `size` bytes by the contract above.
    let received = retry(|| unsafe { libc::recv(fd, buffer, size, 0) })?;
    // SAFETY: the kernel has filled so many bytes, which are not more than `size`.
    Ok(unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), received) })
}

/// Receives a message and the two descriptors beside it. All others are closed: too few, too many, or cut off by
/// the kernel (ROOT-25, R-7).
///
/// # Errors
/// As [`receive`].
///
/// # Safety
/// As [`receive`].
pub(crate) unsafe fn receive_with<'a>(
    fd: c_int,
    buffer: *mut c_void,
    size: c_int,
) -> Result<(&'a mut [u8], Option<[OwnedFd; 2]>)> {
    let size = room(buffer, size)?;
    let mut control = Control([0; 1100]);
    let mut part = libc::iovec {
        iov_base: buffer,
        iov_len: size,
    };
    let mut header = blank();
    let received = retry(|| {
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = (&raw mut control).cast();
        header.msg_controllen = size_of_val(&control) as _;
        // SAFETY: the header names the caller's buffer, writable for `size` bytes, and our control buffer.
        unsafe { libc::recvmsg(fd, &raw mut header, libc::MSG_CMSG_CLOEXEC) }
    })
    .inspect_err(|error| {
        let errno = -error.code();
        let level = if SINCE_6_0_5 { Level::Warning } else { Level::Debug };
        let reason = log::os_text(errno);
        log::notify_parts(level, &[Show(&format_args!("recvmsg: {errno} {reason}"))]);
    })?;
    // SAFETY: recvmsg has filled the header in, and `control` is alive.
    let descriptors = unsafe { descriptors(&header) };
    let whole = header.msg_flags & libc::MSG_CTRUNC == 0;
    let pair = descriptors.filter(|_| whole);
    // SAFETY: the kernel has filled so many bytes, which are not more than `size`.
    let message = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), received) };
    Ok((message, pair))
}

/// The two descriptors that came with a message; others, and two of more, are closed.
///
/// # Safety
/// `recvmsg` has filled the header in, its control buffer is alive, and nobody has taken the descriptors yet.
unsafe fn descriptors(header: &libc::msghdr) -> Option<[OwnedFd; 2]> {
    let (mut found, mut count) = ([None, None], 0);
    // SAFETY: the header is as recvmsg left it, so the macros walk within what the kernel has written.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !next.is_null() {
        // SAFETY: CMSG_FIRSTHDR and CMSG_NXTHDR give headers within the control buffer.
        let (level, kind, length) = unsafe { ((*next).cmsg_level, (*next).cmsg_type, (*next).cmsg_len as usize) };
        if level == libc::SOL_SOCKET && kind == libc::SCM_RIGHTS {
            // SAFETY: pure arithmetic.
            let bytes = length.saturating_sub(unsafe { libc::CMSG_LEN(0) } as usize);
            for place in 0..bytes / size_of::<RawFd>() {
                let mut descriptor: RawFd = -1;
                // SAFETY: the data of this header holds so many descriptors; each is new and owned by nobody yet.
                let descriptor = unsafe {
                    let from = libc::CMSG_DATA(next).add(place * size_of::<RawFd>());
                    ptr::copy_nonoverlapping(from, (&raw mut descriptor).cast::<u8>(), size_of::<RawFd>());
                    OwnedFd::from_raw_fd(descriptor)
                };
                if let Some(free) = found.get_mut(count) {
                    *free = Some(descriptor);
                }
                count += 1;
            }
        }
        // SAFETY: as above.
        next = unsafe { libc::CMSG_NXTHDR(header, next) };
    }
    match found {
        [Some(from), Some(to)] if count == 2 => Some([from, to]),
        _ => None,
    }
}

/// The size of a buffer that there is.
fn room(buffer: *mut c_void, size: c_int) -> Result<usize> {
    match usize::try_from(size) {
        Ok(size) if size > 0 && !buffer.is_null() => Ok(size),
        _ => Err(Error::INVAL),
    }
}

/// Repeats a system call that a signal has interrupted: the answer would be read by the next request.
fn retry(mut call: impl FnMut() -> isize) -> Result<usize> {
    loop {
        if let Ok(done) = usize::try_from(outside(&mut call)) {
            return Ok(done);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error.into());
        }
    }
}

/// Why there is no connection.
pub(crate) enum Refused {
    /// No socket could be made.
    Socket(Error),
    /// Nobody answers at the path.
    Connect(Error),
}

/// Connects to a socket in the file system. Paths are cut at the size of an address (ROOT-31); children do not
/// inherit the descriptor (ROOT-33).
pub(crate) fn connect(path: &[u8]) -> std::result::Result<OwnedFd, Refused> {
    let last = || Error::from(io::Error::last_os_error());
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(Refused::Socket(last()));
    }
    // SAFETY: the descriptor is new and owned by nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: all fields are numbers, for which zero is a value.
    let mut address: libc::sockaddr_un = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let room = address.sun_path.len() - 1;
    for (place, byte) in address.sun_path.iter_mut().zip(path.iter().take(room)) {
        *place = *byte as libc::c_char;
    }
    // SAFETY: both structures are alive, and their sizes are passed along. Without lingering the connection works as
    // well, so a failure to set it is of no interest.
    let connected = unsafe {
        let size = size_of_val(&linger) as libc::socklen_t;
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_LINGER, (&raw const linger).cast(), size);
        libc::connect(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    if connected < 0 {
        return Err(Refused::Connect(last()));
    }
    Ok(socket)
}
