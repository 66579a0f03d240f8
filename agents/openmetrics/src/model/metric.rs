//! A metric of a source: its definition, its instances or its value, and its labels.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, Hasher};
use std::rc::Rc;

use pmda::{Atom, Error, Indom, Labels, MetricRef, Result, Semantics, Type, Unit};

use super::budget::Budget;
use super::instances::{Common, Instances, Row};
use super::labels::{Fitting, Merged};
use super::losses::Loss;
use super::value::Value;
use crate::cache::{Table, Unsaved};
use crate::exposition::{Sample, Shortened};
use crate::filter::Config;
use crate::generation::Generation;
use crate::limits;
use crate::names::{self, Definition, LabelPairs};

/// The hash of what defines the metric of a sample: the comments, and whether it has labels.
fn hash(common: &Common, sample: &Sample<'_, '_>) -> u64 {
    let mut hasher = common.hasher.build_hasher();
    hasher.write_u8(u8::from(sample.label_text.is_empty()));
    sample.metadata.hash_definition(&mut hasher);
    hasher.finish()
}

/// The reason why clients do not know a metric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Another metric has its name.
    NameTaken,
    /// Its name lies in the part of the name space of the source with this name.
    OfSource(Box<str>),
}

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
    /// True if clients are to know it.
    pub is_shown: bool,
    /// The reason why clients cannot know it.
    pub refusal: Option<Refusal>,
    /// The hash of what says what it is. `None` if lines of the source's file may say otherwise.
    definition: Option<u64>,
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
    optional: LabelPairs,
    /// True if its labels are those of filters that have changed: the next sample has others.
    has_old_labels: bool,
    /// Labels that cannot be shown were logged.
    has_told: Cell<bool>,
}

impl Metric {
    /// A metric with its first sample, which [`Metric::store`] then takes. `table` makes the one of
    /// its instances, if it has any.
    ///
    /// # Errors
    /// The reason why there is no such table.
    pub(super) fn new(
        item: u32,
        definition: Definition,
        sample: &Sample<'_, '_>,
        config: &Rc<Config>,
        generation: Generation,
        table: impl FnOnce() -> std::result::Result<Table, Loss>,
    ) -> std::result::Result<Metric, Loss> {
        let labels = names::SampleLabels::of(sample, config);
        let is_singular = definition.is_singular || labels.is_empty();
        let common = Rc::new(Common {
            config: RefCell::new(Rc::clone(config)),
            generation,
            ..Common::default()
        });
        let table = (!is_singular).then(table).transpose()?;
        let instances = table.map(|table| Instances::new(table, &common));
        // The whole text is the first line itself if there is no other (OM-56).
        let help = definition.help.map(|help| format!("{}\n{}", help.short, help.long));
        Ok(Metric {
            item,
            definition: Some(hash(&common, sample)),
            refusal: None,
            name: definition.name,
            kind: definition.kind,
            semantics: definition.semantics,
            unit: definition.unit,
            // Without help both texts exist, and are empty.
            help: help.unwrap_or_else(|| "\n".to_owned()),
            declared: None,
            is_shown: true,
            // Documents are counted from 0.
            document: u64::MAX,
            has_pcp_line: definition.has_pcp_line,
            common,
            instances,
            value: Value::None,
            labels: Merged::of(labels.naming),
            optional: labels.optional,
            has_old_labels: false,
            has_told: Cell::new(false),
        })
    }

    /// Roughly what the comments and the first sample leave for good, in bytes: the help text, which
    /// clients are served another copy of, the name and labels.
    pub(super) fn kept_size(&self) -> usize {
        let optional = self.optional.iter().map(|(name, value)| name.len() + value.len());
        let labels = self.labels.values.iter().map(|(name, value)| name.len() + value.len());
        2 * (self.help.len() + self.name.len()) + optional.sum::<usize>() + labels.sum::<usize>()
    }

    /// Takes over the lines of the source's file, which has changed. What the metric is stays; filters of
    /// labels name the instances of the next document. Returns the number of bytes that are free then.
    pub(super) fn take_config(&mut self, config: &Rc<Config>) -> usize {
        let before = self.common.config.replace(Rc::clone(config));
        let has_same_labels = config.has_same_labels(&before);
        if !has_same_labels || !config.has_same_definitions(&before) {
            self.definition = None;
        }
        if has_same_labels {
            return 0;
        }
        self.has_old_labels = true;
        self.instances.as_mut().map_or(0, Instances::drop_series)
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
    /// The reason why the sample is not shown, or another one before it.
    pub(super) fn store(
        &mut self,
        sample: &Sample<'_, '_>,
        config: &Config,
        budget: &mut Budget,
    ) -> std::result::Result<(), Loss> {
        let value = Value::read(self.kind, sample.value);
        let has_value = value != Value::None;
        let document = self.common.document.get();
        let is_first = std::mem::replace(&mut self.document, document) != document;
        if self.has_old_labels && is_first {
            let labels = names::SampleLabels::of(sample, config);
            (self.labels, self.optional) = (Merged::of(labels.naming), labels.optional);
        }
        let outcome = match &mut self.instances {
            None => {
                self.value = value;
                if is_first { Ok(()) } else { Err(Loss::Repeated) }
            }
            Some(instances) => {
                let series = match instances.series(sample.label_text, &self.common) {
                    Some(series) => series,
                    None => instances.add(sample, config, self.has_pcp_line, &self.common, budget)?,
                };
                instances.set(series, value, document)
            }
        };
        self.common.has_values.set(self.common.has_values.get() | has_value);
        if has_value { outcome } else { Err(Loss::NoValue) }
    }

    /// Returns whether it would be another metric if this sample were its first one: comments, labels or
    /// lines may have changed, and the metric keeps its definition (OM-57). A sample without labels of a
    /// metric with instances is another loss.
    pub(super) fn is_defined_otherwise(&mut self, sample: &Sample<'_, '_>, config: &Config) -> bool {
        // A second group of its samples may be below other comments.
        if self.is_in_document() {
            return false;
        }
        let definition = hash(&self.common, sample);
        if self.definition == Some(definition) {
            return false;
        }
        let new = Definition::of(sample, config);
        let is_same = (new.kind, new.semantics, new.unit) == (self.kind, self.semantics, self.unit)
            && new.name == self.name
            && match self.has_instances() {
                true => !new.is_singular,
                false => new.is_singular || names::SampleLabels::of(sample, config).is_empty(),
            };
        if is_same {
            self.definition = Some(definition);
        }
        !is_same
    }

    /// Ends the document: shows new instances. Tells whether the metric's
    /// labels have changed (OM-66).
    pub(super) fn end(&mut self) -> bool {
        let has_new_labels = self.has_old_labels && self.is_in_document();
        self.has_old_labels &= !has_new_labels;
        let Some(instances) = &mut self.instances else {
            return has_new_labels;
        };
        instances.show_new(&self.common);
        if self.kind == Type::String {
            instances.drop_old_values(self.common.document.get());
        }
        instances.shrink_to_fit();
        let config = self.common.config.borrow();
        let series = instances.ends_in_another_order();
        series.is_some_and(|series| self.labels.merge(series, &config)) || has_new_labels
    }

    /// Saves the numbers of its instances, if that was not possible before. Returns those that are not on the
    /// disk.
    pub(super) fn save(&mut self) -> Unsaved {
        let instances = self.instances.as_mut();
        instances.map_or_else(Unsaved::default, Instances::save)
    }

    /// Forgets the series that were missing in documents for some time, and counts this look.
    /// Returns the number of bytes that they have taken.
    pub(super) fn forget(&mut self) -> usize {
        let instances = self.instances.as_mut();
        instances.map_or(0, |instances| instances.forget(&self.common))
    }

    /// Returns whether the last document has a sample of it.
    #[must_use]
    pub fn is_in_document(&self) -> bool {
        self.document == self.common.document.get()
    }

    /// The instances, if it has any.
    pub fn rows(&mut self) -> Option<&mut Indom<Row>> {
        self.instances.as_mut().map(|instances| &mut instances.rows)
    }

    /// Returns whether it has an instance domain.
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
                Shortened(&self.name),
                limits::LABELS,
                limits::LABEL_BYTES
            );
        }
        fitting.labels
    }
}
