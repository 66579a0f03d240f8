//! The ids and names of the instances of a domain: `pmdaInstance`; and iterations over them:
//! `__pmdaStartInst`, `__pmdaNextInst`, `__pmdaCntInst`.

#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::boundary::{Plain, guard};
use crate::instances::{iterate, list};
use crate::state;
use crate::sys::refusal::Refusable;
use crate::view::arg::{CText, MutableText, Needed, Out};
use crate::view::interface::Ext;
use crate::view::types::{pmInDom, pmInResult};
use pmda_core::ident::InDom;

/// Returns all instances of a domain, the name of an instance, or the instance of a name (INST-60):
/// the default method for instance requests.
///
/// # Returns
/// 0 with `*result` set to a structure that the caller frees (each name, both lists, and the
/// structure are blocks of their own, INST-5); `PM_ERR_INDOM` for an unknown domain, `PM_ERR_INST`
/// for an unknown instance, `-EINVAL` when `result` is NULL, `-ENOMEM`.
/// On failure `*result` is untouched.
///
/// # Safety
/// `name` is NULL or a C string. `result` is NULL or valid for one write. `pmda` is NULL or valid,
/// with its instance domains; a cached domain does not need it (INST-12).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaInstance(
    indom: pmInDom,
    inst: c_int,
    name: Option<MutableText<'_>>,
    result: Out<'_, *mut pmInResult>,
    pmda: Option<Ext<'_>>,
) -> c_int {
    guard(|token| -> Refusable<()> {
        let indom = InDom(indom);
        let name = name.as_ref().map(CText::bytes);
        let result = result.needed(&"result")?;
        list(token, indom, inst, name, pmda)?.hand_over(result);
        Ok(())
    })
}

/// Returns the number of instances of a domain. The profile is ignored.
///
/// # Returns
/// 1 for `PM_INDOM_NULL`; the number of active instances of a cached domain; `it_numinst` of a
/// classic one; 0 for an unknown one, which is reported.
///
/// # Safety
/// `pmda` is NULL or valid, with its instance domains.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaCntInst(indom: pmInDom, pmda: Option<Ext<'_>>) -> c_int {
    guard(|token| Plain::<0>(iterate::count_and_log(token, InDom(indom), pmda)))
}

/// Starts an iteration over the instances of a domain that the profile selects (INST-30).
///
/// # Safety
/// `pmda` is NULL or valid, with its instance domains and profile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaStartInst(indom: pmInDom, pmda: Option<Ext<'_>>) {
    guard(|token| {
        if let Some((ext, agent)) = pmda.and_then(|ext| Some((ext, state::any_agent(token, ext).ok()?))) {
            iterate::start(token, agent, InDom(indom), ext);
        }
    });
}

/// Returns the next instance of an iteration (INST-40).
///
/// # Returns
/// 1 with `inst` set, or 0 with `inst` untouched at the end.
///
/// # Safety
/// `inst` is NULL or valid for one write. `pmda` is NULL or valid, with its profile and the domain
/// that `e_idp` points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaNextInst(inst: Out<'_, c_int>, pmda: Option<Ext<'_>>) -> c_int {
    guard(|token| {
        let next = pmda.and_then(|ext| {
            let mut cursor = iterate::InstanceCursor::new(iterate::Ordinal::Examined);
            let agent = state::any_agent(token, ext).ok()?;
            iterate::next(token, agent, ext, &mut cursor)
        });
        let Some(next) = next else { return Plain::<0>(0) };
        inst.set(next);
        Plain(1)
    })
}
