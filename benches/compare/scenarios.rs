//! The scenarios and the sizes at which they are compared.

/// What kind of answer a scenario gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Time for one operation.
    Time,
    /// Time, and interesting at growing sizes.
    Grows,
    /// Bytes, the same in every run.
    Memory,
    /// Time of a daemon in a process of its own.
    Daemon,
    /// Time of two threads, on two cores.
    Threads,
    /// Time of whole processes, one after the other.
    Process,
}

/// A scenario of `benches/c`.
pub struct Scenario {
    /// Its name there.
    pub name: &'static str,
    /// The sizes.
    pub sizes: &'static [u64],
    /// What it gives.
    pub kind: Kind,
}

const fn scenario(name: &'static str, sizes: &'static [u64], kind: Kind) -> Scenario {
    Scenario { name, sizes, kind }
}

/// Everything that is measured, in the order of the table.
pub const SCENARIOS: &[Scenario] = &[
    scenario("lookup by id, hit", &[10, 1_000, 100_000], Kind::Grows),
    scenario("lookup by id, miss", &[10, 1_000, 100_000], Kind::Grows),
    scenario("lookup by full name", &[10, 1_000, 100_000], Kind::Grows),
    scenario("lookup by short name", &[10, 1_000, 100_000], Kind::Grows),
    scenario("lookup by key", &[100, 1_000, 50_000], Kind::Grows),
    scenario("store new names", &[1_000, 100_000, 1_000_000], Kind::Grows),
    scenario("refresh: INACTIVE, store all", &[10, 1_000, 100_000], Kind::Grows),
    scenario("store new names, REUSE", &[1_000, 50_000], Kind::Grows),
    scenario("store new keys", &[1_000, 50_000], Kind::Grows),
    scenario("cull one, add one", &[1_000], Kind::Grows),
    scenario("SIZE_ACTIVE, SIZE_INACTIVE", &[100_000], Kind::Grows),
    scenario("lookups over many domains", &[1_000], Kind::Time),
    scenario("lookup by id beside a second thread", &[10, 1_000, 100_000], Kind::Time),
    scenario("lookups of two threads in two domains", &[1_000], Kind::Threads),
    scenario("lookups of two threads in one domain", &[1_000], Kind::Threads),
    scenario("refreshes of two threads in two domains", &[1_000], Kind::Threads),
    scenario("walk", &[10, 1_000, 100_000], Kind::Grows),
    scenario("walk, a third inactive", &[100, 10_000], Kind::Grows),
    scenario("ten instances after a peak", &[1_000_000], Kind::Grows),
    scenario("save", &[1_000_000], Kind::Grows),
    scenario("load, plain", &[1_000_000], Kind::Grows),
    scenario("load, keyed", &[1_000_000], Kind::Grows),
    scenario("purge", &[1_000, 100_000], Kind::Grows),
    scenario("purge that culls half", &[1_000, 100_000, 1_000_000], Kind::Grows),
    scenario("fetch, direct, 64-bit", &[1_000], Kind::Time),
    scenario("fetch, direct, string", &[1_000], Kind::Time),
    scenario("fetch, hashed, 64-bit", &[10_000], Kind::Grows),
    scenario("fetch, hashed, string", &[10_000], Kind::Time),
    scenario("fetch, unsorted table", &[10_000], Kind::Grows),
    scenario("fetch, instance table", &[10, 1_000, 100_000], Kind::Grows),
    scenario("fetch, cache with lookup", &[10, 1_000, 100_000], Kind::Grows),
    scenario("fetch, selected of 10,000, table", &[1, 10, 100], Kind::Time),
    scenario("fetch, selected of 10,000, cache", &[1, 10, 100], Kind::Time),
    // For the table of growth: the tables of both libraries are compared above.
    scenario("fetch, ten selected, table", &[], Kind::Grows),
    scenario("fetch, ten selected, cache", &[], Kind::Grows),
    scenario("fetch, many domains", &[1_000], Kind::Time),
    scenario("pmdaInstance by id", &[1_000, 100_000], Kind::Grows),
    scenario("pmdaInstance by name", &[1_000, 100_000], Kind::Grows),
    scenario("pmdaInstance, all, table", &[1_000, 100_000], Kind::Grows),
    scenario("pmdaInstance, all, cache", &[1_000, 100_000], Kind::Grows),
    scenario("pmdaInit", &[10_000], Kind::Grows),
    scenario("pmdaInit, 100 metrics, many domains", &[10, 5_000], Kind::Time),
    scenario("pmdaRehash", &[10_000], Kind::Grows),
    scenario("pmdaText, first", &[1_000, 10_000], Kind::Grows),
    scenario("pmdaText, last", &[10_000], Kind::Grows),
    scenario("pmdaText, miss", &[10_000], Kind::Grows),
    scenario("pmdaText, instance domain", &[1_000, 10_000], Kind::Grows),
    scenario("instance labels, one each", &[1_000], Kind::Grows),
    scenario("instance labels, three each", &[1_000], Kind::Time),
    scenario("event array, record or parameter", &[1_000], Kind::Time),
    scenario("queue, append and fetch", &[100, 1_000], Kind::Time),
    scenario("queue, append and ten clients fetch", &[100], Kind::Time),
    scenario("append to a full queue, many clients", &[1_000], Kind::Grows),
    scenario("pmdaTreeName", &[1_000, 100_000], Kind::Grows),
    scenario("pmdaTreeChildren", &[1_000, 100_000], Kind::Grows),
    // The C library takes half a minute for a group of 100,000.
    scenario("pmdaTreeInsert, all in one group", &[100, 1_000, 10_000], Kind::Grows),
    scenario("pmdaTreePMID, all in one group", &[100, 1_000, 10_000], Kind::Grows),
    scenario("daemon, one value, round trip", &[1], Kind::Daemon),
    scenario("daemon, one value, agent time", &[1], Kind::Daemon),
    scenario("daemon, 10 metrics, agent time", &[1_000], Kind::Daemon),
    scenario("daemon, desc, round trip", &[1], Kind::Daemon),
    scenario("daemon, text, round trip", &[1], Kind::Daemon),
    scenario("daemon, instances, agent time", &[10_000], Kind::Daemon),
    scenario("daemon, labels, agent time", &[1_000], Kind::Daemon),
    scenario("process: dlopen, init, one fetch", &[200], Kind::Process),
    scenario("bytes per instance", &[1_000, 100_000, 1_000_000], Kind::Memory),
];
