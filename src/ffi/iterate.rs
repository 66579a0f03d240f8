//! Going over the instances of a domain: `__pmdaStartInst`, `__pmdaNextInst`, `__pmdaCntInst`.
//!
//! The state of an iteration is public (INST-4): `e_singular`, `e_ordinal` and `e_idp`, which agents read and write.
//! For a classic table that is all; for a cached domain the position is in the private record (INST-43).

use std::ffi::c_int;

use super::cached::{self, Ahead};
use super::fetch_state::{self, FetchState};
use super::guard::guard;
use super::metric::find_indom;
use super::ret::Plain;
use super::selection::{self, Selection};
use super::types::{pmInDom, pmInDomProfile, pmdaExt, pmdaIndom};
use crate::ident::InDom;
use crate::libpcp::log::{self, Debug};
use crate::log::Level;

/// What `e_ordinal` counts in a cached domain (INST-40).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ordinal {
    /// The active instances examined, selected or not: the promise of `__pmdaNextInst`, for which all have to be
    /// examined.
    Examined,
    /// Whatever was examined: a profile that selects a few instances of many is followed instead of the domain.
    Any,
}

/// So many instances are looked up one by one without asking how many the domain has.
const FEW: usize = 32;

/// How a caller goes over a domain. It has nothing to drop, as callbacks may leave by `longjmp` between the steps.
pub(crate) struct Steps {
    ordinal: Ordinal,
    ahead: Ahead,
    /// How many instances a cached domain had when it was first of interest; it only helps to choose a way.
    domain: Option<usize>,
}

impl Steps {
    /// For a new iteration, or for single steps.
    pub(crate) fn new(ordinal: Ordinal) -> Steps {
        Steps {
            ordinal,
            ahead: Ahead::new(),
            domain: None,
        }
    }

    /// Whether looking up so many listed instances one by one is less work than going over the cached domain.
    fn worth(&mut self, listed: usize, indom: InDom) -> bool {
        let size = || usize::try_from(cached::active_count(indom).unwrap_or(0)).unwrap_or(0);
        listed <= FEW || listed < *self.domain.get_or_insert_with(size)
    }
}

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
    guard(|| {
        let indom = InDom(indom);
        if indom.is_null() {
            return Plain::<0>(1);
        }
        // SAFETY: the contract above.
        let count = unsafe { count(indom, pmda) };
        if count.is_none() {
            log::notify!(Level::Warning, "__pmdaCntInst: unknown indom {indom}");
        }
        let count = count.unwrap_or(0);
        trace_count(indom, count);
        Plain(count)
    })
}

/// Debug output for a count of instances.
pub(super) fn trace_count(indom: InDom, count: c_int) {
    if log::debug(Debug::Indom) {
        log::trace!("__pmdaCntInst(indom={indom}) -> {count}\n");
    }
}

/// Number of instances, `None` for an unknown domain (INST-20).
///
/// # Safety
/// `ext` is NULL or valid, with its instance domains.
pub(super) unsafe fn count(indom: InDom, ext: *mut pmdaExt) -> Option<c_int> {
    if let Some(count) = cached::active_count(indom) {
        return Some(count);
    }
    if ext.is_null() {
        return None;
    }
    // SAFETY: valid by the contract above.
    unsafe {
        let idp = find_indom(fetch_state::of(ext), ext, indom)?;
        Some((*idp).it_numinst)
    }
}

/// Starts to go over the instances of a domain.
///
/// # Safety
/// `pmda` is NULL or valid, with its instance domains and profile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __pmdaStartInst(indom: pmInDom, pmda: *mut pmdaExt) {
    guard(|| {
        if !pmda.is_null() {
            // SAFETY: not NULL, hence valid by the contract above.
            unsafe { start(fetch_state::of(pmda), InDom(indom), pmda) };
        }
    });
}

/// The body of `__pmdaStartInst` (INST-30).
///
/// # Safety
/// `ext` is valid, with its instance domains and profile, and `state` is its state.
pub(crate) unsafe fn start(state: &FetchState, indom: InDom, ext: *mut pmdaExt) {
    // SAFETY: valid by the contract above; each field is written on its own, since they belong to C.
    unsafe {
        (*ext).e_ordinal = -1;
        (*ext).e_singular = -1;
        if indom.is_null() {
            (*ext).e_singular = 0;
        } else if let Some(extent) = cached::extent(indom) {
            (*ext).e_idp = state.walk.begin(indom, extent);
            (*ext).e_ordinal = 0;
        } else if let Some(idp) = find_indom(state, ext, indom) {
            (*ext).e_idp = idp;
            (*ext).e_ordinal = 0;
        }
        if !indom.is_null() && !(*ext).e_prof.is_null() {
            selection::refresh(state, ext, indom);
        }
    }
    if log::debug(Debug::Indom) {
        // SAFETY: as above.
        let ordinal = unsafe { (*ext).e_ordinal };
        log::trace!("__pmdaStartInst(indom={indom}) e_ordinal={ordinal}\n");
    }
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
    guard(|| {
        if pmda.is_null() {
            return Plain::<0>(0);
        }
        // SAFETY: the contract above.
        unsafe {
            let Some(next) = next(fetch_state::of(pmda), pmda, &mut Steps::new(Ordinal::Examined)) else {
                return Plain::<0>(0);
            };
            super::arg::store(inst, next);
        }
        Plain(1)
    })
}

/// The body of `__pmdaNextInst` (INST-40, INST-41).
///
/// # Safety
/// `ext` is valid, with its profile and the domain that `e_idp` points to, and `state` is its state.
#[inline(always)]
pub(crate) unsafe fn next(state: &FetchState, ext: *mut pmdaExt, steps: &mut Steps) -> Option<i32> {
    // The steps of a domain of which everything is selected, by far the most frequent case, are taken without a call. All
    // that the agent may have changed since the last step is looked at all the same.
    // SAFETY: valid by the contract above.
    unsafe {
        let (idp, place) = ((*ext).e_idp, (*ext).e_ordinal);
        if (*ext).e_singular == 0
            || place < 0
            || idp.is_null()
            || !selection::is_all((*ext).e_prof)
            || log::debug(Debug::Indom)
        {
            return step(state, ext, steps);
        }
        if state.walk.is_at(idp) {
            let next = steps.ahead.next(InDom((*idp).it_indom), state.walk.from());
            if let Some(inst) = next.and_then(|inst| state.walk.within(inst)) {
                state.walk.passed(inst);
                (*ext).e_ordinal = place.saturating_add(1);
                return Some(inst);
            }
        } else if place < (*idp).it_numinst && !(*idp).it_set.is_null() {
            (*ext).e_ordinal = place + 1;
            return Some((*(*idp).it_set.offset(place as isize)).i_inst);
        }
        (*ext).e_ordinal = -1;
        None
    }
}

/// One step, in any case.
///
/// # Safety
/// As [`next`].
#[inline(never)]
unsafe fn step(state: &FetchState, ext: *mut pmdaExt, steps: &mut Steps) -> Option<i32> {
    // SAFETY: valid by the contract above.
    let (singular, position, idp) = unsafe { ((*ext).e_singular, (*ext).e_ordinal, (*ext).e_idp) };
    if singular == 0 {
        // SAFETY: as above.
        unsafe { (*ext).e_singular = -1 };
        return Some(0);
    }
    if position < 0 || idp.is_null() {
        return None;
    }
    let is_cached = state.walk.is_at(idp);
    // SAFETY: `e_idp` points to our node or to a domain of the agent.
    let (indom, found) = unsafe {
        let indom = InDom((*idp).it_indom);
        let selected = selection::current(state, ext, indom);
        let found = match selected {
            Selection::Nothing => None,
            _ if is_cached => next_cached(state, ext, indom, selected, steps),
            _ => next_in_table(state, ext, idp, selected),
        };
        if found.is_none() {
            (*ext).e_ordinal = -1;
        }
        (indom, found)
    };
    if let (Some(inst), true) = (found, log::debug(Debug::Indom)) {
        // SAFETY: as above.
        let position = unsafe { (*ext).e_ordinal };
        let kind = if is_cached { " (cache)" } else { "" };
        log::trace!("__pmdaNextInst(indom={indom}) -> {inst} e_ordinal={position}{kind}\n");
    }
    found
}

/// The next selected element of a classic table, in table order.
///
/// # Safety
/// `ext` and `idp` are valid, the latter with its instances; `selected` was read just now.
unsafe fn next_in_table(
    state: &FetchState,
    ext: *mut pmdaExt,
    idp: *const pmdaIndom,
    selected: Selection,
) -> Option<i32> {
    // SAFETY: valid by the contract above.
    let (from, count, set, indom) = unsafe {
        (
            (*ext).e_ordinal,
            (*idp).it_numinst,
            (*idp).it_set,
            InDom((*idp).it_indom),
        )
    };
    if set.is_null() {
        return None;
    }
    // SAFETY: every place asked for is from 0 to it_numinst - 1.
    let inst_at = |place: c_int| unsafe { (*set.offset(place as isize)).i_inst };
    let place = match selected {
        Selection::Nothing => None,
        Selection::All => (from < count).then_some(from),
        Selection::Listed(element) => {
            // SAFETY: the element was read just now, and `e_ordinal` is not negative and `left` places remain from there.
            unsafe {
                let first = set.offset(from as isize);
                selection::listed(state, ext, indom, &element, |profile| {
                    let left = usize::try_from(count.saturating_sub(from)).unwrap_or(0);
                    let skipped = profile.position(left, |ahead| (*first.add(ahead)).i_inst)?;
                    c_int::try_from(skipped).ok()?.checked_add(from)
                })
            }
        }
    }?;
    // SAFETY: valid by the contract above.
    unsafe { (*ext).e_ordinal = place.saturating_add(1) };
    Some(inst_at(place))
}

/// The next selected active instance of a cached domain, in ascending order of ids.
///
/// # Safety
/// `ext` is valid; `selected` was read just now.
unsafe fn next_cached(
    state: &FetchState,
    ext: *mut pmdaExt,
    indom: InDom,
    selected: Selection,
    steps: &mut Steps,
) -> Option<i32> {
    let from = state.walk.from();
    let (found, examined) = match selected {
        Selection::All => (steps.ahead.next(indom, from), 1),
        Selection::Nothing => (None, 0),
        // SAFETY: the element was read just now.
        Selection::Listed(element) => unsafe { next_listed(state, ext, indom, &element, from, steps) },
    };
    let found = found.and_then(|inst| state.walk.within(inst));
    if let Some(inst) = found {
        state.walk.passed(inst);
        // SAFETY: valid by the contract above.
        unsafe { (*ext).e_ordinal = (*ext).e_ordinal.saturating_add(examined) };
    }
    found
}

/// [`next_cached`] with a profile that lists instances. Where it lists those to include, and they are fewer than the
/// domain has, they are looked up one by one.
///
/// # Safety
/// As [`next_cached`].
unsafe fn next_listed(
    state: &FetchState,
    ext: *const pmdaExt,
    indom: InDom,
    element: &pmInDomProfile,
    from: i64,
    steps: &mut Steps,
) -> (Option<i32>, c_int) {
    // SAFETY: the contract above.
    unsafe {
        selection::listed(state, ext, indom, element, |profile| match profile.candidates() {
            Some(candidates)
                if steps.ordinal == Ordinal::Any
                    && steps.worth(candidates.len(), indom)
                    // Debug output shows the ordinal.
                    && !log::debug(Debug::Indom) =>
            {
                let start = candidates.partition_point(|inst| i64::from(*inst) < from);
                let found = candidates[start..]
                    .iter()
                    .copied()
                    .find(|inst| cached::is_active(indom, *inst));
                (found, 1)
            }
            _ => walk(&mut steps.ahead, indom, from, |inst| profile.selects(inst)),
        })
    }
}

/// Goes over the active instances from an id on, to the first that is selected; also gives how many were examined.
fn walk(ahead: &mut Ahead, indom: InDom, mut from: i64, selects: impl Fn(i32) -> bool) -> (Option<i32>, c_int) {
    let mut examined: c_int = 0;
    while let Some(inst) = ahead.next(indom, from) {
        examined = examined.saturating_add(1);
        if selects(inst) {
            return (Some(inst), examined);
        }
        from = i64::from(inst) + 1;
    }
    (None, examined)
}

/// About how many instances an iteration that was just started will give: exact when the profile has no list for the
/// domain, else no less than that unless a table holds an id more than once.
///
/// # Safety
/// `ext` is valid, with its profile and the domain that `e_idp` points to, and `state` is its state.
pub(super) unsafe fn estimate(state: &FetchState, ext: *const pmdaExt) -> usize {
    // SAFETY: valid by the contract above.
    unsafe {
        let idp = (*ext).e_idp;
        if (*ext).e_ordinal < 0 || idp.is_null() {
            return 0;
        }
        let indom = InDom((*idp).it_indom);
        let all = || {
            let count = if state.walk.is_at(idp) {
                cached::active_count(indom).unwrap_or(0)
            } else {
                (*idp).it_numinst
            };
            usize::try_from(count).unwrap_or(0)
        };
        match selection::current(state, ext, indom) {
            Selection::All => all(),
            Selection::Nothing => 0,
            Selection::Listed(element) => selection::listed(state, ext, indom, &element, |profile| {
                match profile.candidates().map(<[i32]>::len) {
                    Some(few) if few <= FEW => few,
                    Some(many) => many.min(all()),
                    None => all(),
                }
            }),
        }
    }
}
