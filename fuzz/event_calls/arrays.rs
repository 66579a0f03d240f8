//! Calls on event arrays.

use std::cell::RefCell;
use std::ffi::{CString, c_int, c_uint};
use std::ptr;

use pcp_pmda::view::types::{pmAtomValue, pmEventArray, pmHighResEventArray, timespec, timeval};

use super::{Array, INVALID, World};

unsafe extern "C" {
    pub(super) fn pmdaEventNewArray() -> c_int;
    pub(super) fn pmdaEventNewHighResArray() -> c_int;
    pub(super) fn pmdaEventResetArray(array: c_int) -> c_int;
    pub(super) fn pmdaEventReleaseArray(array: c_int) -> c_int;
    pub(super) fn pmdaEventAddRecord(array: c_int, when: *mut timeval, flags: c_int) -> c_int;
    pub(super) fn pmdaEventAddHighResRecord(array: c_int, when: *mut timespec, flags: c_int) -> c_int;
    pub(super) fn pmdaEventAddMissedRecord(array: c_int, when: *mut timeval, count: c_int) -> c_int;
    pub(super) fn pmdaEventAddHighResMissedRecord(array: c_int, when: *mut timespec, count: c_int) -> c_int;
    pub(super) fn pmdaEventAddParam(array: c_int, pmid: c_uint, kind: c_int, atom: *mut pmAtomValue) -> c_int;
    pub(super) fn pmdaEventGetAddr(array: c_int) -> *mut pmEventArray;
    pub(super) fn pmdaEventGetHighResAddr(array: c_int) -> *mut pmHighResEventArray;
}

const NO_CONTEXT: c_int = -12376;
const BAD_TYPE: c_int = -12397;
const CONVERSION: c_int = -12362;

/// A handle of ours, or one that nobody has: whether it is known.
pub(super) fn array(world: &RefCell<World>, place: usize, which: u8) -> (c_int, bool) {
    let wrong = [77, -1, c_int::MAX, c_int::MIN][usize::from(which >> 6)];
    match &world.borrow().arrays[place] {
        Some(array) if which & 0x20 == 0 => (array.handle, true),
        _ => (wrong, false),
    }
}

pub(super) fn new_array(world: &RefCell<World>, place: usize) {
    if world.borrow().arrays[place].is_none() {
        // SAFETY: no arguments.
        let handle = unsafe {
            if is_high(place) {
                pmdaEventNewHighResArray()
            } else {
                pmdaEventNewArray()
            }
        };
        assert!(handle >= 0);
        world.borrow_mut().arrays[place] = Some(Array {
            handle,
            words: 2,
            records: 0,
            open: false,
        });
    }
}

/// An array has records of one form only, decided by its place.
pub(super) fn is_high(place: usize) -> bool {
    place == 1
}

pub(super) fn on_array(world: &RefCell<World>, what: u8, place: usize, which: u8, how: u8, more: u8) {
    let (handle, known) = array(world, place, which);
    let mut low = timeval {
        tv_sec: i64::from(how) << 30,
        tv_usec: -i64::from(more),
    };
    let mut high = timespec {
        tv_sec: low.tv_sec << 20,
        tv_nsec: low.tv_usec,
    };
    let missing = how == 0xff;
    let low = if missing { ptr::null_mut() } else { &raw mut low };
    let high = if missing { ptr::null_mut() } else { &raw mut high };
    let flags = c_int::from(more) << 24;
    let open = world.borrow().arrays[place].as_ref().is_some_and(|array| array.open);
    // SAFETY: NULL or valid times; values as their types say.
    let (status, expected, words) = unsafe {
        match what {
            1 | 2 if is_high(place) => (
                pmdaEventAddHighResRecord(handle, high, flags),
                record(flags, missing),
                6,
            ),
            1 | 2 => (pmdaEventAddRecord(handle, low, flags), record(flags, missing), 4),
            3 if is_high(place) => (
                pmdaEventAddHighResMissedRecord(handle, high, flags),
                record(0, missing),
                6,
            ),
            3 => (pmdaEventAddMissedRecord(handle, low, flags), record(0, missing), 4),
            _ => parameter(handle, open, how, more),
        }
    };
    if world.borrow().mixed {
        return;
    }
    let expected = if known {
        expected
    } else if expected == BAD_TYPE {
        status
    } else {
        NO_CONTEXT
    };
    assert_eq!(status, expected, "call {what} on array {handle}");
    let mut world = world.borrow_mut();
    if let Some(array) = world.arrays[place].as_mut().filter(|_| status == 0) {
        array.words += words;
        if what <= 3 {
            array.records += 1;
            array.open = what < 3;
        }
    }
}

pub(super) fn record(flags: c_int, missing: bool) -> c_int {
    match (flags < 0, missing) {
        (true, _) => CONVERSION,
        (false, true) => INVALID,
        _ => 0,
    }
}

/// Adds a parameter of some type: the status, the one that it should have, and the words that it
/// takes.
///
/// # Safety
/// None: the values are as their types say.
unsafe fn parameter(handle: c_int, open: bool, how: u8, more: u8) -> (c_int, c_int, usize) {
    let kind = c_int::from(how % 14) - 1;
    let text = CString::new(vec![b'x'; usize::from(more)]).expect("no NUL inside");
    // A value block is aligned to words; the first has the length in its low 24 bits.
    let mut block = vec![u32::from(more); 1 + usize::from(more).div_ceil(4)];
    let mut atom = pmAtomValue { ull: u64::from(more) };
    let (expected, length) = match kind {
        0 | 1 | 4 => (0, 4),
        2 | 3 | 5 => (0, 8),
        6 => {
            atom.cp = text.as_ptr().cast_mut();
            (0, text.as_bytes().len())
        }
        7 => {
            atom.vbp = block.as_mut_ptr().cast();
            (if more < 4 { INVALID } else { 0 }, usize::from(more).saturating_sub(4))
        }
        _ => (BAD_TYPE, 0),
    };
    let expected = if expected == 0 && !open { INVALID } else { expected };
    // SAFETY: the value is as its type says.
    let status = unsafe { pmdaEventAddParam(handle, 7, kind, &raw mut atom) };
    (status, expected, 2 + length.div_ceil(4))
}

pub(super) fn end_array(world: &RefCell<World>, place: usize) {
    let array = world.borrow_mut().arrays[place].take();
    if let Some(array) = array {
        // SAFETY: numbers only.
        let status = unsafe { [pmdaEventResetArray(array.handle), pmdaEventReleaseArray(array.handle)] };
        assert!(world.borrow().mixed || status == [0, 0]);
    }
}
