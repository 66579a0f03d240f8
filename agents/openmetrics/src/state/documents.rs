//! The documents of a request: sources are fetched side by side, and what comes is put into the model.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use openssl::asn1::Asn1Time;

use super::OpenMetrics;
use crate::exposition::Shortened;
use crate::fetch::{Document, Failure, Outcome, is_about_a_file};
use crate::model::{LastDocument, Lateness, Shown, Source, Standing};
use crate::{headroom, limits};

/// Part of what the system says where the agent's user lacks a permission (EACCES).
const DENIED: &str = "Permission denied";

/// One request's part in fetching.
#[derive(Clone, Copy)]
struct Round {
    begun: Instant,
    /// The same by the clock.
    asked: SystemTime,
    /// True if it is a request for values: a late document belongs to the next one of these.
    is_for_values: bool,
}

impl Round {
    /// Returns whether there is time to read one more document.
    fn may_take(&self) -> bool {
        self.begun.elapsed() < limits::TAKES
    }
}

impl OpenMetrics {
    /// Fetches sources side by side, and takes their documents as they come. It waits for each source
    /// as its standing says, up to `limit`. A late document belongs to the next request for values
    /// (`is_for_values`), whatever is requested in between.
    pub(super) fn fetch(&mut self, clusters: &[u32], now: Instant, limit: Duration, is_for_values: bool) {
        let round = Round {
            begun: Instant::now(),
            asked: SystemTime::now(),
            is_for_values,
        };
        self.save_again();
        while let Some(outcome) = round.may_take().then(|| self.fetcher.arrived()).flatten() {
            self.take_or_put_aside(outcome);
        }
        let awaited = clusters
            .iter()
            .filter_map(|cluster| Some((*cluster, self.begin_fetch(*cluster, now, limit)?)))
            .collect::<Vec<_>>();
        self.fetcher.wait_for(awaited);
        self.take_as_they_come(round);
        self.fetcher.stop_waiting();
        self.end_round(round);
        if is_for_values {
            for cluster in clusters {
                let source = self.sources.get_mut(cluster);
                if let Some(document) = source.and_then(|source| source.document.as_mut()) {
                    document.is_unseen = false;
                }
            }
        }
    }

    /// Begins to fetch a source, unless a fetch is under way. Returns the time for which this request
    /// waits for it, if it does.
    fn begin_fetch(&mut self, cluster: u32, now: Instant, limit: Duration) -> Option<Duration> {
        if self.fetcher.may_begin(cluster) {
            self.count(cluster, |status| status.calls += 1);
            let source = self.sources.get_mut(&cluster)?;
            source.fetched = Some(now);
            source.is_failure_counted = false;
            match source.target() {
                Ok((target, is_new)) => {
                    if is_new {
                        self.changes.sources.push(cluster);
                    }
                    log::debug!("fetch of source {} (cluster {cluster}): {target}", source.name);
                    self.aside.drop_of_another(cluster, &target);
                    self.fetcher.begin(cluster, target, source.config.timeout);
                }
                Err(why) => {
                    source.begin();
                    let text = failed(source, &why);
                    // As long as that is so, it is said once.
                    if self.fail(cluster, text, 0) {
                        log::error!("{why}");
                    }
                    return None;
                }
            }
        }
        let source = self.sources.get(&cluster)?;
        let is_old = source.document.as_ref().is_some_and(|document| document.is_old(now));
        let waits = source.standing.waits(limit, self.fetcher.patience(cluster), is_old);
        (!waits.is_zero()).then_some(waits)
    }

    /// Takes documents until none is awaited any more, or the time is over.
    ///
    /// Large documents are read when the others have been. From half of the time on the first one has
    /// its turn, however many others there are, and whoever hangs; and time is left for those that come
    /// while a large one is read.
    fn take_as_they_come(&mut self, round: Round) {
        let soon = round.begun + limits::TAKES / 2;
        let mut has_read_large = false;
        while round.may_take() {
            let mut outcome = None;
            if has_read_large || Instant::now() < soon {
                outcome = self.fetcher.arrived().or_else(|| self.fetcher.next(Some(soon)));
            }
            if outcome.is_none() && round.begun.elapsed() < limits::TAKES - limits::READS {
                if let Some(large) = self.aside.next() {
                    has_read_large = true;
                    self.take(large);
                    continue;
                }
            }
            let outcome = outcome
                .or_else(|| self.fetcher.arrived())
                .or_else(|| self.fetcher.next(None));
            let Some(outcome) = outcome else { break };
            self.take_or_put_aside(outcome);
        }
    }

    /// Marks the sources that have not come in this request.
    fn end_round(&mut self, round: Round) {
        for cluster in self.aside.sources().collect::<Vec<_>>() {
            self.be_late(cluster, round, |_| {
                "a large document, which a later request reads".to_owned()
            });
        }
        for cluster in self.fetcher.asked_again() {
            self.count(cluster, |status| status.calls += 1);
        }
        for cluster in self.fetcher.late() {
            let awaits = self.fetcher.awaits(cluster);
            self.be_late(cluster, round, |late| format!("{awaits} since {}", shown(late.since)));
        }
        self.show_unsaved();
        self.files.folders().close();
    }

    /// Marks a source as late: it has not answered within this request, so its document is for the
    /// next request for values.
    ///
    /// The source keeps its present values if it is known to be slow, if its last document came
    /// late and no request for values has shown that document yet, or if this request is not for
    /// values. Otherwise the source loses its values, and its status says what it is waiting for.
    fn be_late(&mut self, cluster: u32, round: Round, words: impl FnOnce(Lateness) -> String) {
        let Some(source) = self.sources.get_mut(&cluster) else {
            return;
        };
        source.standing = source.standing.after_waiting_in_vain(round.asked);
        let Some(late) = source.standing.lateness() else { return };
        let keeps = source.standing.keeps_values() || !round.is_for_values;
        if source
            .document
            .as_ref()
            .is_some_and(|document| keeps || document.is_unseen)
        {
            return;
        }
        source.begin();
        let text = failed(source, &words(late));
        log::debug!("{text}");
        self.fail(cluster, text, 0);
    }

    fn take_or_put_aside(&mut self, outcome: Outcome) {
        if let Some(outcome) = self.aside.put(outcome) {
            self.take(outcome);
        }
    }

    /// Takes what has become of a fetch: the values of its source are those of the document now, or none.
    fn take(&mut self, outcome: Outcome) {
        let cluster = outcome.source;
        let Some(source) = self.sources.get_mut(&cluster).filter(|source| !source.is_gone()) else {
            return;
        };
        source.begin();
        let was_late = source.standing.lateness().is_some();
        source.standing = match &outcome.result {
            Ok(_) if outcome.took > self.timeout => Standing::Slow,
            // A failure ends lateness, too, but for that of having no answer at all.
            Err(_) if outcome.is_late && was_late => source.standing,
            Ok(_) | Err(_) => Standing::InTime,
        };
        match outcome.result.and_then(with_memory) {
            Ok((code, document)) => {
                self.count(cluster, |status| status.fetched(outcome.took));
                let last = LastDocument {
                    came: outcome.ended,
                    is_unseen: was_late,
                    cut_off: document.fault().map(str::to_owned),
                };
                self.take_document(cluster, code, &document, last);
            }
            Err(failure) => self.take_failure(cluster, &failure),
        }
    }

    /// Puts a document into the model of its source, and shows what it has brought.
    fn take_document(&mut self, cluster: u32, code: u16, document: &Document, last: LastDocument) {
        let Some(source) = self.sources.get_mut(&cluster) else {
            return;
        };
        let (begun, came) = (Instant::now(), last.came);
        source.document = Some(last);
        let news = source.take(document.bytes(), &self.files);
        let took = begun.elapsed();
        log::debug!(
            "fetched {} bytes with {} metrics from URL or script {}",
            document.bytes().len(),
            news.samples,
            source.path.display()
        );
        let failure = news
            .no_document
            .map(|first| failed(source, &format!("the page is no document: {first}")));
        let in_cluster = |index| (cluster, index);
        self.changes.metrics.extend(news.metrics.into_iter().map(in_cluster));
        self.changes.gone.extend(news.gone.into_iter().map(in_cluster));
        self.changes.labels.extend(news.labels.into_iter().map(in_cluster));
        self.count(cluster, |status| status.parsed(took));
        if let Some(text) = failure {
            self.fail(cluster, text, code);
        } else if let Some(status) = self.status(cluster) {
            status.code = i32::from(code);
            status.document = Some(Shown {
                came,
                samples: news.shown as u64,
                lost: 0,
            });
            self.show_status(cluster);
        }
    }

    /// Shows why a source has no document.
    fn take_failure(&mut self, cluster: u32, failure: &Failure) {
        let Some(source) = self.sources.get(&cluster) else {
            return;
        };
        let text = failed(source, &failure.reason);
        log::debug!("{text}");
        // A fault that has to be mended on this host is logged once.
        let is_here = failure.reason.contains(DENIED)
            || failure.reason.contains(headroom::NO_MEMORY)
            || is_about_a_file(&failure.reason);
        // A status is the server's, with the server's words.
        if self.fail(cluster, text.clone(), failure.status) && is_here && failure.status == 0 {
            self.tell(cluster, &text);
        }
    }
}

/// Returns a document that there is memory to read.
///
/// # Errors
/// There is none.
fn with_memory((status, document): (u16, Document)) -> Result<(u16, Document), Failure> {
    if headroom::has_for_document(document.bytes().len()) {
        return Ok((status, document));
    }
    Err(Failure {
        status,
        reason: headroom::NO_MEMORY.to_owned(),
    })
}

/// The status of a source that has no document.
fn failed(source: &Source, why: &str) -> String {
    let path = source.path.display();
    format!("failed to fetch URL or execute script {path}: {}", Shortened(why))
}

/// A time as the status shows it.
fn shown(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let time = i64::try_from(since)
        .ok()
        .and_then(|since| Asn1Time::from_unix(since).ok());
    time.map(|time| time.to_string()).unwrap_or_default()
}
