//! Event arrays: the `pmdaEvent…EventArray`, `…Record`, `…Param` and `…Addr` functions, and
//! `__pmdaEventPrint`.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::ptr;

use crate::boundary::guard;
use crate::events::{add_missed, add_record, address, create, high, low, release, with};
use crate::sys::libpcp::bindings as pcp;
use crate::sys::printed;
use crate::sys::refusal::Refusable;
use crate::view::arg::{In, Needed};
use crate::view::buffer::{CBuffer, CBytes, Parameter};
use crate::view::types::{pmEventArray, pmHighResEventArray, pmID, timespec, timeval};
use pmda_core::error::{Error, Result};
use pmda_core::events::{EventArray, Form, ParameterValue, printable};

/// Makes an event array.
///
/// # Returns
/// Its handle, the lowest that is free (EVENT-10).
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventNewArray() -> c_int {
    guard(create)
}

/// The same as `pmdaEventNewArray`: the records decide the form (EVENT-11).
///
/// # Returns
/// As `pmdaEventNewArray`.
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
    guard(|token| {
        with(token, idx, |array| -> Result<()> {
            array.reset();
            Ok(())
        })
    })
}

/// The same as `pmdaEventResetArray`.
///
/// # Returns
/// As `pmdaEventResetArray`.
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
    guard(|token| release(token, idx))
}

/// The same as `pmdaEventReleaseArray`.
///
/// # Returns
/// As `pmdaEventReleaseArray`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventReleaseHighResArray(idx: c_int) -> c_int {
    pmdaEventReleaseArray(idx)
}

/// Starts a record (EVENT-20).
///
/// # Returns
/// 0; `PM_ERR_NOCONTEXT`, `PM_ERR_CONV` when the flags claim a missed record, `-EINVAL` without a
/// time, `PM_ERR_TOOBIG` when the array is full.
///
/// # Safety
/// `tp` is NULL or points to a `struct timeval`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddRecord(idx: c_int, tp: In<'_, timeval>, flags: c_int) -> c_int {
    guard(|token| with(token, idx, |array| add_record(array, flags, || low(tp))))
}

/// Starts a record with a time stamp in nanoseconds (EVENT-20).
///
/// # Returns
/// As `pmdaEventAddRecord`.
///
/// # Safety
/// `ts` is NULL or points to a `struct timespec`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddHighResRecord(idx: c_int, ts: In<'_, timespec>, flags: c_int) -> c_int {
    guard(|token| with(token, idx, |array| add_record(array, flags, || high(ts))))
}

/// Adds a record that says that `nmissed` events were missed (EVENT-21).
///
/// # Returns
/// 0; `PM_ERR_NOCONTEXT`, `-EINVAL` without a time, `PM_ERR_TOOBIG` when the array is full.
///
/// # Safety
/// `tp` is NULL or points to a `struct timeval`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddMissedRecord(idx: c_int, tp: In<'_, timeval>, nmissed: c_int) -> c_int {
    guard(|token| with(token, idx, |array| add_missed(array, low(tp), nmissed)))
}

/// Adds a record that says that `nmissed` events were missed, with all 64 bits of its time stamp
/// (EVENT-21, E-6).
///
/// # Returns
/// As `pmdaEventAddMissedRecord`.
///
/// # Safety
/// `ts` is NULL or points to a `struct timespec`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddHighResMissedRecord(idx: c_int, ts: In<'_, timespec>, nmissed: c_int) -> c_int {
    guard(|token| with(token, idx, |array| add_missed(array, high(ts), nmissed)))
}

/// Adds a parameter. As in the C library, the type is checked before the atom (EVENT-22).
///
/// # Errors
/// `PM_ERR_TYPE` for a type that no parameter has, `-EINVAL` without a value; errors of
/// [`EventArray::add_parameter`].
#[inline(always)]
fn add_parameter(array: &mut EventArray, metric: pmID, kind: c_int, atom: Option<Parameter<'_>>) -> Refusable<()> {
    let atom = || atom.needed(&"avp");
    // Known types are small numbers.
    let code = kind as u8;
    match kind as u32 {
        pcp::PM_TYPE_32 | pcp::PM_TYPE_U32 | pcp::PM_TYPE_FLOAT => {
            Ok(array.add_parameter(metric, code, ParameterValue::Word(atom()?.word()))?)
        }
        pcp::PM_TYPE_64 | pcp::PM_TYPE_U64 | pcp::PM_TYPE_DOUBLE => {
            Ok(array.add_parameter(metric, code, ParameterValue::Long(atom()?.long()))?)
        }
        pcp::PM_TYPE_STRING => {
            // SAFETY: the type is that of a string. The atom came with it: the callers of the
            // exported functions promise that they fit.
            let text = unsafe { atom()?.text() }.needed(&"avp->cp")?;
            Ok(array.add_parameter(metric, code, ParameterValue::Bytes(text.bytes()))?)
        }
        pcp::PM_TYPE_AGGREGATE => {
            // SAFETY: the type is one of value blocks. The atom came with it: the callers of the
            // exported functions promise that they fit.
            let payload = unsafe { atom()?.payload() }?;
            Ok(array.add_parameter(metric, code, ParameterValue::Bytes(payload.bytes()))?)
        }
        _ => Err(Error::TYPE.into()),
    }
}

/// Adds a parameter to the newest record, of either form (EVENT-22, E-3). The value is copied.
///
/// # Returns
/// 0; `PM_ERR_NOCONTEXT`, `PM_ERR_TYPE` for a type that no parameter has, `-EINVAL` without a
/// record or a value, `PM_ERR_TOOBIG` when a length field would overflow.
///
/// # Safety
/// `avp` is NULL or points to an atom of the type; its string is terminated, its value block as
/// long as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddParam(idx: c_int, pmid: pmID, r#type: c_int, avp: Option<Parameter<'_>>) -> c_int {
    guard(|token| with(token, idx, |array| add_parameter(array, pmid, r#type, avp)))
}

/// The same as `pmdaEventAddParam`.
///
/// # Returns
/// As `pmdaEventAddParam`.
///
/// # Safety
/// As `pmdaEventAddParam`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventAddHighResParam(
    idx: c_int,
    pmid: pmID,
    r#type: c_int,
    avp: Option<Parameter<'_>>,
) -> c_int {
    guard(|token| with(token, idx, |array| add_parameter(array, pmid, r#type, avp)))
}

/// An older name of `pmdaEventAddHighResParam` (EVENT-23).
///
/// # Returns
/// As `pmdaEventAddParam`.
///
/// # Safety
/// As `pmdaEventAddParam`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaEventHighResAddParam(
    idx: c_int,
    pmid: pmID,
    r#type: c_int,
    avp: Option<Parameter<'_>>,
) -> c_int {
    guard(|token| with(token, idx, |array| add_parameter(array, pmid, r#type, avp)))
}

/// Writes length and type into the header of an array, and returns its address.
///
/// # Returns
/// The array, which the library keeps; valid until something is added or the array is released
/// (EVENT-25). NULL for an unknown handle.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventGetAddr(idx: c_int) -> *mut pmEventArray {
    guard(|token| address(token, idx, Form::Low).cast())
}

/// The same as `pmdaEventGetAddr`, of the type `PM_TYPE_HIGHRES_EVENT`.
///
/// # Returns
/// As `pmdaEventGetAddr`.
#[unsafe(no_mangle)]
pub extern "C" fn pmdaEventGetHighResAddr(idx: c_int) -> *mut pmHighResEventArray {
    guard(|token| address(token, idx, Form::High).cast())
}

/// An older name of `pmdaEventGetHighResAddr` (EVENT-23).
///
/// # Returns
/// As `pmdaEventGetAddr`.
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
/// `buffer` is NULL or readable for `bufsize` bytes, `msg` is NULL or writable for `msgsize` bytes,
/// and the two do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaEventPrint(
    buffer: *const c_char,
    bufsize: c_int,
    msg: *mut c_char,
    msgsize: c_int,
) -> *mut c_char {
    // SAFETY: NULL, or memory of these sizes that does not overlap, as the caller promises. No code
    // of C runs while it is used.
    let (data, out) = unsafe {
        (
            CBytes::new(buffer.cast(), bufsize.min(msgsize)),
            CBuffer::new(msg, msgsize),
        )
    };
    guard(|_| {
        let size = usize::try_from(msgsize).unwrap_or(0);
        if size < 4 || msg.is_null() {
            return ptr::null_mut();
        }
        for (index, byte) in printable(data.bytes(), size, printed).enumerate() {
            out.write(index, &[byte]);
        }
        msg
    })
}
