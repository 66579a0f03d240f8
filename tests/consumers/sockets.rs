//! Agents that are not at the end of a pipe: over an inet, an ipv6 and a unix socket, once under
//! dbpmda, which connects to a running agent, and once under pmcd, which starts it first.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::survey;
use pcp_pmda_test::pcp::{self, Environment};
use pcp_pmda_test::{Library, compare};

/// The time that an agent may take to listen, or to end, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The requests of dbpmda to the agent sample.
const QUESTIONS: &str = "getdesc on\nfetch sample.long.ten\nfetch sample.bin\ninstance 29.2\ntext sample.long.ten\n\
                         label domain\nchildren sample.long\npmid sample.long.ten\nname 29.0.11\nstatus\nclose\nquit\n";

/// The kinds of sockets that pmcd and dbpmda know.
#[derive(Clone, Copy)]
enum Kind {
    Inet,
    Ipv6,
    Unix,
}

/// One trial for each kind and each of the two programs.
pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for kind in [Kind::Inet, Kind::Ipv6, Kind::Unix] {
        let name = kind.name();
        trials.push(Trial::test(format!("sockets::dbpmda_{name}"), move || {
            let (c, ours) = (under_dbpmda(kind, Library::C)?, under_dbpmda(kind, Library::Ours)?);
            compare::difference(("C library", &c), ("ours", &ours)).map_or(Ok(()), |text| Err(text.into()))
        }));
        trials.push(Trial::test(format!("sockets::pmcd_{name}"), move || {
            let answers = survey::compare(|| under_pmcd(kind, Library::C), || under_pmcd(kind, Library::Ours))?;
            if answers < 100 {
                return Err(format!("only {answers} answers: the agent was not connected").into());
            }
            Ok(())
        }));
    }
    trials
}

impl Kind {
    /// The word for it in pmcd.conf and at dbpmda's prompt.
    fn name(self) -> &'static str {
        match self {
            Kind::Inet => "inet",
            Kind::Ipv6 => "ipv6",
            Kind::Unix => "unix",
        }
    }

    /// The agent's option.
    fn option(self) -> &'static str {
        match self {
            Kind::Inet => "-i",
            Kind::Ipv6 => "-6",
            Kind::Unix => "-u",
        }
    }

    /// A port that is free now, or a path.
    fn address(self, environment: &Environment) -> Result<String, String> {
        let host = match self {
            Kind::Inet => "0.0.0.0:0",
            Kind::Ipv6 => "[::]:0",
            Kind::Unix => return Ok(environment.socket("sample").display().to_string()),
        };
        let listener = TcpListener::bind(host).map_err(|error| format!("{host}: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        Ok(address.port().to_string())
    }

    /// Returns whether a process listens at the address. A connection would tell, too, but the
    /// agent takes only one.
    fn listens(self, address: &str) -> bool {
        let port = match self {
            Kind::Unix => return PathBuf::from(address).exists(),
            Kind::Inet | Kind::Ipv6 => address.parse::<u16>().expect("our own number"),
        };
        let port = format!(":{port:04X}");
        let listening = |line: &str| {
            let mut words = line.split_whitespace().skip(1);
            words.next().is_some_and(|local| local.ends_with(&port)) && words.nth(1) == Some("0A")
        };
        ["/proc/net/tcp", "/proc/net/tcp6"]
            .iter()
            .any(|table| fs::read_to_string(table).is_ok_and(|text| text.lines().any(listening)))
    }
}

/// A running agent, which is killed when it has not ended by itself.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Agent {
    /// Its end, if it has ended.
    fn end(&mut self) -> Option<String> {
        let status = self.0.try_wait().expect("our own child");
        status.map(|status| status.to_string())
    }
}

/// Starts the sample agent, which must listen before somebody connects; a port may have been taken
/// meanwhile.
fn start(kind: Kind, environment: &Environment) -> Result<(Agent, String), String> {
    for _ in 0..5 {
        let address = kind.address(environment)?;
        let mut command = environment.command(pcp::agent("sample").join("pmdasample"));
        command.args(["-d", "29", "-l", "sample.log", kind.option(), &address]);
        let mut agent = Agent(command.spawn().map_err(|error| error.to_string())?);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && agent.end().is_none() {
            if kind.listens(&address) {
                return Ok((agent, address));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
    let log = fs::read_to_string(environment.directory.join("sample.log")).unwrap_or_default();
    Err(format!("the agent does not listen:\n{log}"))
}

fn under_dbpmda(kind: Kind, library: Library) -> Result<String, String> {
    let environment = Environment::new(&format!("sockets-dbpmda_{}", kind.name()), library);
    let (mut agent, address) = start(kind, &environment)?;
    let script = format!("open socket {} {address}\n{QUESTIONS}", kind.name());
    let mut told = environment.dbpmda(&pcp::agent("sample").join("root"), &script);
    if !told.contains("value 10") {
        return Err(format!("the agent does not answer:\n{told}"));
    }
    // The agent ends when its connection does.
    let deadline = Instant::now() + PATIENCE;
    let mut end = agent.end();
    while end.is_none() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
        end = agent.end();
    }
    let _ = writeln!(told, "the agent ended: {end:?}");
    let moving = regex::Regex::new("from 0x[0-9a-f]+|PID = [0-9]+").expect("a valid pattern");
    Ok(moving.replace_all(&told, "ADDRESS").replace(&address, "SOCKET"))
}

fn under_pmcd(kind: Kind, library: Library) -> Result<survey::Answers, String> {
    let mut environment = Environment::new(&format!("sockets-pmcd_{}", kind.name()), library);
    // pmcd looks for localhost in the agent's family, and not every system's table of hosts has it
    // in both.
    let hosts = environment.directory.join("hosts");
    fs::write(&hosts, "127.0.0.1 localhost\n::1 localhost\n").expect("target is writable");
    let hosts = ("NSS_WRAPPER_HOSTS", hosts.display().to_string());
    environment.variables.push(hosts);
    let directory = pcp::agent("sample");
    let mut last = String::new();
    // A port that was free may be somebody else's when the agent wants it.
    for _ in 0..5 {
        let address = kind.address(&environment)?;
        let line = format!(
            "sample 29 socket {} {address} {} -d 29 {} {address}\n",
            kind.name(),
            directory.join("pmdasample").display(),
            kind.option()
        );
        let pmcd = environment.pmcd_with(&line, &directory.join("root"), &["-q", "30", "-t", "10"])?;
        let answers = survey::of(&pmcd)?;
        if answers
            .get("sample.long.ten fetch 1")
            .is_some_and(|answer| answer == "1 value")
        {
            return Ok(answers);
        }
        last = pmcd.log();
    }
    Err(format!("pmcd does not reach the agent:\n{last}"))
}
