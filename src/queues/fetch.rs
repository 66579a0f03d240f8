//! A client fetches the events of a queue that it has not seen.

use std::ffi::c_int;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::drive::{Machine, Step};
use crate::queues::{Filter, log_vacant, with};
use crate::view::agent::Function;
use crate::view::arg::{Cookie, Out};
use crate::view::event_block::{Block, View};
use crate::view::types::{pmAtomValue, pmdaEventApplyFilterCallBack};
use pmda_core::error::{Error, Result};
use pmda_core::events::{Array, Arrays, Form, Stamp};
use pmda_core::fetch;
use pmda_core::queue::{End, Event, FetchSession, Queues};

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
    session: FetchSession<View>,
    out: Out<'call, pmAtomValue>,
    /// The filter that is asked about the current event; without one it is the decoder's turn.
    filter: Option<Filter>,
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
            filter: None,
            found: false,
            status: Ok(()),
        })
    }

    /// The filter that is called: it drops the event by anything but 0. If there is none, the
    /// decoder is called, which adds records to the array.
    #[inline(always)]
    pub(crate) fn asked_filter(&self) -> Option<(Apply, Cookie)> {
        let filter = self.filter?;
        Some((filter.apply?, filter.data))
    }

    /// The event that a call is about.
    #[inline(always)]
    pub(crate) fn event(&self) -> Option<Event<View>> {
        self.session.event
    }

    /// The handle of the array that decoders add records to.
    #[inline(always)]
    pub(crate) fn array(&self) -> c_int {
        self.session.array
    }

    /// Goes on to the next event: its first call, or the end.
    #[inline(always)]
    fn advance(&mut self, queues: &mut Queues<Block, Filter>, arrays: &mut Arrays) -> Step<(), Result<c_int>> {
        queues.advance(&mut self.session);
        if self.session.event.is_none() {
            return self.finish(queues, arrays);
        }
        if self.session.filtered {
            self.filter = queues.filter(&self.session);
        }
        Step::Call(())
    }

    /// The filter has judged the current event.
    #[inline(never)]
    fn judged(&mut self, verdict: c_int) -> Step<(), Result<c_int>> {
        self.filter = None;
        step(|queues, arrays| {
            let is_alive = queues.judged(&self.session, verdict);
            Ok(match verdict {
                0 if is_alive => Step::Call(()),
                0 => self.finish(queues, arrays),
                _ => self.advance(queues, arrays),
            })
        })
    }

    /// Ends the fetch, and stores the address of the array: NULL when no decoder has found anything
    /// worth a record.
    #[inline(never)]
    fn finish(&mut self, queues: &mut Queues<Block, Filter>, arrays: &mut Arrays) -> Step<(), Result<c_int>> {
        let end = queues.finish(&mut self.session, self.status.is_err());
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
        Step::Done(self.status.map(|()| outcome))
    }
}

/// A step of a fetch, under the lock.
#[inline(always)]
fn step(
    work: impl FnOnce(&mut Queues<Block, Filter>, &mut Arrays) -> Result<Step<(), Result<c_int>>>,
) -> Step<(), Result<c_int>> {
    with(work).unwrap_or_else(|error| Step::Done(Err(error)))
}

impl Machine for Fetch<'_> {
    type Call = ();
    type Answer = c_int;
    type Done = Result<c_int>;

    #[inline(always)]
    fn start(&mut self) -> Step<(), Result<c_int>> {
        let first = with(|queues, arrays| {
            self.session = queues.begin(self.handle, self.context)?;
            self.status = arrays.get(self.session.array).map(Array::reset);
            if self.status.is_err() {
                return Ok(self.finish(queues, arrays));
            }
            Ok(self.advance(queues, arrays))
        });
        first.unwrap_or_else(|error| {
            // Queue and client are looked up one after the other.
            log_vacant(self.handle);
            log_vacant(self.handle);
            Step::Done(Err(error))
        })
    }

    #[inline(always)]
    fn resume(&mut self, status: c_int) -> Step<(), Result<c_int>> {
        if self.filter.is_some() {
            return self.judged(status);
        }
        match Error::check(status) {
            Ok(records) => self.found |= records != 0,
            // Such as one that has released the array through its handle, so that there is nothing
            // to fill.
            Err(error) => self.status = Err(error),
        }
        step(|queues, arrays| {
            Ok(match self.status {
                Ok(()) => self.advance(queues, arrays),
                Err(_) => self.finish(queues, arrays),
            })
        })
    }
}

/// The time for a record of missed events (QUEUE-35).
fn now() -> Stamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    Stamp::Low(seconds, i64::from(now.subsec_micros()))
}
