//! The label functions of libpcp.

use std::ffi::{CStr, c_int};
use std::ptr;

use super::bindings as pcp;
use super::bindings::pmLabelSet;
use crate::error::{Error, Result};
use crate::labels::{Label, Place};

/// Label sets from the heap, freed by libpcp when they are not handed over.
pub(crate) struct Sets {
    first: *mut pmLabelSet,
    count: c_int,
}

impl Sets {
    /// Takes over `count` sets in one block, as libpcp and agents make them.
    ///
    /// # Safety
    /// `first` is NULL or a block that `pmFreeLabelSets` may free together with what its `count` sets point to.
    pub(crate) unsafe fn own(first: *mut pmLabelSet, count: c_int) -> Sets {
        Sets { first, count }
    }

    /// The first set, NULL when there is none.
    pub(crate) fn as_ptr(&self) -> *mut pmLabelSet {
        self.first
    }

    /// Whether there are no sets.
    pub(crate) fn is_none(&self) -> bool {
        self.first.is_null()
    }

    /// The labels of the first set by their full names.
    pub(crate) fn list(&self) -> impl Iterator<Item = Label<'_>> {
        // SAFETY: a set that is owned, hence valid and left alone while `self` is borrowed.
        (!self.is_none())
            .then(|| unsafe { list(self.first) })
            .into_iter()
            .flatten()
    }

    /// Hands the sets over.
    pub(crate) fn into_raw(self) -> *mut pmLabelSet {
        let sets = std::mem::ManuallyDrop::new(self);
        sets.first
    }
}

impl Drop for Sets {
    fn drop(&mut self) {
        if !self.first.is_null() {
            // SAFETY: the sets are owned, as the contract of `own` says.
            unsafe { pcp::pmFreeLabelSets(self.first, self.count) };
        }
    }
}

/// What libpcp calls a type of labels.
pub(crate) fn type_name(kind: c_int) -> &'static [u8] {
    // SAFETY: the function takes a number, and gives a string of libpcp's own, which stays.
    unsafe { CStr::from_ptr(pcp::__pmLabelTypeString(kind)) }.to_bytes()
}

/// Makes a new set of a JSON text with libpcp's parser.
///
/// # Errors
/// What libpcp finds: `-EINVAL`, `-E2BIG`, `-ENOMEM`.
pub(crate) fn parse(text: &CStr, flags: u8) -> Result<Sets> {
    let mut set = ptr::null_mut();
    // SAFETY: the text is terminated, and a NULL set pointer asks for a new set, which is ours.
    let (status, sets) = unsafe {
        let status = pcp::__pmAddLabels(&raw mut set, text.as_ptr(), c_int::from(flags));
        (status, Sets::own(set, 1))
    };
    Error::check(status)?;
    // SAFETY: NULL or a valid set, which is ours.
    if unsafe { sets.first.as_ref().is_some_and(|set| !is_complete(set)) } {
        return Err(Error::NOMEM);
    }
    Ok(sets)
}

/// Whether all nested labels have their names: without memory libpcp leaves them out, and calls it a success.
///
/// # Safety
/// The set is valid.
unsafe fn is_complete(set: &pmLabelSet) -> bool {
    if set.labels.is_null() || set.json.is_null() {
        return true;
    }
    // SAFETY: the text has `jsonlen` bytes, the array `nlabels` elements, and the hash belongs to the set.
    unsafe {
        let json = std::slice::from_raw_parts(set.json.cast::<u8>(), set.jsonlen() as usize);
        let labels = std::slice::from_raw_parts(set.labels, usize::try_from(set.nlabels).unwrap_or(0));
        let hash = if set.compound() == 1 { set.hash } else { ptr::null_mut() };
        labels.iter().all(|raw| {
            let place = place(raw);
            // An empty object counts as nested, and has no other name than its own.
            let empty = place.value(json).is_some_and(|value| value.starts_with(b"{"));
            let nested = u32::from(place.flags) & pcp::PM_LABEL_COMPOUND != 0 && !empty;
            !nested || full_name(hash, place).is_some()
        })
    }
}

/// Adds the labels that are configured for the host (LABEL-26); returns 0 or 1, which says little (LABEL-27).
///
/// # Safety
/// `set` points to NULL or to a set from the heap.
pub(crate) unsafe fn context(set: *mut *mut pmLabelSet) -> c_int {
    // SAFETY: as the contract above says.
    unsafe { pcp::__pmGetContextLabels(set) }
}

/// Adds the label of a domain, `{"agent":NAME}` (LABEL-25).
///
/// # Safety
/// `set` points to NULL or to a set from the heap.
pub(crate) unsafe fn domain(domain: c_int, name: &CStr, set: *mut *mut pmLabelSet) -> c_int {
    // SAFETY: the name is terminated, and for `set` as the contract above says.
    unsafe { pcp::__pmGetDomainLabels(domain, name.as_ptr(), set) }
}

/// The labels of a set by their full names, which for nested ones are in the hash (LABEL-4). Labels whose places
/// are outside the text are left out.
///
/// # Safety
/// `set` is a valid label set that nobody changes during `'a`.
pub(crate) unsafe fn list<'a>(set: *const pmLabelSet) -> impl Iterator<Item = Label<'a>> {
    // SAFETY: a valid set: the text has `jsonlen` bytes, the array `nlabels` elements.
    let (json, places, hash) = unsafe {
        let set = &*set;
        let count = usize::try_from(set.nlabels).unwrap_or(0);
        if count == 0 || set.json.is_null() || set.labels.is_null() {
            (&[][..], &[][..], ptr::null_mut())
        } else {
            (
                std::slice::from_raw_parts(set.json.cast::<u8>(), set.jsonlen() as usize),
                std::slice::from_raw_parts(set.labels, count),
                if set.compound() == 1 { set.hash } else { ptr::null_mut() },
            )
        }
    };
    let label = move |raw: &'a pcp::pmLabel| {
        let place = place(raw);
        Some(Label {
            // SAFETY: the hash belongs to the set.
            name: unsafe { full_name(hash, place) }.or_else(|| place.name(json))?,
            value: place.value(json)?,
            flags: place.flags,
        })
    };
    places.iter().filter_map(label)
}

/// The dotted name of a nested label.
///
/// # Safety
/// `hash` is NULL or the hash of the label's set, unchanged during `'a`.
unsafe fn full_name<'a>(hash: *mut std::ffi::c_void, place: Place) -> Option<&'a [u8]> {
    if hash.is_null() || u32::from(place.flags) & pcp::PM_LABEL_COMPOUND == 0 {
        return None;
    }
    // SAFETY: the hash is valid; its nodes hold terminated names that live as long as the set.
    unsafe {
        let node = pcp::__pmHashSearch(u32::from(place.name), hash).as_ref()?;
        let name = node.data.cast::<std::ffi::c_char>();
        (!name.is_null()).then(|| CStr::from_ptr(name).to_bytes())
    }
}

/// A label as C sees it, in our terms. The widths are those of the bit fields.
pub(crate) fn place(raw: &pcp::pmLabel) -> Place {
    Place {
        name: raw.name() as u16,
        name_len: raw.namelen() as u8,
        flags: raw.flags() as u8,
        value: raw.value() as u16,
        value_len: raw.valuelen() as u16,
    }
}

/// Shows label sets as libpcp does it, under -Dlabels.
///
/// # Safety
/// `sets` has `count` valid elements.
pub(crate) unsafe fn dump(sets: *const pmLabelSet, count: c_int) {
    // SAFETY: stdio's own stderr, and the contract above.
    unsafe { pcp::__pmDumpLabelSets(super::log::stream(), sets, count) };
}
