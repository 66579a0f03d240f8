//! The documents of a request: sources are fetched side by side, and what comes is put into the model.

use std::time::{Duration, Instant};

use super::OpenMetrics;
use crate::exposition::Excerpt;
use crate::fetch::{Failure, Outcome, is_about_a_file};
use crate::model::{Shown, Source};
use crate::{headroom, limits};

/// Part of what the system says where the agent's user lacks a permission (EACCES).
const DENIED: &str = "Permission denied";

impl OpenMetrics {
    /// Fetches sources side by side, and takes their documents as they come. It waits up to `limit`
    /// for sources that are usually in time. A late document belongs to the next request for values
    /// (`is_for_values`), whatever is requested in between.
    pub(super) fn fetch(&mut self, clusters: &[u32], now: Instant, limit: Duration, is_for_values: bool) {
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
                    self.aside.drop_of_another(cluster, &target);
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
        // Large documents are read when the others have been. From half of the time on the first one has
        // its turn, however many others there are, and whoever hangs; and time is left for those that come
        // while a large one is read.
        let soon = begun + limits::TAKES / 2;
        let mut has_read_large = false;
        while may_take() {
            let mut outcome = None;
            if has_read_large || Instant::now() < soon {
                outcome = self.fetcher.arrived().or_else(|| self.fetcher.next(Some(soon)));
            }
            if outcome.is_none() && begun.elapsed() < limits::TAKES - limits::READS {
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
                // A status is the server's, with the server's words.
                if self.fail(cluster, text.clone(), failure.status) && is_here && failure.status == 0 {
                    self.tell(cluster, &text);
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
