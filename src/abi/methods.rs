//! The types of the methods in a dispatch table, and of the callbacks around a request.

use std::ffi::{c_char, c_int};

use super::types::{pmDesc, pmID, pmInDom, pmInResult, pmLabelSet, pmProfile, pmdaExt, pmdaResult};

/// Takes the instance profile.
pub(crate) type Profile = unsafe extern "C-unwind" fn(*mut pmProfile, *mut pmdaExt) -> c_int;
/// Fetches values.
pub(crate) type Fetch = unsafe extern "C-unwind" fn(c_int, *mut pmID, *mut *mut pmdaResult, *mut pmdaExt) -> c_int;
/// Describes a metric.
pub(crate) type Desc = unsafe extern "C-unwind" fn(pmID, *mut pmDesc, *mut pmdaExt) -> c_int;
/// Lists instances.
pub(crate) type Instance =
    unsafe extern "C-unwind" fn(pmInDom, c_int, *mut c_char, *mut *mut pmInResult, *mut pmdaExt) -> c_int;
/// Gives help.
pub(crate) type Text = unsafe extern "C-unwind" fn(c_int, c_int, *mut *mut c_char, *mut pmdaExt) -> c_int;
/// Stores values.
pub(crate) type Store = unsafe extern "C-unwind" fn(*mut pmdaResult, *mut pmdaExt) -> c_int;
/// Gives the identifier of a name.
pub(crate) type Pmid = unsafe extern "C-unwind" fn(*const c_char, *mut pmID, *mut pmdaExt) -> c_int;
/// Gives the names of an identifier.
pub(crate) type Name = unsafe extern "C-unwind" fn(pmID, *mut *mut *mut c_char, *mut pmdaExt) -> c_int;
/// Gives the names below a name.
pub(crate) type Children =
    unsafe extern "C-unwind" fn(*const c_char, c_int, *mut *mut *mut c_char, *mut *mut c_int, *mut pmdaExt) -> c_int;
/// Takes an attribute of a client.
pub(crate) type Attribute = unsafe extern "C-unwind" fn(c_int, c_int, *const c_char, c_int, *mut pmdaExt) -> c_int;
/// Gives label sets.
pub(crate) type Label = unsafe extern "C-unwind" fn(c_int, c_int, *mut *mut pmLabelSet, *mut pmdaExt) -> c_int;

/// Runs when a PDU has arrived.
pub(crate) type Check = unsafe extern "C-unwind" fn() -> c_int;
/// Runs when a PDU has been served.
pub(crate) type Done = unsafe extern "C-unwind" fn();
/// Runs when a client context ends.
pub(crate) type EndContext = unsafe extern "C-unwind" fn(c_int);
/// Cleans up a result after it was sent.
pub(crate) type CleanUp = unsafe extern "C-unwind" fn(*mut pmdaResult);
