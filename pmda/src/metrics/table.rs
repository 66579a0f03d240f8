//! All metrics, by place and by name.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::ops::Bound;
use std::rc::Rc;

use super::metric::Metric;

/// The metrics of an agent. The cost of adding, finding or removing one does not depend on their
/// number.
pub(super) struct Table<S> {
    /// By place; `None` for free ones.
    list: Vec<Option<Box<Metric<S>>>>,
    /// Free places.
    free: Vec<usize>,
    by_name: BTreeMap<Rc<str>, usize>,
    /// Places of metrics with a queue, which is told of clients that end.
    queues: Vec<usize>,
    hasher: RandomState,
    /// The sum of a hash of each name with its number. It is the same when all metrics are removed
    /// and declared again, so that clients are not told of a change then.
    fingerprint: u64,
}

/// A name directly below another one.
pub(crate) struct Child<'t> {
    pub(crate) name: &'t str,
    /// A metric, with no names below.
    pub(crate) is_leaf: bool,
}

impl<S> Table<S> {
    pub(super) fn new() -> Table<S> {
        Table {
            list: Vec::new(),
            free: Vec::new(),
            by_name: BTreeMap::new(),
            queues: Vec::new(),
            hasher: RandomState::new(),
            fingerprint: 0,
        }
    }

    /// A number for all names with their numbers.
    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub(super) fn len(&self) -> usize {
        self.list.len() - self.free.len()
    }

    fn hash(&self, metric: &Metric<S>) -> u64 {
        self.hasher
            .hash_one((&metric.name, &metric.aliases, metric.cluster, metric.item))
    }

    /// Adds a metric, whose name none has. Returns its slot.
    pub(super) fn insert(&mut self, metric: Box<Metric<S>>) -> usize {
        self.fingerprint = self.fingerprint.wrapping_add(self.hash(&metric));
        let slot = self.free.pop().unwrap_or(self.list.len());
        if metric.ended.is_some() {
            self.queues.push(slot);
        }
        for name in std::iter::once(&metric.name).chain(&metric.aliases) {
            self.by_name.insert(Rc::clone(name), slot);
        }
        match self.list.get_mut(slot) {
            Some(free) => *free = Some(metric),
            None => self.list.push(Some(metric)),
        }
        slot
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<Box<Metric<S>>> {
        let slot = *self.by_name.get(name)?;
        self.remove_at(slot)
    }

    pub(super) fn remove_at(&mut self, slot: usize) -> Option<Box<Metric<S>>> {
        let metric = self.list.get_mut(slot)?.take()?;
        for name in metric.names() {
            let removed = self.by_name.remove(name);
            debug_assert_eq!(removed, Some(slot), "{name}");
        }
        self.free.push(slot);
        if metric.ended.is_some() {
            self.queues.retain(|queue| *queue != slot);
        }
        self.fingerprint = self.fingerprint.wrapping_sub(self.hash(&metric));
        Some(metric)
    }

    pub(super) fn at(&self, slot: usize) -> Option<&Metric<S>> {
        self.list.get(slot)?.as_deref()
    }

    /// The metric in a slot, to be changed, but for its name and number, which are its keys.
    pub(super) fn at_mut(&mut self, slot: usize) -> Option<&mut Metric<S>> {
        self.list.get_mut(slot)?.as_deref_mut()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub(super) fn named(&self, name: &str) -> Option<&Metric<S>> {
        self.at(*self.by_name.get(name)?)
    }

    /// The name of the metric that has this name, or that it is below.
    pub(super) fn at_or_above(&self, name: &str) -> Option<&str> {
        self.clash(name).filter(|other| name.starts_with(other))
    }

    /// The metrics in the order of their slots, which is that of their declaration as long as none
    /// was removed.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Metric<S>> {
        self.list.iter().flatten().map(|metric| &**metric)
    }

    pub(super) fn queues(&self) -> impl Iterator<Item = &Metric<S>> {
        self.queues.iter().filter_map(|slot| self.at(*slot))
    }

    /// The names that begin with `start`, in order.
    pub(super) fn starting_with(&self, start: &str) -> impl Iterator<Item = &str> {
        let from = (Bound::Included(start), Bound::Unbounded);
        let names = self.by_name.range::<str, _>(from).map(|(name, _)| &**name);
        names.take_while(move |name| name.starts_with(start))
    }

    /// The names directly below `start`, which is empty or ends with a dot. Names below them are
    /// skipped, however many they are.
    pub(super) fn children(&self, start: &str) -> Vec<Child<'_>> {
        let mut children = Vec::new();
        let mut from = Bound::Included(Rc::from(start));
        loop {
            let mut names = self.by_name.range((from, Bound::Unbounded));
            let Some(rest) = names.next().and_then(|(name, _)| name.strip_prefix(start)) else {
                return children;
            };
            let (name, is_leaf) = rest.split_once('.').map_or((rest, true), |(name, _)| (name, false));
            children.push(Child { name, is_leaf });
            // Behind all names below this one: `/` is the next character after the dot.
            let behind = if is_leaf { "\0" } else { "/" };
            from = Bound::Included([start, name, behind].concat().into());
        }
    }

    /// The metric whose name a new one cannot be beside: it is the same, or one is below the other.
    ///
    /// No character of a name sorts before the dot. So in the order of names the name above this
    /// one is just before it, and a name below it is just after it.
    pub(super) fn clash(&self, name: &str) -> Option<&str> {
        let is_below = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'));
        let before = self
            .by_name
            .range::<str, _>((Bound::Unbounded, Bound::Included(name)))
            .next_back();
        let before = before.map(|(before, _)| &**before);
        let before = before.filter(|before| *before == name || is_below(name, before));
        before.or_else(|| {
            let behind = self
                .by_name
                .range::<str, _>((Bound::Excluded(name), Bound::Unbounded))
                .next()?;
            Some(&**behind.0).filter(|behind| is_below(behind, name))
        })
    }
}
