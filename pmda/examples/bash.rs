//! The commands of bash scripts, as PCP's agent bash shows them: a script that has called
//! `pcp_trace on` (bashproc.sh(1)) writes each of its commands into a FIFO of its own. Each script
//! is an instance with a queue of events.
//!
//! Anybody may write into the folder of the FIFOs, so the agent checks each file before it reads
//! it: it follows no link, it waits for no file, and each line, file and queue has a greatest size.

#![forbid(unsafe_code)]
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use pmda::fs;
use pmda::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Greatest size of a header, and of a line: what follows is dropped.
const LONGEST: usize = 64 << 10;

/// The bytes of a FIFO that are read at once.
const AT_ONCE: u64 = 1 << 20;

/// The time that a script stays an instance after its end: clients ask in intervals.
const KEPT: Duration = Duration::from_secs(60);

struct Bash {
    folder: PathBuf,
    scripts: Indom<Script>,
    /// Bytes of lines that wait in a queue.
    limit: usize,
    /// A script waits in `pcp_trace on` until its FIFO is opened.
    _timer: Timer,
}

/// A process that traces itself.
struct Script {
    pid: i32,
    parent: u32,
    started: SystemTime,
    fifo: File,
    /// A line whose end was not written yet.
    line: Vec<u8>,
    events: Queue<Event>,
    is_new: bool,
    ended: Option<Instant>,
}

/// A command, or the end of the script.
struct Event {
    flags: EventFlags,
    pid: u32,
    parent: u32,
    line: Option<u32>,
    function: String,
    command: String,
}

/// The value of a field `name:value`.
fn field<'t>(fields: &'t str, name: &str) -> Option<&'t str> {
    fields.split_whitespace().find_map(|word| word.strip_prefix(name))
}

/// Opens a file of the folder, which may be anything.
fn open(path: &Path) -> Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    Ok(OpenOptions::new().read(true).custom_flags(flags).open(path)?)
}

fn is_running(pid: i32) -> bool {
    kill(Pid::from_raw(pid), None) != Err(Errno::ESRCH)
}

impl Script {
    /// Opens the FIFO of a process. Returns the script with its name: the process and its command.
    fn open(folder: &Path, pid: i32, limit: usize) -> Result<(String, Script)> {
        let header = open(&folder.join(format!(".{pid}")))?;
        let about = header.metadata()?;
        let fifo = open(&folder.join(pid.to_string()))?;
        if !about.is_file() || !fifo.metadata()?.file_type().is_fifo() {
            return Err(Error::VALUE.text("not a FIFO with a header"));
        }
        let mut text = Vec::new();
        header.take(LONGEST as u64).read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let (fields, command) = text.split_once("+ ").ok_or(Error::VALUE.text("no header"))?;
        if field(fields, "version:") != Some("1") {
            return Err(Error::VALUE.text("the version is not 1"));
        }
        let date = field(fields, "date:").and_then(|date| date.parse().ok());
        let script = Script {
            pid,
            parent: field(fields, "ppid:").and_then(|pid| pid.parse().ok()).unwrap_or(0),
            started: match date {
                Some(date) => UNIX_EPOCH + Duration::from_secs(date),
                None => about.modified()?,
            },
            fifo,
            line: Vec::new(),
            // Clients ask for all scripts before this one starts.
            events: Queue::with_history(limit),
            is_new: true,
            ended: None,
        };
        Ok((format!("{pid} {}", command.trim_end()), script))
    }

    /// Reads the new lines. A process that has ended writes nothing more, so its files are removed.
    fn read(&mut self, folder: &Path) {
        if self.ended.is_some() {
            return;
        }
        let mut has_ended = !is_running(self.pid);
        let mut bytes = Vec::new();
        match (&self.fifo).take(AT_ONCE).read_to_end(&mut bytes) {
            Ok(_) => {}
            // Nothing more now; the lines before are read.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => {
                log::warn!("{}/{}: {error}", folder.display(), self.pid);
                has_ended = true;
            }
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LONGEST - self.line.len();
            self.line.extend(part.iter().take(room));
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.add(String::from_utf8_lossy(&line).trim_end_matches('\n'));
            }
        }
        if has_ended && bytes.len() < AT_ONCE as usize {
            self.ended = Some(Instant::now());
            self.push(SystemTime::now(), 0, EventFlags::END, None, "", "");
            for path in [folder.join(format!(".{}", self.pid)), folder.join(self.pid.to_string())] {
                if let Err(error) = std::fs::remove_file(&path) {
                    log::warn!("{}: {error}", path.display());
                }
            }
        }
    }

    /// Adds what a line says: `time:SECONDS line:NUMBER func:NAME + COMMAND`. Bash repeats the first
    /// letter for commands in substitutions.
    fn add(&mut self, line: &str) {
        // The rest of a command of several lines has no fields.
        let (fields, command) = line.split_once("+ ").unwrap_or(("", line));
        let fields = fields.trim_start_matches('t');
        let function = field(fields, "func:").unwrap_or("");
        if function == "pcp_trace" || command.starts_with("pcp_trace ") {
            return;
        }
        let seconds = field(fields, "ime:").and_then(|seconds| seconds.parse().ok());
        let since_start = seconds.and_then(|seconds| self.started.checked_add(Duration::from_secs(seconds)));
        let time = since_start.unwrap_or_else(SystemTime::now);
        let number = field(fields, "line:").and_then(|number| number.parse().ok());
        let flags = if std::mem::take(&mut self.is_new) {
            EventFlags::START
        } else {
            EventFlags::NONE
        };
        self.push(time, line.len() + 1, flags, number, function, command);
    }

    fn push(
        &mut self,
        time: SystemTime,
        size: usize,
        flags: EventFlags,
        line: Option<u32>,
        function: &str,
        command: &str,
    ) {
        let event = Event {
            flags: flags | EventFlags::ID | EventFlags::PARENT,
            pid: self.pid as u32,
            parent: self.parent,
            line,
            function: function.to_owned(),
            command: command.to_owned(),
        };
        self.events.push_weighing(size, time, event);
    }
}

impl Bash {
    /// Reads what the scripts have written. Scripts come, and those that have ended go.
    fn refresh(&mut self) -> Result<()> {
        let mut pids = BTreeSet::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let pid = name.to_str().and_then(|name| name.parse::<i32>().ok());
            pids.extend(pid.filter(|pid| *pid > 0));
        }
        let mut new = BTreeMap::new();
        for &pid in &pids {
            // A number may be that of another process later.
            let is_same = |script: &Script| script.ended.is_none() || !is_running(pid);
            if self.scripts.get(pid).is_some_and(is_same) {
                continue;
            }
            match Script::open(&self.folder, pid, self.limit) {
                Ok(script) => {
                    new.insert(pid, script);
                }
                // The script may still write it: a script makes its FIFO first.
                Err(error) => log::debug!("{}/{pid}: {error}", self.folder.display()),
            }
        }
        let stays =
            |pid: i32, script: &Script| script.ended.is_none_or(|ended| ended.elapsed() < KEPT) || pids.contains(&pid);
        let kept = self
            .scripts
            .iter()
            .filter(|(pid, script)| stays(*pid, script) && !new.contains_key(pid));
        let kept: Vec<i32> = kept.map(|(pid, _)| pid).collect();
        let mut now = self.scripts.update();
        for (pid, (name, script)) in new {
            now.set_at(pid, &name, script)?;
        }
        for pid in kept {
            now.keep_at(pid);
        }
        drop(now);
        for script in self.scripts.rows_mut() {
            script.read(&self.folder);
        }
        Ok(())
    }
}

/// A number of bytes, with K, M or G after it.
fn bytes(text: &str) -> Result<usize> {
    let number = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let shift = match &*text[number.len()..].to_ascii_lowercase() {
        "" | "b" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(Error::VALUE.text(format_args!("{text}: bytes, or a number with K, M or G"))),
    };
    let bytes = number.parse::<usize>()?.checked_mul(1 << shift);
    bytes.ok_or(Error::VALUE.text(format_args!("{text} bytes are too many")))
}

impl Agent for Bash {
    const NAME: &'static str = "bash";
    const DOMAIN: u32 = 417;
    const OPTIONS: &'static [Opt] = &[
        Opt::new("memory")
            .short('m')
            .argument("SIZE")
            .help("bytes that wait for a script's clients, instead of 2M"),
        Opt::new("interval")
            .short('s')
            .argument("SECONDS")
            .help("how often to look for scripts, instead of each second"),
        Opt::new("folder").argument("PATH").help("the folder of the FIFOs"),
    ];

    fn start(env: &Env) -> Result<Bash> {
        let folder = match env.option("folder") {
            Some(folder) => PathBuf::from(folder),
            None => PathBuf::from(env.setting("PCP_TMP_DIR").ok_or(Error::VALUE.text("PCP_TMP_DIR"))?).join("bash"),
        };
        let interval = Duration::from_secs(env.option("interval").unwrap_or("1").parse()?);
        Ok(Bash {
            folder,
            scripts: Indom::new(),
            limit: bytes(env.option("memory").unwrap_or("2M"))?,
            _timer: env.timer(interval),
        })
    }

    fn metrics(m: &mut Metrics<Bash>) {
        let scripts = m.indom(0, "Bash scripts that trace themselves", |s| &mut s.scripts);
        m.each("xtrace.numclients", scripts, |script| script.events.clients() as u32)
            .item(0)
            .unit(COUNT)
            .help("Clients that read the events of a script");
        m.each_inst("xtrace.maxmem", scripts, |s, _| Ok(s.limit as u64))
            .item(1)
            .discrete()
            .unit(BYTE)
            .help("Maximum size of the events of a script that wait");
        m.each("xtrace.queuemem", scripts, |script| script.events.weight() as u64)
            .item(2)
            .unit(BYTE)
            .help("Size of the events of a script that wait");
        m.each("xtrace.count", scripts, |script| script.events.count() as u32)
            .item(3)
            .counter()
            .unit(COUNT)
            .help("Events of a script so far");
        let pid = m.parameter::<u32>("xtrace.parameters.pid", |def| {
            def.item(5).discrete().help("Number of the script's process")
        });
        let parent = m.parameter::<u32>("xtrace.parameters.parent", |def| {
            def.item(6).discrete().help("Number of the parent process")
        });
        let lineno = m.parameter::<u32>("xtrace.parameters.lineno", |def| {
            def.item(7).discrete().help("Number of the line in the script")
        });
        let function = m.parameter::<str>("xtrace.parameters.function", |def| {
            def.item(8).help("Name of the shell function")
        });
        let command = m.parameter::<str>("xtrace.parameters.command", |def| def.item(9).help("The command"));
        m.each_events(
            "xtrace.records",
            scripts,
            |script| &mut script.events,
            move |event, record| {
                record
                    .flags(event.flags)
                    .add(pid, &event.pid)
                    .add(parent, &event.parent);
                if let Some(line) = &event.line {
                    record.add(lineno, line);
                }
                for (parameter, text) in [(function, &event.function), (command, &event.command)] {
                    if !text.is_empty() {
                        record.add(parameter, &**text);
                    }
                }
            },
        )
        .item(4)
        .help("Commands of a script since the last fetch of the same client");
    }

    fn begin(&mut self, _: &Request<'_>) -> Result<()> {
        self.refresh()
    }

    fn woken(&mut self) -> Result<()> {
        self.refresh()
    }
}

fn main() -> ExitCode {
    pmda::run::<Bash>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pmda::testing::{EventRecord, Harness};
    use std::process::Command;

    /// The work of `pcp_trace on`, and a script.
    const SCRIPT: &str = r#"
mkfifo "$1/$$"
echo "version:1 ppid:$PPID date:1700000000 + script one two" > "$1/.$$"
exec 99> "$1/$$"
PS4='time:${SECONDS} line:${LINENO} func:${FUNCNAME[0]-} + '
BASH_XTRACEFD=99
greet() { : hello; }
set -x
greet
: $(: within)
printf 'line\n' >&99
"#;

    #[test]
    fn a_script() -> Result<()> {
        let folder = tempfile::tempdir()?;
        // None of these is a script.
        std::fs::write(folder.path().join("1"), "no FIFO")?;
        std::fs::write(folder.path().join(".1"), "version:1 ppid:0 + no FIFO")?;
        std::fs::write(folder.path().join("none"), "")?;
        let mut pmcd = Harness::<Bash>::builder()
            .option("folder", folder.path().display().to_string())
            .start()?;
        assert!(pmcd.fetch("bash.xtrace.records")?.instances().is_empty());
        let mut child = Command::new("bash")
            .args(["-c", SCRIPT, "script"])
            .arg(folder.path())
            .spawn()?;
        let id = child.id();
        // The script waits for the agent, which looks each second.
        while child.try_wait()?.is_none() {
            pmcd.advance(Duration::from_secs(1));
            pmcd.wait(Duration::from_millis(10));
        }
        let name = format!("{id} script one two");
        let fetched = pmcd.fetch("bash.xtrace.records")?;
        let records = fetched.events_of(&name).expect("events");
        let told = |record: &EventRecord| {
            let text = |name: &str| record.parameter::<String>(name).unwrap_or_default();
            let line = record.parameter::<u32>("bash.xtrace.parameters.lineno").is_some();
            let command = text("bash.xtrace.parameters.command");
            (line, text("bash.xtrace.parameters.function"), command)
        };
        let expected = [
            (true, "", "greet"),
            (true, "greet", ": hello"),
            (true, "", ": within"),
            (true, "", ":"),
            (true, "", r"printf 'line\n'"),
            // As bash before 5.3 writes the rest of a command of several lines.
            (false, "", "line"),
            (false, "", ""),
        ];
        let expected = expected.map(|(line, function, command)| (line, function.to_owned(), command.to_owned()));
        assert_eq!(records.iter().map(told).collect::<Vec<_>>(), expected);
        let pid = records[0].parameter("bash.xtrace.parameters.pid");
        let parent = records[0].parameter("bash.xtrace.parameters.parent");
        assert_eq!((pid, parent), (Some(id), Some(std::process::id())));
        let flags = |record: &EventRecord| record.flags;
        let all = EventFlags::ID | EventFlags::PARENT;
        assert_eq!(records.first().map(flags), Some(all | EventFlags::START));
        assert_eq!(records.last().map(flags), Some(all | EventFlags::END));
        let started = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        assert!(records[0].time >= started && records[0].time < started + KEPT);
        assert_eq!(pmcd.fetch("bash.xtrace.count")?.value_of(&name), Some(7_u32));
        // Its files are removed at once, the instance when clients have had the time to ask.
        assert!(!folder.path().join(id.to_string()).exists());
        let script = pmcd.agent().scripts.rows_mut().next().expect("it is still there");
        script.ended = script.ended.and_then(|ended| ended.checked_sub(KEPT));
        assert!(pmcd.fetch("bash.xtrace.count")?.instances().is_empty());
        Ok(())
    }

    #[test]
    fn sizes() -> Result<()> {
        assert_eq!((bytes("4096")?, bytes("3k")?, bytes("2M")?), (4096, 3 << 10, 2 << 20));
        for wrong in ["", "M", "1x", "99999999999G", "ü"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        Ok(())
    }
}
