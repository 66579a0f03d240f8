//! Agent setup: what can be checked and decided without C.

use crate::ident::{InDom, MetricId};

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

/// The place of the first instance domain with a serial (INIT-42). Nearly all tables are
/// `ascending`: each serial is higher than the one before.
pub fn place_of<T>(serial: u32, table: &[T], ascending: bool, serial_of: impl Fn(&T) -> u32) -> Option<usize> {
    if ascending {
        return table.binary_search_by_key(&serial, serial_of).ok();
    }
    table.iter().position(|domain| serial_of(domain) == serial)
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
            let ascending = table.is_sorted_by(|one, next| one < next);
            let asked = table.iter().copied().chain([0, 0x3f_ffff]);
            for serial in asked.flat_map(|serial: u32| [serial, serial + 1, serial.saturating_sub(1)]) {
                let first = table.iter().position(|other| *other == serial);
                let found = place_of(serial, &table, ascending, |serial| *serial);
                assert_eq!(found, first, "{serial} in {table:?}");
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
