//! The instances of a metric, and their values in the last document.
//!
//! Each fetch brings the same series, nearly always in the same order. So a metric remembers them
//! in that order by the text of their labels, and expects the next one there. Only the labels of a
//! new series are parsed.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::rc::Rc;

use hashbrown::HashTable;
use pmda::{Atom, Error, Indom, Labels, Result};

use super::budget::Budget;
use super::labels::{Fitting, labels_of};
use super::losses::Loss;
use super::value::Value;
use crate::cache::{Table, Unsaved};
use crate::exposition::{Sample, Shortened};
use crate::filter::Config;
use crate::generation::Generation;
use crate::names;

/// The number of looks without a series or an instance after which the next look forgets it.
const IDLE: u8 = 4;

/// State that the instances of a metric share, each by an [`Rc`].
#[derive(Debug, Default)]
pub(super) struct Common {
    /// The number of the last document: a [`Row`] with another one is not in it.
    pub(super) document: Cell<u64>,
    /// True if that document has a value.
    pub(super) has_values: Cell<bool>,
    /// True if names begin with numbers.
    pub(super) has_prefix: Cell<bool>,
    /// The lines of the source's file.
    pub(super) config: RefCell<Rc<Config>>,
    pub(super) generation: Generation,
    /// Hashes the texts of series.
    pub(super) hasher: RandomState,
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
    /// At how many looks it was not there since it was last seen.
    idle: u8,
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

    /// Returns whether it has a text, perhaps of a document before the last one.
    #[cfg(test)]
    pub(super) fn has_text(&self) -> bool {
        matches!(self.value, Value::Text(_))
    }

    /// Its labels (OM-67); `shown` is its name for clients.
    #[must_use]
    pub fn labels(&self, shown: &str) -> Labels {
        let text = self.labels.as_deref().unwrap_or_default();
        let naming = labels_of(text, &self.common.config.borrow());
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
    /// True if the labels name the instance.
    is_of_labels: bool,
    /// As that of its instance, which may have others.
    idle: u8,
}

/// The instances of a metric, and the series that have values for them.
#[derive(Debug)]
pub(super) struct Instances {
    table: Table,
    pub(super) rows: Indom<Row>,
    /// Instances that are not in the rows yet, numbered after those in the rows.
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
    /// The number of these series that this document has in the same order so far.
    same: usize,
    /// True if this document has other series, or another order.
    has_other_order: bool,
}

impl Instances {
    /// The instances of a table, whose names are charged.
    pub(super) fn new(table: Table, common: &Rc<Common>) -> Instances {
        common.has_prefix.set(table.has_prefix());
        let absent = table.names().map(|(number, _)| Row::absent(number, common));
        let mut instances = Instances {
            rows: Indom::new().whole_names(),
            new: absent.collect(),
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

    /// Begins a document.
    pub(super) fn begin(&mut self) {
        (self.next, self.same, self.has_other_order) = (0, 0, false);
    }

    /// Drops the values that were not in this document: texts may be long.
    pub(super) fn drop_old_values(&mut self, document: u64) {
        for row in self.rows.rows_mut().filter(|row| row.document != document) {
            row.value = Value::None;
        }
    }

    /// Saves the numbers of new instances. Returns those that are not on the disk.
    pub(super) fn save(&mut self) -> Unsaved {
        self.table.save();
        self.table.unsaved()
    }

    /// Gives back memory: the next documents bring the same series, and the list hardly grows any more.
    pub(super) fn shrink_to_fit(&mut self) {
        self.series.shrink_to_fit();
    }

    /// The series with these labels, if it is known.
    #[inline]
    pub(super) fn series(&mut self, text: &str, common: &Common) -> Option<usize> {
        let is_same = |index: usize| self.series.get(index).is_some_and(|series| *series.text == *text);
        let index = if is_same(self.next) {
            self.next
        } else {
            let hash = common.hasher.hash_one(text);
            *self.by_text.find(hash, |index| is_same(*index as usize))? as usize
        };
        self.next = index + 1;
        Some(index)
    }

    /// Adds a new series, whose instance may be known by another one, and returns its index.
    ///
    /// # Errors
    /// The reason why it is not shown.
    pub(super) fn add(
        &mut self,
        sample: &Sample<'_, '_>,
        config: &Config,
        has_pcp_line: bool,
        common: &Rc<Common>,
        budget: &mut Budget,
    ) -> std::result::Result<usize, Loss> {
        let labels = names::SampleLabels::of(sample, config);
        if labels.is_empty() {
            return Err(Loss::NoLabels);
        }
        let naming = if common.generation >= Generation::V6_1 && sample.label_text.contains('\\') {
            names::SampleLabels::with_backslashes(sample, config).naming
        } else {
            labels.naming
        };
        let (name, is_of_labels) = names::instance_name(&naming, has_pcp_line);
        let has_number = self.table.knows(&name);
        let instance = match has_number {
            false => instance_size(&name),
            // Its number was charged when the table was loaded.
            true if self.is_absent(&name) => instance_size(&name) - number_size(&name),
            true => 0,
        };
        let size = instance + series_size(sample.label_text);
        budget.admit(size, has_number)?;
        let number = self.table.number(&name);
        let number = number.map_err(|full| Loss::of(full, Loss::Instances))?;
        budget.charge(size);
        if is_of_labels {
            self.table.set_prefix();
        }
        if number as usize >= self.shown + self.new.len() {
            self.new.push(Row::absent(number, common));
        }
        let series = Series {
            text: sample.label_text.into(),
            number,
            is_of_labels,
            idle: 0,
        };
        self.add_series(series, &common.hasher)
    }

    /// Adds a series behind the others. Returns its index.
    fn add_series(&mut self, series: Series, hasher: &RandomState) -> std::result::Result<usize, Loss> {
        let index = self.series.len();
        let hash_of = |index: &u32| hasher.hash_one(self.series.get(*index as usize).map_or("", |series| &series.text));
        let stored = u32::try_from(index).map_err(|_| Loss::Instances)?;
        self.by_text
            .insert_unique(hasher.hash_one(&*series.text), stored, hash_of);
        self.series.push(series);
        self.next = index + 1;
        Ok(index)
    }

    /// Returns whether a known name is that of an instance that no document has had since the
    /// start.
    fn is_absent(&mut self, name: &str) -> bool {
        let number = self.table.number(name).unwrap_or(u32::MAX);
        let row = match (number as usize).checked_sub(self.shown) {
            Some(new) => self.new.get(new),
            None => i32::try_from(number).ok().and_then(|number| self.rows.get(number)),
        };
        row.is_none_or(Row::is_absent)
    }

    /// Sets the value of the instance of a series, by the index of the series.
    ///
    /// # Errors
    /// The reason why a sample is not shown: this one, or the one before that had the instance.
    pub(super) fn set(&mut self, index: usize, value: Value, document: u64) -> std::result::Result<(), Loss> {
        let series = self.series.get_mut(index).ok_or(Loss::SameName)?;
        series.idle = 0;
        let row = match (series.number as usize).checked_sub(self.shown) {
            Some(new) => self.new.get_mut(new),
            None => i32::try_from(series.number)
                .ok()
                .and_then(|number| self.rows.get_mut(number)),
        };
        let row = row.ok_or(Loss::SameName)?;
        let is_repeated = row.document == document;
        row.value = value;
        row.document = document;
        row.idle = 0;
        if !row.labels.as_ref().is_some_and(|text| Rc::ptr_eq(text, &series.text)) {
            row.labels = Some(Rc::clone(&series.text));
        }
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        if self.order.get(self.same) != Some(&index) {
            self.order.truncate(self.same);
            self.order.push(index);
            self.has_other_order = true;
        }
        self.same += 1;
        if is_repeated { Err(Loss::Repeated) } else { Ok(()) }
    }

    /// Forgets which instances the series have, since filters of labels have changed: the next document
    /// names its instances by other labels. The instances keep their numbers. Returns the number of bytes that
    /// the series have taken.
    pub(super) fn drop_series(&mut self) -> usize {
        let freed = self.series.iter().map(|series| series_size(&series.text)).sum();
        self.by_text.clear();
        self.series.clear();
        self.order.clear();
        self.begin();
        for row in self.rows.rows_mut().chain(&mut self.new) {
            row.labels = None;
        }
        freed
    }

    /// The texts of the series that labels name, if they or their order are others than in the
    /// document before.
    pub(super) fn ends_in_another_order(&mut self) -> Option<impl Iterator<Item = &str>> {
        if self.order.len() > self.same {
            self.order.truncate(self.same);
            self.has_other_order = true;
        }
        self.order.shrink_to_fit();
        let series = self.order.iter().filter_map(|index| self.series.get(*index as usize));
        let series = series.filter(|series| series.is_of_labels);
        self.has_other_order.then(|| series.map(|series| &*series.text))
    }

    /// Forgets the series and the instances that were missing for [`IDLE`] looks, this one
    /// included. Returns the number of bytes that they have taken.
    pub(super) fn forget(&mut self, common: &Common) -> usize {
        let mut freed = 0;
        let mut new_indexes = Vec::with_capacity(self.series.len());
        let mut kept = 0;
        self.series.retain_mut(|series| {
            let is_kept = series.idle < IDLE;
            series.idle += 1;
            new_indexes.push(kept);
            kept += u32::from(is_kept);
            if !is_kept {
                freed += series_size(&series.text);
            }
            is_kept
        });
        if kept as usize != new_indexes.len() {
            self.series.shrink_to_fit();
            // The last document has none of those that are forgotten.
            for index in &mut self.order {
                *index = new_indexes.get(*index as usize).copied().unwrap_or_default();
            }
            self.by_text.clear();
            let (all, hasher) = (&self.series, &common.hasher);
            let hash_of = |index: &u32| hasher.hash_one(all.get(*index as usize).map_or("", |series| &series.text));
            self.by_text.shrink_to(all.len(), hash_of);
            for index in 0..kept {
                self.by_text.insert_unique(hash_of(&index), index, hash_of);
            }
        }
        let mut gone = 0;
        for row in self.rows.rows_mut() {
            if row.idle >= IDLE {
                gone += 1;
                let name = self.table.name(row.number).unwrap_or_default();
                freed += if row.is_absent() {
                    number_size(name)
                } else {
                    instance_size(name)
                };
            }
            row.idle += 1;
        }
        if gone > 0 {
            let rows = std::mem::replace(&mut self.rows, Indom::new().whole_names());
            let rows = rows.iter().filter(|(_, row)| row.idle <= IDLE);
            self.new = rows.map(|(_, row)| row.clone()).collect();
            self.show();
            let rows = &self.rows;
            self.table
                .forget(|number| i32::try_from(number).is_ok_and(|number| rows.get(number).is_none()));
        }
        freed
    }

    /// Shows the new instances, and all under other names if these have numbers now (OM-62).
    pub(super) fn show_new(&mut self, common: &Rc<Common>) {
        self.shown = self.table.count() as usize;
        let has_prefix = self.table.has_prefix();
        if has_prefix != common.has_prefix.replace(has_prefix) {
            let rows = std::mem::replace(&mut self.rows, Indom::new().whole_names());
            let rows = rows.iter().map(|(_, row)| row.clone());
            self.new.splice(0..0, rows);
        }
        self.show();
    }

    fn show(&mut self) {
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
                log::error!("instance {number} \"{}\": {error}", Shortened(shown));
            }
        }
    }
}

/// Roughly what a series takes in bytes: the text of its labels, the labels, and their overhead.
pub(super) fn series_size(text: &str) -> usize {
    2 * text.len() + 150
}

/// Roughly what an instance takes in bytes: its name twice, and its row.
pub(super) fn instance_size(name: &str) -> usize {
    2 * name.len() + 250
}

/// Roughly what a number takes in bytes that was loaded from a file: its name, and the row of an
/// instance without values. Measured: 110 for names of eight bytes.
pub(super) fn number_size(name: &str) -> usize {
    2 * name.len() + 100
}

impl Row {
    /// Returns whether no document has had the instance yet.
    fn is_absent(&self) -> bool {
        self.document == u64::MAX
    }

    /// An instance that no document has had yet.
    fn absent(number: u32, common: &Rc<Common>) -> Row {
        Row {
            number,
            value: Value::None,
            // Documents are counted from 1.
            document: u64::MAX,
            common: Rc::clone(common),
            labels: None,
            idle: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pmda::Type;

    use super::*;
    use crate::cache::Files;
    use crate::exposition::Parser;
    use crate::limits;

    /// A series as the agent should have it.
    struct ExpectedSeries {
        number: u32,
        idle: u8,
    }

    fn text(series: char) -> String {
        format!("x=\"{series}\"")
    }

    /// Takes a document, whose values are `value`. Returns the texts of its series if they or
    /// their order are others than before.
    fn take(instances: &mut Instances, common: &Rc<Common>, series: &[char], value: u32) -> Option<Vec<String>> {
        let lines = series.iter().map(|series| format!("m{{{}}} {value}\n", text(*series)));
        let document: String = lines.collect();
        common.document.set(common.document.get() + 1);
        instances.begin();
        let mut parser = Parser::new(&document);
        while let Some(sample) = parser.next_sample() {
            let sample = sample.expect("good");
            let index = instances.series(sample.label_text, common).unwrap_or_else(|| {
                let mut budget = Budget::new(usize::MAX);
                let added = instances.add(&sample, &Config::default(), false, common, &mut budget);
                added.expect("there is room")
            });
            let value = Value::read(Type::U32, sample.value);
            assert_eq!(instances.set(index, value, common.document.get()), Ok(()));
        }
        instances.show_new(common);
        let changed = instances.ends_in_another_order();
        changed.map(|series| series.map(str::to_owned).collect())
    }

    /// The charged size of a series is not less than its texts have: the labels, and the name
    /// twice.
    #[test]
    fn sizes() {
        for (text, name) in [(0, 0), (1, 10_000), (10_000, 1), (10_000, 10_000)] {
            let (text, name) = ("x".repeat(text), "y".repeat(name));
            let least = text.len() + 2 * name.len();
            let size = series_size(&text) + instance_size(&name);
            assert!((least..=2 * least + 1000).contains(&size), "{size} for {least}");
        }
    }

    /// Documents with the same series or others, in the same order or another: each value is that
    /// of its instance, numbers stay, and a series that was missing for [`IDLE`] looks is forgotten
    /// at the next one (OM-22, OM-62, OM-66).
    #[test]
    fn series_that_come_and_go() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = Files::new(directory.path(), 144);
        let common = Rc::new(Common::default());
        let mut instances = Instances::new(Table::load(&files, 4096, limits::INSTANCES), &common);
        let mut model: BTreeMap<char, ExpectedSeries> = BTreeMap::new();
        let mut next = 0;
        let mut last: Vec<char> = Vec::new();
        let mut random = 1_u32;
        let mut forgotten = 0;
        for round in 1..=2000 {
            let mut draw = |below: u32| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (random >> 16) % below
            };
            let mut series = last.clone();
            let half = series.len() / 2;
            match draw(5) {
                0 => series.rotate_left(half),
                1 => series.truncate(half),
                2 => {
                    let new = char::from(b'a' + draw(20) as u8);
                    series.retain(|other| *other != new);
                    series.insert(draw(series.len() as u32 + 1) as usize, new);
                }
                _ => {}
            }
            let changed = take(&mut instances, &common, &series, round);
            let expected: Vec<String> = series.iter().map(|series| text(*series)).collect();
            assert_eq!(changed, (series != last).then_some(expected), "round {round}");
            assert_eq!(instances.order.len(), series.len());
            for series in &series {
                let expected = model.entry(*series).or_insert_with(|| {
                    next += 1;
                    ExpectedSeries {
                        number: next - 1,
                        idle: 0,
                    }
                });
                expected.idle = 0;
            }
            for (name, expected) in &model {
                let row = instances.rows.get(expected.number as i32).expect("it is shown");
                let is_there = row.document == common.document.get() && row.value == Value::U32(round);
                assert_eq!(is_there, series.contains(name), "round {round}: {name}");
            }
            if draw(3) == 0 {
                let idle = model.iter().filter(|(_, expected)| expected.idle >= IDLE);
                let sizes = idle.map(|(name, _)| series_size(&text(*name)) + instance_size(&format!("x:{name}")));
                let sizes: usize = sizes.sum();
                model.retain(|_, expected| expected.idle < IDLE);
                model.values_mut().for_each(|expected| expected.idle += 1);
                assert_eq!(instances.forget(&common), sizes, "round {round}");
                forgotten += sizes;
            }
            assert_eq!(instances.rows.iter().count(), model.len(), "round {round}");
            assert_eq!(instances.series.len(), model.len());
            last = series;
        }
        assert!(forgotten > 0 && next > 40, "{next}");
    }
}
