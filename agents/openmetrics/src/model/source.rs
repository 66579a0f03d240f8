//! A source: where its documents come from, and its metrics.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pmda_core::dir_entry::DirEntry;
use rustix::io::Errno;

use super::budget::Budget;
use super::instances::Refusal;
use super::metric::Metric;
use crate::cache::{Files, Full, Table};
use crate::exposition::{Excerpt, Parser, Sample, text};
use crate::fetch::Target;
use crate::filter::Config;
use crate::generation::Generation;
use crate::limits;
use crate::names::{self, Definition, Note};
use crate::sources::{Changed, EXECUTABLE, Found, Kind};

/// One more than the greatest serial of an instance domain.
const SERIALS: u32 = 1 << 22;

/// So much of a script is searched for lines, in bytes.
const HEAD: u64 = 64 << 10;

/// So much before its time a source may be asked again, and a tenth of that time at most.
const EARLY: Duration = Duration::from_secs(1);

/// Series are looked at so often in the time after which they are forgotten.
const LOOKS: u32 = 4;

/// What a name of samples stands for.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// A metric, by its place.
    Metric(usize),
    /// A name that a filter excludes, or whose instance domain could have no number.
    Ignored,
}

/// What a document has brought.
#[derive(Debug, Default)]
pub struct News {
    /// The places of metrics that are new, or there again.
    pub metrics: Vec<usize>,
    /// The places of metrics that clients are not to know any more.
    pub gone: Vec<usize>,
    /// The places of metrics whose labels have changed.
    pub labels: Vec<usize>,
    /// How many samples were read.
    pub samples: usize,
}

/// The beginning of a script, as far as whole lines of it are read. A script that cannot be read
/// is run anyway, as without this agent's lines.
fn head(path: &Path) -> String {
    let mut head = Vec::new();
    let file = DirEntry::target_at(path).and_then(|entry| entry.read());
    if let Err(error) = file.and_then(|file| file.take(HEAD).read_to_end(&mut head)) {
        log::warn!("cannot read {}: {error}; it is run without its lines", path.display());
    }
    if head.len() as u64 == HEAD {
        head.truncate(head.iter().rposition(|byte| *byte == b'\n').unwrap_or(0));
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// Roughly what a metric takes in bytes: its name twice, and itself.
fn metric_size(name: &str) -> usize {
    2 * name.len() + 400
}

/// Roughly what a name takes in bytes that a filter excludes.
fn excluded_size(name: &str) -> usize {
    name.len() + 64
}

/// A source.
#[derive(Debug)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// Its number: the cluster of its metrics.
    pub cluster: u32,
    /// Its file.
    pub path: PathBuf,
    /// What the file is.
    pub kind: Kind,
    /// What the file of an address says.
    pub config: Rc<Config>,
    /// The time of that file when it was read.
    read: Option<Changed>,
    target: Option<Arc<Target>>,
    numbers: Table,
    metrics: Vec<Metric>,
    by_name: HashMap<Box<str>, Known>,
    /// When it was last fetched.
    pub fetched: Option<Instant>,
    /// When its document came, whose values it has.
    pub document: Option<Instant>,
    /// Whether the last document did not come in time: the next one is not waited for.
    pub is_slow: bool,
    /// Whether a request has waited in vain, and nothing has come since.
    pub is_late: bool,
    /// Whether the last document came after the request that waited for it, and no request for
    /// values has had it yet.
    pub is_unseen: bool,
    /// Its file is not there any more.
    pub is_gone: bool,
    /// The last document had a fault, which was logged.
    is_faulty: bool,
    /// The memory that names of metrics and series take.
    budget: Budget,
    /// The memory that names take that filters exclude.
    excluded: Budget,
    /// When series were looked at that have gone.
    looked: Option<Instant>,
    /// How many names and series of the last document are not shown, as there are too many.
    beyond: (usize, usize),
    /// Limits that were met, each logged once.
    met: Vec<&'static str>,
    generation: Generation,
}

impl Source {
    /// A source that was found, with the numbers that its file has.
    #[must_use]
    pub fn new(found: Found, cluster: u32, files: &Files, generation: Generation) -> Source {
        let numbers = Table::load(files, cluster, limits::METRICS);
        let mut budget = Budget::new(limits::NAMES);
        budget.charge(numbers.names().map(|(_, name)| metric_size(name)).sum());
        Source {
            name: found.name,
            cluster,
            path: found.path,
            kind: found.kind,
            config: Rc::default(),
            read: None,
            target: None,
            numbers,
            metrics: Vec::new(),
            by_name: HashMap::new(),
            fetched: None,
            document: None,
            is_slow: false,
            is_late: false,
            is_unseen: false,
            is_gone: false,
            is_faulty: false,
            budget,
            excluded: Budget::new(limits::EXCLUDED),
            looked: None,
            beyond: (0, 0),
            met: Vec::new(),
            generation,
        }
    }

    /// Takes over the file and the kind of `found`, which has this source's name. Returns false if
    /// both are as before.
    pub fn moved(&mut self, found: &Found) -> bool {
        if (&self.path, self.kind) == (&found.path, found.kind) {
            return false;
        }
        self.path.clone_from(&found.path);
        (self.kind, self.read, self.config) = (found.kind, None, Rc::default());
        true
    }

    /// Its metrics.
    #[must_use]
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// A metric, by its place.
    pub fn metric(&mut self, place: usize) -> Option<&mut Metric> {
        self.metrics.get_mut(place)
    }

    /// Takes note that its file is not there any more. Returns the places of metrics that clients
    /// are not to know any more.
    pub fn leave(&mut self) -> Vec<usize> {
        self.is_gone = true;
        let shown = self
            .metrics
            .iter_mut()
            .enumerate()
            .filter(|(_, metric)| metric.is_shown);
        shown
            .map(|(place, metric)| {
                metric.is_shown = false;
                place
            })
            .collect()
    }

    /// Takes note that its file is there again; it is to be fetched at once.
    pub fn come_back(&mut self) {
        (self.is_gone, self.fetched) = (false, None);
    }

    /// Whether so much time has gone by since it was last asked as a line INTERVAL: wants, or
    /// nearly so much: requests that come at that interval are not all on time.
    #[must_use]
    pub fn may_be_asked(&self, now: Instant) -> bool {
        let (Some(interval), Some(fetched)) = (self.config.interval, self.fetched) else {
            return true;
        };
        now.saturating_duration_since(fetched) >= interval - (interval / 10).min(EARLY)
    }

    /// Lets it be asked at once if its file has changed, whose lines may say something else now.
    pub fn see_change(&mut self) {
        if self.config.interval.is_some() && self.read != Changed::if_there(&self.path) {
            self.fetched = None;
        }
    }

    /// Forgets the last document.
    pub fn begin(&mut self) {
        self.document = None;
        self.metrics.iter_mut().for_each(Metric::begin);
    }

    /// Whether its document is so old that another one is waited for, though it is slow.
    #[must_use]
    pub fn document_is_old(&self, now: Instant) -> bool {
        self.document
            .is_some_and(|came| now.saturating_duration_since(came) > limits::FRESH)
    }

    /// Where its document comes from. The second value tells whether its file was read anew.
    ///
    /// # Errors
    /// The reason why there is none, for the log.
    pub fn target(&mut self) -> Result<(Arc<Target>, bool), String> {
        let told = |error: std::io::Error| format!("cannot read {}: {error}", self.path.display());
        let metadata = fs::metadata(&self.path).map_err(told)?;
        let changed = Changed::of(&metadata);
        if let (Some(target), true) = (&self.target, self.read == Some(changed)) {
            return Ok((Arc::clone(target), false));
        }
        let target = match self.kind {
            Kind::Script if metadata.mode() & EXECUTABLE == 0 => {
                return Err(format!("cannot execute '{}': its owner may not", self.path.display()));
            }
            Kind::Script => {
                let name = self.path.display().to_string();
                let (config, faults) = Config::of_script(&name, &head(&self.path));
                self.take_config(config, &faults);
                Target::Script(self.path.clone())
            }
            Kind::Url => {
                // Neither a FIFO nor a device is read, and root follows no link of others.
                let content = DirEntry::target_at(&self.path).and_then(|entry| entry.content(limits::CONFIG));
                let file = content.map_err(|error| match Errno::from_io_error(&error) {
                    Some(Errno::FBIG) => format!(
                        "cannot read {}: it has more than {} bytes",
                        self.path.display(),
                        limits::CONFIG
                    ),
                    _ => told(error),
                })?;
                let (config, faults) = Config::read(&String::from_utf8_lossy(&file));
                self.take_config(config, &faults);
                match self.config.url.file() {
                    Some(path) => Target::File(path.into()),
                    None => Target::Http {
                        url: self.config.url.clone(),
                        headers: self.config.headers.clone(),
                        secure: self.config.secure.clone(),
                    },
                }
            }
        };
        // A file that has only just changed may change once more without another time.
        self.read = changed.is_settled().then_some(changed);
        let target = Arc::new(target);
        self.target = Some(Arc::clone(&target));
        Ok((target, true))
    }

    fn take_config(&mut self, config: Config, faults: &[String]) {
        for fault in faults {
            log::error!("{}", Excerpt(fault));
        }
        // Other filters may include what these have excluded.
        self.by_name.retain(|_, known| matches!(known, Known::Metric(_)));
        self.excluded = Budget::new(limits::EXCLUDED);
        self.config = Rc::new(config);
    }

    /// Takes the samples of a document.
    pub fn take(&mut self, document: &[u8], files: &Files) -> News {
        let mut news = News::default();
        self.beyond = (0, 0);
        let text = text(document);
        let mut parser = Parser::new(&text);
        let mut fault = None;
        // Samples of one metric follow each other.
        let mut last: Option<(&str, Known)> = None;
        while let Some(next) = parser.next_sample() {
            let sample = match next {
                Ok(sample) => sample,
                Err(wrong) => {
                    fault = Some(wrong.to_string());
                    break;
                }
            };
            let known = match last {
                Some((name, known)) if name == sample.name => Ok(known),
                _ => match self.by_name.get(sample.name) {
                    Some(known) => Ok(*known),
                    None => self.meet(&sample, files, &mut news),
                },
            };
            let stored = known.and_then(|known| {
                last = Some((sample.name, known));
                self.store(known, &sample)
            });
            if let Err(wrong) = stored {
                fault = Some(wrong);
                break;
            }
            news.samples += 1;
        }
        self.end(&mut news);
        match fault {
            Some(fault) if !self.is_faulty => {
                log::error!("{fault} (source {})", self.name);
                self.is_faulty = true;
            }
            Some(_) => {}
            None => self.is_faulty = false,
        }
        news
    }

    /// Adds the metric of a name that no sample had before, or ignores the name: if a filter
    /// excludes it, or if it is beyond a limit that costs this metric only.
    ///
    /// # Errors
    /// What is wrong with the document, which ends here: a name that is not allowed, or one too
    /// many.
    fn meet(&mut self, sample: &Sample<'_, '_>, files: &Files, news: &mut News) -> Result<Known, String> {
        let name = sample.name;
        if !self.config.includes_metric(name) {
            // Beyond the budget names are not remembered: the filters are asked each time.
            let size = excluded_size(name);
            if self.excluded.has_room(size) {
                self.excluded.charge(size);
                log::info!(
                    "Metric openmetrics.{}.{} excluded by config filters",
                    self.name,
                    Excerpt(name)
                );
                self.by_name.insert(name.into(), Known::Ignored);
            }
            return Ok(Known::Ignored);
        }
        let wrong = |reason: String| format!("cannot parse name in {}: {reason}", Excerpt(sample.line));
        if !names::is_valid(name) {
            return Err(wrong(format!("invalid metric name: {}", Excerpt(name))));
        }
        let is_known = self.numbers.knows(name);
        let has_room = if is_known {
            self.budget.may_load()
        } else {
            self.budget.has_room(metric_size(name))
        };
        if !has_room {
            self.beyond.0 += 1;
            self.meet_memory();
            return Ok(Known::Ignored);
        }
        let item = match self.numbers.number(name) {
            Ok(item) => item,
            Err(full) => {
                // Not remembered, so that names that come and go cost nothing.
                self.beyond.0 += 1;
                if !self.met.contains(&"names") {
                    let reason = wrong(full.reason(limits::METRICS));
                    log::error!("{reason} (source {}); this one and others are not shown", self.name);
                    self.met.push("names");
                }
                return Ok(Known::Ignored);
            }
        };
        if !is_known {
            self.budget.charge(metric_size(name));
        }
        let serial = limits::SOURCES + 1 + self.cluster * limits::METRICS + item;
        if serial >= SERIALS {
            log::error!(
                "metric {} of source {} is ignored: its instance domain would have the number {serial}, and the last possible one is {}",
                Excerpt(name),
                self.name,
                SERIALS - 1
            );
            self.by_name.insert(name.into(), Known::Ignored);
            return Ok(Known::Ignored);
        }
        let mut definition = Definition::of(sample, &self.config);
        for note in definition.notes.drain(..) {
            match note {
                Note::Info(text) => log::info!("{}", Excerpt(&text)),
                Note::Error(text) => log::error!("{}", Excerpt(&text)),
            }
        }
        let metric = Metric::new(
            item,
            serial,
            definition,
            sample,
            &self.config,
            files,
            self.generation,
            &mut self.budget,
        );
        let place = self.metrics.len();
        self.metrics.push(metric);
        news.metrics.push(place);
        self.by_name.insert(name.into(), Known::Metric(place));
        Ok(Known::Metric(place))
    }

    /// Stores the value of a sample, unless its name is ignored or a limit is met.
    ///
    /// # Errors
    /// What is wrong with the document, which ends here.
    fn store(&mut self, known: Known, sample: &Sample<'_, '_>) -> Result<(), String> {
        let Known::Metric(place) = known else { return Ok(()) };
        let Some(metric) = self.metrics.get_mut(place) else {
            return Ok(());
        };
        match metric.store(sample, &self.config, &mut self.budget) {
            Ok(()) => Ok(()),
            Err(Refusal::NoLabels) => Err(format!(
                "cannot parse/store {}: it has no labels, and the metric has instances",
                Excerpt(sample.line)
            )),
            Err(Refusal::Instances) => {
                self.beyond.1 += 1;
                self.meet_limit(
                    &format!(
                        "a metric has had more than {} instances; new ones are not shown",
                        limits::INSTANCES
                    ),
                    "instances",
                );
                Ok(())
            }
            Err(Refusal::File) => {
                self.beyond.1 += 1;
                self.meet_limit(
                    &format!("of a metric: {}; new instances are not shown", Full::File.reason(0)),
                    "file",
                );
                Ok(())
            }
            Err(Refusal::Memory) => {
                self.beyond.1 += 1;
                self.meet_memory();
                Ok(())
            }
        }
    }

    /// Forgets series that have gone for long, if a line says how long that is.
    fn forget(&mut self, now: Instant) {
        let Some(time) = self.config.forget else {
            self.looked = None;
            return;
        };
        let looked = *self.looked.get_or_insert(now);
        if now.saturating_duration_since(looked) < time / LOOKS {
            return;
        }
        self.looked = Some(now);
        let freed: usize = self.metrics.iter_mut().map(Metric::forget).sum();
        if freed > 0 {
            self.budget.give_back(freed);
            self.met.retain(|limit| *limit != "memory");
        }
    }

    /// Leaves names so much memory, in bytes.
    #[cfg(test)]
    pub(crate) fn limit_memory(&mut self, bytes: usize) {
        self.budget.set_limit(bytes);
    }

    /// What of the last document is not shown, and why, for `control.status`.
    #[must_use]
    pub fn not_shown(&self) -> Option<String> {
        let (names, series) = self.beyond;
        let mut parts = Vec::new();
        if names > 0 {
            let limit = limits::METRICS;
            parts.push(format!(
                "{names} names are not shown (a source has at most {limit}: divide it by filters)"
            ));
        }
        if series > 0 {
            parts.push(format!(
                "{series} series are not shown (there are more than a source may have; a line FORGET: makes room)"
            ));
        }
        parts.extend(self.config.unused.iter().cloned());
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn meet_memory(&mut self) {
        self.meet_limit(
            &format!(
                "the names of its series take more than {} bytes; new ones are not shown until a line FORGET: makes room",
                limits::NAMES
            ),
            "memory",
        );
    }

    /// Logs, once for each limit, that what is beyond it is not shown.
    fn meet_limit(&mut self, what: &str, limit: &'static str) {
        if !self.met.contains(&limit) {
            log::error!("source {}: {what}", self.name);
            self.met.push(limit);
        }
    }

    /// Ends a document: saves numbers, and adds what has changed to `news`.
    fn end(&mut self, news: &mut News) {
        for (place, metric) in self.metrics.iter_mut().enumerate() {
            if metric.end() {
                news.labels.push(place);
            }
            if self.generation.forgets() && metric.is_shown != metric.is_in_document() {
                metric.is_shown = !metric.is_shown;
                let places = if metric.is_shown {
                    &mut news.metrics
                } else {
                    &mut news.gone
                };
                places.push(place);
            }
        }
        self.numbers.save();
        self.forget(Instant::now());
        // The next documents bring the same metrics: the list hardly grows any more.
        self.metrics.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests;
