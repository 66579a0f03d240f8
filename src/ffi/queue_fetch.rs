//! Fetching from an event queue: `pmdaEventQueueRecords`.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::time::{SystemTime, UNIX_EPOCH};

use super::arg;
use super::event_block::View;
use super::events;
use super::guard::guard;
use super::mark::outside;
use super::queues::{FETCH_STATIC, Filter, QUEUES, pmdaEventDecodeCallBack, say_vacant};
use super::types::pmAtomValue;
use crate::error::{Error, Result};
use crate::events::{Form, Stamp};
use crate::libpcp::log::{self, Debug};
use crate::log::Journal;
use crate::queue::{End, Event, Visit};

/// `PMDA_FETCH_NOVALUES`.
const FETCH_NOVALUES: c_int = 0;

/// Gives a client the events of a queue that it has not seen (QUEUE-31, QUEUE-32). `decoder` is called for each
/// and adds records to the array whose handle it gets.
///
/// # Returns
/// `PMDA_FETCH_STATIC` with the array in `avp->vbp`, which the next call for the queue overwrites;
/// `PMDA_FETCH_NOVALUES` with NULL when there is nothing; the code of a decoder that failed, with NULL or what the
/// events before it gave; `-EINVAL` for an unknown client or queue, with `avp` as it was.
///
/// # Safety
/// `avp` is NULL or valid for one write; `decoder` and filters may be called with `data` and stored events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueRecords(
    handle: c_int,
    avp: *mut pmAtomValue,
    context: c_int,
    decoder: pmdaEventDecodeCallBack,
    data: *mut c_void,
) -> c_int {
    guard(|| {
        if avp.is_null() {
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
        // SAFETY: the caller's contract.
        let (records, status) = unsafe { fetch(&visit, decoder, data) };
        // SAFETY: not NULL, hence valid for one write by the caller's contract.
        unsafe { arg::store(avp, pmAtomValue { vbp: records.cast() }) };
        status?;
        Ok(if records.is_null() {
            FETCH_NOVALUES
        } else {
            FETCH_STATIC
        })
    })
}

/// Walks through the events that a client has not seen. Gives the address of the array, NULL when no decoder has
/// found anything worth a record, and how it ended.
///
/// An event that is shown stays alive without anything of ours on the stack, so a decoder may leave with `longjmp`.
///
/// # Safety
/// The decoder may be called with `cookie`.
unsafe fn fetch(visit: &Visit, decoder: pmdaEventDecodeCallBack, cookie: *mut c_void) -> (*mut c_void, Result<()>) {
    let mut found = false;
    let mut status = events::reset(visit.array);
    let mut shown = None;
    // A decoder may have released the array through its handle; then there is nothing to fill.
    while status.is_ok() {
        let Some(event) = next(visit, shown.take()) else { break };
        shown = Some(event.sequence);
        if let Some(filter) = event.filter {
            // SAFETY: the event is alive and nothing is locked.
            let verdict = unsafe { filter.verdict(event.payload.data(), event.size) };
            if log::debug(Debug::Libpmda) {
                log::debug_line!("Clientq filter applied ({verdict})");
                if verdict != 0 && QUEUES.lock().alive(visit) {
                    say_event("Culling", &event);
                }
            }
            if verdict != 0 {
                continue;
            }
            if !QUEUES.lock().alive(visit) {
                break;
            }
        }
        if log::debug(Debug::Libpmda) {
            say_event("Adding", &event);
        }
        // SAFETY: the caller's contract.
        match unsafe { decode(visit, &event, decoder, cookie) } {
            Ok(records) => found |= records != 0,
            Err(error) => status = Err(error),
        }
    }
    let end = QUEUES.lock().finish(visit, shown, status.is_err());
    match end {
        End::Gone => return (ptr::null_mut(), status),
        End::Missed(0) => {}
        End::Missed(count) => {
            let count = c_int::try_from(count).unwrap_or(c_int::MAX);
            status = events::add_missed(visit.array, now(), count);
            found |= status.is_ok();
        }
    }
    let records = if found {
        events::address(visit.array, Form::Low)
    } else {
        ptr::null_mut()
    };
    (records, status)
}

/// The next event, taken under the lock, which is free again when this returns.
#[inline]
fn next(visit: &Visit, seen: Option<u64>) -> Option<Event<View, Filter>> {
    if log::debug(Debug::Libpmda) {
        return next_loudly(visit, seen);
    }
    QUEUES.lock().advance(visit, seen)
}

/// [`next`], and what there is to say about the events before it.
#[cold]
#[inline(never)]
fn next_loudly(visit: &Visit, seen: Option<u64>) -> Option<Event<View, Filter>> {
    let mut journal = Journal::new();
    let event = QUEUES.lock().advance_traced(visit, seen, &mut journal);
    log::flush(&mut journal);
    event
}

/// Says what becomes of an event, which is alive.
#[cold]
#[inline(never)]
fn say_event(what: &str, event: &Event<View, Filter>) {
    let (size, excerpt) = (event.size, event.payload.excerpt(event.size));
    log::debug_line!("{what} event (sz={size}): \"{excerpt}\"");
}

/// Has an event decoded.
///
/// # Safety
/// The decoder may be called with `cookie`.
unsafe fn decode(
    visit: &Visit,
    event: &Event<View, Filter>,
    decoder: pmdaEventDecodeCallBack,
    cookie: *mut c_void,
) -> Result<c_int> {
    let decoder = decoder.ok_or(Error::INVAL)?;
    let (data, when) = (event.payload.data(), event.payload.when());
    // SAFETY: the event is alive, nothing is locked, and the caller's contract allows the call.
    Error::check(outside(|| unsafe {
        decoder(visit.array, data, event.size, when, cookie)
    }))
}

/// The time for a record of missed events (QUEUE-35).
fn now() -> Stamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    Stamp::Low(seconds, i64::from(now.subsec_micros()))
}
