//! Finding an entry of a table that belongs to the agent: metrics by their identifier, instance
//! domains and instances likewise.
//!
//! An agent may rewrite its tables at any time without a word. So there are two kinds of index
//! here: [`Hashed`], which `pmdaRehash` builds and which is used unchecked, since the agent
//! asked for it and has to ask again after a change (INIT-46); and [`HintIndex`], which nobody
//! asked for, and which is only a hint where to look first.

mod hashed;
mod hint_index;

pub use hashed::Hashed;
pub use hint_index::{HintIndex, Table};

use crate::ident::MetricId;

/// How a metric is looked up (FETCH-20).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// In the hash that `pmdaRehash` has built.
    Hashed,
    /// The item field is the index.
    Direct,
    /// The first entry that has the identifier.
    Linear,
}

impl Method {
    /// The method for a table of `metrics` entries, chosen afresh at each call.
    ///
    /// An agent may set the flag without calling `pmdaRehash`; a hash that is empty beside a table
    /// that is not is therefore ignored (F-8).
    #[must_use]
    pub fn choose(hash_flag: bool, hash_is_empty: bool, direct: bool, metrics: usize) -> Method {
        if hash_flag && !(hash_is_empty && metrics > 0) {
            Method::Hashed
        } else if direct && !hash_flag {
            Method::Direct
        } else {
            Method::Linear
        }
    }

    /// The name in debug output (FETCH-81).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Hashed => "hashed",
            Method::Direct => "direct",
            Method::Linear => "linear",
        }
    }
}

/// The direct lookup: the item is the index, and only the cluster is compared (FETCH-20, F-13).
pub fn direct(wanted: MetricId, table: Table, pmid_at: impl Fn(usize) -> MetricId) -> Option<usize> {
    let place = wanted.item() as usize;
    (place < table.len && pmid_at(place).cluster() == wanted.cluster()).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FETCH-20, F-8: the flag wins, then `e_direct`; an empty hash beside a full table is
    /// ignored.
    #[test]
    fn method() {
        assert_eq!(Method::choose(true, false, true, 3), Method::Hashed);
        assert_eq!(Method::choose(true, true, true, 0), Method::Hashed);
        assert_eq!(Method::choose(true, true, true, 3), Method::Linear);
        assert_eq!(Method::choose(false, false, true, 3), Method::Direct);
        assert_eq!(Method::choose(false, true, false, 3), Method::Linear);
        let names = [Method::Hashed, Method::Direct, Method::Linear].map(Method::name);
        assert_eq!(names, ["hashed", "direct", "linear"], "FETCH-81");
    }

    /// F-13: the direct lookup ignores the domain and the entry's own item.
    #[test]
    fn direct_compares_the_cluster_alone() {
        let table = [MetricId(0x3e80_0400), MetricId(0x3e80_0409)];
        let find = |pmid| {
            let seen = Table { address: 1, len: 2 };
            direct(MetricId(pmid), seen, |place| table[place])
        };
        assert_eq!(find(0x00c0_0401), Some(1));
        assert_eq!(find(0x3e80_0801), None);
        assert_eq!(find(0x3e80_0402), None);
    }
}
