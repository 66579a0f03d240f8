//! Declaring metrics of each kind.

use std::cell::Cell;
use std::rc::Rc;

use pmda_core::ident::MetricId;

use super::Metrics;
use super::define::{Def, Target};
use super::domain::{IndomRef, Rows};
use super::metric::{End, Fetch, Metric, MetricRef};
use crate::client::{Client, ClientId};
use crate::error::{Error, Result};
use crate::guard;
use crate::indom::Indom;
use crate::labels::Labels;
use crate::unit::Unit;
use crate::value::{Atom, Encoder, Semantics, Type, Value};

impl<S: 'static> Metrics<S> {
    /// Declares a metric with one value. Its full name is the root, a dot and `name`.
    pub fn value<V: Value>(&mut self, name: impl AsRef<str>, value: impl Fn(&S) -> V + 'static) -> Def<'_, S, S> {
        let fetch: Fetch<S> = Box::new(move |state, out, _, _| value(state).write(out));
        self.one(name.as_ref(), V::TYPE, V::UNIT, Some(fetch))
    }

    /// Declares a metric with one text of the agent's, which is not copied. A text that is made for
    /// the request is a `String` of [`Metrics::value`].
    pub fn text(&mut self, name: impl AsRef<str>, text: impl Fn(&S) -> &str + 'static) -> Def<'_, S, S> {
        let fetch: Fetch<S> = Box::new(move |state, out, _, _| out.text(text(state)));
        self.one(name.as_ref(), Type::String, Unit::NONE, Some(fetch))
    }

    /// As [`Metrics::text`], of a text that may be missing, or fail.
    pub fn try_text(
        &mut self,
        name: impl AsRef<str>,
        text: impl Fn(&S) -> Result<Option<&str>> + 'static,
    ) -> Def<'_, S, S> {
        let fetch: Fetch<S> = Box::new(move |state, out, _, _| text(state)?.map_or(Ok(()), |text| out.text(text)));
        self.one(name.as_ref(), Type::String, Unit::NONE, Some(fetch))
    }

    /// Declares a metric with one value of a type that is known at run time only. The function also
    /// gets the client that asks.
    pub fn value_as(
        &mut self,
        name: impl AsRef<str>,
        kind: Type,
        value: impl for<'s> Fn(&'s S, &Client) -> Result<Atom<'s>> + 'static,
    ) -> Def<'_, S, S> {
        let fetch: Fetch<S> = Box::new(move |state, out, _, client| value(state, client)?.write(out));
        self.one(name.as_ref(), kind, Unit::NONE, Some(fetch)).check_atom(kind)
    }

    /// Declares a metric that exists in other versions of the agent, or on other hosts, and that is
    /// not supported here: it has no type (`PM_TYPE_NOSUPPORT`), and clients that fetch it get
    /// `PM_ERR_APPVERSION`.
    pub fn unsupported(&mut self, name: impl AsRef<str>) -> Def<'_, S, S> {
        let fetch: Fetch<S> = Box::new(|_, _, _, _| Err(Error::APPVERSION.logged()));
        self.one(name.as_ref(), Type::NoSupport, Unit::NONE, Some(fetch))
    }

    /// Declares a metric with a value for each instance.
    pub fn each<T: 'static, V: Value>(
        &mut self,
        name: impl AsRef<str>,
        indom: IndomRef<S, T>,
        value: impl Fn(&T) -> V + 'static,
    ) -> Def<'_, S, T> {
        self.instances(name.as_ref(), V::TYPE, V::UNIT, indom, move |row, out, _| {
            value(row).write(out)
        })
    }

    /// Declares a metric with a text for each instance, which is not copied.
    pub fn each_text<T: 'static>(
        &mut self,
        name: impl AsRef<str>,
        indom: IndomRef<S, T>,
        text: impl Fn(&T) -> &str + 'static,
    ) -> Def<'_, S, T> {
        self.instances(name.as_ref(), Type::String, Unit::NONE, indom, move |row, out, _| {
            out.text(text(row))
        })
    }

    /// As [`Metrics::each_text`], of texts that may be missing, or fail.
    pub fn try_each_text<T: 'static>(
        &mut self,
        name: impl AsRef<str>,
        indom: IndomRef<S, T>,
        text: impl Fn(&T) -> Result<Option<&str>> + 'static,
    ) -> Def<'_, S, T> {
        self.instances(name.as_ref(), Type::String, Unit::NONE, indom, move |row, out, _| {
            text(row)?.map_or(Ok(()), |text| out.text(text))
        })
    }

    /// As [`Metrics::value_as`], with a value for each instance.
    pub fn each_as<T: 'static>(
        &mut self,
        name: impl AsRef<str>,
        indom: IndomRef<S, T>,
        kind: Type,
        value: impl for<'t> Fn(&'t T, &Client) -> Result<Atom<'t>> + 'static,
    ) -> Def<'_, S, T> {
        let write = move |row: &T, out: &mut Encoder<'_>, client: &Client| value(row, client)?.write(out);
        self.instances(name.as_ref(), kind, Unit::NONE, indom, write)
            .check_atom(kind)
    }

    /// Declares a metric with a value for each instance that depends on more than its row: the
    /// function gets the agent and the number of the instance, by which it finds the row
    /// ([`Indom::get`](crate::Indom::get)) or anything else.
    ///
    /// ```
    /// # use pmda::prelude::*;
    /// # struct Disks { reads: Indom<u64>, seconds: u64 }
    /// # fn declare(m: &mut Metrics<Disks>) {
    /// let disks = m.indom(0, "Disks", |s| &mut s.reads);
    /// m.each_inst("rate", disks, |s, inst| s.reads.get(inst).map(|reads| reads / s.seconds.max(1)));
    /// # }
    /// ```
    pub fn each_inst<T: 'static, V: Value>(
        &mut self,
        name: impl AsRef<str>,
        indom: IndomRef<S, T>,
        value: impl Fn(&S, i32) -> V + 'static,
    ) -> Def<'_, S, T> {
        self.selected(name.as_ref(), V::TYPE, V::UNIT, indom, move |state, _, inst, out, _| {
            value(state, inst).write(out)
        })
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
        // `describe` may return the declaration, which ends when it is dropped.
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

    /// As [`Metrics::define_events`], with a queue for each instance.
    pub(crate) fn define_each_events<T: 'static>(
        &mut self,
        name: &str,
        kind: Type,
        indom: IndomRef<S, T>,
        write: impl Fn(&mut T, &mut Encoder<'_>, &Client) -> Result<()> + 'static,
        ended: impl Fn(&mut T, ClientId) + 'static,
    ) -> Def<'_, S, T> {
        let rows_to_end = self.find_rows(indom);
        let def = self.selected(
            name,
            kind,
            Unit::NONE,
            indom,
            move |state, rows, inst, out, client| match rows(state).and_then(|rows| rows.get_mut(inst)) {
                Some(row) => write(row, out, client),
                None => Ok(()),
            },
        );
        let tell = move |state: &mut S, client| {
            let rows = rows_to_end.as_ref().and_then(|rows| rows(state));
            rows.into_iter()
                .flat_map(Indom::rows_mut)
                .for_each(|row| ended(row, client));
        };
        def.on_end(Box::new(tell))
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
        let rows = match self.rows_of(name, kind, unit, indom) {
            Ok(rows) => rows,
            Err(metric) => return self.without_rows(metric, serial),
        };
        let target = Target::Row(rows.clone());
        let fetch: Fetch<S> = Box::new(move |state, out, profile, client| {
            let Some(indom) = rows(state) else { return Ok(()) };
            let selection = profile.selection(serial);
            let (mut next, mut failure) = (0, None::<(i32, Error)>);
            // A row that panics costs its own value, and the walk goes on after it.
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
            outcome_of(indom, out, failure)
        });
        let metric = self.plain(name, kind, unit, Some(serial), Some(fetch));
        Def::new(self, metric, target)
    }

    /// A metric with instances whose values need more than their rows: the numbers of the selected
    /// instances are listed first.
    fn selected<T: 'static>(
        &mut self,
        name: &str,
        kind: Type,
        unit: Unit,
        indom: IndomRef<S, T>,
        write: impl Fn(&mut S, &Rows<S, T>, i32, &mut Encoder<'_>, &Client) -> Result<()> + 'static,
    ) -> Def<'_, S, T> {
        let serial = indom.serial();
        let rows = match self.rows_of(name, kind, unit, indom) {
            Ok(rows) => rows,
            Err(metric) => return self.without_rows(metric, serial),
        };
        let target = Target::Row(rows.clone());
        let fetch: Fetch<S> = Box::new(move |state, out, profile, client| {
            let Some(indom) = rows(state) else { return Ok(()) };
            let mut failure = None::<(i32, Error)>;
            for inst in indom.selected(profile.selection(serial))? {
                // An instance that panics costs its own value.
                let written = guard::part(|| write(state, &rows, inst, out.at(inst), client));
                let written = written.unwrap_or_else(|panic| Err(panic.of(format_args!("instance {inst}"))));
                let written = written.and_then(|()| out.failure.take().map_or(Ok(()), Err));
                if let Err(error) = written {
                    if failure.is_none() || is_of_memory(&error) {
                        failure = Some((inst, error));
                    }
                }
            }
            match rows(state) {
                Some(indom) => outcome_of(indom, out, failure),
                None => Ok(()),
            }
        });
        let metric = self.plain(name, kind, unit, Some(serial), Some(fetch));
        Def::new(self, metric, target)
    }

    /// The function that finds the rows of a metric's instance domain; if that is not declared, the
    /// metric without it.
    fn rows_of<T: 'static>(
        &self,
        name: &str,
        kind: Type,
        unit: Unit,
        indom: IndomRef<S, T>,
    ) -> std::result::Result<Rows<S, T>, Box<Metric<S>>> {
        self.find_rows(indom)
            .ok_or_else(|| self.plain(name, kind, unit, Some(indom.serial()), None))
    }

    /// A metric whose instance domain is not declared.
    fn without_rows<T: 'static>(&mut self, metric: Box<Metric<S>>, serial: u32) -> Def<'_, S, T> {
        let name = &metric.name;
        let text = format!("metric {name}: instance domain {serial} is not declared, or has other rows");
        Def::new(self, metric, Target::None).wrong(text)
    }

    /// A metric without any further declaration.
    fn plain(&self, name: &str, kind: Type, unit: Unit, indom: Option<u32>, fetch: Option<Fetch<S>>) -> Box<Metric<S>> {
        Box::new(Metric {
            name: name.into(),
            cluster: self.cluster,
            item: 0,
            kind,
            semantics: Semantics::Instant,
            unit,
            indom,
            aliases: Vec::new(),
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
    /// Refuses the types that no [`Atom`] has.
    fn check_atom(self, kind: Type) -> Self {
        let other = match kind {
            Type::Event | Type::HighresEvent => "Metrics::events",
            Type::NoSupport => "Metrics::unsupported",
            _ => return self,
        };
        let text = format!(
            "metric {}: type {kind:?} has no values of its own: see {other}",
            self.name()
        );
        self.wrong(text)
    }
}

/// The outcome of a walk over instances; `failure` is its first one.
///
/// An error of one instance counts only if no other one has a value. But a list that could not grow
/// is not shown as if it were whole.
fn outcome_of<T>(indom: &Indom<T>, out: &mut Encoder<'_>, failure: Option<(i32, Error)>) -> Result<()> {
    match failure.map(|(inst, error)| indom.about(inst, error)) {
        Some(error) if out.values() == 0 || is_of_memory(&error) => Err(error),
        failure => {
            out.failure = failure;
            Ok(())
        }
    }
}

/// Returns whether an error is that of missing memory.
fn is_of_memory(error: &Error) -> bool {
    *error == Error::ENOMEM
}
