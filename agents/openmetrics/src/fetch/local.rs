//! Files and programs of this host.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::document::{Document, Memory};

/// How often a program that has closed its stdout is asked whether it has ended.
const NAP: Duration = Duration::from_millis(2);

/// Reads a file.
pub(super) fn file(path: &Path, memory: &Arc<Memory>) -> Result<Document, String> {
    // A named pipe without a writer does not make it wait.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path);
    // In the words of PCP's agent.
    let told = |error: std::io::Error| match error.raw_os_error() {
        Some(errno) => format!(
            "[Errno {errno}] {}: '{}'",
            Errno::from_raw(errno).desc(),
            path.display()
        ),
        None => format!("{error}: '{}'", path.display()),
    };
    let mut file = opened.map_err(told)?;
    let metadata = file.metadata().map_err(told)?;
    if !metadata.is_file() {
        return Err(format!("'{}' is no regular file", path.display()));
    }
    Document::new(memory).read_all(&mut file, Some(metadata.len()))
}

/// Runs a program and reads its stdout, until a time. Its stderr is the agent's.
pub(super) fn script(path: &Path, until: Instant, memory: &Arc<Memory>) -> Result<Document, String> {
    let mut command = Command::new(path);
    // A group of its own, which ends with what the program has started.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    let cannot = |error: std::io::Error| format!("Command '{}' cannot be run: {error}", path.display());
    let mut running = Running(command.spawn().map_err(cannot)?);
    let mut stdout = running.0.stdout.take().ok_or("it has no stdout")?;
    let mut document = Document::new(memory);
    let late = || format!("Command '{}' has not ended in time and was killed", path.display());
    loop {
        if !is_readable(&stdout, until) {
            return Err(late());
        }
        if document.read_from(&mut stdout as &mut dyn Read)? == 0 {
            break;
        }
    }
    let status = loop {
        match running.0.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() >= until => return Err(late()),
            Ok(None) => thread::sleep(NAP),
            Err(error) => return Err(error.to_string()),
        }
    };
    match status.code() {
        Some(0) => Ok(document),
        Some(code) => Err(format!(
            "Command '{}' returned non-zero exit status {code}.",
            path.display()
        )),
        None => Err(format!("Command '{}' has ended by {status}", path.display())),
    }
}

/// A program that is ended when nobody waits for it any more.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.0.try_wait() {
            return;
        }
        if let Ok(id) = i32::try_from(self.0.id()) {
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
        let _ = self.0.wait();
    }
}

/// Waits until there is something to read, or the end; false when it takes too long.
fn is_readable(stream: &impl AsFd, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // Rounded up, so that the last millisecond is not spent in turns.
        let left = PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)], left) {
            Ok(0) if Instant::now() >= until => return false,
            Ok(0) => {}
            Ok(_) => return true,
            Err(errno) if std::io::Error::from(errno).kind() == ErrorKind::Interrupted => {}
            // The read tells why.
            Err(_) => return true,
        }
    }
}
