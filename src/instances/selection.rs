//! Which instances the profile of a client selects, as C holds it, and its compiled form.

use crate::record::state::{CompiledElement, FetchState, Selections};
use crate::view::agent::Ext;
use crate::view::received::{Elements, ListPlace, Profile, ProfileElement};
use pmda_core::ident::InDom;
use pmda_core::metrics::HintIndex;
use pmda_core::profile::Compiled;

/// Which instances of a domain are selected at this moment.
#[derive(Clone, Copy)]
pub(crate) enum Selection<'call> {
    All,
    Nothing,
    /// Those that a list tells; [`listed`] asks it.
    Listed(ProfileElement<'call>),
}

/// What the profile of an agent says about `indom`, read afresh.
pub(crate) fn current<'call>(state: &FetchState, ext: Ext<'call>, indom: InDom) -> Selection<'call> {
    match ext.profile() {
        None => Selection::All,
        Some(profile) => of_profile(state, profile, indom),
    }
}

/// What a profile says about `indom`.
fn of_profile<'call>(state: &FetchState, profile: Profile<'call>, indom: InDom) -> Selection<'call> {
    let elements = profile.elements();
    let place = if elements.extent().is_short() {
        (0..elements.len()).find(|place| elements.indom(*place) == indom)
    } else {
        place_in_long_profile(state, elements, indom)
    };
    match place.map(|place| elements.copy(place)) {
        None if profile.includes() => Selection::All,
        None => Selection::Nothing,
        Some(element) if element.has_list() => Selection::Listed(element),
        Some(element) if element.includes() => Selection::All,
        Some(_) => Selection::Nothing,
    }
}

/// The place of a domain in a profile that is indexed.
#[inline(never)]
fn place_in_long_profile(state: &FetchState, elements: Elements<'_>, indom: InDom) -> Option<usize> {
    let table = elements.extent();
    let is_it = |place: usize| elements.indom(place) == indom;
    let Ok(mut selections) = state.selections.lock() else {
        return (0..table.len).find(|place| is_it(*place));
    };
    selections.elements.find(table, indom.0.into(), is_it, |place, add| {
        add(elements.indom(place).0.into());
    })
}

/// Forgets what was learned from the profile of an agent that is given another one: the new one, or
/// its lists, may be at the addresses of the old one.
pub(crate) fn forget(state: &FetchState) {
    if let Some(mut selections) = state.selections.peek() {
        selections.elements = HintIndex::default();
        selections.compiled.clear();
    }
}

/// Makes sure at the start of an iteration that the compiled form says what the lists say now.
#[inline(never)]
pub(crate) fn refresh(state: &FetchState, ext: Ext<'_>, indom: InDom) {
    let Selection::Listed(listed) = current(state, ext, indom) else {
        return;
    };
    let Some(mut selections) = state.selections.peek() else {
        return;
    };
    let known = selections.compiled.get(indom.0);
    if known
        .and_then(Option::as_ref)
        .is_some_and(|known| !known.profile.is_made_from(listed.element()))
    {
        selections.compiled.remove(indom.0);
    }
}

/// [`listed`] for what takes no lock: then the compiled form may stay where it is.
pub(crate) fn listed_here<R>(
    state: &FetchState,
    ext: Ext<'_>,
    indom: InDom,
    element: &ProfileElement<'_>,
    use_it: impl FnOnce(&Compiled<'_>) -> R,
) -> R {
    let place = element.place(ext.profile());
    let selections = state.selections.peek();
    if let Some(known) = selections.as_ref().and_then(|all| known(all, indom, place)) {
        return use_it(&known.profile);
    }
    drop(selections);
    listed(state, ext, indom, element, use_it)
}

/// Whether what was learned of the list at a place was not forgotten.
pub(crate) fn is_known(state: &FetchState, indom: InDom, place: ListPlace) -> bool {
    let selections = state.selections.peek();
    selections.is_some_and(|all| known(&all, indom, place).is_some())
}

/// The compiled form of the list at a place.
#[inline(always)]
fn known(all: &Selections, indom: InDom, place: ListPlace) -> Option<&CompiledElement> {
    // Mostly there are lists for one domain.
    let near = all.compiled.get_at(indom.0, 0);
    let (_, known) = near.or_else(|| all.compiled.get_anywhere(indom.0))?;
    known.as_ref().filter(|known| known.from == place)
}

/// Calls `use_it` with the compiled form of an element, which was read just now; it is made anew
/// when the list has moved.
#[inline(never)]
pub(crate) fn listed<R>(
    state: &FetchState,
    ext: Ext<'_>,
    indom: InDom,
    listed: &ProfileElement<'_>,
    use_it: impl FnOnce(&Compiled<'_>) -> R,
) -> R {
    let place = listed.place(ext.profile());
    // It is taken out while it is used: what uses it may take the lock.
    let known = state.selections.peek();
    let known = known.and_then(|mut known| known.compiled.get_mut(indom.0)?.take());
    let mut element = match known {
        Some(known) if known.from == place => Some(known),
        _ => Compiled::new(listed.element()).map(|profile| CompiledElement { from: place, profile }),
    };
    let result = match &mut element {
        Some(known) => use_it(&known.profile),
        // Without memory the list is looked through each time.
        None => use_it(&Compiled::unprepared(listed.element())),
    };
    if let Ok(mut selections) = state.selections.lock() {
        if let Ok(place) = selections.compiled.get_or_insert_with(indom.0, || None) {
            *place = element;
        }
    }
    result
}
