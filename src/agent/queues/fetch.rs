//! A client fetches the events of a queue that it has not seen.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Filter, QUEUES, say_vacant};
use crate::abi::arg::{Cookie, Out};
use crate::abi::event_block::View;
use crate::abi::types::pmAtomValue;
use crate::agent::events;
use crate::error::{Error, Result};
use crate::events::{Form, Stamp};
use crate::fetch;
use crate::libpcp::log::{self, Debug};
use crate::log::Journal;
use crate::machine::{Machine, Step};
use crate::queue::{End, Visit};

type Event = crate::queue::Event<View>;

/// A call to one of the agent's functions; it answers with a status.
#[derive(Clone, Copy)]
pub(crate) enum Call {
    /// Asks the filter of the client about an event, which has a size: anything but 0 drops it.
    Filter(Apply, Cookie, View, usize),
    /// Has records made of an event of a size: they are added to the array whose handle is given.
    Decode(c_int, View, usize),
}

/// The function of a filter.
pub(crate) type Apply = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, usize) -> c_int;

/// Walks through the events that a client has not seen (QUEUE-31, QUEUE-32).
///
/// An event that is shown stays alive without anything of ours on the stack, so a decoder may leave
/// as it likes.
pub(crate) struct Fetch {
    visit: Visit,
    out: Out<pmAtomValue>,
    /// The event in hand.
    seen: Option<u64>,
    /// The filter that has to let the event in hand pass, if there is one.
    filter: Option<Filter>,
    /// The event in hand, while the filter is asked about it.
    filtered: Option<Event>,
    /// Whether a decoder has found something worth a record.
    found: bool,
    status: Result<()>,
}

impl Fetch {
    /// Begins a fetch of a client from a queue.
    ///
    /// # Errors
    /// `-EINVAL` for an unknown client or queue, and without a place for the array.
    pub(crate) fn new(handle: c_int, context: c_int, out: Out<pmAtomValue>) -> Result<Fetch> {
        if out.is_null() {
            return Err(Error::INVAL);
        }
        let visit = QUEUES.lock().begin(handle, context);
        let visit = visit.inspect_err(|_| {
            // Queue and client are looked up one after the other.
            say_vacant(handle);
            say_vacant(handle);
        })?;
        if log::debug(Debug::Libpmda) {
            let mut journal = Journal::new();
            QUEUES.lock().trace_fetch(&visit, &mut journal);
            log::flush(&mut journal);
        }
        Ok(Fetch {
            visit,
            out,
            seen: None,
            filter: None,
            filtered: None,
            found: false,
            status: Ok(()),
        })
    }

    /// The next event's first call, or the end.
    #[inline(always)]
    fn step(&mut self) -> Step<Call, Result<c_int>> {
        // A decoder may have released the array through its handle; then there is nothing to fill.
        if self.status.is_err() {
            return Step::Done(self.finish());
        }
        let Some(event) = next(&self.visit, self.seen.take(), &mut self.filter) else {
            return Step::Done(self.finish());
        };
        self.seen = Some(event.sequence);
        if self.filter.is_some() {
            return self.ask(event);
        }
        Step::Call(self.decode(event))
    }

    /// Asks the filter about the event in hand.
    #[inline(never)]
    fn ask(&mut self, event: Event) -> Step<Call, Result<c_int>> {
        self.filtered = Some(event);
        match self.filter.take() {
            Some(Filter {
                apply: Some(apply),
                data,
                ..
            }) => Step::Call(Call::Filter(apply, data, event.payload, event.size)),
            _ => self.judged(event, 0),
        }
    }

    /// The filter has judged the event in hand.
    #[inline(never)]
    fn judged(&mut self, event: Event, verdict: c_int) -> Step<Call, Result<c_int>> {
        if log::debug(Debug::Libpmda) {
            log::debug_line!("Clientq filter applied ({verdict})");
            if verdict != 0 && QUEUES.lock().alive(&self.visit) {
                say_event("Culling", event.size, event.payload);
            }
        }
        self.filtered = None;
        if verdict != 0 {
            return self.step();
        }
        if !QUEUES.lock().alive(&self.visit) {
            return Step::Done(self.finish());
        }
        Step::Call(self.decode(event))
    }

    /// Has the event in hand decoded.
    #[inline]
    fn decode(&self, event: Event) -> Call {
        if log::debug(Debug::Libpmda) {
            say_event("Adding", event.size, event.payload);
        }
        Call::Decode(self.visit.array, event.payload, event.size)
    }

    /// Ends the fetch, and stores the address of the array: NULL when no decoder has found anything
    /// worth a record.
    #[inline(never)]
    fn finish(&mut self) -> Result<c_int> {
        let end = QUEUES
            .lock()
            .finish(&self.visit, self.seen.take(), self.status.is_err());
        if let End::Missed(count @ 1..) = end {
            let count = c_int::try_from(count).unwrap_or(c_int::MAX);
            self.status = events::with(self.visit.array, |array| array.add_missed(now(), count));
            self.found |= self.status.is_ok();
        }
        let records = if self.found && end != End::Gone {
            events::address(self.visit.array, Form::Low)
        } else {
            ptr::null_mut()
        };
        self.out.set(pmAtomValue { vbp: records.cast() });
        self.status?;
        Ok(if records.is_null() {
            fetch::NO_VALUES
        } else {
            fetch::STATIC
        })
    }
}

impl Machine for Fetch {
    type Call = Call;
    type Answer = c_int;
    type Done = Result<c_int>;

    #[inline(always)]
    fn start(&mut self) -> Step<Call, Result<c_int>> {
        self.status = events::reset(self.visit.array);
        self.step()
    }

    #[inline(always)]
    fn answer(&mut self, status: c_int) -> Step<Call, Result<c_int>> {
        if let Some(event) = self.filtered {
            return self.judged(event, status);
        }
        match Error::check(status) {
            Ok(records) => self.found |= records != 0,
            Err(error) => self.status = Err(error),
        }
        self.step()
    }
}

/// The next event, taken under the lock, which is free again when this returns.
#[inline(always)]
fn next(visit: &Visit, seen: Option<u64>, filter: &mut Option<Filter>) -> Option<Event> {
    if log::debug(Debug::Libpmda) {
        // Nothing refers to the event that is passed on, so that it stays in registers.
        let event = next_loudly(visit, seen, filter)?;
        return Some(Event {
            sequence: event.sequence,
            size: event.size,
            payload: event.payload,
        });
    }
    QUEUES.lock().advance(visit, seen, filter)
}

/// [`next`], and what there is to say about the events before it.
#[cold]
#[inline(never)]
fn next_loudly(visit: &Visit, seen: Option<u64>, filter: &mut Option<Filter>) -> Option<Event> {
    let mut journal = Journal::new();
    let event = QUEUES.lock().advance_traced(visit, seen, filter, &mut journal);
    log::flush(&mut journal);
    event
}

/// Says what becomes of the event in hand.
#[cold]
#[inline(never)]
fn say_event(action: &str, size: usize, payload: View) {
    let excerpt = payload.excerpt(size);
    log::debug_line!("{action} event (sz={size}): \"{excerpt}\"");
}

/// The time for a record of missed events (QUEUE-35).
fn now() -> Stamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    Stamp::Low(seconds, i64::from(now.subsec_micros()))
}
