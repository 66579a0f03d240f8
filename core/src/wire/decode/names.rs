//! The requests about the name space.

use super::{checked, text};
use crate::error::{Error, Result};
use crate::ident::MetricId;
use crate::wire::{count, number, padded, word};

/// PMNS_NAMES as a request: the one name whose identifier is wanted.
///
/// # Errors
/// `PM_ERR_IPC`; the number of names where it is negative (WIRE-60).
pub fn names_request(pdu: &[u8]) -> Result<&[u8]> {
    match name_list(pdu)? {
        NameList {
            count: 1,
            ends: Some((name, _)),
        } => Ok(name),
        _ => Err(Error::IPC),
    }
}

/// PMNS_NAMES as a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameList<'a> {
    /// How many names there are.
    pub count: usize,
    /// The first and the last, without NUL; `None` when there are none.
    pub ends: Option<(&'a [u8], &'a [u8])>,
}

/// PMNS_NAMES as a list.
///
/// # Errors
/// As [`names_request`], for any number of names.
pub fn name_list(pdu: &[u8]) -> Result<NameList<'_>> {
    let total = checked(count(pdu, 12))?;
    let states = checked(number(pdu, 16))?;
    let names = checked(number(pdu, 20))?;
    let mut rest = checked(pdu.get(24..))?;
    let names = usize::try_from(names).map_err(|_| Error::check(names).err().unwrap_or(Error::IPC))?;
    let with_states = states != 0;
    let head = if with_states { 8 } else { 4 };
    // The C library asks for one word more an entry than the empty name needs.
    let least = checked(names.checked_mul(head + 4))?;
    if total > pdu.len() || least > rest.len() || (with_states && usize::try_from(states) != Ok(names)) {
        return Err(Error::IPC);
    }
    let mut ends = None;
    let mut bytes = 0_usize;
    for _ in 0..names {
        let length = checked(count(rest, head - 4))?;
        let name = checked(rest.get(head..).and_then(|rest| rest.get(..length)))?;
        bytes = checked(bytes.checked_add(length).and_then(|sum| sum.checked_add(1)))?;
        if bytes > total {
            return Err(Error::IPC);
        }
        let name = text(name);
        ends = Some((ends.map_or(name, |(first, _)| first), name));
        let next = checked(padded(length).and_then(|size| size.checked_add(head)))?;
        rest = rest.get(next..).unwrap_or_default();
    }
    Ok(NameList { count: names, ends })
}

/// PMNS_IDS as a request: the one metric whose names are wanted.
///
/// # Errors
/// `PM_ERR_IPC`, or the status that the PDU carries when it is negative.
pub fn ids_request(pdu: &[u8]) -> Result<MetricId> {
    let status = checked(number(pdu, 12))?;
    let metric = listed_id(pdu).ok_or(Error::IPC)?;
    Error::check(status).map(|_| metric)
}

/// The one metric of a PMNS_IDS, whatever status comes with it; `None` when it has not exactly one.
#[must_use]
pub fn listed_id(pdu: &[u8]) -> Option<MetricId> {
    let metric = word(pdu, 20)?;
    (number(pdu, 16) == Some(1) && pdu.len() == 24).then_some(MetricId(metric))
}

/// PMNS_CHILD or PMNS_TRAVERSE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamesBelow<'a> {
    /// PMNS_CHILD: whether the states of the names are wanted.
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
