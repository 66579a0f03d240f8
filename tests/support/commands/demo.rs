//! PCP's own agent simple, compiled unmodified against this library, as a DSO and as a daemon:
//! under dbpmda, then under a private pmcd over each kind of connection. Shows its metrics, stores
//! into one, samples one, changes an instance domain, and proves that this library and not the C
//! library was loaded.
//!
//! Each outcome is checked; the first that is not as expected ends the demo.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use pcp_pmda_test::pcp::{Environment, Pmcd, agent, kill, text};
use pcp_pmda_test::{Library, root};
use regex::RegexBuilder;

type Failure = Box<dyn std::error::Error>;
type Done = Result<(), Failure>;

/// How long something may take that happens soon.
const SOON: Duration = Duration::from_secs(10);

/// Runs the demo.
pub fn run() -> Result<(), String> {
    demonstrate().map_err(|failure| failure.to_string())
}

fn demonstrate() -> Done {
    step("A private PCP, with this library first in the search path");
    let mut environment = Environment::new("demo", Library::Optimised);
    let agents = environment.directory.join("agents");
    environment.variables = vec![("PCP_PMDAS_DIR", agents.display().to_string())];
    show(&Library::Optimised.file().display().to_string());
    // An agent with a configuration that can be changed.
    let own = agents.join("simple");
    fs::create_dir_all(&own)?;
    for entry in fs::read_dir(agent("simple"))?.flatten() {
        fs::copy(entry.path(), own.join(entry.file_name()))?;
    }
    let demo = Demo { environment, own };
    let (dso, daemon) = demo.compile()?;
    let daemon_with_domain = format!("{} -d 253", daemon.display());
    for open in [
        format!("dso {} simple_init 253", dso.display()),
        format!("pipe {daemon_with_domain}"),
    ] {
        demo.under_dbpmda(&open)?;
    }
    demo.under_pmcd("DSO", &format!("dso simple_init {}", dso.display()), |_| None)?;
    let line = format!("pipe binary {daemon_with_domain}");
    demo.under_pmcd("daemon over a pipe", &line, |pmcd| pmcd.agent_pid("simple"))?;
    let socket = demo.environment.socket("simple");
    let mut command = demo.environment.command(&daemon);
    command
        .args(["-d", "253", "-u"])
        .arg(&socket)
        .args(["-l", "simple.log"]);
    let alone = Daemon(command.spawn()?);
    until("the daemon listens", || Ok(socket.exists()))?;
    let line = format!("socket unix {}", socket.display());
    demo.under_pmcd("daemon over a unix socket", &line, |_| Some(alone.0.id()))?;
    drop(alone);
    println!("\ndemo: everything is as expected");
    Ok(())
}

struct Demo {
    environment: Environment,
    /// The agent's directory.
    own: PathBuf,
}

impl Demo {
    /// simple.c as PCP ships it, as a DSO and as a daemon.
    fn compile(&self) -> Result<(PathBuf, PathBuf), Failure> {
        step("simple.c as PCP ships it, compiled against include/pcp/pmda.h and linked with this library");
        let place = &self.environment.directory;
        let (dso, daemon) = (place.join("pmda_simple.so"), place.join("pmdasimple"));
        let (headers, source) = (root().join("include"), self.own.join("simple.c"));
        for (file, flags) in [(&dso, &["-fPIC", "-shared"][..]), (&daemon, &[])] {
            let mut cc = Command::new("cc");
            cc.args(["-O2", "-Wall", "-Werror", "-H", "-I"])
                .arg(&headers)
                .args(flags);
            cc.arg("-o")
                .arg(file)
                .arg(&source)
                .arg("-L")
                .arg(Library::Optimised.directory());
            let output = cc.args(["-lpcp_pmda", "-lpcp"]).output()?;
            let said = String::from_utf8_lossy(&output.stderr);
            if !output.status.success() {
                return Err(said.into());
            }
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let ours = format!(r"^\.+ {}/pcp/pmda\.h$", regex::escape(&headers.display().to_string()));
            expect(&format!("{name}: pmda.h is ours"), &ours, &said)?;
        }
        Ok((dso, daemon))
    }

    fn under_dbpmda(&self, open: &str) -> Done {
        step(&format!("dbpmda: open {open}"));
        self.configure("sec,min,hour\n", true)?;
        let script = format!(
            "open {open}\ngetdesc on\nstatus\ndesc simple.color\nfetch simple.color simple.numfetch\ninstance 253.0\n\
             store simple.numfetch \"7\"\nfetch simple.numfetch\ntext simple.color\nclose\nquit\n"
        );
        let answer = self.environment.dbpmda(&agent("simple").join("root"), &script);
        show(&answer);
        expect("a fetch", r"inst \[1 or .*value 101", &answer)?;
        expect("the instances", "red", &answer)?;
        expect("the value stored, counted on", "value 8", &answer)?;
        refuse("an error", "Error|Segmentation", &answer)
    }

    /// What a user does with the agent in pmcd; `daemon` knows its process, if it is one.
    fn under_pmcd(&self, what: &str, line: &str, daemon: impl Fn(&Pmcd<'_>) -> Option<u32>) -> Done {
        self.configure("sec,min,hour\n", true)?;
        let names = agent("simple").join("root");
        let pmcd = self.environment.pmcd(&format!("simple 253 {line}\n"), &names)?;
        let ask = |tool: &str, args: &[&str]| {
            step(&format!("{what}: {tool} {}", args.join(" ")));
            let answer = text(&pmcd.tool(tool, args));
            show(&answer);
            answer
        };
        let answer = ask("pminfo", &["-dfmtTl", "simple"]);
        for (what, pattern) in [
            ("five metrics", "^simple.now "),
            ("a type and an instance domain", r"Data Type: 32-bit int  InDom: 253\.0"),
            ("the three colours", r#"inst \[2 or "blue"\] value 2[0-9][0-9]"#),
            ("help texts", "Metrics which increment with each fetch"),
            ("labels", r#"labels \{.*"role":"testing""#),
            ("time units of simple.conf", r#"inst \[[0-9]+ or "hour"\] value"#),
        ] {
            expect(what, pattern, &answer)?;
        }
        refuse("an error", "Error", &answer)?;
        let answer = ask("pmstore", &["simple.numfetch", "42"]);
        expect("stored", "new value=42", &answer)?;
        let answer = ask("pminfo", &["-f", "simple.numfetch"]);
        expect("counted on from there", "value 4[3-9]", &answer)?;
        let answer = ask("pmstore", &["simple.time.user", "1"]);
        expect("a read-only metric refuses", "[Pp]ermission", &answer)?;
        let answer = ask("pmval", &["-s", "3", "-t", "0.2", "simple.color"]);
        let samples = matching("^ +[0-9]+ +[0-9]+ +[0-9]+ *$").find_iter(&answer).count();
        told("three samples", samples == 3, &answer)?;

        step(&format!(
            "{what}: simple.conf changes, and with it the instance domain of simple.now"
        ));
        self.configure("hour\n", false)?;
        let only = matching(r#"^ +inst \[2 or "hour"\] value [0-9]+$"#);
        until("one instance is left, with its old number", || {
            let answer = text(&pmcd.tool("pminfo", &["-f", "simple.now"]));
            Ok(only.is_match(&answer) && answer.matches("inst").count() == 1)
        })?;
        step(&format!("{what}: which library is loaded"));
        loaded("pmcd", pmcd.pid())?;
        daemon(&pmcd).map_or(Ok(()), |process| loaded("pmdasimple", process))
    }

    /// Writes simple.conf; an old one is as if it had been there for long.
    fn configure(&self, content: &str, old: bool) -> Done {
        let path = self.own.join("simple.conf");
        fs::write(&path, content)?;
        if old {
            let file = fs::File::options().write(true).open(path)?;
            file.set_modified(SystemTime::now() - Duration::from_secs(3600))?;
        }
        Ok(())
    }
}

/// A process of the demo, which ends with it.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        kill(self.0.id(), libc::SIGTERM);
        let _ = self.0.wait();
    }
}

fn step(what: &str) {
    println!("\n\x1b[1m== {what}\x1b[0m");
}

fn show(text: &str) {
    for line in text.lines() {
        println!("   {line}");
    }
}

fn matching(pattern: &str) -> regex::Regex {
    let built = RegexBuilder::new(pattern).multi_line(true).build();
    built.expect("a pattern of this file")
}

fn told(what: &str, good: bool, answer: &str) -> Done {
    if !good {
        return Err(format!("{answer}\ndemo: FAILED: {what}").into());
    }
    println!("   ok: {what}");
    Ok(())
}

/// The text has a line that matches.
fn expect(what: &str, pattern: &str, answer: &str) -> Done {
    told(what, matching(pattern).is_match(answer), answer)
}

/// The text has no line that matches.
fn refuse(what: &str, pattern: &str, answer: &str) -> Done {
    told(&format!("not {what}"), !matching(pattern).is_match(answer), answer)
}

/// Asks until the answer is yes, but not for ever.
fn until(what: &str, mut asked: impl FnMut() -> Result<bool, Failure>) -> Done {
    let deadline = Instant::now() + SOON;
    while !asked()? {
        if Instant::now() >= deadline {
            return told(what, false, "it does not happen");
        }
        thread::sleep(Duration::from_millis(50));
    }
    told(what, true, "")
}

/// The process has our library mapped, and no other of that name.
fn loaded(who: &str, process: u32) -> Done {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let ours = Library::Optimised.file().display().to_string();
    let mut found = maps.lines().filter(|line| line.contains("libpcp_pmda")).peekable();
    let good = found.peek().is_some() && found.all(|line| line.ends_with(&ours));
    told(&format!("{who} (process {process}) has loaded {ours}"), good, &maps)
}
