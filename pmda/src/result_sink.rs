//! The destination of a fetch's values.

use pmda_core::ident::MetricId;
use pmda_core::wire::encode::ResultBuilder;

use crate::memory::HostResult;
use pmda_core::error::Result;

/// A result that is being built: the bytes of a reply, or, in a shared object, the structures that
/// its host reads.
#[derive(Debug)]
pub(crate) enum ResultSink<'d> {
    Reply(&'d mut ResultBuilder),
    Host(&'d mut HostResult),
}

/// Makes the same call on either kind of result.
macro_rules! either {
    ($sink:expr, $one:ident => $call:expr) => {
        match $sink {
            ResultSink::Reply($one) => $call,
            ResultSink::Host($one) => $call,
        }
    };
}

impl ResultSink<'_> {
    /// The sink for a part of the work.
    pub(crate) fn part(&mut self) -> ResultSink<'_> {
        match self {
            ResultSink::Reply(reply) => ResultSink::Reply(reply),
            ResultSink::Host(host) => ResultSink::Host(host),
        }
    }

    /// Starts a result of `metrics` value sets, with the changes (`PMCD_*_CHANGE`).
    ///
    /// # Errors
    /// `PM_ERR_TOOBIG`; `-ENOMEM`.
    #[inline]
    pub(crate) fn begin(&mut self, flags: u32, metrics: usize) -> Result<()> {
        either!(self, sink => sink.begin(flags, metrics))
    }

    /// Starts the set of a metric.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline]
    pub(crate) fn open(&mut self, metric: MetricId) -> Result<()> {
        match self {
            ResultSink::Reply(reply) => reply.open(metric, 1),
            ResultSink::Host(host) => host.open(metric),
        }
    }

    /// Adds a number of 32 bits.
    ///
    /// # Errors
    /// `PM_ERR_CONV` in a shared object if the set has values of the other form, in blocks or in
    /// place; `-ENOMEM`.
    #[inline]
    pub(crate) fn word(&mut self, inst: i32, word: u32) -> Result<()> {
        either!(self, sink => sink.word(inst, word))
    }

    /// Adds a number of 64 bits, with the header word of its block.
    ///
    /// # Errors
    /// `PM_ERR_CONV` in a shared object if the set has values of the other form, in blocks or in
    /// place; `-ENOMEM`.
    #[inline]
    pub(crate) fn wide(&mut self, inst: i32, header: u32, value: u64) -> Result<()> {
        either!(self, sink => sink.wide(inst, header, value))
    }

    /// Adds a block with data in the byte order of the wire, with its header word.
    ///
    /// # Errors
    /// As [`ResultSink::wide`].
    #[inline]
    pub(crate) fn block(&mut self, inst: i32, header: u32, data: &[u8]) -> Result<()> {
        either!(self, sink => sink.block(inst, header, data))
    }

    /// Adds a text and the NUL that ends it, with the header word of its block.
    ///
    /// # Errors
    /// As [`ResultSink::wide`].
    #[inline]
    pub(crate) fn text(&mut self, inst: i32, header: u32, text: &[u8]) -> Result<()> {
        either!(self, sink => sink.text(inst, header, text))
    }

    /// Ends the set; `values` is their number.
    #[inline]
    pub(crate) fn close(&mut self, values: i32) {
        either!(self, sink => sink.close(values));
    }

    /// Ends the set without the values that were added: `code` is the error, or 0.
    pub(crate) fn fail(&mut self, code: i32) {
        either!(self, sink => sink.fail(code));
    }
}
