//! Label sets in C's memory: made, changed and freed in the blocks that libpcp expects (LABEL-3).

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use super::memory::{self, Block};
use super::types::{pmLabel, pmLabelSet};
use crate::error::{Error, Result};
use crate::labels::{self, Place, Set, Text};
use crate::libpcp;
use crate::libpcp::labels::Sets;
use crate::libpcp::version::SINCE_7_2;

/// `PM_IN_NULL`: a set that belongs to no instance.
const NO_INSTANCE: u32 = u32::MAX;

/// Adds the labels of a JSON text, with `flags`, to the set that `*slot` points to, or to a new one (LABEL-36, LABEL-37).
///
/// Returns the number of labels in the set afterwards. Nothing is changed when it fails (L-10).
///
/// # Errors
/// As listed in LABEL-31.
///
/// # Safety
/// `slot` is valid for reads and writes; `*slot` is NULL or a valid set whose blocks come from malloc.
pub(super) unsafe fn add(slot: *mut *mut pmLabelSet, text: &[u8], flags: u8) -> Result<c_int> {
    // SAFETY: valid for reads, as the contract above says.
    let target = unsafe { *slot };
    match labels::parse(text, flags, !SINCE_7_2)? {
        Text::Plain(set) if target.is_null() => {
            let count = set.labels.len();
            let fresh = new(&set)?;
            // SAFETY: valid for writes, as the contract above says.
            unsafe { *slot = fresh };
            Ok(count as c_int)
        }
        // SAFETY: the target is valid, as the contract above says.
        Text::Plain(set) if set.is_merged() && unsafe { is_empty(target) } => unsafe { replace(target, &set) },
        // SAFETY: the target is valid, as the contract above says.
        Text::Plain(set) => unsafe { merge(target, set.iter()) },
        Text::Other(mut text) => {
            text.try_reserve_exact(1).map_err(|_| Error::NOMEM)?;
            text.push(0);
            let text = CStr::from_bytes_with_nul(&text).map_err(|_| Error::INVAL)?;
            let sets = libpcp::labels::parse(text, flags)?;
            // SAFETY: libpcp's set is NULL or valid and ours, and the target is valid as the contract above says.
            unsafe { take(slot, sets) }
        }
    }
}

/// Adds the labels of a set that libpcp has made.
///
/// # Safety
/// As [`add`]; `sets` holds at most one set.
unsafe fn take(slot: *mut *mut pmLabelSet, sets: Sets) -> Result<c_int> {
    // SAFETY: valid pointers, as the contract above says; `sets` lives while its labels are looked at.
    unsafe {
        if sets.as_ptr().is_null() {
            return Ok((*slot).as_ref().map_or(0, |set| set.nlabels));
        }
        if (*slot).is_null() {
            *slot = sets.into_raw();
            return Ok((**slot).nlabels);
        }
        merge(*slot, libpcp::labels::list(sets.as_ptr()))
    }
}

/// Lays labels over those of a set.
///
/// # Safety
/// `target` is a valid set whose blocks come from malloc.
unsafe fn merge<'a>(target: *mut pmLabelSet, new: impl Iterator<Item = labels::Label<'a>>) -> Result<c_int> {
    // SAFETY: a valid set; the old labels are used only until it is changed.
    let merged = labels::merge(unsafe { libpcp::labels::list(target) }, new)?;
    // SAFETY: a valid set, as the contract above says.
    unsafe { replace(target, &merged) }
}

/// Copies the labels of a set into an empty one, with names and values as pmdaAddLabels lays them out.
///
/// # Safety
/// Both sets are valid, and the blocks of `target` come from malloc.
pub(super) unsafe fn copy(target: *mut pmLabelSet, from: *const pmLabelSet) -> Result<c_int> {
    // SAFETY: as the contract above says.
    unsafe { merge(target, libpcp::labels::list(from)) }
}

/// Whether a set holds no labels that a merge would keep.
///
/// # Safety
/// `target` is a valid set.
unsafe fn is_empty(target: *const pmLabelSet) -> bool {
    // SAFETY: a valid set, as the contract above says.
    unsafe { (*target).nlabels <= 0 }
}

/// Puts other labels into a set, and frees the old ones; the instance stays.
///
/// # Safety
/// `target` is a valid set whose blocks come from malloc.
unsafe fn replace(target: *mut pmLabelSet, set: &Set) -> Result<c_int> {
    let (json, array) = blocks(set)?;
    // SAFETY: a valid set; its old blocks are freed, and the new ones put in their place.
    unsafe {
        clear(target);
        fill(&mut *target, set, json, array);
    }
    Ok(set.labels.len() as c_int)
}

/// A set in a block of its own.
fn new(set: &Set) -> Result<*mut pmLabelSet> {
    let shell = Block::<pmLabelSet>::zeroed(1)?;
    let (json, array) = blocks(set)?;
    let shell = shell.into_raw();
    // SAFETY: a block of the right size, all zero, which is a valid (empty) set.
    unsafe {
        (*shell).inst = NO_INSTANCE;
        fill(&mut *shell, set, json, array);
    }
    Ok(shell)
}

type Blocks = (Block<std::ffi::c_char>, Option<Block<pmLabel>>);

/// The text and the array of a set; there is no array without labels.
fn blocks(set: &Set) -> Result<Blocks> {
    let json = memory::string(&set.json)?;
    if set.labels.is_empty() {
        return Ok((json, None));
    }
    let array = Block::<pmLabel>::zeroed(set.labels.len())?;
    for (index, place) in set.labels.iter().enumerate() {
        // SAFETY: the block has room for all the labels.
        unsafe { array.as_ptr().add(index).write(label(*place)) };
    }
    Ok((json, Some(array)))
}

fn label(place: Place) -> pmLabel {
    let bits = pmLabel::new_bitfield_1(
        u32::from(place.name),
        u32::from(place.name_len),
        u32::from(place.flags),
        u32::from(place.value),
        u32::from(place.value_len),
    );
    // SAFETY: the structure has nothing but integers.
    let mut label: pmLabel = unsafe { std::mem::zeroed() };
    label._bitfield_1 = bits;
    label
}

/// Puts a text and an array into a set that has none.
fn fill(target: &mut pmLabelSet, set: &Set, json: Block<std::ffi::c_char>, array: Option<Block<pmLabel>>) {
    target.nlabels = set.labels.len() as c_int;
    target.set_jsonlen(set.json.len() as u32);
    target.json = json.into_raw();
    target.labels = array.map_or(ptr::null_mut(), Block::into_raw);
}

/// Frees what a set points to, and empties it; its instance stays.
///
/// # Safety
/// `set` is valid and its blocks come from malloc.
pub(super) unsafe fn clear(set: *mut pmLabelSet) {
    // SAFETY: a valid set; each block is freed once, because the pointers to it are forgotten.
    unsafe {
        let set = &mut *set;
        if set.compound() == 1 && !set.hash.is_null() {
            free_hash(set.hash);
        }
        libc::free(set.json.cast::<c_void>());
        if set.nlabels > 0 {
            libc::free(set.labels.cast::<c_void>());
        }
        let inst = set.inst;
        *set = std::mem::zeroed();
        set.inst = inst;
    }
}

/// Frees a hash of dotted names: libpcp does that for a set that has nothing else.
///
/// # Safety
/// `hash` belongs to nobody else.
unsafe fn free_hash(hash: *mut c_void) {
    let Ok(shell) = Block::<pmLabelSet>::zeroed(1) else {
        return;
    };
    let shell = shell.into_raw();
    // SAFETY: a block of the right size, all zero, which is a valid (empty) set, and owned.
    unsafe {
        (*shell).hash = hash;
        (*shell).set_compound(1);
        drop(Sets::own(shell, 1));
    }
}

/// Sets flags in every label; 1, or 0 without a set (LABEL-45).
///
/// # Safety
/// `set` is NULL or a valid label set.
pub(super) unsafe fn add_flags(set: *mut pmLabelSet, flags: u8) -> c_int {
    // SAFETY: as the contract above says: the array has `nlabels` elements.
    unsafe {
        let Some(set) = set.as_ref() else { return 0 };
        for index in 0..usize::try_from(set.nlabels).unwrap_or(0) {
            let Some(label) = set.labels.wrapping_add(index).as_mut() else {
                break;
            };
            label.set_flags(label.flags() | u32::from(flags));
        }
    }
    1
}
