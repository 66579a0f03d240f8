//! The scenarios and the sizes at which they are compared.

/// What kind of answer a scenario gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Time of one process, whose instructions can be counted as well.
    Calls,
    /// Bytes, the same in every run.
    Memory,
    /// Time of other processes than the one that measures.
    Processes,
    /// Time of two threads that call at once, on two cores; on the C library with a mutex around
    /// each call.
    Threads,
}

/// A scenario of `benches/c`.
pub struct Scenario {
    /// Its name there.
    pub name: &'static str,
    /// The sizes.
    pub sizes: &'static [u64],
    /// Sizes at which the C library takes too long: ours alone is measured.
    pub alone: &'static [u64],
    /// What it gives.
    pub kind: Kind,
    /// The largest size at which instructions are counted: callgrind takes fifty times as long.
    pub counted: u64,
}

const fn scenario(name: &'static str, sizes: &'static [u64]) -> Scenario {
    Scenario {
        name,
        sizes,
        alone: &[],
        kind: Kind::Calls,
        counted: 100,
    }
}

impl Scenario {
    const fn alone(self, sizes: &'static [u64]) -> Scenario {
        Scenario { alone: sizes, ..self }
    }

    const fn counted(self, counted: u64) -> Scenario {
        Scenario { counted, ..self }
    }

    const fn kind(self, kind: Kind) -> Scenario {
        Scenario { kind, ..self }
    }
}

/// The sizes that most agents have, and larger ones.
const SMALL: &[u64] = &[1, 5, 10, 30, 100];
const TO_1000: &[u64] = &[1, 5, 10, 30, 100, 1_000];
const TO_10_000: &[u64] = &[1, 5, 10, 30, 100, 1_000, 10_000];
const TO_50_000: &[u64] = &[1, 5, 10, 30, 100, 1_000, 10_000, 50_000];
const TO_100_000: &[u64] = &[1, 5, 10, 30, 100, 1_000, 10_000, 100_000];
const TO_MILLION: &[u64] = &[1, 5, 10, 30, 100, 1_000, 100_000, 1_000_000];
/// Only ours.
const MILLION: &[u64] = &[1_000_000];
/// Bytes of a text or of a label's value.
const BYTES: &[u64] = &[10, 100, 1_000, 10_000];
/// Bytes of an event's text.
const TEXTS: &[u64] = &[8, 64, 1_000];
/// Metrics of a fetch.
const METRICS: &[u64] = &[1, 3, 5, 10, 100];
/// Clients of a queue.
const CLIENTS: &[u64] = &[1, 2, 10, 100];

/// Everything that is measured, in the order of the file.
pub const SCENARIOS: &[Scenario] = &[
    scenario("lookup by id, hit", TO_100_000).alone(MILLION),
    scenario("lookup by id, miss", TO_100_000).alone(MILLION),
    scenario("lookup by full name", TO_100_000).alone(MILLION),
    scenario("lookup by short name", TO_100_000).alone(MILLION),
    scenario("lookup by key", TO_50_000).alone(MILLION),
    scenario("store new names", TO_MILLION),
    scenario("refresh: INACTIVE, store all", TO_100_000).alone(MILLION),
    scenario("store new names, REUSE", TO_50_000).alone(MILLION),
    scenario("store new keys", TO_50_000).alone(MILLION),
    scenario("cull one, add one", TO_1000).alone(MILLION),
    scenario("SIZE_ACTIVE, SIZE_INACTIVE", TO_100_000),
    scenario("lookups over many domains", TO_1000),
    scenario("walk", TO_100_000).alone(MILLION),
    scenario("walk, a third inactive", TO_10_000).alone(MILLION),
    scenario("walk, each with name and private pointer", TO_10_000),
    scenario("ten instances after a peak", &[10, 100, 1_000, 1_000_000]),
    scenario("save", TO_MILLION),
    scenario("load, plain", TO_MILLION),
    scenario("load, keyed", TO_MILLION),
    scenario("purge", TO_MILLION).counted(1_000),
    scenario("purge that culls half", TO_MILLION).counted(1_000),
    scenario("lookup by id beside a second thread", TO_100_000),
    scenario("two threads look up, two domains", TO_1000).kind(Kind::Threads),
    scenario("two threads look up, one domain", TO_1000).kind(Kind::Threads),
    scenario("two threads refresh, two domains", TO_1000).kind(Kind::Threads),
    scenario("fetch, direct, 64-bit", TO_1000),
    scenario("fetch, direct, string", TO_1000),
    scenario("fetch, hashed, 64-bit", TO_10_000).alone(MILLION),
    scenario("fetch, hashed, string", TO_10_000),
    scenario("fetch, unsorted table", TO_10_000).alone(MILLION),
    scenario("fetch of n metrics, direct", METRICS),
    scenario("fetch of n metrics, hashed", METRICS),
    scenario("fetch of n metrics, unsorted table", METRICS),
    scenario("fetch, instance table", TO_100_000).alone(MILLION),
    scenario("fetch, cache with lookup", TO_100_000).alone(MILLION),
    scenario("fetch, selected of 10,000, table", SMALL),
    scenario("fetch, selected of 10,000, cache", SMALL),
    scenario("fetch, ten selected, table", &[10, 30, 100, 1_000, 10_000, 50_000]).alone(MILLION),
    scenario("fetch, ten selected, cache", &[10, 30, 100, 1_000, 10_000, 50_000]).alone(MILLION),
    scenario("fetch, many domains", TO_1000),
    scenario("pmdaInstance by id", TO_100_000).alone(MILLION),
    scenario("pmdaInstance by name", TO_100_000).alone(MILLION),
    scenario("pmdaInstance by id, cache", TO_10_000).alone(MILLION),
    scenario("pmdaInstance by name, cache", TO_10_000).alone(MILLION),
    scenario("pmdaInstance, all, table", TO_100_000).alone(MILLION),
    scenario("pmdaInstance, all, cache", TO_100_000).alone(MILLION),
    scenario("pmdaInit", TO_10_000).alone(MILLION),
    scenario("pmdaInit, 100 metrics, many domains", &[1, 5, 10, 30, 100, 5_000]),
    scenario("pmdaRehash", TO_10_000).alone(MILLION),
    scenario("pmdaText, first", TO_10_000).alone(MILLION),
    scenario("pmdaText, last", TO_10_000).alone(MILLION),
    scenario("pmdaText, miss", TO_10_000).alone(MILLION),
    scenario("pmdaText, instance domain", TO_10_000).alone(MILLION),
    scenario("pmdaText, a text of n bytes", BYTES),
    scenario("instance labels, one each", TO_1000).alone(MILLION),
    scenario("instance labels, three each", TO_1000),
    scenario("instance labels, a value of n bytes", BYTES),
    scenario("instance labels, n of 200 bytes each", &[1, 5, 10, 30, 100, 254]),
    scenario("event array, record or parameter", TO_1000),
    scenario("queue, append and fetch", TO_1000),
    scenario("queue, one event for n clients", CLIENTS),
    scenario("queue, 10 events for n clients", CLIENTS),
    scenario("queue, 100 events for n clients", CLIENTS),
    scenario("queue, 100 events for n clients, a text each", CLIENTS),
    scenario("queue, a text of n bytes for 10 clients", TEXTS).counted(1_000),
    scenario("append to a full queue, many clients", &[1, 2, 10, 100, 1_000]).alone(MILLION),
    scenario("pmdaTreeName", TO_100_000).alone(MILLION),
    scenario("pmdaTreeChildren", TO_100_000).alone(MILLION),
    // Both libraries take half a minute for a group of 100,000.
    scenario("pmdaTreeInsert, all in one group", TO_10_000),
    scenario("pmdaTreePMID, all in one group", TO_10_000),
    scenario("daemon, n values, round trip", &[1, 3, 10]).kind(Kind::Processes),
    scenario("daemon, n values, agent time", &[1, 3, 10]).kind(Kind::Processes),
    scenario("daemon, 10 metrics, agent time", TO_1000).kind(Kind::Processes),
    scenario("daemon, desc, round trip", &[1]).kind(Kind::Processes),
    scenario("daemon, text, round trip", &[1]).kind(Kind::Processes),
    scenario("daemon, instances, agent time", TO_10_000).kind(Kind::Processes),
    scenario("daemon, labels, agent time", TO_1000).kind(Kind::Processes),
    scenario("process: dlopen, init, one fetch", &[200]).kind(Kind::Processes),
    scenario("bytes per instance", TO_MILLION).kind(Kind::Memory),
];
