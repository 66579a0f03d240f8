//! A client fetches the events of a queue that it has not seen.

use std::ffi::c_int;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::drive::machine::{Machine, Step};
use crate::events;
use crate::queues::Filter;
use crate::queues::log_vacant;
use crate::queues::with;
use crate::sys::libpcp::log::{self, Debug};
use crate::view::arg::{Cookie, Out};
use crate::view::event_block::View;
use crate::view::methods::Function;
use crate::view::types::{pmAtomValue, pmdaEventApplyFilterCallBack};
use pmda_core::error::{Error, Result};
use pmda_core::events::Stamp;
use pmda_core::fetch;
use pmda_core::log::Journal;
use pmda_core::queue::{End, FetchSession};

type Event = pmda_core::queue::Event<View>;

/// The function of a filter.
pub(crate) type Apply = Function<pmdaEventApplyFilterCallBack>;

/// Walks through the events that a client has not seen (QUEUE-31, QUEUE-32).
///
/// An event that is shown stays alive without anything of ours on the stack, so a decoder may leave
/// as it likes.
pub(crate) struct Fetch<'call> {
    session: FetchSession,
    out: Out<'call, pmAtomValue>,
    /// The event in hand.
    event: Option<Event>,
    /// The filter that has to let the event in hand pass, if there is one.
    filter: Option<Filter>,
    /// That filter's function, while it is being asked.
    asked: Option<(Apply, Cookie)>,
    /// Whether a decoder has found something worth a record.
    found: bool,
    status: Result<()>,
}

impl<'call> Fetch<'call> {
    /// Begins a fetch of a client from a queue.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, and without a place for the array.
    pub(crate) fn new(handle: c_int, context: c_int, out: Out<'call, pmAtomValue>) -> Result<Fetch<'call>> {
        if out.is_null() {
            return Err(Error::INVAL);
        }
        let session = with(|queues| queues.begin(handle, context))?;
        let session = session.inspect_err(|_| {
            // Queue and client are looked up one after the other.
            log_vacant(handle);
            log_vacant(handle);
        })?;
        if log::debug(Debug::Libpmda) {
            let mut journal = Journal::new();
            with(|queues| queues.trace_fetch(&session, &mut journal))?;
            log::flush(&mut journal);
        }
        Ok(Fetch {
            session,
            out,
            event: None,
            filter: None,
            asked: None,
            found: false,
            status: Ok(()),
        })
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
        } else {
            self.advance();
        }
        if self.filter.is_some() {
            return self.ask();
        }
        if self.event.is_none() {
            return self.finish();
        }
        Step::Call(())
    }

    /// Goes on to the next event. There are queues, as the fetch has begun.
    #[inline(always)]
    fn advance(&mut self) {
        let (session, event, filter) = (&self.session, &mut self.event, &mut self.filter);
        let _ = with(|queues| queues.advance(session, event, filter));
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

    /// Asks the filter about the event in hand.
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

    /// The filter has judged the event in hand.
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

    /// Ends the fetch, and stores the address of the array: NULL when no decoder has found anything
    /// worth a record.
    #[inline(never)]
    fn finish(&mut self) -> Step<(), Result<c_int>> {
        Step::Done(self.outcome())
    }

    fn outcome(&mut self) -> Result<c_int> {
        let shown = self.event.take().map(|event| event.sequence);
        let failed = self.status.is_err();
        let end = with(|queues| queues.finish(&self.session, shown, failed)).unwrap_or(End::Gone);
        if let End::Missed(count @ 1..) = end {
            let count = c_int::try_from(count).unwrap_or(c_int::MAX);
            self.status = events::with(self.session.array, |array| array.add_missed(now(), count));
            self.found |= self.status.is_ok();
        }
        let shown = self.found && end != End::Gone;
        let shown = shown && events::lend(self.session.array, self.out).is_ok();
        if !shown {
            self.out.lend(None);
        }
        self.status?;
        Ok(if shown { fetch::STATIC } else { fetch::NO_VALUES })
    }
}

impl<'call> Machine for Fetch<'call> {
    type Call = ();
    type Answer = c_int;
    type Done = Result<c_int>;

    #[inline(always)]
    fn start(&mut self) -> Step<(), Result<c_int>> {
        self.status = events::reset(self.session.array);
        if self.status.is_err() {
            return self.finish();
        }
        self.step()
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

/// Says what becomes of the event in hand.
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
