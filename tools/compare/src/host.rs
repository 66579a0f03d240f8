//! The host: the settings of its PCP, and the agents in its `pmcd.conf`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use nix::unistd::User;

/// The channel between pmcd and an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Channel {
    /// The agent is a shared object in pmcd.
    Dso,
    /// pmcd starts the agent, with pipes.
    Pipe,
    /// The agent listens at a port or a path, which only one process can have.
    Socket(String),
}

/// An agent of `pmcd.conf`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// Its domain number.
    pub domain: u32,
    /// The channel between pmcd and the agent.
    pub channel: Channel,
    /// Its line in `pmcd.conf`.
    pub line: String,
}

/// The host's PCP.
#[derive(Clone, Debug)]
pub struct Host {
    /// The text of `pcp.conf`.
    pub conf: String,
    settings: BTreeMap<String, String>,
    /// The agents, in the order of `pmcd.conf`.
    pub agents: Vec<Agent>,
}

impl Host {
    /// Reads `$PCP_CONF` or `/etc/pcp.conf`, and the `pmcd.conf` that it names.
    ///
    /// # Errors
    /// Which file cannot be read, and why.
    pub fn read() -> Result<Host, String> {
        let path = conf();
        let read = |path: &PathBuf| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
        let conf = read(&path)?;
        let mut settings = settings(&conf);
        for (name, value) in &mut settings {
            // As PCP's own programs: the environment goes first.
            if let Ok(own) = std::env::var(name) {
                *value = own;
            }
        }
        let mut host = Host {
            conf,
            settings,
            agents: Vec::new(),
        };
        host.agents = agents(&read(&host.path("PCP_PMCDCONF_PATH")?)?);
        if host.agents.is_empty() {
            return Err(format!("{} names no agent", host.path("PCP_PMCDCONF_PATH")?.display()));
        }
        Ok(host)
    }

    /// A setting of `pcp.conf`.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// A setting whose value is a path.
    ///
    /// # Errors
    /// The setting is missing.
    pub fn path(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.setting(name).filter(|path| !path.is_empty());
        path.map(PathBuf::from)
            .ok_or_else(|| format!("pcp.conf does not set {name}"))
    }
}

impl Host {
    /// Checks that the host has the name space of its metrics, which pmcd's start script makes.
    ///
    /// # Errors
    /// What is missing.
    pub fn has_names(&self) -> Result<(), String> {
        let names = self.path("PCP_VAR_DIR")?.join("pmns/root");
        if names.exists() || std::env::var_os("PMNS_DEFAULT").is_some() {
            return Ok(());
        }
        Err(format!(
            "{} is not there: start pmcd once, whose start script makes this file",
            names.display()
        ))
    }
}

/// The file with PCP's settings.
fn conf() -> PathBuf {
    std::env::var_os("PCP_CONF").map_or_else(|| PathBuf::from("/etc/pcp.conf"), PathBuf::from)
}

/// The user that pmcd becomes when root has started it.
#[must_use]
pub fn pcp_user() -> Option<User> {
    let conf = fs::read_to_string(conf()).unwrap_or_default();
    let name = settings(&conf).remove("PCP_USER");
    User::from_name(name.as_deref().unwrap_or("pcp")).ok().flatten()
}

/// Lines `NAME=VALUE`.
fn settings(text: &str) -> BTreeMap<String, String> {
    let setting = |line: &str| {
        let (name, value) = line.split_once('=')?;
        name.starts_with("PCP_")
            .then(|| (name.to_owned(), value.trim_end().to_owned()))
    };
    text.lines().filter_map(setting).collect()
}

/// The agents in the text of a `pmcd.conf`.
fn agents(text: &str) -> Vec<Agent> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(str::trim);
    let lines = lines.take_while(|line| !line.starts_with('['));
    lines.filter(|line| !line.starts_with('#')).filter_map(agent).collect()
}

fn agent(line: &str) -> Option<Agent> {
    let mut words = line.split_whitespace();
    let (name, domain, channel) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
    let channel = match channel.to_ascii_lowercase().as_str() {
        "dso" => Channel::Dso,
        "socket" => Channel::Socket(words.take(2).collect::<Vec<_>>().join(" ")),
        "pipe" => Channel::Pipe,
        _ => return None,
    };
    Some(Agent {
        name: name.trim_matches('"').to_owned(),
        domain,
        channel,
        line: line.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration() {
        let text = "# Name Id IPC\nroot\t1\tpipe\tbinary\t/a/pmdaroot\n\npmcd 2 dso pmcd_init \\\n  /a/pmda_pmcd.so\n\
                    trace 10 socket inet 4322 /a/pmdatrace\nodd line\n[access]\nallow local:* : all;\nx 9 dso x_init y\n";
        let agents = agents(text);
        let shown: Vec<_> = agents
            .iter()
            .map(|agent| (agent.name.as_str(), agent.domain, &agent.channel))
            .collect();
        assert_eq!(
            shown,
            [
                ("root", 1, &Channel::Pipe),
                ("pmcd", 2, &Channel::Dso),
                ("trace", 10, &Channel::Socket("inet 4322".to_owned()))
            ]
        );
        assert_eq!(agents[1].line, "pmcd 2 dso pmcd_init    /a/pmda_pmcd.so");
    }
}
