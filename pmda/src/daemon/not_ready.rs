//! Answers pmcd while the agent is starting.
//!
//! pmcd ends an agent that does not answer within some seconds, and an agent may take longer to
//! start. So after a second a thread reads the requests. The first one that needs a reply gets
//! `PM_ERR_PMDANOTREADY`, and pmcd sends no more of them until it gets `PM_ERR_PMDAREADY`. Those
//! that need no reply are kept for the session.
//!
//! If pmcd closes the connection meanwhile, the agent ends as by SIGTERM: it is dropped once it has
//! started, and if that takes too long, its process ends.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use pmda_core::constants::{PM_ERR_PMDANOTREADY, PM_ERR_PMDAREADY};
use pmda_core::wire::Kind;
use pmda_core::wire::encode::Reply;
use pmda_core::wire::receive::Receiver;

use super::stream::{Stream, next};
use super::termination;

/// Time that a request waits for the agent to start: less than pmcd waits, and longer than most
/// agents take, whose first client then gets its values.
const PATIENCE: Duration = Duration::from_secs(1);

/// The thread that answers, and the socket whose closing stops it.
pub(super) struct NotReady {
    thread: JoinHandle<Kept>,
    stop: UnixStream,
}

/// The data that the thread needs and gives back: the connection, and the requests for the session.
struct Kept {
    stream: Stream,
    receiver: Receiver,
    waiting: Vec<Vec<u8>>,
    /// pmcd waits for the agent to be ready.
    is_awaited: bool,
}

impl NotReady {
    /// Starts to answer; `is_awaited` if pmcd waits until the agent is ready.
    ///
    /// # Errors
    /// Those of the system: it has no descriptor or no thread left.
    pub(super) fn start(stream: Stream, receiver: Receiver, is_awaited: bool) -> io::Result<NotReady> {
        let (stopped, stop) = UnixStream::pair()?;
        let kept = Kept {
            stream,
            receiver,
            waiting: Vec::new(),
            is_awaited,
        };
        let thread = thread::Builder::new().name("not-ready".to_owned());
        let thread = thread.spawn(move || kept.answer_until(&stopped))?;
        Ok(NotReady { thread, stop })
    }

    /// Stops to answer, and tells pmcd that the agent is ready if pmcd waits for that.
    pub(super) fn end(self, is_ready: bool) -> (Stream, Receiver, Vec<Vec<u8>>) {
        drop(self.stop);
        let mut kept = self.thread.join().expect("the thread does not panic");
        if kept.is_awaited && is_ready {
            // If pmcd has closed the connection, the next read says so.
            let _ = kept.tell(PM_ERR_PMDAREADY);
        }
        (kept.stream, kept.receiver, kept.waiting)
    }
}

impl Kept {
    /// Answers until the agent has started. If pmcd closes the connection before, the process ends
    /// unless the agent has started soon after.
    fn answer_until(mut self, stopped: &impl AsFd) -> Kept {
        if has_started_within(PATIENCE, stopped) {
            return self;
        }
        if self.is_left_by_pmcd(stopped) {
            log::info!("pmcd has closed the connection while the agent starts");
            if !has_started_within(termination::PATIENCE, stopped) {
                termination::end_late();
            }
        }
        self
    }

    /// Answers. Returns true if no request can come any more, false when the agent has started.
    fn is_left_by_pmcd(&mut self, stopped: &impl AsFd) -> bool {
        while self.has_request(stopped) {
            match next(&mut self.stream.input, &mut self.receiver) {
                Ok(Some(pdu)) => {
                    if needs_answer(pdu.header.kind) {
                        if self.tell(PM_ERR_PMDANOTREADY).is_err() {
                            return true;
                        }
                        self.is_awaited = true;
                    } else {
                        self.waiting.push(pdu.bytes().to_vec());
                    }
                    self.receiver.recycle(pdu);
                }
                // The session meets the same end of the stream.
                Ok(None) | Err(_) => return true,
            }
        }
        false
    }

    /// Waits for a request; returns false when the agent has started.
    fn has_request(&self, stopped: &impl AsFd) -> bool {
        if self.receiver.is_ahead() {
            return true;
        }
        let mut both = [
            PollFd::new(self.stream.input.as_fd(), PollFlags::POLLIN),
            PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
        ];
        is_polled(&mut both, PollTimeout::NONE) && both[1].any() == Some(false)
    }

    fn tell(&mut self, status: i32) -> Result<(), String> {
        let mut reply = Reply::new();
        reply.error(status);
        self.stream.output.send(reply.bytes())
    }
}

/// Waits for the agent to start. Returns true if it has started in time.
fn has_started_within(limit: Duration, stopped: &impl AsFd) -> bool {
    let limit = PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX);
    let mut stop = [PollFd::new(stopped.as_fd(), PollFlags::POLLIN)];
    is_polled(&mut stop, limit) && stop[0].any() == Some(true)
}

/// Polls, again after signals. Returns false if poll fails.
fn is_polled(descriptors: &mut [PollFd<'_>], limit: PollTimeout) -> bool {
    loop {
        match poll(descriptors, limit) {
            Err(Errno::EINTR) => {}
            other => return other.is_ok(),
        }
    }
}

/// Returns true if pmcd waits for a reply to such a PDU.
fn needs_answer(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::PDU_PROFILE | Kind::PDU_ATTR | Kind::PDU_ERROR | Kind::PDU_CREDS
    )
}
