//! A client fetches the events of a queue that it has not seen.

use std::ffi::c_int;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::drive::{Machine, Step};
use crate::queues::Filter;
use crate::queues::log_vacant;
use crate::queues::{with, with_arrays};
use crate::sys::libpcp::log::{self, Debug};
use crate::view::agent::Function;
use crate::view::arg::{Cookie, Out};
use crate::view::event_block::{Block, View};
use crate::view::types::{pmAtomValue, pmdaEventApplyFilterCallBack};
use pmda_core::error::{Error, Result};
use pmda_core::events::{Array, Arrays, Form, Stamp};
use pmda_core::fetch;
use pmda_core::log::Journal;
use pmda_core::queue::{End, FetchSession, Queues};

type Event = pmda_core::queue::Event<View>;

/// The function of a filter.
pub(crate) type Apply = Function<pmdaEventApplyFilterCallBack>;

/// Walks through the events that a client has not seen (QUEUE-31, QUEUE-32).
///
/// The fetch begins under the lock of its first step, and ends under that of the last: most fetches
/// find one event.
///
/// An event that is shown stays alive without anything of ours on the stack, so a decoder may leave
/// as it likes.
pub(crate) struct Fetch<'call> {
    handle: c_int,
    context: c_int,
    session: FetchSession,
    out: Out<'call, pmAtomValue>,
    /// The current event.
    event: Option<Event>,
    /// The filter that has to let the current event pass, if there is one.
    filter: Option<Filter>,
    /// That filter's function, while it is being asked.
    asked: Option<(Apply, Cookie)>,
    /// Whether a decoder has found something worth a record.
    found: bool,
    status: Result<()>,
}

impl<'call> Fetch<'call> {
    /// A fetch of a client from a queue, which is still to begin.
    ///
    /// # Errors
    /// `-EINVAL` without a place for the array.
    #[inline(always)]
    pub(crate) fn new(handle: c_int, context: c_int, out: Out<'call, pmAtomValue>) -> Result<Fetch<'call>> {
        if out.is_null() {
            return Err(Error::INVAL);
        }
        Ok(Fetch {
            handle,
            context,
            session: FetchSession::NONE,
            out,
            event: None,
            filter: None,
            asked: None,
            found: false,
            status: Ok(()),
        })
    }

    /// Begins the fetch.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue.
    #[inline(always)]
    fn begin(&mut self, queues: &mut Queues<Block, Filter>, arrays: &mut Arrays) -> Result<()> {
        self.session = queues.begin(self.handle, self.context)?;
        self.status = arrays.get(self.session.array).map(Array::reset);
        Ok(())
    }

    /// Goes on to the next event; at the end that is the outcome.
    #[inline(always)]
    fn advance(&mut self, queues: &mut Queues<Block, Filter>, arrays: &mut Arrays) -> Option<Result<c_int>> {
        queues.advance(&self.session, &mut self.event, &mut self.filter);
        self.event.is_none().then(|| self.outcome(queues, arrays))
    }

    /// Begins the fetch, says so, and takes its first step.
    #[cold]
    #[inline(never)]
    fn start_logged(&mut self) -> Step<(), Result<c_int>> {
        let begun = with_arrays(|queues, arrays| self.begin(queues, arrays)).and_then(|begun| begun);
        if let Err(error) = begun {
            // Queue and client are looked up one after the other.
            log_vacant(self.handle);
            log_vacant(self.handle);
            return Step::Done(Err(error));
        }
        let mut journal = Journal::new();
        if let Err(error) = with(|queues| queues.trace_fetch(&self.session, &mut journal)) {
            return Step::Done(Err(error));
        }
        log::flush(&mut journal);
        if self.status.is_ok() {
            self.advance_logged();
        }
        self.call()
    }

    /// The filter that is called: it drops the event by anything but 0. If there is none, the
    /// decoder is called, which adds records to the array.
    #[inline(always)]
    pub(crate) fn asked_filter(&self) -> Option<(Apply, Cookie)> {
        self.asked
    }

    /// The event that a call is about.
    #[inline(always)]
    pub(crate) fn event(&self) -> Option<Event> {
        self.event
    }

    /// The handle of the array that decoders add records to.
    #[inline(always)]
    pub(crate) fn array(&self) -> c_int {
        self.session.array
    }

    /// The next event's first call, or the end.
    #[inline(always)]
    fn step(&mut self) -> Step<(), Result<c_int>> {
        if log::debug(Debug::Libpmda) {
            self.advance_logged();
            return self.call();
        }
        match with_arrays(|queues, arrays| self.advance(queues, arrays)) {
            Ok(None) => self.call(),
            Ok(Some(outcome)) => Step::Done(outcome),
            Err(error) => Step::Done(Err(error)),
        }
    }

    /// The first call for the current event, or the end.
    #[inline(always)]
    fn call(&mut self) -> Step<(), Result<c_int>> {
        if self.filter.is_some() {
            return self.ask();
        }
        if self.event.is_none() {
            return self.finish();
        }
        Step::Call(())
    }

    /// Goes on to the next event, and says what there is to say about those on the way, and what
    /// becomes of this one if no filter decides that.
    #[cold]
    #[inline(never)]
    fn advance_logged(&mut self) {
        let mut journal = Journal::new();
        let (session, event, filter) = (&self.session, &mut self.event, &mut self.filter);
        let _ = with(|queues| queues.advance_traced(session, event, filter, &mut journal));
        log::flush(&mut journal);
        if let (Some(event), None) = (self.event, &self.filter) {
            log_event("Adding", event);
        }
    }

    /// Asks the filter about the current event.
    #[inline(never)]
    fn ask(&mut self) -> Step<(), Result<c_int>> {
        match self.filter.take() {
            Some(Filter {
                apply: Some(apply),
                data,
                ..
            }) => {
                self.asked = Some((apply, data));
                Step::Call(())
            }
            _ => self.judged(0),
        }
    }

    /// The filter has judged the current event.
    #[inline(never)]
    fn judged(&mut self, verdict: c_int) -> Step<(), Result<c_int>> {
        self.asked = None;
        let debug = log::debug(Debug::Libpmda);
        if debug {
            log::debug_line!("Clientq filter applied ({verdict})");
        }
        let is_alive = with(|queues| queues.alive(&self.session)) == Ok(true);
        if let (true, true, Some(event)) = (debug, is_alive, self.event) {
            log_event(if verdict == 0 { "Adding" } else { "Culling" }, event);
        }
        if verdict != 0 {
            return self.step();
        }
        if !is_alive {
            return self.finish();
        }
        Step::Call(())
    }

    /// Ends the fetch.
    #[inline(never)]
    fn finish(&mut self) -> Step<(), Result<c_int>> {
        let outcome = with_arrays(|queues, arrays| self.outcome(queues, arrays));
        Step::Done(outcome.and_then(|outcome| outcome))
    }

    /// Ends the fetch, and stores the address of the array: NULL when no decoder has found anything
    /// worth a record.
    #[inline(never)]
    fn outcome(&mut self, queues: &mut Queues<Block, Filter>, arrays: &mut Arrays) -> Result<c_int> {
        let shown = self.event.take().map(|event| event.sequence);
        let end = queues.finish(&self.session, shown, self.status.is_err());
        let mut array = arrays.get(self.session.array);
        if let End::Missed(count @ 1..) = end {
            let count = c_int::try_from(count).unwrap_or(c_int::MAX);
            self.status = match &mut array {
                Ok(array) => array.add_missed(now(), count),
                Err(error) => Err(*error),
            };
            self.found |= self.status.is_ok();
        }
        let shown = array.ok().filter(|_| self.found && end != End::Gone);
        let outcome = if shown.is_some() {
            fetch::STATIC
        } else {
            fetch::NO_VALUES
        };
        self.out.lend(shown.map(|array| array.publish(Form::Low)));
        self.status.map(|()| outcome)
    }
}

impl Machine for Fetch<'_> {
    type Call = ();
    type Answer = c_int;
    type Done = Result<c_int>;

    #[inline(always)]
    fn start(&mut self) -> Step<(), Result<c_int>> {
        if log::debug(Debug::Libpmda) {
            return self.start_logged();
        }
        let first = with_arrays(|queues, arrays| {
            self.begin(queues, arrays)?;
            if self.status.is_err() {
                return Ok(Some(self.outcome(queues, arrays)));
            }
            Ok(self.advance(queues, arrays))
        });
        match first.and_then(|first| first) {
            Ok(None) => self.call(),
            Ok(Some(outcome)) => Step::Done(outcome),
            Err(error) => Step::Done(Err(error)),
        }
    }

    #[inline(always)]
    fn resume(&mut self, status: c_int) -> Step<(), Result<c_int>> {
        if self.asked.is_some() {
            return self.judged(status);
        }
        match Error::check(status) {
            Ok(records) => self.found |= records != 0,
            Err(error) => {
                // Such as one that has released the array through its handle, so that there is
                // nothing to fill.
                self.status = Err(error);
                return self.finish();
            }
        }
        self.step()
    }
}

/// Logs what becomes of the current event.
#[cold]
#[inline(never)]
fn log_event(action: &str, event: Event) {
    let Event { size, payload, .. } = event;
    let excerpt = payload.excerpt(size);
    log::debug_line!("{action} event (sz={size}): \"{excerpt}\"");
}

/// The time for a record of missed events (QUEUE-35).
fn now() -> Stamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    Stamp::Low(seconds, i64::from(now.subsec_micros()))
}
