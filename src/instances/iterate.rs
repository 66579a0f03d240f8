//! Iterations over the instances of a domain: `__pmdaStartInst`, `__pmdaNextInst`, `__pmdaCntInst`,
//! and the walks of fetches and labels.
//!
//! The state of an iteration is public (INST-4): `e_singular`, `e_ordinal` and `e_idp`, which
//! agents read and write. For a classic table that is all. For a cached domain the position is in
//! the agent's record (INST-43).

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use crate::agent::{AgentRecord, CompiledList};
use crate::cache::{self, InstancesAhead};
use crate::state;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::view::interface::Ext;
use crate::view::table::{Indom, IndomTable, Profile, ProfileElement};
use pmda_core::ident::InDom;
use pmda_core::log::Level;
use pmda_core::profile::Compiled;

/// The meaning of `e_ordinal` in a cached domain (INST-40).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ordinal {
    /// The number of examined active instances, selected or not. That is what `__pmdaNextInst`
    /// promises, and so each instance has to be examined.
    Examined,
    /// No promise: if the profile selects a few instances of many, these are looked up, and the
    /// others are not examined.
    Any,
}

/// The number of instances in a profile's list up to which each is looked up, whatever the size of
/// the domain.
const FEW_INSTANCES: usize = 32;

/// A caller's part of an iteration over an instance domain. It has no destructor, since callbacks
/// may leave by `longjmp` between two steps.
pub(crate) struct InstanceCursor {
    ordinal: Ordinal,
    ahead: InstancesAhead,
}

impl InstanceCursor {
    /// For a new iteration, or for single steps.
    pub(crate) const fn new(ordinal: Ordinal) -> InstanceCursor {
        InstanceCursor {
            ordinal,
            ahead: InstancesAhead::new(),
        }
    }

    /// Prepares for another iteration.
    pub(crate) fn reset(&mut self, ordinal: Ordinal) {
        self.ordinal = ordinal;
        self.ahead.reset();
    }
}

/// Returns whether a lookup of each of `listed` instances is less work than an examination of all
/// instances of a cached domain.
fn is_less(token: &mut Token, listed: usize, indom: InDom) -> bool {
    // The number fits, since it arrived as an int.
    listed <= FEW_INSTANCES || cache::active_count(token, indom) > Some(listed as c_int)
}

/// Prints a number of instances under `-Dindom`.
pub(crate) fn trace_count(token: &mut Token, indom: InDom, count: c_int) {
    if log::debug(Debug::Indom) {
        log::trace!(token, "__pmdaCntInst(indom={indom}) -> {count}\n");
    }
}

/// The body of `__pmdaCntInst` (INST-20).
pub(crate) fn count_and_log(token: &mut Token, indom: InDom, ext: Option<Ext<'_>>) -> c_int {
    if indom.is_null() {
        return 1;
    }
    let count = cache::active_count(token, indom).or_else(|| find_indom(token, ext?, indom).map(Indom::numinst));
    if count.is_none() {
        log::notify!(token, Level::Warning, "__pmdaCntInst: unknown indom {indom}");
    }
    let count = count.unwrap_or(0);
    trace_count(token, indom, count);
    count
}

/// The body of `__pmdaStartInst` (INST-30).
#[inline(always)]
pub(crate) fn start(token: &mut Token, agent: &'static AgentRecord, indom: InDom, ext: Ext<'_>) {
    let idp = if indom.is_null() {
        None
    } else if cache::exists(token, indom) {
        start_cached(token, agent, indom)
    } else {
        find_indom(token, ext, indom)
    };
    ext.set_singular(if indom.is_null() { 0 } else { -1 });
    ext.set_ordinal(if idp.is_some() { 0 } else { -1 });
    if let Some(idp) = idp {
        ext.set_walked(idp);
    }
    if !ext.profile().is_none_or(Profile::selects_all) {
        forget(agent);
    }
    if log::debug(Debug::Indom) {
        trace_start(token, ext, indom);
    }
}

/// Starts an iteration over a cached domain, and returns the node that stands for it in `e_idp`.
fn start_cached(token: &mut Token, agent: &'static AgentRecord, indom: InDom) -> Option<Indom<'static>> {
    Some(agent.walk.begin(indom, cache::start(token, indom)?))
}

/// Debug output for the start of an iteration.
#[cold]
fn trace_start(token: &mut Token, ext: Ext<'_>, indom: InDom) {
    log::trace!(token, "__pmdaStartInst(indom={indom}) e_ordinal={}\n", ext.ordinal());
}

/// The body of `__pmdaNextInst` (INST-40, INST-41).
#[inline(always)]
pub(crate) fn next(token: &mut Token, agent: &AgentRecord, ext: Ext<'_>, cursor: &mut InstanceCursor) -> Option<i32> {
    // Most steps are of a domain whose instances are all selected: these steps are done here
    // without a call. Everything that the agent may have changed since the last step is still read.
    let ordinal = ext.ordinal();
    let Some(idp) = ext.walked().filter(|_| ordinal >= 0) else {
        return step(token, agent, ext, cursor);
    };
    if ext.singular() == 0 || !ext.profile().is_none_or(Profile::selects_all) || log::debug(Debug::Indom) {
        return step(token, agent, ext, cursor);
    }
    if agent.walk.is_at(idp) {
        if let Some(inst) = cursor.ahead.next(token, &agent.walk, idp.indom()) {
            ext.set_ordinal(ordinal.saturating_add(1));
            return Some(inst);
        }
    } else if let Some(inst) = idp.instances().inst_at(ordinal) {
        ext.set_ordinal(ordinal.wrapping_add(1));
        return Some(inst);
    }
    ext.set_ordinal(-1);
    None
}

/// One step of an iteration, in any case.
fn step(token: &mut Token, agent: &AgentRecord, ext: Ext<'_>, cursor: &mut InstanceCursor) -> Option<i32> {
    if ext.singular() == 0 {
        ext.set_singular(-1);
        return Some(0);
    }
    let idp = ext.walked()?;
    if ext.ordinal() < 0 {
        return None;
    }
    let is_cached = agent.walk.is_at(idp);
    let indom = idp.indom();
    let selected = current(agent, ext, indom);
    let next = match selected {
        Selection::Nothing => None,
        _ if is_cached => next_cached(token, agent, ext, indom, selected, cursor),
        _ => next_in_table(token, agent, ext, idp, selected),
    };
    if next.is_none() {
        ext.set_ordinal(-1);
    }
    if let (Some(inst), true) = (next, log::debug(Debug::Indom)) {
        let kind = if is_cached { " (cache)" } else { "" };
        let ordinal = ext.ordinal();
        log::trace!(
            token,
            "__pmdaNextInst(indom={indom}) -> {inst} e_ordinal={ordinal}{kind}\n"
        );
    }
    next
}

/// The next selected instance of a classic table, in the order of the table.
fn next_in_table(
    token: &mut Token,
    agent: &AgentRecord,
    ext: Ext<'_>,
    idp: Indom<'_>,
    selected: Selection<'_>,
) -> Option<i32> {
    let instances = idp.instances();
    let from = usize::try_from(ext.ordinal()).ok()?;
    let ahead = from..instances.len();
    let index = match selected {
        Selection::Nothing => None,
        Selection::All => Some(from).filter(|_| !ahead.is_empty()),
        Selection::Listed(element) => with_list(token, agent, &element, |_, profile| {
            let mut ahead = ahead.map(|index| instances.inst(index));
            let position = match profile {
                Some(profile) => profile.position(ahead),
                None => ahead.position(|inst| element.element().selects(inst)),
            };
            Some(from + position?)
        }),
    }?;
    ext.set_ordinal(c_int::try_from(index).unwrap_or(c_int::MAX).saturating_add(1));
    Some(instances.inst(index))
}

/// The next selected active instance of a cached domain, in ascending order of ids.
fn next_cached(
    token: &mut Token,
    agent: &AgentRecord,
    ext: Ext<'_>,
    indom: InDom,
    selected: Selection<'_>,
    cursor: &mut InstanceCursor,
) -> Option<i32> {
    let (next, examined) = match selected {
        Selection::All => (cursor.ahead.next(token, &agent.walk, indom), 1),
        Selection::Nothing => (None, 0),
        Selection::Listed(element) => next_listed(token, agent, indom, &element, cursor),
    };
    if next.is_some() {
        ext.set_ordinal(ext.ordinal().saturating_add(examined));
    }
    next
}

/// [`next_cached`] for a profile with a list: the next instance, and the number of examined ones.
/// If the list has the instances to include, and these are fewer than the domain has, each is
/// looked up, some of them ahead.
fn next_listed(
    token: &mut Token,
    agent: &AgentRecord,
    indom: InDom,
    element: &ProfileElement<'_>,
    cursor: &mut InstanceCursor,
) -> (Option<i32>, c_int) {
    // Debug output shows the ordinal, which has to be right then.
    let is_any = cursor.ordinal == Ordinal::Any && !log::debug(Debug::Indom);
    if is_any {
        if let Some(inst) = cursor.ahead.next_listed(&agent.walk, indom, element.key) {
            return (Some(inst), 1);
        }
    }
    with_list(token, agent, element, |token, profile| {
        match profile.and_then(Compiled::candidates) {
            Some(candidates) if is_any && is_less(token, candidates.len(), indom) => {
                let inst = cursor
                    .ahead
                    .read_listed(token, &agent.walk, indom, element.key, candidates);
                (inst, 1)
            }
            _ => {
                let selects = |inst: &i32| match profile {
                    Some(profile) => profile.selects(*inst),
                    None => element.element().selects(*inst),
                };
                let mut examined: c_int = 0;
                let mut next = || {
                    examined = examined.saturating_add(1);
                    cursor.ahead.next(token, &agent.walk, indom)
                };
                let inst = std::iter::from_fn(&mut next).find(selects);
                (inst, examined)
            }
        }
    })
}

/// The expected number of instances of an iteration that was just started. It is exact if the
/// profile has no list for the domain. Otherwise the iteration returns as many at most, unless a
/// table has an id more than once.
pub(crate) fn estimate(token: &mut Token, agent: &AgentRecord, ext: Ext<'_>) -> usize {
    let Some(idp) = ext.walked().filter(|_| ext.ordinal() >= 0) else {
        return 0;
    };
    let all = if agent.walk.is_at(idp) {
        cache::active_count(token, idp.indom()).unwrap_or(0)
    } else {
        idp.numinst()
    };
    let count = match current(agent, ext, idp.indom()) {
        Selection::All => all,
        Selection::Nothing => 0,
        Selection::Listed(element) => element.most().min(all),
    };
    usize::try_from(count).unwrap_or(0)
}

/// The instances of a domain that are selected.
#[derive(Clone, Copy)]
pub(crate) enum Selection<'call> {
    All,
    Nothing,
    /// The instances that a list includes, or does not exclude: see [`with_list`].
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

/// Forgets the compiled lists of the agent's profile. It is called when an iteration starts, and
/// for each profile that arrives: a later profile may have another list at the same address, and
/// nothing else tells that list from the old one.
pub(crate) fn forget(agent: &AgentRecord) {
    agent.forgotten.fetch_add(1, Ordering::Relaxed);
}

/// Calls `use_it` with the compiled form of a list; without memory with `None`.
pub(crate) fn with_list<R>(
    token: &mut Token,
    agent: &AgentRecord,
    element: &ProfileElement<'_>,
    use_it: impl FnOnce(&mut Token, Option<&Compiled>) -> R,
) -> R {
    // The compiled list is taken out meanwhile, as `use_it` needs the token.
    let mut compiled = std::mem::take(&mut *agent.list.lock(token));
    let form = compiled.get_or_make(CompiledList::default).ok();
    let result = use_it(token, form.and_then(|list| list.of(element)));
    let other = std::mem::replace(&mut *agent.list.lock(token), compiled);
    drop(other);
    result
}

/// The first element of `e_indoms` for an instance domain.
pub(crate) fn find_indom<'call>(token: &mut Token, ext: Ext<'call>, indom: InDom) -> Option<Indom<'call>> {
    let indoms = ext.indoms();
    match indoms.get(0) {
        Some(first) if first.it_indom == indom.0 => indoms.entry(0),
        _ => indoms.entry(position_of_indom(token, ext, indoms, indom)?),
    }
}

/// The position of an instance domain in a table: by a search in a short one, by the agent's index
/// in others.
#[inline(never)]
fn position_of_indom(token: &mut Token, ext: Ext<'_>, indoms: IndomTable<'_>, indom: InDom) -> Option<usize> {
    let is_it = |position| indoms.indom(position) == indom;
    if indoms.is_short() {
        return (0..indoms.len()).find(|position| is_it(*position));
    }
    let index = state::any_agent(token, ext).ok()?.indoms.lock(token);
    index.find(indoms.extent(), indom.0.into(), is_it, |position, add| {
        add(indoms.indom(position).0.into());
    })
}
