//! A pmcd of its own for a test, with PCP's tools.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, User, geteuid};

use super::folder::Folder;
use crate::env::pcp_setting;
use crate::error::{Error, Result};

/// The time limit for pmcd's start, for each tool, and for pmcd's end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A private pmcd with one agent, for a test of the agent's program with PCP's own tools. It has a
/// folder, a port and a socket of its own, disturbs no other pmcd, and ends when it is dropped.
///
/// It needs an installed PCP (`$PCP_BINADM_DIR/pmcd`), but not root. In `tests/pmcd.rs` of an agent
/// with the program `pmdatraffic`:
///
/// ```no_run
/// # fn program() -> &'static str { "pmdatraffic" }
/// # /*
/// let program = env!("CARGO_BIN_EXE_pmdatraffic");
/// # */ let program = program();
/// let pmcd = pmda::testing::Pmcd::start(program, &[])?;
/// let values = pmcd.run("pminfo", &["-f", "traffic"])?;
/// assert!(values.contains("inst [0 or \"lo\"] value "), "{values}{}", pmcd.log());
/// # Ok::<(), pmda::Error>(())
/// ```
#[derive(Debug)]
pub struct Pmcd {
    folder: Folder,
    /// The agent's name.
    agent: String,
    process: Child,
    port: u16,
}

impl Pmcd {
    /// Starts pmcd with an agent's program, which gets these options beside those of `pmcd.conf`.
    ///
    /// # Errors
    /// The reason why pmcd or the agent does not start, with their log lines.
    pub fn start(program: impl AsRef<Path>, options: &[&str]) -> Result<Pmcd> {
        let program = crate::fs::at(program.as_ref(), fs::canonicalize(program.as_ref()))?;
        let program = word(&program.display().to_string())?;
        let folder = Folder::own()?;
        for name in ["run", "log", "tmp", "var/config/pmda", "pmdas/agent"] {
            fs::create_dir_all(folder.path().join(name))?;
        }
        let files = folder.path().join("pmdas/agent");
        let mut write = Command::new(&program);
        write.args(options).arg("--write").arg(&files);
        run(write, folder.path())?;
        let (agent, domain) = agent(&files)?;
        fs::rename(&files, folder.path().join("pmdas").join(&agent))?;
        let log = word(&folder.path().join("log/agent.log").display().to_string())?;
        let options: Vec<String> = options.iter().map(|option| word(option)).collect::<Result<_>>()?;
        let options = options.join(" ");
        let line = format!("{agent} {domain} pipe binary {program} -d {domain} -l {log} {options}\n");
        fs::write(folder.path().join("pmcd.conf"), line)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let at = |name: &str| folder.path().join(name);
        let output = File::create(at("log/output"))?;
        let binary = setting("PCP_BINADM_DIR")?.join("pmcd");
        let mut pmcd = Command::new(&binary);
        pmcd.arg("-f")
            .arg("-n")
            .arg(at("pmdas").join(&agent).join("root"))
            .arg("-c")
            .arg(at("pmcd.conf"));
        pmcd.arg("-l")
            .arg(at("log/pmcd.log"))
            .arg("-s")
            .arg(at("run/pmcd.socket"));
        pmcd.args(["-p", &port.to_string(), "-i", "127.0.0.1", "-U", &user()?]);
        prepare(&mut pmcd, folder.path(), port)?;
        pmcd.process_group(0).stdout(output.try_clone()?).stderr(output);
        let process = crate::fs::at(&binary, pmcd.spawn())?;
        let mut pmcd = Pmcd {
            folder,
            agent,
            process,
            port,
        };
        pmcd.wait_until_ready()?;
        Ok(pmcd)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while UnixStream::connect(self.folder.path().join("run/pmcd.socket")).is_err() {
            if self.process.try_wait()?.is_some() || Instant::now() > end {
                return Err(Error::ESRCH.text(format_args!("pmcd does not start: {}", self.log())));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Runs one of PCP's tools as a client of this pmcd: `run("pminfo", &["-f", "traffic"])`.
    /// Returns its output, stderr last.
    ///
    /// # Errors
    /// The tool ends with another status than 0, or not within a minute; the error has its output.
    pub fn run(&self, tool: &str, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(setting("PCP_BIN_DIR")?.join(tool));
        command.args(arguments);
        prepare(&mut command, self.folder.path(), self.port)?;
        run(command, self.folder.path())
    }

    /// The lines that the agent and pmcd have logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        let logs = ["agent.log", "pmcd.log", "output"].map(|name| {
            let text = fs::read(self.folder.path().join("log").join(name)).unwrap_or_default();
            format!("{name}:\n{}\n", String::from_utf8_lossy(&text))
        });
        logs.concat()
    }

    /// The folder of the agent's files ([`Env::folder`](crate::Env::folder)), for its configuration:
    /// the agent reads it when it starts, so give it options that name other files, or use a
    /// [`Harness`](super::Harness).
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("pmdas").join(&self.agent)
    }
}

/// Ends pmcd, and the agent with it.
impl Drop for Pmcd {
    fn drop(&mut self) {
        let Ok(process) = i32::try_from(self.process.id()) else {
            return;
        };
        let process = Pid::from_raw(process);
        // A process that has ended already cannot get a signal.
        let _ = kill(process, Signal::SIGTERM);
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end && matches!(self.process.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = killpg(process, Signal::SIGKILL);
        let _ = self.process.wait();
    }
}

/// A word of a line of `pmcd.conf`, which has no way to write blanks.
///
/// # Errors
/// `-EINVAL` for a text with blanks, or an empty one.
fn word(text: &str) -> Result<String> {
    match text.split_whitespace().eq([text]) {
        true => Ok(text.to_owned()),
        false => Err(Error::EINVAL.text(format_args!("{text:?} cannot be in pmcd.conf: it is not one word"))),
    }
}

/// A directory of the installed PCP.
fn setting(name: &str) -> Result<PathBuf> {
    let value = pcp_setting(name).filter(|value| !value.is_empty());
    let missing = || Error::ESRCH.text(format_args!("{name} is not set: is PCP installed?"));
    value.map(PathBuf::from).ok_or_else(missing)
}

/// The user of this process, whom pmcd and the agent stay.
fn user() -> Result<String> {
    let user = User::from_uid(geteuid()).map_err(|errno| Error::os(errno as i32))?;
    let missing = Error::ESRCH.text("the user of this process has no name");
    user.map(|user| user.name).ok_or(missing)
}

/// Leads a program of PCP to the private folders and port.
fn prepare(command: &mut Command, folder: &Path, port: u16) -> Result<()> {
    let folders = [
        ("PCP_RUN_DIR", "run"),
        ("PCP_LOG_DIR", "log"),
        ("PCP_TMP_DIR", "tmp"),
        ("PCP_TMPFILE_DIR", "tmp"),
        ("PCP_VAR_DIR", "var"),
        ("PCP_PMDAS_DIR", "pmdas"),
        ("PCP_PMCDCONF_PATH", "pmcd.conf"),
        ("PMCD_SOCKET", "run/pmcd.socket"),
    ];
    command.envs(folders.map(|(name, path)| (name, folder.join(path))));
    command.env("PMCD_PORT", port.to_string()).env("PCP_USER", user()?);
    command.env_remove("PMCD_HOST").current_dir(folder).stdin(Stdio::null());
    Ok(())
}

/// Runs a program to its end, and returns what it prints.
fn run(mut command: Command, folder: &Path) -> Result<String> {
    let at = |name: &str| folder.join("tmp").join(name);
    let program = PathBuf::from(command.get_program());
    // Into files: a program that starts others would keep a pipe open.
    command
        .stdout(File::create(at("stdout"))?)
        .stderr(File::create(at("stderr"))?);
    let mut process = crate::fs::at(&program, command.spawn())?;
    let end = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = process.try_wait()? {
            break status.to_string();
        }
        if Instant::now() > end {
            process.kill()?;
            process.wait()?;
            break "ended, as it took too long".to_owned();
        }
        thread::sleep(Duration::from_millis(5));
    };
    let read = |name: &str| fs::read(at(name)).map(|text| String::from_utf8_lossy(&text).into_owned());
    let printed = read("stdout")? + &read("stderr")?;
    match status.as_str() {
        "exit status: 0" => Ok(printed),
        _ => Err(Error::GENERIC.text(format_args!("{}: {status}: {printed}", program.display()))),
    }
}

/// The name and the domain of an agent, from the file `domain.h` that it has written.
fn agent(files: &Path) -> Result<(String, u32)> {
    let text = fs::read_to_string(files.join("domain.h"))?;
    let mut words = text.split_whitespace().skip(1);
    let (name, domain) = (words.next(), words.next());
    let (name, domain) = name
        .zip(domain)
        .ok_or(Error::CONV.text("domain.h has no name and number"))?;
    Ok((name.to_lowercase(), domain.parse()?))
}
