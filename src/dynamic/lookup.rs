//! The lookups that bring all trees up to date first: by name, by identifier, and for help.

use crate::drive::{Machine, Step};
use crate::dynamic::Call;
use crate::dynamic::Callbacks;
use crate::dynamic::DynamicAnswer;
use crate::dynamic::Rebuild;
use crate::dynamic::Walk;
use crate::dynamic::next_update;
use crate::tree::SharedIndexes;
use crate::view::arg::CText;
use crate::view::ext::Ext;
use pmda_core::ident::MetricId;

/// What is looked for.
#[derive(Clone, Copy)]
pub(crate) enum LookupKey<'call> {
    /// The tree that has a name, or `None` for no name at all.
    Name(Option<CText<'call>>),
    /// The tree that has a name for a metric.
    Metric(MetricId),
}

/// The callbacks whose tree has what was looked for.
pub(crate) type Found = Option<&'static Callbacks>;

/// A lookup: all trees are brought up to date, and the metric table if need be (DYN-10); then the
/// trees are searched.
pub(crate) struct Lookup<'call> {
    ext: Ext<'call>,
    key: LookupKey<'call>,
    registrations: Walk,
    updates: Walk,
    changed: bool,
    rebuild: Option<Rebuild<'call>>,
}

impl<'call> Lookup<'call> {
    /// A lookup for an agent in what is registered.
    pub(crate) fn new(ext: Ext<'call>, registrations: Walk, key: LookupKey<'call>) -> Lookup<'call> {
        Lookup {
            ext,
            key,
            registrations,
            updates: registrations,
            changed: false,
            rebuild: None,
        }
    }

    /// The next update, or the new metric table behind the last one.
    fn step(&mut self) -> Step<Call<'call>, Found> {
        if let Some(call) = next_update(&mut self.updates, self.ext) {
            return Step::Call(call);
        }
        if std::mem::take(&mut self.changed) {
            self.rebuild = Rebuild::new(self.ext, self.registrations);
        }
        match self.rebuild.as_mut().map(Machine::start) {
            Some(Step::Call(call)) => Step::Call(call),
            _ => self.search(),
        }
    }

    /// The first registration whose tree has what was looked for.
    fn search(&self) -> Step<Call<'call>, Found> {
        let has = |callbacks: &&Callbacks| {
            let tree = callbacks.tree.tree();
            tree.is_some_and(|tree| match &self.key {
                LookupKey::Name(name) => name.is_some_and(|name| tree.find(name.bytes(), &SharedIndexes).is_some()),
                LookupKey::Metric(pmid) => tree.knows(*pmid),
            })
        };
        Step::Done({ self.registrations }.map(|entry| &entry.calls).find(has))
    }
}

impl<'call> Machine for Lookup<'call> {
    type Call = Call<'call>;
    type Answer = DynamicAnswer;
    type Done = Found;

    fn start(&mut self) -> Step<Call<'call>, Found> {
        self.step()
    }

    fn resume(&mut self, answer: DynamicAnswer) -> Step<Call<'call>, Found> {
        let Some(rebuild) = &mut self.rebuild else {
            if let DynamicAnswer::Updated(status) = answer {
                self.changed |= status != 0;
            }
            return self.step();
        };
        match rebuild.resume(answer) {
            Step::Call(call) => Step::Call(call),
            Step::Done(()) => self.search(),
        }
    }
}
