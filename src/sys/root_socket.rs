//! The socket to pmdaroot: one message for each call, and descriptors that travel beside messages.
//!
//! The functions that may wait ([`connect`], [`send`], [`receive`]) are called between steps, and
//! own nothing. So a thread that is cancelled in one of them leaks nothing.

use std::ffi::c_int;
use std::os::fd::RawFd;
use std::time::Duration;
use std::{io, mem, ptr};

use rustix::net::addr::SocketAddrArg;
use rustix::net::{AddressFamily, SocketAddrUnix, sockopt};

use crate::sys::lock::uncancelled;
use crate::sys::socket::{self, Socket};
use crate::sys::{self, blocking, libpcp};
use pmda_core::error::{Error, Result};

/// The result of a failed send: -1, which is `-EPERM` by accident. The cause is in errno (ROOT-10,
///
const FAILED: Error = Error::EPERM;

/// No descriptors.
pub(crate) const NONE: [RawFd; 2] = [-1; 2];

/// A buffer for control messages, aligned for their headers.
#[repr(C, align(8))]
struct Control<const BYTES: usize>([u8; BYTES]);

/// The result of a receive: the number of bytes, and the two descriptors of the message, or -1.
pub(crate) type Received = (Result<usize>, [RawFd; 2]);

/// Connects a socket.
///
/// # Errors
/// The negated errno.
pub(crate) fn connect(fd: RawFd, address: &Address) -> Result<usize> {
    // SAFETY: `with_sockaddr` passes the start of an address that is readable during the call, and
    // its size in bytes. connect reads as much and keeps no pointer to it. Any descriptor is
    // allowed: a wrong one is an error.
    done(unsafe {
        address
            .0
            .with_sockaddr(|start, size| blocking::connect(fd, start.cast(), size as libc::socklen_t))
    } as isize)
}

/// Sends a message in one piece, with two descriptors unless one of them is negative (ROOT-10,
/// ROOT-24). A peer that has closed the socket is an error, not a signal.
///
/// # Errors
/// `-EPERM`, that is -1, whatever the cause.
///
/// # Safety
/// `message` is readable for `len` bytes.
pub(crate) unsafe fn send(fd: RawFd, message: *const u8, len: usize, descriptors: [RawFd; 2]) -> Result<usize> {
    let sent = if descriptors.iter().any(|descriptor| *descriptor < 0) {
        // SAFETY: as the caller promises.
        unsafe { blocking::send(fd, message.cast(), len, libc::MSG_NOSIGNAL) }
    } else {
        // SAFETY: as the caller promises.
        unsafe { send_with(fd, message, len, descriptors) }
    };
    usize::try_from(sent).map_err(|_| FAILED)
}

/// Receives the bytes that have arrived, `size` at most (ROOT-11). With descriptors, it receives a
/// message and the two descriptors that come with the message. If there are fewer or more, or the
/// kernel has cut some off, all are closed (ROOT-25, R-7). An interruption does not end the wait:
/// otherwise the next request would read this answer.
///
/// # Safety
/// `buffer` is writable for `size` bytes.
pub(crate) unsafe fn receive(fd: RawFd, buffer: *mut u8, size: usize, with_descriptors: bool) -> Received {
    loop {
        let received = if with_descriptors {
            // SAFETY: as the caller promises.
            unsafe { receive_with(fd, buffer, size) }
        } else {
            // SAFETY: as the caller promises.
            (done(unsafe { blocking::recv(fd, buffer.cast(), size, 0) }), NONE)
        };
        if received.0 != Err(Error::os(libc::EINTR)) {
            return received;
        }
    }
}

/// The result of a system call.
///
/// # Errors
/// The negated errno.
fn done(returned: isize) -> Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error().into())
}

/// Prepares the process for sending: SIGPIPE is ignored.
pub(crate) fn prepare() {
    libpcp::__pmIgnoreSignalPIPE();
}

/// Sends a message with two descriptors. Returns what `sendmsg` returns.
///
/// # Safety
/// `message` is readable for `len` bytes.
unsafe fn send_with(fd: RawFd, message: *const u8, len: usize, descriptors: [RawFd; 2]) -> isize {
    let bytes = size_of_val(&descriptors);
    let mut control = Control([0; 64]);
    let mut part = part(message.cast_mut(), len);
    let mut header = blank();
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    // SAFETY: CMSG_SPACE and CMSG_LEN are arithmetic. The control buffer is larger than CMSG_SPACE,
    // as is asserted below, and aligned for a header: so CMSG_FIRSTHDR returns its start, and the
    // data behind that header has room for both descriptors. All bytes that are written lie in
    // `control`, which is zero otherwise. sendmsg reads what the header names, and keeps no pointer
    // to it: `part` and `control`, which live until this function returns, and the caller's message,
    // which is readable for `len` bytes.
    unsafe {
        header.msg_controllen = libc::CMSG_SPACE(bytes as u32) as _;
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        (*first).cmsg_level = libc::SOL_SOCKET;
        (*first).cmsg_type = libc::SCM_RIGHTS;
        (*first).cmsg_len = libc::CMSG_LEN(bytes as u32) as _;
        ptr::copy_nonoverlapping(descriptors.as_ptr().cast::<u8>(), libc::CMSG_DATA(first), bytes);
        blocking::sendmsg(fd, &raw const header, libc::MSG_NOSIGNAL)
    }
}

// The buffers are large enough: 8 bytes are two descriptors, and a message carries 253 at most on
// Linux (SCM_MAX_FD).
// SAFETY: CMSG_SPACE is arithmetic.
const _: () = assert!(unsafe { libc::CMSG_SPACE(8) <= 64 && libc::CMSG_SPACE(4 * 253) <= 1100 });

/// A message header that names nothing.
fn blank() -> libc::msghdr {
    // SAFETY: all fields are numbers and pointers, for which zero is a value.
    unsafe { mem::zeroed() }
}

/// One area of memory, for a message header.
fn part(start: *mut u8, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: start.cast(),
        iov_len: len,
    }
}

/// Receives a message and its descriptors.
///
/// # Safety
/// `buffer` is writable for `size` bytes.
unsafe fn receive_with(fd: RawFd, buffer: *mut u8, size: usize) -> Received {
    let mut control = Control([0; 1100]);
    let mut part = part(buffer, size);
    let mut header = blank();
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the header names the caller's buffer, which is writable for `size` bytes, and `control`
    // with its size; `part` and `control` live until this function returns, and recvmsg keeps no
    // pointer to them.
    let received = done(unsafe { blocking::recvmsg(fd, &raw mut header, libc::MSG_CMSG_CLOEXEC) });
    if received.is_err() {
        return (received, NONE);
    }
    // SAFETY: recvmsg has succeeded on this header, and nothing has changed it since. The control
    // buffer is alive, and the descriptors are taken once, here.
    (received, unsafe { descriptors(&header) })
}

/// The two descriptors of a message. If there are fewer or more, or the kernel has cut some off,
/// all are closed.
///
/// # Safety
/// The header is as a `recvmsg` that succeeded has left it. Its control buffer is alive, aligned for
/// headers and initialised, and has what the kernel has written. Nobody has taken the descriptors
/// yet.
unsafe fn descriptors(header: &libc::msghdr) -> [RawFd; 2] {
    // SAFETY: CMSG_LEN is arithmetic.
    let head = unsafe { libc::CMSG_LEN(0) } as usize;
    let (mut received, mut count) = (NONE, 0);
    // SAFETY: recvmsg has stored in the header how many bytes of the control buffer it has written.
    // CMSG_FIRSTHDR returns NULL, or the start of the buffer if as many bytes hold a header.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !next.is_null() {
        // SAFETY: not NULL, so a whole header within what the kernel has written, and aligned.
        let part = unsafe { next.read() };
        if part.cmsg_level == libc::SOL_SOCKET && part.cmsg_type == libc::SCM_RIGHTS {
            let bytes = (part.cmsg_len as usize).saturating_sub(head);
            // SAFETY: the data of a part follow its header.
            let first = unsafe { libc::CMSG_DATA(next) }.cast::<RawFd>();
            for index in 0..bytes / size_of::<RawFd>() {
                // SAFETY: the kernel writes a part of this kind whole, with as many descriptors as
                // its length says, also when it cuts others off (MSG_CTRUNC); `index` is less than
                // that.
                let descriptor = unsafe { first.add(index).read_unaligned() };
                match received.get_mut(count) {
                    Some(free) => *free = descriptor,
                    None => close(descriptor),
                }
                count += 1;
            }
        }
        // SAFETY: the header is as recvmsg left it, and `next` is a part of it. CMSG_NXTHDR returns
        // NULL, or the next place where a whole header fits into what the kernel has written.
        next = unsafe { libc::CMSG_NXTHDR(header, next) };
    }
    if count == 2 && header.msg_flags & libc::MSG_CTRUNC == 0 {
        return received;
    }
    received.into_iter().for_each(close);
    NONE
}

/// Closes a descriptor that came with a message, and that nobody else knows. A negative one is
/// ignored.
pub(crate) fn close(descriptor: RawFd) {
    if descriptor >= 0 {
        uncancelled(|| sys::close(descriptor));
    }
}

/// Ends the conversation; the descriptor stays open (ROOT-34).
pub(crate) fn shut_down(fd: c_int) {
    if fd >= 0 {
        sys::shutdown(fd, libc::SHUT_RDWR);
    }
}

/// The address of a socket in the file system.
pub(crate) struct Address(SocketAddrUnix);

impl Address {
    /// The address of a path.
    ///
    /// # Errors
    /// `-ENAMETOOLONG` (ROOT-31).
    pub(crate) fn new(path: &[u8]) -> Result<Address> {
        let address = socket::unix_address(path).map_err(io::Error::from)?;
        Ok(Address(address))
    }
}

/// Opens a close-on-exec socket that libpcp knows. It is not connected yet (ROOT-33).
///
/// # Errors
/// The negated errno.
pub(crate) fn open() -> Result<Socket> {
    let mut socket = Socket::new(AddressFamily::UNIX).map_err(io::Error::from)?;
    socket.note_in_libpcp();
    // The connection works without this option, too.
    let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
    Ok(socket)
}
