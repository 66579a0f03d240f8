//! Agent setup: what can be checked and decided without C.

use crate::ident::{InDom, MetricId};
use crate::index::{Index, Seed};

/// A metric's identifier with the agent's domain in it (INIT-41).
#[must_use]
pub const fn stamp_metric(metric: MetricId, domain: u32) -> MetricId {
    metric.in_domain(domain)
}

/// The identifier of an instance domain with the agent's domain in it (INIT-41).
#[must_use]
pub const fn stamp_indom(indom: InDom, domain: u32) -> InDom {
    InDom::new(domain, indom.serial())
}

/// What a metric says about its instance domain, with the agent's domain in it; "none" stays
/// (INIT-41).
#[must_use]
pub const fn stamp_indom_of_metric(indom: InDom, domain: u32) -> InDom {
    if indom.is_null() {
        indom
    } else {
        stamp_indom(indom, domain)
    }
}

/// The instance domains of an agent by serial number, so that checking n metrics takes n steps
/// (INIT-42).
///
/// Nearly all tables are in ascending order, and nearly all metrics name the domain of the metric
/// before, the one behind it, or the one whose serial is its place. An index would cost more than
/// all the rest when a few metrics meet thousands of domains, so only tables in another order get
/// one, if there is memory for it.
#[derive(Debug)]
pub struct Serials<F> {
    serial_at: F,
    len: usize,
    ascending: bool,
    /// Where the last metric's domain was.
    last: usize,
    index: Option<Index>,
}

impl<F: Fn(usize) -> u32> Serials<F> {
    /// Takes in a table of `len` domains with these serials, each higher than the one before if it
    /// is `ascending`; of several equal ones the first counts.
    #[must_use]
    pub fn new(len: usize, ascending: bool, serial_at: F) -> Serials<F> {
        let mut index = None;
        if !ascending {
            let mut places = Index::new();
            let end = u32::try_from(len).ok();
            if let Some(end) = end.filter(|end| places.reserve(len, *end, |_| 0).is_ok()) {
                for place in 0..end {
                    let serial = serial_at(place as usize);
                    let same = |before: u32| serial_at(before as usize) == serial;
                    if places.find(hash(serial), same).is_none() {
                        places.insert(hash(serial), place);
                    }
                }
                index = Some(places);
            }
        }
        Serials {
            serial_at,
            len,
            ascending,
            last: 0,
            index,
        }
    }

    /// The place in the table of the domain that a metric names; `None` when there is none.
    pub fn place(&mut self, indom: InDom) -> Option<usize> {
        let serial = indom.serial();
        if let Some(index) = &self.index {
            let same = |place: u32| (self.serial_at)(place as usize) == serial;
            return index.find(hash(serial), same).map(|place| place as usize);
        }
        let is_it = |place: &usize| *place < self.len && (self.serial_at)(*place) == serial;
        if !self.ascending {
            // There was no memory for an index.
            return (0..self.len).find(is_it);
        }
        let guesses = [self.last, self.last.wrapping_add(1), serial as usize];
        let found = guesses.into_iter().find(is_it).or_else(|| self.search(serial))?;
        self.last = found;
        Some(found)
    }

    /// The place of a serial in a table in ascending order.
    fn search(&self, serial: u32) -> Option<usize> {
        let (mut from, mut to) = (0, self.len);
        while from < to {
            let middle = from + (to - from) / 2;
            if (self.serial_at)(middle) < serial {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        (from < self.len && (self.serial_at)(from) == serial).then_some(from)
    }
}

fn hash(serial: u32) -> u32 {
    Seed::process().number(u64::from(serial))
}

/// How metrics are looked up (INIT-44).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapping {
    /// The item is the index in the table.
    Direct,
    /// The table is searched, because of the metric at this place.
    Linear(usize),
}

/// Decides how metrics of a table without a hash are looked up.
pub fn mapping(metrics: impl Iterator<Item = MetricId>) -> Mapping {
    let mut places = metrics.enumerate();
    let other = places.find(|(place, metric)| *place != metric.item() as usize);
    other.map_or(Mapping::Direct, |(place, _)| Mapping::Linear(place))
}

/// The interface version of an agent (INIT-1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Interface(pub u32);

impl Interface {
    /// Whether the version exists: 2 to 7 do.
    #[must_use]
    pub const fn is_supported(self) -> bool {
        self.0 >= 2 && self.0 <= 7
    }

    /// Whether agents have names of their own; then unknown metrics are not reported (FETCH-23).
    #[must_use]
    pub const fn has_names(self) -> bool {
        self.0 >= 4
    }

    /// Whether a fetch callback may say that there is no value (FETCH-40).
    #[must_use]
    pub const fn has_missing_values(self) -> bool {
        self.0 >= 3
    }

    /// Whether a fetch callback may have a value freed when it was copied (FETCH-40).
    #[must_use]
    pub const fn has_values_to_free(self) -> bool {
        self.0 >= 5
    }

    /// Whether agents are told of client contexts (MAIN-25).
    #[must_use]
    pub const fn has_contexts(self) -> bool {
        self.0 >= 5
    }

    /// Whether agents are told of the attributes of clients.
    #[must_use]
    pub const fn has_attributes(self) -> bool {
        self.0 >= 6
    }

    /// Whether agents give labels (LABEL-13).
    #[must_use]
    pub const fn has_labels(self) -> bool {
        self.0 >= 7
    }

    /// Whether results tell pmcd about changes of names and labels (FETCH-60).
    #[must_use]
    pub const fn reports_changes(self) -> bool {
        self.0 >= 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// INIT-10, INIT-13
    #[test]
    fn versions() {
        let exists = |version: u32| Interface(version).is_supported();
        assert!((2..=7).all(exists));
        assert!(!exists(1) && !exists(8) && !exists(255));
    }

    /// INIT-41: harmless when done again. "No instance domain" stays in a metric, and is stamped in
    /// a table of domains.
    #[test]
    fn stamping() {
        let metric = stamp_metric(MetricId(7), 250);
        assert_eq!(metric.to_string(), "250.0.7");
        assert_eq!(stamp_metric(metric, 250), metric);
        assert_eq!(stamp_indom(InDom(5), 250), InDom::new(250, 5));
        assert_eq!(stamp_indom(InDom::new(250, 5), 250), InDom::new(250, 5));
        assert_eq!(stamp_indom_of_metric(InDom(5), 250), InDom::new(250, 5));
        assert_eq!(stamp_indom_of_metric(InDom::NULL, 250), InDom::NULL);
        assert_eq!(stamp_indom(InDom::NULL, 250), InDom::new(250, 0x3f_ffff));
    }

    /// INIT-42: serials are found wherever they are, in any order; of several equal ones the first.
    #[test]
    fn serials() {
        for table in [
            vec![],
            vec![3],
            vec![3, 1, 3],
            vec![1, 1, 2],
            (0..100).collect(),
            (0..100).map(|place| place * 7 + 2).collect(),
            (0..100).rev().collect(),
        ] {
            let mut serials = Serials::new(table.len(), table.is_sorted_by(|one, next| one < next), |place| {
                table[place]
            });
            let asked = table.iter().copied().chain([0, 0x3f_ffff]);
            for serial in asked.flat_map(|serial| [serial, serial + 1, serial, serial.saturating_sub(1)]) {
                let first = table.iter().position(|other| *other == serial & 0x3f_ffff);
                assert_eq!(
                    serials.place(InDom::new(9, serial & 0x3f_ffff)),
                    first,
                    "{serial} in {table:?}"
                );
            }
        }
    }

    /// INIT-44: an empty table is direct, several clusters may be if the items run on.
    #[test]
    fn mappings() {
        assert_eq!(mapping([].into_iter()), Mapping::Direct);
        assert_eq!(
            mapping([MetricId(0), MetricId((1 << 10) | 1)].into_iter()),
            Mapping::Direct
        );
        assert_eq!(mapping([MetricId(0), MetricId(2)].into_iter()), Mapping::Linear(1));
    }
}
