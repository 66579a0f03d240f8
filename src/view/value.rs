//! Values of metrics: in atoms, as a fetch callback stores them, and in results, as the main loop
//! encodes them.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use crate::sys::libpcp::SINCE_6_0;
// The form of a value in a result: the value itself, or a pointer to its block.
use crate::sys::libpcp::bindings::pmValue__bindgen_ty_1 as Stored;
use crate::view::arg::view;
use crate::view::memory::Array;
use crate::view::types::{pmAtomValue, pmValue, pmValueBlock, pmValueSet, pmdaResult, timeval};
use pmda_core::constants::{PM_VAL_DPTR, PM_VAL_INSITU, PM_VAL_SPTR, PMDA_FETCH_DYNAMIC};
use pmda_core::error::{Error, Result};
use pmda_core::fetch::{self, Encoding};
use pmda_core::ident::MetricId;
use pmda_core::wire::block;
use pmda_core::wire::encode::ResultBuilder;

/// The `valfmt` of values of an encoding.
pub(crate) fn format(encoding: Encoding) -> i32 {
    match encoding {
        Encoding::InSitu | Encoding::Unknown => PM_VAL_INSITU,
        Encoding::Borrowed => PM_VAL_SPTR,
        _ => PM_VAL_DPTR,
    }
}

/// A value as a fetch callback has stored it, for the type of the metric that it was asked for. It
/// may own memory, so it cannot be copied: [`Atom::free`] takes it.
pub(crate) struct Atom {
    value: pmAtomValue,
    encoding: Encoding,
    returned: c_int,
}

impl Atom {
    /// An atom that a callback has stored, and its return value.
    ///
    /// # Safety
    /// All bytes of the atom were zero before the callback ran. With an encoding of pointers it has
    /// NULL or what the encoding says: a C string, or a value block that stays until the fetch is
    /// done. If `returned` is `PMDA_FETCH_DYNAMIC`, the string or block is from malloc, and nobody
    /// else uses it.
    #[inline(always)]
    pub(crate) unsafe fn new(value: pmAtomValue, encoding: Encoding, returned: c_int) -> Atom {
        Atom {
            value,
            encoding,
            returned,
        }
    }

    /// The return value of the callback.
    #[inline(always)]
    pub(crate) fn returned(&self) -> c_int {
        self.returned
    }

    /// The value of a type of 32 bits.
    #[inline(always)]
    fn word(&self) -> u32 {
        let [a, b, c, d, ..] = self.wide().to_ne_bytes();
        u32::from_ne_bytes([a, b, c, d])
    }

    /// The value of a type of 64 bits.
    #[inline(always)]
    fn wide(&self) -> u64 {
        // SAFETY: all bytes of the atom are initialized, by the contract of `new`. Any bytes are a
        // value of this member, which is the largest number.
        unsafe { self.value.ull }
    }

    /// The text of a value that is one ([`Encoding::Text`]), with its NUL, good until control goes
    /// back to C.
    ///
    /// # Errors
    /// `PM_ERR_VALUE` for NULL.
    fn text(&self) -> Result<&[u8]> {
        // SAFETY: with this encoding the atom has NULL or a C string, by the contract of `new`. C
        // changes that only while it runs, and it does not while the bytes are borrowed.
        unsafe {
            let text = self.value.cp;
            if text.is_null() {
                return Err(Error::VALUE);
            }
            Ok(std::slice::from_raw_parts(text.cast(), libc::strlen(text) + 1))
        }
    }

    /// The block of a value that has one ([`Encoding::Copy`], [`Encoding::Borrowed`]).
    ///
    /// # Errors
    /// `PM_ERR_VALUE` for NULL and for an impossible length.
    fn checked_block(&self) -> Result<ValueBlock<'_>> {
        // SAFETY: with this encoding the atom has NULL or a value block, by the contract of `new`.
        // C changes that only while it runs, and it does not while the view is used.
        let block = unsafe { ValueBlock::new(self.value.vbp) }.ok_or(Error::VALUE)?;
        if block::length(block.header()) < block::HEADER {
            return Err(Error::VALUE);
        }
        Ok(block)
    }

    /// The data in the block of a value, good until control goes back to C.
    ///
    /// # Errors
    /// As [`Atom::checked_block`].
    fn data(&self) -> Result<&[u8]> {
        let block = self.checked_block()?;
        block.bytes().get(block::HEADER..).ok_or(Error::VALUE)
    }

    /// The value, of type `kind`, as a result has it: in place, or in a block of as many bytes as
    /// `allocate` gets, which it aligns as malloc does.
    ///
    /// # Errors
    /// `PM_ERR_TYPE` for an unknown type, `PM_ERR_VALUE` for a NULL pointer or an impossible
    /// length, `PM_ERR_TOOBIG`, and those of `allocate`.
    #[inline(always)]
    pub(super) fn stored(&self, kind: i32, allocate: impl FnOnce(usize) -> Result<*mut u8>) -> Result<Stored> {
        let pval = match self.encoding {
            Encoding::InSitu => {
                return Ok(Stored {
                    lval: self.word() as c_int,
                });
            }
            // A copy of a constant size is one instruction.
            Encoding::Wide => new_block(allocate, kind, &self.wide().to_ne_bytes())?,
            Encoding::Narrow => new_block(allocate, kind, &self.word().to_ne_bytes())?,
            Encoding::Text => new_block(allocate, kind, self.text()?)?,
            Encoding::Copy => new_block(allocate, kind, self.data()?)?,
            Encoding::Borrowed => self.checked_block()?.as_ptr(),
            Encoding::Unknown => return Err(Error::TYPE),
        };
        Ok(Stored { pval })
    }

    /// Frees the memory that the agent has handed over with the value (`PMDA_FETCH_DYNAMIC`), if
    /// the value has a type with such memory. Returns whether it has (FETCH-42).
    pub(crate) fn free(self) -> bool {
        if !self.encoding.can_free() || self.returned != PMDA_FETCH_DYNAMIC {
            return false;
        }
        // SAFETY: the two members that can be freed are pointers, at the same place of the union:
        // NULL, or from malloc and used by nobody else, by the contract of `new`. A result has a
        // copy, and the atom is consumed, so nothing reads the memory afterwards.
        unsafe { libc::free(self.value.vbp.cast::<c_void>()) };
        true
    }
}

/// A value block that stays unchanged for `'b`.
#[derive(Clone, Copy)]
pub(crate) struct ValueBlock<'b>(NonNull<pmValueBlock>, PhantomData<&'b pmValueBlock>);

impl<'b> ValueBlock<'b> {
    /// The block that a pointer leads to; `None` for NULL.
    ///
    /// # Safety
    /// `block` is NULL, or a value block that is as long as its header says and stays unchanged for
    /// `'b`.
    #[inline(always)]
    pub(crate) unsafe fn new(block: *mut pmValueBlock) -> Option<ValueBlock<'b>> {
        NonNull::new(block).map(|block| ValueBlock(block, PhantomData))
    }

    /// The block, for C.
    pub(crate) fn as_ptr(self) -> *mut pmValueBlock {
        self.0.as_ptr()
    }

    /// The first word: the type, and the length of the block in bytes.
    #[inline(always)]
    fn header(self) -> u32 {
        // SAFETY: a block has its first word, by the contract of `new`. An agent may have put it at
        // an address of any alignment.
        unsafe { self.0.cast::<u32>().read_unaligned() }
    }

    /// All bytes, header included.
    pub(crate) fn bytes(self) -> &'b [u8] {
        let length = block::length(self.header());
        // SAFETY: as long as its header says, and unchanged for `'b`, by the contract of `new`.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast::<u8>(), length) }
    }
}

/// Makes a value block with these data, in memory that `allocate` returns (FETCH-50).
///
/// # Errors
/// `PM_ERR_TOOBIG` for more data than a block may have; those of `allocate`.
#[inline(always)]
fn new_block(allocate: impl FnOnce(usize) -> Result<*mut u8>, kind: i32, data: &[u8]) -> Result<*mut pmValueBlock> {
    let header = fetch::header(kind, data.len())?;
    let length = block::HEADER + data.len();
    let block = allocate(length.max(size_of::<pmValueBlock>()))?;
    // SAFETY: the new block has room for header and data, is aligned for the header, as `allocate`
    // aligns it as malloc does, and overlaps with nothing else.
    unsafe {
        block.cast::<u32>().write(header);
        ptr::copy_nonoverlapping(data.as_ptr(), block.add(block::HEADER), data.len());
    }
    Ok(block.cast())
}

/// A time whose first bytes are these, and whose others are zero (FETCH-60).
pub(crate) fn time_from(bytes: [u8; 8]) -> timeval {
    const { assert!(size_of::<timeval>() >= 8) };
    let mut time = timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: the structure has 8 bytes at least, as is asserted, and consists of numbers, of which
    // any bytes are values.
    unsafe { (&raw mut time).cast::<[u8; 8]>().write(bytes) };
    time
}

view! {
    /// A result that a fetch method has stored.
    MethodResult of pmdaResult, contract
    "`pointer` is NULL, or points to a result with `numpmid` value sets, each NULL or valid with its values and value \
     blocks, until its result callback has been called."
    fields {
        /// The number of value sets.
        count: numpmid as c_int;
        /// The time when the values were taken.
        stamp: timestamp as timeval;
    }
}

view! {
    /// One value set of a result. The structure of one without values may end in front of the list.
    ValueSet of pmValueSet, contract
    "`pointer` is NULL, or points to a value set with `numval` values: pointers to valid blocks or NULL, if the format is \
     one of pointers, else numbers."
    fields {
        /// The metric.
        pmid: pmid as u32;
        /// The number of values, or a negative code.
        count: numval as c_int;
        /// The format of the values.
        format: valfmt as c_int;
    }
}

impl<'call> MethodResult<'call> {
    /// The value sets, good until control goes back to C.
    fn sets(self) -> Array<'call, Option<ValueSet<'call>>> {
        // SAFETY: by the contract of `new` there are `numpmid` pointers at the end of the
        // structure, each NULL or to a valid set. An `Option<ValueSet>` is a pointer with NULL as
        // `None`. C changes them only while it runs.
        unsafe { Array::new((&raw mut (*self.as_ptr()).vset).cast(), self.count()) }
    }

    /// Encodes a RESULT, the reply to a fetch (MAIN-20).
    ///
    /// # Errors
    /// `PM_ERR_GENERIC` for a NULL value set or block, and a block that is shorter than its type
    /// (WIRE-74 to WIRE-76); `PM_ERR_TOOBIG`; `-ENOMEM`.
    pub(crate) fn encode(self, result: &mut ResultBuilder) -> Result<()> {
        let sets = self.sets();
        let time = self.stamp();
        let microseconds = if SINCE_6_0 { 0 } else { time.tv_usec as u32 };
        result.begin_at([time.tv_sec as u32, microseconds], sets.len())?;
        for set in sets.entries() {
            set.ok_or(Error::GENERIC)?.encode(result)?;
        }
        result.finish()
    }
}

impl<'call> ValueSet<'call> {
    /// The values, good until control goes back to C.
    fn values(self) -> Array<'call, pmValue> {
        // SAFETY: by the contract of `new` there are `numval` values behind the head. C changes
        // them only while it runs.
        unsafe { Array::new((&raw mut (*self.as_ptr()).vlist).cast(), self.count()) }
    }

    /// Encodes the set as a part of a RESULT.
    ///
    /// # Errors
    /// As [`MethodResult::encode`].
    fn encode(self, result: &mut ResultBuilder) -> Result<()> {
        let (format, list) = (self.format(), self.values());
        result.open(MetricId(self.pmid()), list.len())?;
        for value in list.entries() {
            // Any other format is sent as values in place (WIRE-50).
            if [PM_VAL_DPTR, PM_VAL_SPTR].contains(&format) {
                // SAFETY: with these formats the values are pointers, to valid blocks or NULL, by
                // the contract of `new`. C does not run while the block is read.
                let block = unsafe { ValueBlock::new(value.value.pval) };
                result.host_block(value.inst, block.ok_or(Error::GENERIC)?.bytes())?;
            } else {
                // SAFETY: with any other format the values are numbers, by the contract of `new`.
                result.word(value.inst, unsafe { value.value.lval as u32 })?;
            }
        }
        result.set_format(format);
        result.close(self.count());
        Ok(())
    }
}
