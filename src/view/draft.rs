//! Replies to fetches that are written while their values are being asked for.

use std::ffi::c_int;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::view::memory::Block;
use crate::view::types::timeval;
use crate::view::value::{Atom, ValueBlock};
use pmda_core::error::{Error, Result};
use pmda_core::fetch::{self, Encoding, Tally};
use pmda_core::ident::MetricId;
use pmda_core::wire::encode::{Reply, ResultBuilder};

/// A reply under construction that was taken out of its session for the time of one fetch. A
/// callback may start another fetch inside of this one, which finds none and uses one of its own.
///
/// It owns the draft, but has no destructor: when a callback leaves by `longjmp` the draft is lost,
/// once.
pub(crate) struct DraftReply {
    draft: NonNull<ResultBuilder>,
    /// What the set that is being written has.
    tally: Tally,
}

impl DraftReply {
    const fn new(draft: NonNull<ResultBuilder>) -> DraftReply {
        let tally = Tally::EMPTY;
        DraftReply { draft, tally }
    }

    /// Takes the draft out of its place, or makes one.
    ///
    /// # Errors
    /// `-ENOMEM`.
    pub(crate) fn take(home: &AtomicPtr<ResultBuilder>) -> Result<DraftReply> {
        if let Some(draft) = NonNull::new(home.swap(ptr::null_mut(), Ordering::AcqRel)) {
            return Ok(DraftReply::new(draft));
        }
        let draft = ResultBuilder::new()?;
        let block = Block::holding(draft)?;
        NonNull::new(block.into_raw()).map(DraftReply::new).ok_or(Error::NOMEM)
    }

    /// Puts the draft back; one that a fetch inside of this one has left there is freed.
    pub(crate) fn give_back(mut self, home: &AtomicPtr<ResultBuilder>) {
        self.draft().trim();
        let other = home.swap(self.draft.as_ptr(), Ordering::AcqRel);
        if !other.is_null() {
            // SAFETY: it was swapped out of its place, so it is ours alone; only what `take` has
            // made gets there.
            unsafe {
                ptr::drop_in_place(other);
                libc::free(other.cast());
            }
        }
    }

    #[inline(always)]
    fn draft(&mut self) -> &mut ResultBuilder {
        // SAFETY: written by `take`, and nobody else has its address as long as this is not given
        // back.
        unsafe { self.draft.as_mut() }
    }

    /// Starts the reply. Of the time stamp's seconds, which report changes, 32 bits are sent
    /// (MAIN-20).
    ///
    /// # Errors
    /// As the encoder of results.
    pub(crate) fn begin(&mut self, stamp: timeval, metrics: usize) -> Result<()> {
        self.draft().begin(stamp.tv_sec as u32, metrics)
    }

    /// Starts the set of a metric that will have about `values` values.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline]
    pub(crate) fn open(&mut self, pmid: MetricId, values: usize) -> Result<()> {
        self.tally = Tally::EMPTY;
        self.draft().open(pmid, values)
    }

    /// Adds the value in an atom of type `kind`.
    ///
    /// # Errors
    /// As [`Atom::stored`]; the set is as before then.
    #[inline]
    pub(crate) fn add(&mut self, kind: c_int, encoding: Encoding, inst: c_int, atom: &Atom) -> Result<()> {
        let draft = self.draft();
        match encoding {
            Encoding::InSitu => draft.word(inst, atom.word()),
            Encoding::Wide => draft.wide(inst, fetch::header(kind, 8)?, atom.wide()),
            Encoding::Narrow => draft.block(inst, fetch::header(kind, 4)?, &atom.word().to_be_bytes()),
            Encoding::Text => {
                let text = atom.text()?;
                draft.block(inst, fetch::header(kind, text.len())?, text)
            }
            Encoding::Copy => {
                let data = atom.data()?;
                draft.block(inst, fetch::header(kind, data.len())?, data)
            }
            Encoding::Borrowed => draft.deferred(inst, atom.checked_block()?.as_ptr().expose_provenance()),
            Encoding::Unknown => Err(Error::TYPE),
        }?;
        self.tally.stored();
        Ok(())
    }

    /// Notes that an instance has no value.
    pub(crate) fn failed(&mut self, status: Result<()>) {
        self.tally.failed(status);
    }

    /// Ends the set with its `numval`.
    #[inline]
    pub(crate) fn close(&mut self) {
        let numval = self.tally.numval();
        self.draft().close(numval);
    }

    /// Completes the reply: the agent's own blocks are copied now (FETCH-52).
    ///
    /// # Errors
    /// As the encoder of results.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.draft().finish(|block| {
            // SAFETY: what was noted in `add` are addresses of blocks that were not NULL, and that
            // their agent keeps until the fetch is done, as `Atom::new` demands.
            unsafe { ValueBlock::new(ptr::with_exposed_provenance_mut(block)) }.map(ValueBlock::bytes)
        })
    }

    /// The finished reply.
    pub(crate) fn reply(&mut self) -> &mut Reply {
        self.draft().reply()
    }
}
