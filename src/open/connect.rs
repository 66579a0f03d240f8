//! `pmdaConnect`: opens the connection to pmcd, and exchanges credentials with it (CONN-1 to
//! CONN-7). The calls that wait are made by `exports.rs`, between the steps here.

use std::ffi::c_int;
use std::fmt;
use std::os::fd::{AsRawFd, RawFd};

use crate::agent::LoopState;
use crate::boundary::NoDropCell;
use crate::mainloop::connection::{Incoming, Outgoing, SendPurpose};
use crate::open::{is_supported, text};
use crate::state;
use crate::sys;
use crate::sys::libpcp;
use crate::sys::libpcp::SINCE_6_3_1;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::sys::socket::{self, Socket, SocketFailure};
use crate::view::arg::Shown;
use crate::view::interface::Transport;
use crate::view::interface::{Dispatch, Ext};
use crate::view::types::Comm;
use pmda_core::constants::{PMDA_EXT_CONNECTED, PMDA_EXT_SETUPDONE};
use pmda_core::error::Error;
use pmda_core::log::{Journal, Level};
use pmda_core::wire::receive::ReadMode;
use pmda_core::wire::{Kind, decode};

/// The type of the credential that has the protocol version.
const CVERSION: u8 = 1;
/// The status of the dispatch table after a handshake that failed.
const NO_HANDSHAKE: c_int = -1;

/// The state of the connection to pmcd.
#[derive(Clone, Copy)]
pub(crate) enum Connection {
    /// The connection is open, with these descriptors for input and output.
    Open(c_int, c_int),
    /// pmcd will connect to this listening socket.
    Awaited(RawFd),
    /// The connection cannot be opened, and the process ends: an agent without pmcd is of no use,
    /// and its users expect the end (CONN-2 to CONN-4).
    Impossible,
}

/// The connection to pmcd that `e_io` tells, while it is made, and its handshake.
pub(crate) struct Connect<'call> {
    dispatch: Dispatch<'call>,
    ext: Ext<'call>,
    loop_state: &'static LoopState,
    transport: Transport,
    /// The listening socket, until pmcd has connected.
    listener: NoDropCell<Socket>,
    /// Sends our credentials.
    pub(crate) outgoing: Outgoing,
    /// Receives pmcd's.
    pub(crate) incoming: Incoming,
}

impl Connect<'_> {
    /// A connection that is not open yet; `None` for an agent that may not connect, with a negative
    /// status in its dispatch table (CONN-1).
    pub(crate) fn new<'call>(token: &mut Token, dispatch: Dispatch<'call>) -> Option<Connect<'call>> {
        let Some(ext) = check(token, dispatch) else {
            dispatch.set_status(Error::GENERIC.code());
            return None;
        };
        let loop_state = state::loop_state(token, ext);
        let loop_state = loop_state.map_err(|error| dispatch.set_status(error.code())).ok()?;
        Some(Connect {
            dispatch,
            ext,
            loop_state,
            transport: Transport::Unknown,
            listener: NoDropCell::none(),
            outgoing: Outgoing::nothing(loop_state),
            incoming: Incoming::nothing(loop_state),
        })
    }

    /// The agent's name in a message.
    fn name(&self) -> Shown<'_> {
        Shown(self.ext.name())
    }

    /// Opens the connection, or the socket on which pmcd is awaited: apart from the lock, as names
    /// of services and users may be looked up over the network.
    pub(crate) fn open(&mut self, token: &mut Token) -> Connection {
        let mut journal = Journal::new();
        let connection = token.apart(|| self.open_transport(&mut journal));
        log::flush(token, &mut journal);
        connection
    }

    /// [`Connect::open`], in which the thread is not cancelled.
    fn open_transport(&mut self, journal: &mut Journal) -> Connection {
        let number = self.ext.io();
        let Some(transport) = Transport::new(number) else {
            return give_up(
                journal,
                format_args!("pmdaConnect: PMDA {}: Illegal iotype: {number}", self.name()),
            );
        };
        self.transport = transport;
        let listener = match transport {
            Transport::Pipe | Transport::Unknown => {
                let (input, output) = sys::standard_streams();
                return Connection::Open(input, output);
            }
            Transport::Inet | Transport::Ipv6 => {
                let port = match self.port() {
                    Ok(port) => port,
                    Err(why) => {
                        let (service, why) = (self.ext.sockname(), log::os_text(why));
                        let service = text(service.as_ref());
                        return give_up(
                            journal,
                            format_args!("__pmdaOpenSocket: getservbyname({service}): {why}"),
                        );
                    }
                };
                socket::listen_inet(journal, port as u16, transport == Transport::Ipv6)
            }
            Transport::Unix => match self.ext.sockname() {
                Some(path) => socket::listen_unix(journal, path.c_str()),
                None => Err(SocketFailure::without_path()),
            },
        };
        match listener {
            Ok(listener) => {
                let fd = listener.as_raw_fd();
                self.listener.set(listener);
                Connection::Awaited(fd)
            }
            Err(failure) => self.refused(journal, &failure),
        }
    }

    /// The address family in a message about a port.
    fn family(&self) -> c_int {
        match self.transport {
            Transport::Ipv6 => libc::AF_INET6,
            _ => libc::AF_INET,
        }
    }

    /// The port number: that of the service with the socket's name, or the agent's own.
    ///
    /// # Errors
    /// The error number, if no such service exists.
    fn port(&self) -> Result<c_int, c_int> {
        match self.ext.sockname() {
            Some(service) => socket::service_port(service.c_str()),
            None => Ok(self.ext.port()),
        }
    }

    /// Logs why no socket was opened, or no connection accepted.
    fn refused(&self, journal: &mut Journal, failure: &SocketFailure) -> Connection {
        let name = self.ext.sockname();
        match self.transport {
            Transport::Unix => failure.unix(&Shown(name), |why| give_up(journal, why)),
            _ => failure.inet(text(name.as_ref()), self.port().unwrap_or(0), self.family(), |why| {
                give_up(journal, why)
            }),
        }
    }

    /// Takes the connection of pmcd, or the error number of `accept`. After an interruption pmcd is
    /// awaited again.
    pub(crate) fn accepted(&mut self, token: &mut Token, connection: Result<RawFd, c_int>) -> Connection {
        match connection {
            Ok(fd) => {
                if self.transport != Transport::Unix {
                    libpcp::set_ipc_socket(fd);
                }
                token.apart(|| drop(self.listener.take()));
                Connection::Open(fd, fd)
            }
            Err(libc::EINTR) => self.listener.get().map_or(Connection::Impossible, |listener| {
                Connection::Awaited(listener.as_raw_fd())
            }),
            Err(why) => {
                let mut journal = Journal::new();
                let refused = token.apart(|| self.refused(&mut journal, &SocketFailure::of_accept(why)));
                log::flush(token, &mut journal);
                refused
            }
        }
    }

    /// Takes the descriptors of an open connection, and begins to send our credentials.
    pub(crate) fn opened(&mut self, token: &mut Token, input: c_int, output: c_int) {
        self.ext.set_infd(input);
        self.ext.set_outfd(output);
        if log::debug(Debug::Libpmda) {
            let how = match self.transport {
                Transport::Pipe | Transport::Unknown => "opened pipe to pmcd",
                Transport::Inet => "opened inet connection",
                Transport::Unix => "Opened unix connection",
                Transport::Ipv6 => "opened ipv6 connection",
            };
            log::debug_line!(
                token,
                "pmdaConnect: PMDA {}: {how}, infd = {input}, outfd = {output}",
                self.name()
            );
        }
        let mut buffer = self.loop_state.take_reply(token);
        match buffer
            .reply()
            .credentials(std::process::id() as i32, self.dispatch.comm().flags)
        {
            Ok(()) => self.outgoing.begin(token, output, SendPurpose::Status, buffer),
            Err(error) => self.outgoing.outcome = Err(error),
        }
    }

    /// Begins to receive pmcd's credentials, after ours were sent. Returns false if they were not.
    pub(crate) fn sent(&mut self, token: &mut Token) -> bool {
        if let Err(error) = self.outgoing.outcome {
            self.end(token, Err(("send", error)));
            return false;
        }
        self.incoming.begin(token, self.ext.infd(), ReadMode::Exact);
        true
    }

    /// Takes pmcd's credentials, which ends the handshake.
    pub(crate) fn received(&mut self, token: &mut Token) {
        let outcome = self.handshake(token);
        self.end(token, outcome);
    }

    /// Ends the handshake: with pmcd's protocol version, which is 0 if it has sent none (CONN-6),
    /// or with the step that has failed, which is logged.
    fn end(&self, token: &mut Token, outcome: Result<u8, (&str, Error)>) {
        match outcome {
            Ok(version) => {
                let pmapi = version;
                self.dispatch.set_comm(Comm {
                    pmapi,
                    ..self.dispatch.comm()
                });
                self.ext.add_flags(PMDA_EXT_CONNECTED);
            }
            Err((step, error)) => {
                let (name, reason) = (self.name(), log::errstr(error));
                log::notify!(token, Level::Crit, "__pmdaSetupPDU: PMDA {name} {step} creds: {reason}");
                self.dispatch.set_status(NO_HANDSHAKE);
            }
        }
    }

    /// The protocol version in pmcd's credentials; 0 if it has sent none.
    ///
    /// # Errors
    /// The step that has failed, and why.
    fn handshake(&mut self, token: &mut Token) -> Result<u8, (&'static str, Error)> {
        let (input, output) = (self.ext.infd(), self.ext.outfd());
        let pdu = match self.incoming.take(token) {
            Ok(pdu) if pdu.header.kind == Kind::PDU_CREDS => pdu,
            Ok(pdu) => {
                self.log_exchange_failure(token, pdu.header.kind);
                return Ok(0);
            }
            // The descriptor cannot be read. The C library takes that for the end of the stream,
            // and the agent runs on.
            Err(failure) if failure.code() == Error::EOF => {
                self.log_exchange_failure(token, Kind(0));
                return Ok(0);
            }
            Err(failure) => return Err(("getting", failure.code())),
        };
        let credentials = decode::credentials(pdu.bytes());
        let credentials = credentials.map_err(|error| ("decode", error))?;
        if SINCE_6_3_1 && credentials.len() == 0 {
            return Err(("decode", Error::IPC));
        }
        let mut version = None;
        for (kind, value) in credentials {
            if kind == CVERSION {
                version = Some(value);
            } else {
                log::notify!(
                    token,
                    Level::Warning,
                    "__pmdaSetupPDU: PMDA {}: unexpected creds PDU",
                    self.name()
                );
            }
        }
        if let Some(version) = version {
            libpcp::set_ipc_version(input, c_int::from(version));
            libpcp::set_ipc_version(output, c_int::from(version));
        }
        self.loop_state.recycle(token, pdu);
        Ok(version.unwrap_or(0))
    }

    /// Logs that the peer has sent something else than credentials. The agent runs on (CONN-6).
    fn log_exchange_failure(&self, token: &mut Token, got: Kind) {
        log::notify!(
            token,
            Level::Crit,
            "__pmdaSetupPDU: PMDA {}: version exchange failure, got PDU type {got} expecting PDU_CREDS)",
            self.name()
        );
    }
}

/// Logs why the agent has no connection to pmcd.
fn give_up(journal: &mut Journal, why: fmt::Arguments<'_>) -> Connection {
    journal.notify(Level::Crit, why);
    Connection::Impossible
}

/// The extension of an agent that may connect. If it may not, the reason is logged (CONN-1).
fn check<'call>(token: &mut Token, dispatch: Dispatch<'call>) -> Option<Ext<'call>> {
    let ext = dispatch.ext().filter(|ext| ext.has(PMDA_EXT_SETUPDONE));
    let Some(ext) = ext else {
        log::notify!(
            token,
            Level::Crit,
            "pmdaConnect: need to call pmdaDaemon() or pmdaDSO() first"
        );
        return None;
    };
    if ext.has(PMDA_EXT_CONNECTED) {
        log::notify!(token, Level::Crit, "pmdaConnect: called more than once");
        return None;
    }
    is_supported(token, dispatch, "pmdaConnect").then_some(ext)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::mainloop::connection::{IoResult, WriteStep};
    use crate::state::testing::{agent, ahead, step};
    use crate::view::arg::CText;

    const INET: u32 = Transport::Inet.number();
    const UNIX: u32 = Transport::Unix.number();

    /// An agent that is set up and may connect.
    fn may_connect(token: &mut Token) -> (Dispatch<'static>, Ext<'static>) {
        let (dispatch, ext, _) = agent(token, 7);
        ext.add_flags(PMDA_EXT_SETUPDONE);
        (dispatch, ext)
    }

    /// An agent that connects by this kind of connection.
    fn connecting(token: &mut Token, io: u32) -> (Dispatch<'static>, Ext<'static>, Connect<'static>) {
        let (dispatch, ext) = may_connect(token);
        ext.set_io(io);
        (dispatch, ext, Connect::new(token, dispatch).expect("it may connect"))
    }

    /// An agent that awaits pmcd at a Unix socket in a directory of the test, and the listener's
    /// descriptor.
    fn awaiting(token: &mut Token, directory: &tempfile::TempDir) -> (Connect<'static>, RawFd) {
        let (_, ext, mut connect) = connecting(token, UNIX);
        let path = directory.path().join("socket");
        ext.set_sockname(CText::copied(path.as_os_str().as_encoded_bytes()).expect("memory"));
        let Connection::Awaited(listener) = connect.open(token) else {
            panic!("a socket")
        };
        (connect, listener)
    }

    fn directory() -> tempfile::TempDir {
        tempfile::tempdir().expect("a directory")
    }

    /// A connection on which our credentials were sent, and its stream; these bytes were read from
    /// it before.
    fn sent(token: &mut Token, bytes: &[u8]) -> (Dispatch<'static>, Ext<'static>, Connect<'static>, UnixStream) {
        let (dispatch, ext, mut connect) = connecting(token, UNIX);
        let stream = if bytes.is_empty() {
            UnixStream::pair().expect("a socket").0
        } else {
            ahead(token, connect.loop_state, bytes)
        };
        connect.opened(token, stream.as_raw_fd(), stream.as_raw_fd());
        sends(token, &mut connect, stream.as_raw_fd());
        assert!(connect.sent(token));
        (dispatch, ext, connect, stream)
    }

    /// A connection after pmcd has sent these bytes.
    fn received(token: &mut Token, bytes: &[u8]) -> (Dispatch<'static>, Ext<'static>) {
        let (dispatch, ext, mut connect, _stream) = sent(token, bytes);
        assert!(connect.incoming.next(token, None).is_none());
        connect.received(token);
        (dispatch, ext)
    }

    /// Sends our credentials: one PDU of 20 bytes.
    fn sends(token: &mut Token, connect: &mut Connect<'_>, to: RawFd) {
        let write = connect.outgoing.next(token, None);
        assert!(matches!(write, Some(WriteStep::Write(fd, _, 20)) if fd == to));
        assert!(connect.outgoing.next(token, Some(IoResult(20, 0))).is_none());
    }

    /// A CREDS with these credentials, each a type and a version.
    fn creds(credentials: &[(u8, u8)]) -> Vec<u8> {
        pdu(Kind::PDU_CREDS, credentials.len() as u32, credentials)
    }

    /// A PDU with a number, and with words of these first two bytes.
    fn pdu(kind: Kind, number: u32, words: &[(u8, u8)]) -> Vec<u8> {
        let size = 16 + 4 * words.len() as u32;
        let head = [size, kind.0 as u32, 0, number].map(u32::to_be_bytes).concat();
        let words = words.iter().flat_map(|(first, second)| [*first, *second, 0, 0]);
        head.into_iter().chain(words).collect()
    }

    #[test]
    fn start_before_the_setup_is_refused() {
        step(|token| {
            let (dispatch, ..) = agent(token, 7);
            assert!(Connect::new(token, dispatch).is_none());
            assert_eq!(dispatch.status(), Error::GENERIC.code());
        });
    }

    #[test]
    fn start_of_a_connected_agent_is_refused() {
        step(|token| {
            let (dispatch, ext) = may_connect(token);
            ext.add_flags(PMDA_EXT_CONNECTED);
            assert!(Connect::new(token, dispatch).is_none());
            assert_eq!(dispatch.status(), Error::GENERIC.code());
        });
    }

    #[test]
    fn open_of_a_pipe_has_the_standard_streams() {
        step(|token| {
            for transport in [Transport::Pipe, Transport::Unknown] {
                let opened = connecting(token, transport.number()).2.open(token);
                assert!(matches!(opened, Connection::Open(0, 1)));
            }
        });
    }

    #[test]
    fn open_of_a_socket_awaits_pmcd() {
        step(|token| {
            let directory = directory();
            let (_, listener) = awaiting(token, &directory);
            assert!(listener >= 0 && directory.path().join("socket").exists());
            // Port 0 is any free port.
            assert!(matches!(connecting(token, INET).2.open(token), Connection::Awaited(_)));
        });
    }

    #[test]
    fn open_of_an_unknown_kind_is_impossible() {
        step(|token| assert!(matches!(connecting(token, 99).2.open(token), Connection::Impossible)));
    }

    #[test]
    fn open_of_a_socket_without_a_path_is_impossible() {
        step(|token| assert!(matches!(connecting(token, UNIX).2.open(token), Connection::Impossible)));
    }

    #[test]
    fn accepted_connection_is_open() {
        step(|token| {
            let directory = directory();
            let (mut connect, _) = awaiting(token, &directory);
            let (stream, _) = UnixStream::pair().expect("a socket");
            let fd = stream.as_raw_fd();
            assert!(
                matches!(connect.accepted(token, Ok(fd)), Connection::Open(input, output) if (input, output) == (fd, fd))
            );
            assert!(connect.listener.peek().is_none(), "nobody else is awaited");
        });
    }

    #[test]
    fn interrupted_accept_awaits_pmcd_again() {
        step(|token| {
            let directory = directory();
            let (mut connect, listener) = awaiting(token, &directory);
            let again = connect.accepted(token, Err(libc::EINTR));
            assert!(matches!(again, Connection::Awaited(fd) if fd == listener));
        });
    }

    #[test]
    fn failed_accept_is_impossible() {
        step(|token| {
            let directory = directory();
            let (mut connect, _) = awaiting(token, &directory);
            assert!(matches!(
                connect.accepted(token, Err(libc::EMFILE)),
                Connection::Impossible
            ));
        });
    }

    #[test]
    fn open_connection_sends_credentials() {
        step(|token| {
            let (_, ext, mut connect) = connecting(token, UNIX);
            let (stream, _) = UnixStream::pair().expect("a socket");
            let fd = stream.as_raw_fd();
            connect.opened(token, fd, fd);
            assert_eq!((ext.infd(), ext.outfd()), (fd, fd));
            sends(token, &mut connect, fd);
        });
    }

    #[test]
    fn sent_credentials_await_those_of_pmcd() {
        step(|token| {
            let (_, _, mut connect, stream) = sent(token, &[]);
            assert_eq!(
                connect.incoming.next(token, None).map(|read| read.0),
                Some(stream.as_raw_fd())
            );
        });
    }

    #[test]
    fn credentials_that_cannot_be_sent_end_the_handshake() {
        step(|token| {
            let (dispatch, ext, mut connect) = connecting(token, UNIX);
            let (stream, _peer) = UnixStream::pair().expect("a socket");
            connect.opened(token, stream.as_raw_fd(), stream.as_raw_fd());
            assert!(connect.outgoing.next(token, None).is_some());
            assert!(connect.outgoing.next(token, Some(IoResult(-1, libc::EPIPE))).is_none());
            assert!(!connect.sent(token));
            assert_eq!((dispatch.status(), ext.has(PMDA_EXT_CONNECTED)), (NO_HANDSHAKE, false));
        });
    }

    /// The connection is made, with this PMAPI version (CONN-6).
    fn is_connected(connection: (Dispatch<'_>, Ext<'_>), pmapi: u8) {
        let (dispatch, ext) = connection;
        assert_eq!((dispatch.status(), dispatch.comm().pmapi), (0, pmapi));
        assert!(ext.has(PMDA_EXT_CONNECTED));
    }

    #[test]
    fn received_version_connects() {
        step(|token| is_connected(received(token, &creds(&[(CVERSION, 3)])), 3));
    }

    #[test]
    fn received_credentials_without_a_version_connect() {
        step(|token| is_connected(received(token, &creds(&[(7, 3)])), 0));
    }

    #[test]
    fn received_other_pdu_connects() {
        step(|token| is_connected(received(token, &pdu(Kind::PDU_ERROR, 0, &[])), 0));
    }

    #[test]
    fn received_end_connects() {
        step(|token| {
            let (dispatch, ext, mut connect, _stream) = sent(token, &[]);
            assert!(connect.incoming.next(token, None).is_some());
            assert!(connect.incoming.next(token, Some(IoResult(0, 0))).is_none());
            connect.received(token);
            is_connected((dispatch, ext), 0);
        });
    }

    #[test]
    fn received_credentials_that_are_none_end_the_handshake() {
        step(|token| {
            let (dispatch, ext) = received(token, &pdu(Kind::PDU_CREDS, 9, &[(CVERSION, 3)]));
            assert_eq!((dispatch.status(), ext.has(PMDA_EXT_CONNECTED)), (NO_HANDSHAKE, false));
        });
    }
}
