//! The connection with pmcd.

use std::ffi::c_int;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use nix::fcntl::{FcntlArg, fcntl};
use pmda_core::wire::receive::{Failure, Pdu, ReadMode, Receiver};

use crate::logger::reason;

/// Both directions of the connection with pmcd.
pub(super) struct Stream {
    pub(super) input: File,
    pub(super) output: Output,
}

/// The size of a pipe in bytes, by default and at most (pipe(7): 16 pages, pipe-max-size).
const PIPE: usize = 64 * 1024;
const LARGEST_PIPE: usize = 1024 * 1024;

/// The way of replies.
pub(super) struct Output {
    file: File,
    /// The size of the pipe in bytes, as far as was asked for. The kernel may have refused it, and
    /// is not asked again.
    room: usize,
}

impl Output {
    pub(super) fn new(connection: OwnedFd) -> Output {
        Output {
            file: connection.into(),
            room: PIPE,
        }
    }

    /// Sends a reply. An empty reply means that the request gets none.
    ///
    /// # Errors
    /// The text that is logged: pmcd has closed the connection, for instance.
    pub(super) fn send(&mut self, reply: &[u8]) -> Result<(), String> {
        if reply.is_empty() {
            return Ok(());
        }
        self.make_room(reply.len().min(LARGEST_PIPE));
        self.file
            .write_all(reply)
            .map_err(|error| format!("cannot write to pmcd: {}", reason(&error)))
    }

    /// Makes a pipe hold a whole reply: else the agent sleeps while it writes, until pmcd has read
    /// the first part.
    fn make_room(&mut self, bytes: usize) {
        if bytes <= self.room {
            return;
        }
        self.room = bytes;
        let wanted = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // A socket is not a pipe, and the kernel may refuse: then the reply goes in parts.
        if fcntl(&self.file, FcntlArg::F_GETPIPE_SZ).is_ok_and(|now| now < wanted) {
            let _ = fcntl(&self.file, FcntlArg::F_SETPIPE_SZ(wanted));
        }
    }
}

/// The next request; `None` when pmcd has closed the connection.
///
/// # Errors
/// The text that is logged: a PDU that is none, or an error of the system.
pub(super) fn next(input: &mut File, receiver: &mut Receiver) -> Result<Option<Pdu>, String> {
    match receiver.next(input, ReadMode::Ahead) {
        Ok(pdu) => Ok(Some(pdu)),
        Err(Failure::End) => Ok(None),
        Err(failure) => Err(format!("cannot read from pmcd: {failure:?}")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Nobody reads meanwhile: a reply that does not fit would block.
    #[test]
    fn a_pipe_holds_a_reply() {
        let (reader, writer) = nix::unistd::pipe().expect("a pipe");
        let size = || fcntl(&reader, FcntlArg::F_GETPIPE_SZ).expect("a pipe");
        let mut output = Output::new(writer);
        output.make_room(PIPE + 1);
        assert!(size() > PIPE as c_int);
        output.send(&[0; PIPE + 1]).expect("the pipe is open");
        // A larger pipe stays so.
        let (reader, writer) = nix::unistd::pipe().expect("a pipe");
        fcntl(&writer, FcntlArg::F_SETPIPE_SZ(256 * 1024)).expect("as much as anybody may");
        Output::new(writer).send(&[0; PIPE + 1]).expect("the pipe is open");
        assert_eq!(fcntl(&reader, FcntlArg::F_GETPIPE_SZ), Ok(256 * 1024));
    }

    #[test]
    fn a_socket_is_no_pipe() {
        let (mut reader, writer) = UnixStream::pair().expect("sockets");
        let mut output = Output::new(writer.into());
        output.make_room(PIPE + 1);
        output.send(b"reply").expect("it is open");
        let mut reply = [0; 5];
        reader.read_exact(&mut reply).expect("it is open");
        assert_eq!(&reply, b"reply");
    }
}
