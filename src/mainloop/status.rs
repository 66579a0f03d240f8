//! A status that an agent sends to pmcd on its own (CONN-10).

use std::ffi::c_int;

use crate::drive::{Machine, Step};
use crate::mainloop::Agent;
use crate::mainloop::calls::{Call, SessionAnswer};
use crate::mainloop::io_result;
use crate::mainloop::replying::{Purpose, Replying};
use crate::record;
use crate::view::dispatch::Dispatch;

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

    fn end(&mut self, outcome: pmda_core::error::Result<()>) -> Step<Call<'call>, ()> {
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
