//! Which instances the profile of a client selects, as C holds it, and its compiled form.

use std::sync::atomic::Ordering;

use crate::agent::AgentRecord;
use crate::state::iteration::CompiledList;
use crate::sys::lock::Token;
use crate::view::interface::Ext;
use crate::view::table::ProfileElement;
use pmda_core::ident::InDom;
use pmda_core::profile::Compiled;

/// The instances of a domain that are selected at this moment.
#[derive(Clone, Copy)]
pub(crate) enum Selection<'call> {
    All,
    Nothing,
    /// Those that a list tells; [`with_list`] asks it.
    Listed(ProfileElement<'call>),
}

/// The selection of an agent's profile for `indom`, read afresh (INST-51).
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

/// Forgets what is known of the agent's lists, when an iteration starts and for each profile that
/// passes through this library: the place of a list alone does not tell it from another one that
/// was put there later.
pub(crate) fn forget(agent: &AgentRecord) {
    agent.forgotten.fetch_add(1, Ordering::Relaxed);
}

/// Calls `use_it` with the compiled form of a list; without memory there is none.
#[inline(never)]
pub(crate) fn with_list<R>(
    token: &mut Token,
    agent: &AgentRecord,
    element: &ProfileElement<'_>,
    use_it: impl FnOnce(&mut Token, Option<&Compiled>) -> R,
) -> R {
    // It is taken out while it is used: what uses it may take the lock.
    let mut lists = std::mem::take(&mut *agent.list.lock(token));
    if lists.is_empty() && lists.try_reserve_exact(1).is_ok() {
        lists.push(CompiledList::default());
    }
    let result = use_it(token, lists.first_mut().and_then(|list| list.of(element)));
    let other = std::mem::replace(&mut *agent.list.lock(token), lists);
    drop(other);
    result
}
