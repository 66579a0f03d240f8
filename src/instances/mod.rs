//! The ids and names of the instances of a domain.

pub(crate) mod exports;
pub(crate) mod iterate;
pub(crate) mod selection;

use std::ffi::c_int;

use crate::cache::cached_indom;
use crate::fetch::lookup::find_indom;
use crate::record;
use crate::record::state::TablePlaces;
use crate::sys::libpcp::log::{self, Debug};
use crate::view::arg::CText;
use crate::view::ext::Ext;
use crate::view::instance_list::InstanceList;
use crate::view::table::{Indom, InstanceTable};
use pmda_core::error::{Error, Result};
use pmda_core::ident::InDom;
use pmda_core::instances::{Match, Request, matches};
use pmda_core::log::Bytes;

/// The body of `pmdaInstance`: what it finds goes into a list that `make` makes, given how many
/// instances there will be, and whether ids and names are asked for. No C code runs while the list
/// is filled.
///
/// # Errors
/// As `pmdaInstance`.
pub(crate) fn list<L: List>(
    indom: InDom,
    inst: c_int,
    name: Option<&[u8]>,
    ext: Option<Ext<'_>>,
    make: impl FnOnce(usize, bool, bool) -> Result<L>,
) -> Result<L> {
    let request = Request::new(inst, name);
    if indom.is_null() {
        return Err(null_domain(request));
    }
    if cached_indom::exists(indom) {
        let request = request?;
        if matches!(request, Request::All) {
            iterate::trace_count(indom, cached_indom::active_count(indom).unwrap_or(0));
        }
        return from_cache(indom, request, make);
    }
    let ext = ext.ok_or(Error::INDOM)?;
    let idp = find_indom(record::fetch_state(ext)?, ext, indom).ok_or(Error::INDOM)?;
    from_table(ext, idp, request?, make)
}

/// A list of instances under construction.
pub(crate) trait List {
    /// Adds an instance; what was not asked for is left out. Callers add no more than they have
    /// announced.
    ///
    /// # Errors
    /// `-ENOMEM` and whatever else the list may say.
    fn push(&mut self, inst: c_int, name: Option<&[u8]>) -> Result<()>;
}

/// A list with one name.
fn one_name<L: List>(make: impl FnOnce(usize, bool, bool) -> Result<L>, name: &[u8]) -> Result<L> {
    let mut list = make(1, false, true)?;
    list.push(0, Some(name))?;
    Ok(list)
}

/// A list with one id.
fn one_id<L: List>(make: impl FnOnce(usize, bool, bool) -> Result<L>, inst: c_int) -> Result<L> {
    let mut list = make(1, true, false)?;
    list.push(inst, None)?;
    Ok(list)
}

/// There is no domain to list; single requests keep the answer that they have always had (INST-69).
fn null_domain(request: Result<Request<'_>>) -> Error {
    match request {
        Ok(Request::All) => Error::INDOM,
        _ => Error::INST,
    }
}

/// Answers from a cache.
fn from_cache<L: List>(
    indom: InDom,
    request: Request<'_>,
    make: impl FnOnce(usize, bool, bool) -> Result<L>,
) -> Result<L> {
    match request {
        Request::All => cached_indom::for_all(
            indom,
            |count| make(count, true, true),
            |list, inst, name| list.push(inst, Some(name)),
        ),
        Request::NameOf(inst) => cached_indom::with_name(indom, inst, |name| one_name(make, name)),
        Request::IdOf(name) => one_id(make, cached_indom::find_name(indom, name).ok_or(Error::INST)?),
    }
}

/// Answers from a classic table.
fn from_table<L: List>(
    ext: Ext<'_>,
    idp: Indom<'_>,
    request: Request<'_>,
    make: impl FnOnce(usize, bool, bool) -> Result<L>,
) -> Result<L> {
    let state = record::fetch_state(ext)?;
    let (indom, instances, count) = (idp.indom(), idp.instances(), idp.numinst());
    let table = instances.extent();
    let inst_at = |place: usize| instances.inst(place);
    let place_of = |inst: c_int| {
        let is_it = |place| inst_at(place) == inst;
        let Ok(mut tables) = state.instances.lock() else {
            return (0..table.len).find(|place| is_it(*place));
        };
        let key = |inst: c_int| u64::from(inst as u32);
        match tables.get_or_insert_with(indom.0, TablePlaces::default) {
            Ok(places) => places
                .by_id
                .find(table, key(inst), is_it, |place, add| add(key(inst_at(place)))),
            Err(_) => (0..table.len).find(|place| is_it(*place)),
        }
    };
    let place_named = |name: &[u8]| {
        let is_it = |place| {
            let other = instances.name(place);
            other.is_some_and(|other| matches(name, other.bytes()).is_some())
        };
        let mut tables = state.instances.lock();
        let places = tables
            .as_mut()
            .map(|tables| tables.get_or_insert_with(indom.0, TablePlaces::default));
        let Ok(Ok(places)) = places else {
            return (0..table.len).find(|place| is_it(*place));
        };
        places
            .by_name
            .find(table, pmda_core::instances::key(name), is_it, |place, add| {
                if let Some(name) = instances.name(place) {
                    pmda_core::instances::keys(name.bytes(), add);
                }
            })
    };
    if matches!(request, Request::All) {
        iterate::trace_count(indom, count);
    }
    match request {
        Request::All if count < 0 => Err(Error::os(count)),
        Request::All => {
            let mut list = make(table.len, true, true)?;
            push_all(instances, &mut list)?;
            Ok(list)
        }
        Request::NameOf(inst) => {
            let place = place_of(inst).ok_or(Error::INST)?;
            one_name(make, instances.name(place).ok_or(Error::INST)?.bytes())
        }
        Request::IdOf(name) => {
            let place = place_named(name).ok_or(Error::INST)?;
            let found = instances.name(place);
            trace_match(name, inst_at(place), found.as_ref().map_or(b"", CText::bytes));
            one_id(make, inst_at(place))
        }
    }
}

/// Adds all instances of a table to a list that has room for them.
#[inline(never)]
fn push_all<L: List>(instances: InstanceTable<'_>, list: &mut L) -> Result<()> {
    for place in 0..instances.len() {
        let name = instances.name(place);
        list.push(instances.inst(place), Some(name.as_ref().map_or(b"", CText::bytes)))?;
    }
    Ok(())
}

/// Debug output for an instance found by its name (INST-67).
fn trace_match(asked: &[u8], inst: c_int, name: &[u8]) {
    if !log::debug(Debug::Libpmda) {
        return;
    }
    let (shown, asked_shown) = (Bytes(name), Bytes(asked));
    if let Some(Match::Short(length)) = matches(asked, name) {
        log::trace!(
            "pmdaInstance: matched argument name=\"{asked_shown}\" with indom id={inst} name=\"{shown}\" len={length}\n"
        );
    } else {
        log::trace!("pmdaInstance: exact match name={asked_shown} id={inst}\n");
    }
}

impl List for InstanceList {
    #[inline(always)]
    fn push(&mut self, inst: c_int, name: Option<&[u8]>) -> Result<()> {
        InstanceList::push(self, inst, name)
    }
}
