//! The ids and names of the instances of a domain: the work of `pmdaInstance`.

pub(crate) mod exports;
pub(crate) mod iterate;

use std::ffi::c_int;

use crate::agent::InstanceIndexes;
use crate::cache;
use crate::instances::iterate::find_indom;
use crate::state;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::lock::Token;
use crate::view::instance_list::InstanceList;
use crate::view::interface::Ext;
use crate::view::table::{Indom, InstanceTable};
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;
use pmda_core::instances::{InstanceQuery, Match, matches};
use pmda_core::log::Bytes;

/// The body of `pmdaInstance`.
///
/// # Errors
/// `PM_ERR_INDOM` for an unknown domain, `PM_ERR_INST` for an unknown instance, `-ENOMEM`.
pub(crate) fn list(
    token: &mut Token,
    indom: InDom,
    inst: c_int,
    name: Option<&[u8]>,
    ext: Option<Ext<'_>>,
) -> Result<InstanceList> {
    let request = InstanceQuery::new(inst, name);
    if indom.is_null() {
        // Requests for one instance have another error, as in the C library (INST-69).
        return Err(match request {
            Ok(InstanceQuery::All) => Error::INDOM,
            _ => Error::INST,
        });
    }
    if cache::exists(token, indom) {
        let request = request?;
        if matches!(request, InstanceQuery::All) {
            let count = cache::active_count(token, indom).unwrap_or(0);
            iterate::trace_count(token, indom, count);
        }
        return from_cache(token, indom, request);
    }
    let ext = ext.ok_or(Error::INDOM)?;
    let idp = find_indom(token, ext, indom).ok_or(Error::INDOM)?;
    from_table(token, ext, idp, request?, name)
}

/// Answers a request from a cache.
///
/// # Errors
/// As [`list`].
fn from_cache(token: &mut Token, indom: InDom, request: InstanceQuery<'_>) -> Result<InstanceList> {
    match request {
        InstanceQuery::All => cache::with_all(token, indom, |cache| {
            InstanceList::of_all(indom, cache.active(), cache.actives())
        }),
        InstanceQuery::NameOf(inst) => cache::with_name(token, indom, inst, |name| InstanceList::of_name(indom, name)),
        InstanceQuery::IdOf(name) => {
            let inst = cache::find_name(token, indom, name).ok_or(Error::INST)?;
            InstanceList::of_id(indom, inst)
        }
    }
}

/// Answers a request from a classic table.
///
/// # Errors
/// As [`list`]; a negative number of instances in the table is an error code of the agent.
fn from_table(
    token: &mut Token,
    ext: Ext<'_>,
    idp: Indom<'_>,
    request: InstanceQuery<'_>,
    name: Option<&[u8]>,
) -> Result<InstanceList> {
    let (indom, instances, count) = (idp.indom(), idp.instances(), idp.numinst());
    match request {
        InstanceQuery::All => {
            iterate::trace_count(token, indom, count);
            if count < 0 {
                return Err(Error::os(count));
            }
            let all = (0..instances.len()).map(|position| (instances.inst(position), instances.name_bytes(position)));
            InstanceList::of_all(indom, instances.len(), all)
        }
        InstanceQuery::NameOf(inst) => {
            let position = position_of(token, ext, idp, instances, inst).ok_or(Error::INST)?;
            let name = instances.name(position).ok_or(Error::INST)?;
            InstanceList::of_name(indom, name.bytes())
        }
        InstanceQuery::IdOf(_) => {
            let name = name.ok_or(Error::INST)?;
            let position = position_named(token, ext, idp, instances, name).ok_or(Error::INST)?;
            if log::debug(Debug::Libpmda) {
                trace_match(token, name, instances.inst(position), instances.name_bytes(position));
            }
            InstanceList::of_id(indom, instances.inst(position))
        }
    }
}

/// The first position of an instance in a table.
#[inline(always)]
fn position_of(
    token: &mut Token,
    ext: Ext<'_>,
    idp: Indom<'_>,
    instances: InstanceTable<'_>,
    inst: c_int,
) -> Option<usize> {
    if instances.is_short() {
        return instances.entries().position(|entry| entry.i_inst == inst);
    }
    position_in_long_table(token, ext, idp, instances, inst)
}

/// [`position_of`] in a long table, by an index.
fn position_in_long_table(
    token: &mut Token,
    ext: Ext<'_>,
    idp: Indom<'_>,
    instances: InstanceTable<'_>,
    inst: c_int,
) -> Option<usize> {
    let is_it = |position| instances.inst(position) == inst;
    let key = |inst: c_int| u64::from(inst as u32);
    with_indexes(token, ext, idp, |InstanceIndexes { by_id, .. }| {
        by_id.find(instances.extent(), key(inst), is_it, |position, add| {
            add(key(instances.inst(position)));
        })
    })
}

/// The first position of an instance that has this name, or whose name has this part in front of
/// its first space.
#[inline(always)]
fn position_named(
    token: &mut Token,
    ext: Ext<'_>,
    idp: Indom<'_>,
    instances: InstanceTable<'_>,
    name: &[u8],
) -> Option<usize> {
    if instances.is_short() {
        return (0..instances.len()).find(|position| is_named(instances, *position, name));
    }
    position_named_in_long_table(token, ext, idp, instances, name)
}

/// [`position_named`] in a long table, by an index.
fn position_named_in_long_table(
    token: &mut Token,
    ext: Ext<'_>,
    idp: Indom<'_>,
    instances: InstanceTable<'_>,
    name: &[u8],
) -> Option<usize> {
    let key = pmda_core::instances::key(name);
    let is_it = |position| is_named(instances, position, name);
    with_indexes(token, ext, idp, |InstanceIndexes { by_name, .. }| {
        by_name.find(instances.extent(), key, is_it, |position, add| {
            if let Some(name) = instances.name(position) {
                pmda_core::instances::keys(name.bytes(), add);
            }
        })
    })
}

/// Returns whether an instance has a name, by the rule of [`matches()`]. The length of the
/// instance's name is not computed: most names differ early.
#[inline(always)]
fn is_named(instances: InstanceTable<'_>, position: usize, name: &[u8]) -> bool {
    match instances.name(position).and_then(|other| other.byte_after(name)) {
        Some(b' ') => is_without_space(name),
        byte => byte == Some(0),
    }
}

/// Returns whether a name can be the part of another one before its first space.
#[cold]
fn is_without_space(name: &[u8]) -> bool {
    !name.contains(&b' ')
}

/// Calls `search` with the indexes of a domain's table. Without memory they are empty, and are
/// dropped afterwards.
fn with_indexes<R>(
    token: &mut Token,
    ext: Ext<'_>,
    idp: Indom<'_>,
    search: impl FnOnce(&mut InstanceIndexes) -> R,
) -> R {
    let (indom, mut unknown) = (idp.indom(), InstanceIndexes::default());
    let Ok(agent) = state::any_agent(token, ext) else {
        return search(&mut unknown);
    };
    let tables = agent.instances.lock(token);
    let position = tables.iter().position(|(other, _)| *other == indom);
    let position = position.unwrap_or(tables.len());
    if position == tables.len() && tables.try_reserve(1).is_ok() {
        tables.push((indom, InstanceIndexes::default()));
    }
    search(tables.get_mut(position).map_or(&mut unknown, |(_, index)| index))
}

/// Prints an instance that was found by its name, under `-Dlibpmda` (INST-67).
#[cold]
fn trace_match(token: &mut Token, asked: &[u8], inst: c_int, name: &[u8]) {
    let (shown, asked_shown) = (Bytes(name), Bytes(asked));
    if let Some(Match::Short(length)) = matches(asked, name) {
        log::trace!(
            token,
            "pmdaInstance: matched argument name=\"{asked_shown}\" with indom id={inst} name=\"{shown}\" len={length}\n"
        );
    } else {
        log::trace!(token, "pmdaInstance: exact match name={asked_shown} id={inst}\n");
    }
}
