//! `-D`: the names and numbers of PCP's `pmSetDebug`.

use log::LevelFilter;

/// The names of PCP's debug options, in their order (`pmdbg -l`).
const NAMES: [&str; 53] = [
    "pdu",
    "fetch",
    "profile",
    "value",
    "context",
    "indom",
    "pdubuf",
    "log",
    "logmeta",
    "optfetch",
    "af",
    "appl0",
    "appl1",
    "appl2",
    "pmns",
    "libpmda",
    "timecontrol",
    "pmc",
    "derive",
    "lock",
    "interp",
    "config",
    "pmapi",
    "fault",
    "auth",
    "discovery",
    "attr",
    "http",
    "desperate",
    "deprecated",
    "exec",
    "labels",
    "series",
    "libweb",
    "alloc",
    "services",
    "appl3",
    "appl4",
    "appl5",
    "access",
    "qa",
    "search",
    "query",
    "compress",
    "dev0",
    "dev1",
    "dev2",
    "pmlc",
    "appl6",
    "appl7",
    "appl8",
    "appl9",
    "tls",
];

/// The level of messages for a specification; `None` if it names an unknown option.
///
/// Agents in Rust have no debug options one by one: each option asks for the messages of level
/// `debug`, and `desperate` for those of level `trace`.
pub(super) fn level(specification: &str) -> Option<LevelFilter> {
    if specification.is_empty() {
        return None;
    }
    let mut level = LevelFilter::Debug;
    for word in specification.split(',') {
        let is_number = word.parse::<u32>().is_ok();
        match word {
            "all" | "desperate" => level = LevelFilter::Trace,
            word if is_number || NAMES.contains(&word) => {}
            _ => return None,
        }
    }
    Some(level)
}
