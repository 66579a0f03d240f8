//! `pcp-pmda-rust compare` on a host with PCP's default agents, which lies below a directory of the
//! test: nothing differs between the two libraries; faults that are put in are found; nothing is
//! left behind, also by one that is interrupted.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use pcp_pmda_rust_compare::processes::tree;
use pcp_pmda_test::installation::compare_program;
use pcp_pmda_test::pcp::{self, Environment, installed, kill};
use pcp_pmda_test::run::{Outcome, bounded, kill_group, signal_group};
use pcp_pmda_test::{Library, compile_c, profile_dir, release, root};

/// A comparison on a busy machine: up to eighteen runs, of which the first four have nine agents.
const LIMIT: Duration = Duration::from_secs(1000);

/// PCP's default agents.
const AGENTS: [&str; 9] = ["root", "pmcd", "proc", "xfs", "linux", "pmproxy", "mmv", "kvm", "jbd2"];

/// One of them that has few metrics.
const SMALL: &str = "root";

/// The file with an agent's names. In Debian's package of PCP 7.2 some links to it lead nowhere.
fn names_of(agent: &str) -> Option<PathBuf> {
    ["var/lib/pcp/pmns", "usr/lib/pcp/pmns"]
        .into_iter()
        .map(|folder| installed(folder).join(format!("root_{agent}")))
        .find(|file| file.exists())
}

/// The agents whose names the package has.
fn agents_with_names() -> impl Iterator<Item = &'static str> {
    AGENTS.into_iter().filter(|agent| names_of(agent).is_some())
}

/// A host: settings, agents and a name space of its own. Its pmcd does not run.
struct Host {
    environment: Environment,
    directory: tempfile::TempDir,
}

impl Host {
    fn new(name: &str) -> Host {
        let host = Host {
            environment: Environment::new(name, Library::C),
            directory: tempfile::tempdir().expect("a temporary directory"),
        };
        for name in [
            "run",
            "log/pmcd",
            "tmp/mmv",
            "tmpfile",
            "var/config/pmda",
            "var/pmns",
            "private",
        ] {
            fs::create_dir_all(host.path(name)).expect("ours");
        }
        fs::write(host.path("var/config/pmda/60.9"), "1 0 0\n").expect("ours");
        host.name(&AGENTS);
        let names = installed("var/lib/pcp/pmns");
        for file in ["stdpmid", "stdpmid.local", "stdpmid.pcp"] {
            fs::copy(names.join(file), host.path("var/pmns").join(file)).expect("make setup");
        }
        let agents = fs::read_to_string(installed("etc/pcp/pmcd/pmcd.conf")).expect("make setup");
        let pmdas = installed("var/lib/pcp/pmdas").display().to_string();
        host.configure(&agents.replace("/var/lib/pcp/pmdas", &pmdas));
        let conf = fs::read_to_string(pcp::home().join("pcp.conf")).expect("make setup");
        let own = [
            ("PCP_RUN_DIR", "run"),
            ("PCP_LOG_DIR", "log"),
            ("PCP_TMP_DIR", "tmp"),
            ("PCP_TMPFILE_DIR", "tmpfile"),
            ("PCP_VAR_DIR", "var"),
            ("PCP_PMCDCONF_PATH", "pmcd.conf"),
        ];
        let line = |line: &str| {
            let name = line.split('=').next().unwrap_or_default();
            let own = own.iter().find(|(setting, _)| *setting == name);
            own.map_or_else(
                || line.to_owned(),
                |(_, path)| format!("{name}={}", host.path(path).display()),
            )
        };
        let conf: Vec<String> = conf.lines().map(line).collect();
        fs::write(host.path("pcp.conf"), conf.join("\n") + "\n").expect("ours");
        host
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes the name space, with the names of these agents.
    fn name(&self, agents: &[&str]) {
        let mut merge = self.environment.command(installed("usr/lib/pcp/bin/pmnsmerge"));
        merge
            .args(["-a", "-f"])
            .args(agents.iter().filter_map(|agent| names_of(agent)));
        merge.arg(self.path("var/pmns/root"));
        let merged = bounded(merge, LIMIT);
        assert_eq!(merged.end, "exit 0", "{}", pcp::text(&merged));
    }

    fn configure(&self, lines: &str) {
        fs::write(self.path("pmcd.conf"), lines).expect("ours");
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.environment.command(compare_program());
        for variable in [
            "RUN_DIR",
            "LOG_DIR",
            "TMP_DIR",
            "TMPFILE_DIR",
            "VAR_DIR",
            "SYSCONF_DIR",
            "PMCDCONF_PATH",
        ] {
            command.env_remove(format!("PCP_{variable}"));
        }
        command
            .env("PCP_CONF", self.path("pcp.conf"))
            .env("TMPDIR", self.path("private"))
            .arg("--library")
            .arg(Library::Ours.file())
            .arg("--c-library")
            .arg(Library::C.file())
            .args(args)
            .current_dir("/");
        command
    }

    /// Compares, and returns the object that it writes.
    fn json(&self, args: &[&str], faults: Option<&[&str]>) -> (Outcome, Value) {
        let mut command = self.command(args);
        command.arg("--json");
        if let Some(faults) = faults {
            preload(&mut command, &faulty());
            let library = Library::Ours.file().canonicalize().expect("it is built");
            command.env("FAULTS", faults.join(",")).env("FAULTY_LIBRARY", library);
        }
        let outcome = bounded(command, LIMIT);
        let report = serde_json::from_slice(&outcome.stdout);
        let report = report.unwrap_or_else(|error| panic!("{error}: {}", pcp::text(&outcome)));
        self.nothing_is_left();
        (outcome, report)
    }

    /// No file and no process.
    fn nothing_is_left(&self) {
        let left: Vec<_> = fs::read_dir(self.path("private")).expect("ours").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
        let mark = self.path("private").display().to_string();
        let processes = fs::read_dir("/proc").expect("/proc").flatten();
        let is_ours = |process: &fs::DirEntry| {
            let environ = fs::read(process.path().join("environ")).unwrap_or_default();
            let mark = format!("={mark}/");
            environ.windows(mark.len()).any(|part| part == mark.as_bytes())
        };
        let left: Vec<_> = processes.filter(is_ours).map(|process| process.file_name()).collect();
        assert!(left.is_empty(), "{left:?}");
        // The host's own files are as they were.
        let cache = fs::read_to_string(self.path("var/config/pmda/60.9")).expect("ours");
        assert_eq!(cache, "1 0 0\n");
        for name in ["run", "log/pmcd", "tmp/mmv", "tmpfile"] {
            assert_eq!(fs::read_dir(self.path(name)).expect("ours").count(), 0, "{name}");
        }
    }
}

/// The faults, as a shared object to be preloaded.
fn faulty() -> PathBuf {
    let object = profile_dir().join("test-faulty.so");
    static MADE: Once = Once::new();
    MADE.call_once(|| {
        let extra = ["-shared", "-fPIC", "-Wl,--as-needed"];
        compile_c(&root().join("tests/compare/faulty.c"), &object, &extra);
    });
    object
}

fn preload(command: &mut Command, object: &Path) {
    let before = command
        .get_envs()
        .find(|(name, _)| *name == "LD_PRELOAD")
        .and_then(|(_, value)| value);
    let before = before.unwrap_or_default().to_string_lossy().into_owned();
    command.env("LD_PRELOAD", format!("{}:{before}", object.display()));
}

/// The lines of agents whose file is there. In Debian's package of PCP 7.2 pmcd.conf has four whose
/// shared object the package does not bring: they start on neither library, and operators take them
/// out.
fn with_files(configuration: &str) -> (Vec<&str>, Vec<&str>) {
    let is_missing = |line: &&str| {
        let mut words = line.split_whitespace();
        let file = words.find(|word| word.starts_with('/'));
        file.is_some_and(|file| !Path::new(file).exists())
    };
    configuration.lines().partition(|line| !is_missing(line))
}

#[test]
fn default_agents_are_equal() {
    let host = Host::new("compare-equal");
    let configuration = fs::read_to_string(host.path("pmcd.conf")).expect("ours");
    let (there, missing) = with_files(&configuration);
    assert!(release() >= [7, 0, 0] || missing.is_empty(), "{missing:?}");
    host.configure(&(there.join("\n") + "\n"));
    let (outcome, report) = host.json(&["--fetches", "2"], None);
    assert_eq!(outcome.end, "exit 0", "{report:#}");
    assert_eq!(report["result"], "equal");
    let agents = report["agents"].as_array().expect("a list");
    let is_there = |name: &&str| agents.iter().any(|agent| agent["name"] == **name);
    let lost = AGENTS.into_iter().filter(|name| !is_there(name));
    let is_missing = |name: &str| missing.iter().any(|line| line.starts_with(&format!("{name}\t")));
    let lost: Vec<_> = lost.filter(|name| !is_missing(name)).collect();
    assert!(lost.is_empty(), "{lost:?}");
    for agent in agents {
        if !agents_with_names().any(|name| agent["name"] == name) {
            continue;
        }
        assert_eq!(agent["result"], "equal", "{agent:#}");
        assert!(
            agent["metrics"].as_u64() > Some(0) && agent["answers"].as_u64() > Some(10),
            "{agent:#}"
        );
    }
    let linux = agents
        .iter()
        .find(|agent| agent["name"] == "linux")
        .expect("it is there");
    assert!(linux["instances"].as_u64() > Some(10) && linux["labels"].as_u64() > Some(10));
    assert!(
        linux["usage"]["this"]["resident_kib"].as_u64() > Some(1000),
        "{:#}",
        linux["usage"]
    );
}

/// A fault, and the start and the end of a question that shows it.
type Fault = (&'static str, &'static str, &'static str);

fn finds(host: &Host, agent: &str, faults: &[Fault]) {
    let names: Vec<&str> = faults.iter().map(|(fault, ..)| *fault).collect();
    let (outcome, report) = host.json(&["--fetches", "1", agent], Some(&names));
    assert_eq!(outcome.end, "exit 1", "{report:#}");
    assert_eq!(report["result"], "different");
    let differences = report["agents"][0]["differences"].as_array().expect("a list");
    let questions: Vec<&str> = differences
        .iter()
        .filter_map(|difference| difference["question"].as_str())
        .collect();
    for (fault, start, end) in faults {
        let shows = |question: &&str| question.starts_with(start) && question.ends_with(end);
        assert!(questions.iter().any(shows), "{fault}: {questions:#?}");
    }
}

/// Side by side, as they wait most of their time.
#[test]
fn faults_of_descriptions_are_found() {
    let faults = [
        ("compare-type", "type of a metric"),
        ("compare-semantics", "semantics of a metric"),
        ("compare-unit", "unit of a metric"),
    ];
    thread::scope(|scope| {
        for (name, fault) in faults {
            scope.spawn(move || {
                let (outcome, report) = Host::new(name).json(&["--fetches", "1", SMALL], Some(&[fault]));
                assert_eq!(outcome.end, "exit 1", "{fault}: {report:#}");
                let question = report["agents"][0]["differences"][0]["question"].as_str();
                assert!(
                    question.is_some_and(|question| question.ends_with("desc")),
                    "{question:?}"
                );
            });
        }
    });
}

#[test]
fn faults_of_texts_are_found() {
    let host = Host::new("compare-texts");
    finds(&host, SMALL, &[("a text is cut", "containers.", "help line")]);
    // The faulty agent without faults makes no difference.
    let (outcome, report) = host.json(&["--fetches", "1", SMALL], Some(&[]));
    assert_eq!(outcome.end, "exit 0", "{report:#}");
    // One time would say nothing about its spread.
    for library in ["c", "this"] {
        let times = &report["agents"][0]["usage"][library]["processor_ms_of_runs"];
        assert_eq!(times.as_array().map(Vec::len), Some(2), "{library}: {report:#}");
    }
}

#[test]
fn faults_of_instances_and_values_are_found() {
    finds(
        &Host::new("compare-values"),
        "linux",
        &[
            ("number of an instance", "indom 60.", "instance 5000"),
            ("name of an instance", "indom 60.", "instance 1"),
            ("an instance is lost", "indom 60.", "instances"),
            ("a label is lost", "indom 60.", "labels"),
            ("value of a label", "domain labels", "set -1"),
            ("a value is another", "hinv.ncpu fetch 1", "value of -1"),
            ("a counter goes back", "kernel.", "as a counter"),
            ("value of another type", "kernel.all.load fetch 1", "value of 1"),
        ],
    );
}

#[test]
fn what_cannot_be_compared_is_said() {
    let host = Host::new("compare-others");
    let pmdas = installed("var/lib/pcp/pmdas");
    host.configure(&format!(
        "root 1 pipe binary {0}/root/pmdaroot\ntrace 10 socket inet 4322 {0}/trace/pmdatrace\nlost 250 pipe binary /nonexistent/pmdalost\n",
        pmdas.display()
    ));
    let (outcome, report) = host.json(&[], None);
    assert_eq!(outcome.end, "exit 2", "{report:#}");
    assert_eq!(report["result"], "could not compare");
    let result = |number: usize| report["agents"][number]["result"].as_str();
    let reason = |number: usize| {
        report["agents"][number]["reason"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        (result(0), result(1), result(2)),
        (Some("equal"), Some("not compared"), Some("not compared"))
    );
    assert!(reason(1).contains("inet 4322"), "{}", reason(1));
    assert!(
        reason(2).contains("does not start") && reason(2).contains("No such file"),
        "{}",
        reason(2)
    );
    // Whoever knows why they cannot be compared names the others.
    let (outcome, report) = host.json(&[SMALL], None);
    assert_eq!(
        (outcome.end.as_str(), &report["result"]),
        ("exit 0", &Value::from("equal"))
    );
    let outcome = bounded(host.command(&[]), LIMIT);
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let last = text.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("could not compare 2 of 3 agents; equal: 1 agent, 7 metrics, ")
            && last.ends_with(" answers; not compared: trace, lost"),
        "{last}"
    );
    let (outcome, report) = host.json(&["nobody"], None);
    assert_eq!(outcome.end, "exit 2");
    let reason = report["reason"].as_str().unwrap_or_default();
    assert!(
        reason.contains("names no agent nobody, but root, trace, lost"),
        "{reason}"
    );
    // A library that is not there is no difference of the agents.
    for option in ["--library", "--c-library"] {
        let (outcome, report) = host.json(&[option, "/nonexistent/libpcp_pmda.so.3"], None);
        assert_eq!(
            (outcome.end.as_str(), &report["result"], &report["reason"]),
            (
                "exit 2",
                &Value::from("could not compare"),
                &Value::from("/nonexistent/libpcp_pmda.so.3: No such file or directory (os error 2)")
            )
        );
    }
}

/// Agents that end as soon as they are started, or once they are connected, answer nothing but
/// errors, on either library: that is no equality. The reason is what the agents themselves say.
#[test]
fn agents_that_run_on_neither_library() {
    let host = Host::new("compare-neither");
    let ends = profile_dir().join("test-ends");
    compile_c(&root().join("tests/compare/ends.c"), &ends, &[]);
    host.configure(&format!(
        "root 1 pipe binary {0}/root/pmdaroot\nxfs 11 pipe binary {1}\nkvm 95 pipe binary {0}/kvm/pmdakvm --no-such-option\n\
         gone 251 dso gone_init /nonexistent/pmda_gone.so\ntext 252 dso text_init {2}\n\
         named 253 dso no_such_init {0}/sample/pmda_sample.so\nlost 254 pipe binary /nonexistent/pmdalost\n",
        installed("var/lib/pcp/pmdas").display(),
        ends.display(),
        host.path("pcp.conf").display()
    ));
    // The name space has their metrics, or has not: an agent that has ended is not one without
    // metrics.
    for names in ["root {\n xfs 11:0:0\n kvm 95:0:0\n}\n", "root {\n root 1:0:0\n}\n"] {
        fs::write(host.path("var/pmns/root"), names).expect("ours");
        let (outcome, report) = host.json(&["xfs", "kvm", "gone", "text", "named", "lost"], None);
        assert_eq!(outcome.end, "exit 2", "{report:#}");
        for (number, said) in [
            (0, "nobody_has_this_name"),
            (1, "no-such-option"),
            (
                2,
                "it cannot be loaded: Cannot find gone DSO at \"/nonexistent/pmda_gone.so\"",
            ),
            (3, "invalid ELF header"),
            (4, "no_such_init"),
            (
                5,
                "it does not start: pmcd: error starting /nonexistent/pmdalost: No such file or directory",
            ),
        ] {
            let agent = &report["agents"][number];
            assert_eq!(agent["result"], "not compared", "{report:#}");
            let reason = agent["reason"].as_str().unwrap_or_default();
            assert!(reason.contains(said), "{reason}");
        }
    }
}

/// In Debian's package of PCP 7.2 some agents have no names. Such an agent counts only for a user
/// who has named it.
#[test]
fn an_agent_without_metrics() {
    let host = Host::new("compare-nameless");
    host.name(&[SMALL]);
    let configuration = fs::read_to_string(host.path("pmcd.conf")).expect("ours");
    let is_one = |line: &&str| line.starts_with(&format!("{SMALL}\t")) || line.starts_with("xfs\t");
    let two: Vec<&str> = configuration.lines().filter(is_one).collect();
    assert_eq!(two.len(), 2, "{configuration}");
    host.configure(&(two.join("\n") + "\n"));
    for (named, end, result) in [
        (&[][..], "exit 0", "equal"),
        (&[SMALL, "xfs"], "exit 2", "could not compare"),
        (&["xfs"], "exit 2", "could not compare"),
    ] {
        let (outcome, report) = host.json(named, None);
        assert_eq!(
            (outcome.end.as_str(), &report["result"]),
            (end, &Value::from(result)),
            "{report:#}"
        );
        let agents = report["agents"].as_array().expect("a list").iter();
        let results: Vec<_> = agents.map(|agent| (&agent["name"], &agent["result"])).collect();
        let expected = [
            (&Value::from(SMALL), &Value::from("equal")),
            (&Value::from("xfs"), &Value::from("no metrics")),
        ];
        assert_eq!(results, expected[2 - results.len()..]);
    }
    // Of a host with such agents alone nothing is known.
    host.configure(two[1]);
    let outcome = bounded(host.command(&[]), LIMIT);
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(outcome.end, "exit 2", "{text}");
    let last = "could not compare 1 of 1 agent; equal: 0 agents, 0 metrics, 0 answers; without metrics: xfs";
    assert_eq!(text.lines().last(), Some(last), "{text}");
}

/// The lines for people: a table, and a last line with the result. No line of progress where there
/// is no terminal.
#[test]
fn lines_for_people() {
    let host = Host::new("compare-lines");
    let outcome = bounded(host.command(&[SMALL]), LIMIT);
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(outcome.end, "exit 0", "{}", pcp::text(&outcome));
    assert!(
        text.lines()
            .last()
            .is_some_and(|line| line.starts_with("equal: 1 agent, 7 metrics, ")),
        "{text}"
    );
    assert!(text.contains("resident memory, KiB"), "{text}");
    // Times, and not a word for them.
    let is_row = |line: &&str| line.starts_with(SMALL) && !line.contains("equal");
    let row = text.lines().find(is_row).unwrap_or_default();
    let is_time = |word: &str| word.split('-').all(|time| time.parse::<f64>().is_ok());
    assert!(row.split_whitespace().skip(1).take(2).all(is_time), "{text}");
    assert!(outcome.stderr.is_empty(), "{}", pcp::text(&outcome));
    let wrong = bounded(host.command(&["--fetches", "0"]), LIMIT);
    assert_eq!(wrong.end, "exit 2");
}

/// What a host lacks has a line that says what to do; so has an output that cannot be written.
#[test]
fn what_is_missing_is_said() {
    let host = Host::new("compare-missing");
    let run = |mut command: Command| {
        command.arg("root");
        let outcome = bounded(command, LIMIT);
        assert_eq!(outcome.end, "exit 2", "{}", pcp::text(&outcome));
        pcp::text(&outcome)
    };
    let mut command = host.command(&[]);
    command.env("TMPDIR", "/nonexistent");
    let text = run(command);
    let said = "could not compare: no private folder below /nonexistent: No such file or directory (os error 2): set TMPDIR to";
    assert!(text.contains(said), "{text}");

    fs::rename(host.path("var/pmns/root"), host.path("names")).expect("ours");
    let text = run(host.command(&[]));
    assert!(text.contains("/var/pmns/root is not there: start pmcd once"), "{text}");
    fs::rename(host.path("names"), host.path("var/pmns/root")).expect("ours");

    let full = File::options().write(true).open("/dev/full").expect("it is there");
    let (closed, pipe) = std::os::unix::net::UnixStream::pair().expect("sockets");
    drop(closed);
    for (output, said) in [
        (full.into(), "No space left on device"),
        (Stdio::from(std::os::fd::OwnedFd::from(pipe)), "Broken pipe"),
    ] {
        let mut command = host.command(&["root", "--fetches", "1"]);
        let child = command.stdout(output).stderr(Stdio::piped()).spawn();
        let outcome = child.and_then(Child::wait_with_output).expect("it ends");
        let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert_eq!(outcome.status.code(), Some(2), "{text}");
        assert!(text.contains("cannot be written") && text.contains(said), "{text}");
    }
    host.nothing_is_left();
}

/// Comparisons that are stopped before they end by themselves.
struct Stopped<'a> {
    host: &'a Host,
    agents: Vec<&'static str>,
    /// The shortest time that one took which was not stopped.
    whole: Duration,
}

impl Stopped<'_> {
    fn new(host: &Host) -> Stopped<'_> {
        // Of one whose names the package does not bring there is nothing to compare.
        let agents = [SMALL, "xfs", "pmcd"].into_iter();
        let mut stopped = Stopped {
            host,
            agents: agents.filter(|agent| names_of(agent).is_some()).collect(),
            whole: Duration::ZERO,
        };
        let begin = Instant::now();
        let mut child = stopped.start();
        let status = stopped.wait(&mut child, LIMIT);
        assert!(status.success(), "{status}: {}", stopped.output());
        stopped.whole = begin.elapsed();
        stopped
    }

    /// Its output is a file: what a process writes that is left over is not waited for.
    fn start(&self) -> Child {
        let output = File::create(self.host.path("output")).expect("ours");
        let mut command = self.host.command(&["--fetches", "1"]);
        command.args(&self.agents).process_group(0);
        command.stderr(output.try_clone().expect("ours")).stdout(output);
        command.spawn().expect("it is built")
    }

    fn output(&self) -> String {
        fs::read_to_string(self.host.path("output")).expect("ours")
    }

    fn wait(&self, child: &mut Child, limit: Duration) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = child.try_wait().expect("our child") {
                return status;
            }
            if begin.elapsed() >= limit {
                kill_group(child.id());
                panic!("it does not end: {}", self.output());
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Calls `stop` with the process of one after `share` of [`SHARES`] of its time, and returns how
    /// it has ended and what `stop` has returned. One that is done before shows nothing: there is
    /// another one, and less time.
    fn after<T>(&mut self, share: u32, mut stop: impl FnMut(u32) -> Option<T>) -> (ExitStatus, T) {
        // The time gets shorter by a twelfth each time or more: not for ever.
        for _ in 0..50 {
            let moment = self.whole * share / SHARES;
            let begin = Instant::now();
            let mut child = self.start();
            let mut is_there = || child.try_wait().expect("our child").is_none();
            while is_there() && begin.elapsed() < moment {
                thread::sleep(Duration::from_millis(2).min(moment.saturating_sub(begin.elapsed())));
            }
            let stopped = if is_there() { stop(child.id()) } else { None };
            let status = self.wait(&mut child, Duration::from_secs(60));
            match stopped {
                Some(found) if !status.success() => return (status, found),
                _ => assert!(status.success(), "by itself, {status}: {}", self.output()),
            }
            self.whole = self.whole.min(begin.elapsed());
            self.host.nothing_is_left();
        }
        panic!("each is done before it is stopped");
    }
}

/// The time of a comparison is divided into this many parts.
const SHARES: u32 = 12;

/// At twelve moments, by each of the signals that ask a program to end, to the command and to its
/// group, as a terminal and timeout(1) send them.
#[test]
fn interrupted() {
    let host = Host::new("compare-interrupted");
    let mut stopped = Stopped::new(&host);
    for moment in 0..SHARES {
        // SIGTERM at the very start: a shell may have had the others ignored.
        let signal = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT][moment as usize % 4];
        let to_group = moment / 4 == 1;
        let (status, has_begun) = stopped.after(moment, |pid| {
            // It makes its folder after it has taken care of signals.
            let has_begun = fs::read_dir(host.path("private")).expect("ours").next().is_some();
            if to_group {
                signal_group(pid, signal);
            } else {
                kill(pid, signal);
            }
            Some(has_begun)
        });
        let by_itself = !has_begun && status.signal() == Some(signal);
        assert!(
            by_itself || status.code() == Some(128 + signal),
            "{status} after signal {signal} at moment {moment}, to its group: {to_group}: {}",
            stopped.output()
        );
        host.nothing_is_left();
    }
}

/// A line of what the kernel says of a process.
fn status(pid: i32, field: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.map(|line| line.trim().to_owned())
}

/// The name of a process, unless it is a zombie or does not exist.
fn running(pid: i32) -> Option<String> {
    let is_there = !status(pid, "State:")?.starts_with(['Z', 'X']);
    is_there.then(|| status(pid, "Name:"))?
}

/// SIGKILL to the command, to its group, to a process that it has started, to both at once or one
/// after the other: all others end.
#[test]
fn killed() {
    let host = Host::new("compare-killed");
    let mut stopped = Stopped::new(&host);
    for (moment, whom) in [
        "the command",
        "its group",
        "the one below",
        "both",
        "the command",
        "one after the other",
    ]
    .into_iter()
    .enumerate()
    {
        // Once just after the start, else while an agent is asked, or when the next one starts.
        let share = SHARES / 6 * moment as u32;
        let (status, (started, blocked)) = stopped.after(share, |pid| {
            let begin = Instant::now();
            let is_agent = |pid: &i32| running(*pid).is_some_and(|name| name.starts_with("pmda"));
            let (started, blocked) = loop {
                let started = tree(pid as i32, &[]);
                let agents = started.iter().copied().filter(is_agent);
                let blocked: Vec<String> = agents.filter_map(|agent| status(agent, "SigBlk:")).collect();
                if !blocked.is_empty() {
                    break (started, blocked);
                }
                running(pid as i32)?;
                assert!(begin.elapsed() < Duration::from_secs(60), "no agent starts");
                thread::sleep(Duration::from_millis(2));
            };
            match whom {
                "the command" => kill(pid, libc::SIGKILL),
                "its group" => kill_group(pid),
                "both" => {
                    kill(pid, libc::SIGKILL);
                    kill(started[1] as u32, libc::SIGKILL);
                }
                "one after the other" => {
                    kill(pid, libc::SIGKILL);
                    // The one below ends what it has started, and does not come to its end.
                    thread::sleep(Duration::from_millis(20));
                    kill(started[1] as u32, libc::SIGKILL);
                }
                _ => kill(started[1] as u32, libc::SIGKILL),
            }
            Some((started, blocked))
        });
        let begin = Instant::now();
        let left = || -> Vec<i32> { started.iter().copied().filter(|pid| running(*pid).is_some()).collect() };
        let is_empty = || fs::read_dir(host.path("private")).expect("ours").next().is_none();
        while begin.elapsed() < Duration::from_secs(60) && !(left().is_empty() && is_empty()) {
            thread::sleep(Duration::from_millis(10));
        }
        let names: Vec<_> = left().into_iter().filter_map(running).collect();
        for pid in left() {
            kill(pid as u32, libc::SIGKILL);
        }
        // As in the service: SIGTERM reaches agents.
        assert!(blocked.iter().all(|mask| mask == "0000000000000000"), "{blocked:?}");
        assert!(names.is_empty(), "{names:?} are left after SIGKILL to {whom}");
        let expected = if whom == "the one below" {
            (Some(2), None)
        } else {
            (None, Some(libc::SIGKILL))
        };
        let output = stopped.output();
        assert_eq!((status.code(), status.signal()), expected, "{whom}: {output}");
        let is_said = output.contains("signal 9 has ended the comparison");
        assert_eq!(is_said, whom == "the one below", "{output}");
        host.nothing_is_left();
    }
}
