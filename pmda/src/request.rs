//! The request that is being served, as the agent sees it.

use std::time::Instant;

use pmda_core::ident::MetricId;

use crate::Client;

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// For values.
    Fetch,
    /// For the instances of a domain.
    Instances,
    /// For the labels of instances.
    Labels,
    /// For the names of metrics.
    Names,
}

/// A request that wants current values.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    pub(crate) why: Why,
    pub(crate) client: &'r Client,
    pub(crate) wanted: Wanted<'r>,
    pub(crate) now: Instant,
}

/// What values a request needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'r> {
    /// Of these metrics, four bytes each, as they stand in the PDU.
    Metrics(&'r [u8]),
    /// Of these clusters.
    Clusters(&'r [u32]),
}

impl Request<'_> {
    /// What it is for.
    #[must_use]
    pub fn why(&self) -> Why {
        self.why
    }

    /// Who asks.
    #[must_use]
    pub fn client(&self) -> &Client {
        self.client
    }

    /// The time, which a [harness](crate::testing::Harness) can move.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Whether it needs anything of a cluster.
    #[must_use]
    pub fn wants(&self, cluster: u32) -> bool {
        match self.wanted {
            Wanted::Metrics(_) => self.metrics().any(|metric| metric.cluster() == cluster),
            Wanted::Clusters(clusters) => clusters.contains(&cluster),
        }
    }

    /// Whether it needs a metric. Who asks for instances needs all those of their clusters.
    #[must_use]
    pub fn wants_item(&self, cluster: u32, item: u32) -> bool {
        match self.wanted {
            Wanted::Metrics(_) => self
                .metrics()
                .any(|metric| metric.cluster() == cluster && metric.item() == item),
            Wanted::Clusters(clusters) => clusters.contains(&cluster),
        }
    }

    fn metrics(&self) -> impl Iterator<Item = MetricId> + '_ {
        let ids = match self.wanted {
            Wanted::Metrics(ids) => ids,
            Wanted::Clusters(_) => &[],
        };
        let ids = ids.chunks_exact(4).filter_map(|id| id.first_chunk::<4>());
        ids.map(|id| MetricId(u32::from_be_bytes(*id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientId;

    #[test]
    fn wanted() {
        let client = Client::new(ClientId(0));
        let request = |wanted| Request {
            why: Why::Fetch,
            client: &client,
            wanted,
            now: Instant::now(),
        };
        let ids = [0x3f40_0401_u32, 0x3f40_0c07].map(u32::to_be_bytes).concat();
        let fetch = request(Wanted::Metrics(&ids));
        assert_eq!(
            [0, 1, 2, 3].map(|cluster| fetch.wants(cluster)),
            [false, true, false, true]
        );
        assert!(fetch.wants_item(3, 7) && !fetch.wants_item(3, 1) && !fetch.wants_item(1, 7));
        let instances = request(Wanted::Clusters(&[4]));
        assert!(instances.wants(4) && instances.wants_item(4, 9) && !instances.wants(1));
    }
}
