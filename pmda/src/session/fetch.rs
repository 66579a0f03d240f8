//! FETCH: the values of metrics.

use pmda_core::error::Error;
use pmda_core::ident::MetricId;
use pmda_core::wire::decode;

use super::agents;
use super::served::Served;
use crate::draft::Draft;
use crate::request::Wanted;
use crate::value::Encoder;
use crate::{Agent, ClientId, Request, Result, Why, guard};

/// In a RESULT: names have changed (`PMCD_NAMES_CHANGE`, WIRE-52).
const NAMES_CHANGE: u32 = 0x10;
/// Labels have changed (`PMCD_LABEL_CHANGE`, FETCH-60).
const LABEL_CHANGE: u32 = 0x08;

impl<A: Agent> Served<A> {
    pub(super) fn fetch(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let ids = decode::fetch_ids(pdu)?;
        let mut reply = std::mem::take(&mut self.draft);
        let outcome = self.fetch_into(metrics(ids), from, &mut Draft::Reply(&mut reply));
        let outcome = outcome.and_then(|()| reply.finish(|_| None));
        self.draft = reply;
        outcome
    }

    /// Puts the values of metrics into a draft.
    pub(super) fn fetch_into(
        &mut self,
        metrics: impl Iterator<Item = MetricId>,
        from: ClientId,
        draft: &mut Draft<'_>,
    ) -> Result<()> {
        let mut asked = std::mem::take(&mut self.asked);
        asked.clear();
        asked.extend(metrics);
        let outcome = self.fetch_each(&asked, from, draft);
        self.asked = asked;
        outcome
    }

    fn fetch_each(&mut self, asked: &[MetricId], from: ClientId, draft: &mut Draft<'_>) -> Result<()> {
        let (client, clock) = (self.client(from), self.clock());
        let request = Request::new(Why::Fetch, &client, Wanted::Metrics(asked), &clock);
        self.begin(&request)?;
        self.declare_dynamic();
        let failed = self.read(&request, asked);
        let mut flags = 0;
        if std::mem::take(&mut self.metrics.names_changed) {
            flags |= NAMES_CHANGE;
        }
        if std::mem::take(&mut self.metrics.labels_changed) {
            flags |= LABEL_CHANGE;
        }
        draft.begin(flags, asked.len())?;
        let domain = self.metric_id(0, 0).domain();
        for id in asked {
            draft.open(*id)?;
            let metric = self.metrics.numbered(id.cluster(), id.item());
            let Some(metric) = metric.filter(|_| id.domain() == domain) else {
                draft.fail(Error::PMID.code());
                continue;
            };
            if let Some((_, error)) = failed.iter().find(|(cluster, _)| *cluster == id.cluster()) {
                draft.fail(error.code());
                continue;
            }
            // A parameter of events has values in their records only.
            let Some(fetch) = &metric.fetch else {
                draft.fail(0);
                continue;
            };
            let mut out = Encoder::new(draft.part(), metric.kind, metric.unit);
            let outcome = guard::call(format_args!("metric {}.{}", A::NAME, metric.name), || {
                fetch(&mut self.agent, &mut out, &self.profile, &client)
            });
            let values = out.values();
            match outcome {
                Ok(()) if values > 0 => draft.close(values),
                Ok(()) => draft.fail(0),
                Err(error) => draft.fail(error.code()),
            }
        }
        Ok(())
    }

    /// Reads the clusters of the metrics. Gives those that cannot be read, and why.
    fn read(&mut self, request: &Request<'_>, asked: &[MetricId]) -> Vec<(u32, Error)> {
        let mut clusters = std::mem::take(&mut self.clusters);
        let known = asked
            .iter()
            .filter(|id| self.metrics.numbered(id.cluster(), id.item()).is_some());
        clusters.clear();
        for id in known {
            if clusters.last() != Some(&id.cluster()) {
                clusters.push(id.cluster());
            }
        }
        if clusters.len() > 1 {
            clusters.sort_unstable();
            clusters.dedup();
        }
        let failed = clusters.iter().filter_map(|cluster| {
            let error = self.refresh(*cluster, request).err()?;
            Some((*cluster, agents(error)))
        });
        let failed = failed.collect();
        self.clusters = clusters;
        failed
    }
}

/// The metrics asked for.
fn metrics(ids: &[u8]) -> impl Iterator<Item = MetricId> {
    let ids = ids.chunks_exact(4).filter_map(|id| id.first_chunk::<4>());
    ids.map(|id| MetricId(u32::from_be_bytes(*id)))
}
