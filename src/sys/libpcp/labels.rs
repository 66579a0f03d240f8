//! The label functions of libpcp.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::{self, NonNull};

use crate::sys::libpcp::bindings as pcp;
use crate::sys::libpcp::bindings::pmLabelSet;
use crate::sys::libpcp::cancel;
use crate::sys::libpcp::safe_externs::__pmLabelTypeString;
use crate::sys::slice;
use pmda_core::error::{Error, Result};
use pmda_core::labels::{Label, Span};

/// A label set that nobody changes for `'s`: libpcp's, an agent's, or ours.
#[derive(Clone, Copy)]
pub(crate) struct LabelSetRef<'s>(&'s pmLabelSet);

impl<'s> LabelSetRef<'s> {
    /// The set behind a pointer; `None` for NULL.
    ///
    /// # Safety
    /// `set` is NULL or a label set that nobody changes during `'s`: its text and its array are
    /// NULL or as long as it says, and so is its hash, whose names are terminated.
    pub(crate) unsafe fn new(set: *const pmLabelSet) -> Option<LabelSetRef<'s>> {
        // SAFETY: NULL, or a set that is valid and that nobody changes for `'s`, as the caller
        // promises: so a shared reference to it may exist.
        unsafe { set.as_ref() }.map(LabelSetRef)
    }

    pub(crate) fn inst(self) -> u32 {
        self.0.inst
    }

    /// The number of labels, or a negative code.
    pub(crate) fn count(self) -> c_int {
        self.0.nlabels
    }

    /// The text, and the places of the labels in it.
    pub(crate) fn parts(self) -> (&'s [u8], impl ExactSizeIterator<Item = Span> + Clone + 's) {
        let set = self.0;
        let length = c_int::try_from(set.jsonlen()).unwrap_or(0);
        // SAFETY: by the contract of `new` the text has `jsonlen` bytes that stay for `'s`, unless
        // it is NULL.
        let json = unsafe { slice(set.json.cast::<u8>(), length) };
        // SAFETY: by the contract of `new` the array has `nlabels` elements that stay for `'s`,
        // unless it is NULL.
        let labels = unsafe { slice(set.labels, set.nlabels) };
        (json, labels.iter().map(place))
    }

    /// The labels by their full names, which for nested ones are in the hash (LABEL-4), without
    /// those outside the text.
    pub(crate) fn labels(self) -> impl Iterator<Item = Label<'s>> {
        let (json, places) = self.parts();
        places.filter_map(move |place| {
            Some(Label {
                name: self.full_name(place).or_else(|| place.name(json))?,
                value: place.value(json)?,
                flags: place.flags,
            })
        })
    }

    /// Returns whether all nested labels have names, which libpcp leaves out without memory, and
    /// calls a success.
    fn is_complete(self) -> bool {
        let (json, mut places) = self.parts();
        json.is_empty()
            || places.all(|place| {
                // An empty object is nested, but has its own name alone.
                let empty = place.value(json).is_some_and(|value| value.starts_with(b"{"));
                let nested = u32::from(place.flags) & pcp::PM_LABEL_COMPOUND != 0 && !empty;
                !nested || self.full_name(place).is_some()
            })
    }

    /// Returns whether all announced labels are within the text.
    fn is_sound(self) -> bool {
        let (json, mut places) = self.parts();
        let announced = usize::try_from(self.count()).unwrap_or(0);
        places.len() == announced && places.all(|place| place.name(json).is_some() && place.value(json).is_some())
    }

    /// The dotted name of a nested label.
    fn full_name(self, place: Span) -> Option<&'s [u8]> {
        let has_names = self.0.compound() == 1 && !self.0.hash.is_null();
        if !has_names || u32::from(place.flags) & pcp::PM_LABEL_COMPOUND == 0 {
            return None;
        }
        // SAFETY: the hash is the set's own, and valid by the contract of `new`, with its nodes.
        let node = unsafe { pcp::__pmHashSearch(u32::from(place.name), self.0.hash).as_ref()? };
        let name = NonNull::new(node.data.cast::<c_char>())?;
        // SAFETY: not NULL, so a terminated name, which lives as long as the set.
        Some(unsafe { CStr::from_ptr(name.as_ptr()) }.to_bytes())
    }
}

/// Label sets from the heap, freed by libpcp.
pub(crate) struct PcpLabelSets {
    first: *mut pmLabelSet,
    count: c_int,
}

impl PcpLabelSets {
    pub(crate) const NONE: PcpLabelSets = PcpLabelSets {
        first: ptr::null_mut(),
        count: 0,
    };

    /// Takes over `count` sets in one block.
    ///
    /// # Safety
    /// `first` is NULL or a block that `pmFreeLabelSets` may free together with what its `count`
    /// sets point to.
    pub(crate) unsafe fn own(first: *mut pmLabelSet, count: c_int) -> PcpLabelSets {
        PcpLabelSets { first, count }
    }

    /// The first set as C sees it, or NULL.
    pub(crate) fn as_ptr(&self) -> *mut pmLabelSet {
        self.first
    }

    pub(crate) fn is_none(&self) -> bool {
        self.first.is_null()
    }

    /// At most the first `count` sets.
    pub(crate) fn first(&self, count: c_int) -> impl ExactSizeIterator<Item = LabelSetRef<'_>> + Clone {
        // SAFETY: there are that many sets, unless there are none at all. They are owned, hence
        // valid, and left alone while `self` is borrowed.
        unsafe { slice(self.first, count.min(self.count)) }
            .iter()
            .map(LabelSetRef)
    }

    /// The labels of the first set by their full names.
    pub(crate) fn labels(&self) -> impl Iterator<Item = Label<'_>> {
        self.first(1).flat_map(LabelSetRef::labels)
    }

    pub(crate) fn into_raw(self) -> *mut pmLabelSet {
        let sets = std::mem::ManuallyDrop::new(self);
        sets.first
    }

    /// Shows at most the first `count` sets, as libpcp under -Dlabels; only those that are sound,
    /// as libpcp follows whatever an agent has stored.
    pub(crate) fn dump(&self, count: c_int) {
        let sound = self.first(count).take_while(|set| set.is_sound()).count();
        let count = c_int::try_from(sound).unwrap_or(0);
        // SAFETY: stdio's own stderr, and sets that are owned, hence valid; as many as were checked
        // are shown, so none where there are none.
        cancel::disabled(|| unsafe { pcp::__pmDumpLabelSets(super::log::stream(), self.first, count) });
    }
}

impl Drop for PcpLabelSets {
    fn drop(&mut self) {
        if !self.first.is_null() {
            // SAFETY: the sets are owned, and `own` was told that libpcp may free them so.
            unsafe { pcp::pmFreeLabelSets(self.first, self.count) };
        }
    }
}

/// libpcp's name of a kind of labels.
pub(crate) fn type_name(kind: c_int) -> &'static [u8] {
    // SAFETY: libpcp gives a string of its own for every number, which stays.
    unsafe { CStr::from_ptr(__pmLabelTypeString(kind)) }.to_bytes()
}

/// A set that libpcp makes, and its status.
fn new_set(make: impl FnOnce(*mut *mut pmLabelSet) -> c_int) -> (Result<c_int>, PcpLabelSets) {
    let mut set = ptr::null_mut();
    let status = cancel::disabled(|| make(&raw mut set));
    // SAFETY: the place is NULL as it was made here, unless the function that `make` calls has had
    // libpcp store a set from the heap, which is the caller's.
    (Error::check(status), unsafe { PcpLabelSets::own(set, 1) })
}

/// A new set of a JSON text, by libpcp's parser; errors are `-EINVAL`, `-E2BIG`, `-ENOMEM`.
pub(crate) fn parse(text: &CStr, flags: u8) -> Result<PcpLabelSets> {
    let flags = c_int::from(flags);
    // SAFETY: the text is terminated, and a NULL set pointer asks for a new set, which is ours.
    let (status, sets) = new_set(|set| unsafe { pcp::__pmAddLabels(set, text.as_ptr(), flags) });
    status?;
    if sets.first(1).all(LabelSetRef::is_complete) {
        Ok(sets)
    } else {
        Err(Error::ENOMEM)
    }
}

/// The host's labels (LABEL-26), and a status of 0 or 1, which tells little (LABEL-27).
pub(crate) fn context() -> (Result<c_int>, PcpLabelSets) {
    // SAFETY: a NULL set pointer asks for a new set, which is ours.
    new_set(|set| unsafe { pcp::__pmGetContextLabels(set) })
}

/// The label of a domain, `{"agent":NAME}` (LABEL-25), and a status.
pub(crate) fn domain(domain: c_int, name: &CStr) -> (Result<c_int>, PcpLabelSets) {
    // SAFETY: the name is terminated, and a NULL set pointer asks for a new set, which is ours.
    new_set(|set| unsafe { pcp::__pmGetDomainLabels(domain, name.as_ptr(), set) })
}

/// The place of a label of C.
fn place(raw: &pcp::pmLabel) -> Span {
    Span {
        name: raw.name() as u16,
        name_len: raw.namelen() as u8,
        flags: raw.flags() as u8,
        value: raw.value() as u16,
        value_len: raw.valuelen() as u16,
    }
}
