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
use crate::supervisor;

/// How long pmcd may take to start its agents.
const START: Duration = Duration::from_secs(90);
/// How long pmcd waits for the first words of an agent, and for an answer, in seconds.
const PATIENCE: &str = "30";
/// How often is looked whether it listens.
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
        let found = fs::canonicalize(library).map_err(|error| format!("{}: {error}", library.display()))?;
        let mut keeper = guard.make(|folder| {
            let laid_out = folder.lay_out(host, &lines, &found);
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
            library: found,
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

    fn log(&self, name: &str) -> String {
        content(&self.folder.at("log/pmcd").join(format!("{name}.log"))).unwrap_or_default()
    }

    /// The last line that an agent, or pmcd, has logged.
    #[must_use]
    pub fn last_words(&self, name: &str) -> String {
        let said = |log: &str| {
            let is_said = |line: &&str| !line.trim().is_empty() && !line.starts_with("Log ");
            let mut lines = log.lines().rev().filter(is_said).map(str::trim);
            let last = lines.next()?;
            // The reason is in the line before.
            let reason = lines.next().filter(|_| last.ends_with("not started due to errors!"));
            Some(reason.map_or_else(|| last.to_owned(), |reason| format!("{last} {reason}")))
        };
        let about = |log: String| {
            let mut lines = log.lines().filter(|line| line.contains(name) && line.contains("pmcd("));
            lines.next_back().map(str::to_owned)
        };
        let own = said(&self.log(name)).or_else(|| about(self.log("pmcd")));
        let output = || content(&self.folder.at("output")).unwrap_or_default();
        own.or_else(|| said(&output()))
            .unwrap_or_else(|| "its log says nothing".to_owned())
    }
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
        let found: Vec<_> = environ.split(|byte| *byte == 0).filter_map(variable).collect();
        (!found.is_empty()).then_some(found)
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
            OsStr::new(supervisor::KEEPER),
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
