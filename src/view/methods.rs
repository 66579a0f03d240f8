//! The types of the methods in a dispatch table, and of callbacks that are there.

use std::ffi::{c_char, c_int, c_void};

use crate::view::arg::{CText, MutableText, Out};
use crate::view::ext::Ext;
use crate::view::label_set::LabelSets;
use crate::view::types::{
    pmDesc, pmID, pmInDom, pmInResult, pmProfile, pmdaCheckCallBack, pmdaDoneCallBack, pmdaEndContextCallBack,
    pmdaResult, pmdaResultCallBack,
};

/// Takes the instance profile.
pub type Profile = unsafe extern "C-unwind" fn(*mut pmProfile, Option<Ext<'_>>) -> c_int;
/// Fetches values.
pub type Fetch = unsafe extern "C-unwind" fn(c_int, *mut pmID, Out<'_, *mut pmdaResult>, Option<Ext<'_>>) -> c_int;
/// Describes a metric.
pub type Desc = unsafe extern "C-unwind" fn(pmID, Out<'_, pmDesc>, Option<Ext<'_>>) -> c_int;
/// Lists instances.
pub type Instance = unsafe extern "C-unwind" fn(
    pmInDom,
    c_int,
    Option<MutableText<'_>>,
    Out<'_, *mut pmInResult>,
    Option<Ext<'_>>,
) -> c_int;
/// Gives help.
pub type Text = unsafe extern "C-unwind" fn(c_int, c_int, Out<'_, *mut c_char>, Option<Ext<'_>>) -> c_int;
/// Stores values.
pub type Store = unsafe extern "C-unwind" fn(*mut pmdaResult, Option<Ext<'_>>) -> c_int;
/// Gives the identifier of a name.
pub type Pmid = unsafe extern "C-unwind" fn(Option<CText<'_>>, Out<'_, pmID>, Option<Ext<'_>>) -> c_int;
/// Gives the names of an identifier.
pub type Name = unsafe extern "C-unwind" fn(pmID, Out<'_, *mut *mut c_char>, Option<Ext<'_>>) -> c_int;
/// Gives the names below a name.
pub type Children = unsafe extern "C-unwind" fn(
    Option<CText<'_>>,
    c_int,
    Out<'_, *mut *mut c_char>,
    Out<'_, *mut c_int>,
    Option<Ext<'_>>,
) -> c_int;
/// Takes an attribute of a client.
pub type Attribute = unsafe extern "C-unwind" fn(c_int, c_int, Option<CText<'_>>, c_int, Option<Ext<'_>>) -> c_int;
/// Gives label sets.
pub type Label = unsafe extern "C-unwind" fn(c_int, c_int, Option<LabelSets<'_>>, Option<Ext<'_>>) -> c_int;

/// A callback type of C, whose NULL is none.
pub(crate) trait Callback {
    /// The function, if there is one.
    type Function;
}

impl<F> Callback for Option<F> {
    type Function = F;
}

/// The function behind a callback type: what it takes and gives is said once, in `types`.
pub(crate) type Function<C> = <C as Callback>::Function;

/// Runs when a PDU has arrived.
pub(crate) type Check = Function<pmdaCheckCallBack>;
/// Runs when a PDU has been served.
pub(crate) type Done = Function<pmdaDoneCallBack>;
/// Runs when a client context ends.
pub(crate) type EndContext = Function<pmdaEndContextCallBack>;
/// Cleans up a result after it was sent.
pub(crate) type CleanUp = Function<pmdaResultCallBack>;
/// Frees what an agent has attached to an instance; C's header has no name for it.
pub(crate) type Free = unsafe extern "C-unwind" fn(*mut c_void);
