//! A metric of a source: its definition, its instances or its value, and its labels.

use std::cell::Cell;
use std::rc::Rc;

use pmda::{Atom, Error, Indom, Labels, MetricRef, Result, Semantics, Type, Unit};

use super::budget::Budget;
use super::instances::{Common, Instances, Refusal, Row};
use super::labels::{Fitting, Merged};
use super::value::Value;
use crate::cache::Files;
use crate::exposition::{Excerpt, Sample};
use crate::filter::Config;
use crate::generation::Generation;
use crate::limits;
use crate::names::{self, Definition, LabelSet};

/// A metric.
#[derive(Debug)]
pub struct Metric {
    /// Its number within its source.
    pub item: u32,
    /// The name below those of the root and the source.
    pub name: String,
    /// Its type.
    pub kind: Type,
    /// Its semantics.
    pub semantics: Semantics,
    /// Its unit.
    pub unit: Unit,
    /// Its help text.
    pub help: String,
    /// Its number, when clients know it.
    pub declared: Option<MetricRef>,
    /// Whether clients are to know it.
    pub is_shown: bool,
    /// The number of the last document with a sample of it.
    document: u64,
    has_pcp_line: bool,
    common: Rc<Common>,
    /// `None` if it is singular.
    instances: Option<Instances>,
    /// The value of a singular one.
    value: Value,
    /// Labels that name instances, and those of the first sample (OM-66).
    labels: Merged,
    optional: LabelSet,
    /// Labels that cannot be shown were logged.
    has_told: Cell<bool>,
}

impl Metric {
    /// A metric with its first sample, which [`Metric::store`] then takes. What its file has of
    /// instances is charged to the budget.
    #[expect(clippy::too_many_arguments, reason = "each is one thing of its own")]
    pub(super) fn new(
        item: u32,
        serial: u32,
        definition: Definition,
        sample: &Sample<'_, '_>,
        config: &Rc<Config>,
        files: &Files,
        generation: Generation,
        budget: &mut Budget,
    ) -> Metric {
        let labels = names::Labels::of(sample, config);
        let is_singular = definition.is_singular || labels.is_empty();
        let common = Rc::new(Common {
            config: Rc::clone(config),
            generation,
            ..Common::default()
        });
        let instances = (!is_singular).then(|| Instances::load(files, serial, &common, budget));
        // The whole text is the first line itself if there is no other (OM-56).
        let help = definition.help.map(|help| format!("{}\n{}", help.short, help.long));
        Metric {
            item,
            name: definition.name,
            kind: definition.kind,
            semantics: definition.semantics,
            unit: definition.unit,
            // Without help the texts are empty; they are there, though.
            help: help.unwrap_or_else(|| "\n".to_owned()),
            declared: None,
            is_shown: true,
            document: 0,
            has_pcp_line: definition.has_pcp_line,
            common,
            instances,
            value: Value::None,
            labels: Merged::of(labels.naming),
            optional: labels.optional,
            has_told: Cell::new(false),
        }
    }

    /// Forgets the last document.
    pub(super) fn begin(&mut self) {
        self.common.document.set(self.common.document.get() + 1);
        self.common.has_values.set(false);
        self.value = Value::None;
        if let Some(instances) = &mut self.instances {
            instances.begin();
        }
    }

    /// Takes the value of a sample. A new series is charged to the budget.
    ///
    /// # Errors
    /// The reason why the sample has no place.
    pub(super) fn store(
        &mut self,
        sample: &Sample<'_, '_>,
        config: &Config,
        budget: &mut Budget,
    ) -> std::result::Result<(), Refusal> {
        let value = Value::read(self.kind, sample.value);
        let has_value = value != Value::None;
        self.document = self.common.document.get();
        match &mut self.instances {
            None => self.value = value,
            Some(instances) => {
                let series = match instances.series(sample.label_text, &self.common) {
                    Some(series) => series,
                    None => instances.add(sample, config, self.has_pcp_line, &self.common, budget)?,
                };
                instances.set(series, value, self.common.document.get());
            }
        }
        self.common.has_values.set(self.common.has_values.get() | has_value);
        Ok(())
    }

    /// Ends the document: shows new instances, and saves their numbers. Tells whether the metric's
    /// labels have changed (OM-66).
    pub(super) fn end(&mut self) -> bool {
        let Some(instances) = &mut self.instances else {
            return false;
        };
        instances.show_new(&self.common);
        instances.save();
        let config = &self.common.config;
        instances
            .ends_in_another_order()
            .is_some_and(|series| self.labels.merge(series, config))
    }

    /// Forgets the series that were not in documents for some time, of which this is a look.
    /// Returns the bytes that they have taken.
    pub(super) fn forget(&mut self) -> usize {
        let instances = self.instances.as_mut();
        instances.map_or(0, |instances| instances.forget(&self.common))
    }

    /// Whether the last document has a sample of it.
    #[must_use]
    pub fn is_in_document(&self) -> bool {
        self.document == self.common.document.get()
    }

    /// The instances, if it has any.
    pub fn rows(&mut self) -> Option<&mut Indom<Row>> {
        self.instances.as_mut().map(|instances| &mut instances.rows)
    }

    /// Whether it has an instance domain.
    #[must_use]
    pub fn has_instances(&self) -> bool {
        self.instances.is_some()
    }

    /// The value of a metric without instances.
    ///
    /// # Errors
    /// `PM_ERR_AGAIN` if the last document has no value of it.
    pub fn atom(&self) -> Result<Atom<'_>> {
        match self.value {
            Value::None => Err(Error::AGAIN),
            _ => Ok(self.value.atom()),
        }
    }

    /// Its labels (OM-66).
    #[must_use]
    pub fn labels(&self) -> Labels {
        let mut fitting = Fitting::new();
        for (name, value) in &self.optional {
            fitting.add(name, value, true);
        }
        for (name, value) in &self.labels.values {
            if self
                .optional
                .binary_search_by(|(optional, _)| optional.cmp(name))
                .is_err()
            {
                fitting.add(name, value, false);
            }
        }
        let beyond = fitting.beyond + usize::from(self.labels.has_more);
        if beyond > 0 && !self.has_told.replace(true) {
            log::error!(
                "metric {}: not all of its labels are shown: there may be {}, with {} bytes",
                Excerpt(&self.name),
                limits::LABELS,
                limits::LABEL_BYTES
            );
        }
        fitting.labels
    }
}
