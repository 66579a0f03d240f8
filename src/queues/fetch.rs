//! The work of `pmdaEventQueueRecords`: a client fetches the events of a queue that it has not
//! seen.

use std::ffi::c_int;
use std::ptr::NonNull;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::queues::{Filter, log_vacant, with};
use crate::state::{self, Globals};
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::view::event_block::{EventBlock, EventView};
use pmda_core::constants::{PMDA_FETCH_NOVALUES, PMDA_FETCH_STATIC};
use pmda_core::error::{Error, Result};
use pmda_core::events::{EventArray, EventArrays, Form, Stamp};
use pmda_core::queue::{End, FetchSession, FetchState, Queues};

/// Walks through the events that a client has not seen (QUEUE-31, QUEUE-32).
///
/// There is one step for each event, and none for the start and the end: the fetch begins in the
/// step that finds its first event, and ends in the one that passes its last.
///
/// An event that is shown to a filter or decoder stays alive, although this structure owns nothing
/// and has nothing to drop: so the callback may leave as it likes.
pub(crate) struct QueueFetch {
    /// The event that a call is about, and the array that decoders add records to.
    pub(crate) session: FetchSession<EventView, Filter>,
    /// The content of the caller's atom in the end, if any: an array of the state, or NULL.
    pub(crate) shown: Option<Option<NonNull<[u8]>>>,
    /// The outcome in the end.
    pub(crate) status: Result<c_int>,
    /// The answers of all decoders: not 0 if one has found something worth a record.
    records: c_int,
}

impl QueueFetch {
    /// A fetch of a client from a queue, which is still to begin.
    #[inline(always)]
    pub(crate) fn new(handle: c_int, context: c_int) -> QueueFetch {
        QueueFetch {
            session: FetchSession::new(handle, context),
            shown: None,
            status: Ok(PMDA_FETCH_NOVALUES),
            records: 0,
        }
    }

    /// Ends the fetch after a decoder has failed. Returns false: there is no call to be made.
    #[cold]
    fn break_off(&mut self, queues: &mut Queues<EventBlock, Filter>, arrays: &mut EventArrays, error: Error) -> bool {
        queues.break_off(&mut self.session);
        self.outcome(arrays, Err(error))
    }

    /// Returns true if there is a call to be made about the event that is shown.
    #[inline(always)]
    fn outcome(&mut self, arrays: &mut EventArrays, status: Result<()>) -> bool {
        match self.session.state {
            FetchState::Showing(..) => true,
            FetchState::Ended(end) => self.end(arrays, end, status),
        }
    }

    /// At the end of the fetch stores the address of the array: NULL when no decoder has found
    /// anything worth a record. There is no call to be made then.
    #[inline(always)]
    fn end(&mut self, arrays: &mut EventArrays, end: End, mut status: Result<()>) -> bool {
        let mut array = arrays.get(self.session.array);
        if let End::Missed(count @ 1..) = end {
            status = match &mut array {
                Ok(array) => add_missed(array, count),
                Err(error) => Err(*error),
            };
            self.records |= c_int::from(status.is_ok());
        }
        let shown = array.ok().filter(|_| self.records != 0 && end != End::Gone);
        let outcome = if shown.is_some() {
            PMDA_FETCH_STATIC
        } else {
            PMDA_FETCH_NOVALUES
        };
        self.shown = Some(shown.map(|array| NonNull::from(array.publish(Form::Low))));
        self.status = status.map(|()| outcome);
        false
    }

    /// Starts the fetch. Returns whether there is a call to be made.
    #[inline(always)]
    pub(crate) fn start(&mut self, token: &mut Token) -> bool {
        let first = with(token, |queues, arrays| {
            queues.begin(&mut self.session, |array| arrays.get(array).map(EventArray::reset))?;
            Ok(self.outcome(arrays, Ok(())))
        });
        first.unwrap_or_else(|error| {
            if error == Error::NOCONTEXT {
                // The array was released through its handle.
                self.shown = Some(None);
            }
            // Queue and client are looked up one after the other.
            log_vacant(token, self.session.handle);
            log_vacant(token, self.session.handle);
            self.status = Err(error);
            false
        })
    }

    /// [`QueueFetch::resume`] after a decoder, as a short call. Returns true if the next event is to
    /// be decoded. Otherwise the fetch has ended, or it still shows the event, as nothing was done.
    #[inline(never)]
    pub(crate) fn resume_short(&mut self, answer: c_int) -> bool {
        let next = state::short(|Globals { queues, arrays, .. }| {
            if answer < 0 || log::debug(Debug::Libpmda) {
                return None;
            }
            let is_showing = queues.get_mut()?.pass(&mut self.session)?;
            self.records |= answer;
            Some(is_showing || self.end(arrays, End::Missed(0), Ok(())))
        });
        next == Some(true)
    }

    /// Goes on with the answer to the last call. Returns whether there is another one.
    #[inline(never)]
    pub(crate) fn resume(&mut self, token: &mut Token, answer: c_int) -> bool {
        let next = with(token, |queues, arrays| {
            if let FetchState::Showing(_, Some(_)) = self.session.state {
                queues.judged(&mut self.session, answer);
                return Ok(self.outcome(arrays, Ok(())));
            }
            Ok(match Error::check(answer) {
                Ok(records) => {
                    self.records |= records;
                    queues.advance(&mut self.session);
                    self.outcome(arrays, Ok(()))
                }
                Err(error) => self.break_off(queues, arrays, error),
            })
        });
        next.unwrap_or_else(|error| {
            self.status = Err(error);
            false
        })
    }
}

/// Adds a record that says, with the present time, how many events the client has missed
/// (QUEUE-35).
///
/// # Errors
/// Those of [`EventArray::add_missed`].
#[cold]
fn add_missed(array: &mut EventArray, count: u64) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let stamp = Stamp::Low(seconds, i64::from(now.subsec_micros()));
    array.add_missed(stamp, c_int::try_from(count).unwrap_or(c_int::MAX))
}
