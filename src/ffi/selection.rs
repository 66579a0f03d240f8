//! The profile of a client as C holds it, and its compiled form.

use std::ffi::c_int;

use super::arg;
use super::fetch_state::FetchState;
use super::types::{pmInDomProfile, pmProfile, pmdaExt};
use crate::ident::InDom;
use crate::index::Map;
use crate::metrics::{Places, Table};
use crate::profile::{Compiled, Element};

/// `PM_PROFILE_INCLUDE`; any other number counts as exclude (INST-51).
const INCLUDE: c_int = 0;

/// Compiled profile elements, by instance domain.
#[derive(Default)]
pub(crate) struct Selections {
    elements: Places,
    compiled: Map<(Source, Compiled<'static>)>,
}

/// Where an element's list is: while that is the same, an iteration goes on with what was compiled (INST-53). The
/// address alone does not tell one list from another that was put there later: [`refresh`] compares the lists whenever
/// an iteration starts, and [`forget`] is called for each profile that passes through this library.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Source {
    profile: *const pmProfile,
    state: c_int,
    list: *const c_int,
    len: c_int,
}

// SAFETY: the pointers are compared, never followed.
unsafe impl Send for Selections {}

/// Which instances of a domain are selected at this moment.
#[derive(Clone, Copy)]
pub(super) enum Selection {
    All,
    Nothing,
    /// Those that a list tells; [`listed`] asks it.
    Listed(pmInDomProfile),
}

/// What the profile of `ext` says about `indom`, read afresh.
///
/// # Safety
/// `ext` is valid, and its profile is NULL or valid with the number of elements that it has.
#[inline]
pub(super) unsafe fn current(state: &FetchState, ext: *const pmdaExt, indom: InDom) -> Selection {
    // SAFETY: valid by the contract above.
    let profile = unsafe { (*ext).e_prof };
    if profile.is_null() {
        return Selection::All;
    }
    // SAFETY: not NULL, hence valid by the contract above.
    unsafe { of_profile(state, profile, indom) }
}

/// Whether a profile selects all instances of all domains.
///
/// # Safety
/// The profile is NULL or valid.
#[inline(always)]
pub(super) unsafe fn is_all(profile: *const pmProfile) -> bool {
    // SAFETY: valid by the contract above, when it is not NULL.
    profile.is_null() || unsafe { (*profile).profile_len <= 0 && (*profile).state == INCLUDE }
}

/// What a profile says about `indom`.
///
/// # Safety
/// The profile is valid with the number of elements that it has.
unsafe fn of_profile(state: &FetchState, profile: *const pmProfile, indom: InDom) -> Selection {
    // SAFETY: the profile is valid by the contract above, and no C code runs while its elements are looked at.
    let (default, elements) = unsafe { ((*profile).state, arg::slice((*profile).profile, (*profile).profile_len)) };
    let table = Table {
        address: elements.as_ptr() as usize,
        len: elements.len(),
    };
    let is_it = |place: usize| elements[place].indom == indom.0;
    let place = if table.is_short() {
        (0..table.len).find(|place| is_it(*place))
    } else {
        let mut selections = state.selections.lock();
        let add_key = |place: usize, add: &mut dyn FnMut(u64)| add(elements[place].indom.into());
        selections.elements.find(table, indom.0.into(), is_it, add_key)
    };
    match place.map(|place| elements[place]) {
        None if default == INCLUDE => Selection::All,
        None => Selection::Nothing,
        Some(element) if element.instances_len > 0 && !element.instances.is_null() => Selection::Listed(element),
        Some(element) if element.state == INCLUDE => Selection::All,
        Some(_) => Selection::Nothing,
    }
}

/// Forgets what was learned from the profile of an agent that is given another one: the new one, or its lists, may be at
/// the addresses of the old one.
pub(super) fn forget(state: &FetchState) {
    let mut selections = state.selections.lock();
    selections.elements = Places::default();
    selections.compiled.clear();
}

/// Makes sure at the start of an iteration that the compiled form says what the lists say now.
///
/// # Safety
/// As [`current`].
pub(super) unsafe fn refresh(state: &FetchState, ext: *const pmdaExt, indom: InDom) {
    // SAFETY: the contract is the same.
    let Selection::Listed(element) = (unsafe { current(state, ext, indom) }) else {
        return;
    };
    // SAFETY: the element was read just now, so its list is valid.
    let list = unsafe { view(&element) };
    let mut selections = state.selections.lock();
    let known = selections.compiled.get(indom.0);
    if known.is_some_and(|(_, compiled)| !compiled.is_made_from(list)) {
        selections.compiled.remove(indom.0);
    }
}

/// Calls `use_it` with the compiled form of an element, made anew when the list has moved.
///
/// # Safety
/// `element` was read just now from the profile of `ext`, which is valid.
pub(super) unsafe fn listed<R>(
    state: &FetchState,
    ext: *const pmdaExt,
    indom: InDom,
    element: &pmInDomProfile,
    use_it: impl FnOnce(&Compiled<'_>) -> R,
) -> R {
    let source = Source {
        // SAFETY: valid by the contract above.
        profile: unsafe { (*ext).e_prof },
        state: element.state,
        list: element.instances,
        len: element.instances_len,
    };
    let mut selections = state.selections.lock();
    let compiled = &mut selections.compiled;
    if compiled.get(indom.0).is_none_or(|(from, _)| *from != source) {
        // SAFETY: the element's list is valid by the contract above.
        let fresh = Compiled::new(unsafe { view(element) }).map(|fresh| (source, fresh));
        compiled.remove(indom.0);
        if let Some(fresh) = fresh {
            // Without memory the list is looked through each time.
            let _ = compiled.get_or_insert_with(indom.0, || fresh);
        }
    }
    match compiled.get(indom.0) {
        Some((_, known)) => use_it(known),
        // SAFETY: as above.
        None => use_it(&Compiled::unprepared(unsafe { view(element) })),
    }
}

/// The element as the core sees it.
///
/// # Safety
/// The list of the element is NULL or valid with its length.
unsafe fn view(element: &pmInDomProfile) -> Element<'_> {
    Element {
        include: element.state == INCLUDE,
        // SAFETY: the contract above.
        exceptions: unsafe { arg::slice(element.instances, element.instances_len) },
    }
}
