//! The request that is being served.

use std::cell::Cell;
use std::time::{Duration, Instant};

use pmda_core::ident::MetricId;

use crate::client::Client;
use crate::profile::{Profile, Selection};

/// The purpose of a request.
#[non_exhaustive]
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

/// A request that needs current values or names.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    why: Why,
    client: &'r Client,
    wanted: Wanted<'r>,
    instances: WantedInstances<'r>,
    clock: &'r Clock,
    has_read: bool,
    /// True if the data that are read for it serve other requests, too.
    is_shared: bool,
}

/// The time of a request, which is read when it is first asked for, and only once.
#[derive(Debug)]
pub(crate) struct Clock {
    /// The time by which a harness has moved the clock.
    ahead: Duration,
    now: Cell<Option<Instant>>,
}

impl Clock {
    pub(crate) fn new(ahead: Duration) -> Clock {
        Clock {
            ahead,
            now: Cell::new(None),
        }
    }

    fn now(&self) -> Instant {
        let now = self.now.get().unwrap_or_else(|| Instant::now() + self.ahead);
        self.now.set(Some(now));
        now
    }
}

/// The values that a request needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'r> {
    /// Of these metrics.
    Metrics(&'r [MetricId]),
    /// Of these clusters.
    Clusters(&'r [u32]),
}

/// The instances that a request needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WantedInstances<'r> {
    /// Of each domain those that the profile selects.
    Profile(&'r Profile),
    /// Of this domain those that are selected, and none of others.
    Domain(u32, Selection<'r>),
    All,
    None,
}

impl<'r> WantedInstances<'r> {
    fn of(self, serial: u32) -> Selection<'r> {
        match self {
            WantedInstances::Profile(profile) => profile.selection(serial),
            WantedInstances::Domain(domain, selection) if domain == serial => selection,
            WantedInstances::All => Selection::All,
            WantedInstances::Domain(..) | WantedInstances::None => Selection::None,
        }
    }
}

impl<'r> Request<'r> {
    pub(crate) fn new(
        why: Why,
        client: &'r Client,
        wanted: Wanted<'r>,
        instances: WantedInstances<'r>,
        clock: &'r Clock,
    ) -> Request<'r> {
        Request {
            why,
            client,
            wanted,
            instances,
            clock,
            has_read: false,
            is_shared: false,
        }
    }

    /// The request after clusters were read for it.
    pub(crate) fn after_reading(self) -> Request<'r> {
        Request { has_read: true, ..self }
    }

    /// The request for a reading that serves other requests, too: it needs all instances and all
    /// values of the clusters that it needs anything of.
    pub(crate) fn shared(self) -> Request<'r> {
        Request {
            instances: WantedInstances::All,
            is_shared: true,
            ..self
        }
    }

    /// Returns true if clusters have been read for it: that is so in the second call of
    /// [`Agent::dynamic`](crate::Agent::dynamic) for a request.
    #[must_use]
    pub fn has_read(&self) -> bool {
        self.has_read
    }

    /// The purpose of the request.
    #[must_use]
    pub fn why(&self) -> Why {
        self.why
    }

    /// The client that asks.
    #[must_use]
    pub fn client(&self) -> &Client {
        self.client
    }

    /// The time, which a [harness](crate::testing::Harness) can move.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Returns whether it needs anything of a cluster: values, or the instances or labels of its
    /// domains.
    #[must_use]
    pub fn wants(&self, cluster: u32) -> bool {
        match self.wanted {
            Wanted::Metrics(ids) => ids.iter().any(|id| id.cluster() == cluster),
            Wanted::Clusters(clusters) => clusters.contains(&cluster),
        }
    }

    /// The clusters that it needs something of, each once, in ascending order.
    pub fn clusters(&self) -> impl Iterator<Item = u32> + use<> {
        let mut clusters: Vec<u32> = match self.wanted {
            Wanted::Metrics(ids) => ids.iter().map(|id| id.cluster()).collect(),
            Wanted::Clusters(clusters) => clusters.to_vec(),
        };
        clusters.sort_unstable();
        clusters.dedup();
        clusters.into_iter()
    }

    /// Returns whether it needs values of a metric, so that an agent reads what is dear only if it
    /// is asked for. A request for instances, labels or names needs none.
    ///
    /// In a [refresh](crate::Metrics::refresh) of a cluster whose values are [valid for some
    /// time](crate::Metrics::valid_for) it needs all metrics of the cluster, since other requests
    /// get the same values.
    #[must_use]
    pub fn wants_item(&self, cluster: u32, item: u32) -> bool {
        if self.is_shared {
            return self.wants(cluster);
        }
        match self.wanted {
            Wanted::Metrics(ids) => ids.iter().any(|id| (id.cluster(), id.item()) == (cluster, item)),
            Wanted::Clusters(_) => false,
        }
    }

    /// Returns whether it needs an instance of the domain with this serial, so that an agent with
    /// thousands reads those that are asked for.
    ///
    /// - A fetch needs the instances that the client's profile selects (`pmAddProfile`), and so
    ///   does a request for the labels of the domain.
    /// - A request for the instances of the domain needs all of them, one that translates a number
    ///   that instance.
    /// - Other requests, and those for another domain, need none.
    ///
    /// In a [refresh](crate::Metrics::refresh) of a cluster whose values are [valid for some
    /// time](crate::Metrics::valid_for) it needs all instances of all domains, since other requests
    /// get the same values.
    ///
    /// An agent that reads some instances only sets them in a
    /// [`change`](crate::Indom::change), in which the others stay as they are:
    /// [`update`](crate::Indom::update) makes those that it does not set inactive.
    #[must_use]
    pub fn wants_instance(&self, serial: u32, inst: i32) -> bool {
        self.instances.of(serial).selects(inst)
    }

    /// The only instances of the domain with this serial that it can need, by ascending number,
    /// each once; some may not exist. `None` if it may need others as well: all of them, or all but
    /// some ([`Request::wants_instance`]).
    #[must_use]
    pub fn only_instances(&self, serial: u32) -> Option<&[i32]> {
        self.instances.of(serial).candidates()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientId;

    #[test]
    fn wanted() {
        let client = Client::new(ClientId(0));
        let clock = Clock::new(Duration::ZERO);
        let request = |wanted| Request::new(Why::Fetch, &client, wanted, WantedInstances::None, &clock);
        let ids = [0x3f40_0401, 0x3f40_0c07].map(MetricId);
        let fetch = request(Wanted::Metrics(&ids));
        assert_eq!(
            [0, 1, 2, 3].map(|cluster| fetch.wants(cluster)),
            [false, true, false, true]
        );
        assert_eq!(fetch.clusters().collect::<Vec<_>>(), [1, 3]);
        assert!(fetch.wants_item(3, 7) && !fetch.wants_item(3, 1) && !fetch.wants_item(1, 7));
        let instances = request(Wanted::Clusters(&[4]));
        assert!(instances.wants(4) && !instances.wants_item(4, 9) && !instances.wants(1));
        // Values that are valid for some time are those of other requests, too.
        assert!(instances.shared().wants_item(4, 9) && !instances.shared().wants_item(1, 9));
    }
}
