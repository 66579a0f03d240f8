//! The label functions of libpcp. They work on label sets in blocks from malloc, which
//! `view::label_set` owns and reads.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::{self, NonNull};

use crate::sys::libpcp::bindings as pcp;
use crate::sys::libpcp::bindings::pmLabelSet;
use crate::sys::lock::Token;
use pmda_core::error::{Error, Result};

/// The status of a function of libpcp, and the pointer that it has stored: NULL, or one new set in
/// a block from malloc, which belongs to the caller.
pub(crate) type NewSet = (Result<c_int>, *mut pmLabelSet);

/// Calls a function of libpcp with the address of the pointer to a new set.
fn new_set(token: &mut Token, make: impl FnOnce(*mut *mut pmLabelSet) -> c_int) -> NewSet {
    let mut set = ptr::null_mut();
    let status = token.apart(|| make(&raw mut set));
    (Error::check(status), set)
}

/// Makes a new set of a JSON text with libpcp's parser. Its errors are `-EINVAL`, `-E2BIG` and
/// `-ENOMEM`.
pub(crate) fn parse(token: &mut Token, text: &CStr, flags: u8) -> NewSet {
    let flags = c_int::from(flags);
    // SAFETY: the text is terminated. `set` is a valid place, and NULL there asks for a new set.
    new_set(token, |set| unsafe { pcp::__pmAddLabels(set, text.as_ptr(), flags) })
}

/// Makes a set of the labels that are configured for the host (LABEL-26). There may be a set also
/// with a status of 0 (LABEL-27).
pub(crate) fn context(token: &mut Token) -> NewSet {
    // SAFETY: `set` is a valid place, and NULL there asks for a new set.
    new_set(token, |set| unsafe { pcp::__pmGetContextLabels(set) })
}

/// Makes a set of the label of a domain, `{"agent":NAME}` (LABEL-25).
pub(crate) fn domain(token: &mut Token, domain: c_int, name: &CStr) -> NewSet {
    // SAFETY: the name is terminated. `set` is a valid place, and NULL there asks for a new set.
    new_set(token, |set| unsafe {
        pcp::__pmGetDomainLabels(domain, name.as_ptr(), set)
    })
}

/// The dotted name of a nested label: `name` is the offset of its name in the text. NULL for a
/// label that is not nested.
///
/// # Safety
/// The hash of the set is NULL or valid, with its nodes.
pub(crate) unsafe fn dotted_name(set: &pmLabelSet, name: u16) -> *const c_char {
    // SAFETY: a valid hash, as the caller promises. A node of the hash stays until the set is freed.
    let node =
        NonNull::new(set.hash).and_then(|hash| unsafe { pcp::__pmHashSearch(u32::from(name), hash.as_ptr()).as_ref() });
    node.map_or(ptr::null(), |node| node.data.cast_const().cast())
}

/// Frees the sets of a block, what they point to, and the block.
///
/// # Safety
/// `first` is a block from malloc with `count` valid sets, whose texts, arrays and hashes are NULL
/// or blocks of their own. Nobody uses them any more.
pub(crate) unsafe fn free(first: *mut pmLabelSet, count: c_int) {
    // SAFETY: sets that are not used any more, as the caller promises.
    unsafe { pcp::pmFreeLabelSets(first, count) };
}
