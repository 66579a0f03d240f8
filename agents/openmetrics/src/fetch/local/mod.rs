//! Files and programs of this host.

pub(in crate::fetch) mod complaints;

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use pmda_core::dir_entry::DirEntry;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::oneshot;

use crate::fetch::descriptors::Descriptors;
use crate::fetch::document::{Document, Memory};
use crate::headroom;
use crate::log_share::HOURLY;
use complaints::Complaints;

/// The stack of a thread that waits for a program, in bytes.
const STACK: usize = 64 << 10;

/// Read size in bytes.
const CHUNK: usize = 16 << 10;

/// Reads a regular file. Nothing else is opened: a FIFO may wait for ever, and a device has no end.
/// Root follows no link that another user may have put there: that one would see lines of a file
/// that he may not read, as metrics or in the log.
pub(in crate::fetch) fn file(path: &Path, memory: &Arc<Memory>) -> Result<Document, String> {
    let told = |error: std::io::Error| match error.raw_os_error() {
        Some(number) if Errno::from_raw(number) == Errno::EINVAL => {
            format!("'{}' is no regular file", path.display())
        }
        // In the words of PCP's agent.
        Some(number) => format!(
            "[Errno {number}] {}: '{}'",
            Errno::from_raw(number).desc(),
            path.display()
        ),
        None => format!("{error}: '{}'", path.display()),
    };
    let mut file = DirEntry::target_at(path).and_then(|entry| entry.read()).map_err(told)?;
    let length = file.metadata().map_err(told)?.len();
    Document::new(memory).read_all(&mut file, Some(length))
}

/// Runs a program and reads its stdout. When the program has ended, processes that it has started
/// and that still have this stdout are killed.
pub(in crate::fetch) async fn script(
    path: &Path,
    memory: &Arc<Memory>,
    complaints: &Complaints,
    descriptors: &Descriptors,
) -> Result<Document, String> {
    let mut command = Command::new(path);
    // A group of its own, which ends with what the program has started.
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let cannot = |error: std::io::Error| format!("Command '{}' cannot be run: {error}", path.display());
    let mut running = Running(Some(command.spawn().map_err(cannot)?));
    let child = running.0.as_mut().ok_or("it has ended")?;
    descriptors.give_back(child.id());
    let pipe = |stream: Option<OwnedFd>| {
        let stream = stream.ok_or_else(|| std::io::Error::from(ErrorKind::BrokenPipe))?;
        Receiver::from_owned_fd(stream)
    };
    let mut output = Output {
        document: Document::new(memory),
        stdout: Some(pipe(child.stdout.take().map(OwnedFd::from)).map_err(cannot)?),
        complaint: Vec::new(),
        stderr: Some(pipe(child.stderr.take().map(OwnedFd::from)).map_err(cannot)?),
    };
    let mut end = end_of(child.id()).map_err(cannot)?;
    tokio::select! {
        biased;
        read = output.read() => {
            read?;
            // Its streams may be closed while it goes on, and the other way round.
            let _ = end.await;
        }
        _ = &mut end => {}
    }
    let is_open = output.read_available()?;
    let status = running.reap(is_open)?;
    complaints.take(path, output.complaint);
    match status.code() {
        Some(0) => Ok(output.document),
        Some(code) => Err(format!(
            "Command '{}' returned non-zero exit status {code}.",
            path.display()
        )),
        None => Err(format!("Command '{}' has ended by {status}", path.display())),
    }
}

/// The output of a program.
struct Output {
    document: Document,
    /// `None` at the end.
    stdout: Option<Receiver>,
    complaint: Vec<u8>,
    stderr: Option<Receiver>,
}

impl Output {
    /// Reads until both streams have ended. A program may write without end and faster than it is
    /// read, so other sources have their turn after each piece.
    async fn read(&mut self) -> Result<(), String> {
        while self.stdout.is_some() || self.stderr.is_some() {
            tokio::select! {
                () = readable(self.stdout.as_ref()) => {}
                () = readable(self.stderr.as_ref()) => {}
            }
            self.take(|_| Ok(0))?;
        }
        Ok(())
    }

    /// Reads what the streams have now, and no more: what the program has left may write on. Returns
    /// whether the stdout is still open.
    fn read_available(&mut self) -> Result<bool, String> {
        self.take(|stream| Ok(rustix::io::ioctl_fionread(stream)?))?;
        Ok(self.stdout.is_some())
    }

    /// Reads so many bytes of each stream, and one piece more.
    fn take(&mut self, length: impl Fn(&Receiver) -> std::io::Result<u64>) -> Result<(), String> {
        let length = |stream: &Receiver| length(stream).map_err(|error| error.to_string());
        if let Some(stream) = &self.stdout {
            let document = &mut self.document;
            if read(stream, length(stream)?, |bytes| document.push(bytes))? {
                self.stdout = None;
            }
        }
        if let Some(stream) = &self.stderr {
            let complaint = &mut self.complaint;
            let keep = |bytes: &[u8]| {
                let left = HOURLY.saturating_sub(complaint.len());
                complaint.extend_from_slice(bytes.get(..left).unwrap_or(bytes));
                Ok(())
            };
            if read(stream, length(stream)?, keep)? {
                self.stderr = None;
            }
        }
        Ok(())
    }
}

/// Waits for a stream that is open.
async fn readable(stream: Option<&Receiver>) {
    match stream {
        // The read that follows returns the error.
        Some(stream) => drop(stream.readable().await),
        None => std::future::pending().await,
    }
}

/// Takes so many bytes of a stream, and one piece more, if it has them. Tells whether it has ended.
fn read(stream: &Receiver, mut length: u64, mut take: impl FnMut(&[u8]) -> Result<(), String>) -> Result<bool, String> {
    let mut chunk = [0; CHUNK];
    loop {
        // The runtime asks the kernel only after news of it, and there is none behind the end of
        // the program: then the kernel is asked directly.
        let read = match stream.try_read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                nix::unistd::read(stream, &mut chunk).map_err(std::io::Error::from)
            }
            other => other,
        };
        match read {
            Ok(0) => return Ok(true),
            Ok(read) => {
                take(&chunk[..read])?;
                match length.checked_sub(read as u64) {
                    Some(left) => length = left,
                    None => return Ok(false),
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Tells of the end of a program, which is still there as a zombie then: its number is nobody else's.
///
/// A thread waits for each program that runs, and ends with the program. A handle of the process that
/// the loop could wait for (`pidfd_open`, which tokio's children ask for, too) needs Linux 5.3, which
/// RHEL 8 and some sandboxes do not have. SIGCHLD is one signal for the whole process: by signalfd all
/// threads would have to block it, and a handler would interrupt the waiting of all.
fn end_of(process: u32) -> std::io::Result<oneshot::Receiver<()>> {
    let process = Pid::from_raw(i32::try_from(process).unwrap_or(i32::MAX));
    let (ended, end) = oneshot::channel();
    let wait = move || {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while waitid(Id::Pid(process), flags) == Err(Errno::EINTR) {}
        // Nobody may wait for the end any more.
        let _ = ended.send(());
    };
    if !headroom::has_for_threads(1) {
        return Err(std::io::Error::other(headroom::NO_MEMORY));
    }
    thread::Builder::new()
        .name("script".to_owned())
        .stack_size(STACK)
        .spawn(wait)?;
    Ok(end)
}

/// A program that is ended when nobody waits for it any more.
struct Running(Option<Child>);

impl Running {
    /// Takes the status of a program that has ended, and kills the processes that it has left.
    fn reap(&mut self, is_left: bool) -> Result<ExitStatus, String> {
        let mut child = self.0.take().ok_or("it has ended")?;
        if is_left {
            kill(&child);
        }
        child.wait().map_err(|error| error.to_string())
    }
}

fn kill(child: &Child) {
    if let Ok(id) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        kill(&child);
        // The child may take some time to end.
        if headroom::has_for_threads(1) {
            tokio::task::spawn_blocking(move || child.wait());
        } else {
            let _ = child.try_wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::unix::pipe;

    use super::*;

    /// Of a stream that is full at any time no more is read at once than was asked for, and a piece.
    #[tokio::test]
    async fn streams_without_end() {
        let (sender, receiver) = pipe::pipe().expect("two descriptors");
        sender.writable().await.expect("it is open");
        let written = sender.try_write(&[b'#'; 4 * CHUNK]).expect("a pipe has room");
        assert_eq!(written, 4 * CHUNK);
        let taken = |length: u64| {
            let mut taken = 0;
            let has_ended = read(&receiver, length, |bytes| {
                taken += bytes.len();
                Ok(())
            });
            (taken, has_ended.expect("it can be read"))
        };
        assert_eq!(taken(0), (CHUNK, false));
        assert_eq!(taken(CHUNK as u64), (2 * CHUNK, false));
        let left = rustix::io::ioctl_fionread(&receiver).expect("a pipe");
        assert_eq!((left, taken(left)), (CHUNK as u64, (CHUNK, false)));
        sender.writable().await.expect("it is open");
        sender.try_write(b"# 1\n").expect("it is empty");
        drop(sender);
        assert_eq!(taken(4), (4, true));
    }

    /// A program that has closed its stdout may write on to stderr: it is read until both have ended.
    #[tokio::test]
    async fn both_streams_are_read_to_their_ends() {
        let ((closed, stdout), (late, stderr)) = (pipe::pipe().expect("two"), pipe::pipe().expect("two"));
        let mut output = Output {
            document: Document::new(&Memory::new()),
            stdout: Some(stdout),
            complaint: Vec::new(),
            stderr: Some(stderr),
        };
        drop(closed);
        let program = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            late.try_write(b"late").expect("a pipe has room");
            drop(late);
        };
        let (read, ()) = tokio::join!(output.read(), program);
        assert_eq!((read, output.complaint), (Ok(()), b"late".to_vec()));
    }
}
