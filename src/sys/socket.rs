//! Sockets on which an agent waits for pmcd (CONN-3, CONN-4, CONN-5).

use std::ffi::{CStr, c_int};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;
use std::{fmt, io, ptr};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::sys::libpcp::log::{self, Debug, ErrorText};
use crate::sys::{self, blocking, libpcp};
use pmda_core::dir_entry::DirEntry;
use pmda_core::log::{Bytes, Journal, Level, Line, PathBytes};
use pmda_core::path::FilePath;

/// A step on the way to a connection that has failed, and the reason.
pub(crate) struct SocketFailure {
    step: &'static str,
    error: io::Error,
}

/// The text of an error, as libpcp gives it. libpcp has a text for "no error" as well: look-ups of
/// names fail with errno 0.
fn reason(error: &io::Error) -> ErrorText {
    log::errstr_of(-error.raw_os_error().unwrap_or(0))
}

/// The outcome of a step.
///
/// # Errors
/// A [`SocketFailure`] of this step.
fn checked<T>(step: &'static str, outcome: Result<T, Errno>) -> Result<T, SocketFailure> {
    outcome.map_err(|error| SocketFailure {
        step,
        error: error.into(),
    })
}

/// A socket, close-on-exec: programs that the agent starts do not get it. It is closed on drop.
pub(crate) struct Socket {
    descriptor: OwnedFd,
    /// True if libpcp knows of the descriptor. It has to forget it before the close, as another
    /// file may get the number then.
    is_in_libpcp: bool,
}

impl Socket {
    /// Opens a stream socket.
    ///
    /// # Errors
    /// The error number.
    pub(super) fn new(family: AddressFamily) -> Result<Socket, Errno> {
        Ok(Socket {
            descriptor: net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?,
            is_in_libpcp: false,
        })
    }

    /// Tells libpcp of the descriptor.
    pub(super) fn note_in_libpcp(&mut self) {
        libpcp::set_ipc_socket(self.as_raw_fd());
        self.is_in_libpcp = true;
    }

    /// Hands the descriptor over: the caller closes it.
    pub(crate) fn into_raw_fd(self) -> RawFd {
        let fd = self.as_raw_fd();
        std::mem::forget(self);
        fd
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.is_in_libpcp {
            libpcp::forget_ipc(self.as_raw_fd());
        }
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Waits for one connection to a listening socket, and returns its descriptor. It is called between
/// steps, and owns nothing while it waits.
///
/// # Errors
/// The error number, also that of an interruption.
pub(crate) fn accept(listener: RawFd) -> Result<RawFd, c_int> {
    blocking::ready(listener, libc::POLLIN);
    // SAFETY: with NULL for both, the kernel stores no address.
    let fd = unsafe { blocking::accept4(listener, ptr::null_mut(), ptr::null_mut(), libc::SOCK_CLOEXEC) };
    if fd >= 0 {
        return Ok(fd);
    }
    match last() {
        // A sandbox that knows `accept` alone. Nothing waits here: the socket is still ready, or
        // `EINVAL` was meant for it, and is given again.
        libc::EACCES | libc::EINVAL | libc::ENOSYS | libc::EPERM => accept_and_close_on_exec(listener),
        error => Err(error),
    }
}

/// [`accept`] by two calls: a program that another thread starts in between has the descriptor.
///
/// # Errors
/// The error number.
fn accept_and_close_on_exec(listener: RawFd) -> Result<RawFd, c_int> {
    // SAFETY: with NULL for both, the kernel stores no address. `F_SETFD` takes a number.
    unsafe {
        let fd = blocking::accept(listener, ptr::null_mut(), ptr::null_mut());
        if fd < 0 {
            return Err(last());
        }
        libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        Ok(fd)
    }
}

/// The error number of the last system call.
fn last() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The port of a service, in the byte order of the network: the C library uses this number as if it
/// were in host order (CONN-3, MAIN-50).
///
/// # Errors
/// The error number, which may be 0, if no such service exists.
pub(crate) fn service_port(name: &CStr) -> Result<c_int, c_int> {
    // SAFETY: errno is this thread's own, and the name is a C string. The entry, if any, stays
    // valid until the next call of the function, and is read at once.
    let port = unsafe {
        *libc::__errno_location() = 0;
        libc::getservbyname(name.as_ptr(), ptr::null())
            .as_ref()
            .map(|entry| entry.s_port)
    };
    port.ok_or_else(last)
}

/// Opens a socket that listens on a port of the loopback address.
///
/// # Errors
/// The step that has failed.
pub(crate) fn listen_inet(journal: &mut Journal, port: u16, is_ipv6: bool) -> Result<Socket, SocketFailure> {
    let (creation, family, loopback) = if is_ipv6 {
        ("ipv6 socket", AddressFamily::INET6, IpAddr::V6(Ipv6Addr::LOCALHOST))
    } else {
        ("inet socket", AddressFamily::INET, IpAddr::V4(Ipv4Addr::LOCALHOST))
    };
    let mut socket = checked(creation, Socket::new(family))?;
    if is_ipv6 {
        checked(creation, sockopt::set_ipv6_v6only(&socket, true)).inspect_err(|_| {
            journal.notify(Level::Err, "auxconnect.c:__pmCreateIPv6Socket: IPV6 is not supported");
        })?;
    }
    socket.note_in_libpcp();
    // The connection inherits these options. With SO_LINGER and no time, its close discards unsent
    // data (CONN-3).
    let mut warn_unless = |outcome: Result<(), Errno>, option: &str| {
        if let Err(error) = outcome {
            let (fd, family, why) = (socket.as_raw_fd(), family.as_raw(), reason(&error.into()));
            journal.notify(
                Level::Warning,
                format_args!("auxconnect.c:__pmInitSocket(fd={fd}, family={family}): __pmSetSockOpt {option}: {why}"),
            );
        }
    };
    warn_unless(sockopt::set_socket_linger(&socket, Some(Duration::ZERO)), "SO_LINGER");
    warn_unless(sockopt::set_tcp_nodelay(&socket, true), "TCP_NODELAY");
    checked(
        "__pmSetSockOpt(reuseaddr)",
        sockopt::set_socket_reuseaddr(&socket, true),
    )?;
    checked("bind", net::bind(&socket, &SocketAddr::new(loopback, port)))?;
    checked("listen", net::listen(&socket, 1))?;
    Ok(socket)
}

impl SocketFailure {
    /// No connection came, for the reason with this error number.
    pub(crate) fn of_accept(why: c_int) -> SocketFailure {
        SocketFailure {
            step: "accept",
            error: io::Error::from_raw_os_error(why),
        }
    }

    /// The agent has no path for a socket in the file system: the C library passes NULL to
    /// `unlink`.
    pub(crate) fn without_path() -> SocketFailure {
        SocketFailure {
            step: "unlink",
            error: io::Error::from_raw_os_error(libc::EFAULT),
        }
    }

    /// Passes the message about an inet socket to `say`.
    pub(crate) fn inet<R>(
        &self,
        service: Bytes<'_>,
        port: c_int,
        family: c_int,
        say: impl FnOnce(fmt::Arguments<'_>) -> R,
    ) -> R {
        let why = reason(&self.error);
        say(format_args!(
            "__pmdaOpenSocket({service},{port},{family}): {}: {why}",
            self.step
        ))
    }

    /// Passes the message about a Unix socket to `say`.
    pub(crate) fn unix<R>(&self, path: &dyn fmt::Display, say: impl FnOnce(fmt::Arguments<'_>) -> R) -> R {
        let why = reason(&self.error);
        say(format_args!("__pmdaOpenUnix({path}): {}() failed: {why}", self.step))
    }
}

/// Opens a socket that listens in the file system. Its path stays in the file system afterwards
/// (CONN-4).
///
/// # Errors
/// The step that has failed.
pub(crate) fn listen_unix(journal: &mut Journal, path: &CStr) -> Result<Socket, SocketFailure> {
    let address = checked("bind", unix_address(path.to_bytes()))?;
    let socket = checked("socket", Socket::new(AddressFamily::UNIX))?;
    checked("unlink", check_way(path))?;
    match rustix::fs::unlink(path) {
        Ok(()) => {
            let path = PathBytes(path.to_bytes());
            journal.notify(
                Level::Warning,
                format_args!("__pmdaOpenUnix({path}): socket exists, unlinked it"),
            );
        }
        Err(Errno::NOENT) => {}
        Err(error) => return checked("unlink", Err(error)),
    }
    // The name gets the mode of the descriptor, so other users cannot connect until the socket has
    // its owner. If fchmod fails, the mode is what the umask leaves, as with the C library.
    let is_closed = sys::fchmod(socket.as_raw_fd(), 0o600) == 0;
    checked("bind", net::bind(&socket, &address))?;
    set_owner(journal, path, is_closed);
    checked("listen", net::listen(&socket, 5))?;
    Ok(socket)
}

/// Checks the directories in front of a socket.
///
/// # Errors
/// `EACCES` if the path leads over a link of another user, which root does not follow (DEF-18);
/// `ENOMEM`.
fn check_way(path: &CStr) -> Result<(), Errno> {
    let path = FilePath::new(&[path.to_bytes()], format_args!("")).map_err(|_| Errno::NOMEM)?;
    match DirEntry::of(&path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Errno::ACCESS),
        _ => Ok(()),
    }
}

/// The address of a socket in the file system.
///
/// # Errors
/// `ENAMETOOLONG`: a path is not cut, since it would name another file then (CONN-4, ROOT-31).
pub(super) fn unix_address(path: &[u8]) -> Result<SocketAddrUnix, Errno> {
    /// Bytes of the longest path, without its NUL.
    const LONGEST: usize = 107;
    if path.len() > LONGEST {
        return Err(Errno::NAMETOOLONG);
    }
    SocketAddrUnix::new(path)
}

/// Gives the socket to the user that PCP runs as, and then lets its group in; failures are not
/// fatal (CONN-5). `is_closed`: the name was made with a mode for its owner alone.
///
/// Other processes that may write to the directory may replace the socket at any time. So its name
/// is looked up once, and the file is changed only if it can be our socket.
fn set_owner(journal: &mut Journal, path: &CStr, is_closed: bool) {
    let owner = owner(journal);
    let name = open_name(path, is_closed);
    let failed = |error: Errno| reason(&error.into());
    let change = |work: &dyn Fn(&OwnedFd) -> Result<(), Errno>| match &name {
        Ok(name) => work(name).err().map(failed),
        Err(error) => Some(failed(*error)),
    };
    let owned = owner.map(|(user, group)| change(&|name| give(name, user, group)));
    let opened = change(&let_group_in);
    // The messages are in the order of the C library, which changes the mode first.
    let path = PathBytes(path.to_bytes());
    if !log::debug(Debug::Libpmda) {
        return;
    }
    if let Some(why) = opened {
        journal.notify(
            Level::Warning,
            format_args!("__pmdaOpenUnix: chmod({path},...) failed: {why}"),
        );
    }
    match owned {
        None => journal.notify(
            Level::Warning,
            format_args!("__pmdaOpenUnix: chown({path}, ...) skipped"),
        ),
        Some(Some(why)) => {
            journal.notify(
                Level::Warning,
                format_args!("__pmdaOpenUnix: chown({path}, ...) failed: {why}"),
            );
        }
        Some(None) => {}
    }
}

/// An `O_PATH` descriptor of the name of the new socket.
///
/// # Errors
/// `ENOTSOCK` if the name leads to anything else by now; the error of the look-up.
fn open_name(path: &CStr, is_closed: bool) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = rustix::fs::open(path, flags, Mode::empty())?;
    let status = rustix::fs::fstat(&name)?;
    // A socket of another user has another owner. A socket of this user that is elsewhere in the
    // system cannot be moved here by those who may write to this directory alone.
    let is_ours = FileType::from_raw_mode(status.st_mode) == FileType::Socket
        && status.st_uid == sys::geteuid()
        && status.st_nlink == 1
        && !(is_closed && status.st_mode & 0o177 != 0);
    if is_ours { Ok(name) } else { Err(Errno::NOTSOCK) }
}

/// Gives the file of an `O_PATH` descriptor to a user and a group.
///
/// # Errors
/// The error number.
fn give(file: &OwnedFd, user: libc::uid_t, group: libc::gid_t) -> Result<(), Errno> {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    rustix::fs::chownat(file, c"", Some(user), Some(group), AtFlags::EMPTY_PATH)
}

/// Lets owner and group, and nobody else, use the file of an `O_PATH` descriptor. `fchmod` refuses
/// such a descriptor, so the mode is changed by the path below /proc, which leads to the file
/// itself.
///
/// # Errors
/// The error number.
fn let_group_in(file: &OwnedFd) -> Result<(), Errno> {
    let mut path = Line::new(format_args!("/proc/self/fd/{}", file.as_raw_fd()));
    rustix::fs::chmod(path.c_str(), Mode::from_raw_mode(0o660))
}

/// The user that PCP runs as (`PCP_USER`), and its group. If the user does not exist, a warning is
/// logged.
fn owner(journal: &mut Journal) -> Option<(libc::uid_t, libc::gid_t)> {
    let name = libpcp::optional_config(c"PCP_USER").and_then(|mut name| {
        name.try_reserve_exact(1).ok()?;
        name.push(0);
        Some(name)
    });
    let user = name
        .as_deref()
        .and_then(|name| CStr::from_bytes_with_nul(name).ok())
        .unwrap_or(c"pcp");
    // SAFETY: errno is this thread's own, and the name is a C string. The entry, if any, stays
    // valid until the next call of the function, and is read at once.
    let owner = unsafe {
        *libc::__errno_location() = 0;
        libc::getpwnam(user.as_ptr())
            .as_ref()
            .map(|entry| (entry.pw_uid, entry.pw_gid))
    };
    if owner.is_none() {
        let (name, why) = (Bytes(user.to_bytes()), reason(&io::Error::last_os_error()));
        journal.notify(
            Level::Warning,
            format_args!("__pmdaOpenUnix: getpwnam({name}) failed: {why}"),
        );
    }
    owner
}
