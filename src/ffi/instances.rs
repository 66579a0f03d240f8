//! `pmdaInstance`: the ids and names of the instances of a domain.

use std::ffi::{c_char, c_int};

use super::guard::guard;
use super::types::{pmInDom, pmInResult, pmdaExt};
use crate::abi::arg::{CText, Out};
use crate::abi::ext::Ext;
use crate::abi::instance_list::InstanceList;
use crate::agent::instances::list;
use crate::ident::InDom;

/// Lists all instances of a domain, or gives the name of an instance, or the instance of a name (INST-60).
///
/// # Returns
/// 0 with `*result` set to a structure that the caller frees (each name, both lists, and the structure are blocks of
/// their own, INST-5); `PM_ERR_INDOM` for an unknown domain, `PM_ERR_INST` for an unknown instance, `-ENOMEM`. On failure
/// `*result` is untouched.
///
/// # Safety
/// `name` is NULL or a C string. `result` is NULL or valid for one write. `pmda` is NULL or valid, with its instance
/// domains; a cached domain does not need it (INST-12).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaInstance(
    indom: pmInDom,
    inst: c_int,
    name: *mut c_char,
    result: *mut *mut pmInResult,
    pmda: *mut pmdaExt,
) -> c_int {
    // SAFETY: NULL or the caller's name, place and agent, which nobody changes during this call.
    let (name, out, ext) = unsafe { (CText::new(name), Out::new(result), Ext::new(pmda)) };
    guard(|| {
        let indom = InDom(indom);
        let name = name.as_ref().map(CText::bytes);
        let answer = list(indom, inst, name, ext, |room, ids, names| {
            InstanceList::new(indom, room, ids, names)
        })?;
        // Where C wants none it is freed.
        if !out.is_null() {
            out.set(answer.into_raw());
        }
        Ok(())
    })
}
