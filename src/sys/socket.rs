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
use crate::sys::libpcp::{config, ipc};
use crate::sys::{blocking, safe_externs};
use pmda_core::dir_entry::DirEntry;
use pmda_core::log::{Bytes, Level, Line};
use pmda_core::path::FilePath;

pub(crate) struct SocketFailure {
    step: &'static str,
    error: io::Error,
}

/// The reason in libpcp's words, which has some for "no error", with which look-ups of names can
/// end.
fn reason(error: &io::Error) -> ErrorText {
    log::errstr_of(-error.raw_os_error().unwrap_or(0))
}

fn checked<T>(step: &'static str, outcome: Result<T, Errno>) -> Result<T, SocketFailure> {
    outcome.map_err(|error| SocketFailure {
        step,
        error: error.into(),
    })
}

/// Close-on-exec.
pub(crate) struct Socket {
    descriptor: OwnedFd,
    /// True if libpcp knows of it, and has to forget it with this.
    is_known: bool,
}

impl Socket {
    pub(super) fn new(family: AddressFamily) -> Result<Socket, Errno> {
        Ok(Socket {
            descriptor: net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?,
            is_known: false,
        })
    }

    /// Tells libpcp of it.
    pub(super) fn make_known(&mut self) {
        ipc::set_socket(self.as_raw_fd());
        self.is_known = true;
    }

    /// The descriptor, which becomes the caller's.
    pub(crate) fn into_raw_fd(self) -> RawFd {
        let fd = self.as_raw_fd();
        std::mem::forget(self);
        fd
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.is_known {
            ipc::forget(self.as_raw_fd());
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

/// Waits for one connection to a listening socket, and gives its descriptor. For calls between
/// steps: what waits owns nothing.
///
/// # Errors
/// The error number: that of an interruption, too.
pub(crate) fn accept(listener: RawFd) -> Result<RawFd, c_int> {
    blocking::ready(listener, libc::POLLIN);
    // SAFETY: nobody asks for the address.
    let fd = unsafe { blocking::accept4(listener, ptr::null_mut(), ptr::null_mut(), libc::SOCK_CLOEXEC) };
    if fd < 0 { Err(last()) } else { Ok(fd) }
}

/// The error number of the last system call.
fn last() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The port of a service as the C library takes it: not in host order (CONN-3, MAIN-50). Or else
/// the error number.
pub(crate) fn service_port(name: &CStr) -> Result<c_int, c_int> {
    // SAFETY: errno is this thread's own, and the name is a C string; the entry, if any, stays
    // valid until the next call, and is read at once.
    let port = unsafe {
        *libc::__errno_location() = 0;
        libc::getservbyname(name.as_ptr(), ptr::null())
            .as_ref()
            .map(|entry| entry.s_port)
    };
    port.ok_or_else(last)
}

/// A listening socket on a port of the loopback address.
pub(crate) fn listen_inet(port: u16, is_ipv6: bool) -> Result<Socket, SocketFailure> {
    let (creation, family, loopback) = if is_ipv6 {
        ("ipv6 socket", AddressFamily::INET6, IpAddr::V6(Ipv6Addr::LOCALHOST))
    } else {
        ("inet socket", AddressFamily::INET, IpAddr::V4(Ipv4Addr::LOCALHOST))
    };
    let mut socket = checked(creation, Socket::new(family))?;
    if is_ipv6 {
        checked(creation, sockopt::set_ipv6_v6only(&socket, true)).inspect_err(|_| {
            log::notify!(Level::Err, "auxconnect.c:__pmCreateIPv6Socket: IPV6 is not supported");
        })?;
    }
    socket.make_known();
    // Inherited by the connection, which is closed abortively (CONN-3).
    let warn_unless = |outcome: Result<(), Errno>, option: &str| {
        if let Err(error) = outcome {
            let (fd, family, why) = (socket.as_raw_fd(), family.as_raw(), reason(&error.into()));
            log::notify!(
                Level::Warning,
                "auxconnect.c:__pmInitSocket(fd={fd}, family={family}): __pmSetSockOpt {option}: {why}"
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
    pub(crate) fn of_accept(why: c_int) -> SocketFailure {
        SocketFailure {
            step: "accept",
            error: io::Error::from_raw_os_error(why),
        }
    }

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

    pub(crate) fn unix<R>(&self, path: Bytes<'_>, say: impl FnOnce(fmt::Arguments<'_>) -> R) -> R {
        let why = reason(&self.error);
        say(format_args!("__pmdaOpenUnix({path}): {}() failed: {why}", self.step))
    }
}

/// A listening socket in the file system. The path stays (CONN-4).
pub(crate) fn listen_unix(path: &CStr) -> Result<Socket, SocketFailure> {
    let address = checked("bind", unix_address(path.to_bytes()))?;
    let socket = checked("socket", Socket::new(AddressFamily::UNIX))?;
    checked("unlink", check_way(path))?;
    match rustix::fs::unlink(path) {
        Ok(()) => {
            log::notify!(
                Level::Warning,
                "__pmdaOpenUnix({}): socket exists, unlinked it",
                Bytes(path.to_bytes())
            );
        }
        Err(Errno::NOENT) => {}
        Err(error) => return checked("unlink", Err(error)),
    }
    // The name gets the mode of the descriptor: nobody else connects until it has its owner. If
    // this fails, the mode is what the umask leaves, as in the C library.
    let is_closed = safe_externs::fchmod(socket.as_raw_fd(), 0o600) == 0;
    checked("bind", net::bind(&socket, &address))?;
    set_owner(path, is_closed);
    checked("listen", net::listen(&socket, 5))?;
    Ok(socket)
}

/// Checks the way to a socket: `EACCES` for another user's link, which root does not follow
/// (DEF-18).
fn check_way(path: &CStr) -> Result<(), Errno> {
    let path = FilePath::new(&[path.to_bytes()], format_args!("")).map_err(|_| Errno::NOMEM)?;
    match DirEntry::of(&path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Errno::ACCESS),
        _ => Ok(()),
    }
}

/// The address of a socket in the file system; `ENAMETOOLONG` as the path is not cut (CONN-4,
/// ROOT-31).
pub(super) fn unix_address(path: &[u8]) -> Result<SocketAddrUnix, Errno> {
    /// Bytes of a path without its NUL.
    const LONGEST: usize = 107;
    if path.len() > LONGEST {
        return Err(Errno::NAMETOOLONG);
    }
    SocketAddrUnix::new(path)
}

/// Gives the socket to the user that PCP runs as, and then lets its group in; failures are not
/// fatal (CONN-5). `is_closed`: the name was made with a mode for its owner alone.
///
/// Others who may write to the directory may replace it: the name is looked up once, and changed
/// only if it can be our socket.
fn set_owner(path: &CStr, is_closed: bool) {
    let owner = owner();
    let name = open_name(path, is_closed);
    let failed = |error: Errno| reason(&error.into());
    let change = |work: &dyn Fn(&OwnedFd) -> Result<(), Errno>| match &name {
        Ok(name) => work(name).err().map(failed),
        Err(error) => Some(failed(*error)),
    };
    let owned = owner.map(|(user, group)| change(&|name| give(name, user, group)));
    let opened = change(&let_group_in);
    // Messages are in the C library's order.
    let path = Bytes(path.to_bytes());
    if !log::debug(Debug::Libpmda) {
        return;
    }
    if let Some(why) = opened {
        log::notify!(Level::Warning, "__pmdaOpenUnix: chmod({path},...) failed: {why}");
    }
    match owned {
        None => log::notify!(Level::Warning, "__pmdaOpenUnix: chown({path}, ...) skipped"),
        Some(Some(why)) => log::notify!(Level::Warning, "__pmdaOpenUnix: chown({path}, ...) failed: {why}"),
        Some(None) => {}
    }
}

/// A descriptor of the new socket's name; `ENOTSOCK` for anything else that is there.
fn open_name(path: &CStr, is_closed: bool) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = rustix::fs::open(path, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&name)?;
    // Another's socket has another owner, and others cannot move one of this user's here.
    let is_ours = FileType::from_raw_mode(found.st_mode) == FileType::Socket
        && found.st_uid == safe_externs::geteuid()
        && found.st_nlink == 1
        && !(is_closed && found.st_mode & 0o177 != 0);
    if is_ours { Ok(name) } else { Err(Errno::NOTSOCK) }
}

fn give(file: &OwnedFd, user: libc::uid_t, group: libc::gid_t) -> Result<(), Errno> {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    rustix::fs::chownat(file, c"", Some(user), Some(group), AtFlags::EMPTY_PATH)
}

/// Gives the file of an `O_PATH` descriptor a mode for owner and group, by its path below /proc.
fn let_group_in(file: &OwnedFd) -> Result<(), Errno> {
    let mut path = Line::new(format_args!("/proc/self/fd/{}", file.as_raw_fd()));
    rustix::fs::chmod(path.c_str(), Mode::from_raw_mode(0o660))
}

/// The user that PCP runs as, and its group; a warning without one.
fn owner() -> Option<(libc::uid_t, libc::gid_t)> {
    let name = config::optional(c"PCP_USER").and_then(|mut name| {
        name.try_reserve_exact(1).ok()?;
        name.push(0);
        Some(name)
    });
    let user = name
        .as_deref()
        .and_then(|name| CStr::from_bytes_with_nul(name).ok())
        .unwrap_or(c"pcp");
    // SAFETY: the name is a C string; the entry, if any, stays valid until the next call, and is
    // read at once.
    let owner = unsafe {
        *libc::__errno_location() = 0;
        libc::getpwnam(user.as_ptr())
            .as_ref()
            .map(|entry| (entry.pw_uid, entry.pw_gid))
    };
    if owner.is_none() {
        let (name, why) = (Bytes(user.to_bytes()), reason(&io::Error::last_os_error()));
        log::notify!(Level::Warning, "__pmdaOpenUnix: getpwnam({name}) failed: {why}");
    }
    owner
}
