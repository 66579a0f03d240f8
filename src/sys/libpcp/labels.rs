//! The label functions of libpcp.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::{self, NonNull};

use crate::sys::libpcp::bindings as pcp;
use crate::sys::libpcp::bindings::pmLabelSet;
use crate::sys::lock::Token;
use crate::sys::slice;
use pmda_core::error::{Error, Result};
use pmda_core::labels::{Label, Span};

/// A reference to a label set that nobody changes for `'s`: it is ours, or lent for the call and
/// borrowed.
#[derive(Clone, Copy)]
pub(crate) struct LabelSetRef<'s>(&'s pmLabelSet);

impl<'s> LabelSetRef<'s> {
    /// The set behind a pointer; `None` for NULL.
    ///
    /// # Safety
    /// `set` is NULL or a label set that nobody changes during `'s`: its text and its array are
    /// NULL or as long as it says, and so is its hash, whose names are terminated.
    pub(crate) unsafe fn new(set: *const pmLabelSet) -> Option<LabelSetRef<'s>> {
        // SAFETY: NULL, or a valid set that nobody changes during `'s`, as the caller promises. So
        // a shared reference to it may exist.
        unsafe { set.as_ref() }.map(LabelSetRef)
    }

    /// The instance that the set belongs to.
    pub(crate) fn inst(self) -> u32 {
        self.0.inst
    }

    /// The number of labels, or a negative code.
    pub(crate) fn count(self) -> c_int {
        self.0.nlabels
    }

    /// The text, and the spans of the labels in it. Both are empty where the set has none.
    pub(crate) fn parts(self) -> (&'s [u8], impl ExactSizeIterator<Item = Span> + Clone + 's) {
        let set = self.0;
        let length = c_int::try_from(set.jsonlen()).unwrap_or(0);
        // SAFETY: by the contract of `new` the text has `jsonlen` bytes that stay for `'s`, unless
        // it is NULL.
        let json = unsafe { slice(set.json.cast::<u8>(), length) };
        // SAFETY: by the contract of `new` the array has `nlabels` elements that stay for `'s`,
        // unless it is NULL.
        let labels = unsafe { slice(set.labels, set.nlabels) };
        (json, labels.iter().map(span))
    }

    /// The labels by their full names: the dotted names of nested ones are in the hash (LABEL-4).
    /// Labels whose spans are not within the text are left out.
    pub(crate) fn labels(self) -> impl Iterator<Item = Label<'s>> {
        let (json, spans) = self.parts();
        spans.filter_map(move |span| {
            Some(Label {
                name: self.full_name(span).or_else(|| span.name(json))?,
                value: span.value(json)?,
                flags: span.flags,
            })
        })
    }

    /// Returns whether all nested labels have dotted names. Without memory libpcp leaves out such
    /// names, and returns success all the same.
    fn is_complete(self) -> bool {
        let (json, mut spans) = self.parts();
        json.is_empty()
            || spans.all(|span| {
                // An empty object has the flag of nested labels, but no dotted name.
                let empty = span.value(json).is_some_and(|value| value.starts_with(b"{"));
                let nested = u32::from(span.flags) & pcp::PM_LABEL_COMPOUND != 0 && !empty;
                !nested || self.full_name(span).is_some()
            })
    }

    /// The dotted name of a nested label; `None` for another label.
    fn full_name(self, span: Span) -> Option<&'s [u8]> {
        let has_names = self.0.compound() == 1 && !self.0.hash.is_null();
        if !has_names || u32::from(span.flags) & pcp::PM_LABEL_COMPOUND == 0 {
            return None;
        }
        // SAFETY: by the contract of `new` the hash is valid, with its nodes, and unchanged during
        // `'s`. So a shared reference to a node may exist.
        let node = unsafe { pcp::__pmHashSearch(u32::from(span.name), self.0.hash).as_ref()? };
        let name = NonNull::new(node.data.cast::<c_char>())?;
        // SAFETY: not NULL, so by the contract of `new` a terminated name, unchanged during `'s`.
        Some(unsafe { CStr::from_ptr(name.as_ptr()) }.to_bytes())
    }
}

/// Label sets in one block from malloc. libpcp frees them, with what they point to, unless they are
/// handed over.
pub(crate) struct PcpLabelSets {
    first: *mut pmLabelSet,
    count: c_int,
}

impl PcpLabelSets {
    /// No sets.
    pub(crate) const NONE: PcpLabelSets = PcpLabelSets {
        first: ptr::null_mut(),
        count: 0,
    };

    /// Takes over `count` sets in one block.
    ///
    /// # Safety
    /// `first` is NULL or a block with `count` valid sets that `pmFreeLabelSets` may free, together
    /// with what they point to. Nobody else frees or changes them.
    pub(crate) unsafe fn own(first: *mut pmLabelSet, count: c_int) -> PcpLabelSets {
        PcpLabelSets { first, count }
    }

    /// Returns whether there are no sets.
    pub(crate) fn is_none(&self) -> bool {
        self.first.is_null()
    }

    /// The first `count` sets, or all if there are fewer.
    pub(crate) fn first(&self, count: c_int) -> impl ExactSizeIterator<Item = LabelSetRef<'_>> + Clone {
        // SAFETY: NULL, or as many valid sets, by the contract of `own`. This value owns them, and
        // is borrowed for as long as the references exist.
        unsafe { slice(self.first, count.min(self.count)) }
            .iter()
            .map(LabelSetRef)
    }

    /// The labels of the first set by their full names.
    pub(crate) fn labels(&self) -> impl Iterator<Item = Label<'_>> {
        self.first(1).flat_map(LabelSetRef::labels)
    }

    /// Hands the sets over.
    pub(crate) fn into_raw(self) -> *mut pmLabelSet {
        let sets = std::mem::ManuallyDrop::new(self);
        sets.first
    }
}

impl Drop for PcpLabelSets {
    fn drop(&mut self) {
        if !self.first.is_null() {
            // SAFETY: this value owns the sets, and libpcp may free them by the contract of `own`.
            unsafe { pcp::pmFreeLabelSets(self.first, self.count) };
        }
    }
}

/// The status of a function of libpcp, and the set that it has stored at the place that `make`
/// passes to it.
fn new_set(token: &mut Token, make: impl FnOnce(*mut *mut pmLabelSet) -> c_int) -> (Result<c_int>, PcpLabelSets) {
    let mut set = ptr::null_mut();
    let status = token.apart(|| make(&raw mut set));
    // SAFETY: the place is NULL as before, or libpcp has stored a new set from malloc there, which
    // belongs to its caller: to us.
    (Error::check(status), unsafe { PcpLabelSets::own(set, 1) })
}

/// Makes a new set of a JSON text with libpcp's parser.
///
/// # Errors
/// Those of libpcp: `-EINVAL`, `-E2BIG`, `-ENOMEM`.
pub(crate) fn parse(token: &mut Token, text: &CStr, flags: u8) -> Result<PcpLabelSets> {
    let flags = c_int::from(flags);
    // SAFETY: the text is terminated. `set` is a valid place, and NULL there asks for a new set.
    let (status, sets) = new_set(token, |set| unsafe { pcp::__pmAddLabels(set, text.as_ptr(), flags) });
    status?;
    if sets.first(1).all(LabelSetRef::is_complete) {
        Ok(sets)
    } else {
        Err(Error::ENOMEM)
    }
}

/// The labels that are configured for the host (LABEL-26), and a status. There may be a set also
/// with a status of 0 (LABEL-27).
pub(crate) fn context(token: &mut Token) -> (Result<c_int>, PcpLabelSets) {
    // SAFETY: `set` is a valid place, and NULL there asks for a new set.
    new_set(token, |set| unsafe { pcp::__pmGetContextLabels(set) })
}

/// The label of a domain, `{"agent":NAME}` (LABEL-25), and a status.
pub(crate) fn domain(token: &mut Token, domain: c_int, name: &CStr) -> (Result<c_int>, PcpLabelSets) {
    // SAFETY: the name is terminated. `set` is a valid place, and NULL there asks for a new set.
    new_set(token, |set| unsafe {
        pcp::__pmGetDomainLabels(domain, name.as_ptr(), set)
    })
}

/// The span of a label, from C's bit fields: none is wider than the type that it becomes.
fn span(raw: &pcp::pmLabel) -> Span {
    Span {
        name: raw.name() as u16,
        name_len: raw.namelen() as u8,
        flags: raw.flags() as u8,
        value: raw.value() as u16,
        value_len: raw.valuelen() as u16,
    }
}
