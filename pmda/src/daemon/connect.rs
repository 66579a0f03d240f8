//! Connections with pmcd: a pipe, a port of the loopback address, or a unix socket.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::sys::stat::{Mode, fchmod};
use nix::unistd::{User, dup2_stdin, dup2_stdout, fchownat, geteuid};
use pmda_core::dir_entry::DirEntry;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::stream::{Output, Stream};
use super::user;
use crate::logger::reason;
use crate::options::Connection;

/// Connects with pmcd. Afterwards stdout leads to the log, so that `println!` does not write into
/// the stream.
///
/// # Errors
/// What could not be connected, and the reason, as it is logged.
pub(super) fn connect(connection: &Connection) -> Result<Stream, String> {
    match connection {
        Connection::Pipe => pipe().map_err(|error| format!("cannot use the pipe: {}", reason(&error))),
        Connection::Inet(port) => inet(Ipv4Addr::LOCALHOST.into(), port, "inet"),
        Connection::Ipv6(port) => inet(Ipv6Addr::LOCALHOST.into(), port, "ipv6"),
        Connection::Unix(path) => unix(path),
    }
}

/// Moves the pipe from descriptors 0 and 1 to new ones, which no child of the agent inherits
/// (close-on-exec).
fn pipe() -> io::Result<Stream> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?)?;
    leave_stdout()?;
    Ok(Stream {
        input: input.into(),
        output: Output::new(output),
    })
}

fn leave_stdout() -> io::Result<()> {
    Ok(dup2_stdout(io::stderr())?)
}

/// Accepts one connection over the loopback address (CONN-3).
fn inet(address: std::net::IpAddr, port: &str, family: &str) -> Result<Stream, String> {
    let number = port.parse().ok().or_else(|| service(port));
    let number = number.ok_or_else(|| format!("cannot find the service {port}"))?;
    let accept = || {
        let (connection, _) = TcpListener::bind(SocketAddr::new(address, number))?.accept()?;
        connection.set_nodelay(true)?;
        both(connection.into())
    };
    accept().map_err(|error: io::Error| format!("cannot listen on {family} port {port}: {}", reason(&error)))
}

/// The port of a service in /etc/services, in network byte order: pmcd does not convert it, so both
/// meet (CONN-3).
fn service(name: &str) -> Option<u16> {
    service_in(&fs::read_to_string("/etc/services").ok()?, name)
}

fn service_in(services: &str, name: &str) -> Option<u16> {
    services.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let (official, port) = (words.next()?, words.next()?);
        let is_it = official == name || words.any(|alias| alias == name);
        let port: u16 = port.split('/').next()?.parse().ok()?;
        is_it.then_some(port.to_be())
    })
}

/// Accepts one connection over a unix socket, which pmcd removes when it drops the agent (CONN-4).
fn unix(path: &Path) -> Result<Stream, String> {
    let accept = || both(listen(path)?.accept()?.0.into());
    accept().map_err(|error: io::Error| format!("cannot listen on {}: {}", path.display(), reason(&error)))
}

/// A listening socket in the file system, for PCP's user.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let entry = DirEntry::at(path)?;
    match entry.unlink() {
        Ok(()) => log::warn!("{}: socket exists, unlinked it", path.display()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // The name gets the mode of the descriptor: nobody else connects until it has its owner.
    fchmod(&listener, Mode::from_bits_truncate(0o600))?;
    net::bind(&listener, &SocketAddrUnix::new(path)?)?;
    share(&entry, path);
    net::listen(&listener, 1)?;
    Ok(listener.into())
}

/// Gives the socket to PCP's user and group. Without the rights for that, the socket stays as it is
/// (CONN-5).
fn share(entry: &DirEntry, path: &Path) {
    let name = user::pcp_user();
    match User::from_name(&name) {
        Ok(Some(user)) => {
            if let Err(error) = give(entry, &user) {
                log::debug!("{}: {}", path.display(), reason(&error));
            }
        }
        _ => log::warn!("cannot find the {name} user, to whom {} should belong", path.display()),
    }
}

/// Gives the socket that was just bound to a user and the group of that user. Others who may write
/// to the directory may have replaced it: the name is looked up once, and what it leads to is
/// changed only if it can be our socket.
///
/// # Errors
/// `ENOTSOCK` if it cannot be ours; those of the system.
fn give(entry: &DirEntry, user: &User) -> io::Result<()> {
    let socket = entry.hold()?;
    let metadata = socket.metadata()?;
    let is_ours = metadata.file_type().is_socket()
        && (metadata.uid(), metadata.nlink(), metadata.mode() & 0o177) == (geteuid().as_raw(), 1, 0);
    if !is_ours {
        return Err(Errno::ENOTSOCK.into());
    }
    fchownat(&socket, "", Some(user.uid), Some(user.gid), AtFlags::AT_EMPTY_PATH)?;
    // The descriptor stands for a name only (O_PATH), so fchmod refuses it. Its path below /proc
    // leads to the socket itself.
    let path = format!("/proc/self/fd/{}", socket.as_raw_fd());
    fs::set_permissions(path, Permissions::from_mode(0o660))
}

fn both(connection: OwnedFd) -> io::Result<Stream> {
    leave_stdout()?;
    Ok(Stream {
        input: connection.try_clone()?.into(),
        output: Output::new(connection),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    /// A socket is given away; a file that somebody has put in its place is not changed.
    #[test]
    fn sockets_are_given_away() {
        if !geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let entry = |name: &str| DirEntry::at(&path(name)).expect("a way");
        let nobody = User::from_name("nobody").expect("accounts").expect("an account");
        let owner = |name: &str| {
            fs::symlink_metadata(path(name))
                .map(|metadata| metadata.uid())
                .expect("there")
        };
        let _socket = listen(&path("socket")).expect("a socket");
        fs::set_permissions(path("socket"), Permissions::from_mode(0o600)).expect("ours");
        lchown(path("socket"), Some(0), Some(0)).expect("root");
        give(&entry("socket"), &nobody).expect("ours");
        assert_eq!(owner("socket"), nobody.uid.as_raw());
        assert_eq!(fs::metadata(path("socket")).expect("there").mode() & 0o777, 0o660);
        fs::write(path("victim"), "").expect("ours");
        symlink(path("victim"), path("link")).expect("ours");
        let _other = listen(&path("other")).expect("a socket");
        lchown(path("other"), Some(0), Some(0)).expect("root");
        fs::set_permissions(path("other"), Permissions::from_mode(0o600)).expect("ours");
        fs::hard_link(path("other"), path("again")).expect("ours");
        for name in ["link", "victim", "again"] {
            assert!(give(&entry(name), &nobody).is_err(), "{name}");
            assert_eq!(owner(name), 0, "{name}");
        }
        assert_eq!(owner("victim"), 0);
    }

    #[test]
    fn services_by_name_and_alias() {
        let services = "# comment\nftp 21/tcp\nhttp\t80/tcp www # WWW\n";
        assert_eq!(service_in(services, "http"), Some(80_u16.to_be()));
        assert_eq!(service_in(services, "www"), Some(80_u16.to_be()));
        assert_eq!(service_in(services, "comment"), None);
    }
}
