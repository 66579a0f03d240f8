//! Decodes the requests, apart from the store, into values that borrow from the PDU.
//!
//! Each function takes a whole PDU, header included, and accepts exactly what PCP 7 accepts
//! (WIRE-60). A PDU that is refused has no other effect: the stream goes on after it (WIRE-15).

use super::{HEADER, count, number, padded, word};
use crate::constants::*;
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};

/// The length in bytes from which on the value of an attribute is refused.
const MAX_ATTRIBUTE: usize = 4096;

/// The greatest number of credentials in one PDU.
const MAX_CREDENTIALS: usize = 1024;

/// The value, or `PM_ERR_IPC` for one that is missing or wrong.
fn checked<T>(value: Option<T>) -> Result<T> {
    value.ok_or(Error::IPC)
}

/// The bytes up to the first NUL: texts are passed on as C strings.
fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// An instance profile: the instances that later fetches select.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile<'a> {
    /// State of the domains that are not listed: 0 include, 1 exclude. Another number is passed on
    /// as it is.
    pub state: i32,
    entries: &'a [u8],
    ids: &'a [u8],
}

/// One instance domain of a [`Profile`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProfileEntry<'a> {
    /// The instance domain.
    pub indom: InDom,
    /// State of the instances that are not listed.
    pub state: i32,
    ids: &'a [u8],
}

impl<'a> Profile<'a> {
    /// The number of domains.
    #[must_use]
    pub const fn len(self) -> usize {
        self.entries.len() / 16
    }

    /// Returns whether no domain is listed.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.entries.is_empty()
    }

    /// The domains in order.
    pub fn iter(self) -> impl Iterator<Item = ProfileEntry<'a>> {
        let mut ids = self.ids;
        self.entries.chunks_exact(16).map(move |entry| {
            let size = count(entry, 8).unwrap_or(0).saturating_mul(4).min(ids.len());
            let (own, rest) = ids.split_at(size);
            ids = rest;
            ProfileEntry {
                indom: InDom(word(entry, 0).unwrap_or(0)),
                state: number(entry, 4).unwrap_or(0),
                ids: own,
            }
        })
    }
}

impl<'a> ProfileEntry<'a> {
    /// The instances that are listed.
    #[must_use]
    pub fn instances(self) -> impl ExactSizeIterator<Item = i32> + use<'a> {
        self.ids.chunks_exact(4).map(|id| number(id, 0).unwrap_or(0))
    }
}

/// PROFILE: the instances that later fetches select.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn profile(pdu: &[u8]) -> Result<Profile<'_>> {
    checked(count(pdu, 12))?;
    let state = checked(number(pdu, 16))?;
    let entries = checked(count(pdu, 20))?;
    if entries == 0 {
        return Ok(Profile {
            state,
            entries: &[],
            ids: &[],
        });
    }
    let body = checked(pdu.get(28..))?;
    let (entries, ids) = checked(entries.checked_mul(16).and_then(|size| body.split_at_checked(size)))?;
    let mut total = 0_usize;
    for entry in entries.chunks_exact(16) {
        total = checked(total.checked_add(checked(count(entry, 8))?))?;
    }
    if total.checked_mul(4) != Some(ids.len()) {
        return Err(Error::IPC);
    }
    Ok(Profile { state, entries, ids })
}

/// FETCH: the metrics in the request, at least one.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn fetch(pdu: &[u8]) -> Result<impl ExactSizeIterator<Item = MetricId> + use<'_>> {
    let ids = fetch_ids(pdu)?;
    Ok(ids.chunks_exact(4).map(|id| MetricId(word(id, 0).unwrap_or(0))))
}

/// FETCH: the metrics in the order of the wire, four bytes each.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn fetch_ids(pdu: &[u8]) -> Result<&[u8]> {
    let metrics = checked(count(pdu, 24))?;
    let ids = checked(pdu.get(28..))?;
    if metrics == 0 || metrics.checked_mul(4) != Some(ids.len()) {
        return Err(Error::IPC);
    }
    Ok(ids)
}

/// DESC_REQ: the metric.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn desc_request(pdu: &[u8]) -> Result<MetricId> {
    match word(pdu, 12) {
        Some(metric) if pdu.len() == 16 => Ok(MetricId(metric)),
        _ => Err(Error::IPC),
    }
}

/// INSTANCE_REQ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstanceRequest<'a> {
    /// The domain.
    pub indom: InDom,
    /// The instance, -1 when it is not given.
    pub inst: i32,
    /// The name, without NUL.
    pub name: Option<&'a [u8]>,
}

/// INSTANCE_REQ.
///
/// # Errors
/// `PM_ERR_IPC`: then there is no name to be freed (WIRE-70).
pub fn instance_request(pdu: &[u8]) -> Result<InstanceRequest<'_>> {
    let indom = InDom(checked(word(pdu, 12))?);
    let inst = checked(number(pdu, 24))?;
    let length = checked(count(pdu, 28))?;
    let body = checked(pdu.get(32..))?;
    let name = if length == 0 {
        None
    } else {
        if padded(length) != Some(body.len()) {
            return Err(Error::IPC);
        }
        Some(text(checked(body.get(..length))?))
    };
    Ok(InstanceRequest { indom, inst, name })
}

/// A request about an identifier: TEXT_REQ or LABEL_REQ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// A metric, an instance domain, a cluster or a domain, as the type says; all ones when the
    /// type has no identifier.
    pub ident: u32,
    /// The type bits, as they came.
    pub kind: i32,
}

/// A request about an identifier, whose types with one are `with_ident`.
fn about(pdu: &[u8], with_ident: i32) -> Result<About> {
    match (word(pdu, 12), number(pdu, 16)) {
        (Some(ident), Some(kind)) if pdu.len() == 20 => Ok(About {
            ident: ident_or_null(ident, kind, with_ident),
            kind,
        }),
        _ => Err(Error::IPC),
    }
}

/// The identifier; all ones when its type has none.
const fn ident_or_null(ident: u32, kind: i32, with_ident: i32) -> u32 {
    if kind & with_ident == 0 { u32::MAX } else { ident }
}

/// TEXT_REQ: the subject of the text.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn text_request(pdu: &[u8]) -> Result<About> {
    about(pdu, PM_TEXT_PMID | PM_TEXT_INDOM)
}

/// The types of labels that are about an identifier: of a domain, an instance domain, a cluster, an
/// item, or instances.
const LABELS_WITH_IDENT: i32 = PM_LABEL_DOMAIN | PM_LABEL_INDOM | PM_LABEL_CLUSTER | PM_LABEL_ITEM | PM_LABEL_INSTANCES;

/// LABEL_REQ: the subject of the labels.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn label_request(pdu: &[u8]) -> Result<About> {
    about(pdu, LABELS_WITH_IDENT)
}

/// The identifier of a LABEL as it is sent: all ones when its type has none.
#[must_use]
pub const fn label_ident(ident: u32, kind: i32) -> u32 {
    ident_or_null(ident, kind, LABELS_WITH_IDENT)
}

/// An attribute of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attribute<'a> {
    /// The attribute's key.
    pub key: i32,
    /// The value, which may or may not end with a NUL.
    pub value: &'a [u8],
}

/// ATTR: an attribute of the client.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn attribute(pdu: &[u8]) -> Result<Attribute<'_>> {
    let key = checked(number(pdu, 12))?;
    let value = checked(pdu.get(16..))?;
    if value.len() >= MAX_ATTRIBUTE {
        return Err(Error::IPC);
    }
    Ok(Attribute { key, value })
}

/// ERROR: the code. The PDU may have either of two lengths.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn error(pdu: &[u8]) -> Result<i32> {
    match (pdu.len(), number(pdu, HEADER)) {
        (16 | 20, Some(code)) => Ok(code),
        _ => Err(Error::IPC),
    }
}

/// CREDS: each credential as its type and the version in it. A PDU without credentials is accepted,
/// as one with another type is.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn credentials(pdu: &[u8]) -> Result<impl ExactSizeIterator<Item = (u8, u8)> + use<'_>> {
    let credentials = checked(count(pdu, 12))?;
    let list = checked(pdu.get(16..))?;
    if credentials > MAX_CREDENTIALS || list.len() != 4 * credentials {
        return Err(Error::IPC);
    }
    Ok(list.chunks_exact(4).map(|entry| (entry[0], entry[1])))
}

/// PMNS_NAMES as a request: the name whose metric is wanted.
///
/// # Errors
/// `PM_ERR_IPC`, also for more names than one; the number of names if it is negative (WIRE-60).
pub fn names_request(pdu: &[u8]) -> Result<&[u8]> {
    match name_list(pdu)? {
        mut list if list.len() == 1 => checked(list.next()).map(|(name, _)| name),
        _ => Err(Error::IPC),
    }
}

/// The names of a PMNS_NAMES, one after the other.
#[derive(Clone, Debug)]
pub struct NameList<'a> {
    left: usize,
    has_status: bool,
    rest: &'a [u8],
}

impl<'a> NameList<'a> {
    fn entry(&mut self) -> Option<(&'a [u8], Option<i32>)> {
        let head = if self.has_status { 8 } else { 4 };
        let length = count(self.rest, head - 4)?;
        let name = self.rest.get(head..)?.get(..length)?;
        let status = if self.has_status { number(self.rest, 0) } else { None };
        let next = padded(length)?.checked_add(head)?;
        self.rest = self.rest.get(next..).unwrap_or_default();
        Some((name, status))
    }
}

/// A name, up to its first NUL, and its status if it came with one: `PMNS_LEAF_STATUS` or
/// `PMNS_NONLEAF_STATUS`.
impl<'a> Iterator for NameList<'a> {
    type Item = (&'a [u8], Option<i32>);

    fn next(&mut self) -> Option<(&'a [u8], Option<i32>)> {
        self.left = self.left.checked_sub(1)?;
        self.entry().map(|(name, status)| (text(name), status))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for NameList<'_> {}

/// PMNS_NAMES as a list, which is checked to its end.
///
/// # Errors
/// As [`names_request`], for any number of names.
pub fn name_list(pdu: &[u8]) -> Result<NameList<'_>> {
    let total = checked(count(pdu, 12))?;
    let states = checked(number(pdu, 16))?;
    let names = checked(number(pdu, 20))?;
    let rest = checked(pdu.get(24..))?;
    let names = usize::try_from(names).map_err(|_| Error::check(names).err().unwrap_or(Error::IPC))?;
    let has_status = states != 0;
    let head = if has_status { 8 } else { 4 };
    // The C library wants one word more for each entry than an empty name needs.
    let least = checked(names.checked_mul(head + 4))?;
    if total > pdu.len() || least > rest.len() || (has_status && usize::try_from(states) != Ok(names)) {
        return Err(Error::IPC);
    }
    let list = NameList {
        left: names,
        has_status,
        rest,
    };
    let (mut read, mut bytes) = (list.clone(), 0_usize);
    for _ in 0..names {
        let (name, _) = checked(read.entry())?;
        bytes = checked(bytes.checked_add(name.len()).and_then(|sum| sum.checked_add(1)))?;
        if bytes > total {
            return Err(Error::IPC);
        }
    }
    Ok(list)
}

/// PMNS_IDS as a request: the metric whose names are wanted.
///
/// # Errors
/// `PM_ERR_IPC`, or the status that the PDU carries when it is negative.
pub fn ids_request(pdu: &[u8]) -> Result<MetricId> {
    let status = checked(number(pdu, 12))?;
    let metric = listed_id(pdu).ok_or(Error::IPC)?;
    Error::check(status).map(|_| metric)
}

/// The metric of a PMNS_IDS, whatever its status; `None` when the PDU has not exactly one.
#[must_use]
pub fn listed_id(pdu: &[u8]) -> Option<MetricId> {
    let metric = word(pdu, 20)?;
    (number(pdu, 16) == Some(1) && pdu.len() == 24).then_some(MetricId(metric))
}

/// PMNS_CHILD or PMNS_TRAVERSE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamesBelow<'a> {
    /// True if the states of the names are wanted (PMNS_CHILD only).
    pub with_states: bool,
    /// The name, without NUL.
    pub name: &'a [u8],
}

/// PMNS_CHILD or PMNS_TRAVERSE.
///
/// # Errors
/// `PM_ERR_IPC`.
pub fn names_below(pdu: &[u8]) -> Result<NamesBelow<'_>> {
    let subtype = checked(number(pdu, 12))?;
    let length = checked(count(pdu, 16))?;
    let name = checked(pdu.get(20..).and_then(|rest| rest.get(..length)))?;
    Ok(NamesBelow {
        with_states: subtype != 0,
        name: text(name),
    })
}

#[cfg(test)]
mod tests;
