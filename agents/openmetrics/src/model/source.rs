//! A source: where its documents come from, and its metrics.

mod samples;

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pmda_core::dir_entry::DirEntry;
use rustix::io::Errno;

use super::budget::Budget;
use super::instances::number_size;
use super::losses::{Loss, Losses};
use super::metric::Metric;
use super::news::{NameTarget, News};
use crate::cache::{Files, Table};
use crate::exposition::Excerpt;
use crate::fetch::Target;
use crate::filter::Config;
use crate::generation::Generation;
use crate::limits;
use crate::log_share::LogShare;
use crate::sources::{Changed, EXECUTABLE, Kind, SourceFile};

/// The number of bytes at the start of a script that are searched for lines of the agent.
const HEAD: u64 = 64 << 10;

/// A source may be asked again this long before its interval ends, but at most a tenth of the
/// interval earlier.
const EARLY: Duration = Duration::from_secs(1);

/// The number of times that series are checked within the time after which they are forgotten.
const LOOKS: u32 = 4;

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

/// The budget of a source with these numbers of metrics.
fn budget_of(numbers: &Table) -> Budget {
    let mut budget = Budget::new(limits::NAMES);
    budget.charge(numbers.names().map(|(_, name)| metric_size(name)).sum());
    budget
}

/// A source.
#[derive(Debug)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// The root of all names.
    root: Rc<str>,
    /// Its number: the cluster of its metrics.
    pub cluster: u32,
    /// Its file.
    pub path: PathBuf,
    /// The kind of the file.
    pub kind: Kind,
    /// The settings in the file of an address.
    pub config: Rc<Config>,
    /// The time of that file when it was read.
    read: Option<Changed>,
    /// The hash of what was read of it.
    text: Option<u64>,
    /// True if the file has changed since the metrics were defined: the next document defines them
    /// anew.
    is_rewritten: bool,
    /// The lines of the file that have no effect, as the log has them.
    faults: Vec<String>,
    target: Option<Arc<Target>>,
    numbers: Table,
    /// The numbers of instances of metrics that no document has had since the file was written, by
    /// their items.
    tables: HashMap<u32, Table>,
    metrics: Vec<Metric>,
    by_name: HashMap<Box<str>, NameTarget>,
    /// The time of the last fetch.
    pub fetched: Option<Instant>,
    /// The time at which the document came whose values the source has.
    pub document: Option<Instant>,
    /// True if the last document did not come in time: the next one is not waited for.
    pub is_slow: bool,
    /// The part of the last document that the server has not sent, in words, if the document has
    /// ended early.
    pub cut_off: Option<String>,
    /// True if a request has waited in vain, and no document has arrived since.
    pub is_late: bool,
    /// True if the last document came after the request that waited for it, and no request for
    /// values has had it yet.
    pub is_unseen: bool,
    /// Its file is not there any more.
    pub is_gone: bool,
    /// The memory that names of metrics and series take.
    budget: Budget,
    /// The memory that names take that filters exclude.
    excluded: Budget,
    /// Its share in the log.
    log: LogShare,
    /// The time of the processor for which a document is read.
    reads: Duration,
    /// The time of the last look for series that have disappeared.
    looked: Option<Instant>,
    /// The parts of the last document that are not shown.
    losses: Losses,
    generation: Generation,
}

impl Source {
    /// A source that was found, with the numbers that its file has.
    #[must_use]
    pub fn new(file: SourceFile, cluster: u32, root: &Rc<str>, files: &Files, generation: Generation) -> Source {
        let numbers = Table::load(files, cluster, limits::METRICS);
        let budget = budget_of(&numbers);
        Source {
            name: file.name,
            root: Rc::clone(root),
            cluster,
            path: file.path,
            kind: file.kind,
            config: Rc::default(),
            read: None,
            text: None,
            is_rewritten: false,
            faults: Vec::new(),
            target: None,
            numbers,
            tables: HashMap::new(),
            metrics: Vec::new(),
            by_name: HashMap::new(),
            fetched: None,
            document: None,
            is_slow: false,
            cut_off: None,
            is_late: false,
            is_unseen: false,
            is_gone: false,
            budget,
            excluded: Budget::new(limits::EXCLUDED),
            log: LogShare::default(),
            reads: limits::READS,
            looked: None,
            losses: Losses::default(),
            generation,
        }
    }

    /// Takes over the path and the kind of `file`, which has this source's name. Returns false if
    /// both are as before.
    pub fn moved(&mut self, file: &SourceFile) -> bool {
        if (&self.path, self.kind) == (&file.path, file.kind) {
            return false;
        }
        self.path.clone_from(&file.path);
        (self.kind, self.read, self.config) = (file.kind, None, Rc::default());
        self.is_rewritten = true;
        true
    }

    /// Its metrics.
    #[must_use]
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// A metric, by its index.
    pub fn metric(&mut self, index: usize) -> Option<&mut Metric> {
        self.metrics.get_mut(index)
    }

    /// Takes note that its file does not exist any more. Returns the indexes of the metrics that
    /// clients are not to know any more.
    pub fn leave(&mut self) -> Vec<usize> {
        self.is_gone = true;
        let shown = self
            .metrics
            .iter_mut()
            .enumerate()
            .filter(|(_, metric)| metric.is_shown);
        shown
            .map(|(index, metric)| {
                metric.is_shown = false;
                index
            })
            .collect()
    }

    /// Takes note that its file exists again: the source is fetched at once.
    pub fn come_back(&mut self) {
        (self.is_gone, self.fetched) = (false, None);
    }

    /// Returns whether the time of a line INTERVAL: has passed since the source was last asked. A
    /// little less counts as well, since requests that arrive at that interval are not all on time.
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

    /// Returns whether its document is so old that another one is waited for, though it is slow.
    #[must_use]
    pub fn document_is_old(&self, now: Instant) -> bool {
        self.document
            .is_some_and(|came| now.saturating_duration_since(came) > limits::FRESH)
    }

    /// The origin of its document. The second value is true if its file was read again.
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
                let head = head(&self.path);
                let (config, faults) = Config::of_script(&name, &head);
                self.take_config(config, faults);
                self.take_text(head.as_bytes());
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
                self.take_config(config, faults);
                self.take_text(&file);
                match self.config.url.file() {
                    Some(path) => Target::File(path.into()),
                    None => Target::Http {
                        url: self.config.url.clone(),
                        headers: self.config.headers.clone(),
                        proof: self.config.proof.clone(),
                        secure: self.config.secure.clone(),
                    },
                }
            }
        };
        if self
            .target
            .as_ref()
            .is_some_and(|before| !target.is_at_the_place_of(before))
        {
            // The values are those of another place, and so is how long documents take.
            self.begin();
            (self.is_slow, self.is_late, self.is_unseen) = (false, false, false);
        }
        // A file that has only just changed may change once more without another time.
        self.read = changed.is_settled().then_some(changed);
        let target = Arc::new(target);
        self.target = Some(Arc::clone(&target));
        Ok((target, true))
    }

    /// Writes into the log what its documents have provoked, as far as its share allows: whoever
    /// changes each time could fill the log otherwise.
    pub fn tell(&mut self, text: &str) {
        let granted = self.log.take(text.len(), Instant::now());
        if granted.bytes > 0 {
            log::error!("{text} (source {})", self.name);
        }
        if granted.is_last {
            log::error!(
                "what else its documents provoke is left out for an hour (source {})",
                self.name
            );
        }
    }

    /// Takes note of the text of the file.
    fn take_text(&mut self, text: &[u8]) {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let before = self.text.replace(hasher.finish());
        self.is_rewritten |= before.is_some() && before != self.text;
    }

    /// Takes over what the file says. What of it has no effect is logged, unless it was before.
    fn take_config(&mut self, config: Config, faults: Vec<String>) {
        for fault in faults.iter().filter(|fault| !self.faults.contains(fault)) {
            log::error!("{} (source {})", Excerpt(fault), self.name);
        }
        self.faults = faults;
        self.config = Rc::new(config);
    }

    /// Drops the metrics, so that the next document defines them as after a start of the agent. No
    /// number changes: those of instances stay with their items.
    fn define_anew(&mut self, news: &mut News) {
        self.by_name.clear();
        self.excluded = Budget::new(limits::EXCLUDED);
        for metric in self.metrics.drain(..) {
            if metric.declared.is_some() {
                news.removed.push(metric.name.clone());
            }
            let item = metric.item;
            if let Some(table) = metric.into_table() {
                self.tables.insert(item, table);
            }
        }
        self.budget = budget_of(&self.numbers);
        let names = self.tables.values().flat_map(Table::names);
        self.budget.charge(names.map(|(_, name)| number_size(name)).sum());
    }

    /// Forgets series that have been missing for the time of a line FORGET:, if there is such a
    /// line.
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
        }
    }

    /// Leaves names so much memory, in bytes.
    #[cfg(test)]
    pub(crate) fn limit_memory(&mut self, bytes: usize) {
        self.budget.set_limit(bytes);
    }

    /// The parts of the last document that are not shown, and the lines of the file without effect,
    /// for `control.status`.
    #[must_use]
    pub fn not_shown(&self) -> Option<String> {
        let unused = self
            .config
            .unused
            .iter()
            .map(|line| format!("{} ({})", Excerpt(line), self.path.display()));
        let cut_off = self.cut_off.clone().into_iter();
        let parts: Vec<String> = cut_off.chain(self.losses.words()).chain(unused).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The number of samples of the last document that are not shown.
    #[must_use]
    pub fn lost_samples(&self) -> usize {
        self.losses.samples()
    }

    /// The indexes of the metrics whose names others have.
    pub fn refused(&self) -> impl Iterator<Item = usize> {
        let metrics = self.metrics.iter().enumerate();
        metrics.filter(|(_, metric)| metric.is_refused).map(|(index, _)| index)
    }

    /// Takes note that a metric cannot have its name.
    pub fn refuse_name(&mut self, index: usize) {
        if let Some(metric) = self.metrics.get_mut(index) {
            metric.is_refused = true;
            self.losses.add(Loss::NameTaken, 1, || metric.name.clone());
        }
    }
}

#[cfg(test)]
mod tests;
