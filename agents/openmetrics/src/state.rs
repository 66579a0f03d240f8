//! The state of the agent: chooses the sources that a request needs, starts their fetches, and puts
//! their documents into the model. It neither fetches (`fetch`) nor declares metrics (`declare`).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use pmda::Why;
use pmda::prelude::*;

use crate::cache::{Files, Table};
use crate::exposition::Excerpt;
use crate::fetch::{Aside, Failure, Fetcher, Memory, Outcome, is_about_a_file};
use crate::generation::Generation;
use crate::model::{Row, Shown, Source, Status};
use crate::sources::{Folder, SourceFile};
use crate::{headroom, limits, options};

/// The interval at which the times of all files are read, not only those of folders.
const LOOK: Duration = Duration::from_secs(1);

/// Part of what the system says where the agent's user lacks a permission (EACCES).
const DENIED: &str = "Permission denied";

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
    /// Names of metrics whose indexes other metrics have now.
    pub(crate) removed: Vec<String>,
    /// Metrics that are not there any more.
    pub(crate) gone: Vec<(u32, usize)>,
    /// Metrics whose labels have changed.
    pub(crate) labels: Vec<(u32, usize)>,
}

impl Changes {
    /// Forgets what was to be declared of a source, whose metrics are all new now; `removed` are the
    /// names of those that clients know.
    fn begin_anew(&mut self, cluster: u32, removed: impl Iterator<Item = String>) {
        for list in [&mut self.metrics, &mut self.gone, &mut self.labels] {
            list.retain(|(other, _)| *other != cluster);
        }
        self.removed.extend(removed);
    }
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
                    source.is_some_and(|source| !source.is_gone && source.may_be_asked(now))
                })
                .collect(),
            _ => Vec::new(),
        };
        // If nothing is ever forgotten, only a source without metrics may have new names.
        let is_due = |source: &Source| {
            let age = source.fetched.map(|fetched| now.saturating_duration_since(fetched));
            !source.is_gone
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
            for source in sources.filter(|source| !source.is_gone && !names.contains(&source.name)) {
                let cluster = source.cluster;
                self.fetcher.forget(cluster);
                let metrics = source.leave().into_iter();
                self.changes.gone.extend(metrics.map(|index| (cluster, index)));
            }
        }
        self.show_sources();
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
            if source.is_gone {
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
        self.clusters.save();
        for (cluster, name) in self.clusters.names() {
            let Ok(inst) = i32::try_from(cluster) else { continue };
            let source = self.sources.get(&cluster);
            let is_there = inst == 0 || source.is_some_and(|source| !source.is_gone);
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

    fn status(&mut self, cluster: u32) -> Option<&mut Status> {
        self.control.get_mut(i32::try_from(cluster).ok()?)?.as_mut()
    }

    /// Counts something of a source, and of all together.
    fn count(&mut self, cluster: u32, count: impl Fn(&mut Status)) {
        for cluster in [cluster, 0] {
            self.status(cluster).into_iter().for_each(&count);
        }
    }

    /// Takes note that a fetch has brought no document. Returns true if these words are new.
    fn fail(&mut self, cluster: u32, text: String, code: u16) -> bool {
        self.count(cluster, |status| status.failures += 1);
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

    /// Fetches sources side by side, and takes their documents as they come. It waits up to `limit`
    /// for sources that are usually in time. A late document belongs to the next request for values
    /// (`is_for_values`), whatever is requested in between.
    fn fetch(&mut self, clusters: &[u32], now: Instant, limit: Duration, is_for_values: bool) {
        let begun = Instant::now();
        let may_take = || begun.elapsed() < limits::TAKES;
        while let Some(outcome) = may_take().then(|| self.fetcher.arrived()).flatten() {
            self.take_or_put_aside(outcome);
        }
        let mut awaited = Vec::new();
        for &cluster in clusters {
            if !self.fetcher.may_begin(cluster) {
                continue;
            }
            self.count(cluster, |status| status.calls += 1);
            let Some(source) = self.sources.get_mut(&cluster) else {
                continue;
            };
            source.fetched = Some(now);
            match source.target() {
                Ok((target, is_new)) => {
                    if is_new {
                        self.changes.sources.push(cluster);
                    }
                    log::debug!("fetch of source {} (cluster {cluster}): {target}", source.name);
                    self.fetcher.begin(cluster, target, source.config.timeout);
                    let waits = if source.is_late {
                        // The source is stuck, or it works again, and then its answer arrives soon.
                        limit.min(self.fetcher.patience(cluster))
                    } else if !source.is_slow || source.document_is_old(now) {
                        limit
                    } else {
                        Duration::ZERO
                    };
                    if !waits.is_zero() {
                        awaited.push((cluster, waits));
                    }
                }
                Err(why) => {
                    source.begin();
                    let text = failed(source, &why);
                    // As long as that is so, it is said once.
                    if self.fail(cluster, text, 0) {
                        log::error!("{why}");
                    }
                }
            }
        }
        self.fetcher.wait_for(awaited);
        // Sources that hang do not keep the large documents waiting for longer.
        let soon = begun + limits::TAKES / 2;
        while may_take() {
            let mut outcome = self.fetcher.arrived();
            if outcome.is_none() {
                outcome = self.fetcher.next(Some(soon));
            }
            if outcome.is_none() {
                if let Some(large) = self.aside.next() {
                    self.take(large);
                    continue;
                }
                outcome = self.fetcher.next(None);
            }
            let Some(outcome) = outcome else { break };
            self.take_or_put_aside(outcome);
        }
        self.fetcher.stop_waiting();
        for cluster in self.aside.sources().collect::<Vec<_>>() {
            self.be_late(cluster, is_for_values);
        }
        for cluster in self.fetcher.asked_again() {
            self.count(cluster, |status| status.calls += 1);
        }
        for cluster in self.fetcher.late() {
            self.be_late(cluster, is_for_values);
        }
        if is_for_values {
            for cluster in clusters {
                if let Some(source) = self.sources.get_mut(cluster) {
                    source.is_unseen = false;
                }
            }
        }
    }

    /// Marks a source as late: it has not answered within this request, so its document is for the
    /// next request for values.
    ///
    /// The source keeps its present values if it is known to be slow, if its last document came
    /// late and no request for values has shown that document yet, or if this request is not for
    /// values. Otherwise the source loses its values, and its status says so.
    fn be_late(&mut self, cluster: u32, is_for_values: bool) {
        let Some(source) = self.sources.get_mut(&cluster) else {
            return;
        };
        source.is_late = true;
        let is_kept = source.is_slow || source.is_unseen || !is_for_values;
        if is_kept && source.document.is_some() {
            return;
        }
        source.begin();
        let text = failed(source, "no answer in time, a later request gets it");
        log::debug!("{text}");
        if let Some(status) = self.status(cluster) {
            status.fail(text, 0);
        }
    }

    fn take_or_put_aside(&mut self, outcome: Outcome) {
        if let Some(outcome) = self.aside.put(outcome) {
            self.take(outcome);
        }
    }

    fn take(&mut self, outcome: Outcome) {
        let cluster = outcome.source;
        let Some(source) = self.sources.get_mut(&cluster).filter(|source| !source.is_gone) else {
            return;
        };
        source.begin();
        // A failure ends lateness, too, but for that of having no answer at all.
        let was_late = source.is_late;
        source.is_late &= outcome.is_late && outcome.result.is_err();
        source.is_slow = outcome.result.is_ok() && outcome.took > self.timeout;
        source.is_unseen = outcome.result.is_ok() && was_late;
        let result = outcome.result.and_then(|(status, document)| {
            if headroom::has_for_document(document.bytes().len()) {
                return Ok((status, document));
            }
            let reason = headroom::NO_MEMORY.to_owned();
            Err(Failure { status, reason })
        });
        match result {
            Ok((code, document)) => {
                let begun = Instant::now();
                source.document = Some(outcome.ended);
                source.cut_off = document.fault().map(str::to_owned);
                let news = source.take(document.bytes(), &self.files);
                let took = begun.elapsed();
                log::debug!(
                    "fetched {} bytes with {} metrics from URL or script {}",
                    document.bytes().len(),
                    news.samples,
                    source.path.display()
                );
                if !news.removed.is_empty() {
                    let name = &source.name;
                    let names = news.removed.iter().map(|metric| format!("{name}.{metric}"));
                    self.changes.begin_anew(cluster, names);
                }
                let failure = news
                    .no_document
                    .map(|first| failed(source, &format!("the page is no document: {first}")));
                let in_cluster = |index| (cluster, index);
                self.changes.metrics.extend(news.metrics.into_iter().map(in_cluster));
                self.changes.gone.extend(news.gone.into_iter().map(in_cluster));
                self.changes.labels.extend(news.labels.into_iter().map(in_cluster));
                self.count(cluster, |status| {
                    status.fetched(outcome.took);
                    status.parsed(took);
                });
                if let Some(text) = failure {
                    self.fail(cluster, text, code);
                } else if let Some(status) = self.status(cluster) {
                    status.code = i32::from(code);
                    status.document = Some(Shown {
                        came: outcome.ended,
                        samples: news.shown as u64,
                        lost: 0,
                    });
                    self.show_status(cluster);
                }
            }
            Err(failure) => {
                let text = failed(source, &failure.reason);
                log::debug!("{text}");
                // A fault that has to be mended on this host is logged once.
                let is_here = failure.reason.contains(DENIED)
                    || failure.reason.contains(headroom::NO_MEMORY)
                    || is_about_a_file(&failure.reason);
                if self.fail(cluster, text.clone(), failure.status) && is_here {
                    log::error!("{text}");
                }
            }
        }
    }
}

/// The status of a source that has no document.
fn failed(source: &Source, why: &str) -> String {
    let path = source.path.display();
    format!("failed to fetch URL or execute script {path}: {}", Excerpt(why))
}
