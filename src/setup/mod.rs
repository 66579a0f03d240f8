//! Set-up of an agent: what can be checked and decided without C.

#![forbid(unsafe_code)]

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::ident::{InDom, MetricId};

/// The interface versions that exist: 2 to 7.
#[must_use]
pub const fn supported(interface: u32) -> bool {
    interface >= 2 && interface <= 7
}

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

/// What a metric says about its instance domain, with the agent's domain in it; "none" stays (INIT-41).
#[must_use]
pub const fn stamp_indom_of_metric(indom: InDom, domain: u32) -> InDom {
    if indom.is_null() {
        indom
    } else {
        stamp_indom(indom, domain)
    }
}

/// The instance domains of an agent by serial number, so that checking n metrics takes n steps (INIT-42).
#[derive(Debug)]
pub struct Serials {
    places: HashMap<u32, usize, FixedState>,
}

impl Serials {
    /// Takes in the identifiers of a table; the first of several equal ones counts.
    #[must_use]
    pub fn new(indoms: impl ExactSizeIterator<Item = InDom>) -> Serials {
        let mut places = HashMap::with_capacity_and_hasher(indoms.len(), FixedState::with_seed(0));
        for (place, indom) in indoms.enumerate() {
            places.entry(indom.serial()).or_insert(place);
        }
        Serials { places }
    }

    /// The place in the table of the domain that a metric names; `None` when there is none.
    #[must_use]
    pub fn place(&self, indom: InDom) -> Option<usize> {
        self.places.get(&indom.serial()).copied()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// INIT-10, INIT-13
    #[test]
    fn versions() {
        assert!((2..=7).all(supported));
        assert!(!supported(1) && !supported(8) && !supported(255));
    }

    /// INIT-41: harmless when done again. "No instance domain" stays in a metric, and is stamped in a table of domains.
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

    /// INIT-42: serials match whatever domain is in the table already.
    #[test]
    fn serials() {
        let serials = Serials::new([InDom::new(250, 3), InDom(1), InDom(3)].into_iter());
        assert_eq!(serials.place(InDom(3)), Some(0));
        assert_eq!(serials.place(InDom::new(9, 1)), Some(1));
        assert_eq!(serials.place(InDom(2)), None);
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
