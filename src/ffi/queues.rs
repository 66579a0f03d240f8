//! Event queues and their clients: the `pmdaEvent…Queue…` and `pmdaEvent…Client…` functions.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;
use std::time::{SystemTime, UNIX_EPOCH};

use super::lock::Mutex;
use libc::timeval;

use super::arg;
use super::event_block::Block;
use super::events;
use super::guard::guard;
use super::types::pmAtomValue;
use crate::error::{Error, Result};
use crate::events::{Form, Stamp};
use crate::libpcp::log;
use crate::log::Journal;
use crate::queue::{Counters, End, Event, Leftovers, Queues, Visit};

/// Makes records of an event: array, data, size, time, cookie.
pub type pmdaEventDecodeCallBack =
    Option<unsafe extern "C" fn(c_int, *mut c_void, usize, *mut timeval, *mut c_void) -> c_int>;
/// Non-zero drops an event for a client: filter, data, size.
pub type pmdaEventApplyFilterCallBack = Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int>;
/// Frees a filter.
pub type pmdaEventReleaseFilterCallBack = Option<unsafe extern "C" fn(*mut c_void)>;

/// `PMDA_FETCH_STATIC`: the atom is filled, and the library keeps what it points to.
const FETCH_STATIC: c_int = 1;
/// `PMDA_FETCH_NOVALUES`.
const FETCH_NOVALUES: c_int = 0;

/// A filter as the agent gave it.
#[derive(Clone, Copy)]
struct Filter {
    data: *mut c_void,
    apply: pmdaEventApplyFilterCallBack,
    release: pmdaEventReleaseFilterCallBack,
}

// SAFETY: the pointers are only handed back to the agent's own functions, on the thread that called us.
unsafe impl Send for Filter {}

impl Filter {
    /// Calls the agent's release function if it has one, with NULL if there is no filter (E-12, E-13).
    fn release(self) {
        if let Some(release) = self.release {
            // SAFETY: the agent gave function and argument together, and nothing is locked.
            unsafe { release(self.data) };
        }
    }
}

/// All queues and clients of the process. Nothing of C is called while it is locked; the lock of the event arrays
/// may be taken inside of it, never the other way round.
static QUEUES: Mutex<Queues<Block, Filter>> = Mutex::new(Queues::new());

/// Cleans up behind clients and queues that have gone; call it when nothing is locked.
fn dispose(leftovers: Leftovers<Filter>) {
    for array in leftovers.arrays {
        // Somebody may have released it through its handle, which is a small number and no secret.
        let _ = events::release(array);
    }
    for filter in leftovers.filters {
        filter.release();
    }
}

/// Fills the leading bytes of an atom from the counters of a queue (QUEUE-5).
///
/// # Safety
/// `atom` is NULL or valid for one write.
unsafe fn counter<T>(handle: c_int, atom: *mut pmAtomValue, value: impl FnOnce(Counters) -> T) -> Result<c_int> {
    const { assert!(size_of::<T>() <= size_of::<pmAtomValue>()) };
    let counters = QUEUES.lock().counters(handle)?;
    if atom.is_null() {
        return Err(Error::INVAL);
    }
    // SAFETY: not NULL, hence valid for one write; every member of the union starts where it starts.
    unsafe { arg::store(atom.cast::<T>(), value(counters)) };
    Ok(FETCH_STATIC)
}

/// Makes a queue that keeps at most `maxmemory` bytes of events (QUEUE-1). The name is copied.
///
/// # Returns
/// A handle; `-EINVAL` without a name or memory, `-EEXIST` when the name is in use.
///
/// # Safety
/// `name` is NULL or a terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventNewQueue(name: *const c_char, maxmemory: usize) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { pmdaEventNewActiveQueue(name, maxmemory, 0) }
}

/// Makes a queue that keeps events for `nclients` clients that will fetch later (QUEUE-1, E-8).
///
/// # Returns
/// As `pmdaEventNewQueue`.
///
/// # Safety
/// As `pmdaEventNewQueue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventNewActiveQueue(name: *const c_char, maxmemory: usize, nclients: c_uint) -> c_int {
    guard(|| {
        // SAFETY: the caller's contract.
        let name = unsafe { arg::bytes(name) }.ok_or(Error::INVAL)?;
        QUEUES.lock().create(name, maxmemory, nclients, events::create)
    })
}

/// Lets a queue go as soon as it has no clients (QUEUE-40).
///
/// # Returns
/// 0, or `-EINVAL` for a handle that is not in use.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventQueueShutdown(handle: c_int) -> c_int {
    guard(|| {
        let leftovers = QUEUES.lock().shutdown(handle)?;
        dispose(leftovers);
        Ok(())
    })
}

/// Looks a queue up by name (QUEUE-3).
///
/// # Returns
/// Its handle, or `-ESRCH`.
///
/// # Safety
/// `name` is NULL or a terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueHandle(name: *const c_char) -> c_int {
    guard(|| {
        // SAFETY: the caller's contract.
        let name = unsafe { arg::bytes(name) }.ok_or(Error::os(libc::ESRCH))?;
        QUEUES.lock().find(name)
    })
}

/// Appends a copy of an event to a queue (QUEUE-10). Events that are too large, or that nobody listens to, are
/// dropped; they count nevertheless (E-19).
///
/// # Returns
/// 0; `-EINVAL` for a handle that is not in use, or NULL for what is to be copied; `-ENOMEM`.
///
/// # Safety
/// `data` is NULL or readable for `bytes` bytes; `tv` is NULL or points to a `struct timeval`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueAppend(
    handle: c_int,
    data: *mut c_void,
    bytes: usize,
    tv: *mut timeval,
) -> c_int {
    guard(|| {
        let mut journal = Journal::new();
        // SAFETY: the caller's contract.
        let store = || unsafe { Block::copy(data, bytes, tv) };
        let done = QUEUES.lock().append(handle, bytes, &mut journal, store);
        log::flush(&mut journal);
        done
    })
}

/// Stores the number of clients that a queue keeps events for in `avp->ul` (QUEUE-5).
///
/// # Returns
/// `PMDA_FETCH_STATIC`, or `-EINVAL`.
///
/// # Safety
/// `avp` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueClients(handle: c_int, avp: *mut pmAtomValue) -> c_int {
    // SAFETY: the caller's contract.
    guard(|| unsafe { counter(handle, avp, |counters| counters.clients) })
}

/// Stores the number of events that came to a queue in `avp->ul` (QUEUE-5).
///
/// # Returns
/// `PMDA_FETCH_STATIC`, or `-EINVAL`.
///
/// # Safety
/// `avp` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueCounter(handle: c_int, avp: *mut pmAtomValue) -> c_int {
    // SAFETY: the caller's contract.
    guard(|| unsafe { counter(handle, avp, |counters| counters.count) })
}

/// Stores the number of bytes that came to a queue in `avp->ull` (QUEUE-5).
///
/// # Returns
/// `PMDA_FETCH_STATIC`, or `-EINVAL`.
///
/// # Safety
/// `avp` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueBytes(handle: c_int, avp: *mut pmAtomValue) -> c_int {
    // SAFETY: the caller's contract.
    guard(|| unsafe { counter(handle, avp, |counters| counters.bytes) })
}

/// Stores the number of bytes that a queue keeps in `avp->ull` (QUEUE-5).
///
/// # Returns
/// `PMDA_FETCH_STATIC`, or `-EINVAL`.
///
/// # Safety
/// `avp` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueMemory(handle: c_int, avp: *mut pmAtomValue) -> c_int {
    // SAFETY: the caller's contract.
    guard(|| unsafe { counter(handle, avp, |counters| counters.memory) })
}

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
        let visit = QUEUES.lock().begin(handle, context)?;
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
/// # Safety
/// The decoder may be called with `cookie`.
unsafe fn fetch(visit: &Visit, decoder: pmdaEventDecodeCallBack, cookie: *mut c_void) -> (*mut c_void, Result<()>) {
    let mut found = false;
    let mut status = events::reset(visit.array);
    let mut seen = None;
    // A decoder may have released the array through its handle; then there is nothing to fill.
    while status.is_ok() {
        let Some(event) = next(visit, seen) else { break };
        if !passes(&event) {
            seen = Some(event.sequence);
            continue;
        }
        if event.filter.is_some() && !QUEUES.lock().alive(visit) {
            break;
        }
        // SAFETY: the caller's contract.
        match unsafe { decode(visit, &event, decoder, cookie) } {
            Ok(records) => {
                found |= records != 0;
                seen = Some(event.sequence);
            }
            Err(error) => status = Err(error),
        }
    }
    let end = if status.is_ok() {
        QUEUES.lock().finish(visit)
    } else if QUEUES.lock().alive(visit) {
        End::Missed(0)
    } else {
        End::Gone
    };
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
fn next(visit: &Visit, seen: Option<u64>) -> Option<Event<Block, Filter>> {
    QUEUES.lock().advance(visit, seen)
}

/// Whether the client's filter lets the event pass.
fn passes(event: &Event<Block, Filter>) -> bool {
    let Some(filter) = event.filter else { return true };
    // SAFETY: the agent gave function and argument together; the event is alive and nothing is locked.
    let culled = filter
        .apply
        .is_some_and(|apply| unsafe { apply(filter.data, event.payload.data(), event.size) } != 0);
    !culled
}

/// Has an event decoded.
///
/// # Safety
/// The decoder may be called with `cookie`.
unsafe fn decode(
    visit: &Visit,
    event: &Event<Block, Filter>,
    decoder: pmdaEventDecodeCallBack,
    cookie: *mut c_void,
) -> Result<c_int> {
    let decoder = decoder.ok_or(Error::INVAL)?;
    let (data, when) = (event.payload.data(), event.payload.when());
    // SAFETY: the event is alive, nothing is locked, and the caller's contract allows the call.
    Error::check(unsafe { decoder(visit.array, data, event.size, when, cookie) })
}

/// The time for a record of missed events (QUEUE-35).
fn now() -> Stamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    Stamp::Low(seconds, i64::from(now.subsec_micros()))
}

/// Registers a client; a known one keeps its place (QUEUE-20).
///
/// # Returns
/// The client's slot.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventNewClient(context: c_int) -> c_int {
    guard(|| QUEUES.lock().register(context))
}

/// Ends a client: its filters are released, and queues that were shut down go with their last client (QUEUE-26).
///
/// # Returns
/// 0, for unknown clients too.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventEndClient(context: c_int) -> c_int {
    guard(|| {
        let leftovers = QUEUES.lock().end(context);
        dispose(leftovers);
        Ok(())
    })
}

/// Stores the number of registered clients in `avp->ul` (QUEUE-21).
///
/// # Returns
/// `PMDA_FETCH_STATIC`, or `-EINVAL` for NULL.
///
/// # Safety
/// `avp` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventClients(avp: *mut pmAtomValue) -> c_int {
    guard(|| {
        if avp.is_null() {
            return Err(Error::INVAL);
        }
        let count = QUEUES.lock().clients();
        // SAFETY: not NULL, hence valid for one write by the caller's contract.
        unsafe { arg::store(avp.cast::<u32>(), count) };
        Ok(FETCH_STATIC)
    })
}

/// Installs a filter for a client and a queue, and grants access; the filter before it is released (QUEUE-25). A
/// NULL filter clears it.
///
/// # Returns
/// 0; `-EINVAL` for an unknown client or queue, or a filter without `apply` (E-12).
///
/// # Safety
/// `apply` and `release` may be called with `filter` until it is replaced or the client or queue has gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventSetFilter(
    context: c_int,
    handle: c_int,
    filter: *mut c_void,
    apply: pmdaEventApplyFilterCallBack,
    release: pmdaEventReleaseFilterCallBack,
) -> c_int {
    guard(|| {
        if !filter.is_null() && apply.is_none() {
            return Err(Error::INVAL);
        }
        let new = Filter {
            data: filter,
            apply,
            release,
        };
        let old = QUEUES.lock().set_filter(context, handle, new, !filter.is_null())?;
        if let Some(old) = old {
            old.release();
        }
        Ok(())
    })
}

/// Grants (non-zero) or denies a client the events of a queue; at first they are denied (QUEUE-24).
///
/// # Returns
/// 0, or `-EINVAL` for an unknown client or queue.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventSetAccess(context: c_int, handle: c_int, allow: c_int) -> c_int {
    guard(|| QUEUES.lock().set_access(context, handle, allow != 0))
}
