//! The processes below this one: their time and memory, and their end.
//!
//! This process adopts the orphans of its descendants, so all of them are found by their parents,
//! whatever session or group they are in.

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, Uid};

use crate::folder::Folder;

/// The first argument of a keeper: a process of this program that ends what is below it when the
/// process above has ended.
pub const KEEPER: &str = "--keep";

/// The time that processes may take to end by themselves.
pub(crate) const GRACE: Duration = Duration::from_secs(2);
/// The same when the user waits for it.
const HASTE: Duration = Duration::from_millis(500);
/// The interval at which processes are checked for their end.
const INTERVAL: Duration = Duration::from_millis(10);

/// The processor time and memory of a process, or of several.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Usage {
    /// Processor time.
    pub processor: Duration,
    /// Resident memory in KiB.
    pub resident: u64,
}

/// The fields of `/proc/PID/stat` from the third one on, the state of the process.
fn stat(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before is in parentheses, and may hold any.
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// The parent of a process; `None` for the first one of the system or of a container.
pub(crate) fn parent(pid: i32) -> Option<i32> {
    stat(pid)?.get(1)?.parse().ok().filter(|parent| *parent != 0)
}

/// All processes, each with its parent.
fn all() -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let process = |entry: fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, parent(pid).unwrap_or(0)))
    };
    entries.filter_map(process).collect()
}

/// A process and all below it, without the trees of `others`.
#[must_use]
pub fn tree(pid: i32, others: &[i32]) -> Vec<i32> {
    let all = all();
    let mut processes = vec![pid];
    let mut next = 0;
    while let Some(parent) = processes.get(next).copied() {
        let children = all.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child);
        processes.extend(children.filter(|child| !others.contains(child)));
        next += 1;
    }
    processes
}

/// The processor time of a process, with that of threads and children that have ended.
///
/// The clock of the process has the threads, in nanoseconds. The children that it has waited for are
/// in `/proc/PID/stat` alone, in ticks of a hundredth of a second; most agents have none.
fn processor(pid: i32) -> Duration {
    let own = ClockId::pid_cpu_clock_id(Pid::from_raw(pid)).and_then(clock_gettime);
    let stat = stat(pid).unwrap_or_default();
    let ticks = |fields: Range<usize>| -> u32 {
        let fields = stat.get(fields).unwrap_or_default().iter();
        fields.filter_map(|field| field.parse::<u32>().ok()).sum()
    };
    // Fields 14 to 17 of proc(5): user and system time, and that of children.
    own.map_or_else(|_| TICK * ticks(11..13), Duration::from) + TICK * ticks(13..15)
}

/// The unit of times in `/proc/PID/stat`: `USER_HZ`, which Linux has for all programs.
const TICK: Duration = Duration::from_millis(10);

/// The processor time and memory that these processes have used so far.
#[must_use]
pub fn usage(pids: &[i32]) -> Usage {
    let mut usage = Usage::default();
    for pid in pids {
        usage.processor += processor(*pid);
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        usage.resident += resident.unwrap_or(0);
    }
    usage
}

/// The effective user of a process.
pub(crate) fn user(pid: i32) -> Option<Uid> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    Some(Uid::from_raw(users.split_whitespace().nth(1)?.parse().ok()?))
}

/// Returns whether a process has no other user than this one: real, effective, saved and of files.
pub(crate) fn is_ours(pid: i32) -> bool {
    let own = Uid::effective().to_string();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    users.is_some_and(|users| users.split_whitespace().all(|user| user == own))
}

/// Returns whether a process has ended, be it that its parent has not taken note of that.
#[must_use]
pub fn has_ended(pid: i32) -> bool {
    let stat = stat(pid).unwrap_or_default();
    matches!(stat.first().map(String::as_str), None | Some("Z" | "X"))
}

/// Returns whether a process is a keeper that has something to keep.
fn is_keeping(pid: i32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_keeper = line.split(|byte| *byte == 0).nth(1) == Some(KEEPER.as_bytes());
    is_keeper && tree(pid, &[]).iter().skip(1).any(|below| !has_ended(*below))
}

/// Asks all processes below this one to end, and kills what is left of them. A keeper is the last:
/// if this process is killed meanwhile, the keeper does the same. After twice the time nobody is
/// spared: an agent may be called as a keeper is, and start a child for each that ends.
pub(crate) fn end_all(grace: Duration) {
    let begin = Instant::now();
    let mut asked = Vec::new();
    loop {
        while matches!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Ok(status) if status != WaitStatus::StillAlive) {}
        let own = Pid::this().as_raw();
        let left: Vec<i32> = tree(own, &[]).into_iter().filter(|pid| *pid != own).collect();
        if left.is_empty() {
            return;
        }
        let spares_keepers = begin.elapsed() < 2 * grace;
        for pid in left.into_iter().filter(|pid| !(spares_keepers && is_keeping(*pid))) {
            // The process may have ended meanwhile.
            if begin.elapsed() >= grace {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            } else if !asked.contains(&pid) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
                asked.push(pid);
            }
        }
        thread::sleep(INTERVAL);
    }
}

/// The signals that ask a program to end.
#[must_use]
pub fn ending_signals() -> SigSet {
    [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM]
        .into_iter()
        .collect()
}

/// The meaning of an errno.
pub(crate) fn said(errno: Errno) -> String {
    errno.desc().to_owned()
}

/// Ends all processes and removes the folder: when it is dropped, and when the process above says
/// so or has ended.
#[derive(Debug)]
pub struct Guard {
    folder: Arc<Mutex<Folder>>,
}

impl Guard {
    /// Takes the folder, and from now on waits for a byte of `above`, the number of a signal that
    /// ends this program, or its end, which is as SIGKILL.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn new(folder: Folder, mut above: impl Read + Send + 'static) -> Result<Guard, String> {
        set_child_subreaper(true).map_err(said)?;
        // Shared memory of agents goes with them. Only root may.
        let _ = nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWIPC);
        let folder = Arc::new(Mutex::new(folder));
        let guard = Guard {
            folder: Arc::clone(&folder),
        };
        let wait = move || {
            let mut byte = [0];
            let signal = above.read_exact(&mut byte).map_or(Signal::SIGKILL as u8, |()| byte[0]);
            // While the folder is locked, nothing is made in it, and no process is started.
            let folder = folder.lock().unwrap_or_else(PoisonError::into_inner);
            // The folder is removed first, since a SIGKILL may come when the last keeper has just
            // ended.
            folder.remove();
            end_all(HASTE);
            folder.remove();
            std::process::exit(128 + i32::from(signal));
        };
        let thread = thread::Builder::new().name("end".to_owned()).spawn(wait);
        thread.map_err(|error| error.to_string())?;
        Ok(guard)
    }

    /// Calls a function that makes something in the folder, or starts a process: a signal waits for
    /// its end.
    pub fn make<R>(&self, make: impl FnOnce(&Folder) -> R) -> R {
        make(&self.folder.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> Folder {
        self.make(Folder::clone)
    }

    /// Ends all processes.
    pub fn end_processes(&self) {
        end_all(GRACE);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end_processes();
        self.folder().remove();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    /// Neither a process of another user is ours, nor one that has ended.
    #[test]
    fn whose_process_it_is() {
        assert!(is_ours(Pid::this().as_raw()));
        let sleeping = |user: Option<u32>| {
            let mut command = Command::new("sleep");
            command.arg("60").stdin(Stdio::null());
            if let Some(user) = user {
                command.uid(user);
            }
            command.spawn().expect("sleep is there")
        };
        let mut children = vec![(sleeping(None), true)];
        if Uid::effective().is_root() {
            children.push((sleeping(Some(65_534)), false));
        }
        for (mut child, expected) in children {
            let outcome = is_ours(child.id() as i32);
            child.kill().expect("a child of ours");
            child.wait().expect("a child of ours");
            assert_eq!(outcome, expected);
            assert!(!is_ours(child.id() as i32));
        }
    }
}
