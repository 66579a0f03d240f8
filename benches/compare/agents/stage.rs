//! What an agent's benchmark stands on: a private pmcd with the agents, a client that fetches when
//! it is told to, and processes that the agents look at.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use pcp_pmda_test::pcp::{Environment, Pmcd, agent, installed};
use pcp_pmda_test::root;

use super::{Kind, Scenario};

/// A pmcd with agents, and a client that is connected to it.
pub struct Stage<'e> {
    name: &'static str,
    client: Talk,
    /// The process ids of the agents that are no DSOs.
    daemons: Vec<u32>,
    pmcd: Pmcd<'e>,
}

/// What the client says about some fetches.
pub struct Answer {
    /// Microseconds for one.
    pub trip: f64,
    pub fetches: u32,
    pub metrics: u32,
}

impl<'e> Stage<'e> {
    /// Starts pmcd, the agents and the client.
    pub fn set(scenario: &Scenario, environment: &'e Environment, client: &Path) -> Stage<'e> {
        let (lines, names) = prepare(scenario, environment);
        let pmcd = environment
            .pmcd_with(&lines, &names, &["-q", "30", "-t", "30"])
            .expect("pmcd starts");
        let daemons = scenario
            .agents
            .iter()
            .filter(|(_, _, kind)| *kind != Kind::Dso)
            .map(|(name, ..)| pmcd.agent_pid(name).expect("pmcd lists its agents"))
            .collect();
        let mut command = pmcd.client(client);
        command
            .env("PMCD_REQUEST_TIMEOUT", "60")
            .arg(pmcd.host())
            .args(scenario.subtrees);
        Stage {
            name: scenario.name,
            client: Talk::start(command),
            daemons,
            pmcd,
        }
    }

    /// Fetches so many times, or as often as fits into some seconds.
    pub fn fetch(&mut self, rounds: u32, seconds: u64) -> Answer {
        let line = self.client.ask(&format!("{rounds} {seconds}"));
        let fields: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [trip, fetches, metrics, _] = fields[..] else {
            panic!("{}: the client ends\n{}", self.name, self.pmcd.log())
        };
        assert!(metrics > 0.0, "{}: no metric\n{}", self.name, self.pmcd.log());
        Answer {
            trip,
            fetches: fetches as u32,
            metrics: metrics as u32,
        }
    }

    /// Microseconds that the daemons have had a processor, and pmcd.
    pub fn processor(&self) -> (f64, f64) {
        (
            self.daemons.iter().map(|pid| processor(*pid)).sum(),
            processor(self.pmcd.pid()),
        )
    }

    /// Resident memory of pmcd and the daemons, in KiB.
    pub fn memory(&self) -> u64 {
        self.sum(resident)
    }

    /// The same, where a page that several processes have counts once: each has its part of it.
    pub fn proportional_memory(&self) -> u64 {
        self.sum(proportional)
    }

    /// The sum over pmcd and the daemons.
    fn sum(&self, of: fn(u32) -> u64) -> u64 {
        self.daemons.iter().chain([&self.pmcd.pid()]).map(|pid| of(*pid)).sum()
    }

    /// An agent that has ended costs nothing.
    pub fn lives(&self) {
        for pid in &self.daemons {
            assert!(
                resident(*pid) > 0,
                "{}: an agent has ended\n{}",
                self.name,
                self.pmcd.log()
            );
        }
    }
}

/// So many processes that do nothing, until this is dropped.
pub fn crowd(program: &Path, count: usize) -> Option<Talk> {
    (count > 0).then(|| {
        let mut command = Command::new(program);
        command.arg(count.to_string());
        let mut talk = Talk::start(command);
        assert_eq!(talk.listen(), count.to_string(), "{count} processes do not fit");
        talk
    })
}

/// A program that answers lines, and ends with its stdin.
pub struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Talk {
    fn start(mut command: Command) -> Talk {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was compiled");
        Talk {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
        }
    }

    /// The process id of the program.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Says a line, and waits for the answer: an empty one if the program has ended.
    fn ask(&mut self, line: &str) -> String {
        let stdin = self.stdin.as_mut().expect("open until the end");
        let _ = writeln!(stdin, "{line}");
        self.listen()
    }

    fn listen(&mut self) -> String {
        let mut answer = String::new();
        let _ = self.stdout.read_line(&mut answer);
        answer.trim_end().to_owned()
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// The lines of pmcd.conf, and the file with all names.
fn prepare(scenario: &Scenario, environment: &Environment) -> (String, PathBuf) {
    let merged = environment.directory.join("names");
    let mut merge = environment.command(installed("usr/lib/pcp/bin/pmnsmerge"));
    merge.current_dir(installed("var/lib/pcp/pmns")).arg("-f");
    let mut lines = String::new();
    for (name, domain, kind) in scenario.agents {
        let file = |of: &str| agent(name).join(of);
        let script = |end: &str| root().join(format!("benches/agents/instances.{end}"));
        lines += &match kind {
            Kind::Dso => format!(
                "{name} {domain} dso {name}_init {}\n",
                file(&format!("pmda_{name}.so")).display()
            ),
            Kind::Daemon => format!(
                "{name} {domain} pipe binary {} -d {domain}\n",
                file(&format!("pmda{name}")).display()
            ),
            Kind::Perl => format!("{name} {domain} pipe binary /usr/bin/perl {}\n", script("pl").display()),
            Kind::Python => format!(
                "{name} {domain} pipe binary /usr/bin/python3 {}\n",
                script("python").display()
            ),
        };
        let own = file("root");
        if own.exists() {
            merge.arg(own);
            continue;
        }
        let names = if matches!(kind, Kind::Perl | Kind::Python) {
            format!("root {{ {name} }}\n{name} {{ value {domain}:0:0 }}\n")
        } else {
            let standard = installed("usr/lib/pcp/pmns").join(format!("root_{name}"));
            format!("#include <stdpmid>\n#include \"{}\"\n", standard.display())
        };
        let part = environment.directory.join(format!("root_{name}"));
        fs::write(&part, names).expect("target is writable");
        merge.arg(part);
    }
    let status = merge.arg(&merged).status().expect("make setup");
    assert!(status.success(), "{}: pmnsmerge fails", scenario.name);
    (lines, merged)
}

/// Microseconds that a process has had a processor.
pub fn processor(pid: u32) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e3
}

/// Resident memory of a process, in KiB; nothing if it has ended.
pub fn resident(pid: u32) -> u64 {
    kilobytes(pid, "status", "VmRSS:")
}

/// Its resident memory, of which each page is divided among the processes that have it.
fn proportional(pid: u32) -> u64 {
    kilobytes(pid, "smaps_rollup", "Pss:")
}

/// The number after a word in a file of a process; 0 if it has ended.
fn kilobytes(pid: u32, file: &str, word: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let rest = text.lines().find_map(|line| line.strip_prefix(word));
    rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
