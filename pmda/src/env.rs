//! The environment of an agent: its options and settings, and the event sources that wake it.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use crate::reactor::{Reactor, Tail, Timer, Waker, Watch};

/// An option of the agent's own, beside those of all agents.
///
/// ```
/// use pmda::Opt;
/// const OPTIONS: &[Opt] = &[
///     Opt::new("root").short('r').argument("NAME").help("root of the names"),
///     Opt::new("quick").help("read less"),
/// ];
/// # assert_eq!(OPTIONS.len(), 2);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opt {
    pub(crate) short: Option<char>,
    pub(crate) long: &'static str,
    pub(crate) argument: Option<&'static str>,
    pub(crate) help: &'static str,
}

impl Opt {
    /// The option `--long`, which takes no argument. [`Env::option`] finds it by this name.
    #[must_use]
    pub const fn new(long: &'static str) -> Opt {
        Opt {
            short: None,
            long,
            argument: None,
            help: "",
        }
    }

    /// Gives it a short form: `-x`.
    #[must_use]
    pub const fn short(mut self, letter: char) -> Opt {
        self.short = Some(letter);
        self
    }

    /// Makes it take an argument, which `--help` shows by this name.
    #[must_use]
    pub const fn argument(mut self, name: &'static str) -> Opt {
        self.argument = Some(name);
        self
    }

    /// Sets its line in `--help`.
    #[must_use]
    pub const fn help(mut self, line: &'static str) -> Opt {
        self.help = line;
        self
    }
}

/// How often the agent reads something in the background, and for how long a value is shown; see
/// [`Metrics::background`](crate::Metrics::background).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Schedule {
    interval: Option<Duration>,
    expires: Option<Duration>,
}

/// Schedules by name.
pub(crate) type Schedules = BTreeMap<String, Schedule>;

impl Schedule {
    /// Sets the time between the end of a reading and the start of the next one.
    pub fn every(&mut self, interval: Duration) -> &mut Schedule {
        self.interval = Some(interval);
        self
    }

    /// Sets the time for which a value is shown, if the next reading takes longer, or fails. It is not
    /// below the interval: then there would be no value in between.
    pub fn expires_after(&mut self, time: Duration) -> &mut Schedule {
        self.expires = Some(time);
        self
    }

    /// Its interval and the time after which a value expires, if it has no problem.
    pub(crate) fn times(&self) -> Option<(Duration, Duration)> {
        let times = self.interval.zip(self.expires);
        times.filter(|(interval, expires)| expires >= interval)
    }

    /// What is wrong with it.
    pub(crate) fn problem(&self) -> Option<String> {
        match (self.interval, self.expires) {
            (Some(interval), Some(expires)) if expires < interval => Some(format!(
                "a value expires after {expires:?}, before the next one is read after {interval:?}"
            )),
            (Some(_), Some(_)) => None,
            (None, _) => Some("it has no interval: see Schedule::every".to_owned()),
            (_, None) => Some("its values do not expire: see Schedule::expires_after".to_owned()),
        }
    }
}

/// The environment of an agent, which the agent gets when it starts.
#[derive(Clone, Debug)]
pub struct Env {
    name: &'static str,
    root: String,
    domain: u32,
    is_dso: bool,
    is_installed: bool,
    folder: PathBuf,
    caches: Option<PathBuf>,
    options: Vec<(&'static str, String)>,
    arguments: Vec<String>,
    schedules: Arc<Schedules>,
    reactor: Reactor,
}

impl Env {
    /// The environment of an agent in an installed PCP.
    pub(crate) fn installed(name: &'static str, domain: u32, is_dso: bool) -> Env {
        let setting =
            |name: &str, default: &str| PathBuf::from(pcp_setting(name).unwrap_or_else(|| default.to_owned()));
        Env {
            name,
            root: name.to_owned(),
            domain,
            is_dso,
            is_installed: true,
            folder: setting("PCP_PMDAS_DIR", "/var/lib/pcp/pmdas").join(name),
            caches: Some(setting("PCP_VAR_DIR", "/var/lib/pcp")),
            options: Vec::new(),
            arguments: Vec::new(),
            schedules: Arc::default(),
            reactor: Reactor::new(),
        }
    }

    /// The environment of an agent in a folder, without PCP. Files of caches are below it.
    pub(crate) fn in_folder(name: &'static str, domain: u32, folder: &Path) -> Env {
        Env {
            name,
            root: name.to_owned(),
            domain,
            is_dso: false,
            is_installed: false,
            folder: folder.to_owned(),
            caches: Some(folder.to_owned()),
            options: Vec::new(),
            arguments: Vec::new(),
            schedules: Arc::default(),
            reactor: Reactor::new(),
        }
    }

    /// Sets the options of the agent's own by their long names, with an empty value for those
    /// without an argument, and the other arguments.
    pub(crate) fn with_options(mut self, options: Vec<(&'static str, String)>, arguments: Vec<String>) -> Env {
        (self.options, self.arguments) = (options, arguments);
        self
    }

    /// The agent's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The first part of the names of the agent's metrics, empty if it has several roots; see
    /// [`Agent::root`](crate::Agent::root).
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Sets the first part of the names of metrics.
    pub(crate) fn with_root(mut self, root: String) -> Env {
        self.root = root;
        self
    }

    /// Sets what the agent reads in the background.
    pub(crate) fn with_schedules(mut self, schedules: &Schedules) -> Env {
        self.schedules = Arc::new(schedules.clone());
        self
    }

    /// The times of what the agent has declared to read in the background.
    pub(crate) fn schedule(&self, name: &str) -> Option<(Duration, Duration)> {
        self.schedules.get(name)?.times()
    }

    /// The same, where no file of a cache is read or written.
    pub(crate) fn without_files(self) -> Env {
        Env { caches: None, ..self }
    }

    /// The agent's domain: pmcd or `-d` may have chosen another one than
    /// [`Agent::DOMAIN`](crate::Agent::DOMAIN).
    #[must_use]
    pub fn domain(&self) -> u32 {
        self.domain
    }

    /// Returns true if the agent is a shared object in pmcd or another process, rather than a
    /// daemon.
    #[must_use]
    pub fn is_dso(&self) -> bool {
        self.is_dso
    }

    /// The agent's folder, where its configuration is: `$PCP_PMDAS_DIR/NAME`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The value of an option of the agent's own, by its long name: the last one if it was given
    /// several times, and empty for one without an argument. `None` if it was not given.
    #[must_use]
    pub fn option(&self, long: &str) -> Option<&str> {
        let mut given = self.options.iter().rev();
        given.find(|(name, _)| *name == long).map(|(_, value)| value.as_str())
    }

    /// The arguments of the command line that are no options.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// A setting of PCP, such as `PCP_LOG_DIR`: from the environment, else from `pcp.conf`
    /// (pmGetOptionalConfig(3)). A harness reads only a `pcp.conf` in the folder of the test.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<String> {
        if self.is_installed {
            return pcp_setting(name);
        }
        setting_in(&fs::read_to_string(self.folder.join("pcp.conf")).ok()?, name)
    }

    /// A handle that wakes the agent from any thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.reactor.waker()
    }

    /// A timer that wakes the agent each time that `interval` has passed.
    #[must_use]
    pub fn timer(&self, interval: Duration) -> Timer {
        self.reactor.timer(interval)
    }

    /// Lets a socket or another descriptor wake the agent while it can be read. It does not block
    /// from now on.
    ///
    /// # Errors
    /// Those of the system: it has no descriptor left, for instance.
    pub fn watch<F: AsFd>(&self, source: F) -> crate::error::Result<Watch<F>> {
        Ok(self.reactor.watch(source)?)
    }

    /// The lines that will be added to a file.
    #[must_use]
    pub fn tail(&self, path: impl AsRef<Path>) -> Tail {
        Tail::new(&self.reactor, path.as_ref())
    }

    /// The event sources that wake the agent.
    pub(crate) fn reactor(&self) -> &Reactor {
        &self.reactor
    }

    /// The same for an agent that is started again: nothing that the earlier one has left wakes it.
    pub(crate) fn anew(&self) -> Env {
        Env {
            reactor: Reactor::new(),
            ..self.clone()
        }
    }

    /// `$PCP_VAR_DIR`, whose `config/pmda` has the files of persistent instance domains. In a
    /// harness it is the folder of the test.
    #[must_use]
    pub fn var_dir(&self) -> Option<&Path> {
        self.caches.as_deref()
    }
}

/// A setting of PCP: from the environment, else from `pcp.conf`.
pub(crate) fn pcp_setting(name: &str) -> Option<String> {
    if let Ok(value) = env::var(name) {
        return Some(value);
    }
    let conf = env::var("PCP_CONF").unwrap_or_else(|_| env::var("PCP_DIR").unwrap_or_default() + "/etc/pcp.conf");
    setting_in(&fs::read_to_string(conf).ok()?, name)
}

/// The value of a setting in the text of a `pcp.conf`.
fn setting_in(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().rev().filter_map(|line| line.split_once('='));
    let mut values = lines.filter(|(key, _)| *key == name);
    let value = values.next()?.1.trim();
    Some(value.trim_matches(|quote| quote == '"' || quote == '\'').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings() {
        let text = "# PCP_VAR_DIR=/no\nPCP_VAR_DIR=/var/lib/pcp\nPCP_USER=\"pcp\"\nEMPTY=\n";
        assert_eq!(setting_in(text, "PCP_VAR_DIR").as_deref(), Some("/var/lib/pcp"));
        assert_eq!(setting_in(text, "PCP_USER").as_deref(), Some("pcp"));
        assert_eq!(setting_in(text, "EMPTY").as_deref(), Some(""));
        assert_eq!(setting_in(text, "PCP"), None);
    }

    #[test]
    fn options() {
        let env = Env::in_folder("x", 250, Path::new("/f")).with_options(
            vec![
                ("file", "a".to_owned()),
                ("file", "b".to_owned()),
                ("quick", String::new()),
            ],
            vec!["rest".to_owned()],
        );
        assert_eq!(
            (env.option("file"), env.option("quick"), env.option("slow")),
            (Some("b"), Some(""), None)
        );
        assert_eq!((env.arguments().len(), env.folder()), (1, Path::new("/f")));
    }
}
