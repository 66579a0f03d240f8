//! The methods of the interface: each makes a request of its arguments and C structures of the
//! reply.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::mem::offset_of;
use std::{ptr, slice};

use pmda_core::ident::MetricId;
use pmda_core::wire::block::{self, Direction};
use pmda_core::wire::{Kind, count, number, word};

use super::abi::{DomainProfile, Ext, GivenExt, GivenText, InResult, Label, LabelSet, Methods, Out, Profile};
use super::request::RequestBuilder;
use super::{Reply, ask, tell_ended, with};
use crate::memory::{ResultHead, Value, ValueSet, heap};
use crate::{Agent, ClientId, Error, Result};

/// `PM_IN_NULL`.
const PM_IN_NULL: c_int = -1;

impl Methods {
    /// The methods of an agent.
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

/// Keeps a profile for the fetches to come.
pub(super) extern "C" fn profile<A: Agent>(profile: Option<&Profile>, ext: GivenExt) -> c_int {
    let Some(profile) = profile else {
        return Error::EINVAL.code();
    };
    // SAFETY: a profile has `count` entries, which live as long as the profile.
    let domains = unsafe { items(profile.domains, profile.count) };
    let instances = |domain: &DomainProfile| {
        // SAFETY: an entry has `count` instances, which live as long as the profile.
        unsafe { items(domain.instances, domain.count) }
    };
    let write = |request: &mut RequestBuilder| {
        request.kind(Kind::PDU_PROFILE).word(0).number(profile.state);
        request.count(domains.len()).word(0);
        for domain in domains {
            request.word(domain.indom).number(domain.state);
            request.count(instances(domain).len()).word(0);
        }
        for instance in domains.iter().flat_map(instances) {
            request.number(*instance);
        }
    };
    ask::<A>(ext, write, |_| Ok(0))
}

/// Gets values: the block with the sets stays ours, the sets become the host's.
pub(super) extern "C" fn fetch<A: Agent>(
    numpmid: c_int,
    pmids: *const c_uint,
    out: Out<'_, *mut c_void>,
    ext: GivenExt,
) -> c_int {
    let Some(out) = out else { return Error::EINVAL.code() };
    // SAFETY: the host's list has `numpmid` metrics, and is its own until this returns. A MetricId
    // is nothing but such a number (repr(transparent)).
    let pmids: &[MetricId] = unsafe { items(pmids.cast(), numpmid) };
    let write = |request: &mut RequestBuilder| {
        request.kind(Kind::PDU_FETCH).word(0).word(0).word(0).count(pmids.len());
        for pmid in pmids {
            request.word(pmid.0);
        }
    };
    with::<A>(ext, |dso, client| {
        // An agent on this thread puts its values where the host reads them.
        match dso.session.fetch(pmids, client, &mut dso.result) {
            Some(outcome) => outcome?,
            None => dso.ask(client, write, |reply| {
                reply.expect(Kind::PDU_RESULT)?;
                reply.result.of_reply(reply.pdu)
            })?,
        }
        out.write(dso.result.finish());
        Ok(0)
    })
}

/// Describes a metric.
pub(super) extern "C" fn desc<A: Agent>(pmid: c_uint, out: Out<'_, [u32; 5]>, ext: GivenExt) -> c_int {
    let Some(out) = out else { return Error::EINVAL.code() };
    let write = |request: &mut RequestBuilder| {
        request.kind(Kind::PDU_DESC_REQ).word(pmid);
    };
    ask::<A>(ext, write, |reply| {
        reply.expect(Kind::PDU_DESC)?;
        let mut words = [0; 5];
        for (index, place) in words.iter_mut().enumerate() {
            *place = word(reply.pdu, 12 + 4 * index).ok_or(Error::IPC)?;
        }
        out.write(words);
        Ok(0)
    })
}

/// Lists a domain, or translates one instance.
pub(super) extern "C" fn instance<A: Agent>(
    indom: c_uint,
    inst: c_int,
    name: GivenText<'_>,
    out: Out<'_, *mut InResult>,
    ext: GivenExt,
) -> c_int {
    let Some(out) = out else { return Error::EINVAL.code() };
    let name = name.text();
    let write = |request: &mut RequestBuilder| {
        request
            .kind(Kind::PDU_INSTANCE_REQ)
            .word(indom)
            .word(0)
            .word(0)
            .number(inst);
        request.text(name.unwrap_or_default().to_bytes());
    };
    let is_whole = inst == PM_IN_NULL && name.is_none();
    ask::<A>(ext, write, |reply| {
        reply.expect(Kind::PDU_INSTANCE)?;
        let entries = entries(reply.pdu.get(20..), count(reply.pdu, 16), 8)?;
        let instances: Vec<c_int> = entries.iter().map(|(head, _)| number(head, 0).unwrap_or(0)).collect();
        let found = InResult {
            indom,
            count: c_int::try_from(entries.len()).map_err(|_| Error::IPC)?,
            // One that was asked for by its name has no name in the result, and the reverse.
            instances: if is_whole || name.is_some() {
                heap::array(&instances)
            } else {
                ptr::null_mut()
            },
            names: if is_whole || name.is_none() {
                names_of(&entries)
            } else {
                ptr::null_mut()
            },
        };
        out.write(heap::array(&[found]));
        Ok(0)
    })
}

/// The names of instances, each a block of its own.
fn names_of(entries: &[(&[u8], &[u8])]) -> *mut *mut c_char {
    let names: Vec<*mut c_char> = entries.iter().map(|(_, name)| heap::text(name)).collect();
    heap::array(&names)
}

/// Gets a text, which stays ours.
pub(super) extern "C" fn text<A: Agent>(
    ident: c_int,
    kind: c_int,
    out: Out<'_, *const c_char>,
    ext: GivenExt,
) -> c_int {
    let Some(out) = out else { return Error::EINVAL.code() };
    let write = |request: &mut RequestBuilder| {
        request.kind(Kind::PDU_TEXT_REQ).number(ident).number(kind);
    };
    ask::<A>(ext, write, |reply| {
        reply.expect(Kind::PDU_TEXT)?;
        let length = count(reply.pdu, 16).ok_or(Error::IPC)?;
        let text = reply
            .pdu
            .get(20..)
            .and_then(|rest| rest.get(..length))
            .ok_or(Error::IPC)?;
        *reply.text = CString::new(text).map_err(|_| Error::TEXT)?;
        out.write(reply.text.as_ptr());
        Ok(0)
    })
}

/// Stores values.
pub(super) extern "C" fn store<A: Agent>(result: Option<&ResultHead>, ext: GivenExt) -> c_int {
    let Some(result) = result else {
        return Error::EINVAL.code();
    };
    let sets = ptr::from_ref(result).wrapping_byte_add(offset_of!(ResultHead, sets));
    // SAFETY: `count` pointers to value sets follow the head of a result.
    let sets: &[*const ValueSet] = unsafe { items(sets.cast(), result.count) };
    let mut blocks = Vec::new();
    let write = |request: &mut RequestBuilder| {
        request.kind(Kind::PDU_RESULT).word(0).word(0).count(sets.len());
        for set in sets {
            // SAFETY: each pointer is one to a value set.
            let Some(set) = (unsafe { set.as_ref() }) else { continue };
            request.word(set.pmid).number(set.numval);
            // SAFETY: a set has as many values as it says, in the format that it says.
            unsafe { write_values(set, request, &mut blocks) };
        }
        // Where blocks are was not known before all sets were written.
        let mut start = request.len();
        for (place, block) in &blocks {
            let words = u32::try_from(start / 4).unwrap_or(u32::MAX);
            request.written()[*place..*place + 4].copy_from_slice(&words.to_be_bytes());
            request.bytes(block).pad();
            start = request.len();
        }
    };
    ask::<A>(ext, write, |_| Ok(0))
}

/// Writes the format and the values of a set; blocks go to `blocks`, in the order of the wire, with
/// the place of the word that is to say where each one is.
///
/// # Safety
/// The set has `numval` values in the format `valfmt`.
unsafe fn write_values(set: &ValueSet, request: &mut RequestBuilder, blocks: &mut Vec<(usize, Vec<u8>)>) {
    if set.numval <= 0 {
        return;
    }
    request.number(set.valfmt);
    let values = ptr::from_ref(set).wrapping_byte_add(offset_of!(ValueSet, values));
    // SAFETY: `numval` values follow the head of a set, says the caller.
    for value in unsafe { items::<Value>(values.cast(), set.numval) } {
        request.number(value.inst);
        if set.valfmt == 0 {
            // SAFETY: format 0 has numbers in place.
            request.number(unsafe { value.value.lval });
            continue;
        }
        // SAFETY: the other formats have blocks, whose first word holds type and length.
        let (start, header) = unsafe { (value.value.pval, value.value.pval.read()) };
        let length = block::length(header).max(block::HEADER);
        // SAFETY: the length counts from the first word.
        let mut bytes = unsafe { slice::from_raw_parts(start.cast::<u8>(), length) }.to_vec();
        let (head, payload) = bytes.split_at_mut(block::HEADER);
        head.copy_from_slice(&header.to_be_bytes());
        // What is too short for its type is the agent's to refuse.
        let _ = block::exchange(block::kind(header), payload, Direction::Encode);
        blocks.push((request.len(), bytes));
        request.word(0);
    }
}

/// Finds a metric by its name.
pub(super) extern "C" fn pmid<A: Agent>(name: GivenText<'_>, out: Out<'_, c_uint>, ext: GivenExt) -> c_int {
    let Some(out) = out else { return Error::EINVAL.code() };
    let name = name.text().unwrap_or_default().to_bytes();
    let write = |request: &mut RequestBuilder| {
        request
            .kind(Kind::PDU_PMNS_NAMES)
            .count(name.len() + 1)
            .word(0)
            .word(1)
            .text(name);
    };
    ask::<A>(ext, write, |reply| {
        reply.expect(Kind::PDU_PMNS_IDS)?;
        out.write(word(reply.pdu, 20).ok_or(Error::IPC)?);
        Error::check(number(reply.pdu, 12).ok_or(Error::IPC)?)
    })
}

/// The names of a metric.
pub(super) extern "C" fn name<A: Agent>(pmid: c_uint, out: Out<'_, *mut *mut c_char>, ext: GivenExt) -> c_int {
    let Some(out) = out else { return Error::EINVAL.code() };
    let write = |request: &mut RequestBuilder| {
        request.kind(Kind::PDU_PMNS_IDS).word(0).word(1).word(pmid);
    };
    ask::<A>(ext, write, |reply| {
        let (names, _) = names_in(&reply)?;
        out.write(heap::texts(names.iter().copied()));
        c_int::try_from(names.len()).map_err(|_| Error::IPC)
    })
}

/// The names below a name, and whether each of them is a leaf (0) or not (1).
pub(super) extern "C" fn children<A: Agent>(
    name: GivenText<'_>,
    traverse: c_int,
    names_out: Out<'_, *mut *mut c_char>,
    states_out: Out<'_, *mut c_int>,
    ext: GivenExt,
) -> c_int {
    let Some(names_out) = names_out else {
        return Error::EINVAL.code();
    };
    let name = name.text().unwrap_or_default().to_bytes();
    let write = |request: &mut RequestBuilder| {
        match traverse {
            0 => request.kind(Kind::PDU_PMNS_CHILD).word(1),
            _ => request.kind(Kind::PDU_PMNS_TRAVERSE).word(0),
        };
        request.text(name);
    };
    ask::<A>(ext, write, |reply| {
        let (names, states) = names_in(&reply)?;
        names_out.write(heap::texts(names.iter().copied()));
        if let Some(out) = states_out {
            out.write(heap::array(&states));
        }
        c_int::try_from(names.len()).map_err(|_| Error::IPC)
    })
}

/// Takes note of what is known about a client.
pub(super) extern "C" fn attribute<A: Agent>(
    context: c_int,
    key: c_int,
    value: *const c_char,
    length: c_int,
    ext: GivenExt,
) -> c_int {
    // SAFETY: the value is NULL or has `length` bytes, the host's until this returns.
    let value: &[u8] = unsafe { items(value.cast(), length) };
    let write = |request: &mut RequestBuilder| {
        request.of_client(context).kind(Kind::PDU_ATTR).number(key).bytes(value);
    };
    ask::<A>(ext, write, |_| Ok(0))
}

/// Gets labels.
pub(super) extern "C" fn label<A: Agent>(
    ident: c_int,
    kind: c_int,
    out: Out<'_, *mut LabelSet>,
    ext: GivenExt,
) -> c_int {
    let Some(out) = out else { return Error::EINVAL.code() };
    let write = |request: &mut RequestBuilder| {
        request.kind(Kind::PDU_LABEL_REQ).number(ident).number(kind);
    };
    ask::<A>(ext, write, |reply| {
        reply.expect(Kind::PDU_LABEL)?;
        let sets = label_sets(reply.pdu)?;
        out.write(if sets.is_empty() {
            ptr::null_mut()
        } else {
            heap::array(&sets)
        });
        c_int::try_from(sets.len()).map_err(|_| Error::IPC)
    })
}

/// The context of a client has ended.
pub(super) extern "C" fn ended<A: Agent>(context: c_int) {
    tell_ended::<A>(ClientId(context));
}

/// The sets of a LABEL; what they point to is the host's.
fn label_sets(pdu: &[u8]) -> Result<Vec<LabelSet>> {
    let mut place = 28;
    let mut sets = Vec::new();
    for _ in 0..count(pdu, 24).ok_or(Error::IPC)? {
        let inst = word(pdu, place).ok_or(Error::IPC)?;
        let labels = number(pdu, place + 4).ok_or(Error::IPC)?;
        let start = count(pdu, place + 8).ok_or(Error::IPC)?;
        let length = count(pdu, place + 12).ok_or(Error::IPC)?;
        let json = pdu.get(start..).and_then(|rest| rest.get(..length)).ok_or(Error::IPC)?;
        place += 16;
        let size = 8 * usize::try_from(labels).unwrap_or(0);
        let records = pdu.get(place..).and_then(|rest| rest.get(..size)).ok_or(Error::IPC)?;
        place += size;
        let records: Vec<Label> = records.chunks_exact(8).map(label_of).collect();
        sets.push(LabelSet {
            inst,
            count: labels,
            json: heap::text(json),
            json_len: u16::try_from(length).map_err(|_| Error::IPC)?,
            flags: 0,
            labels: if records.is_empty() {
                ptr::null_mut()
            } else {
                heap::array(&records)
            },
            hash: ptr::null_mut(),
        });
    }
    Ok(sets)
}

fn label_of(record: &[u8]) -> Label {
    let short = |place: usize| u16::from_be_bytes([record[place], record[place + 1]]);
    Label {
        name: short(0),
        name_len: record[2],
        flags: record[3],
        value: short(4),
        value_len: short(6),
    }
}

/// The names of a PMNS_NAMES, and the state of each: 0 where none came with them.
fn names_in<'p>(reply: &Reply<'p>) -> Result<(Vec<&'p [u8]>, Vec<c_int>)> {
    reply.expect(Kind::PDU_PMNS_NAMES)?;
    let has_states = number(reply.pdu, 16) != Some(0);
    let head = if has_states { 8 } else { 4 };
    let entries = entries(reply.pdu.get(24..), count(reply.pdu, 20), head)?;
    let state = |head: &[u8]| if has_states { number(head, 0).unwrap_or(0) } else { 0 };
    Ok(entries.into_iter().map(|(head, name)| (name, state(head))).unzip())
}

/// Entries of a fixed head, whose last word is the length of the text behind it.
fn entries(bytes: Option<&[u8]>, entries: Option<usize>, head: usize) -> Result<Vec<(&[u8], &[u8])>> {
    let mut rest = bytes.ok_or(Error::IPC)?;
    let mut found = Vec::new();
    for _ in 0..entries.ok_or(Error::IPC)? {
        let (fixed, behind) = rest.split_at_checked(head).ok_or(Error::IPC)?;
        let length = count(fixed, head - 4).ok_or(Error::IPC)?;
        found.push((fixed, behind.get(..length).ok_or(Error::IPC)?));
        rest = behind.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(found)
}

/// What an array of C holds; nothing if it is NULL or its length is not positive.
///
/// # Safety
/// `start` is NULL or the start of `length` items, which nobody changes for as long as `'a`.
unsafe fn items<'a, T>(start: *const T, length: c_int) -> &'a [T] {
    match usize::try_from(length) {
        // SAFETY: the caller says so.
        Ok(length) if !start.is_null() => unsafe { slice::from_raw_parts(start, length) },
        _ => &[],
    }
}
