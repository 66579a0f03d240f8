//! Label sets in C's memory: read, made, changed and freed in the blocks that libpcp expects
//! (LABEL-3).
//!
//! [`LabelSet`] is one set, [`OwnedSets`] a block of sets that is freed unless it is handed over, and
//! [`LabelSets`] the variable in which C keeps the address of its sets. The labels themselves, without C,
//! are `pmda_core::labels`.

use std::ffi::{CStr, c_int, c_void};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use crate::sys::libpcp::labels as libpcp;
use crate::sys::lock::Token;
use crate::sys::{slice, slice_mut};
use crate::view::arg::CText;
use crate::view::memory::{self, AnyBytes, Block, CVec};
use crate::view::types::{pmLabel, pmLabelSet};
use pmda_core::constants::{PM_IN_NULL, PM_LABEL_COMPOUND};
use pmda_core::error::{Error, Result};
use pmda_core::labels::{self, JsonLabels, Label, Span};

/// A label set in C's memory. Only its owner changes it and frees its blocks, and no code of C runs
/// meanwhile. So Rust may have references to it, and labels borrow it. A set and its array are
/// aligned, since they are in blocks from malloc: whoever gets sets frees them by `pmFreeLabelSets`.
///
/// ```
/// # use pcp_pmda::view::label_set::LabelSet;
/// fn counted(set: &mut LabelSet) {
///     let labels = set.list().count();
///     set.clear();
///     assert!(labels > 0);
/// }
/// ```
///
/// ```compile_fail,E0502
/// # use pcp_pmda::view::label_set::LabelSet;
/// fn freed(set: &mut LabelSet) {
///     let labels = set.list();
///     set.clear();
///     assert!(labels.count() > 0);
/// }
/// ```
#[repr(transparent)]
pub struct LabelSet(pmLabelSet);

impl LabelSet {
    /// The set that a pointer leads to; `None` for NULL.
    ///
    /// # Safety
    /// `set` is NULL, or points to a label set that nobody changes during `'s`. Its text and its
    /// array are NULL or as long as it says, and so is its hash, whose names are terminated.
    pub(crate) unsafe fn shared<'s>(set: *const pmLabelSet) -> Option<&'s LabelSet> {
        // SAFETY: NULL, or a valid set that nobody changes, as the caller promises. A `LabelSet` has
        // the layout of the structure.
        unsafe { set.cast::<LabelSet>().as_ref() }
    }

    /// The set that a pointer leads to, to be changed; `None` for NULL.
    ///
    /// # Safety
    /// As [`LabelSet::shared`]. Text, array and hash are blocks from malloc, which may be freed and
    /// exchanged, and nobody else uses the set or what it points to during `'s`.
    pub(crate) unsafe fn exclusive<'s>(set: *mut pmLabelSet) -> Option<&'s mut LabelSet> {
        // SAFETY: NULL, or a valid set that nobody else uses, as the caller promises. A `LabelSet`
        // has the layout of the structure.
        unsafe { set.cast::<LabelSet>().as_mut() }
    }

    /// The structure, for C.
    pub(crate) fn as_ptr(&mut self) -> *mut pmLabelSet {
        &raw mut self.0
    }

    /// The number of labels, or a negative code.
    pub fn count(&self) -> c_int {
        self.0.nlabels
    }

    /// The instance that the set belongs to.
    pub(crate) fn inst(&self) -> u32 {
        self.0.inst
    }

    /// The text, and the spans of the labels in it. Both are empty where the set has none.
    pub(crate) fn parts(&self) -> (&[u8], impl ExactSizeIterator<Item = Span> + Clone) {
        let length = c_int::try_from(self.0.jsonlen()).unwrap_or(0);
        // SAFETY: by the contract of the constructors the text has `jsonlen` bytes, unless it is
        // NULL. It belongs to the set, which is borrowed.
        let json = unsafe { slice(self.0.json.cast::<u8>(), length) };
        // SAFETY: as for the text: `nlabels` elements, unless it is NULL.
        let labels = unsafe { slice(self.0.labels, self.0.nlabels) };
        (json, labels.iter().map(span))
    }

    /// The labels by their full names: the dotted names of nested ones are in the hash (LABEL-4).
    /// Labels whose spans are not within the text are left out.
    pub fn list(&self) -> impl Iterator<Item = Label<'_>> {
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
    fn is_complete(&self) -> bool {
        let (json, mut spans) = self.parts();
        json.is_empty()
            || spans.all(|span| {
                // An empty object has the flag of nested labels, but no dotted name.
                let empty = span.value(json).is_some_and(|value| value.starts_with(b"{"));
                !is_nested(span) || empty || self.full_name(span).is_some()
            })
    }

    /// The dotted name of a nested label; `None` for another label.
    fn full_name(&self, span: Span) -> Option<&[u8]> {
        if self.0.compound() != 1 || !is_nested(span) {
            return None;
        }
        // SAFETY: by the contract of the constructors the hash is NULL or valid.
        let name = unsafe { libpcp::dotted_name(&self.0, span.name) };
        // SAFETY: if it is not NULL, a terminated name by the contract of the constructors. It
        // belongs to the set, which is borrowed.
        (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_bytes())
    }

    /// Returns whether the set has no labels that a merge would keep.
    pub(crate) fn is_empty(&self) -> bool {
        self.count() <= 0
    }

    /// The labels of the set, with others that replace those of the same name.
    ///
    /// # Errors
    /// As [`labels::merge`].
    pub(crate) fn merged<'l>(&'l self, new: impl Iterator<Item = Label<'l>>) -> Result<JsonLabels> {
        labels::merge(self.list(), new)
    }

    /// Replaces the labels, and frees the old ones; the instance stays. Returns the number of
    /// labels.
    ///
    /// # Errors
    /// `-ENOMEM`; the set is as it was.
    pub(crate) fn replace(&mut self, set: &JsonLabels) -> Result<c_int> {
        let new = in_blocks(set, self.0.inst)?;
        self.clear();
        self.0 = new;
        Ok(self.0.nlabels)
    }

    /// Frees what the set points to, and empties it; its instance stays.
    pub fn clear(&mut self) {
        let inst = self.0.inst;
        let old = std::mem::replace(&mut self.0, empty(inst));
        if old.compound() == 1 && !old.hash.is_null() {
            let mut hash = empty(PM_IN_NULL as u32);
            hash.hash = old.hash;
            hash.set_compound(1);
            // Only libpcp can free a hash. Without memory it leaks.
            if let Ok(hash) = Block::holding(hash) {
                // SAFETY: a new block from malloc with one set that has nothing but the hash, of
                // which no other set knows any more.
                unsafe { libpcp::free(hash.into_raw(), 1) };
            }
        }
        // SAFETY: NULL or a block from malloc, by the contract of `exclusive`; the set does not
        // point to it any more.
        unsafe { libc::free(old.json.cast::<c_void>()) };
        if old.nlabels > 0 {
            // SAFETY: as for the text. (Without labels the pointer may be anything, as for libpcp,
            // LABEL-3.)
            unsafe { libc::free(old.labels.cast::<c_void>()) };
        }
    }

    /// Sets the number of labels to what the callback that has filled the set returned: but not to
    /// more than the array has, if the callback has stored how many that are (L-3). After an error
    /// the array is freed here: libpcp frees the array of a set with labels only (LABEL-3). The
    /// text stays in the set, which frees it.
    pub(crate) fn settle(&mut self, status: c_int) {
        let labels = self.0.labels;
        let there = if labels.is_null() { 0 } else { self.0.nlabels };
        self.0.nlabels = match status {
            1.. if labels.is_null() => 0,
            1.. if there > 0 => status.min(there),
            _ => status,
        };
        if status < 0 {
            self.0.labels = ptr::null_mut();
            // SAFETY: NULL or a block from malloc by the contract of `exclusive`; the set does not
            // point to it any more.
            unsafe { libc::free(labels.cast()) };
        }
    }

    /// Stores the instance that the set belongs to.
    pub(crate) fn set_inst(&mut self, inst: u32) {
        self.0.inst = inst;
    }

    /// Sets these flags in every label, beside those that are set (LABEL-45).
    pub(crate) fn add_flags(&mut self, flags: u8) {
        // SAFETY: by the contract of the constructors the array has `nlabels` elements, unless it is
        // NULL. It belongs to the set, which is borrowed.
        for label in unsafe { slice_mut(self.0.labels, self.0.nlabels) } {
            label.set_flags(label.flags() | u32::from(flags));
        }
    }
}

/// Returns whether a label is part of an object.
fn is_nested(span: Span) -> bool {
    c_int::from(span.flags) & PM_LABEL_COMPOUND != 0
}

/// The span of a label, from C's bit fields: none is wider than the type that it becomes.
fn span(raw: &pmLabel) -> Span {
    Span {
        name: raw.name() as u16,
        name_len: raw.namelen() as u8,
        flags: raw.flags() as u8,
        value: raw.value() as u16,
        value_len: raw.valuelen() as u16,
    }
}

/// The C structure for the span of a label.
fn label(span: Span) -> pmLabel {
    let mut label = pmLabel::zeroed();
    label._bitfield_1 = pmLabel::new_bitfield_1(
        u32::from(span.name),
        u32::from(span.name_len),
        u32::from(span.flags),
        u32::from(span.value),
        u32::from(span.value_len),
    );
    label
}

/// A set without labels, for an instance.
fn empty(inst: u32) -> pmLabelSet {
    let mut set = pmLabelSet::zeroed();
    set.inst = inst;
    set
}

/// A set of these labels, whose text and array are new blocks. There is no array without labels
/// (LABEL-36).
///
/// # Errors
/// `-ENOMEM`.
fn in_blocks(labels: &JsonLabels, inst: u32) -> Result<pmLabelSet> {
    let json = memory::string(&labels.json)?;
    let mut set = empty(inst);
    if !labels.labels.is_empty() {
        let array = CVec::of(labels.labels.iter().copied().map(label))?;
        set.nlabels = array.len() as c_int;
        set.labels = array.into_raw();
    }
    set.set_jsonlen(labels.json.len() as u32);
    set.json = json.into_raw();
    Ok(set)
}

/// The address of the variable in which C keeps the pointer to its label sets (`pmLabelSet **`); it
/// may be any address.
#[derive(Debug)]
#[repr(transparent)]
pub struct LabelSets<'call>(NonNull<*mut pmLabelSet>, PhantomData<&'call pmLabelSet>);

impl<'call> LabelSets<'call> {
    /// The address of the pointer; `None` for NULL.
    ///
    /// # Safety
    /// `pointer` is NULL, or valid for reads and writes during `'call`. What is there is NULL or
    /// points to a set as [`LabelSet::exclusive`] has it whenever [`LabelSets::first`] is asked for.
    pub(crate) unsafe fn new(pointer: *mut *mut pmLabelSet) -> Option<LabelSets<'call>> {
        NonNull::new(pointer).map(|pointer| LabelSets(pointer, PhantomData))
    }

    /// The first set, or `None` if the pointer is NULL.
    pub(crate) fn first(&mut self) -> Option<&mut LabelSet> {
        // SAFETY: by the contract of `new` the address is readable, and what is there is NULL or a
        // set as `exclusive` demands. The reference borrows the address, so there is one at a time.
        unsafe { LabelSet::exclusive(self.0.read_unaligned()) }
    }

    /// Stores sets, which C frees by `pmFreeLabelSets`; NULL for none.
    pub(crate) fn store(&mut self, sets: Option<OwnedSets>) {
        self.write(sets.map_or(ptr::null_mut(), OwnedSets::into_raw));
    }

    /// Makes a set of these labels, in blocks of its own, and stores it. Returns the number of
    /// labels.
    ///
    /// # Errors
    /// `-ENOMEM`; nothing is stored.
    pub(crate) fn store_new(&mut self, labels: &JsonLabels) -> Result<c_int> {
        let mut block = Block::uninit(1)?;
        let count = block.put(in_blocks(labels, PM_IN_NULL as u32)?).nlabels;
        self.write(block.into_raw());
        Ok(count)
    }

    /// Stores the labels that are configured for the host, in place of NULL (LABEL-26).
    ///
    /// # Errors
    /// Those of libpcp.
    pub(crate) fn store_context(&mut self, token: &mut Token) -> Result<c_int> {
        let (status, set) = libpcp::context(token);
        self.write(set);
        status
    }

    /// Stores the label of an agent's domain, in place of NULL (LABEL-25).
    ///
    /// # Errors
    /// Those of libpcp.
    pub(crate) fn store_domain(&mut self, token: &mut Token, domain: c_int, name: CText<'_>) -> Result<c_int> {
        let (status, set) = libpcp::domain(token, domain, name.c_str());
        self.write(set);
        status
    }

    /// Stores NULL, or sets in blocks that C frees.
    fn write(&mut self, first: *mut pmLabelSet) {
        // SAFETY: the address is writable by the contract of `new`.
        unsafe { self.0.write_unaligned(first) };
    }
}

/// Label sets in one block from malloc, which grows. libpcp frees them with all that they point to,
/// unless they are handed over.
pub(crate) struct OwnedSets(ManuallyDrop<CVec<pmLabelSet>>);

impl OwnedSets {
    /// No sets, with room for `capacity` of them.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn with_capacity(capacity: usize) -> Result<OwnedSets> {
        CVec::with_capacity(capacity).map(|sets| OwnedSets(ManuallyDrop::new(sets)))
    }

    /// Takes over `count` sets in one block; `None` for NULL.
    ///
    /// # Safety
    /// `first` is NULL or a block from malloc with `count` valid sets, whose texts, arrays and
    /// hashes are NULL or blocks of their own. Nobody else frees or changes them.
    pub(crate) unsafe fn own(first: *mut pmLabelSet, count: c_int) -> Option<OwnedSets> {
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: NULL or a block from malloc with `count` sets that nobody else has, as the caller
        // promises.
        unsafe { CVec::own(first, count) }.map(|sets| OwnedSets(ManuallyDrop::new(sets)))
    }

    /// Makes a set of a JSON text with libpcp's parser; `None` if it makes none.
    ///
    /// # Errors
    /// Those of libpcp: `-EINVAL`, `-E2BIG`, `-ENOMEM`.
    pub(crate) fn parsed(token: &mut Token, text: &CStr, flags: u8) -> Result<Option<OwnedSets>> {
        let (status, set) = libpcp::parse(token, text, flags);
        // SAFETY: NULL or one new set, which belongs to the caller.
        let set = unsafe { OwnedSets::own(set, 1) };
        status?;
        if set.iter().flat_map(OwnedSets::all).all(LabelSet::is_complete) {
            Ok(set)
        } else {
            Err(Error::ENOMEM)
        }
    }

    /// The sets.
    pub(crate) fn all(&self) -> &[LabelSet] {
        // SAFETY: as many valid sets, by the contract of `own` and of `push`. This value owns them,
        // and is borrowed. A `LabelSet` has the layout of the structure.
        unsafe { slice(self.0.as_ptr().cast(), self.count()) }
    }

    /// The labels of all sets by their full names.
    pub(crate) fn labels(&self) -> impl Iterator<Item = Label<'_>> {
        self.all().iter().flat_map(LabelSet::list)
    }

    /// The number of sets.
    pub(crate) fn count(&self) -> c_int {
        c_int::try_from(self.0.len()).unwrap_or(c_int::MAX)
    }

    /// Appends an empty set.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn push(&mut self) -> Result<&mut LabelSet> {
        let set = self.0.push(pmLabelSet::zeroed())?;
        // SAFETY: the new set is zero. Later it points to blocks from malloc alone: those that are
        // stored here, and those that the agent's callback stores, as `pmdaLabel` demands of it.
        // This value alone has it, and is borrowed.
        unsafe { LabelSet::exclusive(set) }.ok_or(Error::ENOMEM)
    }

    /// The set that was appended last.
    pub(crate) fn last(&mut self) -> Option<&mut LabelSet> {
        let last = self.0.len().checked_sub(1)?;
        // SAFETY: `last` is less than the number of sets. For the rest see `push`.
        unsafe { LabelSet::exclusive(self.0.as_ptr().add(last)) }
    }

    /// Hands the sets over.
    fn into_raw(self) -> *mut pmLabelSet {
        ManuallyDrop::new(self).0.as_ptr()
    }
}

impl Drop for OwnedSets {
    fn drop(&mut self) {
        // SAFETY: this value owns the sets, and `into_raw` prevents the drop: libpcp may free them by
        // the contract of `own`, with the block, which is not freed by its vector.
        unsafe { libpcp::free(self.0.as_ptr(), self.count()) };
    }
}
