//! A pmcd of our own: on a library, with some of the host's agents, in private directories, with a
//! unix socket and no port.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pmda_core::dir_entry::DirEntry;

use crate::client::Client;
use crate::folder::Folder;
use crate::host::{Agent, Host};
use crate::loaded;
use crate::processes::{self, Guard};

/// The time that pmcd may take to start its agents.
const START: Duration = Duration::from_secs(90);
/// The time that pmcd waits for the first words of an agent, and for an answer, in seconds.
const PATIENCE: &str = "30";
/// The interval at which pmcd is tried until it listens.
const INTERVAL: Duration = Duration::from_millis(10);

/// A pmcd that runs.
#[derive(Debug)]
pub struct Pmcd<'a> {
    guard: &'a Guard,
    folder: Folder,
    library: PathBuf,
    /// Its process.
    pub pid: i32,
    /// The parent of that process, whose pipe tells it that this process has been killed.
    _keeper: Child,
}

impl<'a> Pmcd<'a> {
    /// Starts a pmcd with these agents on this library.
    ///
    /// # Errors
    /// What pmcd says, or the operating system.
    pub fn start(guard: &'a Guard, host: &Host, agents: &[&Agent], library: &Path) -> Result<Pmcd<'a>, String> {
        let lines: String = agents.iter().map(|agent| format!("{}\n", agent.line)).collect();
        let program = host.path("PCP_BINADM_DIR")?.join("pmcd");
        let base = environment(host);
        let library = fs::canonicalize(library).map_err(|error| format!("{}: {error}", library.display()))?;
        let mut keeper = guard.make(|folder| {
            let laid_out = folder.lay_out(host, &lines, &library);
            laid_out.map_err(|error| format!("no private directories: {error}"))?;
            let child = command(&program, folder, base).spawn();
            child.map_err(|error| error.to_string())
        })?;
        let mut line = String::new();
        let said = keeper
            .stdout
            .take()
            .map(|pipe| BufReader::new(pipe).read_line(&mut line));
        let mut pmcd = Pmcd {
            guard,
            folder: guard.folder(),
            library,
            pid: 0,
            _keeper: keeper,
        };
        let pid = said.and_then(|_| line.trim_end().parse().ok());
        pmcd.pid = pid.ok_or_else(|| format!("pmcd does not start: {}", pmcd.last_words("pmcd")))?;
        pmcd.wait_until_ready()?;
        pmcd.check_libraries(&[pmcd.pid])?;
        Ok(pmcd)
    }

    fn wait_until_ready(&self) -> Result<(), String> {
        let begin = Instant::now();
        while begin.elapsed() < START {
            if self.connect().is_ok() {
                return Ok(());
            }
            if processes::has_ended(self.pid) {
                return Err(format!("pmcd has ended: {}", self.last_words("pmcd")));
            }
            thread::sleep(INTERVAL);
        }
        Err(format!("pmcd does not answer after {} s", START.as_secs()))
    }

    /// A new client of this pmcd.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect(&self) -> pmda_core::error::Result<Client> {
        Client::connect(&self.folder.socket())
    }

    /// The processes of each agent that has some of its own, by the table in pmcd's log. The agent
    /// root starts the others for pmcd, which are not its own.
    #[must_use]
    pub fn processes(&self) -> BTreeMap<String, Vec<i32>> {
        let log = self.log("pmcd");
        let agents: BTreeMap<String, i32> = log.lines().filter_map(started).collect();
        let tree = |pid: i32| {
            let others: Vec<i32> = agents.values().copied().filter(|other| *other != pid).collect();
            processes::tree(pid, &others)
        };
        agents.iter().map(|(name, pid)| (name.clone(), tree(*pid))).collect()
    }

    /// Checks that of these processes each that has loaded libpcp_pmda has loaded the right one.
    ///
    /// # Errors
    /// Which one it has loaded.
    pub fn check_libraries(&self, pids: &[i32]) -> Result<(), String> {
        let mut all = pids.iter().flat_map(|pid| loaded::paths(*pid));
        match all.find(|path| *path != self.library) {
            Some(path) => Err(format!("it loads {} whatever LD_LIBRARY_PATH says", path.display())),
            None => Ok(()),
        }
    }

    /// The reason of pmcd why it has not loaded an agent that is a shared object; `None` if it has.
    #[must_use]
    pub fn refusal_of_object(&self, name: &str) -> Option<String> {
        said_of_object(&self.log("pmcd"), name)
    }

    fn log(&self, name: &str) -> String {
        content(&self.folder.at("log/pmcd").join(format!("{name}.log"))).unwrap_or_default()
    }

    fn output(&self) -> String {
        content(&self.folder.at("output")).unwrap_or_default()
    }

    /// The last words of an agent, or of pmcd: in its own log; else, from its start, in the log of
    /// the process that has started it; else pmcd's line about it.
    #[must_use]
    pub fn last_words(&self, name: &str) -> String {
        let pmcd = self.log("pmcd");
        let words = last_said(&self.log(name))
            .or_else(|| said_at_start(&self.log("root"), name))
            .or_else(|| said_before(&pmcd, name))
            .or_else(|| said_of(&pmcd, name))
            .or_else(|| last_said(&self.output()).filter(|_| name == "pmcd"));
        words.unwrap_or_else(|| "no log says why".to_owned())
    }
}

/// The reason of pmcd why it has not loaded an agent that is a shared object. For a file that is no
/// shared object, the reason of the dynamic linker is in the line that follows.
fn said_of_object(log: &str, name: &str) -> Option<String> {
    let about = [format!(" {name} DSO at "), format!(" {name} DSO: ")];
    let mut lines = log
        .lines()
        .skip_while(|line| !about.iter().any(|about| line.contains(about)));
    let line = lines.next()?.trim();
    let reason = lines.next().map_or("", str::trim);
    Some([line, reason].join(" ").trim_end().to_owned())
}

/// Lines that somebody has said: neither empty nor those by which libpcp begins and ends a log.
fn lines_said(log: &str) -> impl DoubleEndedIterator<Item = &str> {
    let lines = log.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with("Log "))
}

/// Returns whether a line is one of pmcd or pmdaroot about their own work. A program that they
/// cannot start has said nothing itself, so their line about its start is its last word.
fn is_of_pmcd(line: &str) -> bool {
    let starts_with = |start: &&str| line.starts_with(*start);
    ["pmcd:", "pmdaroot:", "["].iter().any(starts_with)
        && !["pmcd: error starting ", "pmdaroot: error starting "]
            .iter()
            .any(starts_with)
}

/// The last line of a log.
fn last_said(log: &str) -> Option<String> {
    let mut lines = lines_said(log).rev();
    let last = lines.next()?;
    // The reason is in the line before.
    let reason = lines.next().filter(|_| last.ends_with("not started due to errors!"));
    Some(reason.map_or_else(|| last.to_owned(), |reason| format!("{last} {reason}")))
}

/// The last of some lines, without the explanation of how the program is called.
fn last_without_usage<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let lines = lines.take_while(|line| !line.starts_with("Usage:"));
    lines.last().map(str::to_owned)
}

/// The last words of an agent that pmdaroot has started.
fn said_at_start(log: &str, name: &str) -> Option<String> {
    let starts = format!(" Starting {name} agent");
    let mut lines = lines_said(log).skip_while(|line| !line.contains(&starts));
    lines.next()?;
    last_without_usage(lines.take_while(|line| !is_of_pmcd(line)))
}

/// The last words of an agent that pmcd itself has started: the lines before pmcd's own about it.
fn said_before(log: &str, name: &str) -> Option<String> {
    let about = format!(" {name} PMDA");
    let lines: Vec<&str> = lines_said(log).collect();
    let end = lines
        .iter()
        .position(|line| is_of_pmcd(line) && line.contains(&about))?;
    let start = lines[..end].iter().rposition(|line| is_of_pmcd(line));
    last_without_usage(lines[start.map_or(0, |start| start + 1)..end].iter().copied())
}

/// The last line of pmcd's about an agent.
fn said_of(log: &str, name: &str) -> Option<String> {
    let is_about = |line: &&str| line.contains(name) && (line.contains("pmcd(") || line.starts_with("pmcd:"));
    lines_said(log).rev().find(is_about).map(str::to_owned)
}

/// The next one has the folder to itself.
impl Drop for Pmcd<'_> {
    fn drop(&mut self) {
        self.guard.end_processes();
    }
}

/// The agent and its process in a row of the table: name, domain, process, descriptors in and out.
/// A shared object has neither process nor descriptors.
fn started(row: &str) -> Option<(String, i32)> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let numbers: Option<Vec<i32>> = words.get(1..5)?.iter().map(|word| word.parse().ok()).collect();
    Some((words[0].to_owned(), numbers?[1]))
}

/// The text of a file that PCP's user may have made. It is neither waited for nor without an end,
/// and root follows no link of that user's.
fn content(path: &Path) -> Option<String> {
    /// In bytes.
    const LARGEST: usize = 16 << 20;
    let content = DirEntry::target_at(path)
        .and_then(|entry| entry.content(LARGEST))
        .ok()?;
    Some(String::from_utf8_lossy(&content).into_owned())
}

/// The environment of the running pmcd, as agents may need what is in it; else our own.
///
/// The file with pmcd's number may belong to another user, who could name a process of their own,
/// with an environment that loads what they like into programs of root. So a process counts that
/// has been of our own user all along.
fn environment(host: &Host) -> Vec<(OsString, OsString)> {
    let running = || {
        let pid = content(&host.path("PCP_RUN_DIR").ok()?.join("pmcd.pid"))?;
        let pid: i32 = pid.trim().parse().ok()?;
        processes::is_ours(pid).then_some(())?;
        let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let variable = |entry: &[u8]| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Some((text(&entry[..at]), text(&entry[at + 1..])))
        };
        let variables: Vec<_> = environ.split(|byte| *byte == 0).filter_map(variable).collect();
        (!variables.is_empty()).then_some(variables)
    };
    running().unwrap_or_else(|| std::env::vars_os().collect())
}

fn command(program: &Path, folder: &Folder, base: Vec<(OsString, OsString)>) -> Command {
    let output = fs::File::create(folder.at("output")).map_or_else(|_| Stdio::null(), Stdio::from);
    let mut libraries = folder.at("lib").into_os_string();
    if let Some((_, others)) = base.iter().find(|(name, _)| name == "LD_LIBRARY_PATH") {
        libraries.push(":");
        libraries.push(others);
    }
    let mut command = Command::new("/proc/self/exe");
    command
        .args([
            OsStr::new(processes::KEEPER),
            folder.path().as_os_str(),
            program.as_os_str(),
        ])
        .env_clear()
        .envs(base)
        .envs(folder.variables())
        .env("LD_LIBRARY_PATH", libraries)
        .env_remove("NOTIFY_SOCKET")
        .env_remove("PMCD_PORT")
        .env_remove("PMCD_SOCKET")
        // An address that is none: pmcd opens no port.
        .args(["-f", "-i", "none", "-q", PATIENCE, "-t", PATIENCE])
        .arg("-c")
        .arg(folder.at("pmcd.conf"))
        .arg("-l")
        .arg(folder.at("log/pmcd/pmcd.log"))
        .arg("-s")
        .arg(folder.socket())
        .current_dir(folder.at("log/pmcd"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(output);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    const PMCD: &str = "Log for pmcd on host started\n\npmdakvm: unrecognized option '--odd'\nUsage: pmdakvm [options]\n\n  -x\n\
                        pmcd: unexpected end-of-file at initial exchange with kvm PMDA\n\
                        pmcd: unexpected end-of-file at initial exchange with xfs PMDA\n\
                        [Sat Nov 28] pmcd(7) Info: xfs\n";
    const STARTS: &str = "pmcd: error starting /none: No such file or directory\n\
                          pmcd: unexpected end-of-file at initial exchange with none PMDA\n\
                          Cannot find gone DSO at \"/gone.so\"\n\nError attaching text DSO at \"/text\"\n\
                          /text: invalid ELF header\n\nCouldn't find init function `x_init' in x DSO: /x.so: undefined symbol: x_init\n";
    const STARTED: &str = "[Sat Nov 28] pmdaroot(8) Info: Starting none agent: /none\n\
                           pmdaroot: error starting /none: No such file or directory\n\
                           [Sat Nov 28] pmdaroot(8) Info: Starting next agent: /next\n";
    const ROOT: &str = "[Sat Nov 28] pmdaroot(8) Info: Starting kvm agent: /a/pmdakvm\nTraceback:\nNo such user\n\
                        [Sat Nov 28] pmdaroot(8) Info: Starting xfs agent: /a/pmdaxfs\n";

    /// The words of an agent without a log of its own are in the log of the process that has
    /// started the agent.
    #[test]
    fn own_words() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(said_at_start(ROOT, "kvm"), some("No such user"));
        assert_eq!(said_at_start(ROOT, "xfs"), None);
        assert_eq!(said_at_start(ROOT, "proc"), None);
        assert_eq!(said_before(PMCD, "kvm"), some("pmdakvm: unrecognized option '--odd'"));
        assert_eq!(said_before(PMCD, "xfs"), None);
        assert_eq!(said_of(PMCD, "xfs"), some("[Sat Nov 28] pmcd(7) Info: xfs"));
        assert_eq!(said_of("[Sat Nov 28] pmcd(7) Error: OpenRequestSocket\n", "xfs"), None);
        let reason = "error starting /none: No such file or directory";
        assert_eq!(said_before(STARTS, "none"), Some(format!("pmcd: {reason}")));
        assert_eq!(said_at_start(STARTED, "none"), Some(format!("pmdaroot: {reason}")));
        assert_eq!(said_at_start(STARTED, "next"), None);
        assert_eq!(
            said_of_object(STARTS, "gone"),
            some("Cannot find gone DSO at \"/gone.so\"")
        );
        assert_eq!(
            said_of_object(STARTS, "text"),
            some("Error attaching text DSO at \"/text\" /text: invalid ELF header")
        );
        assert_eq!(
            said_of_object(STARTS, "x"),
            some("Couldn't find init function `x_init' in x DSO: /x.so: undefined symbol: x_init")
        );
        assert_eq!(said_of_object(STARTS, "none"), None);
        assert_eq!(last_said("Log for x\n\n one \nLog finished\n"), some("one"));
    }
}
