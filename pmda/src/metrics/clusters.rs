//! Clusters, and their metrics by item.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use super::metric::ITEMS;
use crate::error::{Error, Result};
use crate::guard;
use crate::labels::Labels;
use crate::request::Request;

/// Reads what the metrics of a cluster show.
pub(super) type Refresh<S> = Box<dyn Fn(&mut S, &Request<'_>) -> Result<()>>;

/// The slot of a metric, as `items` stores it.
fn slot(stored: NonZeroU32) -> usize {
    stored.get() as usize - 1
}

/// A cluster: how its metrics are read, and their items.
pub(crate) struct Cluster<S> {
    refreshers: Vec<Refresh<S>>,
    /// The cluster whose functions read this one as well, before its own.
    read_with: Option<u32>,
    /// The round of declarations in which the refresh functions were given.
    round: u64,
    pub(super) valid_for: Option<Duration>,
    /// The time of the last reading that is valid for some time.
    read: Option<Instant>,
    /// The number of the last request that it was read for.
    read_for: u64,
    /// The error of the reading for that request.
    pub(crate) failure: Option<Error>,
    pub(crate) labels: Labels,
    /// Serials of the instance domains that were declared in it.
    pub(super) indoms: Vec<u32>,
    /// The item of the next metric.
    pub(super) next: u32,
    /// The slot of each metric in the table plus one, by item. Four bytes each, as an agent may
    /// leave gaps between items.
    items: Vec<Option<NonZeroU32>>,
}

impl<S> Cluster<S> {
    /// The slot of the metric with an item.
    pub(super) fn slot(&self, item: u32) -> Option<usize> {
        self.items.get(item as usize)?.map(slot)
    }

    /// Gives a metric an item, which no other one has.
    pub(super) fn insert(&mut self, item: u32, slot: usize) {
        self.next = item + 1;
        let item = item as usize;
        if self.items.len() <= item {
            self.items.resize(item + 1, None);
        }
        // Metrics have 2^22 numbers.
        self.items[item] = NonZeroU32::new(slot as u32 + 1);
    }

    /// The slots of its metrics in the table.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> {
        self.items.iter().flatten().copied().map(slot)
    }

    /// The next free item, one that no metric had before if possible.
    pub(super) fn free_item(&self) -> Option<u32> {
        let mut items = (self.next..ITEMS).chain(0..self.next.min(ITEMS));
        items.find(|item| self.slot(*item).is_none())
    }

    /// Adds a refresh function, in place of those of an earlier round of declarations.
    pub(super) fn add_refresh(&mut self, round: u64, refresh: Refresh<S>) {
        self.begin_round(round);
        self.refreshers.push(refresh);
    }

    /// Has another cluster's functions read this one, in place of what an earlier round has declared.
    pub(super) fn read_with(&mut self, round: u64, other: u32) {
        self.begin_round(round);
        self.read_with = Some(other);
    }

    fn begin_round(&mut self, round: u64) {
        if self.round != round {
            self.refreshers.clear();
            (self.read_with, self.read) = (None, None);
            self.round = round;
        }
    }

    /// Returns whether nothing has to be read for its metrics, as for those of most clusters.
    #[inline]
    fn is_plain(&self) -> bool {
        self.refreshers.is_empty() && self.read_with.is_none()
    }

    /// Frees the item of a metric.
    pub(super) fn remove(&mut self, item: u32) {
        if let Some(slot) = self.items.get_mut(item as usize) {
            *slot = None;
        }
    }

    /// Reads what the metrics show, unless what was read is still valid.
    ///
    /// # Errors
    /// Those of the agent's functions.
    fn read(&mut self, state: &mut S, number: u32, request: &Request<'_>) -> Result<()> {
        let is_valid = match (self.read, self.valid_for) {
            (Some(read), Some(valid)) => request.now().saturating_duration_since(read) < valid,
            _ => false,
        };
        if is_valid {
            return Ok(());
        }
        self.read = None;
        let for_others = self.valid_for.map(|_| request.shared());
        let request = for_others.as_ref().unwrap_or(request);
        for refresher in &self.refreshers {
            guard::call(format_args!("reading cluster {number}"), || refresher(state, request))
                .map_err(guard::agents)?;
        }
        self.read = self.valid_for.map(|_| request.now());
        Ok(())
    }
}

impl<S> Default for Cluster<S> {
    fn default() -> Cluster<S> {
        Cluster {
            refreshers: Vec::new(),
            read_with: None,
            round: 0,
            valid_for: None,
            read: None,
            read_for: 0,
            failure: None,
            labels: Labels::new(),
            indoms: Vec::new(),
            next: 0,
            items: Vec::new(),
        }
    }
}

/// The clusters by number. A fetch looks each of its metrics up, so clusters and items are lists
/// with gaps: they have twelve and ten bits.
pub(crate) struct Clusters<S>(Vec<Option<Box<Cluster<S>>>>);

impl<S> Clusters<S> {
    pub(super) const fn new() -> Clusters<S> {
        Clusters(Vec::new())
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&Cluster<S>> {
        self.0.get(number as usize)?.as_deref()
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Cluster<S>> {
        self.0.get_mut(number as usize)?.as_deref_mut()
    }

    /// The cluster with a number, which is made if it does not exist.
    pub(super) fn at(&mut self, number: u32) -> &mut Cluster<S> {
        let index = number as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index].get_or_insert_default()
    }

    /// Returns whether a fetch of a metric has to read its cluster: the metric exists, and the cluster
    /// was not read for this request yet.
    #[inline]
    pub(crate) fn is_to_be_read(&self, number: u32, item: u32, turn: u64) -> bool {
        let cluster = self.get(number);
        cluster.is_some_and(|cluster| !cluster.is_plain() && cluster.read_for != turn && cluster.slot(item).is_some())
    }

    /// Reads what the metrics of a cluster show, once for the request with number `turn`. Returns
    /// whether it is read, now or before. `failed` gets the error of each function that has failed,
    /// with its cluster.
    pub(crate) fn read(
        &mut self,
        number: u32,
        turn: u64,
        state: &mut S,
        request: &Request<'_>,
        failed: &mut dyn FnMut(u32, &Error),
    ) -> bool {
        let Some(cluster) = self.get_mut(number) else {
            return true;
        };
        if cluster.is_plain() {
            return true;
        }
        if cluster.read_for == turn {
            return cluster.failure.is_none();
        }
        // Before the other cluster is read, so that two that are read with each other have an end.
        (cluster.read_for, cluster.failure) = (turn, None);
        let mut failure = None;
        if let Some(other) = cluster.read_with {
            if !self.read(other, turn, state, request, failed) {
                failure = self.get(other).and_then(|other| other.failure.clone());
            }
        }
        let Some(cluster) = self.get_mut(number) else {
            return true;
        };
        if failure.is_none() && !cluster.refreshers.is_empty() {
            failure = cluster.read(state, number, request).err();
            if let Some(failure) = &failure {
                failed(number, failure);
            }
        }
        cluster.failure = failure;
        cluster.failure.is_none()
    }

    /// The clusters that are read with one for which nothing is read, with that one.
    pub(super) fn unread(&self) -> impl Iterator<Item = (usize, u32)> {
        let with = |(number, cluster): (usize, &Option<Box<Cluster<S>>>)| Some((number, cluster.as_ref()?.read_with?));
        let with = self.0.iter().enumerate().filter_map(with);
        with.filter(|(_, other)| self.get(*other).is_none_or(|other| other.is_plain()))
    }

    /// Removes a cluster.
    pub(super) fn take(&mut self, number: u32) -> Option<Box<Cluster<S>>> {
        self.0.get_mut(number as usize)?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let mut clusters = Clusters::<()>::new();
        let slot = |clusters: &Clusters<()>, (cluster, item)| clusters.get(cluster)?.slot(item);
        clusters.at(3).insert(1023, 9);
        clusters.at(0).insert(0, 8);
        let slots = [(3, 1023), (3, 0), (0, 0), (0, 1), (1, 0), (4, 0)].map(|number| slot(&clusters, number));
        assert_eq!(slots, [Some(9), None, Some(8), None, None, None]);
        // Behind the last item, free ones are given again.
        assert_eq!(
            (clusters.at(3).free_item(), clusters.at(0).free_item()),
            (Some(0), Some(1))
        );
        clusters.at(3).remove(1023);
        clusters.at(3).remove(5);
        assert_eq!((slot(&clusters, (3, 1023)), slot(&clusters, (0, 0))), (None, Some(8)));
        assert_eq!(clusters.take(0).map(|cluster| cluster.slots().collect()), Some(vec![8]));
        assert!(clusters.get(0).is_none());
    }
}
