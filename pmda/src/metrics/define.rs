//! [`Def`]: a metric that is being declared or edited.

use std::cell::Cell;
use std::rc::Rc;

use super::domain::Rows;
use super::metric::{End, ITEMS, Metric, MetricRef, Problem, Store};
use super::{LABEL_CHANGE, Metrics, NAME_RULE, is_name};
use crate::client::Client;
use crate::error::{Error, Result};
use crate::labels::Given;
use crate::labels::{LabelValue, Labels};
use crate::unit::Unit;
use crate::value::{FromStore, Semantics};

/// Returns whether an instance exists.
type HasInstance<S> = Rc<dyn Fn(&mut S, i32) -> bool>;

/// Finds what a store function changes: the agent, or the row of an instance.
pub(super) enum Target<S, T> {
    Agent(fn(&mut S) -> &mut T),
    Row(Rows<S, T>),
    /// The agent, for an instance that exists.
    AgentIf(HasInstance<S>, fn(&mut S) -> &mut T),
    /// Nothing: the metric has a problem, or is edited.
    None,
}

impl<S, T> Clone for Target<S, T> {
    fn clone(&self) -> Self {
        match self {
            Target::Agent(find) => Target::Agent(*find),
            Target::Row(rows) => Target::Row(Rows::clone(rows)),
            Target::AgentIf(has, find) => Target::AgentIf(Rc::clone(has), *find),
            Target::None => Target::None,
        }
    }
}

impl<S, T> Target<S, T> {
    fn find<'s>(&self, state: &'s mut S, inst: i32) -> Result<&'s mut T> {
        match self {
            Target::Agent(find) => Ok(find(state)),
            Target::Row(rows) => rows(state).and_then(|rows| rows.get_mut(inst)).ok_or(Error::INST),
            Target::AgentIf(has, find) if has(state, inst) => Ok(find(state)),
            Target::AgentIf(..) => Err(Error::INST),
            Target::None => Err(Error::INST),
        }
    }
}

/// A metric that is being declared: its functions say more about it. `T` is what the agent's
/// functions see: the agent, or the row of an instance.
///
/// The metric is declared when this is dropped, so one line is one metric and none is missing
/// because a last call was forgotten; or by [`Def::declare`], which returns its number or what is
/// wrong with it. Problems of [`Agent::metrics`](crate::Agent::metrics) are one list, which the
/// start, `--check` and `--write` print.
pub struct Def<'m, S, T> {
    draft: Draft<'m, S>,
    target: Target<S, T>,
}

/// The metric of a [`Def`].
struct Draft<'m, S> {
    metrics: &'m mut Metrics<S>,
    stage: Stage<S>,
    /// Its problem, if it has one.
    problem: Option<Problem>,
    /// Gets its number when it is declared.
    number: Option<Rc<Cell<Option<MetricRef>>>>,
}

/// The place of the metric.
enum Stage<S> {
    /// Not in the declarations yet; perhaps with the item that it is to have.
    New(Box<Metric<S>>, Option<u32>),
    /// In the declarations, in this slot, where it is changed at once.
    Edited(usize),
    Done,
}

impl<S, T> std::fmt::Debug for Def<'_, S, T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.draft.metric().map_or("that does not exist", |metric| &metric.name);
        write!(out, "metric {name}")
    }
}

impl<S: 'static> Metrics<S> {
    /// Changes help, unit, semantics or labels of a declared metric. If the metric was removed
    /// meanwhile, [`Def::declare`] fails. Its type or instance domain can change only if it is
    /// [removed](Metrics::remove) and declared anew, which may give it its old number again
    /// ([`Def::item`]).
    pub fn edit(&mut self, metric: &MetricRef) -> Def<'_, S, S> {
        let (cluster, item) = (metric.cluster(), metric.item());
        let slot = self.clusters.get(cluster).and_then(|cluster| cluster.slot(item));
        Def {
            draft: Draft {
                metrics: self,
                stage: slot.map_or(Stage::Done, Stage::Edited),
                problem: slot
                    .is_none()
                    .then(|| Problem(format!("metric {cluster}.{item} does not exist"))),
                number: None,
            },
            target: Target::None,
        }
    }
}

impl<S> Metrics<S> {
    /// Declares a metric that is complete, with this item or the next one.
    ///
    /// # Errors
    /// The metric's problem; nothing is declared.
    fn insert(&mut self, mut metric: Box<Metric<S>>, item: Option<u32>) -> std::result::Result<MetricRef, Problem> {
        let mut earlier: Vec<&str> = Vec::new();
        for name in metric.names() {
            self.check_new_name(name)?;
            if earlier.contains(&name) {
                return Err(Problem(format!("metric {name} is declared twice")));
            }
            earlier.push(name);
        }
        let name = &*metric.name;
        if let Some(item) = item {
            if let Some(other) = self.numbered(metric.cluster, item) {
                return Err(Problem(format!(
                    "metrics {} and {name} both have the number {}.{item}",
                    other.name, metric.cluster
                )));
            }
        }
        metric.item = self.number(&metric, item)?;
        let (cluster, item, indom) = (metric.cluster, metric.item, metric.indom);
        let slot = self.table.insert(metric);
        self.clusters.at(cluster).insert(item, slot);
        if let Some(serial) = indom {
            self.use_indom(serial, cluster);
        }
        Ok(MetricRef::new(cluster, item))
    }

    /// Checks the name of a new metric.
    ///
    /// # Errors
    /// The problem of the name.
    fn check_new_name(&self, name: &str) -> std::result::Result<(), Problem> {
        if !is_name(name) {
            return Err(Problem(format!("metric \"{name}\": {NAME_RULE}")));
        }
        if self.root().is_empty() && !name.contains('.') {
            return Err(Problem(format!(
                "metric {name}: the agent has several roots, so a name is a root, a dot and the rest"
            )));
        }
        if let Some(below) = self.dynamic_at_or_below(name) {
            return Err(Problem(format!(
                "metric {name}: no name can be below a metric, so names below {below} cannot be dynamic"
            )));
        }
        match self.table.clash(name) {
            Some(other) if other == name => Err(Problem(format!("metric {name} is declared twice"))),
            Some(other) => Err(Problem(format!(
                "metric {name} cannot be beside metric {other}: one would be below the other"
            ))),
            None => Ok(()),
        }
    }

    /// The item of a new metric: this one, that of the file of numbers, or the next free one.
    fn number(&mut self, metric: &Metric<S>, item: Option<u32>) -> std::result::Result<u32, Problem> {
        let (name, cluster) = (&metric.name, metric.cluster);
        let Some(cache) = metric.cache else {
            let free = item.or_else(|| self.clusters.at(cluster).free_item());
            return free.ok_or_else(|| Problem(format!("metric {name}: cluster {cluster} is full")));
        };
        let numbered = match item {
            Some(item) => self.numbers.number_at(cache, name, item).map(|()| item),
            None => self.numbers.number(cache, name),
        };
        let item = numbered.map_err(|error| Problem(format!("metric {name} gets no number: {error}")))?;
        if self.numbered(cluster, item).is_some() {
            self.numbers.release(cache, name);
            return Err(Problem(format!("metric {name}: {cluster}.{item} is another metric's")));
        }
        Ok(item)
    }
}

impl<'m, S, T> Def<'m, S, T> {
    /// A metric that is not declared yet.
    pub(super) fn new(metrics: &'m mut Metrics<S>, metric: Box<Metric<S>>, target: Target<S, T>) -> Def<'m, S, T> {
        let problem = metrics
            .misplaced
            .as_ref()
            .map(|text| Problem(format!("metric {}: {text}", metric.name)));
        Def {
            draft: Draft {
                metrics,
                stage: Stage::New(metric, None),
                problem,
                number: None,
            },
            target,
        }
    }

    /// Its name, for what is wrong with it.
    pub(super) fn name(&self) -> &str {
        self.draft.metric().map_or("", |metric| &metric.name)
    }

    fn set(mut self, change: impl FnOnce(&mut Metric<S>)) -> Self {
        if let Some(metric) = self.draft.metric_mut() {
            change(metric);
        }
        self
    }

    /// Tells its number when it is declared.
    pub(super) fn tell(mut self, number: &Rc<Cell<Option<MetricRef>>>) -> Self {
        self.draft.number = Some(Rc::clone(number));
        self
    }

    /// Sets what is told of clients whose context has ended.
    pub(super) fn on_end(self, ended: End<S>) -> Self {
        self.set(|metric| metric.ended = Some(ended))
    }

    /// Takes note of what is wrong with it. The first problem counts.
    pub(super) fn wrong(mut self, text: String) -> Self {
        self.draft.problem.get_or_insert(Problem(text));
        self
    }

    /// Declares it, as a drop does. The difference is what becomes of a problem: this returns it,
    /// while a drop logs it, or keeps the agent from starting.
    ///
    /// # Errors
    /// The metric's problem, in words. A new metric is not declared then; an edited one keeps the
    /// changes that were right.
    pub fn declare(mut self) -> std::result::Result<MetricRef, Problem> {
        self.draft.end()
    }

    /// Makes it a counter, which grows all the time: clients show its rate.
    pub fn counter(self) -> Self {
        self.set(|metric| metric.semantics = Semantics::Counter)
    }

    /// Makes it a value of this moment. This is the default.
    pub fn instant(self) -> Self {
        self.set(|metric| metric.semantics = Semantics::Instant)
    }

    /// Makes it a value that changes seldom, and is kept in between.
    pub fn discrete(self) -> Self {
        self.set(|metric| metric.semantics = Semantics::Discrete)
    }

    /// Sets its semantics, where they are known at run time only.
    pub fn semantics(self, semantics: Semantics) -> Self {
        self.set(|metric| metric.semantics = semantics)
    }

    /// Sets its unit.
    pub fn unit(self, unit: Unit) -> Self {
        self.set(|metric| metric.unit = unit)
    }

    /// Sets its help: the first line is for lists, the rest is the long text.
    ///
    /// A text that begins with a line break has no line for lists. With a line break alone both
    /// texts exist, and are empty.
    pub fn help(self, help: impl AsRef<str>) -> Self {
        self.set(|metric| help.as_ref().clone_into(&mut metric.help))
    }

    /// Gives it another name, as one that it had in earlier versions: both are of one number. One
    /// that is edited cannot get another name.
    pub fn alias(mut self, name: impl AsRef<str>) -> Self {
        match &mut self.draft.stage {
            Stage::New(metric, _) => metric.aliases.push(name.as_ref().into()),
            Stage::Edited(_) => {
                let (old, new) = (self.name().to_owned(), name.as_ref());
                return self.wrong(format!("metric {old}: declare it anew for another name, {new}"));
            }
            Stage::Done => {}
        }
        self
    }

    /// Sets its number in its cluster, below 1024. Metrics that follow count on from it. A metric
    /// that is edited keeps its number.
    pub fn item(mut self, number: u32) -> Self {
        if number < ITEMS {
            if let Stage::New(_, item) = &mut self.draft.stage {
                *item = Some(number);
            }
            return self;
        }
        let text = format!(
            "metric {}: item {number} is too great, the last possible one is {}",
            self.name(),
            ITEMS - 1
        );
        self.wrong(text)
    }

    /// Gives it a label, in place of one with this name.
    pub fn label(self, name: impl AsRef<str>, value: impl Into<LabelValue>) -> Self {
        self.relabel(|labels| labels.give(name.as_ref(), value.into(), false))
    }

    /// Gives it a label that does not tell it apart from others, such as a note.
    pub fn optional_label(self, name: impl AsRef<str>, value: impl Into<LabelValue>) -> Self {
        self.relabel(|labels| labels.give(name.as_ref(), value.into(), true))
    }

    /// Gives it these labels, in place of all that it had.
    pub fn labels(self, labels: Labels) -> Self {
        self.relabel(|old| old.replace(labels))
    }

    fn relabel(mut self, change: impl FnOnce(&mut Labels) -> Given) -> Self {
        let Some(metric) = self.draft.metric_mut() else {
            return self;
        };
        let Given { is_changed, problem } = change(&mut metric.labels);
        let problem = problem.map(|text| format!("metric {}: {text}", metric.name));
        if is_changed && matches!(self.draft.stage, Stage::Edited(_)) {
            self.draft.metrics.changes |= LABEL_CHANGE;
        }
        match problem {
            Some(text) => self.wrong(text),
            None => self,
        }
    }

    /// Sets who may store it: the clients for which `may` returns true, by default the superuser.
    /// Access is checked before the value is decoded, so that others do not even learn its type.
    pub fn writable_by(self, may: impl Fn(&Client) -> bool + 'static) -> Self {
        self.set(|metric| metric.writable_by = Some(Box::new(may)))
    }
}

impl<'m, S: 'static, T: 'static> Def<'m, S, T> {
    /// The same declaration, whose functions get the agent in place of a row. So metrics with
    /// instances and without have one type, and one place where they are configured:
    ///
    /// ```
    /// # use pmda::prelude::*;
    /// # struct Probe { name: String, kind: Type, unit: Unit, has_rows: bool }
    /// # struct Probes { values: Indom<u64>, sum: u64 }
    /// # fn declare(m: &mut Metrics<Probes>, probe: &Probe) {
    /// let rows = m.indom(0, "Values", |s| &mut s.values);
    /// let def = if probe.has_rows {
    ///     m.each_as(&probe.name, rows, probe.kind, |row, _| Ok((*row).into())).of_agent()
    /// } else {
    ///     m.value_as(&probe.name, probe.kind, |s, _| Ok(s.sum.into()))
    /// };
    /// def.counter().unit(probe.unit).help("From a file");
    /// # }
    /// ```
    pub fn of_agent(self) -> Def<'m, S, S> {
        let Def { draft, target } = self;
        let target = match target {
            Target::None => Target::None,
            Target::Agent(_) => Target::Agent(|state| state),
            target => Target::AgentIf(Rc::new(move |state, inst| target.find(state, inst).is_ok()), |state| {
                state
            }),
        };
        Def { draft, target }
    }

    /// Lets clients store it: the function gets the agent or the row, the new value and the client.
    /// The function of a metric that is edited cannot be changed.
    pub fn store<V: FromStore>(self, store: impl Fn(&mut T, V, &Client) -> Result<()> + 'static) -> Self {
        let target = self.target.clone();
        self.store_by(Box::new(move |state, inst, value, unit, client| {
            let target = target.find(state, inst)?;
            store(target, V::from_store(value, unit)?, client)
        }))
    }

    /// As [`Def::store`], with a function that gets the agent and the number of the instance, in
    /// place of its row; -1 for a metric without instances.
    pub fn store_inst<V: FromStore>(self, store: impl Fn(&mut S, i32, V, &Client) -> Result<()> + 'static) -> Self {
        let target = self.target.clone();
        self.store_by(Box::new(move |state, inst, value, unit, client| {
            target.find(state, inst)?;
            store(state, inst, V::from_store(value, unit)?, client)
        }))
    }

    fn store_by(self, store: Store<S>) -> Self {
        if matches!(self.draft.stage, Stage::Edited(_)) {
            let text = format!("metric {}: declare it anew for another store", self.name());
            return self.wrong(text);
        }
        self.set(|metric| metric.store = Some(store))
    }
}

impl<S> Draft<'_, S> {
    fn metric(&self) -> Option<&Metric<S>> {
        match &self.stage {
            Stage::New(metric, _) => Some(metric),
            Stage::Edited(slot) => self.metrics.table.at(*slot),
            Stage::Done => None,
        }
    }

    fn metric_mut(&mut self) -> Option<&mut Metric<S>> {
        match &mut self.stage {
            Stage::New(metric, _) => Some(metric),
            Stage::Edited(slot) => self.metrics.table.at_mut(*slot),
            Stage::Done => None,
        }
    }

    fn end(&mut self) -> std::result::Result<MetricRef, Problem> {
        let stage = std::mem::replace(&mut self.stage, Stage::Done);
        match (self.problem.take(), stage) {
            (Some(problem), _) => Err(problem),
            (None, Stage::New(metric, item)) => {
                let declared = self.metrics.insert(metric, item)?;
                if let Some(number) = &self.number {
                    number.set(Some(declared));
                }
                Ok(declared)
            }
            (None, Stage::Edited(slot)) => {
                let metric = self.metrics.table.at(slot);
                let metric = metric.map(|metric| MetricRef::new(metric.cluster, metric.item));
                metric.ok_or_else(|| Problem("the metric does not exist".to_owned()))
            }
            (None, Stage::Done) => Err(Problem("the metric is declared already".to_owned())),
        }
    }
}

/// Declares the metric, and takes note of its problem. If the agent panics while it declares the
/// metric, the metric is not declared.
impl<S> Drop for Draft<'_, S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // Before the start all problems are collected, so the other checks are made, too.
        let is_start = matches!(self.stage, Stage::New(..)) && !self.metrics.started;
        if let Some(Problem(text)) = self.problem.take_if(|_| is_start) {
            self.metrics.problem(text);
        }
        if matches!(self.stage, Stage::Done) && self.problem.is_none() {
            return;
        }
        let name = self.metric().map(|metric| Rc::clone(&metric.name));
        if let Err(Problem(text)) = self.end() {
            self.metrics.problem_of(name.as_deref().unwrap_or(&text), &text);
        }
    }
}
