//! Declaring metrics of each kind.

use std::cell::Cell;
use std::rc::Rc;

use pmda_core::ident::MetricId;

use super::Metrics;
use super::define::{Def, Target};
use super::domain::IndomRef;
use super::metric::{End, Fetch, Metric, MetricRef};
use crate::value::{Atom, Encoder, Semantics, Type, Value};
use crate::{Client, Error, Labels, Result, Unit, guard};

impl<S: 'static> Metrics<S> {
    /// Declares a metric with one value. The root and a dot come in front of its name.
    pub fn value<V: Value>(&mut self, name: &str, value: impl Fn(&S) -> V + 'static) -> Def<'_, S, S> {
        let fetch: Fetch<S> = Box::new(move |state, out, _, _| value(state).write(out));
        self.one(name, V::TYPE, V::UNIT, Some(fetch))
    }

    /// Declares a metric with one text, which is not copied.
    pub fn text(&mut self, name: &str, text: impl Fn(&S) -> &str + 'static) -> Def<'_, S, S> {
        let fetch: Fetch<S> = Box::new(move |state, out, _, _| out.text(text(state)));
        self.one(name, Type::String, Unit::NONE, Some(fetch))
    }

    /// As [`Metrics::text`], of a text that may be missing, or fail.
    pub fn try_text(&mut self, name: &str, text: impl Fn(&S) -> Result<Option<&str>> + 'static) -> Def<'_, S, S> {
        let fetch: Fetch<S> = Box::new(move |state, out, _, _| text(state)?.map_or(Ok(()), |text| out.text(text)));
        self.one(name, Type::String, Unit::NONE, Some(fetch))
    }

    /// Declares a metric with one value of a type that is known at run time only. The function also
    /// gets the client that asks.
    pub fn value_as(
        &mut self,
        name: &str,
        kind: Type,
        value: impl for<'s> Fn(&'s S, &Client) -> Result<Atom<'s>> + 'static,
    ) -> Def<'_, S, S> {
        let fetch: Fetch<S> = Box::new(move |state, out, _, client| value(state, client)?.write(out));
        self.one(name, kind, Unit::NONE, Some(fetch)).check_atom(kind)
    }

    /// Declares a metric with a value for each instance.
    pub fn each<T: 'static, V: Value>(
        &mut self,
        name: &str,
        indom: IndomRef<S, T>,
        value: impl Fn(&T) -> V + 'static,
    ) -> Def<'_, S, T> {
        self.instances(name, V::TYPE, V::UNIT, indom, move |row, out, _| value(row).write(out))
    }

    /// Declares a metric with a text for each instance, which is not copied.
    pub fn each_text<T: 'static>(
        &mut self,
        name: &str,
        indom: IndomRef<S, T>,
        text: impl Fn(&T) -> &str + 'static,
    ) -> Def<'_, S, T> {
        self.instances(name, Type::String, Unit::NONE, indom, move |row, out, _| {
            out.text(text(row))
        })
    }

    /// As [`Metrics::each_text`], of texts that may be missing, or fail.
    pub fn try_each_text<T: 'static>(
        &mut self,
        name: &str,
        indom: IndomRef<S, T>,
        text: impl Fn(&T) -> Result<Option<&str>> + 'static,
    ) -> Def<'_, S, T> {
        self.instances(name, Type::String, Unit::NONE, indom, move |row, out, _| {
            text(row)?.map_or(Ok(()), |text| out.text(text))
        })
    }

    /// As [`Metrics::value_as`], with a value for each instance.
    pub fn each_as<T: 'static>(
        &mut self,
        name: &str,
        indom: IndomRef<S, T>,
        kind: Type,
        value: impl for<'t> Fn(&'t T, &Client) -> Result<Atom<'t>> + 'static,
    ) -> Def<'_, S, T> {
        let write = move |row: &T, out: &mut Encoder<'_>, client: &Client| value(row, client)?.write(out);
        self.instances(name, kind, Unit::NONE, indom, write).check_atom(kind)
    }

    /// Declares a parameter of event records, with the declaration of `describe`. Its number is that
    /// of no metric if it cannot be declared.
    pub(crate) fn define_parameter<'m, R>(
        &'m mut self,
        name: &str,
        kind: Type,
        describe: impl FnOnce(Def<'m, S, S>) -> R,
    ) -> MetricId {
        let domain = self.domain();
        let declared = Rc::new(Cell::new(None));
        // What `describe` returns may be the declaration, which ends when that is dropped.
        drop(describe(self.one(name, kind, Unit::NONE, None).tell(&declared)));
        let metric = declared.get();
        metric.map_or(MetricId::NULL, |metric: MetricRef| {
            MetricId::new(domain, metric.cluster(), metric.item())
        })
    }

    /// Declares a metric whose values are the events of a queue that the client has not seen yet.
    pub(crate) fn define_events(&mut self, name: &str, kind: Type, fetch: Fetch<S>, ended: End<S>) -> Def<'_, S, S> {
        let mut metric = self.plain(name, kind, Unit::NONE, None, Some(fetch));
        metric.ended = Some(ended);
        Def::new(self, metric, Target::Agent(|state| state))
    }

    /// A metric without instances.
    fn one(&mut self, name: &str, kind: Type, unit: Unit, fetch: Option<Fetch<S>>) -> Def<'_, S, S> {
        let metric = self.plain(name, kind, unit, None, fetch);
        Def::new(self, metric, Target::Agent(|state| state))
    }

    /// A metric with instances, and the loop over the selected ones.
    fn instances<T: 'static>(
        &mut self,
        name: &str,
        kind: Type,
        unit: Unit,
        indom: IndomRef<S, T>,
        write: impl Fn(&T, &mut Encoder<'_>, &Client) -> Result<()> + 'static,
    ) -> Def<'_, S, T> {
        let serial = indom.serial();
        let Some(rows) = self.rows(indom) else {
            let metric = self.plain(name, kind, unit, Some(serial), None);
            let text = format!("metric {name}: instance domain {serial} is not declared, or has other rows");
            return Def::new(self, metric, Target::None).wrong(text);
        };
        let target = Target::Row(rows.clone());
        let fetch: Fetch<S> = Box::new(move |state, out, profile, client| {
            let Some(indom) = rows(state) else { return Ok(()) };
            let selection = profile.selection(serial);
            let (mut next, mut failure) = (0, None::<(i32, Error)>);
            // A row that panics costs its own value, and the walk goes on behind it.
            while let Err(panic) = guard::part(|| {
                indom.visit(selection, &mut next, |inst, row| {
                    if let Err(error) = write(row, out.at(inst), client) {
                        if failure.is_none() || is_of_memory(&error) {
                            failure = Some((inst, error));
                        }
                    }
                });
            }) {
                let inst = out.inst();
                let panic = panic.of(format_args!("instance {inst}"));
                failure = failure.or(Some((inst, panic)));
            }
            match failure.map(|(inst, error)| indom.about(inst, error)) {
                // An error of one instance counts only if no other one has a value. But a list that
                // could not grow is not shown as if it were whole.
                Some(error) if out.values() == 0 || is_of_memory(&error) => Err(error),
                failure => {
                    out.failure = failure;
                    Ok(())
                }
            }
        });
        let metric = self.plain(name, kind, unit, Some(serial), Some(fetch));
        Def::new(self, metric, target)
    }

    /// A metric of which nothing else is said yet.
    fn plain(&self, name: &str, kind: Type, unit: Unit, indom: Option<u32>, fetch: Option<Fetch<S>>) -> Box<Metric<S>> {
        Box::new(Metric {
            name: name.into(),
            cluster: self.cluster,
            item: 0,
            kind,
            semantics: Semantics::Instant,
            unit,
            indom,
            help: String::new(),
            labels: Labels::new(),
            fetch,
            store: None,
            ended: None,
            writable_by: None,
            cache: self.cache,
        })
    }
}

impl<S, T> Def<'_, S, T> {
    /// Refuses the types of event records, for which there is no [`Atom`].
    fn check_atom(self, kind: Type) -> Self {
        if matches!(kind, Type::Event | Type::HighresEvent) {
            return self.wrong(format!("type {kind:?} has no values of its own: see Metrics::events"));
        }
        self
    }
}

/// Returns whether an error is that of missing memory.
fn is_of_memory(error: &Error) -> bool {
    *error == Error::ENOMEM
}
