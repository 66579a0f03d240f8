//! Labels that an agent adds to a set, `pmdaAddLabels` and `pmdaAddNotes`; and what is behind
//! `pmdaLabel`: the default answers, and the walk over the instances of a domain.

pub(crate) mod exports;

use crate::sys::lock::Token;
use std::ffi::{CStr, c_int};

use crate::agent::AgentRecord;
use crate::boundary::NoDropCell;
use crate::instances::iterate;
use crate::sys::libpcp;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::version::{SINCE_6_0_5, SINCE_7_2};
use crate::view::arg::CText;
use crate::view::interface::{Ext, Function};
use crate::view::label_set::{LabelArray, LabelSet, LabelSets};
use crate::view::types::{pmLabelSet, pmdaLabelCallBack};
use crate::{agent, fetch};
use pmda_core::constants::{
    PM_IN_NULL, PM_LABEL_CLUSTER, PM_LABEL_COMPOUND, PM_LABEL_CONTEXT, PM_LABEL_DOMAIN, PM_LABEL_INDOM,
    PM_LABEL_INSTANCES, PM_LABEL_ITEM, PM_LABEL_OPTIONAL,
};
use pmda_core::error::{Error, Result};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::labels::{self, ParsedText};
use pmda_core::log::{Bytes, Level};
use pmda_core::path::joined;

/// Adds the labels of a JSON text to the set that is there, or as a new one (LABEL-36, LABEL-37),
/// and says what went wrong (LABEL-39). Gives the number of labels in the set afterwards.
///
/// # Errors
/// As listed in LABEL-31; nothing is changed then (L-10).
pub(crate) fn add(caller: &str, sets: LabelSets<'_>, text: &[u8], flags: u8) -> Result<c_int> {
    if log::debug(Debug::Labels) {
        log::trace!("{caller}: {}\n", Bytes(text));
    }
    add_quietly(sets, text, flags).inspect_err(|error| {
        let reason = log::errstr(*error);
        log::notify!(Level::Err, "{caller}: {} ({reason})", Bytes(text));
    })
}

/// Returns whether libpcp has something to say of a text. A plain one is not shown to it: without
/// memory it ends the process.
fn says_more(read: &Result<ParsedText>) -> bool {
    match read {
        Ok(text) => matches!(text, ParsedText::Other(_)),
        Err(error) => *error == Error::EINVAL,
    }
}

/// Lets libpcp's parser read the text as it is: under debug options it says what it sees, and where
/// it finds what is wrong.
#[cold]
fn shown(text: &[u8], flags: u8) -> Result<()> {
    let depth = text.iter().filter(|byte| matches!(byte, b'{' | b'['));
    if depth.count() > labels::MAX_DEPTH {
        // L-8.
        return Ok(());
    }
    let line = joined(&[text, b"\0"])?;
    let text = CStr::from_bytes_until_nul(&line).map_err(|_| Error::EINVAL)?;
    libpcp::labels::parse(text, flags).map(drop)
}

fn add_quietly(mut sets: LabelSets<'_>, text: &[u8], flags: u8) -> Result<c_int> {
    let target = sets.first();
    let read = labels::parse(text, flags, !SINCE_7_2);
    if log::debug(Debug::Labels) && says_more(&read) {
        let shown = shown(text, flags);
        if matches!(read, Ok(ParsedText::Other(_))) {
            shown?;
        }
    }
    match (read?, target) {
        (ParsedText::Plain(set), None) => sets.store_new(&set),
        (ParsedText::Plain(set), Some(mut target)) if set.is_merged() && target.is_empty() => target.replace(&set),
        (ParsedText::Plain(set), Some(mut target)) => {
            let merged = target.merged(set.iter())?;
            target.replace(&merged)
        }
        (ParsedText::Other(mut text), target) => {
            text.try_reserve_exact(1).map_err(|_| Error::ENOMEM)?;
            text.push(0);
            let text = CStr::from_bytes_with_nul(&text).map_err(|_| Error::EINVAL)?;
            // What libpcp says of it was said of the text as it is.
            let parsed = log::without(Debug::Labels, || libpcp::labels::parse(text, flags))?;
            match target {
                _ if parsed.is_none() => Ok(target.map_or(0, |target| target.count())),
                None => {
                    sets.store(parsed);
                    Ok(sets.first().map_or(0, |set| set.count()))
                }
                Some(mut target) => {
                    let merged = target.merged(parsed.labels())?;
                    target.replace(&merged)
                }
            }
        }
    }
}

/// Not part of what is asked for.
const MODIFIERS: c_int = PM_LABEL_COMPOUND | PM_LABEL_OPTIONAL;

/// A type without its modifiers, exactly one bit: the flag that its labels get (LABEL-10).
fn kind_of(kind: c_int) -> Result<c_int> {
    match kind & !MODIFIERS {
        kind @ (PM_LABEL_CONTEXT | PM_LABEL_DOMAIN | PM_LABEL_INDOM | PM_LABEL_CLUSTER | PM_LABEL_ITEM
        | PM_LABEL_INSTANCES) => Ok(kind),
        _ => Err(Error::TYPE),
    }
}

/// Has the callback fill the set of an instance.
#[derive(Clone, Copy)]
pub(crate) struct LabelCall {
    pub(crate) callback: Function<pmdaLabelCallBack>,
    pub(crate) indom: InDom,
    pub(crate) inst: c_int,
    /// An empty set, which is there until the answer.
    pub(crate) set: *mut pmLabelSet,
}

pub(crate) struct LabelAnswer<'call> {
    /// The number of labels, or an error.
    pub(crate) status: c_int,
    /// A set that the callback has given in place of the one that it has got.
    pub(crate) given: Option<LabelSet<'call>>,
}

/// A request that asks the agent, or the outcome of one that does not.
pub(crate) type Begun<'call> = std::result::Result<InstanceLabels<'call>, Result<c_int>>;

/// The labels of the instances that the profile selects, one set each (LABEL-14 to LABEL-19, L-2).
pub(crate) struct InstanceLabels<'call> {
    ext: Ext<'call>,
    agent: &'static AgentRecord,
    indom: InDom,
    sets: LabelSets<'call>,
    array: NoDropCell<LabelArray>,
    steps: iterate::InstanceCursor,
    /// True when the one instance of `PM_INDOM_NULL` was asked for.
    is_over: bool,
    /// The instance whose set the callback fills: the last one of the array.
    asked: Option<c_int>,
    /// The number of sets that were handed over.
    pub(crate) count: c_int,
}

impl<'call> InstanceLabels<'call> {
    /// Starts to give the labels of `ident`, which is of type `kind`.
    ///
    /// # Errors
    /// The outcome, when nobody is to be asked: the number of sets, or 1 for those that the agent
    /// has put into `sets` itself. `PM_ERR_TYPE` for an unknown type, `-EINVAL` for a missing
    /// argument or a domain without a name, `-ENOMEM`, and those of libpcp's defaults.
    pub(crate) fn new(
        token: &mut Token,
        ident: u32,
        kind: c_int,
        sets: Option<LabelSets<'call>>,
        ext: Option<Ext<'call>>,
    ) -> Begun<'call> {
        let (Some(sets), Some(ext)) = (sets, ext) else {
            return Err(Err(Error::EINVAL));
        };
        let interface = agent::interface(token, ext);
        fetch::enter_context(ext, interface);
        let kind = kind_of(kind).map_err(Err)?;
        if kind != PM_LABEL_INSTANCES {
            return Err(default_labels(ident, kind, sets, ext));
        }
        if !interface.has_labels() {
            return Err(Ok(0));
        }
        InstanceLabels::instances(token, InDom(ident), sets, ext)
    }

    fn instances(token: &mut Token, indom: InDom, mut sets: LabelSets<'call>, ext: Ext<'call>) -> Begun<'call> {
        let count = iterate::count_and_log(token, indom, Some(ext));
        if log::debug(Debug::Labels) {
            log::trace!("pmdaLabel: InDom {indom} {count} instance labels request\n");
        }
        let room = match usize::try_from(count) {
            Ok(room) if room > 0 => room,
            _ => return Err(Error::check(count)),
        };
        // What was there was never ours.
        sets.store_none();
        let array = LabelArray::new(room).map_err(Err)?;
        let agent = agent::of_any(token, ext).map_err(Err)?;
        if !indom.is_null() {
            iterate::start(token, agent, indom, ext);
        }
        Ok(InstanceLabels {
            ext,
            agent,
            indom,
            sets,
            array: NoDropCell::new(array),
            steps: iterate::InstanceCursor::new(iterate::Ordinal::Any),
            is_over: false,
            asked: None,
            count: 0,
        })
    }

    fn next_instance(&mut self, token: &mut Token) -> Option<c_int> {
        if self.indom.is_null() {
            return (!std::mem::replace(&mut self.is_over, true)).then_some(PM_IN_NULL);
        }
        iterate::next(token, self.agent, self.ext, &mut self.steps)
    }

    /// An agent without a callback gives empty sets.
    fn next(&mut self, token: &mut Token) -> Result<Option<LabelCall>> {
        while let Some(inst) = self.next_instance(token) {
            let mut set = self.array.get().ok_or(Error::GENERIC)?.push()?;
            let Some(callback) = self.ext.label_callback() else {
                settle(&mut set, inst, 0);
                continue;
            };
            let set = set.as_ptr();
            self.asked = Some(inst);
            return Ok(Some(LabelCall {
                callback,
                indom: self.indom,
                inst,
                set,
            }));
        }
        Ok(None)
    }

    fn filled(&mut self, inst: c_int, answer: LabelAnswer<'_>) {
        let indom = self.indom;
        let Some(mut set) = self.array.get().and_then(LabelArray::last) else {
            return;
        };
        let status = filled(&mut set, answer);
        if status < 0 {
            let level = if SINCE_6_0_5 { Level::Warning } else { Level::Debug };
            let reason = log::errstr(Error::os(status));
            log::notify!(level, "pmdaLabel: InDom {indom}[{inst}]: {reason}");
        }
        settle(&mut set, inst, status);
    }

    /// Goes on with the answer to the last call. Returns the next one; at the end none, and the
    /// array is handed over, or freed after an error.
    pub(crate) fn step(&mut self, token: &mut Token, answer: Option<LabelAnswer<'_>>) -> Result<Option<LabelCall>> {
        if let Some((inst, answer)) = self.asked.take().zip(answer) {
            self.filled(inst, answer);
        }
        let next = self.next(token);
        if !matches!(next, Ok(Some(_))) {
            let array = self.array.take().filter(|_| next.is_ok());
            if let Some((sets, count @ 1..)) = array.map(LabelArray::into_sets) {
                self.sets.store(sets);
                self.count = count;
            }
        }
        next
    }
}

/// Takes over the labels that a callback has put into a set. One that it gives instead stays its
/// own, as it need not come from the heap; its labels are copied (L-4).
fn filled(set: &mut LabelSet<'_>, LabelAnswer { status, given }: LabelAnswer<'_>) -> c_int {
    let Some(given) = given else {
        return status;
    };
    set.clear();
    let copied = set.merged(given.list()).and_then(|merged| set.replace(&merged));
    copied.map_or_else(Error::code, |copied| status.min(copied))
}

/// Makes the number of labels in a set what the callback returned, but never more than there are
/// (L-3). An array of a callback that has failed is not kept (L-4).
fn settle(set: &mut LabelSet<'_>, inst: c_int, status: c_int) {
    set.settle(status);
    set.add_flags(PM_LABEL_INSTANCES as u8);
    set.set_inst(inst as u32);
}

/// Labels that are not those of instances.
fn default_labels(ident: u32, kind: c_int, mut sets: LabelSets<'_>, ext: Ext<'_>) -> Result<c_int> {
    trace(kind, ident, ext);
    if let Some(mut set) = sets.first() {
        set.add_flags(kind as u8);
        return Ok(1);
    }
    match kind {
        PM_LABEL_CONTEXT => sets.store_context(),
        PM_LABEL_DOMAIN => sets.store_domain(ext.domain(), ext.name().ok_or(Error::EINVAL)?),
        _ => Ok(0),
    }
}

/// LABEL-21.
fn trace(kind: c_int, ident: u32, ext: Ext<'_>) {
    if !log::debug(Debug::Labels) {
        return;
    }
    let (metric, indom) = (MetricId(ident), InDom(ident));
    match kind {
        PM_LABEL_CONTEXT => log::trace!("pmdaLabel: context {} labels request\n", ext.context()),
        PM_LABEL_DOMAIN => {
            let name = ext.name();
            let (domain, name) = (ext.domain(), Bytes(name.as_ref().map_or(b"(null)", CText::bytes)));
            log::trace!("pmdaLabel: domain {domain} ({name}) labels request\n");
        }
        PM_LABEL_INDOM => log::trace!("pmdaLabel: InDom {indom} labels request\n"),
        // The text of PM_ID_NULL has no dot (L-1).
        PM_LABEL_CLUSTER if metric == MetricId::NULL => log::trace!("pmdaLabel: cluster {metric} labels request\n"),
        PM_LABEL_CLUSTER => {
            let (domain, cluster) = (metric.domain(), metric.cluster());
            log::trace!("pmdaLabel: cluster {domain}.{cluster} labels request\n");
        }
        PM_LABEL_ITEM => log::trace!("pmdaLabel: item {metric} labels request\n"),
        _ => {}
    }
}
