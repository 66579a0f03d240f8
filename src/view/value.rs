//! Puts the value in an atom into a result (section 5 of the specification's fetch chapter): into a
//! value set as the caller of `pmdaFetch` gets it, in one block from malloc, which the caller
//! frees.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// What a result holds of a value: the value itself, or a pointer to its block.
use crate::sys::libpcp::bindings::pmValue__bindgen_ty_1 as Stored;
use crate::view::memory::Block;
use crate::view::types::{pmAtomValue, pmValue, pmValueBlock, pmValueSet};
use pmda_core::error::{Error, Result};
use pmda_core::fetch::{self, Encoding, Tally};
use pmda_core::ident::MetricId;
use pmda_core::wire::block;

/// `PM_VAL_INSITU`, `PM_VAL_DPTR` and `PM_VAL_SPTR`: where the value is, and who owns it (FETCH-4).
pub(crate) const INSITU: i32 = 0;
pub(crate) const DPTR: i32 = 1;
pub(crate) const SPTR: i32 = 2;

/// The `valfmt` of values of an encoding.
pub(crate) fn format(encoding: Encoding) -> i32 {
    match encoding {
        Encoding::InSitu | Encoding::Unknown => INSITU,
        Encoding::Borrowed => SPTR,
        _ => DPTR,
    }
}

/// A value as a fetch callback has given it, for the type of the metric that it was asked for. It
/// may own memory, so it cannot be copied: [`Atom::free`] takes it.
pub(crate) struct Atom(pmAtomValue);

impl Atom {
    /// What a callback has stored.
    ///
    /// # Safety
    /// All bytes of the atom were zero before the callback ran. A pointer in it is NULL, or valid
    /// for the type of the metric: a C string, or a block that stays until the fetch is done.
    #[inline(always)]
    pub(crate) unsafe fn new(atom: pmAtomValue) -> Atom {
        Atom(atom)
    }

    /// A value of 32 bits.
    #[inline(always)]
    pub(crate) fn word(&self) -> u32 {
        let [a, b, c, d, ..] = self.wide().to_ne_bytes();
        u32::from_ne_bytes([a, b, c, d])
    }

    /// A value of 64 bits.
    #[inline(always)]
    pub(crate) fn wide(&self) -> u64 {
        // SAFETY: every byte of the atom was written, so that any member that is a number may be
        // read, and this is the largest.
        unsafe { self.0.ull }
    }

    /// The text of a value with its NUL, good until control goes back to C.
    ///
    /// # Errors
    /// `PM_ERR_VALUE` for NULL.
    pub(crate) fn text(&self) -> Result<&[u8]> {
        // SAFETY: a pointer was stored, or nothing, which is NULL. If not, it is a C string for as
        // long as C does not run, by the contract of `new`.
        unsafe {
            let text = self.0.cp;
            if text.is_null() {
                return Err(Error::VALUE);
            }
            Ok(std::slice::from_raw_parts(text.cast(), libc::strlen(text) + 1))
        }
    }

    /// The block of a value.
    ///
    /// # Errors
    /// `PM_ERR_VALUE` for NULL and for an impossible length.
    pub(crate) fn checked_block(&self) -> Result<ValueBlock<'_>> {
        // SAFETY: a pointer was stored, or nothing, which is NULL. If not, it is a value block by
        // the contract of `new`, for as long as C does not run.
        let block = unsafe { ValueBlock::new(self.0.vbp) }.ok_or(Error::VALUE)?;
        fetch::data_length(block.header()).ok_or(Error::VALUE)?;
        Ok(block)
    }

    /// The data in the block of a value, good until control goes back to C.
    ///
    /// # Errors
    /// As [`Atom::checked_block`].
    pub(crate) fn data(&self) -> Result<&[u8]> {
        let block = self.checked_block()?;
        block.bytes().get(fetch::HEADER..).ok_or(Error::VALUE)
    }

    /// The value, which is of type `kind`, as a result holds it.
    ///
    /// # Errors
    /// `PM_ERR_TYPE` for what is no type, `PM_ERR_VALUE` for a NULL pointer or an impossible
    /// length, `PM_ERR_TOOBIG`, `-ENOMEM`.
    #[inline(always)]
    pub(super) fn stored(&self, kind: i32, encoding: Encoding) -> Result<Stored> {
        let pval = match encoding {
            Encoding::InSitu => {
                return Ok(Stored {
                    lval: self.word() as c_int,
                });
            }
            // Each size by itself: a copy of a constant size is one instruction.
            Encoding::Wide => new_block(kind, &self.wide().to_ne_bytes())?,
            Encoding::Narrow => new_block(kind, &self.word().to_ne_bytes())?,
            Encoding::Text => new_block(kind, self.text()?)?,
            Encoding::Copy => new_block(kind, self.data()?)?,
            Encoding::Borrowed => self.checked_block()?.as_ptr(),
            Encoding::Unknown => return Err(Error::TYPE),
        };
        Ok(Stored { pval })
    }

    /// Frees the memory that the agent has handed over with the value, when it is of a type that
    /// has such; `false` otherwise (FETCH-42). The agent says by its answer that nobody else uses
    /// it.
    pub(crate) fn free(self, encoding: Encoding) -> bool {
        if !encoding.can_free() {
            return false;
        }
        // SAFETY: both members of the union that can be freed are pointers at the same place: NULL,
        // or what the agent has told us to free. Its value was copied before, and nothing reads it
        // from here on.
        unsafe { libc::free(self.0.vbp.cast::<c_void>()) };
        true
    }
}

/// A value block that stays unchanged for `'b`.
#[derive(Clone, Copy)]
pub(crate) struct ValueBlock<'b>(NonNull<pmValueBlock>, PhantomData<&'b pmValueBlock>);

impl<'b> ValueBlock<'b> {
    /// The block behind a pointer; `None` for NULL.
    ///
    /// # Safety
    /// `block` is NULL, or a value block that is as long as its header says and stays unchanged for
    /// `'b`.
    #[inline(always)]
    pub(crate) unsafe fn new(block: *mut pmValueBlock) -> Option<ValueBlock<'b>> {
        NonNull::new(block).map(|block| ValueBlock(block, PhantomData))
    }

    /// The block as C sees it.
    pub(crate) fn as_ptr(self) -> *mut pmValueBlock {
        self.0.as_ptr()
    }

    /// The type, and the length of all of it.
    #[inline(always)]
    fn header(self) -> u32 {
        // SAFETY: a block has its first word in any case, by the contract of `new`. As far as we
        // know it may stand at an address of any alignment.
        unsafe { self.0.cast::<u32>().read_unaligned() }
    }

    /// All bytes, header included.
    pub(crate) fn bytes(self) -> &'b [u8] {
        let length = block::length(self.header());
        // SAFETY: as long as its header says, and unchanged for `'b`, by the contract of `new`.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast::<u8>(), length) }
    }
}

/// A new value block with some data (FETCH-50).
#[inline(always)]
fn new_block(kind: i32, data: &[u8]) -> Result<*mut pmValueBlock> {
    let header = fetch::header(kind, data.len())?;
    let length = fetch::HEADER + data.len();
    let block = Block::<u8>::room(length.max(size_of::<pmValueBlock>()))?.into_raw();
    // SAFETY: the new block has room for header and data, is aligned for the header as all that
    // comes from malloc, and overlaps with nothing.
    unsafe {
        block.cast::<u32>().write(header);
        ptr::copy_nonoverlapping(data.as_ptr(), block.add(fetch::HEADER), data.len());
    }
    Ok(block.cast())
}

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
    pub(crate) fn new(pmid: MetricId, values: usize, encoding: Encoding) -> Result<ValueSet> {
        let start = Block::<u8>::room(ValueSet::size(values)?)?
            .into_raw()
            .cast::<pmValueSet>();
        // SAFETY: the new block has room for the head of a set and some values, as `size` says, and
        // nobody else has its address yet.
        unsafe {
            (*start).pmid = pmid.0;
            (*start).numval = 0;
            (*start).valfmt = format(encoding);
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
                    (*start).valfmt = INSITU;
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
            unsafe { free_set(set) };
        }
    }
}

/// Frees a value set as the caller of a fetch does (FETCH-71).
///
/// # Safety
/// The set is one that a fetch has made, and is not used any more.
pub(super) unsafe fn free_set(set: *mut pmValueSet) {
    // SAFETY: the set and its values are in blocks from malloc that nobody uses any more, as the
    // caller promises: each is freed once. Values with a block of their own are marked DPTR.
    unsafe {
        if (*set).valfmt == DPTR {
            let values = (&raw const (*set).vlist).cast::<pmValue>();
            for index in 0..usize::try_from((*set).numval).unwrap_or(0) {
                libc::free((*values.add(index)).value.pval.cast());
            }
        }
        libc::free(set.cast());
    }
}
