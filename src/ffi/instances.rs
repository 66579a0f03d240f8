//! `pmdaInstance`: the ids and names of the instances of a domain.

use std::ffi::c_int;

use super::guard::guard;
use super::types::{pmInDom, pmInResult};
use crate::abi::arg::{CText, MutableText, Out};
use crate::abi::ext::Ext;
use crate::abi::instance_list::InstanceList;
use crate::agent::instances::list;
use pmda_core::ident::InDom;

/// Lists all instances of a domain, or gives the name of an instance, or the instance of a name
/// (INST-60).
///
/// # Returns
/// 0 with `*result` set to a structure that the caller frees (each name, both lists, and the
/// structure are blocks of their own, INST-5); `PM_ERR_INDOM` for an unknown domain, `PM_ERR_INST`
/// for an unknown instance, `-ENOMEM`. On failure `*result` is untouched.
///
/// # Safety
/// `name` is NULL or a C string. `result` is NULL or valid for one write. `pmda` is NULL or valid,
/// with its instance domains; a cached domain does not need it (INST-12).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaInstance(
    indom: pmInDom,
    inst: c_int,
    name: Option<MutableText>,
    result: Out<*mut pmInResult>,
    pmda: Option<Ext>,
) -> c_int {
    guard(|| {
        let indom = InDom(indom);
        let name = name.as_ref().map(CText::bytes);
        let answer = list(indom, inst, name, pmda, |room, ids, names| {
            InstanceList::new(indom, room, ids, names)
        })?;
        // Where C wants none it is freed.
        if !result.is_null() {
            result.set(answer.into_raw());
        }
        Ok(())
    })
}
