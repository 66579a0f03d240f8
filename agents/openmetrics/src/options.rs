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
        .help("how long a request waits for a source, 4 at most (2)"),
    Opt::new("username")
        .short('u')
        .argument("USER")
        .help("run the PMDA using the named user account (before PCP 6.1 root, then PCP_USER)"),
    Opt::new("user").short('U').argument("USER").help("the same as -u"),
    Opt::new("version").help("show the version and exit"),
];

/// The time that a request waits for a source, without an option and at most: pmcd ends an agent
/// that does not answer for 5 seconds.
const TIMEOUT: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(4);

/// The age that names may reach, unless an option says otherwise.
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

/// The time that a request waits for a source. If an option names a time that cannot be kept, the
/// log says so.
///
/// # Errors
/// The option is not a number of seconds: a line for the log.
pub fn timeout(env: &Env) -> Result<Duration, String> {
    let Some(text) = env.option("timeout") else {
        return Ok(TIMEOUT);
    };
    let seconds: i64 = text.parse().map_err(|_| format!("-t {text}: no number of seconds"))?;
    let time = Duration::from_secs(seconds.try_into().unwrap_or(0));
    if time.is_zero() {
        log::warn!("-t {text}: no request waits for a source; each shows the documents that have arrived before");
    } else if time > LONGEST {
        log::warn!(
            "-t {text}: a request waits no longer than {} seconds for a source, since pmcd ends an agent that does \
             not answer for 5; later documents are for the next request",
            LONGEST.as_secs()
        );
    }
    Ok(time.min(LONGEST))
}

/// The age of a source's names from which the source is fetched for them.
///
/// # Errors
/// The option is not a number of seconds: a line for the log.
pub fn refresh(env: &Env) -> Result<Duration, String> {
    let Some(text) = env.option("refresh") else {
        return Ok(REFRESH);
    };
    let seconds = text.parse().map(Duration::from_secs);
    seconds.map_err(|_| format!("-R {text}: no number of seconds"))
}
