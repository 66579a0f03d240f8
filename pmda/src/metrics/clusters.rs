//! Clusters, and their metrics by number.

use std::time::{Duration, Instant};

use super::Refresh;
use crate::{Error, Labels, Request, Result, guard};

/// What is known of a cluster.
pub(crate) struct Cluster<S> {
    pub(super) refreshers: Vec<Refresh<S>>,
    pub(super) valid_for: Option<Duration>,
    /// When it was last read.
    read: Option<Instant>,
    /// The number of the last fetch that has wanted something of it.
    wanted: u64,
    /// Why it could not be read for that one.
    pub(crate) failure: Option<Error>,
    pub(crate) labels: Labels,
    /// The item of the next metric.
    pub(super) next: u32,
    /// Where each metric is in the list of all, by item.
    items: Vec<Option<usize>>,
}

impl<S> Cluster<S> {
    /// Where the metric with an item is.
    #[inline]
    pub(super) fn slot(&self, item: u32) -> Option<usize> {
        *self.items.get(item as usize)?
    }

    /// Gives a metric an item. Returns where the metric is that had it.
    pub(super) fn insert(&mut self, item: u32, slot: usize) -> Option<usize> {
        let item = item as usize;
        if self.items.len() <= item {
            self.items.resize(item + 1, None);
        }
        self.items.get_mut(item)?.replace(slot)
    }

    /// An item is not a metric's any more.
    pub(super) fn remove(&mut self, item: u32) {
        if let Some(place) = self.items.get_mut(item as usize) {
            *place = None;
        }
    }

    /// Reads what the metrics show, once for the fetch with this number that wants an item of it.
    #[inline]
    pub(crate) fn read_for(&mut self, fetch: u64, item: u32, state: &mut S, number: u32, request: &Request<'_>) {
        // Most clusters have nothing to be read.
        if !self.refreshers.is_empty() && self.wanted != fetch && self.slot(item).is_some() {
            self.wanted = fetch;
            self.failure = self.read(state, number, request).err();
        }
    }

    /// Reads what the metrics show, unless what was read is still valid.
    ///
    /// # Errors
    /// Those of the agent.
    pub(crate) fn read(&mut self, state: &mut S, number: u32, request: &Request<'_>) -> Result<()> {
        let is_valid = match (self.read, self.valid_for) {
            (Some(read), Some(valid)) => request.now().saturating_duration_since(read) < valid,
            _ => false,
        };
        if is_valid {
            return Ok(());
        }
        self.read = None;
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
            valid_for: None,
            read: None,
            wanted: 0,
            failure: None,
            labels: Labels::new(),
            next: 0,
            items: Vec::new(),
        }
    }
}

/// The clusters by number. A fetch looks each of its metrics up, so these are lists with gaps:
/// clusters have twelve bits, items ten.
pub(crate) struct Clusters<S>(Vec<Option<Box<Cluster<S>>>>);

impl<S> Clusters<S> {
    pub(super) const fn new() -> Clusters<S> {
        Clusters(Vec::new())
    }

    /// The cluster with a number, if there is one.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&Cluster<S>> {
        self.0.get(number as usize)?.as_deref()
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Cluster<S>> {
        self.0.get_mut(number as usize)?.as_deref_mut()
    }

    /// The cluster with a number; a new one if there was none.
    pub(super) fn at(&mut self, number: u32) -> &mut Cluster<S> {
        let place = number as usize;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place].get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let mut clusters = Clusters::<()>::new();
        let slot = |clusters: &Clusters<()>, (cluster, item)| clusters.get(cluster)?.slot(item);
        assert_eq!(
            (clusters.at(3).insert(1023, 7), clusters.at(0).insert(0, 8)),
            (None, None)
        );
        assert_eq!(clusters.at(3).insert(1023, 9), Some(7));
        let found = [(3, 1023), (3, 0), (0, 0), (0, 1), (1, 0), (4, 0)].map(|number| slot(&clusters, number));
        assert_eq!(found, [Some(9), None, Some(8), None, None, None]);
        clusters.at(3).remove(1023);
        clusters.at(3).remove(5);
        assert_eq!((slot(&clusters, (3, 1023)), slot(&clusters, (0, 0))), (None, Some(8)));
    }
}
