//! Where the values of a fetch go: into the result of `pmdaFetch`, or directly into the PDU
//! that answers pmcd.

use std::ffi::c_int;

use crate::record::state::FetchState;
use crate::view::arg::Out;
use crate::view::result_block::{DraftReply, ResultBlock, Results, User};
use crate::view::types::{pmdaResult, timeval};
use crate::view::value::{Atom, ValueSet};
use pmda_core::error::Result;
use pmda_core::fetch::Encoding;
use pmda_core::ident::MetricId;

/// What takes the value sets of a fetch, one after the other. It has nothing to drop: a callback
/// may leave by `longjmp`.
pub(crate) trait Output {
    /// Starts the result of a fetch of some metrics; `stamp` is its time stamp.
    fn begin(&mut self, state: &'static FetchState, metrics: usize, stamp: impl FnOnce() -> timeval) -> Result<()>;

    /// Starts the set of a metric that will have about `values` values, all of one encoding.
    fn open(&mut self, pmid: MetricId, values: usize, encoding: Encoding) -> Result<()>;

    /// Adds the value in an atom of type `kind`.
    ///
    /// # Errors
    /// What is wrong with the value; the set is as before then. Or there is no room for it: then
    /// the set is gone, with its values (F-6).
    fn add(&mut self, kind: c_int, encoding: Encoding, inst: c_int, atom: &Atom) -> Result<()>;

    /// Whether there is a set.
    fn is_open(&self) -> bool;

    /// Notes that an instance has no value.
    fn failed(&mut self, status: Result<()>);

    /// Ends the set: `numval` tells what has become of its instances (FETCH-36).
    fn close(&mut self);

    /// Hands the result over.
    fn finish(&mut self) -> Result<()>;

    /// Gives up what was made so far.
    fn abandon(&mut self);
}

/// A result in the agent's block, with value sets that the caller frees.
pub(crate) struct ToCaller<'call> {
    place: Out<'call, *mut pmdaResult>,
    results: Option<&'static Results>,
    block: ResultBlock,
    set: ValueSet,
}

impl ToCaller<'_> {
    /// A result that is to be stored at a place.
    pub(crate) const fn new(place: Out<'_, *mut pmdaResult>) -> ToCaller<'_> {
        ToCaller {
            place,
            results: None,
            block: ResultBlock::NONE,
            set: ValueSet::NONE,
        }
    }

    /// The set is somewhere else now, or gone.
    #[cold]
    fn moved(&mut self) {
        self.block.pop();
        if self.set.is_open() {
            self.block.push(self.set.as_ptr());
        }
    }

    fn put_back(&mut self) {
        if let Some(results) = self.results {
            results.put_back(&mut self.block);
        }
    }
}

impl Output for ToCaller<'_> {
    fn begin(&mut self, state: &'static FetchState, metrics: usize, stamp: impl FnOnce() -> timeval) -> Result<()> {
        self.block = state.results.take(metrics, User::at(self))?;
        self.results = Some(&state.results);
        self.block.begin(stamp());
        Ok(())
    }

    #[inline(always)]
    fn open(&mut self, pmid: MetricId, values: usize, encoding: Encoding) -> Result<()> {
        self.set = ValueSet::new(pmid, values, encoding)?;
        self.block.push(self.set.as_ptr());
        Ok(())
    }

    #[inline(always)]
    fn add(&mut self, kind: c_int, encoding: Encoding, inst: c_int, atom: &Atom) -> Result<()> {
        let before = self.set.as_ptr();
        let added = self.set.add(kind, encoding, inst, atom);
        if self.set.as_ptr() != before {
            self.moved();
        }
        added
    }

    fn is_open(&self) -> bool {
        self.set.is_open()
    }

    fn failed(&mut self, status: Result<()>) {
        self.set.failed(status);
    }

    #[inline(always)]
    fn close(&mut self) {
        self.set.close();
    }

    fn finish(&mut self) -> Result<()> {
        self.block.store(self.place);
        self.put_back();
        Ok(())
    }

    #[cold]
    fn abandon(&mut self) {
        if self.set.is_open() {
            self.block.pop();
            self.set.discard();
        }
        self.block.free_sets();
        self.put_back();
    }
}

/// A reply under construction.
impl Output for DraftReply {
    fn begin(&mut self, _state: &'static FetchState, metrics: usize, stamp: impl FnOnce() -> timeval) -> Result<()> {
        DraftReply::begin(self, stamp(), metrics)
    }

    fn open(&mut self, pmid: MetricId, values: usize, _encoding: Encoding) -> Result<()> {
        DraftReply::open(self, pmid, values)
    }

    fn add(&mut self, kind: c_int, encoding: Encoding, inst: c_int, atom: &Atom) -> Result<()> {
        DraftReply::add(self, kind, encoding, inst, atom)
    }

    fn is_open(&self) -> bool {
        true
    }

    fn failed(&mut self, status: Result<()>) {
        DraftReply::failed(self, status);
    }

    fn close(&mut self) {
        DraftReply::close(self);
    }

    fn finish(&mut self) -> Result<()> {
        DraftReply::finish(self)
    }

    fn abandon(&mut self) {}
}

/// The next step of a fetch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// With the value of an instance.
    Value,
    /// With the description of a metric that is not in the table.
    Describe,
    /// With the next metric.
    Metric,
    /// With the end of the list.
    Finish,
    /// Not at all.
    End,
}

/// Per-metric state of a fetch.
#[derive(Clone, Copy)]
pub(super) struct Current {
    pub(super) pmid: MetricId,
    pub(super) kind: c_int,
    pub(super) encoding: Encoding,
    /// Whether it has one value and no instances.
    pub(super) singular: bool,
}
