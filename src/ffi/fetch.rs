//! `pmdaFetch`.
//!
//! A fetch callback may do anything: call this library again for the same agent, rewrite its tables, or leave by
//! `longjmp`. So while one runs, nothing is locked, no reference into the agent's structures exists, and no frame
//! of ours has a destructor to run; whatever is needed afterwards is read afresh.

use std::ffi::{c_int, c_uint};
use std::ptr;

use super::describe::{QUIET_SINCE, enter_context};
use super::fetch_state::{self, FetchState};
use super::guard::guard;
use super::iterate::{self, Ordinal, Steps};
use super::mark::outside;
use super::metric::Ahead;
use super::output::{Drafted, Output, Set};
use super::types::{pmAtomValue, pmID, pmdaExt, pmdaMetric, pmdaResult, timeval};
use super::value_set::{Blocks, free_set};
use super::{private, value};
use crate::error::{Error, Result};
use crate::fetch::report::{self, Style};
use crate::fetch::{self, Answer, CHANGE_FLAGS, Encoding, Tally};
use crate::ident::{InDom, MetricId};
use crate::libpcp::log::{self, Debug};
use crate::libpcp::version::{SINCE_6_0_5, SINCE_7_1_1};
use crate::log::Journal;
use crate::wire;

/// Fetches the values of metrics through the agent's fetch callback.
///
/// # Returns
/// 0, whatever became of each metric, with `*resp` set to a result that the library keeps and uses again: the caller
/// frees its value sets, not the result. Negative when there is no memory or no callback; `*resp` is untouched then.
///
/// # Safety
/// `pmidlist` is valid for reads of `numpmid` elements. `resp` is NULL or valid for one write. `pmda` is NULL or
/// valid, with its tables, profile and callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pmdaFetch(
    numpmid: c_int,
    pmidlist: *mut pmID,
    resp: *mut *mut pmdaResult,
    pmda: *mut pmdaExt,
) -> c_int {
    guard(|| {
        let count = usize::try_from(numpmid).map_err(|_| Error::INVAL)?;
        if pmda.is_null() || resp.is_null() || (pmidlist.is_null() && count > 0) {
            return Err(Error::INVAL);
        }
        // SAFETY: the pointers are not NULL, hence valid by the contract above.
        unsafe {
            if log::debug(Debug::Libpmda) && log::debug(Debug::Desperate) {
                trace_call(count, |index| MetricId(pmidlist.add(index).read()));
            }
            let result = Fetch::begin(pmda).to_result(pmidlist, count, numpmid)?;
            resp.write(result);
        }
        Ok(())
    })
}

/// Fetches for an agent with stock methods, into a reply instead of a result: nobody would see the result (MAIN-20).
///
/// # Errors
/// As `pmdaFetch`, and as the encoder of results.
///
/// # Safety
/// As `pmdaFetch`, with the metrics in the order of the wire; the draft is nobody else's.
pub(super) unsafe fn fetch_into(pmids: &[u8], draft: Drafted, ext: *mut pmdaExt) -> Result<()> {
    // SAFETY: the contract is passed on.
    unsafe {
        if log::debug(Debug::Libpmda) && log::debug(Debug::Desperate) {
            let metric = |index| MetricId(wire::word(pmids, index * 4).unwrap_or(0));
            trace_call(pmids.len() / 4, metric);
        }
        Fetch::begin(ext).to_reply(pmids, draft)
    }
}

/// One fetch in progress. It is copied around, and has nothing to drop.
#[derive(Clone, Copy)]
struct Fetch {
    ext: *mut pmdaExt,
    state: &'static FetchState,
    interface: u32,
}

impl Fetch {
    /// Prepares a fetch: the check of the agent's record, and the context (FETCH-11).
    ///
    /// # Safety
    /// `ext` is valid.
    unsafe fn begin(ext: *mut pmdaExt) -> Fetch {
        // SAFETY: valid by the contract above.
        unsafe {
            private::check_botch(ext);
            let interface = private::interface(ext);
            enter_context(ext, interface);
            let state = fetch_state::of(ext);
            Fetch { ext, state, interface }
        }
    }

    /// Fetches all metrics into the agent's result block.
    ///
    /// # Safety
    /// `pmids` is valid for reads of `count` elements, and the agent's tables and callback are valid.
    unsafe fn to_result(self, pmids: *const pmID, count: usize, numpmid: c_int) -> Result<*mut pmdaResult> {
        let block = self.state.results.take(count)?;
        let result = block.result();
        // SAFETY: the block has room for `count` value sets; the rest is the contract above.
        unsafe {
            (*result).timestamp = self.stamp();
            (*result).numpmid = numpmid;
            let mut ahead = Ahead::new();
            for index in 0..count {
                let wanted = |next| MetricId(pmids.add(index + next).read());
                let found = ahead.find(self.state, self.ext, wanted(0), wanted, count - index);
                match self.metric(Blocks, wanted(0), found) {
                    Ok(set) => block.set(index).write(set),
                    Err(error) => {
                        (*result).numpmid = index as c_int;
                        for done in 0..index {
                            free_set(block.set(done).read());
                        }
                        self.state.results.put_back(block);
                        return Err(error);
                    }
                }
            }
            (*self.ext).e_flags &= !CHANGE_FLAGS;
        }
        self.state.results.put_back(block);
        Ok(result)
    }

    /// Fetches all metrics into a reply.
    ///
    /// # Safety
    /// The agent's tables and callback are valid, and the draft is nobody else's.
    unsafe fn to_reply(self, pmids: &[u8], draft: Drafted) -> Result<()> {
        let count = pmids.len() / 4;
        // SAFETY: the contract above.
        unsafe {
            // Of the seconds 32 bits are sent (MAIN-20).
            draft.begin(self.stamp().tv_sec as u32, count)?;
            let mut ahead = Ahead::new();
            for index in 0..count {
                let wanted = |next| MetricId(wire::word(pmids, (index + next) * 4).unwrap_or(0));
                let found = ahead.find(self.state, self.ext, wanted(0), wanted, count - index);
                self.metric(draft, wanted(0), found)?;
            }
            (*self.ext).e_flags &= !CHANGE_FLAGS;
            draft.finish()
        }
    }

    /// The time stamp, which tells about changes of names and labels.
    ///
    /// # Safety
    /// The agent's record is valid.
    unsafe fn stamp(self) -> timeval {
        // SAFETY: valid by the contract above.
        let flags = unsafe { (*self.ext).e_flags };
        let report = fetch::change_report(self.interface, flags);
        if report != 0 && log::debug(Debug::Libpmda) {
            log::trace!("pmdaFetch flags pmda=0x{flags:x} to pmcd=0x{report:x}\n");
        }
        let bytes = fetch::change_stamp(report, SINCE_7_1_1);
        let mut stamp = timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the structure has two numbers of at least four bytes, and any bytes make numbers.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut stamp).cast(), bytes.len()) };
        stamp
    }

    /// Fetches one metric: finds its description (FETCH-21) unless it is in the table, then its values.
    ///
    /// # Safety
    /// As [`Fetch::to_result`]; `found` is the metric's entry in the table, or NULL.
    unsafe fn metric<O: Output>(self, output: O, wanted: MetricId, found: *mut pmdaMetric) -> Result<O::Done> {
        // SAFETY: the agent's tables are valid; a metric is copied out before any C code runs, and the callback gets
        // the pointer that it expects (FETCH-22, F-14).
        unsafe {
            let mut temporary: pmdaMetric = std::mem::zeroed();
            let mut metric = found;
            if metric.is_null() {
                metric = &raw mut temporary;
                if let Some(describe) = private::desc_method(self.ext) {
                    // The code that it returns is of no interest: a PMID in the description is (F-13).
                    outside(|| describe(wanted.0, &raw mut (*metric).m_desc, self.ext));
                }
            }
            let pmid = MetricId((*metric).m_desc.pmid);
            if pmid.0 == 0 {
                if self.interface < QUIET_SINCE {
                    undefined(wanted);
                }
                return Ok(output.open(wanted, 0)?.close(Error::PMID.code()));
            }
            let kind = (*metric).m_desc.type_;
            let encoding = Encoding::of(kind);
            let one = One {
                metric,
                pmid,
                kind,
                encoding,
            };
            match InDom((*metric).m_desc.indom) {
                indom if indom.is_null() => self.single(output, wanted, one),
                indom => self.instances(output, wanted, one, indom),
            }
        }
    }

    /// A metric with one value (FETCH-30).
    ///
    /// # Safety
    /// `one` describes a metric of the agent.
    unsafe fn single<O: Output>(self, output: O, wanted: MetricId, one: One) -> Result<O::Done> {
        let mut tally = Tally::default();
        // SAFETY: the contract above; the set has room for one value.
        unsafe {
            let mut set = output.open(wanted, 1)?;
            self.value(one, -1, &mut set, &mut tally)?;
            Ok(set.close(tally.numval()))
        }
    }

    /// A metric with instances (FETCH-31). One pass over the instances does: the room is estimated, and grows.
    ///
    /// # Safety
    /// `one` describes a metric of the agent.
    unsafe fn instances<O: Output>(self, output: O, wanted: MetricId, one: One, indom: InDom) -> Result<O::Done> {
        let (state, ext) = (self.state, self.ext);
        // SAFETY: the agent's tables and profile are valid at each of these calls.
        unsafe {
            let mut ordinal = Ordinal::Any;
            if log::debug(Debug::Indom) {
                // Debug output shows the pass in which instances are counted, and ordinals (FETCH-111).
                ordinal = Ordinal::Examined;
                iterate::start(state, indom, ext);
                let mut steps = Steps::new(Ordinal::Examined);
                if iterate::next(state, ext, &mut steps).is_none() {
                    // Nothing is selected: there is no second pass.
                    return Ok(output.open(wanted, 0)?.close(Tally::default().numval()));
                }
                while iterate::next(state, ext, &mut steps).is_some() {}
            }
            iterate::start(state, indom, ext);
            let mut set = output.open(wanted, iterate::estimate(state, ext))?;
            let mut tally = Tally::default();
            let mut steps = Steps::new(ordinal);
            while let Some(inst) = iterate::next(state, ext, &mut steps) {
                set.make_room(tally.count())?;
                self.value(one, inst, &mut set, &mut tally)?;
            }
            Ok(set.close(tally.numval()))
        }
    }

    /// Asks the callback for one value, and stores it behind those that the set has (FETCH-35).
    ///
    /// # Safety
    /// `one` describes a metric of the agent, and the set has room for one more value.
    #[inline(always)]
    unsafe fn value<S: Set>(self, one: One, inst: i32, set: &mut S, tally: &mut Tally) -> Result<()> {
        // SAFETY: the callback is the agent's own and gets what it expects; the atom is ours, and zero before each
        // call (F-9).
        unsafe {
            let Some(callback) = (*self.ext).e_fetchCallBack else {
                set.discard(tally.count());
                no_callback();
                return Err(Error::GENERIC);
            };
            let mut atom: pmAtomValue = std::mem::zeroed();
            let returned = outside(|| callback(one.metric, inst as c_uint, &raw mut atom));
            if returned != fetch::STATIC {
                self.answered(one, inst, returned, &atom, set, tally);
                return Ok(());
            }
            match set.add(tally.count(), one.kind, one.encoding, inst, &atom) {
                Ok(()) => tally.stored(),
                Err(error) => {
                    value_failed(one, inst, error);
                    tally.failed(Err(error));
                }
            }
        }
        Ok(())
    }

    /// What the callback has answered, other than that there is a value that stays its own.
    ///
    /// # Safety
    /// As [`Fetch::value`]; the atom is as the callback has left it.
    #[inline(never)]
    unsafe fn answered<S: Set>(
        self,
        one: One,
        inst: i32,
        returned: c_int,
        atom: &pmAtomValue,
        set: &mut S,
        tally: &mut Tally,
    ) {
        let status = match Answer::of(self.interface, returned) {
            Ok(Answer::NoValue) => Ok(()),
            Ok(answer) => {
                // SAFETY: the set has room for the value by the contract; the agent hands memory over with it only when
                // it says so, and nobody uses that any more.
                unsafe {
                    let stored = set.add(tally.count(), one.kind, one.encoding, inst, atom);
                    if let Err(error) = stored {
                        value_failed(one, inst, error);
                    }
                    if answer == Answer::ValueToFree && !value::free(one.encoding, atom) {
                        not_freed(one);
                    }
                    if stored.is_ok() {
                        tally.stored();
                        return;
                    }
                    stored
                }
            }
            Err(error) => {
                callback_failed(one, inst, error);
                Err(error)
            }
        };
        tally.failed(status);
    }
}

/// What is known of the metric that is being fetched. Only the pointer goes to the agent again: the agent may move or
/// free its table while it gives a value (F-14).
#[derive(Clone, Copy)]
struct One {
    metric: *mut pmdaMetric,
    pmid: MetricId,
    kind: c_int,
    encoding: Encoding,
}

/// Debug output for a call (FETCH-110).
#[cold]
fn trace_call(count: usize, metric: impl Fn(usize) -> MetricId) {
    match count {
        0 => log::trace!("pmdaFetch(0, ...) called\n"),
        1 => log::trace!("pmdaFetch(1, pmid[0] {}, ...) called\n", metric(0)),
        _ => {
            let (first, end, last) = (metric(0), count - 1, metric(count - 1));
            log::trace!("pmdaFetch({count}, pmid[0] {first}... pmid[{end}] {last}, ...) called\n");
        }
    }
}

#[cold]
fn said(say: impl FnOnce(&mut Journal)) {
    let mut journal = Journal::new();
    say(&mut journal);
    log::flush(&mut journal);
}

#[cold]
fn undefined(pmid: MetricId) {
    said(|journal| report::undefined(journal, "pmdaFetch", pmid));
}

#[cold]
fn no_callback() {
    said(report::no_callback);
}

#[cold]
fn callback_failed(one: One, inst: i32, error: Error) {
    let style = Style {
        revised: SINCE_6_0_5,
        debug: log::debug(Debug::Libpmda),
    };
    said(|journal| report::callback_failed(journal, style, one.pmid, inst, error, log::errstr));
}

#[cold]
fn value_failed(one: One, inst: i32, error: Error) {
    said(|journal| report::value_failed(journal, one.pmid, inst, one.kind, error));
}

#[cold]
fn not_freed(one: One) {
    said(|journal| report::not_freed(journal, one.pmid, one.kind));
}
