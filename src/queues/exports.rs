//! Event queues and their clients: the `pmdaEvent…Queue…` and `pmdaEvent…Client…` functions.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_void};

use crate::boundary::{CReturn, Guarded, guard, guarded, returned, try_guarded};
use crate::queues::{self, Filter, QueueFetch, Release, store, with};
use crate::sys::lock::Token;
use crate::sys::refusal::Refusable;
use crate::view::arg::{CText, Cookie, Needed, Out};
use crate::view::event_block::NewEvent;
use crate::view::interface::Function;
use crate::view::types::{
    pmAtomValue, pmdaEventApplyFilterCallBack, pmdaEventDecodeCallBack, pmdaEventReleaseFilterCallBack, timeval,
};
use pmda_core::error::{Error, Result};
use pmda_core::queue::{Event, FetchState};

/// Calls the release function of each filter that `begin` has ended.
///
/// # Errors
/// Those of `begin` and of [`guarded`].
fn release_filters(begin: impl FnOnce(&mut Token) -> Result<Release>) -> Guarded<c_int> {
    let mut filters = try_guarded(begin)?;
    while let Some((release, filter)) = guarded(|token| filters.next(token))? {
        // SAFETY: the agent gave function and argument together, and promised that the function may
        // be called with it once the filter has ended. `next` returns each filter once, and no
        // queue has it any more. This frame has nothing to drop.
        unsafe { release(filter.0) };
    }
    Ok(0)
}

/// Makes a queue that keeps at most `maxmemory` bytes of events (QUEUE-1). The name is copied.
///
/// # Returns
/// A handle; `-EINVAL` without a name or memory, `-EEXIST` when the name is in use.
///
/// # Safety
/// `name` is NULL or a terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventNewQueue(name: Option<CText<'_>>, maxmemory: usize) -> c_int {
    guard(|token| -> Refusable<c_int> {
        let name = name.needed(&"name")?;
        Ok(queues::create(token, name.bytes(), maxmemory, 0)?)
    })
}

/// Makes a queue that keeps events for `nclients` clients that will fetch later (QUEUE-1, E-8).
///
/// # Returns
/// As `pmdaEventNewQueue`.
///
/// # Safety
/// As `pmdaEventNewQueue`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventNewActiveQueue(name: Option<CText<'_>>, maxmemory: usize, nclients: c_uint) -> c_int {
    guard(|token| -> Refusable<c_int> {
        let name = name.needed(&"name")?;
        Ok(queues::create(token, name.bytes(), maxmemory, nclients)?)
    })
}

/// Lets a queue go as soon as it has no clients (QUEUE-40).
///
/// # Returns
/// 0, or `-EINVAL` for a handle that is not in use.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pmdaEventQueueShutdown(handle: c_int) -> c_int {
    returned(release_filters(|token| Release::queue(token, handle)))
}

/// Looks a queue up by name (QUEUE-3).
///
/// # Returns
/// Its handle, or `-ESRCH`.
///
/// # Safety
/// `name` is NULL or a terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueHandle(name: Option<CText<'_>>) -> c_int {
    guard(|token| -> Refusable<c_int> {
        let name = name.needed_or(&"name", Error::ESRCH)?;
        Ok(with(token, |queues, _| queues.find(name.bytes()))?)
    })
}

/// Appends a copy of an event to a queue (QUEUE-10). Events that are too large, or that nobody
/// listens to, are dropped; they count nevertheless (E-19).
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
    // SAFETY: NULL or memory of these sizes, as the caller promises. It is copied before this
    // function returns.
    let event = unsafe { NewEvent::new(data, bytes, tv) };
    guard(|token| queues::append(token, handle, event))
}

/// Stores the number of clients that a queue keeps events for in `avp->ul` (QUEUE-5).
///
/// # Returns
/// `PMDA_FETCH_STATIC`, or `-EINVAL`.
///
/// # Safety
/// `avp` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueClients(handle: c_int, avp: Out<'_, pmAtomValue>) -> c_int {
    guard(|token| queues::counter(token, handle, avp.member(), |counters| counters.clients))
}

/// Stores the number of events that came to a queue in `avp->ul` (QUEUE-5).
///
/// # Returns
/// `PMDA_FETCH_STATIC`, or `-EINVAL`.
///
/// # Safety
/// `avp` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueCounter(handle: c_int, avp: Out<'_, pmAtomValue>) -> c_int {
    guard(|token| queues::counter(token, handle, avp.member(), |counters| counters.count))
}

/// Stores the number of bytes that came to a queue in `avp->ull` (QUEUE-5).
///
/// # Returns
/// `PMDA_FETCH_STATIC`, or `-EINVAL`.
///
/// # Safety
/// `avp` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueBytes(handle: c_int, avp: Out<'_, pmAtomValue>) -> c_int {
    guard(|token| queues::counter(token, handle, avp.member(), |counters| counters.bytes))
}

/// Stores the number of bytes that a queue keeps in `avp->ull` (QUEUE-5).
///
/// # Returns
/// `PMDA_FETCH_STATIC`, or `-EINVAL`.
///
/// # Safety
/// `avp` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventQueueMemory(handle: c_int, avp: Out<'_, pmAtomValue>) -> c_int {
    guard(|token| queues::counter(token, handle, avp.member(), |counters| counters.memory))
}

/// Registers a client; a known one keeps its place (QUEUE-20).
///
/// # Returns
/// The client's slot.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventNewClient(context: c_int) -> c_int {
    guard(|token| with(token, |queues, _| queues.register(context)))
}

/// Ends a client: its filters are released, and queues that were shut down go with their last
/// client (QUEUE-26).
///
/// # Returns
/// 0, for unknown clients too.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pmdaEventEndClient(context: c_int) -> c_int {
    returned(release_filters(|_| Ok(Release::client(context))))
}

/// Stores the number of registered clients in `avp->ul` (QUEUE-21).
///
/// # Returns
/// `PMDA_FETCH_STATIC`, or `-EINVAL` for NULL.
///
/// # Safety
/// `avp` is NULL or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventClients(avp: Out<'_, pmAtomValue>) -> c_int {
    guard(|token| store(avp.member(), with(token, |queues, _| Ok(queues.clients()))?))
}

/// Installs a filter for a client and a queue, and grants access; an earlier filter is released
/// (QUEUE-25). A NULL filter clears it.
///
/// # Returns
/// 0; `-EINVAL` for an unknown client or queue, or a filter without `apply` (E-12).
///
/// # Safety
/// `apply` and `release` may be called with `filter` until the filter is replaced, or the client or
/// queue is removed.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaEventSetFilter(
    context: c_int,
    handle: c_int,
    filter: *mut c_void,
    apply: pmdaEventApplyFilterCallBack,
    release: pmdaEventReleaseFilterCallBack,
) -> c_int {
    let filter = Filter {
        data: Cookie(filter),
        apply,
        release,
    };
    returned(release_filters(|token| {
        Release::replaced(token, context, handle, filter)
    }))
}

/// Grants (non-zero) or denies a client the events of a queue; at first they are denied (QUEUE-24).
///
/// # Returns
/// 0, or `-EINVAL` for an unknown client or queue.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventSetAccess(context: c_int, handle: c_int, allow: c_int) -> c_int {
    guard(|token| with(token, |queues, _| queues.set_access(context, handle, allow != 0)))
}

/// Returns the events of a queue that a client has not seen (QUEUE-31, QUEUE-32). `decoder` is
/// called for each, and adds records to the array whose handle it gets.
///
/// # Returns
/// `PMDA_FETCH_STATIC` with the array in `avp->vbp`, which the next call for the queue overwrites;
/// `PMDA_FETCH_NOVALUES` with NULL when there is nothing; the code of a decoder that failed, with
/// NULL or what the events before it gave; `-EINVAL` for an unknown client or queue, with `avp` as
/// it was.
///
/// # Safety
/// `avp` is NULL or valid for one write; `decoder` and filters may be called with `data` and stored
/// events.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaEventQueueRecords(
    handle: c_int,
    avp: Out<'_, pmAtomValue>,
    context: c_int,
    decoder: pmdaEventDecodeCallBack,
    data: *mut c_void,
) -> c_int {
    if avp.is_null() {
        return Error::EINVAL.code();
    }
    let mut fetch = QueueFetch::new(handle, context);
    let outcome = show_all(&mut fetch, decoder.unwrap_or(refuse), data);
    if let Some(shown) = fetch.shown {
        // SAFETY: NULL, or an event array of the state, which has its type and length in front. It
        // stays until something is added to it or it is released, as the manual says.
        unsafe { avp.set_block(shown) };
    }
    returned(outcome)
}

/// The decoder of a caller that has none.
extern "C-unwind" fn refuse(_: c_int, _: *mut c_void, _: usize, _: *mut timeval, _: *mut c_void) -> c_int {
    Error::EINVAL.code()
}

/// Shows the events of a fetch to filter and decoder, one after the other.
///
/// # Errors
/// Those of [`guarded`].
#[inline(always)]
fn show_all(fetch: &mut QueueFetch, decoder: Function<pmdaEventDecodeCallBack>, data: *mut c_void) -> Guarded<c_int> {
    const { assert!(!std::mem::needs_drop::<QueueFetch>()) };
    let mut is_showing = guarded(|token| fetch.start(token))?;
    while is_showing {
        let answer = show(fetch, decoder, data);
        is_showing = resume(fetch, answer)?;
    }
    Ok(fetch.status.into_c())
}

/// The step between two calls. Returns whether another call is due.
///
/// # Errors
/// Those of [`guarded`].
#[inline(always)]
fn resume(fetch: &mut QueueFetch, answer: c_int) -> Guarded<bool> {
    guarded(|token| fetch.resume(token, answer))
}

/// Shows an event to the filter of the client, or to the decoder.
#[inline(always)]
fn show(fetch: &QueueFetch, decoder: Function<pmdaEventDecodeCallBack>, data: *mut c_void) -> c_int {
    match fetch.session.state {
        // SAFETY: the caller has promised that the decoder may be called with `data` and stored
        // events. The fetch keeps the event alive until it goes on. This frame has nothing to drop.
        FetchState::Showing(Event { payload, size, .. }, None) => unsafe {
            decoder(fetch.session.array, payload.data(), size, payload.when(), data)
        },
        FetchState::Showing(Event { payload, size, .. }, Some(filter)) => match filter.apply {
            // SAFETY: the agent has set the filter, and promised that `apply` may be called with
            // its cookie and stored events. For the event and this frame see above.
            Some(apply) => unsafe { apply(filter.data.0, payload.data(), size) },
            None => Error::EINVAL.code(),
        },
        FetchState::Ended(_) => Error::EINVAL.code(),
    }
}
