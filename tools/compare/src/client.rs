//! A client of pmcd over its unix socket. Requests and replies are those between pmcd and an agent,
//! with the handshake the other way round: pmcd speaks first.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use pmda_core::error::{Error, Result};
use pmda_core::wire::client::{ClientRequest, expect};
use pmda_core::wire::receive::{ReadMode, Receiver};
use pmda_core::wire::{Kind, decode};

/// The time that pmcd may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection with pmcd.
#[derive(Debug)]
pub struct Client {
    stream: File,
    receiver: Receiver,
    request: ClientRequest,
}

impl Client {
    /// Connects to the pmcd that listens at `socket`.
    ///
    /// # Errors
    /// The operating system's error; pmcd's error, or `PM_ERR_IPC` or `PM_ERR_EOF` if the peer is
    /// not a pmcd.
    pub fn connect(socket: &Path) -> Result<Client> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut client = Client {
            stream: File::from(OwnedFd::from(stream)),
            receiver: Receiver::new(),
            request: ClientRequest::new(),
        };
        // A status, and the features of this pmcd (WIRE-80).
        let challenge = client.receive()?;
        expect_kind(&challenge, Kind::PDU_ERROR)?;
        Error::check(decode::error(&challenge)?)?;
        client.tell(|request| request.credentials(0, 0))?;
        Ok(client)
    }

    /// Sends a request that has no reply.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn tell(&mut self, write: impl FnOnce(&mut ClientRequest) -> Result<()>) -> Result<()> {
        write(&mut self.request)?;
        self.stream.write_all(self.request.bytes())?;
        Ok(())
    }

    /// Sends a request, and returns its reply, which is of this kind.
    ///
    /// # Errors
    /// The status that pmcd sends in its place; `PM_ERR_IPC` for any other reply; `PM_ERR_EOF` when
    /// the connection has ended or pmcd is silent; what the operating system says.
    pub fn ask(&mut self, write: impl FnOnce(&mut ClientRequest) -> Result<()>, kind: Kind) -> Result<Vec<u8>> {
        self.tell(write)?;
        let mut reply = self.receive()?;
        // Before the values, pmcd says in a positive status which changes it has seen meanwhile:
        // agents that were added or removed, names (PMCD_AGENT_CHANGE, PMCD_NAMES_CHANGE …)
        // (WIRE-81).
        while expect_kind(&reply, Kind::PDU_ERROR).is_ok() && decode::error(&reply)? > 0 {
            reply = self.receive()?;
        }
        expect(&reply, kind)?;
        Ok(reply)
    }

    /// Sends a whole RESULT, and returns the status of the store.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub fn store(&mut self, pdu: &[u8]) -> Result<i32> {
        self.stream.write_all(pdu)?;
        let reply = self.receive()?;
        expect_kind(&reply, Kind::PDU_ERROR)?;
        Error::check(decode::error(&reply)?)
    }

    fn receive(&mut self) -> Result<Vec<u8>> {
        let pdu = self.receiver.next(&mut self.stream, ReadMode::Ahead);
        let pdu = pdu.map_err(|_| Error::EOF)?;
        let bytes = pdu.bytes().to_vec();
        self.receiver.recycle(pdu);
        Ok(bytes)
    }
}

fn expect_kind(pdu: &[u8], kind: Kind) -> Result<()> {
    let received = pmda_core::wire::number(pdu, 4).map(Kind);
    if received == Some(kind) {
        Ok(())
    } else {
        Err(Error::IPC)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// The outcome for a client of a pmcd that begins with `challenge`, and the first 20 bytes that
    /// the client sends, or fewer if it ends before.
    fn shake_hands(challenge: &'static [u8]) -> (Result<()>, Vec<u8>) {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let socket = folder.path().join("pmcd");
        let listener = UnixListener::bind(&socket).expect("a new name");
        let pmcd = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            stream.write_all(challenge).expect("it reads");
            let mut sent = Vec::new();
            stream.take(20).read_to_end(&mut sent).expect("it sends or ends");
            sent
        });
        let outcome = Client::connect(&socket).map(drop);
        (outcome, pmcd.join().expect("no panic"))
    }

    /// The status and features that pmcd 6.0.3 sends, and the answer to them (WIRE-80).
    #[test]
    fn handshake() {
        const CREDS: [u8; 20] = [0, 0, 0, 20, 0, 0, 0x70, 0x0c, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0];
        let welcome = b"\0\0\0\x14\0\0\x70\0\0\0\0\0\0\0\0\0\x02\x01\x0e\x44";
        assert_eq!(shake_hands(welcome), (Ok(()), CREDS.to_vec()));
        // PM_ERR_PERMISSION: nothing is sent to a pmcd that lets nobody in.
        let refused = b"\0\0\0\x14\0\0\x70\0\0\0\0\0\xff\xff\xcf\x9d\x02\x01\x0e\x44";
        assert_eq!(shake_hands(refused), (Err(Error::PERMISSION), Vec::new()));
        let no_pmcd = b"\0\0\0\x10\0\0\x70\x01\0\0\0\0\0\0\0\0";
        assert_eq!(shake_hands(no_pmcd), (Err(Error::IPC), Vec::new()));
    }
}
