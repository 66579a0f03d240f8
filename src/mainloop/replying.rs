//! A reply on its way to pmcd, write by write; also a status that an agent sends on its own
//! (CONN-10).

use std::ffi::c_int;
use std::{fmt, io};

use crate::drive::{Machine, NoDropCell, Step};
use crate::mainloop::{Agent, Call, SessionAnswer, io_result};
use crate::record;
use crate::sys::channel::{Channel, Written};
use crate::sys::libpcp::log;
use crate::sys::libpcp::version::SINCE_6_0_5;
use crate::view::agent::Dispatch;
use crate::view::answers::DraftReply;
use pmda_core::error::{Error, Result};
use pmda_core::log::Level;
use pmda_core::wire::Kind;
use pmda_core::wire::encode::Reply;

/// Why a reply is sent.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// The answer to a request of a kind; the code, if it is an error.
    Answer(Kind, Option<i32>),
    /// The verdict of the check callback.
    Refusal(i32),
    /// The status of a store. The C library does not report a failure here either (MAIN-6).
    Status,
}

/// A reply that is being written. The writes are the driver's.
pub(super) struct Replying {
    channel: Channel,
    purpose: Purpose,
    reply: NoDropCell<Reply>,
    /// In place of `reply` for a fetch that has written its own.
    draft: Option<DraftReply>,
    written: usize,
    /// What is known of the channel.
    socket: Option<bool>,
}

impl Replying {
    /// Nothing is sent.
    pub(super) const fn nothing() -> Replying {
        Replying {
            channel: Channel(-1),
            purpose: Purpose::Status,
            reply: NoDropCell::none(),
            draft: None,
            written: 0,
            socket: None,
        }
    }

    /// Starts to send what is in a buffer.
    pub(super) fn begin(&mut self, agent: Agent<'_>, purpose: Purpose, reply: Reply) {
        self.reply.set(reply);
        self.announce(agent, purpose);
    }

    /// Starts to send a draft, or an error in its place; `None` when there is none.
    pub(super) fn begin_draft(&mut self, agent: Agent<'_>, mut draft: DraftReply, outcome: Result<()>) {
        let code = outcome.err().map(Error::code);
        if let Some(code) = code {
            draft.reply().error(code);
        }
        self.draft = Some(draft);
        self.announce(agent, Purpose::Answer(Kind::PDU_FETCH, code));
    }

    fn announce(&mut self, agent: Agent<'_>, purpose: Purpose) {
        (self.channel, self.purpose, self.written) = (agent.out(), purpose, 0);
        let channel = self.channel;
        self.socket = channel.announce(self.bytes());
    }

    fn bytes(&mut self) -> &[u8] {
        match (&mut self.draft, self.reply.peek()) {
            (Some(draft), _) => draft.reply().bytes(),
            (None, Some(reply)) => reply.bytes(),
            (None, None) => &[],
        }
    }

    /// The next write; `None` when all is written.
    pub(super) fn next(&mut self) -> Option<Call<'static>> {
        let (fd, written) = (self.channel.0, self.written);
        let rest = self.bytes().get(written..).filter(|rest| !rest.is_empty())?;
        Some(Call::Write(fd, rest.as_ptr(), rest.len()))
    }

    /// Takes what came of a write: how to go on, if not with the next one.
    pub(super) fn wrote(&mut self, outcome: io::Result<usize>) -> Result<Option<Call<'static>>> {
        let (channel, socket, length) = (self.channel, self.socket, self.bytes().len());
        match channel.written(outcome, socket, length)? {
            Written::Bytes(count) => {
                self.written = self.written.saturating_add(count);
                Ok(None)
            }
            Written::Wait => Ok(Some(Call::WaitToWrite(self.channel.0))),
        }
    }

    /// Gives the buffer back; a failure is said and forgotten (MAIN-6, WIRE-22).
    pub(super) fn end(&mut self, agent: Agent<'_>, outcome: Result<()>) {
        let (channel, fd) = (self.channel, self.channel.0);
        match outcome {
            Ok(()) => channel.note_sent(self.bytes()),
            Err(error) => {
                let reason = log::errstr(error);
                match self.purpose {
                    Purpose::Answer(request, code) => warn_of_answer(fd, request, code, &reason),
                    Purpose::Refusal(code) => warn(format_args!("__pmSendError({fd},...,{code}) ACK failed:{reason}")),
                    Purpose::Status => {}
                }
            }
        }
        if let Some(draft) = self.draft.take() {
            draft.give_back(&agent.session.draft);
        }
        if let Some(reply) = self.reply.take() {
            agent.session.give_reply(reply);
        }
    }
}

/// Says that the answer to a request could not be sent (MAIN-31).
fn warn_of_answer(fd: i32, request: Kind, code: Option<i32>, reason: &dyn fmt::Display) {
    if let Some(code) = code {
        return warn(format_args!(
            "__pmSendError({fd},...,{code}) {request} failed: {reason}"
        ));
    }
    let reply = match request {
        Kind::PDU_FETCH => "__pmSendResult",
        Kind::PDU_DESC_REQ => "__pmSendDesc",
        Kind::PDU_INSTANCE_REQ => "__pmSendInstance",
        Kind::PDU_TEXT_REQ => "__pmSendText",
        Kind::PDU_PMNS_NAMES => "__pmSendIDList",
        Kind::PDU_LABEL_REQ => "__pmSendLabel",
        // Those that are answered by names.
        _ => return warn(format_args!("__pmSendNameList({fd},...) {request} failed: {reason}")),
    };
    warn(format_args!("{reply}({fd},...) failed: {reason}"));
}

/// Says what went wrong with a reply: a debug line before PCP 6.0.5, a warning with its own time
/// stamp since (MAIN-31).
fn warn(text: fmt::Arguments<'_>) {
    if SINCE_6_0_5 {
        log::warning!("{text}");
    } else {
        log::notify!(Level::Debug, "{text}");
    }
}

/// Sends a status PDU. A failure is not reported.
pub(crate) struct SendingStatus<'call> {
    agent: Agent<'call>,
    code: c_int,
    replying: Replying,
}

impl<'call> SendingStatus<'call> {
    /// A status for the pmcd of an agent; `None` when there is no agent, or no memory.
    pub(crate) fn new(dispatch: Option<Dispatch<'call>>, code: c_int) -> Option<SendingStatus<'call>> {
        let (dispatch, ext) = dispatch.and_then(|dispatch| Some((dispatch, dispatch.ext()?)))?;
        let session = record::session(ext).ok()?;
        Some(SendingStatus {
            agent: Agent { dispatch, ext, session },
            code,
            replying: Replying::nothing(),
        })
    }

    fn write(&mut self) -> Step<Call<'call>, ()> {
        match self.replying.next() {
            Some(call) => Step::Call(call),
            None => self.end(Ok(())),
        }
    }

    fn end(&mut self, outcome: Result<()>) -> Step<Call<'call>, ()> {
        self.replying.end(self.agent, outcome);
        Step::Done(())
    }
}

impl<'call> Machine for SendingStatus<'call> {
    type Call = Call<'call>;
    type Answer = SessionAnswer<'call>;
    type Done = ();

    fn start(&mut self) -> Step<Call<'call>, ()> {
        let mut reply = self.agent.session.take_reply();
        reply.error(self.code);
        self.replying.begin(self.agent, Purpose::Status, reply);
        self.write()
    }

    fn resume(&mut self, answer: SessionAnswer<'call>) -> Step<Call<'call>, ()> {
        let SessionAnswer::Bytes(count, error) = answer else {
            return self.write();
        };
        match self.replying.wrote(io_result(count, error)) {
            Ok(Some(call)) => Step::Call(call),
            Ok(None) => self.write(),
            Err(error) => self.end(Err(error)),
        }
    }
}
