//! Sockets on which an agent waits for pmcd (CONN-3, CONN-4, CONN-5).

use std::ffi::{CStr, c_char, c_int};
use std::net::Ipv6Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::{fmt, io, ptr};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use crate::sys::libpcp::config;
use crate::sys::libpcp::ipc;
use crate::sys::libpcp::log::{self, Debug, ErrorText};
use crate::sys::safe_externs;
use crate::sys::waits;
use pmda_core::log::{Bytes, Level, Line};

/// Which step failed, and why.
pub(crate) struct Failure {
    step: &'static str,
    error: io::Error,
}

/// The reason in libpcp's words: it has one for "no error" as well, which look-ups of names can end
/// with.
fn reason(error: &io::Error) -> ErrorText {
    log::errstr_of(-error.raw_os_error().unwrap_or(0))
}

/// The result of a system call that gives -1 on failure.
fn checked(step: &'static str, status: c_int) -> Result<c_int, Failure> {
    if status < 0 {
        let error = io::Error::last_os_error();
        return Err(Failure { step, error });
    }
    Ok(status)
}

/// A socket that the programs that an agent starts do not get.
pub(crate) struct Socket {
    descriptor: OwnedFd,
    /// Whether libpcp knows of it: it forgets it when this goes, before the number belongs to
    /// another descriptor.
    is_known: bool,
}

impl Socket {
    pub(super) fn new(family: c_int) -> io::Result<Socket> {
        let fd = safe_externs::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Socket {
            // SAFETY: the descriptor is new, and belongs to nobody else.
            descriptor: unsafe { OwnedFd::from_raw_fd(fd) },
            is_known: false,
        })
    }

    /// Tells libpcp of it.
    pub(super) fn make_known(&mut self) {
        ipc::set_socket(self.as_raw_fd());
        self.is_known = true;
    }

    /// The descriptor, which is the caller's from now on.
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

fn create(step: &'static str, family: c_int) -> Result<Socket, Failure> {
    Socket::new(family).map_err(|error| Failure { step, error })
}

/// Sets an option; -1 when that fails.
pub(super) fn set_option<T>(socket: &Socket, level: c_int, name: c_int, value: &T) -> c_int {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is valid for reads of its size.
    unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const *value).cast(), size) }
}

/// Waits for one connection to a listening socket, and gives its descriptor. For the driver: what
/// waits owns nothing.
///
/// # Errors
/// The error number: that of an interruption, too.
pub(crate) fn accept(listener: RawFd) -> Result<RawFd, c_int> {
    waits::ready(listener, libc::POLLIN);
    // SAFETY: nobody asks for the address.
    let fd = unsafe { waits::accept4(listener, ptr::null_mut(), ptr::null_mut(), libc::SOCK_CLOEXEC) };
    if fd < 0 { Err(last()) } else { Ok(fd) }
}

/// The error number of the last system call.
fn last() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

fn bind<T>(step: &'static str, socket: &Socket, address: &T, length: usize) -> Result<c_int, Failure> {
    // SAFETY: the address is valid for reads of `length` bytes, which is at most its size.
    let status = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const *address).cast(),
            length as libc::socklen_t,
        )
    };
    checked(step, status)
}

fn listen(step: &'static str, socket: &Socket, backlog: c_int) -> Result<c_int, Failure> {
    checked(step, safe_externs::listen(socket.as_raw_fd(), backlog))
}

/// The port of a service as the C library takes it: not in the order of the host (CONN-3, MAIN-50).
///
/// # Errors
/// The error number when there is no such service.
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

/// A socket that listens on a port of the loopback address.
pub(crate) fn listen_inet(port: u16, family: c_int) -> Result<Socket, Failure> {
    let creation = if family == libc::AF_INET6 {
        "ipv6 socket"
    } else {
        "inet socket"
    };
    let mut socket = create(creation, family)?;
    let on: c_int = 1;
    if family == libc::AF_INET6 {
        let alone = set_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &on);
        if let Err(failure) = checked(creation, alone) {
            log::notify!(Level::Err, "auxconnect.c:__pmCreateIPv6Socket: IPV6 is not supported");
            return Err(failure);
        }
    }
    socket.make_known();
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // The connection takes these over from the listening socket: it is closed abortively (CONN-3).
    let warn_unless = |status: c_int, option: &str| {
        if status < 0 {
            let (fd, why) = (socket.as_raw_fd(), reason(&io::Error::last_os_error()));
            log::notify!(
                Level::Warning,
                "auxconnect.c:__pmInitSocket(fd={fd}, family={family}): __pmSetSockOpt {option}: {why}"
            );
        }
    };
    warn_unless(
        set_option(&socket, libc::SOL_SOCKET, libc::SO_LINGER, &linger),
        "SO_LINGER",
    );
    warn_unless(
        set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, &on),
        "TCP_NODELAY",
    );
    checked(
        "__pmSetSockOpt(reuseaddr)",
        set_option(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &on),
    )?;
    if family == libc::AF_INET6 {
        let address = libc::sockaddr_in6 {
            sin6_family: libc::AF_INET6 as libc::sa_family_t,
            sin6_port: port.to_be(),
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr {
                s6_addr: Ipv6Addr::LOCALHOST.octets(),
            },
            sin6_scope_id: 0,
        };
        bind("bind", &socket, &address, size_of_val(&address))?;
    } else {
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: port.to_be(),
            sin_addr: libc::in_addr {
                s_addr: libc::INADDR_LOOPBACK.to_be(),
            },
            sin_zero: [0; 8],
        };
        bind("bind", &socket, &address, size_of_val(&address))?;
    }
    listen("listen", &socket, 1)?;
    Ok(socket)
}

impl Failure {
    /// No connection came, for the reason with this error number.
    pub(crate) fn of_accept(why: c_int) -> Failure {
        Failure {
            step: "accept",
            error: io::Error::from_raw_os_error(why),
        }
    }

    /// Says it of an inet socket.
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

    /// Says it of a Unix socket.
    pub(crate) fn unix<R>(&self, path: Bytes<'_>, say: impl FnOnce(fmt::Arguments<'_>) -> R) -> R {
        let why = reason(&self.error);
        say(format_args!("__pmdaOpenUnix({path}): {}() failed: {why}", self.step))
    }
}

/// A socket that listens in the file system. The path stays (CONN-4).
pub(crate) fn listen_unix(path: &CStr) -> Result<Socket, Failure> {
    let failed = |step: &'static str, error: Errno| Failure {
        step,
        error: error.into(),
    };
    let address = unix_address(path.to_bytes()).map_err(|error| failed("bind", error))?;
    let socket = create("socket", libc::AF_UNIX)?;
    match rustix::fs::unlink(path) {
        Ok(()) => {
            log::notify!(
                Level::Warning,
                "__pmdaOpenUnix({}): socket exists, unlinked it",
                Bytes(path.to_bytes())
            );
        }
        Err(Errno::NOENT) => {}
        Err(error) => return Err(failed("unlink", error)),
    }
    // The name gets the mode of the descriptor: until it has its owner, nobody else comes in.
    // If this fails, the mode is what the umask leaves, as in the C library.
    let is_closed = safe_externs::fchmod(socket.as_raw_fd(), 0o600) == 0;
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + path.count_bytes();
    bind("bind", &socket, &address, length)?;
    set_owner(path, is_closed);
    listen("listen", &socket, 5)?;
    Ok(socket)
}

/// The address of a socket in the file system.
///
/// # Errors
/// `ENAMETOOLONG`: the path is not cut, which would name another file (CONN-4, ROOT-31).
pub(super) fn unix_address(path: &[u8]) -> Result<libc::sockaddr_un, Errno> {
    let mut address = libc::sockaddr_un {
        sun_family: libc::AF_UNIX as libc::sa_family_t,
        sun_path: [0; 108],
    };
    // There is room for its NUL.
    if path.len() >= address.sun_path.len() {
        return Err(Errno::NAMETOOLONG);
    }
    for (place, byte) in address.sun_path.iter_mut().zip(path) {
        *place = *byte as c_char;
    }
    Ok(address)
}

/// Makes the user that PCP runs as the owner of the socket, and then lets its group in; nothing
/// here is fatal (CONN-5). `is_closed`: the name was made with a mode for its owner alone.
///
/// Another process that may write to the directory may replace it at any time. So the name
/// is looked up once, and what it leads to is changed only if it can be our socket.
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
    // In the order in which the C library does these things, and so says what failed.
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

/// A descriptor for the name of the socket that was just bound.
///
/// # Errors
/// `ENOTSOCK` for anything else that is there by now.
fn open_name(path: &CStr, is_closed: bool) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = rustix::fs::open(path, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&name)?;
    // Another's socket has another owner, and one of this user's elsewhere in the system cannot be
    // moved here by those who may only write here.
    let is_ours = FileType::from_raw_mode(found.st_mode) == FileType::Socket
        && found.st_uid == safe_externs::geteuid()
        && found.st_nlink == 1
        && !(is_closed && found.st_mode & 0o177 != 0);
    if is_ours { Ok(name) } else { Err(Errno::NOTSOCK) }
}

/// Gives the file of a descriptor to a user and a group.
fn give(file: &OwnedFd, user: libc::uid_t, group: libc::gid_t) -> Result<(), Errno> {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    rustix::fs::chownat(file, c"", Some(user), Some(group), AtFlags::EMPTY_PATH)
}

/// Lets owner and group, and nobody else, use the file of a descriptor that stands for a name only:
/// its mode is changed by its path below /proc, which leads to the file itself.
fn let_group_in(file: &OwnedFd) -> Result<(), Errno> {
    let mut path = Line::new(format_args!("/proc/self/fd/{}", file.as_raw_fd()));
    rustix::fs::chmod(path.c_str(), Mode::from_raw_mode(0o660))
}

/// The user that PCP runs as, and its group; a warning when there is none.
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
