//! A source: where its documents come from, and its metrics.

mod samples;

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::budget::Budget;
use super::losses::{Loss, Losses};
use super::metric::{Metric, Refusal};
use super::news::NameTarget;
use super::standing::{LastDocument, Standing};
use crate::cache::{Files, Table, Unsaved};
use crate::exposition::Shortened;
use crate::fetch::Target;
use crate::filter::Config;
use crate::folders::Folders;
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
fn head(folders: &Folders, path: &Path) -> String {
    let mut head = Vec::new();
    let file = folders.read(path);
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

/// Logs that a filter excludes a metric.
fn log_excluded(root: &str, source: &str, name: &str) {
    log::info!("Metric {root}.{source}.{} excluded by config filters", Shortened(name));
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
    /// The lines of the file that have no effect, as the log has them.
    faults: Vec<String>,
    target: Option<Arc<Target>>,
    numbers: Table,
    /// The sources whose names begin with this one's: the rest of each name.
    below: Vec<Box<str>>,
    metrics: Vec<Metric>,
    by_name: HashMap<Box<str>, NameTarget>,
    /// The time of the last fetch.
    pub fetched: Option<Instant>,
    /// The document whose values the source has.
    pub document: Option<LastDocument>,
    /// How it stands.
    pub standing: Standing,
    /// True if the failure of the last fetch is counted.
    pub is_failure_counted: bool,
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
    /// The file of the numbers of sources does not have this one's, for this reason.
    unsaved_cluster: Unsaved,
    /// The numbers of its metrics and instances that are not on the disk.
    unsaved: Unsaved,
    folders: Folders,
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
            faults: Vec::new(),
            target: None,
            numbers,
            below: Vec::new(),
            metrics: Vec::new(),
            by_name: HashMap::new(),
            fetched: None,
            document: None,
            standing: Standing::default(),
            is_failure_counted: false,
            budget,
            excluded: Budget::new(limits::EXCLUDED),
            log: LogShare::default(),
            reads: limits::READS,
            looked: None,
            losses: Losses::default(),
            unsaved_cluster: Unsaved::default(),
            unsaved: Unsaved::default(),
            folders: files.folders().clone(),
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
        (self.kind, self.read) = (file.kind, None);
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
        self.standing = Standing::Gone;
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
        (self.standing, self.fetched) = (Standing::InTime, None);
    }

    /// Returns whether its file is not there any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.standing == Standing::Gone
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
                let head = head(&self.folders, &self.path);
                let (config, faults) = Config::of_script(&name, &head);
                self.take_config(config, faults);
                Target::Script(self.path.clone())
            }
            Kind::Url => {
                // Neither a FIFO nor a device is read, and root follows no link of others.
                let content = self.folders.content(&self.path, limits::CONFIG);
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
            self.standing = Standing::InTime;
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

    /// Takes over what the file says. What of it has no effect is logged, unless it was before.
    ///
    /// Filters, times and the address take effect at once. What a metric is stays as it was declared until
    /// the agent ends, since archives have it once for each number.
    fn take_config(&mut self, config: Config, faults: Vec<String>) {
        for fault in faults.iter().filter(|fault| !self.faults.contains(fault)) {
            log::error!("{} (source {})", Shortened(fault), self.name);
        }
        self.faults = faults;
        let has_same_metrics = config.has_same_metrics(&self.config);
        self.config = Rc::new(config);
        if !has_same_metrics {
            self.filter_anew();
        }
        let freed = self.metrics.iter_mut().map(|metric| metric.take_config(&self.config));
        self.budget.give_back(freed.sum());
    }

    /// Asks the filters of metrics again, which have changed. A metric that is excluded has no values, and
    /// is the same one when it is included again.
    fn filter_anew(&mut self) {
        self.excluded = Budget::new(limits::EXCLUDED);
        let (root, source, config) = (&self.root, &self.name, &self.config);
        self.by_name.retain(|name, target| {
            let index = match *target {
                NameTarget::Metric(index) | NameTarget::Excluded(Some(index)) => index,
                NameTarget::Excluded(None) => return false,
                NameTarget::Lost(_) => return true,
            };
            let was_excluded = matches!(target, NameTarget::Excluded(_));
            *target = if config.includes_metric(name) {
                NameTarget::Metric(index)
            } else {
                if !was_excluded {
                    log_excluded(root, source, name);
                }
                NameTarget::Excluded(Some(index))
            };
            true
        });
    }

    /// Takes note of the sources whose names begin with this one's and a dot, by the rest of their names.
    /// Returns the indexes of metrics whose names are another source's now, and of those whose names are free.
    pub fn set_below(&mut self, below: Vec<Box<str>>) -> (Vec<usize>, Vec<usize>) {
        let (mut taken, mut freed) = (Vec::new(), Vec::new());
        if self.below == below {
            return (taken, freed);
        }
        self.below = below;
        for index in 0..self.metrics.len() {
            let refusal = self.refusal(&self.metrics[index].name);
            let Some(metric) = self.metrics.get_mut(index) else {
                continue;
            };
            let was_refused = matches!(metric.refusal, Some(Refusal::OfSource(_)));
            match (was_refused, refusal.is_some()) {
                (false, true) => taken.push(index),
                (true, false) => freed.push(index),
                (false, false) => continue,
                (true, true) => {}
            }
            metric.refusal = refusal;
        }
        (taken, freed)
    }

    /// The refusal of a metric with this name, if the name is another source's: below that source's name,
    /// or a leaf above it.
    pub(super) fn refusal(&self, name: &str) -> Option<Refusal> {
        let lies_below = |name: &str, above: &str| name.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'));
        let is_of = |other: &&str| name == *other || lies_below(name, other) || lies_below(other, name);
        let others = self.below.iter().map(|other| &**other);
        let other = others.filter(is_of).max_by_key(|other| other.len())?;
        Some(Refusal::OfSource(format!("{}.{other}", self.name).into()))
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
        let cut_off = self.document.as_ref().and_then(|document| document.cut_off.clone());
        let cut_off = cut_off.into_iter();
        let unsaved = self.unsaved().words();
        let parts: Vec<String> = cut_off
            .chain(self.losses.words())
            .chain(unsaved)
            .chain(self.unused())
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The lines of the file without effect, in words.
    pub fn unused(&self) -> impl Iterator<Item = String> {
        let path = self.path.display();
        let lines = self.config.unused.iter();
        lines.map(move |line| format!("{} ({path})", Shortened(line)))
    }

    /// The numbers of the source, its metrics and instances that are not on the disk.
    #[must_use]
    pub fn unsaved(&self) -> Unsaved {
        let mut unsaved = self.unsaved_cluster.clone();
        unsaved.add(self.unsaved.clone());
        unsaved
    }

    /// The numbers of its metrics and instances that are not on the disk.
    #[must_use]
    pub fn unsaved_numbers(&self) -> &Unsaved {
        &self.unsaved
    }

    /// Takes note whether the file of the numbers of sources has this one's.
    pub fn set_unsaved_cluster(&mut self, unsaved: Unsaved) {
        self.unsaved_cluster = unsaved;
    }

    /// Saves new numbers, and those that could not be saved before.
    pub fn save(&mut self) {
        self.numbers.save();
        let mut unsaved = self.numbers.unsaved();
        for metric in &mut self.metrics {
            unsaved.add(metric.save());
        }
        unsaved.log_unless(&self.unsaved);
        self.unsaved = unsaved;
    }

    /// The number of samples of the last document that are not shown.
    #[must_use]
    pub fn lost_samples(&self) -> usize {
        self.losses.samples()
    }

    /// The indexes of the metrics whose names others have.
    pub fn refused(&self) -> impl Iterator<Item = usize> {
        let metrics = self.metrics.iter().enumerate();
        let refused = metrics.filter(|(_, metric)| metric.refusal == Some(Refusal::NameTaken));
        refused.map(|(index, _)| index)
    }

    /// Takes note that a metric cannot have its name.
    pub fn refuse_name(&mut self, index: usize) {
        if let Some(metric) = self.metrics.get_mut(index) {
            metric.refusal = Some(Refusal::NameTaken);
            self.losses.add(Loss::NameTaken, 1, || metric.name.clone());
        }
    }
}

#[cfg(test)]
mod tests;
