//! A fetch, step by step. `exports.rs` makes the calls into the agent between the steps.
//!
//! A fetch callback may do anything: call this library again for the same agent, rewrite its
//! tables, or leave in any way. So everything of the agent's is read again after it.

pub(crate) mod exports;
pub(crate) mod messages;

use crate::sys::lock::Token;
use std::ffi::c_int;

use crate::agent::{self, AgentRecord};
use crate::instances::iterate::{self, InstanceCursor, Ordinal};
use crate::sys::libpcp::SINCE_7_1_1;
use crate::sys::libpcp::log::{self, Debug};
use crate::view::arg::Out;
use crate::view::interface::{DescMethod, Ext};
use crate::view::memory::Array;
use crate::view::result_block::{CResult, ResultMemory};
use crate::view::table::{Metric, MetricTable};
use crate::view::types::{pmID, pmdaFetchCallBack, pmdaResult, timeval};
use crate::view::value::{Atom, time_from};
use pmda_core::constants::{PMDA_EXT_FLAG_HASHED, PMDA_FETCH_STATIC};
use pmda_core::error::{Error, Result};
use pmda_core::fetch::{self, CHANGE_FLAGS, Encoding, FetchStatus};
use pmda_core::ident::{self, InDom, Interface, MetricId};

/// The result of a call into the agent.
pub(crate) enum FetchAnswer {
    /// The atom that the fetch callback has stored, with its return value.
    Value(Atom),
    /// The desc method has returned. What counts is whether it has stored a PMID in the description
    /// (F-13).
    Described,
}

/// The arguments of the next call into the agent, read when the call is made.
#[derive(Clone, Copy)]
pub(crate) struct PendingCallback<'call> {
    /// The fetch callback. Without it `method` is called, for a description that goes into the
    /// spare metric.
    pub(crate) callback: pmdaFetchCallBack,
    /// The metric whose value is asked for. The agent may move or free its table meanwhile (F-14).
    pub(crate) metric: Metric<'call>,
    /// The form in which a result has values of its type.
    pub(crate) encoding: Encoding,
    /// The instance whose value is asked for; -1 for a metric without instances.
    pub(crate) inst: c_int,
    /// The `desc` method, and the metric as the list has it.
    pub(crate) method: Option<(DescMethod, MetricId)>,
}

/// The metric that is being fetched, as its description was when its value set was started.
#[derive(Clone, Copy)]
struct Current {
    pmid: MetricId,
    /// The type of its values.
    kind: c_int,
    /// True if it has one value and no instances.
    singular: bool,
}

/// A fetch of the metrics of a list. It has nothing to drop, since a callback may leave by
/// `longjmp`.
pub(crate) struct Fetch<'call> {
    ext: Ext<'call>,
    agent: &'static AgentRecord,
    /// The list as C has handed it over: an element is read when its turn comes.
    list: Array<'call, pmID>,
    /// The result.
    output: CResult<'call>,
    /// The position in the instances of the current metric.
    cursor: InstanceCursor,
    /// The next call.
    pending: PendingCallback<'call>,
    /// A metric in our frame, in place of one that is not in the agent's table (FETCH-21).
    spare: Metric<'call>,
    current: Current,
    /// The result of `pmdaFetch`, once no more call is due.
    pub(crate) outcome: Result<()>,
}

/// The next action of a fetch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Ask for the value of an instance.
    Value,
    /// Ask for the description of a metric that is not in the table.
    Describe,
    /// Go on with the next metric.
    Metric,
    /// Hand the result over: the list is at its end.
    Finish,
    /// End without a result: the fetch has failed.
    End,
}

/// Looks a metric up in the table that an agent has at this moment (FETCH-20). Also returns the
/// name of the method of lookup, for debug output (FETCH-81).
///
/// A direct table is indexed, a short one searched, a long one looked up in an index. With the flag
/// of a hash, the hash is used; but an agent may set the flag without calling `pmdaRehash`, so a
/// hash that is empty is ignored if the table is not (F-8).
#[inline(always)]
pub(crate) fn find<'call>(
    token: &mut Token,
    agent: &AgentRecord,
    ext: Ext<'call>,
    wanted: MetricId,
) -> (Option<Metric<'call>>, &'static str) {
    let table = ext.metrics();
    if ext.has(PMDA_EXT_FLAG_HASHED) {
        let hash = agent.hash.lock(token);
        if !hash.index.is_empty() || table.is_empty() {
            return (hash.find(ext, wanted), "hashed");
        }
    } else if ext.direct() != 0 {
        return (table.direct(wanted), "direct");
    } else if table.is_short() {
        return (table.find(wanted), "linear");
    }
    (searched(token, agent, table, wanted), "linear")
}

/// [`find`] in a long table, by an index.
fn searched<'call>(
    token: &mut Token,
    agent: &AgentRecord,
    table: MetricTable<'call>,
    wanted: MetricId,
) -> Option<Metric<'call>> {
    let is_it = |position| table.pmid(position) == wanted;
    let index = agent.metrics.lock(token);
    let position = index.find(table.extent(), wanted.0.into(), is_it, |position, add| {
        add(table.pmid(position).0.into());
    });
    table.entry(position?)
}

/// Sets the context that `pmdaGetContext` returns, for agents of an interface version with contexts
/// (FETCH-80, MAIN-25).
pub(crate) fn enter_context(ext: Ext<'_>, interface: Interface) {
    if interface.has_contexts() {
        ident::set_current_context(ext.context());
    }
}

impl<'call> Fetch<'call> {
    /// Begins a fetch: checks the agent's record (`agent`, which [`crate::state::any_agent`] has
    /// found), sets the context (FETCH-11), and writes the head of the result.
    ///
    /// # Errors
    /// `-ENOMEM`.
    #[inline(always)]
    pub(crate) fn new(
        token: &mut Token,
        ext: Ext<'call>,
        agent: &'static AgentRecord,
        list: Array<'call, pmID>,
        out: Out<'call, *mut pmdaResult>,
        memory: ResultMemory<'call>,
        spare: Metric<'call>,
    ) -> Result<Self> {
        if log::debug(Debug::Libpmda) && log::debug(Debug::Desperate) {
            messages::trace_call(token, list);
        }
        let interface = agent.interface();
        agent::check_botch(token, ext, agent);
        enter_context(ext, interface);
        let output = CResult::new(token, out, memory, list.len(), |token| stamp(token, ext, interface))?;
        Ok(Fetch {
            ext,
            agent,
            list,
            output,
            cursor: InstanceCursor::new(Ordinal::Any),
            pending: PendingCallback {
                callback: None,
                metric: spare,
                encoding: Encoding::Unknown,
                inst: -1,
                method: None,
            },
            spare,
            current: Current {
                pmid: MetricId::NULL,
                kind: 0,
                singular: false,
            },
            outcome: Ok(()),
        })
    }

    /// The call that is made next.
    #[inline(always)]
    pub(crate) fn pending(&self) -> PendingCallback<'call> {
        self.pending
    }

    /// The next metric of the list; `None` at the end.
    #[inline(always)]
    fn wanted(&self) -> Option<MetricId> {
        self.list.get(self.output.filled()).map(MetricId)
    }

    /// Goes on with the next metric of the list.
    #[inline(always)]
    fn next_metric(&mut self, token: &mut Token) -> Next {
        while let Some(wanted) = self.wanted() {
            let next = match find(token, self.agent, self.ext, wanted).0 {
                Some(metric) => self.open(token, wanted, metric),
                None => self.absent(token, wanted),
            };
            if next != Next::Metric {
                return next;
            }
        }
        Next::Finish
    }

    /// Goes on with a metric that is not in the table: its description is asked for, if the agent
    /// has a `desc` method (FETCH-21).
    fn absent(&mut self, token: &mut Token, wanted: MetricId) -> Next {
        self.spare.clear();
        if let Some(method) = self.agent.dispatch.desc(self.ext) {
            self.pending.method = Some((method, wanted));
            return Next::Describe;
        }
        self.open(token, wanted, self.spare)
    }

    /// Goes on with the description that the `desc` method has stored. Its PMID tells whether the
    /// method has stored one; the result of the method is ignored (F-13).
    #[cold]
    fn described(&mut self, token: &mut Token) -> Next {
        self.open(token, self.wanted().unwrap_or(MetricId::NULL), self.spare)
    }

    /// Starts the value set of a metric, and goes on to its first value.
    #[inline(always)]
    fn open(&mut self, token: &mut Token, wanted: MetricId, metric: Metric<'call>) -> Next {
        let pmid = metric.pmid();
        if pmid.0 == 0 {
            return self.undefined(token, wanted);
        }
        let (kind, indom) = (metric.kind(), metric.indom());
        self.current = Current {
            pmid,
            kind,
            singular: indom.is_null(),
        };
        self.pending.metric = metric;
        self.pending.encoding = Encoding::of(kind);
        if !indom.is_null() {
            return self.open_instances(token, wanted, indom);
        }
        // A metric without instances has one value (FETCH-30).
        self.pending.inst = -1;
        match self.output.open(wanted, 1, self.pending.encoding) {
            Ok(()) => Next::Value,
            Err(error) => self.fail(token, error),
        }
    }

    /// Ends the value set of an unknown metric.
    #[cold]
    fn undefined(&mut self, token: &mut Token, wanted: MetricId) -> Next {
        if !self.agent.interface().has_names() {
            messages::undefined(token, "pmdaFetch", wanted);
        }
        if let Err(error) = self.output.open(wanted, 0, Encoding::Unknown) {
            return self.fail(token, error);
        }
        self.output.failed(Err(Error::PMID));
        self.output.close();
        Next::Metric
    }

    /// Starts the value set of a metric with instances. One pass over the instances is enough:
    /// their number is estimated, and the set grows if the estimate was too low (FETCH-31).
    fn open_instances(&mut self, token: &mut Token, wanted: MetricId, indom: InDom) -> Next {
        let mut ordinal = Ordinal::Any;
        if log::debug(Debug::Indom) {
            // The C library counts the instances in a pass of its own, which debug output shows
            // (FETCH-111).
            ordinal = Ordinal::Examined;
            if !self.shown_pass(token, indom) {
                if let Err(error) = self.output.open(wanted, 0, self.pending.encoding) {
                    return self.fail(token, error);
                }
                self.output.close();
                return Next::Metric;
            }
        }
        iterate::start(token, self.agent, indom, self.ext);
        let estimate = iterate::estimate(token, self.agent, self.ext);
        if let Err(error) = self.output.open(wanted, estimate, self.pending.encoding) {
            return self.fail(token, error);
        }
        self.cursor.reset(ordinal);
        self.next_instance(token)
    }

    /// Makes a pass over the instances for debug output. Returns whether the pass has found an
    /// instance.
    #[cold]
    fn shown_pass(&mut self, token: &mut Token, indom: InDom) -> bool {
        iterate::start(token, self.agent, indom, self.ext);
        self.cursor.reset(Ordinal::Examined);
        let mut next = || iterate::next(token, self.agent, self.ext, &mut self.cursor);
        let any = next().is_some();
        while any && next().is_some() {}
        any
    }

    /// Goes on with the next instance of the current metric, or at the end with the next metric.
    #[inline(always)]
    fn next_instance(&mut self, token: &mut Token) -> Next {
        let Some(inst) = iterate::next(token, self.agent, self.ext, &mut self.cursor) else {
            self.output.close();
            return Next::Metric;
        };
        self.pending.inst = inst;
        Next::Value
    }

    /// Stores the value that the fetch callback has returned.
    #[inline(always)]
    fn store(&mut self, token: &mut Token, atom: Atom) -> Next {
        if atom.returned() != PMDA_FETCH_STATIC {
            if let Err(error) = self.answered(token, atom) {
                return self.fail(token, error);
            }
        } else if let Err(error) = self.output.add(self.current.kind, self.pending.inst, &atom) {
            if let Err(error) = self.not_stored(token, error) {
                return self.fail(token, error);
            }
        }
        if self.current.singular {
            self.output.close();
            return Next::Metric;
        }
        self.next_instance(token)
    }

    /// Notes that a value could not be stored.
    ///
    /// # Errors
    /// `-ENOMEM` when the set could not grow: then it was freed with its values (F-6).
    #[cold]
    fn not_stored(&mut self, token: &mut Token, error: Error) -> Result<()> {
        if !self.output.is_open() {
            return Err(error);
        }
        let Current { pmid, kind, .. } = self.current;
        messages::value_failed(token, pmid, kind, self.pending.inst, error);
        self.output.failed(Err(error));
        Ok(())
    }

    /// Handles an answer other than a value that stays the agent's: no value, a value to free, or
    /// an error.
    ///
    /// # Errors
    /// As [`Fetch::not_stored`].
    fn answered(&mut self, token: &mut Token, atom: Atom) -> Result<()> {
        let inst = self.pending.inst;
        match FetchStatus::of(self.agent.interface(), atom.returned()) {
            Ok(FetchStatus::NoValue) => self.output.failed(Ok(())),
            Ok(status) => {
                let stored = self.output.add(self.current.kind, inst, &atom);
                let noted = stored.or_else(|error| self.not_stored(token, error));
                if status == FetchStatus::ValueToFree && !atom.free() {
                    messages::not_freed(token, self.current.pmid, self.current.kind);
                }
                return noted;
            }
            Err(error) => {
                messages::callback_failed(token, self.current.pmid, inst, error);
                self.output.failed(Err(error));
            }
        }
        Ok(())
    }

    /// Goes on up to the next call. Returns false at the end of the fetch, without a call.
    #[inline(always)]
    fn step(&mut self, token: &mut Token, next: Next) -> bool {
        let next = if next == Next::Metric {
            self.next_metric(token)
        } else {
            next
        };
        match next {
            Next::Value => {
                self.pending.callback = self.ext.fetch_callback();
                if self.pending.callback.is_some() {
                    return true;
                }
            }
            Next::Finish => {
                self.ext.set_flags(self.ext.flags() & !CHANGE_FLAGS);
                self.output.finish(token);
                return false;
            }
            _ => {}
        }
        self.other_step(token, next)
    }

    /// [`Fetch::step`], if the next call is not one of the fetch callback, or if the fetch has failed.
    #[cold]
    fn other_step(&mut self, token: &mut Token, next: Next) -> bool {
        match next {
            Next::Value => {
                messages::no_callback(token);
                self.fail(token, Error::GENERIC);
            }
            Next::Describe => {
                self.pending.callback = None;
                return true;
            }
            Next::Metric | Next::Finish | Next::End => {}
        }
        false
    }

    /// Ends the fetch with an error.
    #[cold]
    fn fail(&mut self, token: &mut Token, error: Error) -> Next {
        self.output.abandon(token);
        self.outcome = Err(error);
        Next::End
    }

    /// Goes on to the first call. Returns false if the fetch makes no call.
    pub(crate) fn start(&mut self, token: &mut Token) -> bool {
        self.step(token, Next::Metric)
    }

    /// Goes on with the answer to the last call. Returns whether another call is due.
    #[inline(always)]
    pub(crate) fn resume(&mut self, token: &mut Token, answer: FetchAnswer) -> bool {
        let next = match answer {
            FetchAnswer::Value(atom) => self.store(token, atom),
            FetchAnswer::Described => self.described(token),
        };
        self.step(token, next)
    }
}

/// The time stamp of a result. It has no time, but tells pmcd about changes of names and labels
/// (FETCH-60).
#[inline(always)]
fn stamp(token: &mut Token, ext: Ext<'_>, interface: Interface) -> timeval {
    let flags = ext.flags();
    let report = fetch::change_report(interface, flags);
    if report != 0 {
        messages::trace_report(token, flags, report);
    }
    time_from(fetch::change_stamp(report, SINCE_7_1_1))
}

#[cfg(test)]
mod tests;
