//! Where the values of a fetch go: into value sets for whoever has called `pmdaFetch`, or straight into a reply.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::memory::Block;
use super::reply::block_bytes;
use super::types::{pmAtomValue, pmValueBlock};
use super::value;
use crate::error::{Error, Result};
use crate::fetch::{self, Encoding};
use crate::ident::MetricId;
use crate::wire::encode::{Draft, Reply};

/// What takes the sets of a fetch. Neither it nor its sets have a destructor: a callback may leave by `longjmp`.
pub(super) trait Output: Copy {
    /// What becomes of a set.
    type Done;
    /// A set under construction.
    type Set: Set<Done = Self::Done>;

    /// Starts the set of a metric that will have about so many values.
    ///
    /// # Safety
    /// The output is nobody else's, and no other set of it is open.
    unsafe fn open(self, pmid: MetricId, values: usize) -> Result<Self::Set>;
}

/// A set under construction.
pub(super) trait Set {
    /// What becomes of it.
    type Done;

    /// Makes room for one value more than are stored; when that fails the set is gone, with its values (F-6).
    ///
    /// # Safety
    /// The set has `stored` values.
    unsafe fn make_room(&mut self, stored: usize) -> Result<()>;

    /// Adds the value in an atom of type `kind`.
    ///
    /// # Errors
    /// As `value::store`; the set is as before then.
    ///
    /// # Safety
    /// The set has `stored` values and room for one more; a pointer in the atom is NULL or valid for its type.
    unsafe fn add(
        &mut self,
        stored: usize,
        kind: c_int,
        encoding: Encoding,
        inst: c_int,
        atom: &pmAtomValue,
    ) -> Result<()>;

    /// Ends the set with its `numval`.
    ///
    /// # Safety
    /// The set has `numval` values when that is positive.
    unsafe fn close(self, numval: c_int) -> Self::Done;

    /// Gives the set up.
    ///
    /// # Safety
    /// The set has `stored` values, and is not used any more.
    unsafe fn discard(&mut self, stored: usize);
}

/// A reply under construction that was taken out of its session for the time of one fetch. A callback may start another
/// fetch inside of this one, which finds none and uses one of its own; when it leaves by `longjmp` the draft is lost,
/// once.
#[derive(Clone, Copy)]
pub(super) struct Drafted(*mut Draft);

impl Drafted {
    /// Takes the draft out of its place, or makes one.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(super) fn take(home: &AtomicPtr<Draft>) -> Result<Drafted> {
        let draft = home.swap(ptr::null_mut(), Ordering::AcqRel);
        if !draft.is_null() {
            return Ok(Drafted(draft));
        }
        let draft = Draft::new()?;
        let block = Block::<Draft>::room(1)?;
        // SAFETY: the block has room for a draft, at an address that malloc has aligned for anything.
        unsafe { block.as_ptr().write(draft) };
        Ok(Drafted(block.into_raw()))
    }

    /// Puts the draft back; one that a fetch inside of this one has left there is freed.
    ///
    /// # Safety
    /// Nothing uses the draft any more.
    pub(super) unsafe fn give_back(self, home: &AtomicPtr<Draft>) {
        let other = home.swap(self.0, Ordering::AcqRel);
        if !other.is_null() {
            // SAFETY: it was swapped out of its place, so it is ours alone; it came from `take`.
            unsafe {
                ptr::drop_in_place(other);
                libc::free(other.cast());
            }
        }
    }

    /// Starts the reply.
    ///
    /// # Safety
    /// The draft is nobody else's, here as below.
    pub(super) unsafe fn begin(self, report: u32, metrics: usize) -> Result<()> {
        // SAFETY: the contract above; the reference ends here.
        unsafe { (*self.0).begin(report, metrics) }
    }

    /// Completes the reply: the agent's own blocks are copied now (FETCH-52).
    ///
    /// # Safety
    /// As [`Drafted::begin`]; the agent's blocks are still valid.
    pub(super) unsafe fn finish(self) -> Result<()> {
        // SAFETY: the contract above; what was noted are addresses of blocks that were not NULL.
        unsafe { (*self.0).finish(|block| block_bytes(block as *const pmValueBlock)) }
    }

    /// The finished reply.
    ///
    /// # Safety
    /// As [`Drafted::begin`], for as long as the reply is used.
    pub(super) unsafe fn reply<'a>(self) -> &'a mut Reply {
        // SAFETY: the contract above.
        unsafe { (*self.0).reply() }
    }
}

impl Output for Drafted {
    type Done = ();
    type Set = Drafted;

    #[inline]
    unsafe fn open(self, pmid: MetricId, values: usize) -> Result<Drafted> {
        // SAFETY: the contract; the reference ends here.
        unsafe { (*self.0).open(pmid, values)? };
        Ok(self)
    }
}

impl Set for Drafted {
    type Done = ();

    #[inline]
    unsafe fn make_room(&mut self, _stored: usize) -> Result<()> {
        Ok(())
    }

    #[inline]
    unsafe fn add(
        &mut self,
        _stored: usize,
        kind: c_int,
        encoding: Encoding,
        inst: c_int,
        atom: &pmAtomValue,
    ) -> Result<()> {
        // SAFETY: the draft is nobody else's, and no C code runs here. For each type the member of the union is the one
        // that the agent has filled in; all bytes of the atom were zero before, so any member may be read.
        unsafe {
            let draft = &mut *self.0;
            match encoding {
                Encoding::InSitu => draft.word(inst, atom.ul),
                Encoding::Wide => draft.wide(inst, fetch::header(kind, 8)?, atom.ull),
                Encoding::Narrow => draft.block(inst, fetch::header(kind, 4)?, &atom.ul.to_be_bytes()),
                Encoding::Text => {
                    let text = atom.cp;
                    if text.is_null() {
                        return Err(Error::VALUE);
                    }
                    let size = libc::strlen(text) + 1;
                    let bytes = std::slice::from_raw_parts(text.cast::<u8>(), size);
                    draft.block(inst, fetch::header(kind, size)?, bytes)
                }
                Encoding::Copy => {
                    let size = value::data_length(atom.vbp)?;
                    let first = (&raw const (*atom.vbp).vbuf).cast::<u8>();
                    let bytes = std::slice::from_raw_parts(first, size);
                    draft.block(inst, fetch::header(kind, size)?, bytes)
                }
                Encoding::Borrowed => {
                    value::data_length(atom.vbp)?;
                    draft.later(inst, atom.vbp as usize)
                }
                Encoding::Unknown => Err(Error::TYPE),
            }
        }
    }

    #[inline]
    unsafe fn close(self, numval: c_int) {
        // SAFETY: the contract; the reference ends here.
        unsafe { (*self.0).close(numval) };
    }

    unsafe fn discard(&mut self, _stored: usize) {}
}
