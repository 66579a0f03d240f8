//! The declarations of metrics, those of the agent itself and those of sources.

use std::path::Path;

use pmda::prelude::*;
use pmda::{Atom, Def, Labels, MetricRef, Problem};

use crate::control::{ControlValue, METRICS};
use crate::limits;
use crate::model::{Metric, Refusal, Source};
use crate::sources::Kind;
use crate::state::OpenMetrics;

/// The control metrics: cluster 0 (OM-80).
pub(crate) fn control(m: &mut Metrics<OpenMetrics>) {
    m.dynamic_names();
    let sources = m.indom(0, "", |agent: &mut OpenMetrics| &mut agent.control);
    for metric in METRICS {
        let help = text(&metric.help.replace("ROOT", m.root()));
        let name = format!("control.{}", metric.name);
        match metric.value {
            ControlValue::Source(value) => {
                m.each_as(name, sources, metric.kind, move |status, _| {
                    Ok(status.as_ref().map_or(Atom::None, value))
                })
                .item(metric.item)
                .semantics(metric.semantics)
                .unit(metric.unit)
                .help(help);
            }
            ControlValue::Debug => {
                m.value(name, |agent| u32::from(agent.is_debug))
                    .item(metric.item)
                    .semantics(metric.semantics)
                    .help(help)
                    // It changes the log only.
                    .writable_by(|_| true)
                    .store(|agent, value: u32, _| {
                        agent.set_debug(value != 0);
                        Ok(())
                    });
            }
        }
    }
}

/// A help text whose first line is also the whole text (OM-81).
fn text(line: &str) -> String {
    format!("{line}\n{line}")
}

impl OpenMetrics {
    /// Declares what is new.
    pub(crate) fn declare(&mut self, m: &mut Metrics<OpenMetrics>) {
        let has_free_names = !self.changes.gone.is_empty();
        for cluster in std::mem::take(&mut self.changes.sources) {
            if let Some(source) = self.source(cluster) {
                m.cluster(cluster).set_cluster_labels(source_labels(source));
            }
        }
        for (cluster, index) in std::mem::take(&mut self.changes.gone) {
            let Some(source) = self.source_mut(cluster) else {
                continue;
            };
            let source_name = source.name.clone();
            if let Some(metric) = source.metric(index) {
                if metric.declared.take().is_some() {
                    m.remove(&format!("{source_name}.{}", metric.name));
                }
            }
        }
        let forgets = self.generation().forgets();
        let mut metrics = std::mem::take(&mut self.changes.metrics);
        if has_free_names {
            metrics.extend(self.refused_metrics());
        }
        // Of two metrics of one name, such as `b:c` and `b.c`, the older one keeps it.
        metrics.sort_unstable();
        metrics.dedup();
        for (cluster, index) in metrics {
            let Some(source) = self.source_mut(cluster) else {
                continue;
            };
            let source_name = source.name.clone();
            let is_free =
                |metric: &&mut Metric| metric.is_shown && !matches!(metric.refusal, Some(Refusal::OfSource(_)));
            if let Some(metric) = source.metric(index).filter(is_free) {
                let is_declared = declare(m, metric, index, cluster, &source_name);
                if !forgets {
                    // A metric is declared once, and the declaration keeps the help text.
                    metric.help = String::new();
                }
                if is_declared {
                    metric.refusal = None;
                } else {
                    source.refuse_name(index);
                    self.show_status(cluster);
                }
            }
        }
        for (cluster, index) in std::mem::take(&mut self.changes.labels) {
            let metric = self.source(cluster).and_then(|source| source.metrics().get(index));
            let Some((metric, declared)) = metric.and_then(|metric| Some((metric, metric.declared?))) else {
                continue;
            };
            drop(m.edit(&declared).labels(metric.labels()));
        }
    }
}

/// Declares a metric of a source, with its instance domain. Returns false, and logs the reason, if
/// that is not possible.
fn declare(m: &mut Metrics<OpenMetrics>, metric: &mut Metric, index: usize, cluster: u32, source: &str) -> bool {
    let name = format!("{source}.{}", metric.name);
    let (kind, item) = (metric.kind, metric.item);
    m.cluster(cluster);
    let declared = if metric.has_instances() {
        let serial = limits::SOURCES + 1 + cluster * limits::METRICS + item;
        let indom = m.indom(serial, "", move |agent: &mut OpenMetrics| agent.rows(cluster, index));
        m.indom_label(indom, "source", source);
        m.instance_labels(indom, |shown, row| row.labels(shown));
        describe(m.each_as(&name, indom, kind, |row, _| row.atom()), metric)
    } else {
        let def = m.value_as(&name, kind, move |agent: &OpenMetrics, _| {
            let metric = agent.source(cluster).and_then(|source| source.metrics().get(index));
            metric.ok_or(Error::AGAIN)?.atom()
        });
        describe(def, metric)
    };
    match declared {
        Ok(number) => metric.declared = Some(number),
        // As long as that is so, it is said once.
        Err(_) if metric.refusal.is_some() => {}
        Err(problem) => {
            let root = m.root();
            log::error!("Cannot add metric {root}.{name} ({cluster}.{item}): {problem}");
        }
    }
    metric.declared.is_some()
}

/// Says what a metric is.
fn describe<T: 'static>(def: Def<'_, OpenMetrics, T>, metric: &Metric) -> std::result::Result<MetricRef, Problem> {
    def.item(metric.item)
        .semantics(metric.semantics)
        .unit(metric.unit)
        .help(&metric.help)
        .labels(metric.labels())
        .declare()
}

/// The labels of a source's cluster (OM-64).
fn source_labels(source: &Source) -> Labels {
    let labels = Labels::new();
    match source.kind {
        Kind::Script => labels
            .add("script", shown(&source.path))
            .add("source", source.name.as_str()),
        // Not read yet.
        Kind::Url if source.config.url.as_str().is_empty() => labels,
        Kind::Url => {
            let url = source.config.url.as_str();
            let labels = labels.add("hostname", host(url)).add("source", source.name.as_str());
            labels.add("url", url)
        }
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The host of an address, with its port.
fn host(url: &str) -> String {
    let remote = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let host = remote.and_then(|rest| rest.split('/').next()).unwrap_or("localhost");
    if host != "localhost" {
        return host.to_owned();
    }
    let own = nix::unistd::gethostname().unwrap_or_default();
    own.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::host;

    /// The label `hostname` is the host with its port; for `file:` and for `localhost` it
    /// is the name of this host (OM-64).
    #[test]
    fn hosts() {
        let own = nix::unistd::gethostname().expect("a name");
        let own = own.to_str().expect("text");
        for (url, expected) in [
            ("http://h.test:9090/metrics", "h.test:9090"),
            ("https://h.test", "h.test"),
            ("http://localhost/x", own),
            ("http://localhost:80/x", "localhost:80"),
            ("file:///h/x", own),
            ("ftp://h/x", own),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }
}
