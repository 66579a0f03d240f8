//! The agent's own options.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pmda::{Env, Opt};

/// The options of PCP's agent, as far as they are not those of all agents. `-D` takes no argument,
/// and `-u` is a user.
pub const OPTIONS: &[Opt] = &[
    Opt::new("debug").short('D').help("write debug messages to the log"),
    Opt::new("config")
        .short('c')
        .argument("DIR")
        .help("folder with the sources (config.d)"),
    Opt::new("nosort")
        .short('n')
        .help("do not sort the sources by their paths"),
    Opt::new("refresh")
        .short('R')
        .argument("SECONDS")
        .help("how old the names of a source may become (10)"),
    Opt::new("root")
        .short('r')
        .argument("NAME")
        .help("root of the names of metrics (openmetrics)"),
    Opt::new("timeout")
        .short('t')
        .argument("SECONDS")
        .help("how long a source may take (2)"),
    Opt::new("username")
        .short('u')
        .argument("USER")
        .help("run the PMDA using the named user account (before PCP 6.1 root, then PCP_USER)"),
    Opt::new("user").short('U').argument("USER").help("the same as -u"),
    Opt::new("version").help("show the version and exit"),
];

/// The time that a source has, unless an option says otherwise.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How old names may become, unless an option says otherwise.
const REFRESH: Duration = Duration::from_secs(10);

/// The root of the names.
#[must_use]
pub fn root(env: &Env) -> String {
    env.option("root").unwrap_or(env.name()).to_owned()
}

/// The folder with the sources: below that of the agent, or beside it under the name of the root.
#[must_use]
pub fn folder(env: &Env) -> PathBuf {
    let own = match env.option("root") {
        Some(root) => env.folder().parent().unwrap_or(Path::new("/")).join(root),
        None => env.folder().to_owned(),
    };
    own.join(env.option("config").unwrap_or("config.d"))
}

/// Checks the root of the names. Without one each source would be a root, which may be that of
/// another agent.
///
/// # Errors
/// In words, for an empty one.
pub fn check_root(env: &Env) -> Result<(), String> {
    match env.option("root") {
        Some("") => Err("-r takes the root of the names, not an empty text".to_owned()),
        _ => Ok(()),
    }
}

/// How long a source may take.
///
/// # Errors
/// The option is not a number of seconds, at least 1: a line for the log.
pub fn timeout(env: &Env) -> Result<Duration, String> {
    seconds(env.option("timeout"), 't', 1, TIMEOUT)
}

/// How old the names of a source may become before it is fetched for them.
///
/// # Errors
/// The option is not a number of seconds: a line for the log.
pub fn refresh(env: &Env) -> Result<Duration, String> {
    seconds(env.option("refresh"), 'R', 0, REFRESH)
}

fn seconds(text: Option<&str>, option: char, least: u64, default: Duration) -> Result<Duration, String> {
    let Some(text) = text else { return Ok(default) };
    let seconds = text.parse().ok().filter(|seconds| *seconds >= least);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| format!("-{option} {text}: no number of seconds"))
}
