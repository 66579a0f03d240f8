//! An agent on a thread of its own, for which the session answers when it takes too long.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use pmda_core::wire::encode::Reply;
use pmda_core::wire::{Kind, number};

use super::handler::Handler;
use crate::agent::Agent;
use crate::client::ClientId;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::guard;
use crate::logger::capture::Reader;
use crate::reactor::Reactor;

/// A message to the agent's thread.
enum Message {
    /// A request with its number, to be sent back with the reply.
    Request(u64, Vec<u8>),
    /// A PDU without a reply.
    Note(Vec<u8>),
    Ended(ClientId),
    Advance(Duration),
}

/// The agent's thread, as the session sees it.
///
/// At most one request is with the agent at a time: while it works on one that was answered in its
/// stead, the next ones are not passed on, so none is served late. PDUs without a reply are kept,
/// and passed on before the next request.
pub(super) struct AgentThread {
    messages: Option<Sender<Message>>,
    replies: Receiver<(u64, Vec<u8>)>,
    deadline: Duration,
    /// The number of the last request that was passed on.
    asked: u64,
    /// The number of the last one that the agent answered.
    answered: u64,
    /// True if the log has said that the agent is late. It says so again only after a reply in
    /// time.
    is_late: bool,
    kept: Vec<Message>,
    reply: Vec<u8>,
    /// Ends the waiting of the agent's thread.
    reactor: Reactor,
}

impl AgentThread {
    /// Starts the agent on a thread of its own.
    ///
    /// # Errors
    /// As [`Handler::start`]; `-ENOMEM`, and those of the system, if the thread cannot be started.
    pub(super) fn start<A: Agent>(env: &Env, deadline: Duration) -> Result<AgentThread> {
        let (messages, requests) = channel();
        let (answers, replies) = channel();
        let (told, started) = channel();
        let reactor = env.reactor().clone();
        if !reactor.can_ring() {
            return Err(Error::ENOMEM);
        }
        let env = env.clone();
        let log_reader = Reader::current();
        let serve = move || {
            log_reader.take_over();
            let _thread = guard::OwnThread::begin();
            let mut handler = match Handler::<A>::start(&env) {
                Ok(handler) => handler,
                Err(error) => {
                    // The thread that has started the agent waits for this.
                    let _ = told.send(Err(error));
                    return;
                }
            };
            if told.send(Ok(())).is_err() {
                return;
            }
            loop {
                match requests.try_recv() {
                    Ok(Message::Request(asked, pdu)) => {
                        handler.wait(&[], Some(Duration::ZERO));
                        if answers.send((asked, handler.request(&pdu).to_vec())).is_err() {
                            break;
                        }
                    }
                    Ok(Message::Note(pdu)) => {
                        handler.request(&pdu);
                    }
                    Ok(Message::Ended(client)) => handler.client_ended(client),
                    Ok(Message::Advance(time)) => handler.advance(time),
                    // Each message rings, which ends the waiting.
                    Err(TryRecvError::Empty) => {
                        handler.wait(&[], None);
                    }
                    Err(TryRecvError::Disconnected) => break,
                }
            }
            handler.end();
        };
        thread::Builder::new().name(A::NAME.to_owned()).spawn(serve)?;
        started.recv().map_err(|_| Error::GENERIC)??;
        Ok(AgentThread {
            messages: Some(messages),
            replies,
            deadline,
            asked: 0,
            answered: 0,
            is_late: false,
            kept: Vec::new(),
            reply: Vec::new(),
            reactor,
        })
    }

    pub(super) fn request(&mut self, pdu: &[u8]) -> &[u8] {
        self.reply.clear();
        let kind = Kind(number(pdu, 4).unwrap_or(0));
        if matches!(
            kind,
            Kind::PDU_PROFILE | Kind::PDU_ATTR | Kind::PDU_ERROR | Kind::PDU_CONTROL_REQ
        ) {
            if kind == Kind::PDU_PROFILE {
                // Only the last profile counts.
                self.kept.retain(|message| !is_profile(message));
            }
            self.keep(Message::Note(pdu.to_vec()));
            return &[];
        }
        match self.ask(pdu) {
            Ok(reply) => self.reply = reply,
            Err(error) => {
                let mut reply = Reply::new();
                reply.error(error.code().number());
                self.reply.extend_from_slice(reply.bytes());
            }
        }
        &self.reply
    }

    pub(super) fn client_ended(&mut self, client: ClientId) {
        self.keep(Message::Ended(client));
    }

    pub(super) fn advance(&mut self, time: Duration) {
        self.keep(Message::Advance(time));
    }

    /// Ends the agent, and waits until it has ended, at most for `limit`. Returns false if it has not
    /// ended by then: it goes on, and ends when the work is done that it is at.
    pub(super) fn end(&mut self, limit: Option<Duration>) -> bool {
        self.messages = None;
        self.reactor.ring();
        let end = limit.and_then(after);
        loop {
            match self.replies.recv_timeout(left(end)) {
                // The reply to a request that was answered in the agent's stead.
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }

    /// Has a request served, if that takes no longer than the deadline.
    ///
    /// # Errors
    /// `PM_ERR_AGAIN` after the deadline; `PM_ERR_GENERIC` if the thread has ended.
    fn ask(&mut self, pdu: &[u8]) -> Result<Vec<u8>> {
        let end = after(self.deadline);
        while self.answered < self.asked {
            // A reply to an earlier request: that one was answered in the agent's stead.
            self.next_reply(end)?;
        }
        self.pass_on_kept()?;
        self.asked += 1;
        self.pass_on(Message::Request(self.asked, pdu.to_vec()))?;
        let reply = self.next_reply(end)?;
        self.is_late = false;
        Ok(reply)
    }

    /// The reply to the one request that the agent has.
    ///
    /// # Errors
    /// As [`AgentThread::ask`].
    fn next_reply(&mut self, end: Option<Instant>) -> Result<Vec<u8>> {
        match self.replies.recv_timeout(left(end)) {
            Ok((number, reply)) => {
                self.answered = number;
                Ok(reply)
            }
            Err(RecvTimeoutError::Timeout) => {
                if !std::mem::replace(&mut self.is_late, true) {
                    let deadline = self.deadline;
                    log::warn!("a request has taken longer than {deadline:?}: clients are told to try again");
                }
                Err(Error::AGAIN)
            }
            Err(RecvTimeoutError::Disconnected) => Err(Error::GENERIC),
        }
    }

    /// Passes on what needs no reply, now or when the agent is idle.
    fn keep(&mut self, message: Message) {
        self.kept.push(message);
        if let Ok((number, _)) = self.replies.try_recv() {
            self.answered = number;
        }
        if self.answered == self.asked {
            // If the thread has ended, the next request says so.
            let _ = self.pass_on_kept();
        }
    }

    fn pass_on_kept(&mut self) -> Result<()> {
        let kept = std::mem::take(&mut self.kept);
        kept.into_iter().try_for_each(|message| self.pass_on(message))
    }

    fn pass_on(&self, message: Message) -> Result<()> {
        let messages = self.messages.as_ref().ok_or(Error::GENERIC)?;
        messages.send(message).map_err(|_| Error::GENERIC)?;
        self.reactor.ring();
        Ok(())
    }
}

/// The time after this one; `None` if it is too far away to be named.
fn after(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}

/// The time until `end`; without an end for ever.
fn left(end: Option<Instant>) -> Duration {
    end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
}

fn is_profile(message: &Message) -> bool {
    matches!(message, Message::Note(pdu) if number(pdu, 4) == Some(Kind::PDU_PROFILE.0))
}

/// Gives the agent as much time to end as a request has. An agent that hangs is left to itself.
impl Drop for AgentThread {
    fn drop(&mut self) {
        if self.messages.is_some() {
            self.end(Some(self.deadline));
        }
    }
}
