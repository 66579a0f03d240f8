//! The methods of the interface: each makes a request of its arguments and C structures of the
//! reply.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem::offset_of;
use std::{ptr, slice};

use pmda_core::constants::{PM_IN_NULL, PM_VAL_DPTR, PM_VAL_INSITU, PM_VAL_SPTR, PMNS_LEAF_STATUS};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::labels::Span;
use pmda_core::wire::client::{self, ClientRequest, InDomProfile};
use pmda_core::wire::encode::ResultBuilder;
use pmda_core::wire::{Kind, block};

use super::abi::{DomainProfile, Ext, GivenExt, GivenText, InResult, Label, LabelSet, Methods, Out, Profile};
use super::hosted::{Reply, ask, tell_ended, with};
use crate::agent::Agent;
use crate::client::ClientId;
use crate::error::{Error, Result};
use crate::memory::{Blocks, ResultHead, Value, ValueSet};

impl Methods {
    pub(super) fn of<A: Agent>(ext: *mut Ext) -> Methods {
        Methods {
            ext,
            profile: profile::<A>,
            fetch: fetch::<A>,
            desc: desc::<A>,
            instance: instance::<A>,
            text: text::<A>,
            store: store::<A>,
            pmid: pmid::<A>,
            name: name::<A>,
            children: children::<A>,
            attribute: attribute::<A>,
            label: label::<A>,
        }
    }
}

/// Keeps a profile for the next fetches.
pub(super) extern "C" fn profile<A: Agent>(profile: Option<&Profile>, ext: GivenExt) -> c_int {
    let Some(profile) = profile else {
        return Error::EINVAL.code().number();
    };
    // SAFETY: a profile has `count` entries, which live as long as the profile.
    let domains = unsafe { items(profile.domains, profile.count) };
    let domains = domains.iter().map(|domain: &DomainProfile| InDomProfile {
        indom: InDom(domain.indom),
        state: domain.state,
        // SAFETY: an entry has `count` instances, which live as long as the profile.
        instances: unsafe { items(domain.instances, domain.count) },
    });
    ask::<A>(ext, |request| request.profile(profile.state, domains), |_| Ok(0))
}

/// Fetches values: the sets become the host's, the block that points to them stays ours.
pub(super) extern "C" fn fetch<A: Agent>(
    numpmid: c_int,
    pmids: *const c_uint,
    out: Out<'_, *mut c_void>,
    ext: GivenExt,
) -> c_int {
    let Some(out) = out else {
        return Error::EINVAL.code().number();
    };
    // SAFETY: the host's list has `numpmid` metrics, and is its own until this returns. A MetricId
    // is nothing but such a number (repr(transparent)).
    let pmids: &[MetricId] = unsafe { items(pmids.cast(), numpmid) };
    with::<A>(ext, |dso, client| {
        // An agent on this thread puts its values where the host reads them, without a reply.
        match dso.session.fetch(pmids, client, &mut dso.result) {
            Some(outcome) => outcome?,
            None => dso.ask(
                client,
                |request| request.fetch(pmids),
                |reply| {
                    reply.expect(Kind::PDU_RESULT)?;
                    Ok(reply.result.of_reply(reply.pdu)?)
                },
            )?,
        }
        out.write(dso.result.finish());
        Ok(0)
    })
}

pub(super) extern "C" fn desc<A: Agent>(pmid: c_uint, out: Out<'_, [u32; 5]>, ext: GivenExt) -> c_int {
    let Some(out) = out else {
        return Error::EINVAL.code().number();
    };
    ask::<A>(
        ext,
        |request| request.desc(MetricId(pmid)),
        |reply| {
            reply.expect(Kind::PDU_DESC)?;
            let desc = client::desc(reply.pdu)?;
            out.write([
                desc.metric.0,
                desc.kind as u32,
                desc.indom.0,
                desc.semantics,
                desc.units,
            ]);
            Ok(0)
        },
    )
}

/// Lists a domain, or translates one instance.
pub(super) extern "C" fn instance<A: Agent>(
    indom: c_uint,
    inst: c_int,
    name: GivenText<'_>,
    out: Out<'_, *mut InResult>,
    ext: GivenExt,
) -> c_int {
    let Some(out) = out else {
        return Error::EINVAL.code().number();
    };
    let name = name.text().map(CStr::to_bytes);
    let is_whole = inst == PM_IN_NULL && name.is_none();
    let write = |request: &mut ClientRequest| request.instance(InDom(indom), inst, name);
    ask::<A>(ext, write, |reply| {
        reply.expect(Kind::PDU_INSTANCE)?;
        let entries = client::instances(reply.pdu)?;
        let instances = collect(entries.clone().map(|(inst, _)| Ok(inst)))?;
        let mut blocks = Blocks::new();
        let result = InResult {
            indom,
            count: c_int::try_from(entries.len()).map_err(|_| Error::IPC)?,
            // An instance that was asked for by its name has no name in the result, and one that
            // was asked for by its number has no number.
            instances: if is_whole || name.is_some() {
                blocks.array(&instances)?
            } else {
                ptr::null_mut()
            },
            names: if is_whole || name.is_none() {
                let names = collect(entries.map(|(_, name)| Ok(blocks.text(name)?)))?;
                blocks.array(&names)?
            } else {
                ptr::null_mut()
            },
        };
        out.write(blocks.array(&[result])?);
        blocks.give();
        Ok(0)
    })
}

/// Gets a text, which stays ours.
pub(super) extern "C" fn text<A: Agent>(
    ident: c_int,
    kind: c_int,
    out: Out<'_, *const c_char>,
    ext: GivenExt,
) -> c_int {
    let Some(out) = out else {
        return Error::EINVAL.code().number();
    };
    ask::<A>(
        ext,
        |request| request.text(ident as u32, kind),
        |reply| {
            reply.expect(Kind::PDU_TEXT)?;
            let text = client::text(reply.pdu)?;
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(text.len() + 1).map_err(|_| Error::ENOMEM)?;
            bytes.extend_from_slice(text);
            *reply.text = CString::new(bytes).map_err(|_| Error::TEXT)?;
            out.write(reply.text.as_ptr());
            Ok(0)
        },
    )
}

pub(super) extern "C" fn store<A: Agent>(result: Option<&ResultHead>, ext: GivenExt) -> c_int {
    let Some(result) = result else {
        return Error::EINVAL.code().number();
    };
    let sets = ptr::from_ref(result).wrapping_byte_add(offset_of!(ResultHead, sets));
    // SAFETY: `count` pointers to value sets follow the head of a result.
    let sets = unsafe { copies::<*const ValueSet>(sets.cast(), result.count) };
    with::<A>(ext, |dso, client| {
        let mut store = ResultBuilder::new();
        store.begin_store(client.0, sets.len())?;
        for set in sets.filter(|set| !set.is_null()) {
            // SAFETY: each pointer is one to a value set, which has as many values as it says, in
            // the format that it says.
            unsafe { add_values(set, &mut store)? };
        }
        store.finish()?;
        dso.send(store.reply().bytes(), |reply| reply.status())
    })
}

/// Adds a set to a store. The set, its values and their blocks may be at any address: a host may have
/// them as they came, one behind the other.
///
/// # Safety
/// `set` points to a value set with `numval` values in the format `valfmt`.
unsafe fn add_values(set: *const ValueSet, store: &mut ResultBuilder) -> Result<()> {
    let values = set.wrapping_byte_add(offset_of!(ValueSet, values));
    // SAFETY: a set, says the caller, with `numval` values after its head.
    let (set, values) = unsafe {
        let set = set.read_unaligned();
        let values = copies::<Value>(values.cast(), set.numval);
        (set, values)
    };
    store.open(MetricId(set.pmid), values.len())?;
    for value in values {
        match set.valfmt {
            // SAFETY: this format has numbers in place.
            PM_VAL_INSITU => store.word(value.inst, unsafe { value.value.lval } as u32)?,
            PM_VAL_DPTR | PM_VAL_SPTR => {
                // SAFETY: these formats have blocks, whose first word holds type and length.
                let (start, header) = unsafe { (value.value.pval, value.value.pval.read_unaligned()) };
                let length = block::length(header).max(block::HEADER);
                // SAFETY: the length counts from the first word.
                let block = unsafe { slice::from_raw_parts(start.cast::<u8>(), length) };
                store.host_block(value.inst, block).map_err(|error| {
                    // A daemon refuses a value that is too short for its type in the same way.
                    let is_memory = Error::ENOMEM == error.into();
                    if is_memory { Error::ENOMEM } else { Error::IPC }
                })?;
            }
            _ => return Err(Error::IPC),
        }
    }
    store.close(set.numval);
    Ok(())
}

pub(super) extern "C" fn pmid<A: Agent>(name: GivenText<'_>, out: Out<'_, c_uint>, ext: GivenExt) -> c_int {
    let Some(out) = out else {
        return Error::EINVAL.code().number();
    };
    let name = name.text().unwrap_or_default().to_bytes();
    ask::<A>(
        ext,
        |request| request.names([name].into_iter()),
        |reply| {
            reply.expect(Kind::PDU_PMNS_IDS)?;
            let (status, pmid) = client::pmid(reply.pdu)?;
            out.write(pmid.0);
            Error::check(status)
        },
    )
}

pub(super) extern "C" fn name<A: Agent>(pmid: c_uint, out: Out<'_, *mut *mut c_char>, ext: GivenExt) -> c_int {
    let Some(out) = out else {
        return Error::EINVAL.code().number();
    };
    ask::<A>(
        ext,
        |request| request.names_of(MetricId(pmid)),
        |reply| {
            let (names, _) = names_in(&reply)?;
            let count = c_int::try_from(names.len()).map_err(|_| Error::IPC)?;
            let mut blocks = Blocks::new();
            out.write(blocks.texts(names.iter().copied())?);
            blocks.give();
            Ok(count)
        },
    )
}

/// The names below a name, and the status of each: a leaf (0) or not (1).
pub(super) extern "C" fn children<A: Agent>(
    name: GivenText<'_>,
    traverse: c_int,
    names_out: Out<'_, *mut *mut c_char>,
    states_out: Out<'_, *mut c_int>,
    ext: GivenExt,
) -> c_int {
    let Some(names_out) = names_out else {
        return Error::EINVAL.code().number();
    };
    let name = name.text().unwrap_or_default().to_bytes();
    let write = |request: &mut ClientRequest| match traverse {
        0 => request.children(name),
        _ => request.traverse(name),
    };
    ask::<A>(ext, write, |reply| {
        let (names, states) = names_in(&reply)?;
        let count = c_int::try_from(names.len()).map_err(|_| Error::IPC)?;
        // A host frees only lists that are not empty.
        let is_empty = names.is_empty();
        let mut blocks = Blocks::new();
        let mut of_host = (ptr::null_mut(), ptr::null_mut());
        if !is_empty {
            of_host.0 = blocks.texts(names.iter().copied())?;
            if states_out.is_some() {
                of_host.1 = blocks.array(&states)?;
            }
        }
        names_out.write(of_host.0);
        if let Some(out) = states_out {
            out.write(of_host.1);
        }
        blocks.give();
        Ok(count)
    })
}

pub(super) extern "C" fn attribute<A: Agent>(
    context: c_int,
    key: c_int,
    value: *const c_char,
    length: c_int,
    ext: GivenExt,
) -> c_int {
    // SAFETY: the value is NULL or has `length` bytes, the host's until this returns.
    let value: &[u8] = unsafe { items(value.cast(), length) };
    ask::<A>(ext, |request| request.of(context).attribute(key, value), |_| Ok(0))
}

pub(super) extern "C" fn label<A: Agent>(
    ident: c_int,
    kind: c_int,
    out: Out<'_, *mut LabelSet>,
    ext: GivenExt,
) -> c_int {
    let Some(out) = out else {
        return Error::EINVAL.code().number();
    };
    ask::<A>(
        ext,
        |request| request.label(ident as u32, kind),
        |reply| {
            reply.expect(Kind::PDU_LABEL)?;
            let mut blocks = Blocks::new();
            let sets = label_sets(reply.pdu, &mut blocks)?;
            let count = c_int::try_from(sets.len()).map_err(|_| Error::IPC)?;
            out.write(if sets.is_empty() {
                ptr::null_mut()
            } else {
                blocks.array(&sets)?
            });
            blocks.give();
            Ok(count)
        },
    )
}

/// Tells that the context of a client has ended.
pub(super) extern "C" fn ended<A: Agent>(context: c_int) {
    tell_ended::<A>(ClientId(context));
}

/// The sets of a LABEL; the texts and lists that they point to are among the blocks.
fn label_sets(pdu: &[u8], blocks: &mut Blocks) -> Result<Vec<LabelSet>> {
    let set_of = |set: client::WireLabelSet<'_>| {
        let records = collect(set.spans().map(|span| Ok(label_of(span))))?;
        Ok(LabelSet {
            inst: set.inst as u32,
            count: set.count,
            json: blocks.text(set.json)?,
            json_len: u16::try_from(set.json.len()).map_err(|_| Error::IPC)?,
            flags: 0,
            labels: if records.is_empty() {
                ptr::null_mut()
            } else {
                blocks.array(&records)?
            },
            hash: ptr::null_mut(),
        })
    };
    collect(client::labels(pdu)?.map(set_of))
}

fn label_of(span: Span) -> Label {
    Label {
        name: span.name,
        name_len: span.name_len,
        flags: span.flags,
        value: span.value,
        value_len: span.value_len,
    }
}

/// The names of a PMNS_NAMES, and the status of each, by default that of a leaf.
fn names_in<'p>(reply: &Reply<'p>) -> Result<(Vec<&'p [u8]>, Vec<c_int>)> {
    reply.expect(Kind::PDU_PMNS_NAMES)?;
    let list = client::names(reply.pdu)?;
    let names = collect(list.clone().map(|(name, _)| Ok(name)))?;
    let states = collect(list.map(|(_, status)| Ok(status.unwrap_or(PMNS_LEAF_STATUS))))?;
    Ok((names, states))
}

/// Collects items in a list.
///
/// # Errors
/// `-ENOMEM`; the first error among the items.
fn collect<T>(items: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut list = Vec::new();
    for item in items {
        list.try_reserve(1).map_err(|_| Error::ENOMEM)?;
        list.push(item?);
    }
    Ok(list)
}

/// Copies of the items of an array of C, which may be at any address: none if it is NULL or its
/// length is not positive.
///
/// # Safety
/// `start` is NULL or the start of `length` items, which stay for as long as the iterator is used.
unsafe fn copies<T: Copy>(start: *const T, length: c_int) -> impl ExactSizeIterator<Item = T> {
    let length = if start.is_null() { 0 } else { length.max(0) as usize };
    // SAFETY: an index below `length`, and as many items, says the caller.
    (0..length).map(move |index| unsafe { start.add(index).read_unaligned() })
}

/// The items of an array of C that the host has aligned for them, in memory of malloc's or in a
/// variable: none if it is NULL or its length is not positive.
///
/// # Safety
/// `start` is NULL or the start of `length` items, which nobody changes for as long as `'a`.
unsafe fn items<'a, T>(start: *const T, length: c_int) -> &'a [T] {
    match usize::try_from(length) {
        // SAFETY: the caller promises that `start` has `length` items, which stay as they are.
        Ok(length) if !start.is_null() => unsafe { slice::from_raw_parts(start, length) },
        _ => &[],
    }
}
