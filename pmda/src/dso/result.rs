//! The result of a fetch in memory.

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr;

use pmda_core::wire::number;
use pmda_core::wire::store::{self, Set, Value as Stored};

use super::abi::{ResultHead, Value, ValueSet};
use super::heap;
use crate::{Error, Result};

/// How many words come before the pointers to the value sets.
const HEAD: usize = offset_of!(ResultHead, sets) / size_of::<*const ()>();
/// In which of them the number of sets is.
const COUNT: usize = offset_of!(ResultHead, count) / size_of::<*const ()>();

/// The words as the host reads them: numbers, and the sets, which become its own. They stay in
/// `block` until the next fetch (FETCH-70, FETCH-71).
pub(super) fn build(pdu: &[u8], block: &mut Vec<*mut c_void>) -> Result<*mut c_void> {
    let values = store::store(pdu)?;
    let word = |number: usize| ptr::without_provenance_mut(number);
    block.clear();
    block.resize(HEAD, ptr::null_mut());
    // The seconds of the time are what has changed (WIRE-52).
    block[0] = word(usize::try_from(number(pdu, 12).unwrap_or(0)).unwrap_or(0));
    let mut count = [0; size_of::<usize>()];
    let sets = i32::try_from(values.metrics).map_err(|_| Error::IPC)?;
    count[..4].copy_from_slice(&sets.to_ne_bytes());
    block[COUNT] = word(usize::from_ne_bytes(count));
    block.extend(values.sets().map(value_set));
    Ok(block.as_mut_ptr().cast())
}

/// A set, with a block of its own for each value that is not in place.
fn value_set(set: Set<'_>) -> *mut c_void {
    let values = usize::try_from(set.numval).unwrap_or(0);
    // A set has room for one value at least: `pmValueSet` ends in an array of one.
    let size = offset_of!(ValueSet, values) + values.max(1) * size_of::<Value>();
    heap::block(size, |bytes| {
        put(bytes, offset_of!(ValueSet, pmid), &set.metric.0.to_ne_bytes());
        put(bytes, offset_of!(ValueSet, numval), &set.numval.to_ne_bytes());
        put(bytes, offset_of!(ValueSet, valfmt), &set.format.to_ne_bytes());
        let places = bytes[offset_of!(ValueSet, values)..].chunks_exact_mut(size_of::<Value>());
        for (place, (inst, value)) in places.zip(set.values()) {
            put(place, offset_of!(Value, inst), &inst.to_ne_bytes());
            match value {
                Stored::Word(word) => put(place, offset_of!(Value, value), &word.to_ne_bytes()),
                block => put(place, offset_of!(Value, value), &value_block(block).to_ne_bytes()),
            }
        }
    })
}

/// The address of a value block in the order of the host. It is the host's alone to use.
fn value_block(value: Stored<'_>) -> usize {
    let block = heap::block(value.block_len(), |bytes| {
        // The session has written it: it is as long as its type wants.
        let _ = value.write(bytes);
    });
    block.expose_provenance()
}

fn put(bytes: &mut [u8], place: usize, value: &[u8]) {
    bytes[place..place + value.len()].copy_from_slice(value);
}
