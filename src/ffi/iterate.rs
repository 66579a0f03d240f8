//! Going over the instances of a domain: `__pmdaStartInst`, `__pmdaNextInst`, `__pmdaCntInst`.

use std::ffi::c_int;

use super::guard::guard;
use super::ret::Plain;
use super::types::{pmInDom, pmdaExt};
use crate::abi::arg::Out;
use crate::abi::ext::Ext;
use crate::agent::{iterate, state};
use crate::ident::InDom;

/// Number of instances of a domain; the profile is not looked at.
///
/// # Returns
/// 1 for `PM_INDOM_NULL`; the number of active instances of a cached domain; `it_numinst` of a classic one; 0 for an
/// unknown one, which is reported.
///
/// # Safety
/// `pmda` is NULL or valid, with its instance domains.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaCntInst(indom: pmInDom, pmda: *mut pmdaExt) -> c_int {
    // SAFETY: NULL, or an agent whose tables nobody changes during this call.
    let ext = unsafe { Ext::new(pmda) };
    guard(|| Plain::<0>(iterate::told_count(InDom(indom), ext)))
}

/// Starts to go over the instances of a domain.
///
/// # Safety
/// `pmda` is NULL or valid, with its instance domains and profile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaStartInst(indom: pmInDom, pmda: *mut pmdaExt) {
    // SAFETY: NULL, or an agent whose tables and profile nobody changes during this call.
    let ext = unsafe { Ext::new(pmda) };
    guard(|| {
        if let Some((ext, state)) = ext.and_then(|ext| Some((ext, state::of(ext).ok()?))) {
            iterate::start(state, InDom(indom), ext);
        }
    });
}

/// Gives the next instance that the profile selects.
///
/// # Returns
/// 1 with `inst` set, or 0 with `inst` untouched at the end.
///
/// # Safety
/// `inst` is NULL or valid for one write. `pmda` is NULL or valid, with its profile and the domain that `e_idp` points
/// to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaNextInst(inst: *mut c_int, pmda: *mut pmdaExt) -> c_int {
    // SAFETY: NULL, or the caller's place; NULL, or an agent whose profile and domain nobody changes meanwhile.
    let (out, ext) = unsafe { (Out::new(inst), Ext::new(pmda)) };
    guard(|| {
        let next = ext.and_then(|ext| {
            let mut steps = iterate::Steps::new(iterate::Ordinal::Examined);
            iterate::next(state::of(ext).ok()?, ext, &mut steps)
        });
        let Some(next) = next else { return Plain::<0>(0) };
        out.set(next);
        Plain(1)
    })
}
