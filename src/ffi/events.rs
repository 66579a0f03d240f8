//! Event arrays: the `pmdaEvent…Array`, `…Record`, `…Param` and `…Addr` functions, and `__pmdaEventPrint`.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use super::lock::{Mutex, room};

use super::arg;
use super::guard::guard;
use super::types::{pmAtomValue, pmEventArray, pmHighResEventArray, pmID, timespec, timeval, wide};
use crate::error::{Error, Result};
use crate::events::{self, Array, Arrays, Form, Stamp, Value};
use crate::libpcp::bindings as pcp;

/// All event arrays of the process. Nothing of C is called while it is locked.
pub(super) static ARRAYS: Mutex<Arrays, { room::ARRAYS }> = Mutex::new(Arrays::new());

/// Works on the array of a handle.
fn with<T>(handle: c_int, work: impl FnOnce(&mut Array) -> Result<T>) -> Result<T> {
    ARRAYS.lock().get(handle).and_then(work)
}

/// Makes an array, for a caller or for a queue.
pub(super) fn create() -> Result<c_int> {
    ARRAYS.lock().create()
}

/// Empties the array of a queue.
pub(super) fn reset(handle: c_int) -> Result<()> {
    with(handle, |array| {
        array.reset();
        Ok(())
    })
}

/// Frees the array of a queue.
pub(super) fn release(handle: c_int) -> Result<()> {
    ARRAYS.lock().release(handle)
}

/// Adds the record of events that a queue has lost.
pub(super) fn add_missed(handle: c_int, stamp: Stamp, count: c_int) -> Result<()> {
    with(handle, |array| array.add_missed(stamp, count))
}

/// The address of an array, NULL for an unknown handle (EVENT-13).
///
/// The block of a vector comes from malloc, so it is aligned for every field of the C structures.
pub(super) fn address(handle: c_int, form: Form) -> *mut c_void {
    with(handle, |array| Ok(array.publish(form).as_mut_ptr().cast())).unwrap_or(ptr::null_mut())
}

/// # Safety
/// `when` is NULL or points to a `struct timeval`.
unsafe fn low(when: *const timeval) -> Result<Stamp> {
    // SAFETY: NULL or readable by the contract above.
    let when = unsafe { when.as_ref() }.ok_or(Error::INVAL)?;
    Ok(Stamp::Low(wide(when.tv_sec), wide(when.tv_usec)))
}

/// # Safety
/// `when` is NULL or points to a `struct timespec`.
unsafe fn high(when: *const timespec) -> Result<Stamp> {
    // SAFETY: NULL or readable by the contract above.
    let when = unsafe { when.as_ref() }.ok_or(Error::INVAL)?;
    Ok(Stamp::High(wide(when.tv_sec), wide(when.tv_nsec)))
}

/// Adds a parameter whose value C has put into an atom. The type is judged before the atom is looked at, as in the C
/// library (EVENT-22).
///
/// # Safety
/// `atom` is NULL or a valid atom of the type; a string is terminated, a value block as long as it says.
#[inline]
unsafe fn add_parameter(array: &mut Array, metric: pmID, kind: c_int, atom: *const pmAtomValue) -> Result<()> {
    // SAFETY: NULL or a valid atom of this type by the contract above.
    let atom = || unsafe { atom.as_ref() }.ok_or(Error::INVAL);
    // The types that are known are small numbers.
    let code = kind as u8;
    match kind as u32 {
        pcp::PM_TYPE_32 | pcp::PM_TYPE_U32 | pcp::PM_TYPE_FLOAT => {
            // SAFETY: every bit pattern is a u32, and the atom is one of a four-byte type.
            array.add_parameter(metric, code, Value::Word(unsafe { atom()?.ul }))
        }
        pcp::PM_TYPE_64 | pcp::PM_TYPE_U64 | pcp::PM_TYPE_DOUBLE => {
            // SAFETY: every bit pattern is a u64, and the atom is one of an eight-byte type.
            array.add_parameter(metric, code, Value::Long(unsafe { atom()?.ull }))
        }
        pcp::PM_TYPE_STRING => {
            // SAFETY: the atom holds NULL or a terminated string by the contract above.
            let text = unsafe { arg::bytes(atom()?.cp) };
            array.add_parameter(metric, code, Value::Bytes(text.ok_or(Error::INVAL)?))
        }
        pcp::PM_TYPE_AGGREGATE => {
            // SAFETY: the atom holds NULL or a value block by the contract above.
            let payload = unsafe { aggregate(atom()?.vbp) };
            array.add_parameter(metric, code, Value::Bytes(payload?))
        }
        _ => Err(Error::TYPE),
    }
}

/// The payload of a value block: its length counts its own word (EVENT-4, E-5).
///
/// # Safety
/// `block` is NULL or a value block that is as long as it says.
unsafe fn aggregate<'a>(block: *const pcp::pmValueBlock) -> Result<&'a [u8]> {
    if block.is_null() {
        return Err(Error::INVAL);
    }
    // SAFETY: not NULL, so it has the leading word; the payload follows it and is as long as the word says.
    let (length, start) = unsafe { ((*block).vlen(), (&raw const (*block).vbuf).cast::<u8>()) };
    let length = (length as usize).checked_sub(4).ok_or(Error::INVAL)?;
    // SAFETY: the block is as long as it says.
    Ok(unsafe { std::slice::from_raw_parts(start, length) })
}

/// Makes an event array.
///
/// # Returns
/// Its handle, the lowest that is free (EVENT-10).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventNewArray() -> c_int {
    guard(create)
}

/// The same as `pmdaEventNewArray`: the records decide the form (EVENT-11).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventNewHighResArray() -> c_int {
    pmdaEventNewArray()
}

/// Empties an array; its memory stays in place (EVENT-14).
///
/// # Returns
/// 0, or `PM_ERR_NOCONTEXT`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventResetArray(idx: c_int) -> c_int {
    guard(|| reset(idx))
}

/// The same as `pmdaEventResetArray`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventResetHighResArray(idx: c_int) -> c_int {
    pmdaEventResetArray(idx)
}

/// Frees an array; addresses obtained from it are invalid from then on (EVENT-15).
///
/// # Returns
/// 0, or `PM_ERR_NOCONTEXT`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventReleaseArray(idx: c_int) -> c_int {
    guard(|| release(idx))
}

/// The same as `pmdaEventReleaseArray`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventReleaseHighResArray(idx: c_int) -> c_int {
    pmdaEventReleaseArray(idx)
}

/// Starts a record (EVENT-20).
///
/// # Returns
/// 0; `PM_ERR_NOCONTEXT`, `PM_ERR_CONV` when the flags claim a missed record, `-EINVAL` without a time,
/// `PM_ERR_TOOBIG` when the array is full.
///
/// # Safety
/// `tp` is NULL or points to a `struct timeval`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddRecord(idx: c_int, tp: *mut timeval, flags: c_int) -> c_int {
    guard(|| {
        with(idx, |array| {
            // SAFETY: the caller's contract.
            add_record(array, flags, || unsafe { low(tp) })
        })
    })
}

/// Starts a record with a time stamp in nanoseconds (EVENT-20).
///
/// # Returns
/// As `pmdaEventAddRecord`.
///
/// # Safety
/// `ts` is NULL or points to a `struct timespec`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddHighResRecord(idx: c_int, ts: *mut timespec, flags: c_int) -> c_int {
    guard(|| {
        with(idx, |array| {
            // SAFETY: the caller's contract.
            add_record(array, flags, || unsafe { high(ts) })
        })
    })
}

/// The flags are judged before the time is looked at, as in the C library.
fn add_record(array: &mut Array, flags: c_int, stamp: impl FnOnce() -> Result<Stamp>) -> Result<()> {
    let flags = flags as u32;
    if flags & events::FLAG_MISSED != 0 {
        return Err(Error::CONV);
    }
    array.add_record(stamp()?, flags)
}

/// Adds a record that says that `nmissed` events were missed (EVENT-21).
///
/// # Returns
/// 0; `PM_ERR_NOCONTEXT`, `-EINVAL` without a time, `PM_ERR_TOOBIG` when the array is full.
///
/// # Safety
/// `tp` is NULL or points to a `struct timeval`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddMissedRecord(idx: c_int, tp: *mut timeval, nmissed: c_int) -> c_int {
    // SAFETY: the caller's contract.
    guard(|| with(idx, |array| array.add_missed(unsafe { low(tp) }?, nmissed)))
}

/// Adds a record that says that `nmissed` events were missed, with all 64 bits of its time stamp (EVENT-21, E-6).
///
/// # Returns
/// As `pmdaEventAddMissedRecord`.
///
/// # Safety
/// `ts` is NULL or points to a `struct timespec`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddHighResMissedRecord(idx: c_int, ts: *mut timespec, nmissed: c_int) -> c_int {
    // SAFETY: the caller's contract.
    guard(|| with(idx, |array| array.add_missed(unsafe { high(ts) }?, nmissed)))
}

/// Adds a parameter to the newest record, of either form (EVENT-22, E-3). The value is copied.
///
/// # Returns
/// 0; `PM_ERR_NOCONTEXT`, `PM_ERR_TYPE` for a type that no parameter has, `-EINVAL` without a record or a value,
/// `PM_ERR_TOOBIG` when a length field would overflow.
///
/// # Safety
/// `avp` is NULL or points to an atom of the type; its string is terminated, its value block as long as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddParam(idx: c_int, pmid: pmID, r#type: c_int, avp: *mut pmAtomValue) -> c_int {
    guard(|| {
        with(idx, |array| {
            // SAFETY: the caller's contract.
            unsafe { add_parameter(array, pmid, r#type, avp) }
        })
    })
}

/// The same as `pmdaEventAddParam`.
///
/// # Safety
/// As `pmdaEventAddParam`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddHighResParam(
    idx: c_int,
    pmid: pmID,
    r#type: c_int,
    avp: *mut pmAtomValue,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { pmdaEventAddParam(idx, pmid, r#type, avp) }
}

/// An older name of `pmdaEventAddHighResParam` (EVENT-23).
///
/// # Safety
/// As `pmdaEventAddParam`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventHighResAddParam(
    idx: c_int,
    pmid: pmID,
    r#type: c_int,
    avp: *mut pmAtomValue,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { pmdaEventAddParam(idx, pmid, r#type, avp) }
}

/// Writes length and type into the array's header and gives its address.
///
/// # Returns
/// The array, which the library keeps; valid until something is added or the array is released (EVENT-25). NULL
/// for an unknown handle.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventGetAddr(idx: c_int) -> *mut pmEventArray {
    guard(|| address(idx, Form::Low).cast())
}

/// The same as `pmdaEventGetAddr`, of the type `PM_TYPE_HIGHRES_EVENT`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventGetHighResAddr(idx: c_int) -> *mut pmHighResEventArray {
    guard(|| address(idx, Form::High).cast())
}

/// An older name of `pmdaEventGetHighResAddr` (EVENT-23).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventHighResGetAddr(idx: c_int) -> *mut pmHighResEventArray {
    pmdaEventGetHighResAddr(idx)
}

/// Writes the data of an event as text into `msg`, which has room for `msgsize` bytes (QUEUE-50).
///
/// # Returns
/// `msg`; NULL when `msgsize` is less than 4 or there is no `msg`.
///
/// # Safety
/// `buffer` is NULL or readable for `bufsize` bytes, `msg` is NULL or writable for `msgsize` bytes, and the two do
/// not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaEventPrint(
    buffer: *const c_char,
    bufsize: c_int,
    msg: *mut c_char,
    msgsize: c_int,
) -> *mut c_char {
    guard(|| {
        let size = usize::try_from(msgsize).unwrap_or(0);
        if size < 4 || msg.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: the caller's contract; no more than `msgsize` bytes are looked at.
        let data = unsafe { arg::slice(buffer.cast::<u8>(), bufsize.min(msgsize)) };
        for (place, byte) in events::printable(data, size).enumerate() {
            // SAFETY: `printable` gives `size` bytes, and `msg` has room for as many.
            unsafe { msg.add(place).write(byte as c_char) };
        }
        msg
    })
}
