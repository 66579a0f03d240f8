//! Labels that an agent adds to a set (`pmdaAddLabels`, `pmdaAddNotes`), and the work of
//! `pmdaLabel`: the default labels, and a walk over the instances of a domain.

pub(crate) mod exports;

use crate::state;
use crate::sys::lock::Token;
use std::ffi::{CStr, c_int};

use crate::agent::AgentRecord;
use crate::boundary::NoDropCell;
use crate::fetch;
use crate::instances::iterate;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::{SINCE_6_0_5, SINCE_7_2};
use crate::view::arg::Shown;
use crate::view::interface::{Ext, Function};
use crate::view::label_set::{LabelSet, LabelSets, OwnedSets};
use crate::view::types::{pmLabelSet, pmdaLabelCallBack};
use pmda_core::constants::{
    PM_IN_NULL, PM_LABEL_CLUSTER, PM_LABEL_COMPOUND, PM_LABEL_CONTEXT, PM_LABEL_DOMAIN, PM_LABEL_INDOM,
    PM_LABEL_INSTANCES, PM_LABEL_ITEM, PM_LABEL_OPTIONAL,
};
use pmda_core::error::{Error, Result};
use pmda_core::ident::{InDom, MetricId};
use pmda_core::labels::{self, ParsedText};
use pmda_core::log::{Bytes, Level};
use pmda_core::path::joined;

/// Adds the labels of a JSON text to the caller's set, or makes a new one (LABEL-36, LABEL-37), and
/// logs an error (LABEL-39). Returns the number of labels in the set afterwards.
///
/// # Errors
/// `-EINVAL` for bad JSON or a bad name, `-E2BIG` for too many labels or bytes, `-ENOMEM`
/// (LABEL-31). The set is as it was (L-10).
pub(crate) fn add(token: &mut Token, caller: &str, sets: LabelSets<'_>, text: &[u8], flags: u8) -> Result<c_int> {
    if log::debug(Debug::Labels) {
        log::trace!(token, "{caller}: {}\n", Bytes(text));
    }
    add_quietly(token, sets, text, flags).inspect_err(|error| {
        let reason = log::errstr(*error);
        log::notify!(token, Level::Err, "{caller}: {} ({reason})", Bytes(text));
    })
}

/// Returns whether libpcp's parser prints something about a text under `-Dlabels`. It does not get
/// plain texts: without memory it ends the process.
fn says_more(read: &Result<ParsedText>) -> bool {
    match read {
        Ok(text) => matches!(text, ParsedText::Other(_)),
        Err(error) => *error == Error::EINVAL,
    }
}

/// Has libpcp's parser read the text as the agent has given it, for its debug output: the parser
/// prints what it reads, and where it finds an error.
///
/// # Errors
/// Those of the parser.
#[cold]
fn shown(token: &mut Token, text: &[u8], flags: u8) -> Result<()> {
    let depth = text.iter().filter(|byte| matches!(byte, b'{' | b'['));
    if depth.count() > labels::MAX_DEPTH {
        // More levels than libpcp can read (L-8): the text is refused in any case.
        return Ok(());
    }
    let line = joined(&[text, b"\0"])?;
    let text = CStr::from_bytes_until_nul(&line).map_err(|_| Error::EINVAL)?;
    OwnedSets::parsed(token, text, flags).map(drop)
}

/// [`add`] without the log.
///
/// # Errors
/// As [`add`].
fn add_quietly(token: &mut Token, mut sets: LabelSets<'_>, text: &[u8], flags: u8) -> Result<c_int> {
    let target = sets.first();
    let read = labels::parse(text, flags, !SINCE_7_2);
    if log::debug(Debug::Labels) && says_more(&read) {
        let shown = shown(token, text, flags);
        if matches!(read, Ok(ParsedText::Other(_))) {
            shown?;
        }
    }
    match (read?, target) {
        (ParsedText::Plain(set), None) => sets.store_new(&set),
        (ParsedText::Plain(set), Some(target)) if set.is_merged() && target.is_empty() => target.replace(&set),
        (ParsedText::Plain(set), Some(target)) => {
            let merged = target.merged(set.iter())?;
            target.replace(&merged)
        }
        (ParsedText::Other(mut text), target) => {
            text.try_reserve_exact(1).map_err(|_| Error::ENOMEM)?;
            text.push(0);
            let text = CStr::from_bytes_with_nul(&text).map_err(|_| Error::EINVAL)?;
            // Debug output, if it was wanted, has been printed for the text as it was given.
            let parsed = log::without(Debug::Labels, || OwnedSets::parsed(token, text, flags))?;
            match (parsed, target) {
                (None, target) => Ok(target.map_or(0, |target| target.count())),
                (parsed, None) => {
                    sets.store(parsed);
                    Ok(sets.first().map_or(0, |set| set.count()))
                }
                (Some(parsed), Some(target)) => {
                    let merged = target.merged(parsed.labels())?;
                    target.replace(&merged)
                }
            }
        }
    }
}

/// Bits of a request's type that do not say whose labels are asked for.
const MODIFIERS: c_int = PM_LABEL_COMPOUND | PM_LABEL_OPTIONAL;

/// A request's type without its modifiers. It is exactly one bit, which is also the flag that its
/// labels get (LABEL-10).
///
/// # Errors
/// `PM_ERR_TYPE` for no bit, several or an unknown one.
fn kind_of(kind: c_int) -> Result<c_int> {
    match kind & !MODIFIERS {
        kind @ (PM_LABEL_CONTEXT | PM_LABEL_DOMAIN | PM_LABEL_INDOM | PM_LABEL_CLUSTER | PM_LABEL_ITEM
        | PM_LABEL_INSTANCES) => Ok(kind),
        _ => Err(Error::TYPE),
    }
}

/// A call of the agent's label callback, which fills the set of one instance.
#[derive(Clone, Copy)]
pub(crate) struct LabelCall {
    pub(crate) callback: Function<pmdaLabelCallBack>,
    pub(crate) indom: InDom,
    pub(crate) inst: c_int,
    /// An empty set in the array of the request. It stays until the answer is passed to
    /// [`InstanceLabels::step`].
    pub(crate) set: *mut pmLabelSet,
}

/// The result of the callback of a [`LabelCall`].
pub(crate) struct LabelAnswer<'call> {
    /// The number of labels, or an error.
    pub(crate) status: c_int,
    /// A set of its own, which the callback has stored in place of the one that it got.
    pub(crate) replacement: Option<&'call LabelSet>,
}

/// A request that calls the agent's callback, or the outcome of one that does not.
pub(crate) type Begun<'call> = std::result::Result<InstanceLabels<'call>, Result<c_int>>;

/// The labels of the instances that the profile selects, one set each (LABEL-14 to LABEL-19). If
/// the walk finds no instance, no array is made (L-2).
pub(crate) struct InstanceLabels<'call> {
    ext: Ext<'call>,
    agent: &'static AgentRecord,
    indom: InDom,
    sets: LabelSets<'call>,
    array: NoDropCell<OwnedSets>,
    cursor: iterate::InstanceCursor,
    /// True when the one instance that `PM_INDOM_NULL` has was visited.
    is_over: bool,
    /// The instance whose set the callback fills: the last set of the array.
    pending: Option<c_int>,
    /// The number of sets that were stored for the caller, at the end of the walk.
    pub(crate) count: c_int,
}

impl<'call> InstanceLabels<'call> {
    /// Begins a request for the labels of `ident`, which is of type `kind`.
    ///
    /// # Errors
    /// The outcome, when no callback is to be called: the number of sets, which is 1 for a set that
    /// the agent itself has stored in `sets`. `PM_ERR_TYPE` for an unknown type, `-EINVAL` for a
    /// domain without a name, `-ENOMEM`, and the errors of libpcp's defaults.
    pub(crate) fn new(
        token: &mut Token,
        ident: u32,
        kind: c_int,
        sets: LabelSets<'call>,
        ext: Ext<'call>,
    ) -> Begun<'call> {
        let interface = state::interface(token, ext);
        fetch::enter_context(ext, interface);
        let kind = kind_of(kind).map_err(Err)?;
        if kind != PM_LABEL_INSTANCES {
            return Err(default_labels(token, ident, kind, sets, ext));
        }
        if !interface.has_labels() {
            return Err(Ok(0));
        }
        InstanceLabels::instances(token, InDom(ident), sets, ext)
    }

    /// Begins the walk over the instances of a domain.
    ///
    /// # Errors
    /// As [`InstanceLabels::new`].
    fn instances(token: &mut Token, indom: InDom, mut sets: LabelSets<'call>, ext: Ext<'call>) -> Begun<'call> {
        let count = iterate::count_and_log(token, indom, Some(ext));
        if log::debug(Debug::Labels) {
            log::trace!(token, "pmdaLabel: InDom {indom} {count} instance labels request\n");
        }
        let size = match usize::try_from(count) {
            Ok(size) if size > 0 => size,
            _ => return Err(Error::check(count)),
        };
        // The old pointer is not freed: we have not allocated what it leads to.
        sets.store(None);
        let array = OwnedSets::with_capacity(size).map_err(Err)?;
        let agent = state::any_agent(token, ext).map_err(Err)?;
        if !indom.is_null() {
            iterate::start(token, agent, indom, ext);
        }
        Ok(InstanceLabels {
            ext,
            agent,
            indom,
            sets,
            array: NoDropCell::new(array),
            cursor: iterate::InstanceCursor::new(iterate::Ordinal::Any),
            is_over: false,
            pending: None,
            count: 0,
        })
    }

    /// The next instance of the walk.
    fn next_instance(&mut self, token: &mut Token) -> Option<c_int> {
        if self.indom.is_null() {
            return (!std::mem::replace(&mut self.is_over, true)).then_some(PM_IN_NULL);
        }
        iterate::next(token, self.agent, self.ext, &mut self.cursor)
    }

    /// The call for the next instance; `None` at the end. If the agent has no callback, its
    /// instances get empty sets.
    ///
    /// # Errors
    /// `-ENOMEM`.
    fn next(&mut self, token: &mut Token) -> Result<Option<LabelCall>> {
        while let Some(inst) = self.next_instance(token) {
            let set = self.array.get().ok_or(Error::GENERIC)?.push()?;
            let Some(callback) = self.ext.label_callback() else {
                settle(set, inst, 0);
                continue;
            };
            let set = set.as_ptr();
            self.pending = Some(inst);
            return Ok(Some(LabelCall {
                callback,
                indom: self.indom,
                inst,
                set,
            }));
        }
        Ok(None)
    }

    /// Takes over the set of an instance, as the callback has filled it.
    fn filled(&mut self, token: &mut Token, inst: c_int, answer: LabelAnswer<'_>) {
        let indom = self.indom;
        let Some(set) = self.array.get().and_then(OwnedSets::last) else {
            return;
        };
        let status = filled(set, answer);
        if status < 0 {
            let level = if SINCE_6_0_5 { Level::Warning } else { Level::Debug };
            let reason = log::errstr(Error::os(status));
            log::notify!(token, level, "pmdaLabel: InDom {indom}[{inst}]: {reason}");
        }
        settle(set, inst, status);
    }

    /// Takes over the answer to the last call, and returns the next call. At the end it returns
    /// none, and the array was stored for the caller.
    ///
    /// # Errors
    /// `-ENOMEM`; the array was freed.
    pub(crate) fn step(&mut self, token: &mut Token, answer: Option<LabelAnswer<'_>>) -> Result<Option<LabelCall>> {
        if let Some((inst, answer)) = self.pending.take().zip(answer) {
            self.filled(token, inst, answer);
        }
        let next = self.next(token);
        if !matches!(next, Ok(Some(_))) {
            let array = self.array.take().filter(|_| next.is_ok());
            if let Some(sets) = array.filter(|sets| sets.count() > 0) {
                self.count = sets.count();
                self.sets.store(Some(sets));
            }
        }
        next
    }
}

/// Takes over the labels that a callback has stored, and returns their number or an error. If the
/// callback has stored a set of its own in place of ours, the labels are copied: such a set stays
/// the callback's, since it need not come from malloc (L-4).
fn filled(set: &mut LabelSet, LabelAnswer { status, replacement }: LabelAnswer<'_>) -> c_int {
    let Some(replacement) = replacement else {
        return status;
    };
    set.clear();
    let copied = set.merged(replacement.list()).and_then(|merged| set.replace(&merged));
    copied.map_or_else(Error::code, |copied| status.min(copied))
}

/// Completes the set of an instance: its number of labels ([`LabelSet::settle`]), the flag of
/// instances in each label, and the instance. The array of a callback that has failed is freed
/// (L-4).
fn settle(set: &mut LabelSet, inst: c_int, status: c_int) {
    set.settle(status);
    set.add_flags(PM_LABEL_INSTANCES as u8);
    set.set_inst(inst as u32);
}

/// The labels of a context, domain, instance domain, cluster or item: those that the agent has
/// stored, or else libpcp's default.
///
/// # Errors
/// `-EINVAL` for a domain without a name, and those of libpcp.
fn default_labels(token: &mut Token, ident: u32, kind: c_int, mut sets: LabelSets<'_>, ext: Ext<'_>) -> Result<c_int> {
    trace(token, kind, ident, ext);
    if let Some(set) = sets.first() {
        set.add_flags(kind as u8);
        return Ok(1);
    }
    match kind {
        PM_LABEL_CONTEXT => sets.store_context(token),
        PM_LABEL_DOMAIN => sets.store_domain(token, ext.domain(), ext.name().ok_or(Error::EINVAL)?),
        _ => Ok(0),
    }
}

/// Prints a line about a request under `-Dlabels` (LABEL-21).
fn trace(token: &mut Token, kind: c_int, ident: u32, ext: Ext<'_>) {
    if !log::debug(Debug::Labels) {
        return;
    }
    let (metric, indom) = (MetricId(ident), InDom(ident));
    match kind {
        PM_LABEL_CONTEXT => log::trace!(token, "pmdaLabel: context {} labels request\n", ext.context()),
        PM_LABEL_DOMAIN => {
            let (domain, name) = (ext.domain(), Shown(ext.name()));
            log::trace!(token, "pmdaLabel: domain {domain} ({name}) labels request\n");
        }
        PM_LABEL_INDOM => log::trace!(token, "pmdaLabel: InDom {indom} labels request\n"),
        // The text of PM_ID_NULL has no dot (L-1).
        PM_LABEL_CLUSTER if metric == MetricId::NULL => {
            log::trace!(token, "pmdaLabel: cluster {metric} labels request\n");
        }
        PM_LABEL_CLUSTER => {
            let (domain, cluster) = (metric.domain(), metric.cluster());
            log::trace!(token, "pmdaLabel: cluster {domain}.{cluster} labels request\n");
        }
        PM_LABEL_ITEM => log::trace!(token, "pmdaLabel: item {metric} labels request\n"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_uint;

    use super::*;
    use crate::state::testing::{agent, step};
    use crate::view::testing::{indom, label_sets, labels, null_label_sets, table};
    use crate::view::types::pmInDom;

    const DISKS: InDom = InDom(250 << 22 | 1);
    const EMPTY: InDom = InDom(250 << 22 | 2);

    /// The tests make the answers themselves, so the agent only needs some callback.
    extern "C-unwind" fn callback(_: pmInDom, _: c_uint, _: *mut *mut pmLabelSet) -> c_int {
        unreachable!("a step calls nothing")
    }

    /// A request for the labels of a domain's instances, and the caller's pointer to the label sets. The
    /// agent has the domain [`DISKS`] with the instances 3 and 5, and a domain without instances.
    struct Scene {
        ext: Ext<'static>,
        sets: &'static mut *mut pmLabelSet,
    }

    impl Scene {
        fn new(token: &mut Token, interface: u8) -> Scene {
            let (_, ext, _) = agent(token, interface);
            ext.set_indoms(table(vec![indom(DISKS.0, &[3, 5]), indom(EMPTY.0, &[])]));
            ext.set_label_callback(Some(callback));
            Scene {
                ext,
                sets: null_label_sets(),
            }
        }

        /// Begins the request.
        fn begin(&mut self, token: &mut Token, indom: InDom, kind: c_int) -> Begun<'static> {
            InstanceLabels::new(token, indom.0, kind, label_sets(self.sets), self.ext)
        }

        /// Begins the request, which does not call the agent.
        fn ends_with(&mut self, token: &mut Token, indom: InDom, kind: c_int) -> Result<c_int> {
            self.begin(token, indom, kind).err().expect("no call")
        }

        /// Begins the request, which calls the agent for an instance.
        fn starts(&mut self, token: &mut Token, indom: InDom) -> InstanceLabels<'static> {
            self.begin(token, indom, PM_LABEL_INSTANCES).expect("a walk")
        }

        /// The sets that the caller has got: the instances, and the labels of each.
        fn has(&self, count: c_int, expected: &[(u32, c_int)]) {
            assert_eq!(count, expected.len() as c_int);
            assert_eq!(labels(self.sets, count), expected);
        }
    }

    /// The step after an answer; it calls the agent for an instance, or for none.
    fn answered(labels: &mut InstanceLabels<'_>, token: &mut Token, status: c_int) -> Option<c_int> {
        let answer = LabelAnswer {
            status,
            replacement: None,
        };
        labels.step(token, Some(answer)).expect("memory").map(|call| call.inst)
    }

    fn first(labels: &mut InstanceLabels<'_>, token: &mut Token) -> Option<c_int> {
        labels.step(token, None).expect("memory").map(|call| call.inst)
    }

    #[test]
    fn start_for_another_kind_ends_with_the_default() {
        step(|token| {
            let mut scene = Scene::new(token, 7);
            assert_eq!(scene.ends_with(token, DISKS, PM_LABEL_INDOM), Ok(0));
            assert_eq!(
                scene.ends_with(token, DISKS, PM_LABEL_INDOM | PM_LABEL_ITEM),
                Err(Error::TYPE)
            );
        });
    }

    #[test]
    fn start_for_an_old_interface_ends() {
        step(|token| assert_eq!(Scene::new(token, 6).ends_with(token, DISKS, PM_LABEL_INSTANCES), Ok(0)));
    }

    #[test]
    fn start_for_a_domain_without_instances_ends() {
        step(|token| assert_eq!(Scene::new(token, 7).ends_with(token, EMPTY, PM_LABEL_INSTANCES), Ok(0)));
    }

    #[test]
    fn start_calls_for_the_first_instance() {
        step(|token| {
            let mut scene = Scene::new(token, 7);
            let mut walk = scene.starts(token, DISKS);
            let call = walk.step(token, None).expect("memory").expect("a call");
            assert_eq!((call.indom, call.inst, call.set.is_null()), (DISKS, 3, false));
        });
    }

    #[test]
    fn answer_calls_for_the_next_instance() {
        step(|token| {
            let mut scene = Scene::new(token, 7);
            let mut walk = scene.starts(token, DISKS);
            assert_eq!(first(&mut walk, token), Some(3));
            assert_eq!(answered(&mut walk, token, 0), Some(5));
            assert_eq!(walk.count, 0, "nothing is stored before the end");
        });
    }

    #[test]
    fn answer_for_the_last_instance_ends() {
        step(|token| {
            let mut scene = Scene::new(token, 7);
            let mut walk = scene.starts(token, DISKS);
            assert_eq!(first(&mut walk, token), Some(3));
            assert_eq!(answered(&mut walk, token, 0), Some(5));
            assert_eq!(answered(&mut walk, token, 0), None);
            scene.has(walk.count, &[(3, 0), (5, 0)]);
        });
    }

    /// The error of one instance is in its set, and the walk goes on (LABEL-17).
    #[test]
    fn error_calls_for_the_next_instance() {
        step(|token| {
            let mut scene = Scene::new(token, 7);
            let mut walk = scene.starts(token, DISKS);
            assert_eq!(first(&mut walk, token), Some(3));
            assert_eq!(answered(&mut walk, token, Error::AGAIN.code()), Some(5));
            assert_eq!(answered(&mut walk, token, 0), None);
            scene.has(walk.count, &[(3, Error::AGAIN.code()), (5, 0)]);
        });
    }

    /// The labels of a set that a callback has stored in place of ours are copied (L-4).
    #[test]
    fn answer_with_another_set_is_copied() {
        step(|token| {
            let mut other = OwnedSets::with_capacity(1).expect("memory");
            let set = other.push().expect("memory");
            let ParsedText::Plain(parsed) = labels::parse(b"{\"a\":1,\"b\":2}", 0, false).expect("labels") else {
                panic!("plain labels");
            };
            set.replace(&parsed).expect("memory");

            let mut scene = Scene::new(token, 7);
            let mut walk = scene.starts(token, DISKS);
            assert_eq!(first(&mut walk, token), Some(3));
            let answer = LabelAnswer {
                status: 2,
                replacement: other.all().first(),
            };
            assert_eq!(
                walk.step(token, Some(answer)).expect("memory").map(|call| call.inst),
                Some(5)
            );
            assert_eq!(answered(&mut walk, token, 0), None);
            scene.has(walk.count, &[(3, 2), (5, 0)]);
        });
    }

    /// `PM_INDOM_NULL` has one instance, `PM_IN_NULL` (LABEL-15).
    #[test]
    fn answer_for_no_domain_ends() {
        step(|token| {
            let mut scene = Scene::new(token, 7);
            let mut walk = scene.starts(token, InDom::NULL);
            assert_eq!(first(&mut walk, token), Some(PM_IN_NULL));
            assert_eq!(answered(&mut walk, token, 0), None);
            scene.has(walk.count, &[(PM_IN_NULL as u32, 0)]);
        });
    }

    /// Without a callback all sets are empty.
    #[test]
    fn start_without_a_callback_ends() {
        step(|token| {
            let mut scene = Scene::new(token, 7);
            scene.ext.set_label_callback(None);
            let mut walk = scene.starts(token, DISKS);
            assert_eq!(first(&mut walk, token), None);
            scene.has(walk.count, &[(3, 0), (5, 0)]);
        });
    }

    /// If the domain has become empty before the walk, no array is made (L-2).
    #[test]
    fn start_of_a_domain_that_has_become_empty_ends() {
        step(|token| {
            let mut scene = Scene::new(token, 7);
            let mut walk = scene.starts(token, DISKS);
            scene.ext.set_ordinal(-1);
            assert_eq!(first(&mut walk, token), None);
            assert_eq!(walk.count, 0);
            assert!(scene.sets.is_null());
        });
    }

    /// A callback that is removed during the walk: the rest of the sets is empty.
    #[test]
    fn answer_then_no_callback_ends() {
        step(|token| {
            let mut scene = Scene::new(token, 7);
            let mut walk = scene.starts(token, DISKS);
            assert_eq!(first(&mut walk, token), Some(3));
            scene.ext.set_label_callback(None);
            assert_eq!(answered(&mut walk, token, Error::AGAIN.code()), None);
            scene.has(walk.count, &[(3, Error::AGAIN.code()), (5, 0)]);
        });
    }
}
