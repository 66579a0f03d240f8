//! FETCH: the values of metrics.

use pmda_core::error::Error;
use pmda_core::ident::MetricId;
use pmda_core::wire::decode;

use super::agents;
use super::served::Served;
use crate::request::Wanted;
use crate::value::Encoder;
use crate::{Agent, ClientId, Result, Why, guard};

/// In a RESULT: names have changed (`PMCD_NAMES_CHANGE`, WIRE-52).
const NAMES_CHANGE: u32 = 0x10;

impl<A: Agent> Served<A> {
    pub(super) fn fetch(&mut self, pdu: &[u8], from: ClientId) -> Result<()> {
        let ids = decode::fetch_ids(pdu)?;
        let client = self.client(from);
        let request = self.request_of(Why::Fetch, &client, Wanted::Metrics(ids));
        self.begin(&request)?;
        self.declare_dynamic();
        let failed = self.read(ids, &request);
        let flags = if std::mem::take(&mut self.metrics.names_changed) {
            NAMES_CHANGE
        } else {
            0
        };
        self.draft.begin(flags, ids.len() / 4)?;
        for id in metrics(ids) {
            let domain = self.metric_id(0, 0).domain();
            let metric = self.metrics.numbered(id.cluster(), id.item());
            self.draft.open(id, 1)?;
            let Some(metric) = metric.filter(|_| id.domain() == domain) else {
                self.draft.fail(Error::PMID.code());
                continue;
            };
            if let Some((_, error)) = failed.iter().find(|(cluster, _)| *cluster == id.cluster()) {
                self.draft.fail(error.code());
                continue;
            }
            // A parameter of events has values in their records only.
            let Some(fetch) = &metric.fetch else {
                self.draft.fail(0);
                continue;
            };
            let mut out = Encoder::new(&mut self.draft, metric.unit);
            let outcome = guard::call(format_args!("metric {}.{}", A::NAME, metric.name), || {
                fetch(&mut self.agent, &mut out, &self.profile, &client)
            });
            let values = out.values();
            match outcome {
                Ok(()) if values > 0 => self.draft.close(values),
                Ok(()) => self.draft.fail(0),
                Err(error) => self.draft.fail(error.code()),
            }
        }
        self.draft.finish(|_| None)
    }

    /// Reads the clusters of the metrics. Gives those that cannot be read, and why.
    fn read(&mut self, ids: &[u8], request: &crate::Request<'_>) -> Vec<(u32, Error)> {
        let mut clusters: Vec<u32> = metrics(ids)
            .filter(|id| self.metrics.numbered(id.cluster(), id.item()).is_some())
            .map(MetricId::cluster)
            .collect();
        clusters.sort_unstable();
        clusters.dedup();
        let failed = clusters.into_iter().filter_map(|cluster| {
            let error = self.refresh(cluster, request).err()?;
            Some((cluster, agents(error)))
        });
        failed.collect()
    }
}

/// The metrics asked for.
fn metrics(ids: &[u8]) -> impl Iterator<Item = MetricId> {
    let ids = ids.chunks_exact(4).filter_map(|id| id.first_chunk::<4>());
    ids.map(|id| MetricId(u32::from_be_bytes(*id)))
}
