//! `pmdaInstance`: the ids and names of the instances of a domain.

use std::ffi::{c_char, c_int};
use std::mem::ManuallyDrop;

use super::arg;
use super::guard::guard;
use super::memory::{self, Block};
use super::types::{pmInDom, pmInResult, pmdaExt};
use crate::abi::arg::CText;
use crate::abi::ext::Ext;
use crate::abi::table::Indom;
use crate::agent::lookup::find_indom;
use crate::agent::state::{self, TablePlaces};
use crate::agent::{cached, iterate};
use crate::error::{Error, Result};
use crate::ident::InDom;
use crate::instances::{Match, Request, matches};
use crate::libpcp::log::{self, Debug};
use crate::log::Bytes;

/// Lists all instances of a domain, or gives the name of an instance, or the instance of a name (INST-60).
///
/// # Returns
/// 0 with `*result` set to a structure that the caller frees (each name, both lists, and the structure are blocks of
/// their own, INST-5); `PM_ERR_INDOM` for an unknown domain, `PM_ERR_INST` for an unknown instance, `-ENOMEM`. On failure
/// `*result` is untouched.
///
/// # Safety
/// `name` is NULL or a C string. `result` is NULL or valid for one write. `pmda` is NULL or valid, with its instance
/// domains; a cached domain does not need it (INST-12).
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pmdaInstance(
    indom: pmInDom,
    inst: c_int,
    name: *mut c_char,
    result: *mut *mut pmInResult,
    pmda: *mut pmdaExt,
) -> c_int {
    guard(|| {
        // SAFETY: NULL or a C string by the contract above; it is used only during the call.
        let name = unsafe { arg::bytes(name) };
        let indom = InDom(indom);
        // SAFETY: the contract above.
        let answer = unsafe {
            list(indom, inst, name, pmda, |room, ids, names| {
                Answer::new(indom, room, ids, names)
            })?
        };
        if !result.is_null() {
            // SAFETY: not NULL, hence valid for one write by the contract above.
            unsafe { result.write(answer.into_raw()) };
        }
        Ok(())
    })
}

/// The body of `pmdaInstance`: what it finds goes into a list that `make` makes, given how many instances there will be,
/// and whether ids and names are asked for. No C code runs while the list is filled.
///
/// # Errors
/// As `pmdaInstance`.
///
/// # Safety
/// As `pmdaInstance`.
pub(super) unsafe fn list<L: List>(
    indom: InDom,
    inst: c_int,
    name: Option<&[u8]>,
    ext: *mut pmdaExt,
    make: impl FnOnce(usize, bool, bool) -> Result<L>,
) -> Result<L> {
    let request = Request::new(inst, name);
    if indom.is_null() {
        return Err(null_domain(request));
    }
    if cached::exists(indom) {
        let request = request?;
        if matches!(request, Request::All) {
            iterate::trace_count(indom, cached::active_count(indom).unwrap_or(0));
        }
        return from_cache(indom, request, make);
    }
    // SAFETY: NULL, or an agent whose tables nobody changes during this call.
    let ext = unsafe { Ext::new(ext) }.ok_or(Error::INDOM)?;
    let idp = find_indom(state::of(ext), ext, indom).ok_or(Error::INDOM)?;
    from_table(ext, idp, request?, make)
}

/// A list of instances under construction.
pub(super) trait List {
    /// Adds an instance; what was not asked for is left out. Callers add no more than they have announced.
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
        Request::All => cached::for_all(
            indom,
            |count| make(count, true, true),
            |list, inst, name| list.push(inst, Some(name)),
        ),
        Request::NameOf(inst) => cached::with_name(indom, inst, |name| one_name(make, name)),
        Request::IdOf(name) => one_id(make, cached::find_name(indom, name).ok_or(Error::INST)?),
    }
}

/// Answers from a classic table.
fn from_table<L: List>(
    ext: Ext,
    idp: Indom,
    request: Request<'_>,
    make: impl FnOnce(usize, bool, bool) -> Result<L>,
) -> Result<L> {
    let (indom, instances, count) = (idp.indom(), idp.instances(), idp.numinst());
    let table = instances.extent();
    let inst_at = |place: usize| instances.inst(place);
    let place_of = |inst: c_int| {
        let mut tables = state::of(ext).instances.lock();
        let is_it = |place| inst_at(place) == inst;
        let key = |inst: c_int| u64::from(inst as u32);
        match tables.get_or_insert_with(indom.0, TablePlaces::default) {
            Ok(places) => places
                .by_id
                .find(table, key(inst), is_it, |place, add| add(key(inst_at(place)))),
            Err(_) => (0..table.len).find(|place| is_it(*place)),
        }
    };
    let place_named = |name: &[u8]| {
        let mut tables = state::of(ext).instances.lock();
        let is_it = |place| {
            let other = instances.name(place);
            other.is_some_and(|other| matches(name, other.bytes()).is_some())
        };
        let Ok(places) = tables.get_or_insert_with(indom.0, TablePlaces::default) else {
            return (0..table.len).find(|place| is_it(*place));
        };
        places
            .by_name
            .find(table, crate::instances::key(name), is_it, |place, add| {
                if let Some(name) = instances.name(place) {
                    crate::instances::keys(name.bytes(), add);
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
            for place in 0..table.len {
                let name = instances.name(place);
                list.push(inst_at(place), Some(name.as_ref().map_or(b"", CText::bytes)))?;
            }
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

/// An answer under construction: the structure that C gets, freed with all that is in it unless it is handed over.
struct Answer {
    start: *mut pmInResult,
}

impl Answer {
    /// An answer without instances, and with room for some in the lists that are wanted.
    fn new(indom: InDom, room: usize, ids: bool, names: bool) -> Result<Answer> {
        let answer = Answer {
            start: Block::<pmInResult>::zeroed(1)?.into_raw(),
        };
        // SAFETY: the structure is new and ours.
        unsafe {
            (*answer.start).indom = indom.0;
            if ids {
                (*answer.start).instlist = Block::room(room)?.into_raw();
            }
            if names {
                (*answer.start).namelist = Block::room(room)?.into_raw();
            }
        }
        Ok(answer)
    }

    /// Hands the structure over.
    fn into_raw(self) -> *mut pmInResult {
        ManuallyDrop::new(self).start
    }
}

impl List for Answer {
    #[inline]
    fn push(&mut self, inst: c_int, name: Option<&[u8]>) -> Result<()> {
        // SAFETY: the structure and its lists are ours, and the lists have room for one more.
        unsafe {
            let index = usize::try_from((*self.start).numinst).map_err(|_| Error::NOMEM)?;
            if let (Some(name), false) = (name, (*self.start).namelist.is_null()) {
                (*self.start)
                    .namelist
                    .add(index)
                    .write(memory::string(name)?.into_raw());
            }
            if !(*self.start).instlist.is_null() {
                (*self.start).instlist.add(index).write(inst);
            }
            (*self.start).numinst += 1;
        }
        Ok(())
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // SAFETY: nothing was handed over, and `numinst` names are in the list, if there is one.
        unsafe {
            let names = (*self.start).namelist;
            for index in 0..usize::try_from((*self.start).numinst).unwrap_or(0) {
                if !names.is_null() {
                    libc::free((*names.add(index)).cast());
                }
            }
            libc::free(names.cast());
            libc::free((*self.start).instlist.cast());
            libc::free(self.start.cast());
        }
    }
}
