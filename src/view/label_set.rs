//! Label sets in C's memory, in the blocks that libpcp expects (LABEL-3), and arrays of them as
//! `pmdaLabel` gives them out.

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use crate::sys::libpcp;
use crate::sys::libpcp::labels::{LabelSetRef, PcpLabelSets};
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

type Labels<'call> = Array<'call, pmLabel>;

/// A label set in C's memory. Its owner may change it, which frees what it points to. So it cannot
/// be copied, and its labels are borrowed:
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
    /// says, for `'call`. They may be freed, as blocks from malloc; nobody else has a view of them.
    pub(crate) unsafe fn new(set: *mut pmLabelSet) -> Option<LabelSet<'call>> {
        // SAFETY: a label set, as the caller promises.
        unsafe { Fields::new(set) }.map(LabelSet)
    }

    pub(crate) fn as_ptr(&self) -> *mut pmLabelSet {
        self.0.as_ptr()
    }

    /// The number of labels, or a negative code.
    pub fn count(&self) -> c_int {
        self.0.count()
    }

    /// The labels by their full names, good until control goes back to C or the set is changed.
    pub fn list(&self) -> impl Iterator<Item = Label<'_>> {
        // SAFETY: a valid set by the contract of `new`, and the view is borrowed while its labels
        // are looked at.
        unsafe { LabelSetRef::new(self.as_ptr()) }
            .into_iter()
            .flat_map(LabelSetRef::labels)
    }

    /// Returns whether the set has no labels for a merge.
    pub(crate) fn is_empty(&self) -> bool {
        self.count() <= 0
    }

    /// The labels of the set with others laid over them, as [`labels::merge`].
    pub(crate) fn merged<'l>(&'l self, new: impl Iterator<Item = Label<'l>>) -> Result<JsonLabels> {
        labels::merge(self.list(), new)
    }

    /// Replaces the labels, and frees the old ones; the instance stays. Returns their number.
    /// Without memory the set is as it was.
    pub(crate) fn replace(&mut self, set: &JsonLabels) -> Result<c_int> {
        let blocks = Blocks::of(set)?;
        self.clear();
        // SAFETY: a valid set by the contract of `new`. C is not called meanwhile, so nobody else
        // looks at it.
        Ok(blocks.fill(unsafe { &mut *self.as_ptr() }))
    }

    /// Frees what the set points to, and empties it; its instance stays.
    pub fn clear(&mut self) {
        // SAFETY: a valid set by the contract of `new`, which is left without its blocks: nobody
        // looks at it meanwhile.
        let old = unsafe { self.as_ptr().replace(empty(self.0.inst())) };
        if old.compound() == 1 && !old.hash.is_null() {
            let mut rest = empty(PM_IN_NULL as u32);
            rest.hash = old.hash;
            rest.set_compound(1);
            // SAFETY: a new block with a set that has nothing but the hash, which libpcp frees.
            drop(Block::holding(rest).map(|rest| unsafe { PcpLabelSets::own(rest.into_raw(), 1) }));
        }
        // SAFETY: NULL or a block from malloc, by the contract of `new`, which the set has
        // forgotten.
        unsafe { libc::free(old.json.cast::<c_void>()) };
        if old.nlabels > 0 {
            // SAFETY: NULL or a block from malloc, by the contract of `new`; the set has forgotten
            // it, and the labels are freed only here.
            unsafe { libc::free(old.labels.cast::<c_void>()) };
        }
    }

    /// Sets the number of labels to a callback's result, or its error. The array of a set that has
    /// failed is not freed: libpcp would not do it either.
    pub(crate) fn settle(&mut self, status: c_int) {
        let set = self.as_ptr();
        // SAFETY: a valid set by the contract of `new`: its labels are NULL or a block from malloc
        // of its own, which is freed when the set has forgotten it.
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

    pub(crate) fn set_inst(&mut self, inst: u32) {
        self.0.set_inst(inst);
    }

    /// LABEL-45.
    pub(crate) fn add_flags(&mut self, flags: u8) {
        for place in self.0.array().entries() {
            let mut label = place.get();
            label.set_flags(label.flags() | u32::from(flags));
            place.set(label);
        }
    }
}

fn empty(inst: u32) -> pmLabelSet {
    let mut set = pmLabelSet::zeroed();
    set.inst = inst;
    set
}

/// The place of C's pointer to its label sets.
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

    pub(crate) fn first(&mut self) -> Option<LabelSet<'_>> {
        // SAFETY: the place is readable, and what is there NULL or a set, by the contract of `new`.
        // The set borrows the place.
        unsafe { LabelSet::new(self.0.read()) }
    }

    /// Stores sets of libpcp's, for C to free.
    pub(crate) fn store(&mut self, sets: PcpLabelSets) {
        self.write(sets.into_raw());
    }

    /// Stores a new set of labels, and returns their number. Without memory nothing is stored.
    pub(crate) fn store_new(&mut self, set: &JsonLabels) -> Result<c_int> {
        let (mut shell, blocks) = (Block::room(1)?, Blocks::of(set)?);
        let count = blocks.fill(shell.put(empty(PM_IN_NULL as u32)));
        self.write(shell.into_raw());
        Ok(count)
    }

    /// Stores NULL; the old sets are not freed.
    pub(crate) fn store_none(&mut self) {
        self.write(ptr::null_mut());
    }

    /// Stores the host's labels, where there are none (LABEL-26).
    pub(crate) fn store_context(&mut self) -> Result<c_int> {
        let (status, sets) = libpcp::labels::context();
        self.store(sets);
        status
    }

    /// Stores the label of a domain, where there are none (LABEL-25).
    pub(crate) fn store_domain(&mut self, domain: c_int, name: CText<'_>) -> Result<c_int> {
        let (status, sets) = libpcp::labels::domain(domain, name.c_str());
        self.store(sets);
        status
    }

    fn write(&mut self, first: *mut pmLabelSet) {
        // SAFETY: the place is writable by the contract of `new`, and what is stored is NULL or a
        // set.
        unsafe { self.0.write(first) };
    }
}

/// The text and the array of a set, for C; no array without labels.
struct Blocks {
    json: Block<c_char>,
    length: usize,
    labels: Option<CVec<pmLabel>>,
}

impl Blocks {
    fn of(set: &JsonLabels) -> Result<Blocks> {
        let (json, length) = (memory::string(&set.json)?, set.json.len());
        let mut labels = None;
        if !set.labels.is_empty() {
            let array = labels.insert(CVec::with_capacity(set.labels.len())?);
            for place in &set.labels {
                array.push(label(*place))?;
            }
        }
        Ok(Blocks { json, length, labels })
    }

    /// Moves text and array into an empty set, and returns the number of labels.
    fn fill(self, set: &mut pmLabelSet) -> c_int {
        set.set_jsonlen(self.length as u32);
        set.json = self.json.into_raw();
        set.nlabels = self.labels.as_ref().map_or(0, CVec::len) as c_int;
        set.labels = self.labels.map_or(ptr::null_mut(), CVec::into_raw);
        set.nlabels
    }
}

fn label(place: Span) -> pmLabel {
    let mut label = pmLabel::zeroed();
    label._bitfield_1 = pmLabel::new_bitfield_1(
        u32::from(place.name),
        u32::from(place.name_len),
        u32::from(place.flags),
        u32::from(place.value),
        u32::from(place.value_len),
    );
    label
}

/// An array of label sets that grows, freed with all sets unless it is handed over.
pub(crate) struct LabelArray(Option<CVec<pmLabelSet>>);

impl LabelArray {
    pub(crate) fn new(room: usize) -> Result<LabelArray> {
        CVec::with_capacity(room).map(|sets| LabelArray(Some(sets)))
    }

    pub(crate) fn push(&mut self) -> Result<LabelSet<'_>> {
        let set = self.0.as_mut().ok_or(Error::GENERIC)?.push(pmLabelSet::zeroed())?;
        // SAFETY: the new set points to nothing but what is put into it through this view and by
        // the agent, from malloc; it borrows the array.
        unsafe { LabelSet::new(set) }.ok_or(Error::ENOMEM)
    }

    pub(crate) fn last(&mut self) -> Option<LabelSet<'_>> {
        let sets = self.0.as_mut()?;
        let last = sets.len().checked_sub(1)?;
        // SAFETY: a set of the array; for the rest see `push`.
        unsafe { LabelSet::new(sets.as_ptr().add(last)) }
    }

    /// The array as libpcp frees it, and the number of its sets.
    pub(crate) fn into_sets(mut self) -> (PcpLabelSets, c_int) {
        self.give_up()
    }

    fn give_up(&mut self) -> (PcpLabelSets, c_int) {
        let Some(sets) = self.0.take() else {
            return (PcpLabelSets::NONE, 0);
        };
        let count = c_int::try_from(sets.len()).unwrap_or(c_int::MAX);
        // SAFETY: the array is ours with what its sets point to, in blocks from malloc, and is
        // given up here.
        (unsafe { PcpLabelSets::own(sets.into_raw(), count) }, count)
    }
}

impl Drop for LabelArray {
    fn drop(&mut self) {
        drop(self.give_up());
    }
}
