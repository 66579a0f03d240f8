//! Declaring metrics one by one.

use pmda_core::ident::MetricId;

use super::domain::{Domain, Rows, Typed};
use super::{End, Fetch, ITEMS, Metric, Metrics, NAMES_CHANGE};
use crate::value::{Encoder, FromStore, Semantics, Type, Value};
use crate::{Client, Error, Indom, Labels, Result, Unit};

/// A declared instance domain: metrics with [`Metrics::each`] have its instances.
pub struct IndomRef<S, T> {
    serial: u32,
    rows: Rows<S, T>,
}

impl<S, T> Clone for IndomRef<S, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, T> Copy for IndomRef<S, T> {}

impl<S, T> std::fmt::Debug for IndomRef<S, T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "instance domain {}", self.serial)
    }
}

/// How a store finds what it changes.
enum Target<S, T> {
    Agent(fn(&mut S) -> &mut T),
    Row(Rows<S, T>),
}

impl<S, T> Clone for Target<S, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, T> Copy for Target<S, T> {}

impl<S, T> Target<S, T> {
    fn find(self, state: &mut S, inst: i32) -> Result<&mut T> {
        match self {
            Target::Agent(find) => Ok(find(state)),
            Target::Row(rows) => rows(state).get_mut(inst).ok_or(Error::INST),
        }
    }
}

/// A metric that is being declared: what follows says more about it. `T` is what its functions see:
/// the agent, or the row of an instance.
pub struct Def<'m, S, T> {
    metrics: &'m mut Metrics<S>,
    /// `None` when it could not be declared.
    slot: Option<usize>,
    target: Target<S, T>,
}

impl<S, T> std::fmt::Debug for Def<'_, S, T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "metric {:?}", self.slot)
    }
}

impl<S: 'static> Metrics<S> {
    /// Declares an instance domain: `rows` finds it in the agent. The first line of the help is for
    /// lists, what follows is the long text.
    pub fn indom<T: 'static>(&mut self, serial: u32, help: &str, rows: fn(&mut S) -> &mut Indom<T>) -> IndomRef<S, T> {
        if serial >= 1 << 22 {
            self.problem(format!(
                "instance domain {serial}: the last possible one is {}",
                (1 << 22) - 1
            ));
        } else if self.indoms.contains_key(&serial) {
            self.problem(format!("instance domain {serial} is declared twice"));
        } else {
            let domain = Domain {
                serial,
                help: help.to_owned(),
                labels: Labels::new(),
                cluster: self.cluster,
                table: Box::new(Typed { rows, labels: None }),
            };
            self.indoms.insert(serial, domain);
        }
        IndomRef { serial, rows }
    }

    /// Gives an instance domain a label.
    pub fn indom_label<T>(&mut self, indom: IndomRef<S, T>, name: &str, value: &str) -> &mut Self {
        if let Some(domain) = self.indoms.get_mut(&indom.serial) {
            domain.labels.push_text(name, value, false);
            let made = domain.labels.set(0);
            self.check_labels(&made, format_args!("instance domain {}", indom.serial));
        }
        self
    }

    /// Gives the instances of a domain labels, by name and row.
    pub fn instance_labels<T: 'static>(
        &mut self,
        indom: IndomRef<S, T>,
        labels: impl Fn(&str, &T) -> Labels + 'static,
    ) -> &mut Self {
        if let Some(domain) = self.indoms.get_mut(&indom.serial) {
            domain.table = Box::new(Typed {
                rows: indom.rows,
                labels: Some(Box::new(labels)),
            });
        }
        self
    }

    /// Declares a metric with one value. The agent's name and a dot come in front of its name.
    pub fn value<V: Value>(&mut self, name: &str, value: impl Fn(&S) -> V + 'static) -> Def<'_, S, S> {
        let fetch: Fetch<S> = Box::new(move |state, out, _, _| value(state).write(out));
        self.define(
            name,
            (V::TYPE, V::UNIT),
            None,
            Some(fetch),
            Target::Agent(|state| state),
        )
    }

    /// Declares a metric with one text, which is not copied.
    pub fn text(&mut self, name: &str, text: impl Fn(&S) -> &str + 'static) -> Def<'_, S, S> {
        let fetch: Fetch<S> = Box::new(move |state, out, _, _| text(state).write(out));
        self.define(
            name,
            (Type::String, Unit::NONE),
            None,
            Some(fetch),
            Target::Agent(|state| state),
        )
    }

    /// Declares a metric with a value for each instance.
    pub fn each<T: 'static, V: Value>(
        &mut self,
        name: &str,
        indom: IndomRef<S, T>,
        value: impl Fn(&T) -> V + 'static,
    ) -> Def<'_, S, T> {
        let fetch = each(indom, move |row, out| value(row).write(out));
        self.define(
            name,
            (V::TYPE, V::UNIT),
            Some(indom.serial),
            Some(fetch),
            Target::Row(indom.rows),
        )
    }

    /// Declares a metric with a text for each instance, which is not copied.
    pub fn each_text<T: 'static>(
        &mut self,
        name: &str,
        indom: IndomRef<S, T>,
        text: impl Fn(&T) -> &str + 'static,
    ) -> Def<'_, S, T> {
        let fetch = each(indom, move |row, out| text(row).write(out));
        self.define(
            name,
            (Type::String, Unit::NONE),
            Some(indom.serial),
            Some(fetch),
            Target::Row(indom.rows),
        )
    }

    /// Declares a parameter of events.
    pub(crate) fn define_parameter(
        &mut self,
        name: &str,
        kind: Type,
        describe: impl FnOnce(Def<'_, S, S>),
    ) -> MetricId {
        let domain = self.domain;
        let mut number = MetricId::NULL;
        let mut def = self.define(name, (kind, Unit::NONE), None, None, Target::Agent(|state| state));
        let slot = def.slot;
        if def.metric().is_some() {
            describe(def);
        }
        if let Some(metric) = slot.and_then(|slot| self.list.get(slot)?.as_ref()) {
            number = MetricId::new(domain, metric.cluster, metric.item);
        }
        number
    }

    /// Declares a metric whose values are the events of a queue that the client has not seen yet.
    pub(crate) fn define_events(&mut self, name: &str, kind: Type, fetch: Fetch<S>, ended: End<S>) -> Def<'_, S, S> {
        let def = self.define(
            name,
            (kind, Unit::NONE),
            None,
            Some(fetch),
            Target::Agent(|state| state),
        );
        def.set(|metric| metric.ended = Some(ended))
    }

    fn define<T>(
        &mut self,
        name: &str,
        (kind, unit): (Type, Unit),
        indom: Option<u32>,
        fetch: Option<Fetch<S>>,
        target: Target<S, T>,
    ) -> Def<'_, S, T> {
        let slot = self.add(name, kind, unit, indom, fetch);
        Def {
            metrics: self,
            slot,
            target,
        }
    }

    fn add(
        &mut self,
        name: &str,
        kind: Type,
        unit: Unit,
        indom: Option<u32>,
        fetch: Option<Fetch<S>>,
    ) -> Option<usize> {
        if !is_name(name) {
            self.problem(format!("metric \"{name}\": a name is made of parts between dots, each a letter and then letters, digits and underscores"));
            return None;
        }
        if self.has(name) {
            self.problem(format!("metric {name} is declared twice"));
            return None;
        }
        if let Some(other) = self.above_or_below(name) {
            self.problem(format!(
                "metric {name} cannot be beside metric {other}: one would be below the other"
            ));
            return None;
        }
        let item = self.next_item(name)?;
        let slot = self.list.iter().position(Option::is_none).filter(|_| self.started);
        let slot = slot.unwrap_or(self.list.len());
        let metric = Metric {
            name: name.to_owned(),
            cluster: self.cluster,
            item,
            kind,
            semantics: Semantics::Instant,
            unit,
            indom,
            help: String::new(),
            labels: Labels::new(),
            fetch,
            store: None,
            ended: None,
            writable_by: |client| client.uid() == Some(0),
            cache: self.cache,
        };
        self.by_name.insert(metric.name.clone(), slot);
        self.current().insert(item, slot);
        match self.list.get_mut(slot) {
            Some(place) => *place = Some(metric),
            None => self.list.push(Some(metric)),
        }
        self.changes |= NAMES_CHANGE;
        Some(slot)
    }

    /// A metric that the name of a new one is below, or that would be below it.
    fn above_or_below(&self, name: &str) -> Option<String> {
        let above = name.match_indices('.').map(|(dot, _)| &name[..dot]);
        let above = above.into_iter().find(|above| self.has(above)).map(str::to_owned);
        above.or_else(|| {
            let first = format!("{name}.");
            let next = self.by_name.range(first.clone()..).next();
            next.filter(|(below, _)| below.starts_with(&first))
                .map(|(below, _)| below.clone())
        })
    }

    /// The item of a new metric in the current cluster.
    fn next_item(&mut self, name: &str) -> Option<u32> {
        if let Some(cache) = self.cache {
            let item = self.numbers.number(cache, name);
            return match item {
                Ok(item) if self.current().slot(item).is_none() => Some(item),
                Ok(item) => {
                    self.problem(format!("metric {name}: {}.{item} is another metric's", self.cluster));
                    None
                }
                Err(error) => {
                    self.problem(format!("metric {name} gets no number: {error}"));
                    None
                }
            };
        }
        let cluster = self.current();
        let item = (cluster.next..ITEMS).find(|item| cluster.slot(*item).is_none());
        match item {
            Some(item) => cluster.next = item + 1,
            None => self.problem(format!("metric {name}: cluster {} is full", self.cluster)),
        }
        item
    }
}

/// The loop over the selected instances of a domain.
fn each<S: 'static, T: 'static>(
    indom: IndomRef<S, T>,
    write: impl Fn(&T, &mut Encoder<'_>) -> Result<()> + 'static,
) -> Fetch<S> {
    Box::new(move |state, out, profile, _| {
        let mut failure = None;
        let rows = (indom.rows)(state);
        rows.visit(profile.selection(indom.serial), |inst, row| {
            if let Err(error) = write(row, out.at(inst)) {
                failure = Some(error);
            }
        });
        match failure {
            // The others have values.
            Some(error) if out.values() == 0 => Err(error),
            _ => Ok(()),
        }
    })
}

/// Whether a metric may have this name below the agent's.
pub(crate) fn is_name(name: &str) -> bool {
    name.split('.').all(|part| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

impl<S: 'static, T: 'static> Def<'_, S, T> {
    fn set(mut self, change: impl FnOnce(&mut Metric<S>)) -> Self {
        if let Some(metric) = self.metric() {
            change(metric);
        }
        self
    }

    fn metric(&mut self) -> Option<&mut Metric<S>> {
        self.metrics.list.get_mut(self.slot?)?.as_mut()
    }

    /// It grows all the time: clients show its rate.
    pub fn counter(self) -> Self {
        self.set(|metric| metric.semantics = Semantics::Counter)
    }

    /// It is what it is at this moment; this is what a metric is unless it says otherwise.
    pub fn instant(self) -> Self {
        self.set(|metric| metric.semantics = Semantics::Instant)
    }

    /// It changes seldom, and keeps its value in between.
    pub fn discrete(self) -> Self {
        self.set(|metric| metric.semantics = Semantics::Discrete)
    }

    /// Its unit.
    pub fn unit(self, unit: Unit) -> Self {
        self.set(|metric| metric.unit = unit)
    }

    /// Its help: the first line is for lists, what follows is the long text.
    pub fn help(self, help: &str) -> Self {
        self.set(|metric| metric.help = help.to_owned())
    }

    /// Its number in its cluster; those that follow count on from it.
    pub fn item(mut self, item: u32) -> Self {
        let Some(slot) = self.slot else { return self };
        let Some((cluster, old)) = self.metric().map(|metric| (metric.cluster, metric.item)) else {
            return self;
        };
        if item >= ITEMS {
            let last = ITEMS - 1;
            self.metrics.problem(format!(
                "item {item} of cluster {cluster}: the last possible one is {last}"
            ));
            return self;
        }
        self.metrics.clusters.at(cluster).remove(old);
        if let Some(other) = self.metrics.clusters.at(cluster).insert(item, slot) {
            let name = |slot: usize| self.metrics.list.get(slot)?.as_ref().map(|metric| metric.name.clone());
            let (one, other) = (name(other).unwrap_or_default(), name(slot).unwrap_or_default());
            self.metrics.problem(format!(
                "metrics {one} and {other} both have the number {cluster}.{item}"
            ));
        }
        self.metrics.current().next = item + 1;
        self.set(|metric| metric.item = item)
    }

    /// Gives it a label.
    pub fn label(self, name: &str, value: &str) -> Self {
        self.add_label(name, value, false)
    }

    /// Gives it a label that does not tell it apart from others, such as a note.
    pub fn optional_label(self, name: &str, value: &str) -> Self {
        self.add_label(name, value, true)
    }

    fn add_label(mut self, name: &str, value: &str, optional: bool) -> Self {
        let Some(metric) = self.metric() else { return self };
        metric.labels.push_text(name, value, optional);
        if let Err(error) = metric.labels.set(0) {
            let text = format!("labels of metric {}: {error}", metric.name);
            self.metrics.problem(text);
        }
        self
    }

    /// Says which clients may store it; unless this is said, the superuser may. It is asked before
    /// the value is decoded.
    pub fn writable_by(self, may: fn(&Client) -> bool) -> Self {
        self.set(|metric| metric.writable_by = may)
    }

    /// Lets clients store it: the function gets what holds the value, the new one and the client.
    pub fn store<V: FromStore>(self, store: impl Fn(&mut T, V, &Client) -> Result<()> + 'static) -> Self {
        let target = self.target;
        self.set(|metric| {
            metric.store = Some(Box::new(move |state, inst, value, unit, client| {
                let place = target.find(state, inst)?;
                store(place, V::from_store(value, unit)?, client)
            }));
        })
    }
}
