//! A private PCP: its own directories, its own pmcd on a free loopback port, one of the two
//! libraries under all of it.
//!
//! `make setup` has put PCP's daemons, tools and agents below `target/pcp`. Nothing of the system
//! is touched, and everything that is started is stopped by its process id, also when a test fails.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub use super::run::kill;
use super::run::{Outcome, bounded, kill_group};
use super::{Library, is_root, profile_dir};

/// The time that pmcd may take to start its agents; slow ones (Python) need some seconds on a busy
/// machine.
const START: Duration = Duration::from_secs(60);
/// The time that pmcd may take to end after it was asked to.
const STOP: Duration = Duration::from_secs(20);

/// The directory that `make setup` has filled.
pub fn home() -> PathBuf {
    let home = profile_dir().parent().expect("target/PROFILE").join("pcp");
    assert!(home.join("stamp").exists(), "PCP is not set up: make setup");
    home
}

/// A file of the unpacked package `pcp`.
pub fn installed(path: &str) -> PathBuf {
    home().join("root").join(path)
}

/// The directory of an agent of the package.
pub fn agent(name: &str) -> PathBuf {
    installed("var/lib/pcp/pmdas").join(name)
}

/// The preloaded object that makes an agent believe that it becomes the user pcp, while it stays
/// the user who runs the tests: an ordinary user may not even set the groups that it has.
fn preloaded() -> &'static str {
    if is_root() {
        "libnss_wrapper.so"
    } else {
        "libnss_wrapper.so:libuid_wrapper.so"
    }
}

/// Private directories, and the variables that lead PCP's programs there.
pub struct Environment {
    /// Holds everything that the programs write.
    pub directory: PathBuf,
    libraries: PathBuf,
    /// More environment variables for its programs.
    pub variables: Vec<(&'static str, String)>,
    /// Unix sockets have short names, so they live elsewhere.
    sockets: tempfile::TempDir,
}

impl Environment {
    /// Makes the directories afresh; `test` is the name of the test, unique in the test suite.
    pub fn new(test: &str, library: Library) -> Environment {
        Environment::with(&format!("{test}/{library:?}"), library.directory())
    }

    /// The same for a library in a directory of its own; `name` is that of the directories.
    pub fn with(name: &str, libraries: PathBuf) -> Environment {
        let directory = profile_dir().join("test-pcp").join(name);
        let _ = fs::remove_dir_all(&directory);
        for name in [
            "run",
            "log/pmcd",
            "tmp/bash",
            "tmp/mmv",
            "var/config/pmda",
            "var/config/web",
            "etc",
        ] {
            fs::create_dir_all(directory.join(name)).expect("target is writable");
        }
        link(&installed("var/lib/pcp/pmns"), &directory.join("var/pmns"));
        link(&installed("var/lib/pcp/pmdas"), &directory.join("var/pmdas"));
        for entry in fs::read_dir(installed("etc/pcp")).expect("make setup").flatten() {
            link(&entry.path(), &directory.join("etc").join(entry.file_name()));
        }
        let sockets = tempfile::tempdir().expect("a temporary directory");
        Environment {
            directory,
            libraries,
            variables: Vec::new(),
            sockets,
        }
    }

    /// The directory with the library that all programs use.
    pub fn libraries(&self) -> &Path {
        &self.libraries
    }

    /// Replaces a directory of the agents' configuration by an own, empty one.
    pub fn own_configuration(&self, agent: &str) -> PathBuf {
        let directory = self.directory.join("etc").join(agent);
        fs::remove_file(&directory).expect("a link to the package's configuration");
        fs::create_dir(&directory).expect("target is writable");
        directory
    }

    /// A short path for a unix socket.
    pub fn socket(&self, name: &str) -> PathBuf {
        self.sockets.path().join(name)
    }

    /// A program in this environment.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let at = |name: &str| self.directory.join(name);
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(&self.directory)
            .env_remove("PMCD_PORT")
            .env_remove("PMCD_HOST")
            .env_remove("PCP_DIR")
            .env("LD_LIBRARY_PATH", &self.libraries)
            .env(
                "PATH",
                format!(
                    "{}:{}:{}:{path}",
                    at("bin").display(),
                    installed("usr/bin").display(),
                    installed("usr/lib/pcp/bin").display()
                ),
            )
            .env("PCP_CONF", home().join("pcp.conf"))
            .env("LD_PRELOAD", preloaded())
            .env("NSS_WRAPPER_PASSWD", home().join("passwd"))
            .env("NSS_WRAPPER_GROUP", home().join("group"))
            .env("UID_WRAPPER", "1")
            .env("PCP_RUN_DIR", at("run"))
            .env("PCP_LOG_DIR", at("log"))
            .env("PCP_TMP_DIR", at("tmp"))
            .env("PCP_TMPFILE_DIR", at("tmp"))
            .env("PCP_VAR_DIR", at("var"))
            .env("PCP_SYSCONF_DIR", at("etc"))
            .env("PCP_PMCDCONF_PATH", at("pmcd.conf"))
            .env("PMCD_SOCKET", self.socket("pmcd"))
            .env("HOME", &self.directory)
            .env("TZ", "UTC")
            .env("LC_ALL", "C")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// Runs a program to its end, or kills it after a minute.
    pub fn run(&self, program: impl AsRef<Path>, args: &[&str]) -> Outcome {
        let mut command = self.command(program);
        command.args(args);
        bounded(command, Duration::from_secs(60))
    }

    /// Runs `dbpmda` on a script.
    pub fn dbpmda(&self, namespace: &Path, script: &str) -> String {
        let file = self.directory.join("dbpmda.in");
        fs::write(&file, script).expect("target is writable");
        let mut command = self.command(installed("usr/bin/dbpmda"));
        command.args(["-ie", "-n"]).arg(namespace);
        command.stdin(fs::File::open(&file).expect("just written"));
        text(&bounded(command, Duration::from_secs(60)))
    }

    /// Starts a pmcd with these lines in its configuration and this name space.
    ///
    /// # Errors
    /// What pmcd or its log says when it does not serve.
    pub fn pmcd(&self, configuration: &str, namespace: &Path) -> Result<Pmcd<'_>, String> {
        self.pmcd_with(configuration, namespace, &[])
    }

    /// Writes pmcd's configuration; a running one reads it when it gets SIGHUP.
    pub fn configure(&self, configuration: &str) {
        fs::write(self.directory.join("pmcd.conf"), configuration).expect("target is writable");
    }

    /// Starts a pmcd with more arguments.
    ///
    /// # Errors
    /// As [`Environment::pmcd`].
    pub fn pmcd_with(&self, configuration: &str, namespace: &Path, args: &[&str]) -> Result<Pmcd<'_>, String> {
        self.configure(configuration);
        for _ in 0..5 {
            let mut pmcd = self.start(namespace, args)?;
            if pmcd.wait_until_ready()? {
                pmcd.has_loaded()?;
                return Ok(pmcd);
            }
        }
        Err("no free port for pmcd after 5 attempts".to_owned())
    }

    fn start(&self, namespace: &Path, args: &[&str]) -> Result<Pmcd<'_>, String> {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .map_err(|error| error.to_string())?
            .port();
        let log = self.directory.join("log/pmcd/pmcd.log");
        let _ = fs::remove_file(&log);
        // One that had to be killed leaves its socket, and the next one would have none.
        let _ = fs::remove_file(self.socket("pmcd"));
        let output = fs::File::create(self.directory.join("log/pmcd/output")).expect("target is writable");
        let mut command = self.command(installed("usr/lib/pcp/bin/pmcd"));
        command
            .arg("-f")
            .arg("-n")
            .arg(namespace)
            .arg("-c")
            .arg(self.directory.join("pmcd.conf"))
            .arg("-l")
            .arg(&log)
            .args(["-p", &port.to_string(), "-i", "127.0.0.1", "-s"])
            .arg(self.socket("pmcd"))
            .args(["-U", &user()])
            .args(args)
            .process_group(0)
            .stdout(output.try_clone().expect("a file"))
            .stderr(output);
        let child = command
            .spawn()
            .map_err(|error| format!("pmcd does not start: {error}"))?;
        Ok(Pmcd {
            environment: self,
            child,
            port,
            log,
        })
    }
}

/// The user that runs the tests: pmcd is to stay that one.
fn user() -> String {
    let conf = fs::read_to_string(home().join("pcp.conf")).expect("make setup");
    let line = conf.lines().find_map(|line| line.strip_prefix("PCP_USER="));
    line.expect("pcp.conf names the user").to_owned()
}

fn link(target: &Path, name: &Path) {
    std::os::unix::fs::symlink(target, name).expect("target is writable");
}

/// Both output streams of a program, and how it ended.
pub fn text(outcome: &Outcome) -> String {
    format!(
        "{}{}[{}]\n",
        String::from_utf8_lossy(&outcome.stdout),
        String::from_utf8_lossy(&outcome.stderr),
        outcome.end
    )
}

/// Agents start programs that outlive them; each has the way to these directories in its
/// environment. The tests in another root directory (`make -C packaging check-sid`) have directories
/// of the same names: their processes are not these.
impl Drop for Environment {
    fn drop(&mut self) {
        let root_of = |process: &Path| {
            fs::metadata(process.join("root"))
                .map(|root| (root.dev(), root.ino()))
                .ok()
        };
        let own_root = root_of(Path::new("/proc/self"));
        let mark = format!("PCP_RUN_DIR={}\0", self.directory.join("run").display());
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            let is_marked = environ.windows(mark.len()).any(|part| part == mark.as_bytes());
            if is_marked && root_of(&entry.path()) == own_root {
                kill(process, libc::SIGKILL);
            }
        }
    }
}

/// A running pmcd. It is stopped when this is dropped.
pub struct Pmcd<'a> {
    environment: &'a Environment,
    child: Child,
    /// The port it listens on.
    pub port: u16,
    log: PathBuf,
}

impl Pmcd<'_> {
    /// True when pmcd takes requests, false when somebody else was quicker and has its port.
    fn wait_until_ready(&mut self) -> Result<bool, String> {
        let deadline = Instant::now() + START;
        let listens = format!(" {} inet ", self.port);
        while Instant::now() < deadline {
            let log = self.log();
            if let Some(line) = log.lines().find(|line| line.contains(&listens)) {
                return Ok(line.trim_start().starts_with("ok"));
            }
            if let Some(status) = self.child.try_wait().expect("our own child") {
                return Err(format!("pmcd ended with {status}:\n{log}"));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(format!(
            "pmcd was not ready after {} s:\n{}",
            START.as_secs(),
            self.log()
        ))
    }

    /// A pmcd on the wrong library would prove nothing.
    fn has_loaded(&self) -> Result<(), String> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid())).map_err(|error| error.to_string())?;
        let file = self.environment.libraries.join("libpcp_pmda.so.3");
        let file = file.canonicalize().map_err(|error| error.to_string())?;
        let mapped: Vec<_> = maps.lines().filter(|line| line.contains("libpcp_pmda")).collect();
        if !mapped.is_empty() && mapped.iter().all(|line| line.ends_with(&file.display().to_string())) {
            return Ok(());
        }
        Err(format!(
            "pmcd was to load {}, but has mapped:\n{}",
            file.display(),
            mapped.join("\n")
        ))
    }

    /// The lines that pmcd has logged so far.
    pub fn log(&self) -> String {
        fs::read(&self.log).map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The process id of pmcd.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process id of an agent that pmcd has started as a daemon, from its log; the last one if
    /// it was restarted.
    pub fn agent_pid(&self, name: &str) -> Option<u32> {
        let log = self.log();
        let row = log
            .lines()
            .rev()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        row.into_iter()
            .find(|words| words.first() == Some(&name) && words.len() > 6)
            .and_then(|words| words[2].parse().ok())
    }

    /// A client in this environment, with this pmcd as its default host.
    pub fn client(&self, program: impl AsRef<Path>) -> Command {
        let mut command = self.environment.command(program);
        command
            .env("PMCD_PORT", self.port.to_string())
            .env("PMCD_HOST", self.host());
        command
    }

    /// Its unix socket.
    pub fn socket(&self) -> PathBuf {
        self.environment.socket("pmcd")
    }

    /// The host specification that leads clients to this pmcd, over its unix socket.
    pub fn host(&self) -> String {
        format!("unix:{}", self.socket().display())
    }

    /// Runs a tool of the package against this pmcd.
    pub fn tool(&self, name: &str, args: &[&str]) -> Outcome {
        let mut command = self.client(installed("usr/bin").join(name));
        command.args(args);
        bounded(command, Duration::from_secs(60))
    }

    /// Asks until `accept` likes the answer.
    ///
    /// # Errors
    /// The last answer, after some seconds.
    pub fn tool_until(&self, name: &str, args: &[&str], accept: impl Fn(&str) -> bool) -> Result<String, String> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let answer = text(&self.tool(name, args));
            if accept(&answer) {
                return Ok(answer);
            }
            if Instant::now() >= deadline {
                return Err(format!(
                    "{name} {}: last answer: {answer}\n{}",
                    args.join(" "),
                    self.log()
                ));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends a signal to pmcd.
    pub fn signal(&self, signal: i32) {
        kill(self.child.id(), signal);
    }
}

impl Drop for Pmcd<'_> {
    fn drop(&mut self) {
        kill(self.child.id(), libc::SIGTERM);
        let deadline = Instant::now() + STOP;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        // Agents are in pmcd's process group, or have gone with its pipes.
        kill_group(self.child.id());
        let _ = self.child.wait();
    }
}
