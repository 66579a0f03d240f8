//! A metric of a source: its instances, and their values in the last document.
//!
//! Each fetch brings the same series, nearly always in the same order. So a metric remembers them
//! in that order by the text of their labels, and expects the next one there. Only the labels of a
//! new series are parsed.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::rc::Rc;

use hashbrown::HashTable;
use pmda::{Atom, Error, Indom, Labels, MetricRef, Result, Semantics, Type, Unit};

use super::labels::{Fitting, Merged, labels_of};
use super::value::Value;
use crate::cache::{Files, Table};
use crate::exposition::{Excerpt, Sample};
use crate::filter::Config;
use crate::generation::Generation;
use crate::limits;
use crate::names::{self, Definition, LabelSet};

/// State that the instances of a metric share, each by an [`Rc`].
#[derive(Debug, Default)]
struct Common {
    /// The number of the last document: a [`Row`] with another one is not in it.
    document: Cell<u64>,
    /// Whether that document has a value.
    has_values: Cell<bool>,
    /// Whether names begin with numbers.
    has_prefix: Cell<bool>,
    /// The filters of the source, as they were when the metric was new.
    config: Rc<Config>,
    generation: Generation,
    /// Hashes the texts of series.
    hasher: RandomState,
}

/// An instance.
#[derive(Clone, Debug)]
pub struct Row {
    number: u32,
    value: Value,
    /// The number of the last document that has it.
    document: u64,
    common: Rc<Common>,
    /// The text of its last series' labels.
    labels: Option<Rc<str>>,
}

impl Row {
    /// Its value.
    ///
    /// # Errors
    /// `PM_ERR_AGAIN` if no instance of the metric has one (OM-63).
    pub fn atom(&self) -> Result<Atom<'_>> {
        if self.document == self.common.document.get() {
            return match self.value {
                Value::None => Err(Error::AGAIN),
                _ => Ok(self.value.atom()),
            };
        }
        if self.common.has_values.get() {
            Ok(Atom::None)
        } else {
            Err(Error::AGAIN)
        }
    }

    /// Its labels (OM-67); `shown` is its name for clients.
    #[must_use]
    pub fn labels(&self, shown: &str) -> Labels {
        let text = self.labels.as_deref().unwrap_or_default();
        let naming = labels_of(text, &self.common.config);
        let mut fitting = Fitting::new();
        if self.common.generation < Generation::V6_1 {
            let number = if self.common.has_prefix.get() {
                Cow::Borrowed(shown)
            } else {
                Cow::Owned(format!("{} {shown}", self.number))
            };
            fitting.add("instname", &number, true);
        }
        for (name, value) in naming.iter().filter(|(name, _)| name != "instname") {
            fitting.add(name, value, false);
        }
        fitting.labels
    }
}

/// Samples with the same labels, written in the same way, and the instance that they belong to.
#[derive(Debug)]
struct Series {
    /// The text of the labels.
    text: Rc<str>,
    /// The number of the instance.
    number: u32,
    /// Whether the labels name the instance.
    is_of_labels: bool,
}

/// The instances of a metric, and the series that have values for them.
#[derive(Debug)]
struct Instances {
    table: Table,
    rows: Indom<Row>,
    /// Instances that are not in the rows yet, numbered behind those.
    new: Vec<Row>,
    /// The number of the first of them.
    shown: usize,
    series: Vec<Series>,
    /// Their places by the hash of their texts.
    by_text: HashTable<u32>,
    /// The series that is expected next.
    next: usize,
    /// The series of the last document, in their order there.
    order: Vec<u32>,
    /// So many of them are those of this document, too.
    same: usize,
    /// This document has others.
    has_other_order: bool,
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

/// Why a sample has no place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// It has no label, and the metric has instances.
    NoLabels,
    /// The metric has as many instances as there may be.
    Instances,
    /// The names of the source take as much memory as they may.
    Memory,
}

impl Metric {
    /// A metric with its first sample, which [`Metric::store`] then takes.
    pub(super) fn new(
        item: u32,
        serial: u32,
        definition: Definition,
        sample: &Sample<'_, '_>,
        config: &Rc<Config>,
        files: &Files,
        generation: Generation,
    ) -> Metric {
        let labels = names::Labels::of(sample, config);
        let is_singular = definition.is_singular || labels.is_empty();
        let common = Rc::new(Common {
            config: Rc::clone(config),
            generation,
            ..Common::default()
        });
        let instances = (!is_singular).then(|| Instances::load(files, serial, &common));
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
            (instances.next, instances.same, instances.has_other_order) = (0, 0, false);
        }
    }

    /// Takes the value of a sample. `memory` is what names may still take, in bytes.
    ///
    /// # Errors
    /// The reason why the sample has no place.
    pub(super) fn store(
        &mut self,
        sample: &Sample<'_, '_>,
        config: &Config,
        memory: &mut usize,
    ) -> std::result::Result<(), Refusal> {
        let value = Value::read(self.kind, sample.value);
        let has_value = value != Value::None;
        self.document = self.common.document.get();
        match &mut self.instances {
            None => self.value = value,
            Some(instances) => {
                let series = match instances.series(sample.label_text, &self.common) {
                    Some(series) => series,
                    None => instances.add(sample, config, self.has_pcp_line, &self.common, memory)?,
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
        instances.table.save();
        // The next documents bring the same series: the list hardly grows any more.
        instances.series.shrink_to_fit();
        let config = &self.common.config;
        instances
            .ends_in_another_order()
            .is_some_and(|series| self.labels.merge(series, config))
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

impl Instances {
    /// The instances that the file of the domain has.
    fn load(files: &Files, serial: u32, common: &Rc<Common>) -> Instances {
        let table = Table::load(files, serial, limits::INSTANCES);
        common.has_prefix.set(table.has_prefix());
        let mut instances = Instances {
            rows: Indom::new().whole_names(),
            new: (0..table.count()).map(|number| Row::absent(number, common)).collect(),
            shown: 0,
            table,
            series: Vec::new(),
            by_text: HashTable::new(),
            next: 0,
            order: Vec::new(),
            same: 0,
            has_other_order: false,
        };
        instances.show_new(common);
        instances
    }

    /// The series with these labels, if it is known.
    #[inline]
    fn series(&mut self, text: &str, common: &Common) -> Option<usize> {
        let is_same = |place: usize| self.series.get(place).is_some_and(|series| *series.text == *text);
        let found = if is_same(self.next) {
            self.next
        } else {
            let hash = common.hasher.hash_one(text);
            *self.by_text.find(hash, |place| is_same(*place as usize))? as usize
        };
        self.next = found + 1;
        Some(found)
    }

    /// Adds a new series, whose instance may be known by another one, and returns its place.
    ///
    /// # Errors
    /// The reason why it has no place.
    fn add(
        &mut self,
        sample: &Sample<'_, '_>,
        config: &Config,
        has_pcp_line: bool,
        common: &Rc<Common>,
        memory: &mut usize,
    ) -> std::result::Result<usize, Refusal> {
        let labels = names::Labels::of(sample, config);
        if labels.is_empty() {
            return Err(Refusal::NoLabels);
        }
        let naming = if common.generation >= Generation::V6_1 && sample.label_text.contains('\\') {
            names::Labels::with_backslashes(sample, config).naming
        } else {
            labels.naming
        };
        let (name, is_of_labels) = names::instance_name(&naming, has_pcp_line);
        // Roughly: the text, the name twice, the labels, and their overhead.
        let size = 2 * (sample.label_text.len() + name.len()) + 400;
        *memory = memory.checked_sub(size).ok_or(Refusal::Memory)?;
        let number = self.table.number(&name).ok_or(Refusal::Instances)?;
        if is_of_labels {
            self.table.set_prefix();
        }
        if number as usize >= self.shown + self.new.len() {
            self.new.push(Row::absent(number, common));
        }
        let text: Rc<str> = sample.label_text.into();
        let place = self.series.len();
        let hasher = &common.hasher;
        let hash_of = |place: &u32| hasher.hash_one(self.series.get(*place as usize).map_or("", |series| &series.text));
        let short = u32::try_from(place).map_err(|_| Refusal::Instances)?;
        self.by_text.insert_unique(hasher.hash_one(&*text), short, hash_of);
        self.series.push(Series {
            text,
            number,
            is_of_labels,
        });
        self.next = place + 1;
        Ok(place)
    }

    /// Sets the value of the instance of a series, by the place of the series.
    fn set(&mut self, place: usize, value: Value, document: u64) {
        let Some(series) = self.series.get(place) else { return };
        let row = match (series.number as usize).checked_sub(self.shown) {
            Some(new) => self.new.get_mut(new),
            None => i32::try_from(series.number)
                .ok()
                .and_then(|number| self.rows.get_mut(number)),
        };
        let Some(row) = row else { return };
        row.value = value;
        row.document = document;
        if !row.labels.as_ref().is_some_and(|text| Rc::ptr_eq(text, &series.text)) {
            row.labels = Some(Rc::clone(&series.text));
        }
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        if self.order.get(self.same) != Some(&place) {
            self.order.truncate(self.same);
            self.order.push(place);
            self.has_other_order = true;
        }
        self.same += 1;
    }

    /// The texts of the series that labels name, if they or their order are others than in the
    /// document before.
    fn ends_in_another_order(&mut self) -> Option<impl Iterator<Item = &str>> {
        if self.order.len() > self.same {
            self.order.truncate(self.same);
            self.has_other_order = true;
        }
        self.order.shrink_to_fit();
        let series = self.order.iter().filter_map(|place| self.series.get(*place as usize));
        let series = series.filter(|series| series.is_of_labels);
        self.has_other_order.then(|| series.map(|series| &*series.text))
    }

    /// Shows the new instances, and all under other names if these have numbers now (OM-62).
    fn show_new(&mut self, common: &Rc<Common>) {
        self.shown += self.new.len();
        let has_prefix = self.table.has_prefix();
        if has_prefix != common.has_prefix.replace(has_prefix) {
            let rows = std::mem::take(&mut self.rows);
            let rows = rows.iter().map(|(_, row)| row.clone());
            self.new.splice(0..0, rows);
        }
        if self.new.is_empty() {
            return;
        }
        let new = std::mem::take(&mut self.new);
        let mut change = self.rows.change();
        for row in new {
            let (number, shown) = (row.number, self.table.shown(row.number).unwrap_or_default());
            let inst = i32::try_from(number).unwrap_or(i32::MAX);
            // Clients see a name up to its first NUL.
            let shown = shown.split('\0').next().unwrap_or_default();
            if let Err(error) = change.set_at(inst, shown, row) {
                log::error!("instance {number} \"{}\": {error}", Excerpt(shown));
            }
        }
    }
}

impl Row {
    /// An instance that no document has had yet.
    fn absent(number: u32, common: &Rc<Common>) -> Row {
        Row {
            number,
            value: Value::None,
            // Documents are counted from 1.
            document: u64::MAX,
            common: Rc::clone(common),
            labels: None,
        }
    }
}
