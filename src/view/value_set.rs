//! Value sets as the caller of `pmdaFetch` gets them: one block from malloc each, which the caller
//! frees.

use std::ffi::c_int;
use std::ptr;

use crate::view::block::Block;
use crate::view::types::{pmValue, pmValueSet};
use crate::view::value::{self, Atom};
use pmda_core::error::{Error, Result};
use pmda_core::fetch::{Encoding, Tally};
use pmda_core::ident::MetricId;

/// Bytes of a value set in front of its values (FETCH-2).
const SET_HEADER: usize = 16;

/// A metric set without knowing how many values it will get starts with this room.
const FIRST_VALUES: usize = 16;

/// A value set under construction, in one block from malloc that the caller of the fetch frees
/// (FETCH-71). It owns the block but has no destructor: a callback may leave by `longjmp`, and then
/// it is lost.
pub(crate) struct ValueSet {
    /// NULL before the first set.
    start: *mut pmValueSet,
    /// How many values there is room for.
    capacity: usize,
    /// How many values it has.
    tally: Tally,
}

impl ValueSet {
    /// No set.
    pub(crate) const NONE: ValueSet = ValueSet {
        start: ptr::null_mut(),
        capacity: 0,
        tally: Tally::EMPTY,
    };

    /// An empty set with room for values of an encoding (FETCH-33).
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline]
    pub(crate) fn new(pmid: MetricId, values: usize, encoding: Encoding) -> Result<ValueSet> {
        let start = Block::<u8>::room(ValueSet::size(values)?)?
            .into_raw()
            .cast::<pmValueSet>();
        // SAFETY: the new block has room for the head of a set and some values, as `size` says, and
        // nobody else has its address yet.
        unsafe {
            (*start).pmid = pmid.0;
            (*start).numval = 0;
            (*start).valfmt = value::format(encoding);
        }
        Ok(ValueSet {
            start,
            capacity: values,
            tally: Tally::EMPTY,
        })
    }

    fn size(values: usize) -> Result<usize> {
        let size = values
            .checked_mul(size_of::<pmValue>())
            .filter(|_| values <= Tally::MOST);
        size.and_then(|size| size.checked_add(SET_HEADER)).ok_or(Error::NOMEM)
    }

    /// Where the set is; adding a value may move it. NULL when there is none.
    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *mut pmValueSet {
        self.start
    }

    /// Whether there is a set.
    pub(crate) fn is_open(&self) -> bool {
        !self.start.is_null()
    }

    /// Makes room for one more value; when that fails the set is gone, with its values (F-6).
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Result<()> {
        let values = self.capacity.saturating_mul(2).max(FIRST_VALUES);
        // SAFETY: the block is ours, from malloc or NULL; it stays as it is when realloc fails.
        let larger = ValueSet::size(values).map_or(ptr::null_mut(), |size| unsafe {
            libc::realloc(self.start.cast(), size)
        });
        if larger.is_null() {
            self.discard();
            return Err(Error::NOMEM);
        }
        (self.start, self.capacity) = (larger.cast(), values);
        Ok(())
    }

    /// Adds the value in an atom of type `kind`.
    ///
    /// # Errors
    /// As [`Atom::stored`]; the set is as before then. And `-ENOMEM` when there is no room: then it
    /// is gone.
    #[inline(always)]
    pub(crate) fn add(&mut self, kind: c_int, encoding: Encoding, inst: c_int, atom: &Atom) -> Result<()> {
        let stored = self.tally.count();
        if stored >= self.capacity {
            self.grow()?;
        }
        let value = atom.stored(kind, encoding)?;
        // SAFETY: the block has room for `capacity` values, of which more are left, as was looked
        // at just now; when there were none, `grow` has made some.
        unsafe {
            let slot = (&raw mut (*self.start).vlist).cast::<pmValue>().add(stored);
            slot.write(pmValue { inst, value });
        }
        self.tally.stored();
        Ok(())
    }

    /// Notes that an instance has no value.
    pub(crate) fn failed(&mut self, status: Result<()>) {
        self.tally.failed(status);
    }

    /// Ends the set with its `numval`, and gives it out; NULL when there is none.
    #[inline(always)]
    pub(crate) fn close(&mut self) -> *mut pmValueSet {
        let start = std::mem::replace(&mut self.start, ptr::null_mut());
        if !start.is_null() {
            // SAFETY: not NULL, hence the block that `new` has made: nobody has got it before this.
            unsafe {
                (*start).numval = self.tally.numval();
                if self.tally.count() == 0 {
                    (*start).valfmt = value::INSITU;
                }
            }
        }
        self.capacity = 0;
        start
    }

    /// Frees the set and its values.
    pub(crate) fn discard(&mut self) {
        let set = self.close();
        if !set.is_null() {
            // SAFETY: `close` has given the set out, here and nowhere else, with as many values as
            // were written; it is not looked at again.
            unsafe { free(set) };
        }
    }
}

/// Frees a value set as the caller of a fetch does (FETCH-71).
///
/// # Safety
/// The set is one that a fetch has made, and is not used any more.
pub(super) unsafe fn free(set: *mut pmValueSet) {
    // SAFETY: the set and its values are in blocks from malloc that nobody uses any more, as the
    // caller promises: each is freed once. Values with a block of their own are marked DPTR.
    unsafe {
        if (*set).valfmt == value::DPTR {
            let values = (&raw const (*set).vlist).cast::<pmValue>();
            for index in 0..usize::try_from((*set).numval).unwrap_or(0) {
                libc::free((*values.add(index)).value.pval.cast());
            }
        }
        libc::free(set.cast());
    }
}
