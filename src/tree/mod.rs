//! Trees of names: `pmdaTree*` and `pmdaNodeLookup`.

pub(crate) mod exports;
