//! Event arrays and queues through the functions that C calls, with callbacks that come back into
//! the library.
//!
//! Four bytes are one call: what, on which object, and two that say how. A model counts along.

mod arrays;
mod queues;

use std::cell::RefCell;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicIsize, Ordering};

use pcp_pmda::view::types::pmAtomValue;
use pmda_core::wire::block::{self, Direction};

use arrays::{
    end_array, is_high, new_array, on_array, pmdaEventGetAddr, pmdaEventGetHighResAddr, pmdaEventNewArray,
    pmdaEventReleaseArray,
};
use queues::{
    allow, append, end_client, fetch, filter, name, new_queue, pmdaEventClients, pmdaEventQueueBytes,
    pmdaEventQueueCounter, pmdaEventQueueHandle, pmdaEventQueueMemory, pmdaEventQueueRecords, queue, register,
    shutdown,
};

const INVALID: c_int = -libc::EINVAL;
const OBJECTS: usize = 3;
/// Calls that are made for one input.
const CALLS: usize = 500;

/// Filters that the library holds, each released once.
static FILTERS: AtomicIsize = AtomicIsize::new(0);

/// What is known of an array.
struct Array {
    handle: c_int,
    words: usize,
    records: u32,
    open: bool,
}

/// What is known of a queue.
struct Queue {
    handle: c_int,
    limit: usize,
    count: u32,
    bytes: u64,
}

/// What is known of everything. It is never borrowed while the library is called.
#[derive(Default)]
struct World {
    arrays: [Option<Array>; OBJECTS],
    queues: [Option<Queue>; OBJECTS],
    clients: [bool; OBJECTS],
    /// The number of the last event that a client has seen of a queue.
    seen: [[u32; OBJECTS]; OBJECTS],
    events: u32,
    /// A decoder has taken the array of a queue away, so handles may mean something else than they
    /// did.
    mixed: bool,
    /// The fetch under way: queue, client, what the decoder does, and how deep it is.
    fetch: (usize, usize, u8),
    depth: u32,
}

/// The bytes are calls.
pub fn event_calls(data: &[u8]) {
    let world = RefCell::new(World::default());
    for call in data.chunks_exact(4).take(CALLS) {
        let [what, which, how, more] = [call[0] % 16, call[1], call[2], call[3]];
        let place = usize::from(which) % OBJECTS;
        match what {
            0 => new_array(&world, place),
            1..=5 => on_array(&world, what, place, which, how, more),
            6 => end_array(&world, place),
            7 => new_queue(&world, place, how, more),
            8 | 9 => append(&world, place, how, more),
            10 => shutdown(&world, place),
            11 => register(&world, place),
            12 => end_client(&world, place),
            13 => allow(&world, place, usize::from(how) % OBJECTS, more),
            14 => filter(&world, place, usize::from(how) % OBJECTS, more),
            _ => fetch(&world, place, usize::from(how) % OBJECTS, more),
        }
        agrees(&world);
    }
    clean(&world);
}

/// The bytes at `array` are a valid array of the kind.
///
/// # Safety
/// An array of the library.
unsafe fn is_valid(array: *const u32, kind: u32) {
    // SAFETY: an array is as long as it says.
    let words = unsafe { std::slice::from_raw_parts(array, block::length(*array) / 4) };
    assert_eq!(words[0] >> 24, kind);
    let mut payload: Vec<u8> = words[1..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    block::exchange(kind, &mut payload, Direction::Encode).expect("a valid array");
}

/// Arrays, counters and clients are what the model says.
fn agrees(world: &RefCell<World>) {
    let world = world.borrow();
    let mut atom = pmAtomValue { ull: 0 };
    for (place, array) in world.arrays.iter().enumerate() {
        if let Some(array) = array.as_ref().filter(|_| !world.mixed) {
            // SAFETY: an array of the library, which has a header.
            let header = unsafe {
                let address = if is_high(place) {
                    pmdaEventGetHighResAddr(array.handle).cast()
                } else {
                    pmdaEventGetAddr(array.handle).cast::<u32>()
                };
                assert!(!address.is_null());
                [*address & 0xff_ffff, *address >> 24, *address.add(1)]
            };
            assert_eq!(
                header,
                [array.words as u32 * 4, 9 + u32::from(is_high(place)), array.records]
            );
        }
    }
    for queue in world.queues.iter().flatten() {
        // SAFETY: valid for writes; each member of the union was zero before.
        unsafe {
            assert_eq!(
                (pmdaEventQueueCounter(queue.handle, &raw mut atom), atom.ul),
                (1, queue.count)
            );
            assert_eq!(
                (pmdaEventQueueBytes(queue.handle, &raw mut atom), atom.ull),
                (1, queue.bytes)
            );
            assert_eq!(pmdaEventQueueMemory(queue.handle, &raw mut atom), 1);
            assert!(atom.ull <= queue.limit as u64);
        }
    }
    // SAFETY: valid for a write.
    let clients = unsafe { (pmdaEventClients(&raw mut atom), atom.ul) };
    assert_eq!(
        clients,
        (1, world.clients.iter().filter(|known| **known).count() as u32)
    );
}

/// Ends everything, and finds nothing left.
fn clean(world: &RefCell<World>) {
    for place in 0..OBJECTS {
        let array = world.borrow().arrays[place].as_ref().map(|array| array.handle);
        if let Some(handle) = array.filter(|_| !world.borrow().mixed) {
            // SAFETY: an array of the library.
            unsafe {
                if is_high(place) {
                    is_valid(pmdaEventGetHighResAddr(handle).cast(), 10);
                } else {
                    is_valid(pmdaEventGetAddr(handle).cast(), 9);
                }
            }
        }
        end_array(world, place);
    }
    for client in 0..OBJECTS {
        end_client(world, client);
    }
    for place in 0..OBJECTS {
        if queue(world, place).1 {
            shutdown(world, place);
        }
        // A queue whose announced clients have not come yet waits for them.
        for _ in 0..3 {
            // SAFETY: a C string, and numbers.
            let handle = unsafe { pmdaEventQueueHandle(name(place).as_ptr()) };
            if handle >= 0 {
                register(world, 0);
                let mut atom = pmAtomValue { ull: 0 };
                // SAFETY: no decoder, and an atom to fill in.
                unsafe { pmdaEventQueueRecords(handle, &raw mut atom, 0, None, ptr::null_mut()) };
                end_client(world, 0);
            }
        }
        // SAFETY: a C string.
        let left = unsafe { pmdaEventQueueHandle(name(place).as_ptr()) };
        assert!(left < 0, "a queue is left");
    }
    assert_eq!(FILTERS.load(Ordering::Relaxed), 0, "each filter is released once");
    // SAFETY: numbers only.
    unsafe {
        let first = pmdaEventNewArray();
        assert_eq!((first, pmdaEventReleaseArray(first)), (0, 0), "no array is left");
    }
}
