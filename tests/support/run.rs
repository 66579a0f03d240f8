//! Runs a program on one of the libraries, in a private directory, bounded in time.

use std::env;
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Library;

/// The outcome of a program.
#[derive(Debug)]
pub struct Outcome {
    /// Exit code, signal, or that it ran too long.
    pub end: String,
    /// Its stdout.
    pub stdout: Vec<u8>,
    /// Its stderr.
    pub stderr: Vec<u8>,
}

impl Outcome {
    /// How the program has ended, the first lines of what it has said, and where the rest is: in two
    /// files of `directory`.
    ///
    /// # Panics
    /// If the directory cannot be written.
    #[must_use]
    pub fn excerpt(&self, directory: &Path) -> String {
        /// Lines that are shown of each stream: a backtrace may have a thousand.
        const LINES: usize = 10;
        fs::create_dir_all(directory).expect("target is writable");
        let mut text = self.end.clone();
        for (name, bytes) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            let said = String::from_utf8_lossy(bytes);
            let more = said.lines().count().saturating_sub(LINES);
            text += &format!("\n--- {name}\n");
            text.extend(said.lines().take(LINES).flat_map(|line| [line, "\n"]));
            if more > 0 {
                let file = directory.join(name);
                fs::write(&file, bytes).expect("target is writable");
                text += &format!("{more} more lines: {}\n", file.display());
            }
        }
        text
    }
}

/// A command that starts a program which was compiled with [`super::compiler`]: behind
/// `TEST_RUNNER` (a program and its arguments), if the programs are not for this machine.
pub fn command(program: &Path) -> Command {
    let runner = env::var("TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(first) = words.next() else {
        return Command::new(program);
    };
    let mut command = Command::new(first);
    command.args(words).arg(program);
    command
}

/// Returns whether programs run below an emulator.
pub fn is_emulated() -> bool {
    env::var("TEST_RUNNER").is_ok_and(|runner| !runner.trim().is_empty())
}

/// The time limit of a program that takes `usual` on a machine of its own: an emulator is slower.
pub fn patience(usual: Duration) -> Duration {
    if is_emulated() { usual * 10 } else { usual }
}

/// Runs `program` in `directory` (made fresh) on `library`; a program that runs longer than `limit`
/// is killed.
///
/// The program finds PCP's variable directory in its own directory: nothing of the system is
/// touched.
pub fn run(program: &Path, args: &[&str], library: Library, directory: &Path, limit: Duration) -> Outcome {
    run_debugging(program, args, library, directory, limit, None)
}

/// As [`run`]; with `debug`, an object made of `debug.c` and debug options, the program runs under
/// these.
pub fn run_debugging(
    program: &Path,
    args: &[&str],
    library: Library,
    directory: &Path,
    limit: Duration,
    debug: Option<(&Path, &str)>,
) -> Outcome {
    let _ = fs::remove_dir_all(directory);
    fs::create_dir_all(directory.join("var/config")).expect("target is writable");
    let mut command = command(program);
    command.args(args);
    private(&mut command, &library.directory(), directory);
    if let Some((preload, options)) = debug {
        command.env("LD_PRELOAD", preload).env("TEST_DEBUG", options);
    }
    bounded(command, limit)
}

/// Lets a command run in a directory of its own, where it finds PCP's variable directory, on the
/// library in `library`.
pub fn private(command: &mut Command, library: &Path, directory: &Path) {
    command
        .current_dir(directory)
        .env("LD_LIBRARY_PATH", library)
        .env("PCP_VAR_DIR", directory.join("var"))
        .env("PCP_SYSCONF_DIR", directory.join("etc"))
        .env("PCP_TMPFILE_DIR", directory)
        .env("TZ", "UTC")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
}

/// Runs a command to its end, or kills its process group after `limit`.
pub fn bounded(mut command: Command, limit: Duration) -> Outcome {
    usual_umask();
    let mut child = command
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let stdout = collect(child.stdout.take().expect("piped"));
    let stderr = collect(child.stderr.take().expect("piped"));
    let deadline = Instant::now() + limit;
    let end = loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            break describe(status);
        }
        if Instant::now() >= deadline {
            kill_group(child.id());
            child.wait().expect("our own child");
            break format!("killed after {} s", limit.as_secs());
        }
        thread::sleep(Duration::from_millis(2));
    };
    Outcome {
        end,
        stdout: stdout.join().expect("reader"),
        stderr: stderr.join().expect("reader"),
    }
}

/// Sends a signal to one process.
pub fn kill(pid: u32, signal: i32) {
    send(i32::try_from(pid).expect("a process id"), signal);
}

/// Sends a signal to the process group of a child that was started as the first of one.
pub fn signal_group(pid: u32, signal: i32) {
    send(-i32::try_from(pid).expect("a process id"), signal);
}

/// Kills what is left of such a process group.
pub fn kill_group(pid: u32) {
    signal_group(pid, libc::SIGKILL);
}

/// Files that programs write have the modes of the expected pictures, whoever runs the tests.
#[allow(unsafe_code, reason = "std has no way to set the umask")]
fn usual_umask() {
    // SAFETY: umask takes a number, always succeeds, and has no memory effects.
    unsafe { libc::umask(0o022) };
}

#[allow(unsafe_code, reason = "std has no way to send a signal")]
fn send(to: i32, signal: i32) {
    // SAFETY: kill takes two integers and has no memory effects here; the tests have no handler
    // that touches anything.
    unsafe { libc::kill(to, signal) };
}

fn collect(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        _ => "unknown".to_owned(),
    }
}
