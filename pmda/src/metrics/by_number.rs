//! Metrics by their numbers.

/// Where each metric is, by cluster and item. A fetch looks each metric up, so these are lists with
/// gaps: clusters have twelve bits, items ten.
#[derive(Default)]
pub(super) struct ByNumber(Vec<Vec<Option<usize>>>);

impl ByNumber {
    /// Where the metric is that has a number.
    #[inline]
    pub(super) fn get(&self, cluster: u32, item: u32) -> Option<usize> {
        *self.0.get(cluster as usize)?.get(item as usize)?
    }

    /// Gives a metric a number. Returns the metric that had it.
    pub(super) fn insert(&mut self, cluster: u32, item: u32, slot: usize) -> Option<usize> {
        let (cluster, item) = (cluster as usize, item as usize);
        if self.0.len() <= cluster {
            self.0.resize_with(cluster + 1, Vec::new);
        }
        let items = self.0.get_mut(cluster)?;
        if items.len() <= item {
            items.resize(item + 1, None);
        }
        items.get_mut(item)?.replace(slot)
    }

    /// A number is not a metric's any more.
    pub(super) fn remove(&mut self, cluster: u32, item: u32) {
        let items = self.0.get_mut(cluster as usize);
        if let Some(place) = items.and_then(|items| items.get_mut(item as usize)) {
            *place = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let mut metrics = ByNumber::default();
        assert_eq!((metrics.insert(3, 1023, 7), metrics.insert(0, 0, 8)), (None, None));
        assert_eq!(metrics.insert(3, 1023, 9), Some(7));
        let found = [(3, 1023), (3, 0), (0, 0), (0, 1), (1, 0)].map(|(cluster, item)| metrics.get(cluster, item));
        assert_eq!(found, [Some(9), None, Some(8), None, None]);
        metrics.remove(3, 1023);
        metrics.remove(5, 5);
        assert_eq!((metrics.get(3, 1023), metrics.get(0, 0)), (None, Some(8)));
    }
}
