//! The instances that a client's profile selects.

use std::sync::atomic::Ordering;

use crate::agent::AgentRecord;
use crate::state::iteration::CompiledList;
use crate::sys::lock::Token;
use crate::view::interface::Ext;
use crate::view::table::ProfileElement;
use pmda_core::ident::InDom;
use pmda_core::profile::Compiled;

/// The instances of a domain that are selected.
#[derive(Clone, Copy)]
pub(crate) enum Selection<'call> {
    All,
    Nothing,
    /// Those that a list includes, or does not exclude: see [`with_list`].
    Listed(ProfileElement<'call>),
}

/// The selection of an agent's profile for `indom` at this moment (INST-51).
pub(crate) fn current<'call>(agent: &AgentRecord, ext: Ext<'call>, indom: InDom) -> Selection<'call> {
    let Some(profile) = ext.profile() else {
        return Selection::All;
    };
    match profile.element(indom, agent.forgotten.load(Ordering::Relaxed)) {
        Some(element) if element.has_list() => Selection::Listed(element),
        Some(element) if !element.includes() => Selection::Nothing,
        None if !profile.includes() => Selection::Nothing,
        _ => Selection::All,
    }
}

/// Forgets what is known of the lists in the agent's profile. It is called when an iteration
/// starts, and for each profile that arrives: later there may be another list at the same place,
/// which nothing else tells from the old one.
pub(crate) fn forget(agent: &AgentRecord) {
    agent.forgotten.fetch_add(1, Ordering::Relaxed);
}

/// Calls `use_it` with the compiled form of a list; with `None` if there is no memory for it.
pub(crate) fn with_list<R>(
    token: &mut Token,
    agent: &AgentRecord,
    element: &ProfileElement<'_>,
    use_it: impl FnOnce(&mut Token, Option<&Compiled>) -> R,
) -> R {
    // It is taken out meanwhile, as `use_it` needs the token.
    let mut compiled = std::mem::take(&mut *agent.list.lock(token));
    let form = compiled.get_or_make(CompiledList::default).ok();
    let result = use_it(token, form.and_then(|list| list.of(element)));
    let other = std::mem::replace(&mut *agent.list.lock(token), compiled);
    drop(other);
    result
}
