//! The state of the agent: knows the sources, chooses those that a request needs, and has them
//! fetched. It neither fetches itself (`fetch`) nor declares metrics (`declare`).

mod documents;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use pmda::Why;
use pmda::prelude::*;

use crate::cache::{Files, Table, Unsaved};
use crate::fetch::{Aside, Fetcher, Memory};
use crate::generation::Generation;
use crate::model::{NO_STATUS, Row, Source, Status};
use crate::sources::{Folder, SourceFile};
use crate::{limits, options};

/// The interval at which the times of all files are read, not only those of folders.
const LOOK: Duration = Duration::from_secs(1);

/// Name of the agent's own metrics, and of what has the sums of all sources.
const CONTROL: &str = "control";

/// The agent.
pub struct OpenMetrics {
    root: Rc<str>,
    files: Files,
    generation: Generation,
    folder: Folder,
    /// The time at which the files were looked at.
    looked: Option<Instant>,
    /// The time that a request waits for a source.
    pub(crate) timeout: Duration,
    /// The age that names may reach.
    refresh: Duration,
    fetcher: Fetcher,
    /// Large documents that are still to be read.
    aside: Aside,
    /// The numbers of all sources there ever were.
    clusters: Table,
    /// The sources by their numbers.
    sources: HashMap<u32, Source>,
    by_name: HashMap<String, u32>,
    /// The rows of the control metrics; `None` for sources that no longer exist.
    pub(crate) control: Indom<Option<Status>>,
    pub(crate) is_debug: bool,
    /// Rows of what is not there.
    nothing: Indom<Row>,
    pub(crate) changes: Changes,
}

/// The declarations that are due.
#[derive(Default)]
pub(crate) struct Changes {
    /// Sources whose labels have changed.
    pub(crate) sources: Vec<u32>,
    /// Metrics that are new or in the document again, by source and index.
    pub(crate) metrics: Vec<(u32, usize)>,
    /// Metrics that are not there any more.
    pub(crate) gone: Vec<(u32, usize)>,
    /// Metrics whose labels have changed.
    pub(crate) labels: Vec<(u32, usize)>,
}

impl OpenMetrics {
    /// Starts the agent: reads what is known of sources, and fetches each of them once.
    ///
    /// # Errors
    /// `EINVAL` if an option is wrong, which is logged.
    pub(crate) fn new(env: &Env) -> Result<OpenMetrics> {
        log::info!("Initializing ... currently in notready state.");
        let said = |wrong| {
            log::error!("{wrong}");
            Error::EINVAL
        };
        options::check_root(env).map_err(said)?;
        let timeout = options::timeout(env).map_err(said)?;
        let refresh = options::refresh(env).map_err(said)?;
        let files = Files::new(env.var_dir().unwrap_or(env.folder()), env.domain());
        let mut agent = OpenMetrics {
            root: options::root(env).into(),
            folder: Folder::new(&options::folder(env), env.option("nosort").is_none()),
            looked: None,
            timeout,
            refresh,
            fetcher: Fetcher::new(Memory::new()),
            aside: Aside::default(),
            clusters: Table::load(&files, 0, limits::SOURCES + 1),
            files,
            generation: Generation::of_the_host(env),
            sources: HashMap::new(),
            by_name: HashMap::new(),
            control: Indom::new().whole_names(),
            is_debug: log::max_level() >= log::LevelFilter::Debug,
            nothing: Indom::new(),
            changes: Changes::default(),
        };
        // `CONTROL` is the first name, or has its number already.
        let _ = agent.clusters.number(CONTROL);
        agent.show_sources();
        agent.look(Instant::now());
        let all: Vec<u32> = agent.sources.keys().copied().collect();
        // The fetches of slower sources go on in the background.
        agent.fetch(&all, Instant::now(), timeout, false);
        log::info!("Ready to process requests");
        Ok(agent)
    }

    /// Looks for sources, and fetches those that a request needs and those that are due.
    pub(crate) fn refresh(&mut self, request: &Request<'_>) {
        let now = request.now();
        self.look(now);
        let mut wanted: Vec<u32> = match request.why() {
            Why::Fetch => request
                .clusters()
                .filter(|cluster| {
                    let source = self.sources.get(cluster);
                    source.is_some_and(|source| !source.is_gone() && source.may_be_asked(now))
                })
                .collect(),
            _ => Vec::new(),
        };
        // If nothing is ever forgotten, only a source without metrics may have new names.
        let is_due = |source: &Source| {
            let age = source.fetched.map(|fetched| now.saturating_duration_since(fetched));
            !source.is_gone()
                && source.may_be_asked(now)
                && (self.generation.forgets() || source.metrics().is_empty())
                && age.is_none_or(|age| age > self.refresh)
        };
        let due = self
            .sources
            .values()
            .filter(|source| is_due(source))
            .map(|source| source.cluster);
        wanted.extend(due);
        self.fetch(&wanted, now, self.timeout, request.why() == Why::Fetch);
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    /// The source with a number, if it has been there since the agent has started.
    pub(crate) fn source(&self, cluster: u32) -> Option<&Source> {
        self.sources.get(&cluster)
    }

    /// As [`OpenMetrics::source`], to be changed.
    pub(crate) fn source_mut(&mut self, cluster: u32) -> Option<&mut Source> {
        self.sources.get_mut(&cluster)
    }

    /// The metrics whose names others have, by source and index.
    pub(crate) fn refused_metrics(&self) -> impl Iterator<Item = (u32, usize)> {
        let sources = self.sources.values();
        sources.flat_map(|source| source.refused().map(|index| (source.cluster, index)))
    }

    /// The instances of a metric, by its source and index; none without it.
    pub(crate) fn rows(&mut self, cluster: u32, index: usize) -> &mut Indom<Row> {
        let source = self.sources.get_mut(&cluster);
        let rows = source.and_then(|source| source.metric(index)?.rows());
        rows.unwrap_or(&mut self.nothing)
    }

    /// Switches debug messages in the log on or off.
    pub(crate) fn set_debug(&mut self, is_debug: bool) {
        self.is_debug = is_debug;
        log::set_max_level(if is_debug {
            log::LevelFilter::Debug
        } else {
            log::LevelFilter::Info
        });
        log::info!("{}.{CONTROL}.debug: set to {}", self.root, u32::from(is_debug));
    }

    /// Takes over sources that are new, have moved, were removed or exist again, if a folder has
    /// changed since the last look. Changed files are looked for at most once in [`LOOK`].
    fn look(&mut self, now: Instant) {
        let with_files = self
            .looked
            .is_none_or(|looked| now.saturating_duration_since(looked) >= LOOK);
        if with_files {
            self.looked = Some(now);
        }
        let Some(files) = self.folder.changed(with_files, &self.root) else {
            return;
        };
        let mut names = HashSet::new();
        for file in files {
            // Of several files with one name the first counts.
            if names.insert(file.name.clone()) {
                self.meet(file);
            }
        }
        if self.generation.forgets() {
            let sources = self.sources.values_mut();
            for source in sources.filter(|source| !source.is_gone() && !names.contains(&source.name)) {
                let cluster = source.cluster;
                self.fetcher.forget(cluster);
                let metrics = source.leave().into_iter();
                self.changes.gone.extend(metrics.map(|index| (cluster, index)));
            }
        }
        self.share_names();
        self.show_sources();
    }

    /// Tells each source which others have names below its own: what is below a source's file is that
    /// source's, whoever sends such a name first.
    fn share_names(&mut self) {
        let mut below: HashMap<u32, Vec<Box<str>>> = HashMap::new();
        for source in self.sources.values().filter(|source| !source.is_gone()) {
            for (at, _) in source.name.match_indices('.') {
                if let Some(cluster) = self.by_name.get(&source.name[..at]) {
                    below.entry(*cluster).or_default().push(source.name[at + 1..].into());
                }
            }
        }
        for source in self.sources.values_mut() {
            let mut names = below.remove(&source.cluster).unwrap_or_default();
            names.sort_unstable();
            let cluster = source.cluster;
            let (taken, freed) = source.set_below(names);
            self.changes
                .gone
                .extend(taken.into_iter().map(|index| (cluster, index)));
            self.changes
                .metrics
                .extend(freed.into_iter().map(|index| (cluster, index)));
        }
    }

    /// Takes over the source of a file: a new source, or a known one whose file has moved.
    fn meet(&mut self, file: SourceFile) {
        if let Some(source) = self
            .by_name
            .get(&file.name)
            .and_then(|cluster| self.sources.get_mut(cluster))
        {
            if source.moved(&file) {
                self.changes.sources.push(source.cluster);
            }
            if source.is_gone() {
                source.come_back();
            }
            source.see_change();
            return;
        }
        let cluster = match self.clusters.number(&file.name) {
            Ok(cluster) => cluster,
            Err(full) => {
                let reason = full.reason(limits::SOURCES + 1);
                log::error!("Error allocating new cluster/source {} ({reason})", file.name);
                return;
            }
        };
        log::info!("Found source {} cluster {cluster}", file.name);
        self.by_name.insert(file.name.clone(), cluster);
        let source = Source::new(file, cluster, &self.root, &self.files, self.generation);
        self.sources.insert(cluster, source);
        self.changes.sources.push(cluster);
    }

    /// Gives the control metrics an instance for each source that has ever existed, with a status
    /// if the source exists now, and saves the numbers of sources.
    fn show_sources(&mut self) {
        self.save_sources();
        for (cluster, name) in self.clusters.names() {
            let Ok(inst) = i32::try_from(cluster) else { continue };
            let source = self.sources.get(&cluster);
            let is_there = inst == 0 || source.is_some_and(|source| !source.is_gone());
            if self.control.get(inst).is_some_and(|shown| shown.is_some() == is_there) {
                continue;
            }
            let status = is_there.then(|| match inst {
                0 => Status::sums(),
                _ => Status::new("unknown"),
            });
            if let Err(error) = self.control.change().set_at(inst, name, status) {
                log::error!("source {name}: {error}");
            }
        }
    }

    /// Saves the numbers of sources.
    fn save_sources(&mut self) {
        let before = self.clusters.unsaved();
        self.clusters.save();
        self.clusters.unsaved().log_unless(&before);
    }

    /// Saves the numbers that could not be saved before.
    fn save_again(&mut self) {
        self.save_sources();
        for source in self.sources.values_mut().filter(|source| source.unsaved().count > 0) {
            source.save();
        }
    }

    /// Shows how many numbers are not on the disk, those of each source and all.
    fn show_unsaved(&mut self) {
        let mut all = self.clusters.unsaved();
        let why = all.first.clone();
        let mut changed = Vec::new();
        for source in self.sources.values_mut() {
            all.add(source.unsaved_numbers().clone());
            let is_saved = why.is_none() || self.clusters.has_saved(source.cluster);
            source.set_unsaved_cluster(Unsaved {
                count: u32::from(!is_saved),
                first: why.clone().filter(|_| !is_saved),
            });
            changed.push((source.cluster, u64::from(source.unsaved().count)));
        }
        for (cluster, count) in changed {
            let Some(status) = self.status(cluster) else { continue };
            if std::mem::replace(&mut status.unsaved, count) != count {
                self.show_status(cluster);
            }
        }
        self.show_control(&all);
    }

    /// Shows in the status of all sources together what concerns no single one.
    fn show_control(&mut self, unsaved: &Unsaved) {
        let words = self.folder.idle_scripts_in_words().into_iter().chain(unsaved.words());
        let words: Vec<String> = words.collect();
        let Some(sums) = self.status(0) else { return };
        sums.unsaved = u64::from(unsaved.count);
        sums.status = if words.is_empty() {
            NO_STATUS.to_owned()
        } else {
            words.join(", ")
        };
    }

    fn status(&mut self, cluster: u32) -> Option<&mut Status> {
        self.control.get_mut(i32::try_from(cluster).ok()?)?.as_mut()
    }

    /// Counts something of a source, and of all together.
    fn count(&mut self, cluster: u32, count: impl Fn(&mut Status)) {
        for cluster in [cluster, 0] {
            self.status(cluster).into_iter().for_each(&count);
        }
    }

    /// Writes into the log what a source has provoked.
    fn tell(&mut self, cluster: u32, text: &str) {
        if let Some(source) = self.sources.get_mut(&cluster) {
            source.tell(text);
        }
    }

    /// Takes note that a fetch has brought no document, or none in time: it is counted once. The status
    /// names the lines of the file without effect, too. Returns true if these words are new.
    fn fail(&mut self, cluster: u32, text: String, code: u16) -> bool {
        let Some(source) = self.sources.get_mut(&cluster) else {
            return false;
        };
        let is_counted = std::mem::replace(&mut source.is_failure_counted, true);
        let text = source.unused().fold(text, |text, line| format!("{text}; {line}"));
        if !is_counted {
            self.count(cluster, |status| status.failures += 1);
        }
        self.status(cluster).is_some_and(|status| status.fail(text, code))
    }

    /// Shows what of the last document of a source is not shown.
    pub(crate) fn show_status(&mut self, cluster: u32) {
        let Some(source) = self.sources.get(&cluster) else {
            return;
        };
        let (not_shown, lost) = (source.not_shown(), source.lost_samples());
        let Some(status) = self.status(cluster) else { return };
        let Some(document) = &mut status.document else { return };
        document.lost = lost as u64;
        let text = match &not_shown {
            Some(what) => Cow::Owned(format!("success, but {what}")),
            None => Cow::Borrowed("success"),
        };
        if status.status != text {
            status.status = text.into_owned();
        }
    }
}
