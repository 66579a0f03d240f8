//! Replies from the structures that methods filled: C's memory is looked at once, and encoded at once.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

use super::arg::{self, CText};
use super::types::{pmDesc, pmInResult, pmLabelSet, pmValue, pmdaResult};
use super::value::block_bytes;
use crate::error::{Error, Result};
use crate::ident::{InDom, MetricId};
use crate::labels::Place;
use crate::libpcp::labels::{Sets, place};
use crate::libpcp::log::{self, Debug};
use crate::os::spoken;
use crate::wire::encode::{LabelSet, Reply, entry_size};

/// `PM_VAL_DPTR` and `PM_VAL_SPTR`; every other format is sent as values in place (WIRE-50).
const POINTERS: [c_int; 2] = [1, 2];

/// A result that a fetch method has given.
#[derive(Clone, Copy)]
pub(crate) struct Values(NonNull<pmdaResult>);

impl Values {
    /// What a method has stored; `None` for NULL.
    ///
    /// # Safety
    /// `result` is NULL or valid with `numpmid` value sets, each NULL or valid with its values and value blocks, until its
    /// result callback has been called.
    pub(crate) unsafe fn new(result: *mut pmdaResult) -> Option<Values> {
        NonNull::new(result).map(Values)
    }

    /// The result as C sees it.
    pub(crate) fn as_ptr(self) -> *mut pmdaResult {
        self.0.as_ptr()
    }

    /// RESULT, the reply to a fetch (MAIN-20).
    ///
    /// # Errors
    /// As `wire::encode::Values`; `PM_ERR_GENERIC` for a NULL value set (WIRE-74).
    pub(crate) fn encode(self, reply: &mut Reply) -> Result<()> {
        // SAFETY: valid with so many value sets by the contract of `new`, which C does not change while it does not run.
        unsafe { result(reply, self.0.as_ptr()) }
    }
}

/// Encodes a result.
///
/// # Safety
/// `result` is valid with `numpmid` value sets, each NULL or valid with its values and value blocks.
unsafe fn result(reply: &mut Reply, result: *const pmdaResult) -> Result<()> {
    // SAFETY: valid with so many value sets by the contract above.
    let (flags, sets) = unsafe {
        let first = (&raw const (*result).vset).cast::<*const super::types::pmValueSet>();
        ((*result).timestamp.tv_sec as u32, arg::slice(first, (*result).numpmid))
    };
    let mut size = 0_usize;
    for set in sets {
        if set.is_null() {
            return Err(Error::GENERIC);
        }
        // SAFETY: not NULL, hence valid. A set without values may end before `vlist`, so no reference is made to it.
        let numval = unsafe { (**set).numval };
        size = size.checked_add(entry_size(numval)).ok_or(Error::TOOBIG)?;
    }
    let mut values = reply.result(flags, sets.len(), size)?;
    for set in sets {
        // SAFETY: valid, as was seen above, with `numval` values behind the head.
        let (metric, numval, format, list) = unsafe {
            let numval = (**set).numval;
            let first = (&raw const (**set).vlist).cast::<pmValue>();
            (
                MetricId((**set).pmid),
                numval,
                (**set).valfmt,
                arg::slice(first, numval),
            )
        };
        if list.is_empty() {
            values.none(metric, numval)?;
        } else if POINTERS.contains(&format) {
            // SAFETY: with these formats the values are pointers, to valid blocks or NULL.
            let blocks = list
                .iter()
                .map(|value| (value.inst, unsafe { block_bytes(value.value.pval) }));
            values.blocks(metric, format, blocks)?;
        } else {
            // SAFETY: with any other format the values are numbers.
            let words = list
                .iter()
                .map(|value| (value.inst, unsafe { value.value.lval as u32 }));
            values.words(metric, format, words)?;
        }
    }
    values.finish()
}

/// DESC; what the method wrote is sent unchecked.
pub(crate) fn desc(reply: &mut Reply, desc: &pmDesc) -> Result<()> {
    // SAFETY: the units are 32 bits without padding; they are sent as one number (WIRE-42).
    let units = unsafe { (&raw const desc.units).cast::<u32>().read_unaligned() };
    reply.desc([desc.pmid, desc.type_ as u32, desc.indom, desc.sem as u32, units])
}

/// Encodes INSTANCE; either list may be missing.
///
/// # Safety
/// `list` is NULL or valid; its lists are NULL or have `numinst` elements; names are NULL or C strings.
unsafe fn instances(reply: &mut Reply, list: *const pmInResult) -> Result<()> {
    // SAFETY: NULL or valid by the contract above.
    let list = unsafe { list.as_ref() }.ok_or(Error::GENERIC)?;
    // SAFETY: NULL or as long as the contract above says.
    let (ids, names) = unsafe {
        (
            arg::slice(list.instlist, list.numinst),
            arg::slice(list.namelist, list.numinst),
        )
    };
    let entries = (0..usize::try_from(list.numinst).unwrap_or(0)).map(|index| {
        // SAFETY: NULL or a C string by the contract above.
        let name = names.get(index).and_then(|name| unsafe { arg::bytes(*name) });
        (ids.get(index).copied(), name)
    });
    reply.instances(InDom(list.indom), entries)
}

/// An instance list that a method made: each name, both lists and the structure are blocks of their own.
pub(crate) struct OwnedInstances(*mut pmInResult);

impl OwnedInstances {
    /// Takes over what a method has handed over.
    ///
    /// # Safety
    /// `list` is NULL or a list in blocks from malloc that nobody else frees: with `numinst` elements in each of its own
    /// lists that is not NULL, and names that are NULL or C strings.
    pub(crate) unsafe fn new(list: *mut pmInResult) -> OwnedInstances {
        OwnedInstances(list)
    }

    /// INSTANCE.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` for NULL (WIRE-74); `PM_ERR_TOOBIG`.
    pub(crate) fn encode(&self, reply: &mut Reply) -> Result<()> {
        // SAFETY: NULL or valid by the contract of `new`.
        unsafe { instances(reply, self.0) }
    }
}

impl Drop for OwnedInstances {
    fn drop(&mut self) {
        // SAFETY: NULL or a list that the method handed over, in blocks from malloc.
        unsafe {
            let Some(list) = self.0.as_ref() else { return };
            for name in arg::slice(list.namelist, list.numinst) {
                libc::free(name.cast::<c_void>());
            }
            libc::free(list.namelist.cast::<c_void>());
            libc::free(list.instlist.cast::<c_void>());
            libc::free(self.0.cast::<c_void>());
        }
    }
}

/// Names that a method made: one block with pointers and strings, and one with states.
pub(crate) struct OwnedNames {
    names: *mut *mut c_char,
    states: *mut c_int,
}

impl OwnedNames {
    /// Takes over what a method has stored, also one that has failed.
    ///
    /// # Safety
    /// Both are NULL or blocks from malloc that nobody else frees. For a method that has succeeded, the names are as many
    /// pointers as it has returned, to C strings or NULL, and the states as many numbers.
    pub(crate) unsafe fn new(names: *mut *mut c_char, states: *mut c_int) -> OwnedNames {
        OwnedNames { names, states }
    }

    /// PMNS_NAMES, for a method that has succeeded with so many names.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` when there are no names in spite of the count (WIRE-74); `PM_ERR_TOOBIG`.
    pub(crate) fn encode(&self, reply: &mut Reply, count: c_int, with_states: bool) -> Result<()> {
        if self.names.is_null() && count > 0 {
            return Err(Error::GENERIC);
        }
        // SAFETY: so many by the contract of `new`.
        let (names, states) = unsafe { (arg::slice(self.names, count), arg::slice(self.states, count)) };
        // SAFETY: each is NULL or a C string.
        let texts = names
            .iter()
            .map(|name| unsafe { arg::bytes(*name) }.unwrap_or_default());
        let states = (with_states && !self.states.is_null()).then_some(states);
        reply.names(texts, states)
    }
}

impl Drop for OwnedNames {
    fn drop(&mut self) {
        // SAFETY: NULL or blocks from malloc that the method handed over.
        unsafe {
            libc::free(self.names.cast::<c_void>());
            libc::free(self.states.cast::<c_void>());
        }
    }
}

/// TEXT.
///
/// # Errors
/// `PM_ERR_TEXT` without a text (WIRE-74); `PM_ERR_TOOBIG`.
pub(crate) fn text(reply: &mut Reply, ident: u32, text: Option<CText>) -> Result<()> {
    reply.text(ident, text.as_ref().ok_or(Error::TEXT)?.bytes())
}

/// `PM_LABEL_INSTANCES`: the only type with more than one set (MAIN-22).
const INSTANCE_LABELS: c_int = 32;

/// `PM_LABEL_CONTEXT`, and the bits that say whose labels are asked for.
const CONTEXT_LABELS: c_int = 1;
const LABEL_KINDS: c_int = 0x3f;

/// Label sets that a method has made. All of them are freed, not only those that are sent.
pub(crate) struct OwnedLabels {
    sets: Sets,
    /// How many are sent.
    sent: c_int,
    kind: c_int,
}

impl OwnedLabels {
    /// Takes over the sets of a method that has succeeded with so many, for a request of type `kind`.
    ///
    /// # Safety
    /// `first` is NULL or has `count` valid sets, as `pmFreeLabelSets` frees them, and nobody else frees them.
    pub(crate) unsafe fn new(first: *mut pmLabelSet, count: c_int, kind: c_int) -> OwnedLabels {
        // libpcp's labels of a context may come with a 0 (L-11): what is in the set is to be freed all the same.
        let owned = if kind & LABEL_KINDS == CONTEXT_LABELS && !first.is_null() {
            count.max(1)
        } else {
            count
        };
        let sent = if kind & INSTANCE_LABELS == 0 {
            count.min(1)
        } else {
            count
        };
        // SAFETY: the contract is passed on.
        let sets = unsafe { Sets::own(first, owned) };
        OwnedLabels { sets, sent, kind }
    }

    /// No sets.
    pub(crate) fn none(kind: c_int) -> OwnedLabels {
        // SAFETY: NULL has no sets.
        unsafe { OwnedLabels::new(std::ptr::null_mut(), 0, kind) }
    }

    /// LABEL.
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` for NULL with a count; `PM_ERR_TOOBIG`.
    pub(crate) fn encode(&self, reply: &mut Reply, ident: u32) -> Result<()> {
        let (first, sent, kind) = (self.sets.as_ptr(), self.sent, self.kind);
        if log::debug(Debug::Labels) {
            // SAFETY: NULL or so many sets, by the contract of `new`.
            unsafe { spoken::labels(ident, kind, first, sent) };
        }
        if first.is_null() && sent > 0 {
            return Err(Error::GENERIC);
        }
        // SAFETY: as above.
        let sets = unsafe { arg::slice(first, sent) };
        // SAFETY: each set is valid by the contract of `new`.
        reply.labels(ident, kind, sets.iter().map(|set| unsafe { label_set(set) }))
    }
}

/// A label set as the codec takes it.
///
/// # Safety
/// The set is valid: its text has `jsonlen` bytes and its array `nlabels` elements, or they are NULL.
unsafe fn label_set(set: &pmLabelSet) -> LabelSet<'_, impl ExactSizeIterator<Item = Place>> {
    // SAFETY: as long as the contract above says, or NULL.
    let (json, labels) = unsafe {
        (
            arg::slice(set.json.cast::<u8>(), set.jsonlen() as c_int),
            arg::slice(set.labels, set.nlabels),
        )
    };
    LabelSet {
        inst: set.inst,
        count: if labels.is_empty() {
            set.nlabels.min(0)
        } else {
            set.nlabels
        },
        json,
        labels: labels.iter().map(place),
    }
}
