//! Clusters, and their metrics by item.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use super::metric::ITEMS;
use crate::{Error, Labels, Request, Result, guard};

/// Reads what the metrics of a cluster show.
pub(super) type Refresh<S> = Box<dyn Fn(&mut S, &Request<'_>) -> Result<()>>;

/// The slot of a metric, as `items` stores it.
fn slot(stored: NonZeroU32) -> usize {
    stored.get() as usize - 1
}

/// A cluster: how its metrics are read, and their items.
pub(crate) struct Cluster<S> {
    refreshers: Vec<Refresh<S>>,
    /// The round of declarations in which the refresh functions were given.
    round: u64,
    pub(super) valid_for: Option<Duration>,
    /// The time of the last reading that is valid for some time.
    read: Option<Instant>,
    /// The number of the last fetch that has wanted one of its metrics.
    wanted: u64,
    /// The error of the reading for that fetch.
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
        if self.round != round {
            self.refreshers.clear();
            self.read = None;
            self.round = round;
        }
        self.refreshers.push(refresh);
    }

    /// Frees the item of a metric.
    pub(super) fn remove(&mut self, item: u32) {
        if let Some(slot) = self.items.get_mut(item as usize) {
            *slot = None;
        }
    }

    /// Reads what the metrics show, if the fetch with number `fetch` wants one of them, and once
    /// for it. Returns whether a function was called.
    pub(crate) fn read_for(
        &mut self,
        fetch: u64,
        item: u32,
        state: &mut S,
        number: u32,
        request: &Request<'_>,
    ) -> bool {
        // Most clusters have nothing to be read.
        if self.refreshers.is_empty() || self.wanted == fetch || self.slot(item).is_none() {
            return false;
        }
        self.wanted = fetch;
        self.failure = self.read(state, number, request).err();
        true
    }

    /// Reads what the metrics show, unless what was read is still valid.
    ///
    /// # Errors
    /// Those of the agent's functions.
    pub(crate) fn read(&mut self, state: &mut S, number: u32, request: &Request<'_>) -> Result<()> {
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
            round: 0,
            valid_for: None,
            read: None,
            wanted: 0,
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
