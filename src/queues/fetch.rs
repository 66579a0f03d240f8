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
use pmda_core::queue::{End, FetchSession, Queues};

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
    /// The event that a call is about, and the array that decoders add records to.
    pub(crate) session: FetchSession<View, Filter>,
    out: Out<'call, pmAtomValue>,
    /// Whether a decoder has found something worth a record.
    found: bool,
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
            found: false,
        })
    }

    /// The filter that is called: it drops the event by anything but 0. If there is none, the
    /// decoder is called, which adds records to the array.
    #[inline(always)]
    pub(crate) fn asked_filter(&self) -> Option<(Apply, Cookie)> {
        let filter = self.session.filter?;
        Some((filter.apply?, filter.data))
    }

    /// Goes on to the next event: its first call, or the end.
    #[inline(always)]
    fn advance(&mut self, queues: &mut Queues<Block, Filter>, arrays: &mut Arrays) -> Step<(), Result<c_int>> {
        match queues.advance(&mut self.session) {
            None => Step::Call(()),
            Some(end) => self.finish(arrays, Ok(()), end),
        }
    }

    /// Goes no further.
    #[cold]
    #[inline(never)]
    fn break_off(
        &mut self,
        queues: &mut Queues<Block, Filter>,
        arrays: &mut Arrays,
        status: Result<()>,
    ) -> Step<(), Result<c_int>> {
        let end = queues.break_off(&mut self.session);
        self.finish(arrays, status, end)
    }

    /// The filter has judged the current event.
    #[inline(never)]
    fn judged(&mut self, verdict: c_int) -> Step<(), Result<c_int>> {
        self.session.filter = None;
        step(|queues, arrays| {
            let is_alive = queues.judged(&self.session, verdict);
            Ok(match verdict {
                0 if is_alive => Step::Call(()),
                0 => self.break_off(queues, arrays, Ok(())),
                _ => self.advance(queues, arrays),
            })
        })
    }

    /// Ends the fetch, and stores the address of the array: NULL when no decoder has found anything
    /// worth a record.
    #[inline(always)]
    fn finish(&mut self, arrays: &mut Arrays, mut status: Result<()>, end: End) -> Step<(), Result<c_int>> {
        let mut array = arrays.get(self.session.array);
        if let End::Missed(count @ 1..) = end {
            status = match &mut array {
                Ok(array) => add_missed(array, count),
                Err(error) => Err(*error),
            };
            self.found |= status.is_ok();
        }
        let shown = array.ok().filter(|_| self.found && end != End::Gone);
        let outcome = if shown.is_some() {
            fetch::STATIC
        } else {
            fetch::NO_VALUES
        };
        self.out.lend(shown.map(|array| array.publish(Form::Low)));
        Step::Done(status.map(|()| outcome))
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
            Ok(match arrays.get(self.session.array).map(Array::reset) {
                Ok(()) => self.advance(queues, arrays),
                Err(error) => self.break_off(queues, arrays, Err(error)),
            })
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
        if self.session.filter.is_some() {
            return self.judged(status);
        }
        step(|queues, arrays| {
            Ok(match Error::check(status) {
                Ok(records) => {
                    self.found |= records != 0;
                    self.advance(queues, arrays)
                }
                // Such as one that has released the array through its handle, so that there is
                // nothing to fill.
                Err(error) => self.break_off(queues, arrays, Err(error)),
            })
        })
    }
}

/// Adds the record of missed events (QUEUE-35).
#[cold]
fn add_missed(array: &mut Array, count: u64) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let stamp = Stamp::Low(seconds, i64::from(now.subsec_micros()));
    array.add_missed(stamp, c_int::try_from(count).unwrap_or(c_int::MAX))
}
