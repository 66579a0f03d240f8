//! Three processes: the one that the user has started, one below it that compares, and below that
//! one a keeper of each pmcd, its parent. Each ends the processes that the others leave running
//! when they are killed, by SIGKILL or for want of memory, also two of them at once.
//!
//! A pipe leads from each to the one below, and its end says that the one above has ended. The
//! upper pipe carries the folder's path with a NUL byte, and then a signal's number; the lower pipe
//! carries nothing. The orphans of a process are adopted by the process above it.
//! (`PR_SET_PDEATHSIG` of pmcd would not do: a pmcd that becomes another user loses it, and agents
//! do not have it.)

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal};

use crate::folder::Folder;
use crate::processes::{GRACE, Guard, end_all, ending_signals, said};

/// The first argument of the process that compares.
pub const BELOW: &str = "--below";

/// Runs this program a second time, with [`BELOW`] before the arguments of this one, and waits for
/// its end. No other thread has been started yet.
///
/// # Errors
/// What the operating system says; the signal that has ended the lower process.
///
/// # Returns
/// Its exit status.
pub fn run(arguments: impl Iterator<Item = OsString>) -> Result<u8, String> {
    let signals = ending_signals();
    signals.thread_block().map_err(said)?;
    set_child_subreaper(true).map_err(said)?;
    let folder = Folder::new().map_err(|error| {
        let above = std::env::temp_dir();
        format!(
            "no private folder below {}: {error}: set TMPDIR to a directory that you may write to",
            above.display()
        )
    })?;
    let ended = run_below(&folder, arguments, signals);
    end_all(GRACE);
    folder.remove();
    ended
}

fn run_below(folder: &Folder, mut arguments: impl Iterator<Item = OsString>, signals: SigSet) -> Result<u8, String> {
    // This path leads to the running file, also after an update has replaced it.
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.arg(BELOW).args(arguments).stdin(Stdio::piped());
    let said = |error: io::Error| error.to_string();
    let mut child = command.spawn().map_err(said)?;
    let mut pipe = child.stdin.take().ok_or("no pipe")?;
    // An error of the pipe says that the other process has ended, and the wait below says how.
    let _ = pipe.write_all(&[folder.path().as_os_str().as_bytes(), b"\0"].concat());
    let pass_on = move || {
        while let Ok(signal) = signals.wait() {
            let _ = pipe.write_all(&[signal as u8]);
        }
    };
    let thread = thread::Builder::new().name("signals".to_owned()).spawn(pass_on);
    // Without that thread the pipe has ended, and with it the other process.
    let started = thread.map(drop).map_err(said);
    let status = child.wait().map_err(said)?;
    started?;
    let signal = status.signal().unwrap_or(0);
    let is_asked = Signal::try_from(signal).is_ok_and(|signal| signals.contains(signal));
    match status.code() {
        Some(code) => Ok(code as u8),
        None if is_asked => Ok(128 + signal as u8),
        None => Err(format!("signal {signal} has ended the comparison")),
    }
}

/// The guard of the lower process. No other thread has been started yet.
///
/// # Errors
/// What the operating system says; that no process above has named a folder.
pub fn guard() -> Result<Guard, String> {
    // In a session of its own a signal to the whole group of the upper process, as timeout(1) sends
    // it, does not end both; and a terminal stops no process of a session that has no terminal.
    nix::unistd::setsid().map_err(said)?;
    // The upper process waits for these signals. Agents start as in the service, where no signal is
    // blocked.
    ending_signals().thread_unblock().map_err(said)?;
    let mut path = Vec::new();
    let read = io::stdin().lock().read_until(b'\0', &mut path);
    read.map_err(|error| error.to_string())?;
    if path.pop() != Some(b'\0') {
        return Err("the process above has ended".to_owned());
    }
    Guard::new(
        Folder::made(Path::new(OsStr::from_bytes(&path)).to_owned()),
        io::stdin(),
    )
}

/// The keeper of a program: starts it and writes its number to stdout; when stdin ends, it ends all
/// that is below, removes the folder and ends this process. The program writes both its outputs to
/// stderr. The arguments after [`KEEPER`](crate::processes::KEEPER) are the folder, the program and
/// the program's own arguments.
///
/// # Errors
/// What the operating system says; that arguments are missing.
pub fn keep(mut arguments: impl Iterator<Item = OsString>) -> Result<Infallible, String> {
    let missing = || "the folder and the program are missing".to_owned();
    let folder = arguments.next().ok_or_else(missing)?;
    let guard = Guard::new(Folder::made(folder.into()), io::stdin())?;
    let program = arguments.next().ok_or_else(missing)?;
    let mut command = Command::new(&program);
    let output = io::stderr().as_fd().try_clone_to_owned();
    let output = output.map_err(|error| error.to_string())?;
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
        .process_group(0);
    let child = guard.make(|_| command.spawn());
    let child = child.map_err(|error| format!("{}: {error}", Path::new(&program).display()))?;
    // The end of stdin says whether anybody still reads this.
    let _ = writeln!(io::stdout(), "{}", child.id());
    loop {
        // The guard's thread ends this process; the program's end does not, since the process above
        // still reads its files.
        thread::park();
    }
}
