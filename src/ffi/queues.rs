//! Event queues and their clients: the `pmdaEvent…Queue…` and `pmdaEvent…Client…` functions.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::io::Write;

use super::lock::{Mutex, room};
use super::mark::outside;

use super::arg;
use super::event_block::Block;
use super::events;
use super::guard::guard;
use super::types::{pmAtomValue, timeval};
use crate::error::{Error, Result};
use crate::libpcp::log::{self, Debug};
use crate::libpcp::version::SINCE_6_0_5;
use crate::log::{Journal, Level};
use crate::queue::{Counters, Leftovers, Queues};

/// Makes records of an event: array, data, size, time, cookie.
pub type pmdaEventDecodeCallBack =
    Option<unsafe extern "C" fn(c_int, *mut c_void, usize, *mut timeval, *mut c_void) -> c_int>;
/// Non-zero drops an event for a client: filter, data, size.
pub type pmdaEventApplyFilterCallBack = Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int>;
/// Frees a filter.
pub type pmdaEventReleaseFilterCallBack = Option<unsafe extern "C" fn(*mut c_void)>;

/// `PMDA_FETCH_STATIC`: the atom is filled, and the library keeps what it points to.
pub(super) const FETCH_STATIC: c_int = 1;
/// A filter as the agent gave it.
#[derive(Clone, Copy)]
pub(super) struct Filter {
    data: *mut c_void,
    apply: pmdaEventApplyFilterCallBack,
    release: pmdaEventReleaseFilterCallBack,
}

// SAFETY: the pointers are only handed back to the agent's own functions, on the thread that called us.
unsafe impl Send for Filter {}

impl Filter {
    /// What the filter says about an event; anything but 0 drops it.
    ///
    /// # Safety
    /// `data` points to `size` bytes of an event that stays alive, and nothing is locked.
    pub(super) unsafe fn verdict(self, data: *mut c_void, size: usize) -> c_int {
        // SAFETY: the agent gave function and argument together, and the caller's contract.
        self.apply
            .map_or(0, |apply| outside(|| unsafe { apply(self.data, data, size) }))
    }

    /// Calls the agent's release function if it has one, with NULL if there is no filter (E-12, E-13).
    fn release(self) {
        if let Some(release) = self.release {
            // SAFETY: the agent gave function and argument together, and nothing is locked.
            outside(|| unsafe { release(self.data) });
        }
    }
}

/// All queues and clients of the process. Nothing of C is called while it is locked; the lock of the event arrays
/// may be taken inside of it, never the other way round.
pub(super) static QUEUES: Mutex<Queues<Block, Filter>, { room::QUEUES }> = Mutex::new(Queues::new());

/// Cleans up behind a queue that has gone; call it when nothing is locked.
fn dispose(leftovers: Leftovers<Filter>) {
    // Somebody may have released it through its handle, which is a small number and no secret.
    let _ = events::release(leftovers.array);
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
    let counters = QUEUES.lock().counters(handle);
    let counters = noted(handle, counters)?;
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
        if log::debug(Debug::Libpmda) {
            let mut journal = Journal::new();
            QUEUES.lock().trace_shutdown(handle, &mut journal);
            log::flush(&mut journal);
        }
        let leftovers = QUEUES.lock().shutdown(handle);
        let leftovers = noted(handle, leftovers)?;
        if let Some(leftovers) = leftovers {
            dispose(leftovers);
        }
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
        // SAFETY: the caller's contract.
        let store = |old| unsafe { Block::copy(old, data, bytes, tv) };
        let done = if log::debug(Debug::Libpmda) {
            append_loudly(handle, bytes, store)
        } else {
            QUEUES.lock().append(handle, bytes, store)
        };
        done.or_else(|error| refused(handle, bytes, error))
    })
}

/// Appends an event, and says what becomes of it and of others.
#[cold]
fn append_loudly(handle: c_int, size: usize, store: impl FnOnce(Option<Block>) -> Result<Block>) -> Result<()> {
    let mut journal = Journal::new();
    let done = {
        let mut queues = QUEUES.lock();
        queues.trace_append(handle, size, SINCE_6_0_5, &mut journal);
        let done = queues.append(handle, size, store);
        if done.is_ok() {
            queues.trace_appended(handle, size, &mut journal);
        }
        done
    };
    log::flush(&mut journal);
    if done.is_err() {
        say_vacant(handle);
    }
    done
}

/// Says under -Dlibpmda that there is no queue any more behind a handle.
#[cold]
pub(super) fn say_vacant(handle: c_int) {
    if log::debug(Debug::Libpmda) && QUEUES.lock().is_vacant(handle) {
        // The C library prints the name that it has cleared.
        log::debug_line!("Client queue (null) lookup but not inuse");
    }
}

/// Passes an outcome on; a failure may be that of a queue that has gone.
fn noted<T>(handle: c_int, outcome: Result<T>) -> Result<T> {
    if outcome.is_err() {
        say_vacant(handle);
    }
    outcome
}

/// Says why an event was not stored; one that is too large is no error (E-19). Asks for no memory that it needs.
#[cold]
fn refused(handle: c_int, size: usize, error: Error) -> Result<()> {
    if error == Error::TOOBIG {
        let text = QUEUES.lock().too_large(handle, size);
        if let Ok(text) = text {
            log::notify(Level::Warning, &text);
        }
        return Ok(());
    }
    if error == Error::NOMEM {
        let mut text = [0; 64];
        let mut rest = &mut text[..];
        let _ = write!(rest, "event allocation failure: {} bytes", size.saturating_add(1));
        let free = rest.len();
        log::notify(Level::Err, &text[..text.len() - free]);
    }
    Err(error)
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

/// Registers a client; a known one keeps its place (QUEUE-20).
///
/// # Returns
/// The client's slot.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventNewClient(context: c_int) -> c_int {
    guard(|| {
        if !log::debug(Debug::Libpmda) {
            return QUEUES.lock().register(context);
        }
        let mut journal = Journal::new();
        let slot = {
            let mut queues = QUEUES.lock();
            let known = queues.is_client(context);
            let slot = queues.register(context);
            if let (false, Ok(slot)) = (known, slot) {
                queues.trace_client(context, slot, &mut journal);
            }
            slot
        };
        log::flush(&mut journal);
        slot
    })
}

/// Ends a client: its filters are released, and queues that were shut down go with their last client (QUEUE-26).
///
/// # Returns
/// 0, for unknown clients too.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventEndClient(context: c_int) -> c_int {
    guard(|| {
        if log::debug(Debug::Libpmda) {
            end_loudly(context);
        } else {
            let filters = QUEUES.lock().end(context);
            filters.for_each(Filter::release);
        }
        loop {
            let leftovers = QUEUES.lock().reap();
            match leftovers {
                Some(leftovers) => dispose(leftovers),
                None => return Ok(()),
            }
        }
    })
}

/// Ends a client, and says what that means for each queue.
#[cold]
fn end_loudly(context: c_int) {
    let mut journal = Journal::new();
    let (farewells, mut filters) = {
        let mut queues = QUEUES.lock();
        let farewells = queues.trace_end(context, &mut journal);
        (farewells, queues.end(context))
    };
    log::flush(&mut journal);
    for mut farewell in farewells {
        if farewell.filter {
            filters.by_ref().take(1).for_each(Filter::release);
        }
        log::flush(&mut farewell.lines);
    }
    // Without memory for what was to be said.
    filters.for_each(Filter::release);
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
        let old = QUEUES.lock().set_filter(context, handle, new, !filter.is_null());
        let old = noted(handle, old)?;
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
    guard(|| {
        let done = QUEUES.lock().set_access(context, handle, allow != 0);
        noted(handle, done)
    })
}
