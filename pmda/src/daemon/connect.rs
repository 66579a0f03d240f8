//! How pmcd reaches the agent: a pipe, a port of the loopback address, or a unix socket.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::Path;

use nix::unistd::{User, dup2_stdin, dup2_stdout};

use super::{Output, Stream, user};
use crate::logger::reason;
use crate::options::Connection;

/// Connects with pmcd. Whatever the way, stdout leads to the log afterwards: `println!` of an agent
/// would otherwise write into the stream.
pub(super) fn connect(connection: &Connection) -> Result<Stream, String> {
    match connection {
        Connection::Pipe => pipe().map_err(|error| format!("cannot use the pipe: {}", reason(&error))),
        Connection::Inet(port) => inet(Ipv4Addr::LOCALHOST.into(), port, "inet"),
        Connection::Ipv6(port) => inet(Ipv6Addr::LOCALHOST.into(), port, "ipv6"),
        Connection::Unix(path) => unix(path),
    }
}

/// Descriptors of our own in the place of 0 and 1, which no child of the agent inherits.
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

/// CONN-3: one connection over the loopback address.
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

/// The port of a service in /etc/services, in the byte order of the network: pmcd takes it for that
/// of the machine as well, so both meet (CONN-3).
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

/// CONN-4: one connection over a unix socket, which pmcd removes when it drops the agent.
fn unix(path: &Path) -> Result<Stream, String> {
    let failed = |error: &io::Error| format!("cannot listen on {}: {}", path.display(), reason(error));
    match fs::remove_file(path) {
        Ok(()) => log::warn!("{}: socket exists, unlinked it", path.display()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(&error)),
    }
    let listener = UnixListener::bind(path).map_err(|error| failed(&error))?;
    share(path);
    let accept = || both(listener.accept()?.0.into());
    accept().map_err(|error: io::Error| failed(&error))
}

/// CONN-5: the socket is for PCP's user and group. Without the rights for that it stays as it is.
fn share(path: &Path) {
    let name = user::pcp_user();
    match User::from_name(&name) {
        Ok(Some(user)) => {
            let shared = chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw()));
            let shared = shared.and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o660)));
            if let Err(error) = shared {
                log::debug!("{}: {}", path.display(), reason(&error));
            }
        }
        _ => log::warn!("cannot find the {name} user, to whom {} should belong", path.display()),
    }
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
    use super::*;

    #[test]
    fn services_by_name_and_alias() {
        let services = "# comment\nftp 21/tcp\nhttp\t80/tcp www # WWW\n";
        assert_eq!(service_in(services, "http"), Some(80_u16.to_be()));
        assert_eq!(service_in(services, "www"), Some(80_u16.to_be()));
        assert_eq!(service_in(services, "comment"), None);
    }
}
