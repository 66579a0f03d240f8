//! Label sets in C's memory: read, made, changed and freed in the blocks that libpcp expects
//! (LABEL-3); and arrays of them, one set for each instance, as `pmdaLabel` returns them.

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use crate::sys::libpcp;
use crate::sys::libpcp::labels::{LabelSetRef, PcpLabelSets};
use crate::sys::lock::Token;
use crate::view::arg::{CText, view};
use crate::view::memory::{self, AnyBytes, Array, Block, CVec};
use crate::view::types::{pmLabel, pmLabelSet};
use pmda_core::constants::PM_IN_NULL;
use pmda_core::error::{Error, Result};
use pmda_core::labels::{self, JsonLabels, Label, Span};

view! {
    /// The fields of a label set in C's memory.
    Fields of pmLabelSet, contract
    "`pointer` is NULL, or points to a label set whose text, array and hash are NULL or as long as it says."
    fields {
        /// The number of labels, or a negative code.
        count: nlabels as c_int;
        /// The instance that the set belongs to.
        inst [set_inst]: inst as u32;
    }
    arrays {
        /// The labels.
        array: labels[nlabels] as Labels;
    }
}

/// The labels of a set: spans of its text.
type Labels<'call> = Array<'call, pmLabel>;

/// A label set in C's memory. Its owner may change it, which frees what it points to. So the view
/// is not `Copy`, and labels borrow it: they are not used any more when the set is changed.
///
/// ```
/// # use pcp_pmda::view::label_set::LabelSet;
/// fn counted(mut set: LabelSet<'_>) {
///     let labels = set.list().count();
///     set.clear();
///     assert!(labels > 0);
/// }
/// ```
///
/// ```compile_fail,E0502
/// # use pcp_pmda::view::label_set::LabelSet;
/// fn freed(mut set: LabelSet<'_>) {
///     let labels = set.list();
///     set.clear();
///     assert!(labels.count() > 0);
/// }
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct LabelSet<'call>(Fields<'call>);

impl<'call> LabelSet<'call> {
    /// The set behind a pointer; `None` for NULL.
    ///
    /// # Safety
    /// `set` is NULL, or points to a label set whose text, array and hash are NULL or as long as it
    /// says, for `'call`. These are blocks from malloc, which may be freed and exchanged. There is
    /// no other view of the set, and no reference to it or to what it points to.
    pub(crate) unsafe fn new(set: *mut pmLabelSet) -> Option<LabelSet<'call>> {
        // SAFETY: a label set, as the caller promises.
        unsafe { Fields::new(set) }.map(LabelSet)
    }

    /// The structure, for C.
    pub(crate) fn as_ptr(&self) -> *mut pmLabelSet {
        self.0.as_ptr()
    }

    /// The number of labels, or a negative code.
    pub fn count(&self) -> c_int {
        self.0.count()
    }

    /// The labels by their full names. They are valid until control goes back to C, or the set is
    /// changed.
    pub fn list(&self) -> impl Iterator<Item = Label<'_>> {
        // SAFETY: a valid set by the contract of `new`, of which this is the only view. It is
        // borrowed for as long as the reference exists, so nobody changes the set meanwhile.
        unsafe { LabelSetRef::new(self.as_ptr()) }
            .into_iter()
            .flat_map(LabelSetRef::labels)
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
        let blocks = Blocks::of(set)?;
        self.clear();
        // SAFETY: a valid set by the contract of `new`, of which this is the only view. `fill`
        // calls no C, so nobody else reads or writes the set while the reference exists.
        Ok(blocks.fill(unsafe { &mut *self.as_ptr() }))
    }

    /// Frees what the set points to, and empties it; its instance stays.
    pub fn clear(&mut self) {
        // SAFETY: a valid set by the contract of `new`, of which this is the only view. An empty
        // set takes its place, so the blocks belong to `old` alone from here on.
        let old = unsafe { self.as_ptr().replace(empty(self.0.inst())) };
        if old.compound() == 1 && !old.hash.is_null() {
            let mut rest = empty(PM_IN_NULL as u32);
            rest.hash = old.hash;
            rest.set_compound(1);
            // SAFETY: a new block from malloc with one set that has nothing but the hash, of which
            // no other set knows any more: `pmFreeLabelSets` may free both. (Only libpcp can free a
            // hash. Without memory it leaks.)
            drop(Block::holding(rest).map(|rest| unsafe { PcpLabelSets::own(rest.into_raw(), 1) }));
        }
        // SAFETY: NULL or a block from malloc, by the contract of `new`; the set does not point to
        // it any more.
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
        let set = self.as_ptr();
        // SAFETY: a valid set by the contract of `new`, of which this is the only view. Its array
        // is NULL or a block from malloc, and the set does not point to it any more when it is
        // freed.
        unsafe {
            let labels = (*set).labels;
            let there = if labels.is_null() { 0 } else { (*set).nlabels };
            (*set).nlabels = match status {
                1.. if labels.is_null() => 0,
                1.. if there > 0 => status.min(there),
                _ => status,
            };
            if status < 0 {
                (*set).labels = ptr::null_mut();
                libc::free(labels.cast());
            }
        }
    }

    /// Stores the instance that the set belongs to.
    pub(crate) fn set_inst(&mut self, inst: u32) {
        self.0.set_inst(inst);
    }

    /// Sets these flags in every label, beside those that are set (LABEL-45).
    pub(crate) fn add_flags(&mut self, flags: u8) {
        for place in self.0.array().entries() {
            let mut label = place.get();
            label.set_flags(label.flags() | u32::from(flags));
            place.set(label);
        }
    }
}

/// A set without labels, for an instance.
fn empty(inst: u32) -> pmLabelSet {
    let mut set = pmLabelSet::zeroed();
    set.inst = inst;
    set
}

/// The place where C keeps the pointer to its label sets (`pmLabelSet **`).
#[derive(Debug)]
#[repr(transparent)]
pub struct LabelSets<'call>(NonNull<*mut pmLabelSet>, PhantomData<&'call pmLabelSet>);

impl<'call> LabelSets<'call> {
    /// The place of the pointer; `None` for NULL.
    ///
    /// # Safety
    /// `place` is NULL, or valid for reads and writes during `'call`. What is there is NULL or
    /// points to a set as [`LabelSet::new`] has it whenever [`LabelSets::first`] is asked for.
    pub(crate) unsafe fn new(place: *mut *mut pmLabelSet) -> Option<LabelSets<'call>> {
        NonNull::new(place).map(|place| LabelSets(place, PhantomData))
    }

    /// The first set, or `None` if the pointer is NULL.
    pub(crate) fn first(&mut self) -> Option<LabelSet<'_>> {
        // SAFETY: by the contract of `new` the place is readable, and what is there is NULL or a
        // set as `LabelSet::new` demands. The view borrows the place, so there is one at a time.
        unsafe { LabelSet::new(self.0.read()) }
    }

    /// Stores sets that libpcp can free: they belong to C from now on.
    pub(crate) fn store(&mut self, sets: PcpLabelSets) {
        self.write(sets.into_raw());
    }

    /// Makes a set of these labels, in blocks of its own, and stores it. Returns the number of
    /// labels.
    ///
    /// # Errors
    /// `-ENOMEM`; nothing is stored.
    pub(crate) fn store_new(&mut self, set: &JsonLabels) -> Result<c_int> {
        let (mut shell, blocks) = (Block::uninit(1)?, Blocks::of(set)?);
        let count = blocks.fill(shell.put(empty(PM_IN_NULL as u32)));
        self.write(shell.into_raw());
        Ok(count)
    }

    /// Stores NULL. What was there is not freed.
    pub(crate) fn store_none(&mut self) {
        self.write(ptr::null_mut());
    }

    /// Stores the labels that are configured for the host, where there are none so far (LABEL-26).
    ///
    /// # Errors
    /// Those of libpcp.
    pub(crate) fn store_context(&mut self, token: &mut Token) -> Result<c_int> {
        let (status, sets) = libpcp::labels::context(token);
        self.store(sets);
        status
    }

    /// Stores the label of an agent's domain, where there are none so far (LABEL-25).
    ///
    /// # Errors
    /// Those of libpcp.
    pub(crate) fn store_domain(&mut self, token: &mut Token, domain: c_int, name: CText<'_>) -> Result<c_int> {
        let (status, sets) = libpcp::labels::domain(token, domain, name.c_str());
        self.store(sets);
        status
    }

    /// Stores NULL, or sets in blocks that C frees.
    fn write(&mut self, first: *mut pmLabelSet) {
        // SAFETY: the place is writable by the contract of `new`.
        unsafe { self.0.write(first) };
    }
}

/// The text and the array of a new set, in blocks for C. There is no array without labels
/// (LABEL-36).
struct Blocks {
    json: Block<c_char>,
    length: usize,
    labels: Option<CVec<pmLabel>>,
}

impl Blocks {
    /// Copies the labels into new blocks.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn of(set: &JsonLabels) -> Result<Blocks> {
        let (json, length) = (memory::string(&set.json)?, set.json.len());
        let mut labels = None;
        if !set.labels.is_empty() {
            let array = labels.insert(CVec::with_capacity(set.labels.len())?);
            for span in &set.labels {
                array.push(label(*span))?;
            }
        }
        Ok(Blocks { json, length, labels })
    }

    /// Hands text and array over to an empty set. Returns the number of labels.
    fn fill(self, set: &mut pmLabelSet) -> c_int {
        set.set_jsonlen(self.length as u32);
        set.json = self.json.into_raw();
        set.nlabels = self.labels.as_ref().map_or(0, CVec::len) as c_int;
        set.labels = self.labels.map_or(ptr::null_mut(), CVec::into_raw);
        set.nlabels
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

/// An array of label sets that grows. It is freed with all that its sets point to, unless it is
/// handed over.
pub(crate) struct LabelArray(Option<CVec<pmLabelSet>>);

impl LabelArray {
    /// An empty array with room for `capacity` sets.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn new(capacity: usize) -> Result<LabelArray> {
        CVec::with_capacity(capacity).map(|sets| LabelArray(Some(sets)))
    }

    /// Appends an empty set.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn push(&mut self) -> Result<LabelSet<'_>> {
        let set = self.0.as_mut().ok_or(Error::GENERIC)?.push(pmLabelSet::zeroed())?;
        // SAFETY: the new set is zero. Later it points to blocks from malloc alone: those that this
        // view stores, and those that the agent's callback stores, as `pmdaLabel` demands of it.
        // The view borrows the array, so there is one at a time.
        unsafe { LabelSet::new(set) }.ok_or(Error::ENOMEM)
    }

    /// The set that was appended last.
    pub(crate) fn last(&mut self) -> Option<LabelSet<'_>> {
        let sets = self.0.as_mut()?;
        let last = sets.len().checked_sub(1)?;
        // SAFETY: `last` is less than the number of sets. For the rest see `push`.
        unsafe { LabelSet::new(sets.as_ptr().add(last)) }
    }

    /// Hands the array over, in the form that libpcp frees, with the number of its sets.
    pub(crate) fn into_sets(mut self) -> (PcpLabelSets, c_int) {
        self.give_up()
    }

    /// Takes the sets out of this value.
    fn give_up(&mut self) -> (PcpLabelSets, c_int) {
        let Some(sets) = self.0.take() else {
            return (PcpLabelSets::NONE, 0);
        };
        let count = c_int::try_from(sets.len()).unwrap_or(c_int::MAX);
        // SAFETY: the array, and what its sets point to, are blocks from malloc that this value
        // alone had; it gives them up here.
        (unsafe { PcpLabelSets::own(sets.into_raw(), count) }, count)
    }
}

impl Drop for LabelArray {
    fn drop(&mut self) {
        drop(self.give_up());
    }
}
