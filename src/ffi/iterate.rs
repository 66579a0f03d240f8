//! Going over the instances of a domain: `__pmdaStartInst`, `__pmdaNextInst`, `__pmdaCntInst`.

use std::ffi::c_int;

use super::guard::guard;
use super::ret::Plain;
use super::types::pmInDom;
use crate::abi::arg::Out;
use crate::abi::ext::Ext;
use crate::agent::{iterate, record};
use pmda_core::ident::InDom;

/// Number of instances of a domain; the profile is not looked at.
///
/// # Returns
/// 1 for `PM_INDOM_NULL`; the number of active instances of a cached domain; `it_numinst` of a
/// classic one; 0 for an unknown one, which is reported.
///
/// # Safety
/// `pmda` is NULL or valid, with its instance domains.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaCntInst(indom: pmInDom, pmda: Option<Ext>) -> c_int {
    guard(|| Plain::<0>(iterate::told_count(InDom(indom), pmda)))
}

/// Starts to go over the instances of a domain.
///
/// # Safety
/// `pmda` is NULL or valid, with its instance domains and profile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaStartInst(indom: pmInDom, pmda: Option<Ext>) {
    guard(|| {
        if let Some((ext, state)) = pmda.and_then(|ext| Some((ext, record::fetch_state(ext).ok()?))) {
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
/// `inst` is NULL or valid for one write. `pmda` is NULL or valid, with its profile and the domain
/// that `e_idp` points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaNextInst(inst: Out<c_int>, pmda: Option<Ext>) -> c_int {
    guard(|| {
        let next = pmda.and_then(|ext| {
            let mut steps = iterate::Steps::new(iterate::Ordinal::Examined);
            iterate::next(record::fetch_state(ext).ok()?, ext, &mut steps)
        });
        let Some(next) = next else { return Plain::<0>(0) };
        inst.set(next);
        Plain(1)
    })
}
