//! The main loop: one PDU after the other is received, given to the method that serves it, and
//! answered (MAIN-4).
//!
//! Methods may do what they like: change the dispatch table, the descriptors and the callbacks,
//! send PDUs of their own, even call the main loop. So every public field is read at the moment
//! when it is needed, and nothing is locked while a method runs (MAIN-53).

pub(crate) mod exports;
mod receiving;
mod replying;
mod requests;
mod serving;

use std::ffi::{c_char, c_int};
use std::io;

use crate::drive::{Machine, NoDropCell, Step};
use crate::fetch::Fetch;
use crate::instances::iterate::InstanceCursor;
pub(crate) use crate::mainloop::receiving::log_failure;
use crate::mainloop::receiving::{Receiving, Wanted, log_kind};
pub(crate) use crate::mainloop::replying::SendingStatus;
use crate::mainloop::replying::{Purpose, Replying};
pub(crate) use crate::mainloop::requests::Listed;
use crate::mainloop::requests::{MethodArguments, Request};
pub(crate) use crate::mainloop::serving::is_supported;
use crate::mainloop::serving::{Agent, enter};
use crate::record;
use crate::sys::channel::Channel;
use crate::sys::libpcp::log;
use crate::view::agent::{
    AttributeMethod, Check, ChildrenMethod, CleanUp, DescMethod, Dispatch, Done, EndContext, Ext, FetchMethod,
    InstanceMethod, LabelMethod, NameMethod, PmidMethod, ProfileMethod, StoreMethod, TextMethod,
};
use crate::view::answers::{DraftReply, OwnedInstances, OwnedLabels, OwnedNames};
use crate::view::arg::CText;
use crate::view::table::Metric;
use crate::view::types::{pmDesc, pmID, pmProfile, pmdaResult};
use crate::view::value::Values;
use pmda_core::error::{Error, Result};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::log::Level;
use pmda_core::wire::Kind;
use pmda_core::wire::encode::Reply;
use pmda_core::wire::receive::{Failure, Pdu, ReadMode};

/// What the loop calls: the agent's methods and callbacks, and whatever may wait. What it points to
/// is kept by the loop until the answer.
#[derive(Clone, Copy)]
pub(crate) enum Call<'call> {
    /// Reads from a descriptor, to a place, at most a number of bytes.
    Read(c_int, *mut u8, usize),
    /// Waits until a descriptor can be read.
    WaitToRead(c_int),
    /// Writes bytes to a descriptor.
    Write(c_int, *const u8, usize),
    /// Waits until a descriptor can be written.
    WaitToWrite(c_int),
    /// Tells the agent that a PDU has arrived.
    Check(Check),
    /// Tells the agent that a PDU has been served.
    Done(Done),
    /// Tells the agent that a context ends.
    EndContext(EndContext, c_int),
    /// Cleans up a result.
    CleanUp(CleanUp, Values<'call>),
    /// Runs the fetch that is in progress; the answer is its status.
    Values,
    /// Gives the agent a profile.
    Profile(ProfileMethod, *mut pmProfile),
    /// Fetches metrics: their number, and their identifiers.
    Fetch(FetchMethod, c_int, *mut pmID),
    /// Describes a metric.
    Desc(DescMethod, MetricId),
    /// Lists instances; the name is NULL or a C string.
    Instance(InstanceMethod, InDom, c_int, *mut c_char),
    /// Gives a text of a kind.
    Text(TextMethod, u32, c_int),
    /// Stores values.
    Store(StoreMethod, *mut pmdaResult),
    /// Gives the identifier of a name.
    Pmid(PmidMethod, *const c_char),
    /// Gives the names of a metric.
    Name(NameMethod, MetricId),
    /// Gives the names below a name: all of them, or those one level below.
    Children(ChildrenMethod, *const c_char, bool),
    /// Gives an attribute of a context: its key, its value (NULL or with a NUL behind it), and the
    /// length of that.
    Attribute(AttributeMethod, c_int, c_int, *const c_char, c_int),
    /// Gives labels of a kind.
    Label(LabelMethod, u32, c_int),
}

/// What comes back from a [`Call`]. What was handed over with it is owned from then on.
pub(crate) enum SessionAnswer<'call> {
    /// Nothing of interest.
    Nothing,
    /// What the function has returned.
    Status(c_int),
    /// The number of bytes, or -1 and why.
    Bytes(isize, c_int),
    /// A result.
    Values(Result<c_int>, Option<Values<'call>>),
    /// A description.
    Desc(Result<c_int>, pmDesc),
    /// A list of instances.
    Instances(Result<c_int>, NoDropCell<OwnedInstances>),
    /// A text, which stays the agent's, until the reply is sent.
    Text(Result<c_int>, Option<CText<'call>>),
    /// An identifier.
    Pmid(Result<c_int>, MetricId),
    /// Names.
    Names(Result<c_int>, NoDropCell<OwnedNames>),
    /// Label sets.
    Labels(Result<c_int>, NoDropCell<OwnedLabels>),
}

/// The library's own methods, if the agent has not replaced them. Their results would be blocks
/// from malloc that are encoded and freed; they are encoded directly instead, which saves 20,000
/// calls of malloc and free in a reply with 10,000 values of 64 bits. The PDU is the same.
#[derive(Clone, Copy)]
pub(crate) struct OwnMethods {
    pub(crate) fetch: Option<FetchMethod>,
    pub(crate) instance: Option<InstanceMethod>,
}

/// What the loop waits for.
#[derive(Clone, Copy)]
enum State<'call> {
    /// A PDU.
    Receiving,
    /// The check callback.
    Checking,
    /// A method.
    Asking(Request),
    /// The library's own fetch.
    Fetching,
    /// A reply to be written.
    Replying(After<'call>),
    /// The result callback.
    CleaningUp,
    /// The done callback.
    Finishing,
}

/// What follows when a reply is written.
#[derive(Clone, Copy)]
enum After<'call> {
    /// The result callback may see the result of the method.
    CleanUp(Option<Values<'call>>),
    /// The next PDU: this one was refused.
    Refused,
}

/// What comes next.
enum Next<'call> {
    /// A call.
    Call(Call<'call>),
    /// The next PDU.
    Pdu,
    /// Nothing: the stream has ended, or the one PDU was served.
    End(Result<c_int>),
}

/// The loop, or one turn of it.
pub(crate) struct MainLoop<'call> {
    agent: Agent<'call>,
    own: OwnMethods,
    /// Whether one PDU is served; else all of them.
    once: bool,
    state: State<'call>,
    receiving: Receiving,
    pdu: NoDropCell<Pdu>,
    /// What the PDU is.
    kind: Kind,
    arguments: NoDropCell<MethodArguments>,
    replying: Replying,
    fetch: Option<Fetch<'call, Listed, DraftReply>>,
    steps: Option<&'call mut InstanceCursor>,
    spare: Metric<'call>,
}

impl<'call> MainLoop<'call> {
    /// A loop for an agent, to serve one PDU or all that come.
    ///
    /// # Errors
    /// What a loop returns that cannot start.
    pub(crate) fn new(
        dispatch: Option<Dispatch<'call>>,
        own: OwnMethods,
        once: bool,
        steps: &'call mut InstanceCursor,
        spare: Metric<'call>,
    ) -> std::result::Result<MainLoop<'call>, Result<c_int>> {
        Ok(MainLoop {
            agent: enter(dispatch)?,
            own,
            once,
            state: State::Receiving,
            receiving: Receiving::nothing(),
            pdu: NoDropCell::none(),
            kind: Kind(0),
            arguments: NoDropCell::none(),
            replying: Replying::nothing(),
            fetch: None,
            steps: Some(steps),
            spare,
        })
    }

    /// The agent.
    pub(crate) fn ext(&self) -> Ext<'call> {
        self.agent.ext
    }

    /// The fetch that is in progress.
    pub(crate) fn fetching(&mut self) -> Option<&mut Fetch<'call, Listed, DraftReply>> {
        self.fetch.as_mut()
    }

    fn call(&mut self, state: State<'call>, call: Call<'call>) -> Next<'call> {
        self.state = state;
        Next::Call(call)
    }

    /// Starts to receive the next PDU.
    fn receive(&mut self) -> Next<'call> {
        let agent = match enter(Some(self.agent.dispatch)) {
            Ok(agent) => agent,
            Err(outcome) => return Next::End(outcome),
        };
        self.agent = agent;
        let callbacks = agent.ext.check_callback().is_some() || agent.ext.done_callback().is_some();
        // An agent with such callbacks, or one that has asked for the descriptor, may wait until
        // there is more to read: what was read ahead would never come.
        let mode = if self.once || callbacks || agent.session.is_watched() {
            ReadMode::Exact
        } else {
            ReadMode::Ahead
        };
        self.receiving.begin(agent.session, Channel(agent.ext.infd()), mode);
        self.go_on_receiving()
    }

    fn go_on_receiving(&mut self) -> Next<'call> {
        let fd = self.receiving.channel().0;
        match self.receiving.next(self.agent.session) {
            Ok(Wanted::Bytes(place, count)) => self.call(State::Receiving, Call::Read(fd, place, count)),
            Ok(Wanted::Readable) => self.call(State::Receiving, Call::WaitToRead(fd)),
            Ok(Wanted::Nothing(pdu)) => self.arrived(pdu),
            Err(failure) => self.lost(failure),
        }
    }

    /// Something was read, or can be.
    fn received(&mut self, answer: &SessionAnswer<'call>) -> Next<'call> {
        let outcome = match *answer {
            SessionAnswer::Bytes(count, error) => self.receiving.read(io_result(count, error)).map(|()| None),
            _ => self.receiving.readable(self.agent.session).map(Some),
        };
        match outcome {
            Ok(None) => self.go_on_receiving(),
            Ok(Some(pdu)) => self.arrived(pdu),
            Err(failure) => self.lost(failure),
        }
    }

    /// There are no more PDUs (MAIN-2, MAIN-32).
    fn lost(&mut self, failure: Failure) -> Next<'call> {
        let code = failure.code();
        self.receiving.give_up(self.agent.session, failure);
        log_failure(self.receiving.channel(), failure);
        log_kind(match code {
            Error::EOF => Kind(0),
            error => Kind(error.code()),
        });
        if code != Error::EOF {
            log::notify!(Level::Err, "IPC Error: {}", log::errstr(code));
        }
        Next::End(Err(code))
    }

    fn arrived(&mut self, pdu: Pdu) -> Next<'call> {
        let (kind, from) = (pdu.header.kind, pdu.header.from);
        self.kind = kind;
        self.pdu.set(pdu);
        log_kind(kind);
        record::refresh(self.agent.dispatch);
        if self.agent.interface().has_contexts() {
            self.agent.ext.set_context(from);
        }
        match self.agent.ext.check_callback() {
            Some(callback) => self.call(State::Checking, Call::Check(callback)),
            None => self.serve(),
        }
    }

    /// Answers a PDU that the check callback has refused (MAIN-5). An end of context gets no
    /// answer, as pmcd would take it for that of its next request (MAIN-52).
    fn refuse(&mut self, code: c_int) -> Next<'call> {
        if matches!(self.kind, Kind::PDU_PROFILE | Kind::PDU_ATTR | Kind::PDU_ERROR) {
            return self.recycle();
        }
        self.send_status(Purpose::Refusal(code), code, After::Refused)
    }

    /// Sends what `fill` makes, or its error.
    fn reply(&mut self, values: Option<Values<'call>>, fill: impl FnOnce(&mut Reply) -> Result<()>) -> Next<'call> {
        let mut reply = self.agent.session.take_reply();
        let code = fill(&mut reply).err().map(Error::code);
        if let Some(code) = code {
            reply.error(code);
        }
        self.send(Purpose::Answer(self.kind, code), reply, After::CleanUp(values))
    }

    fn send_status(&mut self, purpose: Purpose, code: c_int, after: After<'call>) -> Next<'call> {
        let mut reply = self.agent.session.take_reply();
        reply.error(code);
        self.send(purpose, reply, after)
    }

    fn send(&mut self, purpose: Purpose, reply: Reply, after: After<'call>) -> Next<'call> {
        self.replying.begin(self.agent, purpose, reply);
        self.state = State::Replying(after);
        self.write()
    }

    fn write(&mut self) -> Next<'call> {
        match self.replying.next() {
            Some(call) => Next::Call(call),
            None => self.sent(Ok(())),
        }
    }

    /// A part of the reply was written, or more can be.
    fn wrote(&mut self, answer: &SessionAnswer<'call>) -> Next<'call> {
        let SessionAnswer::Bytes(count, error) = *answer else {
            return self.write();
        };
        match self.replying.wrote(io_result(count, error)) {
            Ok(Some(call)) => Next::Call(call),
            Ok(None) => self.write(),
            Err(error) => self.sent(Err(error)),
        }
    }

    /// The reply is on its way, or cannot be sent.
    fn sent(&mut self, outcome: Result<()>) -> Next<'call> {
        self.replying.end(self.agent, outcome);
        let State::Replying(After::CleanUp(values)) = self.state else {
            return self.recycle();
        };
        // MAIN-20: whatever has become of the reply.
        match self.agent.ext.result_callback().zip(values) {
            Some((callback, values)) => self.call(State::CleaningUp, Call::CleanUp(callback, values)),
            None => self.served(),
        }
    }

    fn served(&mut self) -> Next<'call> {
        match self.agent.ext.done_callback() {
            Some(callback) => self.call(State::Finishing, Call::Done(callback)),
            None => self.recycle(),
        }
    }

    /// Is done with a PDU.
    fn recycle(&mut self) -> Next<'call> {
        if let Some(pdu) = self.pdu.take() {
            self.agent.session.recycle(pdu);
        }
        if self.once { Next::End(Ok(0)) } else { Next::Pdu }
    }

    /// Keeps nothing any more.
    fn let_go(&mut self) {
        self.receiving.give_up(self.agent.session, Failure::NoMemory);
        drop((self.pdu.take(), self.arguments.take()));
    }

    fn step(&mut self, mut next: Next<'call>) -> Step<Call<'call>, Result<c_int>> {
        loop {
            match next {
                Next::Call(call) => return Step::Call(call),
                Next::End(outcome) => {
                    self.let_go();
                    return Step::Done(outcome);
                }
                Next::Pdu => next = self.receive(),
            }
        }
    }
}

impl<'call> Machine for MainLoop<'call> {
    type Call = Call<'call>;
    type Answer = SessionAnswer<'call>;
    type Done = Result<c_int>;

    fn start(&mut self) -> Step<Call<'call>, Result<c_int>> {
        self.step(Next::Pdu)
    }

    fn resume(&mut self, answer: SessionAnswer<'call>) -> Step<Call<'call>, Result<c_int>> {
        let next = match (self.state, answer) {
            // A panic ends in an error reply, as that of a method does.
            (State::Fetching, SessionAnswer::Status(status)) => self.fetched(Error::check(status).map(drop)),
            (State::Receiving, answer) => self.received(&answer),
            (State::Checking, SessionAnswer::Status(verdict @ ..0)) => self.refuse(verdict),
            (State::Checking, _) => self.serve(),
            (State::Asking(request), answer) => self.answered(request, answer),
            (State::Replying(_), answer) => self.wrote(&answer),
            (State::CleaningUp, _) => self.served(),
            (State::Finishing, _) => self.recycle(),
            (State::Fetching, _) => self.fetched(Err(Error::GENERIC)),
        };
        self.step(next)
    }
}

/// What a system call has given.
fn io_result(count: isize, error: c_int) -> io::Result<usize> {
    usize::try_from(count).map_err(|_| io::Error::from_raw_os_error(error))
}
