//! The samples of a document, which become metrics and values of their source.

use std::borrow::Cow;
use std::time::Instant;

use super::{Source, budget_of, excluded_size, log_excluded, metric_size};
use crate::cache::{Files, Full, Table};
use crate::exposition::{Label, Lines, Parser, Sample, Shortened, text};
use crate::filter::Config;
use crate::limits;
use crate::model::budget::Budget;
use crate::model::instances::number_size;
use crate::model::losses::Loss;
use crate::model::metric::{Metric, Refusal};
use crate::model::news::{NameTarget, News};
use crate::names::{self, Definition, Note};
use crate::processor_time::Deadline;

/// One more than the greatest serial of an instance domain.
const SERIALS: u32 = 1 << 22;

/// Texts of a metric that are not charged, in bytes: those of a source's metrics take 16 MiB. Longer
/// ones are charged.
const SHORT: usize = 16 << 10;

/// A line that is no sample.
struct Wrong {
    number: usize,
    reason: String,
    /// Line and reason, for the log.
    text: String,
}

impl Wrong {
    /// The line of a sample whose name cannot be used.
    fn name(sample: &Sample<'_, '_>, reason: &str) -> Wrong {
        Wrong {
            number: sample.number,
            reason: reason.to_owned(),
            text: format!("cannot parse name in {}: {reason}", Shortened(sample.line)),
        }
    }

    /// A line of a document, if status and log already have such a line.
    fn told(number: usize) -> Wrong {
        Wrong {
            number,
            reason: String::new(),
            text: String::new(),
        }
    }

    /// Number and reason, for the status.
    fn first(&self) -> String {
        format!("line {}: {}", self.number, self.reason)
    }
}

/// Returns whether most lines of a page are no samples, as far as they are read until the deadline.
fn is_no_document(text: &str, config: &Config, deadline: Deadline) -> bool {
    let (mut samples, mut others) = (0_usize, 0_usize);
    let mut parser = Parser::until(text, deadline);
    while let Some(next) = parser.next_sample() {
        let is_sample = |sample: Sample<'_, '_>| names::is_valid(&sample.name) || !config.includes_metric(&sample.name);
        if next.is_ok_and(is_sample) {
            samples += 1;
        } else {
            others += 1;
        }
    }
    others > samples
}

/// The loss of the samples of a metric that clients do not know.
fn refused(metric: &Metric) -> Option<Loss> {
    metric.refusal.as_ref().map(|refusal| match refusal {
        Refusal::NameTaken => Loss::NameTaken,
        Refusal::OfSource(_) => Loss::OfSource,
    })
}

/// The instances of a metric that its file has, which are charged.
///
/// # Errors
/// The system has no memory for them.
fn instances_of(files: &Files, serial: u32, budget: &mut Budget) -> Result<Table, Loss> {
    let table = Table::load(files, serial, limits::INSTANCES);
    let size = table.names().map(|(_, name)| number_size(name)).sum();
    if table.is_to_be_read_again() || !budget.has_memory(size) {
        return Err(Loss::System);
    }
    budget.charge(size);
    Ok(table)
}

/// The log's line about a loss whose first sample is `sample`; `shown` is the metric's name for clients,
/// and `owner` the source whose name it is. `None` for losses that have their lines elsewhere.
fn log_line(loss: Loss, sample: &Sample<'_, '_>, shown: &str, owner: &str) -> Option<String> {
    let wrong = |reason: &str| Wrong::name(sample, reason).text;
    let (name, line) = (Shortened(&sample.name), Shortened(sample.line));
    Some(match loss {
        Loss::NoLabels => {
            format!("cannot parse/store {line}: it has no labels, and the metric has instances")
        }
        Loss::Names => {
            let reason = wrong(&Full::Numbers.reason(limits::METRICS));
            format!("{reason}; this one and others are not shown")
        }
        Loss::File => format!("{}; it and others are not shown", wrong(&Full::File.reason(0))),
        Loss::Serial => format!(
            "metric {name} and others are not shown: the number of the instance domain would be beyond {}",
            SERIALS - 1
        ),
        Loss::Instances => format!(
            "metric {name} has had more than {} instances; new ones are not shown",
            limits::INSTANCES
        ),
        Loss::Memory => format!(
            "its names, labels and help texts take more than {} bytes; new ones are not shown until a line FORGET: makes room",
            limits::NAMES
        ),
        Loss::System => {
            "the system has no memory or descriptors for more series; new ones are not shown as long as that is so"
                .to_owned()
        }
        Loss::OfSource => format!("metric {shown} is not shown: the name is of source {owner}"),
        Loss::Definition => format!(
            "metric {shown} would have another type, semantics, unit or instances if it were new; it keeps those that it has until pmcd is restarted"
        ),
        // The line that cannot be read has told, as have lines that are lost at once, and names that are
        // taken are told where they are declared.
        Loss::Line | Loss::Page | Loss::Time | Loss::Comment | Loss::NameTaken => return None,
        Loss::NoValue => format!("{line} has no value of the type of its metric"),
        Loss::Repeated => {
            format!("{line} is the instance of another sample before it, which is not shown")
        }
        Loss::Merged => {
            format!(
                "{line} is the instance of another sample before it, which is not shown, without the labels that are filtered"
            )
        }
        Loss::SameName => {
            format!("{line} has the name of another instance for clients, and is not shown")
        }
    })
}

impl Source {
    /// Takes the samples of a document. A line that is no sample costs itself; a page most of whose
    /// lines are none is no document, and has no values.
    pub fn take(&mut self, document: &[u8], files: &Files) -> News {
        let mut news = News::default();
        self.losses.begin();
        self.budget.begin();
        if self.numbers.is_to_be_read_again() {
            self.numbers = Table::load(files, self.cluster, limits::METRICS);
            self.budget = budget_of(&self.numbers);
        }
        let text = text(document);
        let deadline = Deadline::after(self.reads);
        let mut parser = Parser::until(&text, deadline);
        // Samples of one metric follow each other.
        let mut last = None;
        while let Some(next) = parser.next_sample() {
            let outcome = match next {
                Ok(sample) => self.take_sample(&sample, &mut last, files, &mut news),
                Err(fault) if self.losses.has(Loss::Line) => Err(Wrong::told(fault.number)),
                Err(fault) => Err(Wrong {
                    number: fault.number,
                    reason: fault.reason.to_string(),
                    text: fault.to_string(),
                }),
            };
            let Err(wrong) = outcome else { continue };
            if !self.losses.has(Loss::Line) && is_no_document(&text, &self.config, deadline) {
                news.no_document = Some(wrong.first());
                break;
            }
            if self.losses.add(Loss::Line, 1, || wrong.first()) {
                self.tell(&wrong.text);
            }
        }
        if news.no_document.is_none() {
            self.lose_lines(Loss::Time, parser.unread());
        }
        self.lose_lines(Loss::Comment, parser.long_comments());
        self.end(&mut news);
        news
    }

    /// Adds lines that are lost at once, and logs them unless the document before had such ones.
    fn lose_lines(&mut self, loss: Loss, lines: Lines) {
        let first = || format!("line {}", lines.first);
        // A comment is no sample.
        let samples = if loss == Loss::Comment { 0 } else { lines.count };
        if lines.count > 0 && self.losses.add_all(loss, lines.count, samples, first) {
            self.tell(&format!("{} ({})", loss.words(lines.count), first()));
        }
    }

    /// Takes a sample. `last` has the name of the sample before.
    ///
    /// # Errors
    /// The line is no sample.
    fn take_sample<'t>(
        &mut self,
        sample: &Sample<'_, 't>,
        last: &mut Option<(Cow<'t, str>, NameTarget)>,
        files: &Files,
        news: &mut News,
    ) -> Result<(), Wrong> {
        let target = match last {
            Some((name, target)) if *name == sample.name => *target,
            _ => {
                let target = match self.by_name.get(&*sample.name) {
                    Some(target) => *target,
                    None => self.meet(sample, files, news)?,
                };
                *last = Some((sample.name.clone(), target));
                self.begin_metric(target, sample);
                target
            }
        };
        news.samples += 1;
        news.shown += usize::from(self.store(target, sample));
        Ok(())
    }

    /// Finds out what a name means that no sample had before: a new metric, or a name that is not shown,
    /// since a filter excludes it or since it is beyond a limit that costs this metric only.
    ///
    /// # Errors
    /// The name is not allowed.
    fn meet(&mut self, sample: &Sample<'_, '_>, files: &Files, news: &mut News) -> Result<NameTarget, Wrong> {
        let name = &*sample.name;
        if !self.config.includes_metric(name) {
            self.exclude(name);
            return Ok(NameTarget::Excluded(None));
        }
        if !names::is_valid(name) {
            return Err(match self.losses.has(Loss::Line) {
                true => Wrong::told(sample.number),
                false => Wrong::name(sample, &format!("invalid metric name: {}", Shortened(name))),
            });
        }
        // A name that is lost by a limit is not remembered, so names that appear and disappear cost
        // nothing.
        Ok(match self.add_metric(sample, files) {
            Ok(index) => {
                news.metrics.push(index);
                NameTarget::Metric(index)
            }
            Err(loss) => NameTarget::Lost(loss),
        })
    }

    /// Remembers a name that a filter excludes. Beyond the budget the filters are asked each time.
    fn exclude(&mut self, name: &str) {
        let size = excluded_size(name);
        if self.excluded.has_room(size) {
            self.excluded.charge(size);
            log_excluded(&self.root, &self.name, name);
            self.by_name.insert(name.into(), NameTarget::Excluded(None));
        }
    }

    /// Adds the metric of a sample. Returns its index.
    ///
    /// # Errors
    /// The limit that it is beyond.
    fn add_metric(&mut self, sample: &Sample<'_, '_>, files: &Files) -> Result<usize, Loss> {
        let name = &*sample.name;
        let item = self.number(name)?;
        let serial = limits::SOURCES + 1 + self.cluster * limits::METRICS + item;
        if serial >= SERIALS {
            self.by_name.insert(name.into(), NameTarget::Lost(Loss::Serial));
            return Err(Loss::Serial);
        }
        let mut definition = Definition::of(sample, &self.config);
        let notes = std::mem::take(&mut definition.notes);
        let budget = &mut self.budget;
        let table = || instances_of(files, serial, budget);
        let mut metric = Metric::new(item, definition, sample, &self.config, self.generation, table)?;
        let long = metric.kept_size().saturating_sub(SHORT);
        if long > 0 && !self.budget.has_room(long) {
            return Err(Loss::Memory);
        }
        self.budget.charge(long);
        for note in notes {
            match note {
                Note::Info(text) => log::info!("{} (source {})", Shortened(&text), self.name),
                Note::Error(text) => log::error!("{} (source {})", Shortened(&text), self.name),
            }
        }
        metric.refusal = self.refusal(&metric.name);
        let index = self.metrics.len();
        self.metrics.push(metric);
        self.by_name.insert(name.into(), NameTarget::Metric(index));
        Ok(index)
    }

    /// The number of a metric, a new one if it has none.
    ///
    /// # Errors
    /// The limit that it is beyond.
    fn number(&mut self, name: &str) -> Result<u32, Loss> {
        let has_number = self.numbers.knows(name);
        self.budget.admit(metric_size(name), has_number)?;
        let item = self.numbers.number(name).map_err(|full| Loss::of(full, Loss::Names))?;
        if !has_number {
            self.budget.charge(metric_size(name));
        }
        Ok(item)
    }

    /// Begins the samples of a metric: adds what is lost of all of them.
    fn begin_metric(&mut self, target: NameTarget, sample: &Sample<'_, '_>) {
        let loss = match target {
            NameTarget::Excluded(_) => return,
            NameTarget::Lost(loss) => loss,
            NameTarget::Metric(index) => {
                let Some(metric) = self.metrics.get_mut(index) else {
                    return;
                };
                match refused(metric) {
                    Some(loss) => loss,
                    None if metric.is_defined_otherwise(sample, &self.config) => Loss::Definition,
                    None => return,
                }
            }
        };
        self.lose(loss, 0, sample);
    }

    /// Adds a loss with its number of samples; `sample` is the first of them. Logs it, unless the
    /// last document had the same loss.
    fn lose(&mut self, loss: Loss, samples: usize, sample: &Sample<'_, '_>) {
        let metric = match self.by_name.get(&*sample.name) {
            Some(NameTarget::Metric(index)) => self.metrics.get(*index),
            _ => None,
        };
        let shown = || {
            let name = metric.map_or("", |metric| &metric.name);
            format!("{}.{}.{}", self.root, self.name, Shortened(name))
        };
        let owner = match metric.and_then(|metric| metric.refusal.as_ref()) {
            Some(Refusal::OfSource(owner)) => owner,
            _ => "",
        };
        let first = || match loss {
            Loss::Definition => shown(),
            Loss::OfSource => format!("{} is of source {owner}", shown()),
            _ => format!("line {}", sample.number),
        };
        if !self.losses.add(loss, samples, first) {
            return;
        }
        if let Some(line) = log_line(loss, sample, &shown(), owner) {
            self.tell(&line);
        }
    }

    /// Stores the value of a sample, unless its name is ignored or a limit is met. Returns whether
    /// it is shown.
    fn store(&mut self, target: NameTarget, sample: &Sample<'_, '_>) -> bool {
        let index = match target {
            NameTarget::Metric(index) => index,
            NameTarget::Lost(loss) => {
                self.losses.add_sample(loss);
                return false;
            }
            NameTarget::Excluded(_) => return false,
        };
        let Some(metric) = self.metrics.get_mut(index) else {
            return false;
        };
        let stored = metric.store(sample, &self.config, &mut self.budget);
        if let Some(loss) = refused(metric) {
            // Its name may become free.
            self.losses.add_sample(loss);
            return false;
        }
        match stored {
            Ok(()) => true,
            // A filter of labels makes one instance of several.
            Err(Loss::Repeated) if self.config.takes_label(sample.labels.iter().map(Label::name)) => {
                self.lose(Loss::Merged, 1, sample);
                false
            }
            Err(loss) => {
                self.lose(loss, 1, sample);
                false
            }
        }
    }

    /// Ends a document: saves numbers, and adds what has changed to `news`. A page that is no
    /// document leaves no values, and takes no name away.
    fn end(&mut self, news: &mut News) {
        if let Some(first) = &news.no_document {
            if self.losses.add(Loss::Page, 0, || first.clone()) {
                self.tell(&format!("the page is no document: {first}"));
            }
            (news.shown, news.samples) = (0, 0);
        }
        let is_document = news.no_document.is_none();
        // What was not read in time may have any metric.
        let is_whole = is_document && !self.losses.has(Loss::Time);
        for (index, metric) in self.metrics.iter_mut().enumerate() {
            if metric.end() {
                news.labels.push(index);
            }
            let is_news = metric.is_shown != metric.is_in_document() && (is_whole || is_document && !metric.is_shown);
            if is_news && self.generation.forgets() {
                metric.is_shown = !metric.is_shown;
                let changed = if metric.is_shown {
                    &mut news.metrics
                } else {
                    &mut news.gone
                };
                changed.push(index);
            }
        }
        self.save();
        self.forget(Instant::now());
        // The next documents bring the same metrics: the list hardly grows any more.
        self.metrics.shrink_to_fit();
        if !is_document {
            self.begin();
        }
    }
}
