//! Calls on event queues and their clients, and the callbacks.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

use pcp_pmda::view::types::{
    pmAtomValue, pmdaEventApplyFilterCallBack, pmdaEventDecodeCallBack, pmdaEventReleaseFilterCallBack, timeval,
};

use super::arrays::{pmdaEventAddRecord, pmdaEventReleaseArray};
use super::{FILTERS, INVALID, OBJECTS, Queue, World, is_valid};

unsafe extern "C" {
    pub(super) fn pmdaEventNewActiveQueue(name: *const c_char, limit: usize, clients: c_uint) -> c_int;
    pub(super) fn pmdaEventQueueHandle(name: *const c_char) -> c_int;
    pub(super) fn pmdaEventQueueShutdown(queue: c_int) -> c_int;
    pub(super) fn pmdaEventQueueAppend(queue: c_int, data: *mut c_void, size: usize, when: *mut timeval) -> c_int;
    pub(super) fn pmdaEventQueueCounter(queue: c_int, atom: *mut pmAtomValue) -> c_int;
    pub(super) fn pmdaEventQueueBytes(queue: c_int, atom: *mut pmAtomValue) -> c_int;
    pub(super) fn pmdaEventQueueMemory(queue: c_int, atom: *mut pmAtomValue) -> c_int;
    pub(super) fn pmdaEventQueueRecords(
        queue: c_int,
        atom: *mut pmAtomValue,
        context: c_int,
        decoder: pmdaEventDecodeCallBack,
        cookie: *mut c_void,
    ) -> c_int;
    pub(super) fn pmdaEventNewClient(context: c_int) -> c_int;
    pub(super) fn pmdaEventEndClient(context: c_int) -> c_int;
    pub(super) fn pmdaEventSetAccess(context: c_int, queue: c_int, allow: c_int) -> c_int;
    pub(super) fn pmdaEventSetFilter(
        context: c_int,
        queue: c_int,
        filter: *mut c_void,
        apply: pmdaEventApplyFilterCallBack,
        release: pmdaEventReleaseFilterCallBack,
    ) -> c_int;
    pub(super) fn pmdaEventClients(atom: *mut pmAtomValue) -> c_int;
}

const EXISTS: c_int = -libc::EEXIST;
/// Fetches inside of fetches.
const DEPTH: u32 = 3;

pub(super) fn queue(world: &RefCell<World>, place: usize) -> (c_int, bool) {
    world.borrow().queues[place]
        .as_ref()
        .map_or((-1, false), |queue| (queue.handle, true))
}

pub(super) fn name(place: usize) -> CString {
    CString::new(format!("fuzz{place}")).expect("no NUL")
}

pub(super) fn new_queue(world: &RefCell<World>, place: usize, how: u8, more: u8) {
    let limit = usize::from(how) * 8;
    // SAFETY: a C string.
    let handle = unsafe { pmdaEventNewActiveQueue(name(place).as_ptr(), limit, c_uint::from(more % 3)) };
    let known = queue(world, place).1;
    if limit == 0 || known {
        assert_eq!(handle, if limit == 0 { INVALID } else { EXISTS });
        return;
    }
    // One that was shut down keeps its name until its last client has gone.
    if handle != EXISTS {
        assert!(handle >= 0);
        world.borrow_mut().queues[place] = Some(Queue {
            handle,
            limit,
            count: 0,
            bytes: 0,
        });
        for client in &mut world.borrow_mut().seen {
            client[place] = 0;
        }
    }
}

/// The data of an event: its number, and as many more bytes.
pub(super) fn append(world: &RefCell<World>, place: usize, how: u8, more: u8) {
    let (handle, known) = queue(world, place);
    world.borrow_mut().events += 1;
    let mut data = world.borrow().events.to_ne_bytes().to_vec();
    data.resize(4 + usize::from(how), how);
    let mut when = timeval {
        tv_sec: 1,
        tv_usec: more.into(),
    };
    // SAFETY: as many bytes as said, and a time.
    let status = unsafe { pmdaEventQueueAppend(handle, data.as_mut_ptr().cast(), data.len(), &raw mut when) };
    assert_eq!(status, if known { 0 } else { INVALID });
    if let Some(queue) = world.borrow_mut().queues[place].as_mut() {
        queue.count += 1;
        queue.bytes += data.len() as u64;
    }
}

pub(super) fn shutdown(world: &RefCell<World>, place: usize) {
    let (handle, known) = queue(world, place);
    // SAFETY: a number only.
    let status = unsafe { pmdaEventQueueShutdown(handle) };
    assert_eq!(status, if known { 0 } else { INVALID });
    world.borrow_mut().queues[place] = None;
}

pub(super) fn register(world: &RefCell<World>, client: usize) {
    // SAFETY: a number only.
    assert!(unsafe { pmdaEventNewClient(client as c_int) } >= 0);
    let mut world = world.borrow_mut();
    if !world.clients[client] {
        world.seen[client] = [0; OBJECTS];
    }
    world.clients[client] = true;
}

pub(super) fn end_client(world: &RefCell<World>, client: usize) {
    // SAFETY: a number only.
    assert_eq!(unsafe { pmdaEventEndClient(client as c_int) }, 0);
    world.borrow_mut().clients[client] = false;
}

pub(super) fn allow(world: &RefCell<World>, client: usize, place: usize, more: u8) {
    let (handle, known) = queue(world, place);
    // SAFETY: numbers only.
    let status = unsafe { pmdaEventSetAccess(client as c_int, handle, (more & 1).into()) };
    let known = known && world.borrow().clients[client];
    assert_eq!(status, if known { 0 } else { INVALID });
}

pub(super) fn filter(world: &RefCell<World>, client: usize, place: usize, more: u8) {
    let (handle, known) = queue(world, place);
    let known = known && world.borrow().clients[client];
    let clear = more & 1 == 0;
    let filter = if clear {
        ptr::null_mut()
    } else {
        Box::into_raw(Box::new(more)).cast()
    };
    FILTERS.fetch_add(isize::from(!clear), Ordering::Relaxed);
    // SAFETY: the functions belong to the filter.
    let status = unsafe { pmdaEventSetFilter(client as c_int, handle, filter, Some(applies), Some(release)) };
    assert_eq!(status, if known { 0 } else { INVALID });
    if status != 0 {
        // SAFETY: the library did not take it.
        unsafe { release(filter) };
    }
}

pub(super) unsafe extern "C-unwind" fn applies(filter: *mut c_void, data: *mut c_void, size: usize) -> c_int {
    // SAFETY: what `filter` made, and an event of ours.
    unsafe { c_int::from((*filter.cast::<u8>() ^ *data.cast::<u8>().add(size - 1)) & 2 != 0) }
}

pub(super) unsafe extern "C-unwind" fn release(filter: *mut c_void) {
    if !filter.is_null() {
        FILTERS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: made by `filter`; a second release would be found by the sanitizer, and by the
        // count.
        drop(unsafe { Box::from_raw(filter.cast::<u8>()) });
    }
}

pub(super) fn fetch(world: &RefCell<World>, place: usize, client: usize, more: u8) {
    let (handle, known) = queue(world, place);
    let known = known && world.borrow().clients[client];
    let before = world.borrow().fetch;
    if world.borrow().depth >= DEPTH {
        return;
    }
    world.borrow_mut().fetch = (place, client, more);
    world.borrow_mut().depth += 1;
    let mut atom = pmAtomValue { ull: 1 };
    let cookie = ptr::from_ref(world).cast_mut().cast();
    // SAFETY: valid for a write; the cookie is what the decoder expects.
    let status = unsafe { pmdaEventQueueRecords(handle, &raw mut atom, client as c_int, Some(decode), cookie) };
    world.borrow_mut().depth -= 1;
    world.borrow_mut().fetch = before;
    if !known {
        assert_eq!(status, INVALID);
    } else if status == 1 {
        // SAFETY: the answer of a fetch with records.
        unsafe { is_valid(atom.vbp.cast(), 9) };
    }
}

/// Sees an event, and does what the fetch was told to do.
pub(super) unsafe extern "C-unwind" fn decode(
    array: c_int,
    data: *mut c_void,
    size: usize,
    when: *mut timeval,
    cookie: *mut c_void,
) -> c_int {
    // SAFETY: the cookie of `fetch`, and an event of ours.
    let (world, bytes) = unsafe {
        (
            &*cookie.cast::<RefCell<World>>(),
            std::slice::from_raw_parts(data.cast::<u8>(), size),
        )
    };
    let (number, rest) = bytes.split_first_chunk::<4>().expect("as long as it was");
    let number = u32::from_ne_bytes(*number);
    assert!(
        rest.iter().all(|byte| usize::from(*byte) == rest.len()),
        "the bytes of the event"
    );
    let (place, client, what) = world.borrow().fetch;
    // A fetch inside of another one begins with the event in hand.
    let (seen, inside) = (world.borrow().seen[client][place], world.borrow().depth > 1);
    assert!(number > seen || inside, "each event once, in order");
    match what % 8 {
        1 => return -77,
        2 if rest.len() % 2 == 0 => append(world, place, 3, 0),
        4 => fetch(world, place, client, 2),
        5 => end_client(world, client),
        6 if queue(world, place).1 => shutdown(world, place),
        7 => {
            world.borrow_mut().mixed = true;
            // SAFETY: a number only.
            unsafe { pmdaEventReleaseArray(array) };
        }
        _ => {}
    }
    // The event is there for as long as its decoder runs, whatever that has done.
    assert_eq!(bytes.len(), 4 + rest.len());
    std::hint::black_box(rest.iter().fold(0, |sum, byte| sum ^ byte));
    // SAFETY: the time of the event.
    let status = unsafe { pmdaEventAddRecord(array, when, 0) };
    // An event that could not be decoded comes again.
    if status == 0 && world.borrow().clients[client] {
        let seen = &mut world.borrow_mut().seen[client][place];
        *seen = number.max(*seen);
    }
    if status == 0 { 1 } else { status }
}
